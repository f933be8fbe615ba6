"""Answers that mean the same: what people decided, and how many people are behind each group of answers then.

An answer is named by a key made of its words and the project's secret, so that what was decided about it holds for
everybody who gives it later, and holds no words of anybody. Two answers are one group only where a person said so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kapwa.studio.models import Answer, Membership, Merging, Project, Question, Wording
from kapwa.studio.models.answers import ANSWERED
from kapwa.studio.models.everyday import APPROVED
from kapwa.suites.blend.questions import IDK_KEYS

Decision = Mapping[str, Any]


def key_of(project: Project, text: str) -> str:
    """Return the key of an answer's words, which nobody can turn back into words without the project's secret."""
    return hashlib.blake2b(text.encode(), key=project.salt.encode(), digest_size=8).hexdigest()


class Group(NamedTuple):
    """Answers that mean the same. ``texts`` begin with the head; ``people``: who gave one of them, each once.

    ``keys``: of ``texts``; ``english``: what the texts are in English, as far as somebody said so.
    """

    texts: tuple[str, ...]
    keys: tuple[str, ...]
    english: tuple[str, ...]
    people: frozenset[str]

    @property
    def head(self) -> str:
        """The answer that stands for the group."""
        return self.texts[0]

    @property
    def votes(self) -> int:
        """How many people gave one of the answers."""
        return len(self.people)


class Merged(NamedTuple):
    """The answers to a question in a language, after merging.

    ``groups``: most votes first; ``idks``: people who gave no answer, by the reasons of the answer form (IDK_KEYS);
    ``people``: all whose answer counts; ``first``: of each who answered, the head of the group of their first answer;
    ``stale``: people who answered what was changed since, and do not count; ``held``: who does not count because they
    did not agree to publication; ``asked``: whether the wording may be asked now.
    """

    question: Question
    wording: Wording | None
    groups: list[Group]
    idks: dict[str, int]
    people: int
    first: dict[str, str]
    stale: int
    held: int
    decisions: list[Decision]
    answers: list[Answer]

    @property
    def asked(self) -> bool:
        """Whether people may be asked this now."""
        return self.wording is not None and self.wording.state == APPROVED and not self.question.retired


def merged_answers(
    project: Project, language: str, *, number: int | None = None, everybody: bool = False
) -> list[Merged]:
    """Return the answers to every question that is or was asked in ``language``, by the questions' numbers.

    Only people who agreed to publication count, as in a release; ``everybody``: all people, as on the pages of the
    studio. ``number``: of one question alone. Answers to a text that was changed since count where somebody confirmed
    that they still answer it.
    """
    one = {} if number is None else {"id__in": Question.objects.filter(project=project, number=number).values("id")}
    questions = list(Question.objects.filter(project=project, **one).order_by("number"))
    here: dict[str, Any] = {"project": project, "language": language}
    if number is not None:
        here["question__in"] = [question.id for question in questions]
    wordings = {wording.question: wording for wording in Wording.objects.filter(**here)}
    decisions = dict(Merging.objects.filter(**here).values_list("question", "decisions"))
    answers: dict[str, list[Answer]] = {}
    for answer in Answer.objects.filter(**here).order_by("seq"):
        answers.setdefault(answer.question, []).append(answer)
    held: set[str] = set()
    if not everybody:
        members = Membership.objects.filter(project=project)
        held = {author for author, scopes in members.values_list("author", "consent_scopes") if "publish" not in scopes}
    return [
        _merged(project, one, wordings.get(one.id), answers.get(one.id, []), decisions.get(one.id, []), held)
        for one in questions
        if one.id in wordings or one.id in answers
    ]


def _merged(
    project: Project,
    question: Question,
    wording: Wording | None,
    answers: list[Answer],
    decisions: list[Decision],
    held: Collection[str],
) -> Merged:
    fresh = [one for one in answers if counts(one, question, wording, decisions)]
    counted = [one for one in fresh if one.author not in held]
    texts: dict[str, str] = {}
    people: dict[str, list[str]] = {}
    for answer in counted:
        for text in answer.texts:
            key = key_of(project, text)
            texts[key] = text
            people.setdefault(key, []).append(answer.author)
    english: dict[str, str] = {}
    for one in decisions:
        if one["kind"] == "answers.translated":
            english |= one["english"]
    named = [one["key"] for one in decisions if one["kind"] == "answers.named"]
    rank = {key: place for place, key in enumerate(named, start=1)}
    groups: list[Group] = []
    of: dict[str, str] = {}
    for keys in partition(decisions, texts):
        # Whom somebody named last stands first, then what most people said, then what was said first.
        ordered = sorted(keys, key=lambda key: (-rank.get(key, 0), -len(people[key])))
        lines = [part.strip() for key in ordered for part in english.get(key, "").split(";")]
        groups.append(
            Group(
                tuple(texts[key] for key in ordered),
                tuple(ordered),
                tuple(dict.fromkeys(filter(None, lines))),
                frozenset(author for key in keys for author in people[key]),
            )
        )
        of |= dict.fromkeys(keys, texts[ordered[0]])
    return Merged(
        question,
        wording,
        sorted(groups, key=lambda group: -group.votes),
        {reason: sum(one.outcome == reason for one in counted) for reason in IDK_KEYS},
        len(counted),
        {one.author: of[key_of(project, one.texts[0])] for one in counted if one.outcome == ANSWERED},
        len(answers) - len(fresh),
        len(fresh) - len(counted),
        decisions,
        answers,
    )


def counts(answer: Answer, question: Question, wording: Wording | None, decisions: Iterable[Decision]) -> bool:
    """Whether an answer was given to the question and wording of now, or somebody confirmed that it still answers."""
    seen = (answer.question_revision, answer.wording_revision)
    return still_answers(seen, revisions_of(question, wording), decisions)


def still_answers(seen: Sequence[int], now: Sequence[int], decisions: Iterable[Decision]) -> bool:
    """Whether what answers the revisions ``seen`` (of question and wording) counts for those of now."""
    return [*seen] == [*now] or any(
        one["kind"] == "answers.confirmed" and one["now"] == [*now] and [*seen] in one["seen"] for one in decisions
    )


def revisions_of(question: Question, wording: Wording | None) -> list[int]:
    """Return the revisions of a question and of its wording, 0 for none."""
    return [question.revision, wording.revision if wording else 0]


def partition(decisions: Sequence[Decision], present: Iterable[str]) -> list[list[str]]:
    """Return the groups that decisions make of the answers ``present``, each in their order."""
    groups: dict[str, set[str]] = {}
    for one in decisions:
        if one["kind"] == "answers.merged":
            joined = set().union(*(groups.get(key, {key}) for key in one["keys"]))
            groups |= dict.fromkeys(joined, joined)
        elif one["kind"] == "answers.split":
            groups.get(one["key"], set()).discard(one["key"])
            groups[one["key"]] = {one["key"]}
    found: dict[int, list[str]] = {}
    for key in present:
        found.setdefault(id(groups.setdefault(key, {key})), []).append(key)
    return list(found.values())

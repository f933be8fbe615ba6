"""Answers that mean the same: what people decided, and how many people are behind each group of answers then.

An answer is named by a key made of its words and the project's secret, so that what was decided about it holds for
everybody who gives it later, and holds no words of anybody. Two answers are one group only where a person said so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models import QuerySet

from kapwa.studio.core.tables import APPROVED, Project
from kapwa.studio.core.text import key_of
from kapwa.studio.questions.tables import Answer, Decision, Wording
from kapwa.suites.blend.questions import IDK_KEYS


class Group(NamedTuple):
    """Answers that mean the same: ``texts`` by their keys, the head first.

    ``english``: what the texts are in English, as far as somebody said so; ``people``: who gave one of them, each once.
    ``proposal``: of a text that nobody gave, which an audit proposed: how many people call it right, by which rubric.
    """

    texts: dict[str, str]
    english: list[str]
    people: set[str]
    proposal: Mapping[str, Any] | None = None

    @property
    def key(self) -> str:
        """The key of the head."""
        return next(iter(self.texts))

    @property
    def head(self) -> str:
        """The answer that stands for the group."""
        return self.texts[self.key]

    @property
    def votes(self) -> int:
        """How many people gave one of the answers."""
        return len(self.people)


class Merged(NamedTuple):
    """The answers to a wording, after merging: those that count, the ``old`` ones to a former text, and the groups.

    ``groups``: of those that count, most votes first; ``proposed``: texts of audits that are in none of these yet.
    """

    wording: Wording
    decisions: list[Decision]
    counted: list[Answer]
    old: list[Answer]
    groups: list[Group]
    proposed: list[Group]

    @property
    def asked(self) -> bool:
        """Whether people may be asked this now."""
        return self.wording.state == APPROVED and not self.wording.question.retired

    @property
    def idks(self) -> dict[str, int]:
        """How many people gave no answer, by the reasons of the answer form."""
        return {reason: sum(answer.outcome == reason for answer in self.counted) for reason in IDK_KEYS}

    @property
    def shares(self) -> list[float]:
        """Of all people who count, who gave the commonest answer, and who gave none for each reason; [] of nobody."""
        votes = [self.groups[0].votes if self.groups else 0, *self.idks.values()]
        return [n / len(self.counted) for n in votes] if self.counted else []

    @property
    def first(self) -> dict[str, str]:
        """Of each who answered, the head of the group of their first answer."""
        heads = {text: group.head for group in self.groups for text in group.texts.values()}
        return {answer.author: heads[answer.texts[0]] for answer in self.counted if answer.texts}


def merged_answers(project: Project, wordings: QuerySet[Wording], without: Collection[str] = ()) -> list[Merged]:
    """Return the answers to each of ``wordings``, by the questions' numbers; those of authors in ``without`` are none.

    Answers to a text that was changed since count where somebody confirmed that they still answer it.
    """
    decided: dict[str, list[Decision]] = {}
    for decision in Decision.objects.filter(wording__in=wordings.values("id")):
        decided.setdefault(decision.wording, []).append(decision)
    here = {"question__in": wordings.values("question"), "language__in": wordings.values("language")}
    answers: dict[str, list[Answer]] = {}
    for answer in Answer.objects.filter(project=project, **here).exclude(author__in=without):
        answers.setdefault(f"{answer.question}:{answer.language}", []).append(answer)
    merged = []
    for wording in wordings.select_related("question").order_by("question__number"):
        decisions = decided.get(wording.id, [])
        counted: list[Answer] = []
        old: list[Answer] = []
        for answer in answers.get(wording.id, ()):
            (counted if answer.revisions in wording.counted else old).append(answer)
        groups = _groups(project, counted, decisions)
        by_people = [group for group in groups if group.people]
        proposed = [group for group in groups if not group.people]
        merged.append(Merged(wording, decisions, counted, old, by_people, proposed))
    return merged


def _groups(project: Project, answers: Iterable[Answer], decisions: Sequence[Decision]) -> list[Group]:
    texts: dict[str, str] = {}
    people: dict[str, set[str]] = {}
    for answer in answers:
        for text in answer.texts:
            key = key_of(project, text)
            texts[key] = text
            people.setdefault(key, set()).add(answer.author)
    proposals = {key_of(project, d.body["text"]): d.body for d in decisions if d.kind == "answers.proposed"}
    for key, body in proposals.items():
        texts.setdefault(key, body["text"])
        people.setdefault(key, set())
    english: dict[str, str] = {}
    for decision in decisions:
        english |= decision.body.get("english", {})
    rank = {decision.body["key"]: decision.seq for decision in decisions if decision.kind == "answers.named"}
    groups = []
    for keys in _partition(texts, decisions):
        # Whom somebody named last stands first, then what most people said, then what was said first.
        ordered = sorted(keys, key=lambda key: (-rank.get(key, -1), -len(people[key])))
        lines = dict.fromkeys(part.strip() for key in ordered for part in english.get(key, "").split(";"))
        of_group = {key: texts[key] for key in ordered}
        voters = set[str]().union(*(people[key] for key in keys))
        groups.append(Group(of_group, list(filter(None, lines)), voters, proposals.get(ordered[0])))
    return sorted(groups, key=lambda group: -group.votes)


def _partition(present: Iterable[str], decisions: Iterable[Decision]) -> list[list[str]]:
    """Return the groups that decisions make of the keys ``present``, each in their order."""
    groups: dict[str, set[str]] = {}
    for decision in decisions:
        if decision.kind == "answers.merged":
            joined = set().union(*(groups.get(key, {key}) for key in decision.body["keys"]))
            groups |= dict.fromkeys(joined, joined)
        elif decision.kind == "answers.split":
            groups.get(decision.body["key"], set()).discard(decision.body["key"])
            groups[decision.body["key"]] = {decision.body["key"]}
    partition: dict[int, list[str]] = {}
    for key in present:
        partition.setdefault(id(groups.setdefault(key, {key})), []).append(key)
    return list(partition.values())

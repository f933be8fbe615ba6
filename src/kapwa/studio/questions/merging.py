"""Answers that mean the same: what people decided, and how many people are behind each group of answers then.

An answer is named by a key made of its words and the project's secret, so that what was decided about it holds for
everybody who gives it later, and holds no words of anybody. Two answers are one group only where a person said so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from django.db.models import QuerySet

from kapwa.studio.core.reading import once_a_page
from kapwa.studio.core.tables import APPROVED, Project
from kapwa.studio.core.text import key_of
from kapwa.studio.questions.tables import Answer, Decision, Wording
from kapwa.suites.blend.questions import IDK_KEYS
from kapwa.value_types import JsonMapping


class MergedGroup(NamedTuple):
    """Answers that mean the same: ``texts`` by their keys, the head first.

    ``english``: what the texts are in English, as far as somebody said so; ``people``: who gave one of them, each once.
    ``proposal``: of a text that nobody gave, which an audit proposed: how many people call it right, by which rubric.
    """

    texts: dict[str, str]
    english: list[str]
    people: set[str]
    proposal: JsonMapping | None = None

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
    groups: list[MergedGroup]
    proposed: list[MergedGroup]

    @property
    def asked(self) -> bool:
        """Whether people may be asked this now."""
        return self.wording.state == APPROVED and not self.wording.question.retired

    @property
    def is_compared(self) -> bool:
        """Whether somebody said that no other answers mean the same, as they are now."""
        return bool(compared([self.wording], self.decisions))

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


@once_a_page
def comparisons(project: Project) -> list[Decision]:
    """Return where somebody said that no other answers mean the same."""
    return list(Decision.objects.filter(project=project, kind="answers.compared"))


def compared(wordings: Iterable[Wording], decisions: Iterable[Decision]) -> set[str]:
    """Return the ids of those ``wordings`` of whose answers somebody said that no others mean the same, as they are.

    Where more people answered since, or the text is another one, they are to be compared again.
    """
    said: dict[str, list[JsonMapping]] = {}
    for decision in decisions:
        if decision.kind == "answers.compared":
            said.setdefault(decision.wording, []).append(decision.body)
    return {one.id for one in wordings if any(_is_of(one, body) for body in said.get(one.id, ()))}


def _is_of(wording: Wording, body: JsonMapping) -> bool:
    return bool(body["now"] == [wording.question.revision, wording.revision] and body["people"] >= wording.people)


def against_people(project: Project, merged: Merged, kind: str, keys: Collection[str]) -> dict[str, int] | None:
    """Return what most people said where a decision goes against it: ``n`` of ``of`` people; None where it does not.

    ``keys``: the answers that are merged into one, or the one that is put first. A merge goes against people where more
    than half of those behind an answer gave the other one beside it, as something else, and at least two did; and where
    what more than half of all gave is no longer the commonest. An answer is put first against people where more gave
    another one of its group, and more than half of the people behind that.
    """
    if kind == "answers.named":
        people = _people(project, merged.counted)
        for group in (group for group in merged.groups if not group.texts.keys().isdisjoint(keys)):
            most = max(len(people.get(key, ())) for key in group.texts)
            named = max(len(people.get(key, ())) for key in keys)
            if most > named and 2 * most > group.votes:
                return {"n": most, "of": group.votes}
        return None
    if kind != "answers.merged":
        return None
    joined = [group for group in merged.groups if not group.texts.keys().isdisjoint(keys)]
    for some, other in combinations(joined, 2):
        both, fewer = len(some.people & other.people), min(some.votes, other.votes)
        if both > 1 and 2 * both > fewer:
            return {"n": both, "of": fewer}
    first, together = merged.groups[:1], set[str]().union(*(group.people for group in joined))
    for group in first:
        if group not in joined and 2 * group.votes > len(merged.counted) and len(together) > group.votes:
            return {"n": group.votes, "of": len(merged.counted)}
    return None


def _people(project: Project, answers: Iterable[Answer]) -> dict[str, set[str]]:
    """Return who gave each answer, by its key."""
    people: dict[str, set[str]] = {}
    for answer in answers:
        for text in answer.texts:
            people.setdefault(key_of(project, text), set()).add(answer.author)
    return people


class Given(NamedTuple):
    """Wordings, by the questions' numbers; by their ids, the answers to them, and what was decided about these."""

    wordings: list[Wording]
    answers: dict[str, list[Answer]]
    decisions: dict[str, list[Decision]]


def given_to(project: Project, wordings: Sequence[Wording]) -> Given:
    """Return what people answered to ``wordings``, which know their questions, and decided about it."""
    ids = {wording.id for wording in wordings}
    decided: dict[str, list[Decision]] = {}
    for decision in Decision.objects.filter(project=project, wording__in=ids):
        decided.setdefault(decision.wording, []).append(decision)
    here = {"question__in": {w.question_id for w in wordings}, "language__in": {w.language for w in wordings}}
    answers: dict[str, list[Answer]] = {}
    for answer in Answer.objects.filter(project=project, **here):
        answers.setdefault(f"{answer.question}:{answer.language}", []).append(answer)
    return Given(list(wordings), answers, decided)


def merged_answers(project: Project, wordings: QuerySet[Wording], without: Collection[str] = ()) -> list[Merged]:
    """Return :func:`merge` of what people gave to ``wordings``."""
    known = list(wordings.select_related("question").order_by("question__number"))
    return merge(project, given_to(project, known), without)


def merge(project: Project, given: Given, without: Collection[str] = ()) -> list[Merged]:
    """Return the answers to each wording after merging; those of authors in ``without`` are none.

    Answers to a text that was changed since count where somebody confirmed that they still answer it.
    """
    merged = []
    for wording in given.wordings:
        decisions = given.decisions.get(wording.id, [])
        counted: list[Answer] = []
        old: list[Answer] = []
        for answer in given.answers.get(wording.id, ()):
            if answer.author in without:
                continue
            (counted if answer.revisions in wording.counted else old).append(answer)
        groups = _groups(project, counted, decisions)
        by_people = [group for group in groups if group.people]
        proposed = [group for group in groups if not group.people]
        merged.append(Merged(wording, decisions, counted, old, by_people, proposed))
    return merged


def _groups(project: Project, answers: Iterable[Answer], decisions: Sequence[Decision]) -> list[MergedGroup]:
    given = list(answers)
    texts = {key_of(project, text): text for answer in given for text in answer.texts}
    people = _people(project, given)
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
        groups.append(MergedGroup(of_group, list(filter(None, lines)), voters, proposals.get(ordered[0])))
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

"""What people say about themselves: what a project asks, and tables in which no group is smaller than five.

Everything is optional. It stands apart from what people write, no page shows it beside a name or a person's number, it
goes when they withdraw, and a release counts only those who agreed to that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from django.utils.translation import gettext_noop

from kapwa.files import table_rows
from kapwa.stats.disclosure import FEWEST, Counts, count_answers
from kapwa.studio.core.tables import Event, Membership, PeopleCounted, Project, Release, change
from kapwa.studio.core.text import key_of

# What a project may ask, by key: the question, and what there is to choose among; () for a line of one's own.
STANDARD = {
    row["key"]: (row["question"], tuple(filter(None, row["choices"].split(";"))))
    for row in table_rows(Path(__file__).with_name("background.csv"))
}
MOST_ASKED = 40
# What else the form of these questions has.
_TAKEN = {"agree", "public", "uuid", "csrfmiddlewaretoken", "kept", *STANDARD}
# What people are grouped by.
_ROLE, _SESSION = gettext_noop("Role"), gettext_noop("Session")


class BackgroundQuestion(NamedTuple):
    """What people are asked about themselves; ``key``: under which the answer is kept."""

    key: str
    text: str
    choices: tuple[str, ...]


def asked(project: Project) -> list[BackgroundQuestion]:
    """Return what a project asks people: of STANDARD, then questions of its own, a line each.

    A line is a question, or a question, a colon, and choices between semicolons; in any script's signs. One that bears
    the name of another field of the form is kept under a name of its own.
    """
    questions = [BackgroundQuestion(key, *about) for key, about in STANDARD.items() if key in project.background]
    for line in filter(None, map(str.strip, project.background_own.split("\n"))):
        text, *choices = re.split("[:：]", line, maxsplit=1)
        options = re.split("[;；؛]", "".join(choices))
        name = text.strip()
        key = f"own {name}" if name in _TAKEN else name
        questions.append(BackgroundQuestion(key, name, tuple(filter(None, map(str.strip, options)))))
    return list({question.key: question for question in questions[:MOST_ASKED]}.values())


def count_people(
    project: Project,
    members: Sequence[Membership],
    key: str,
    groups: Mapping[str, str] | None = None,
    *,
    shown: Sequence[Counts] = (),
) -> Counts | None:
    """Count ``members`` by what they said to question ``key``; None where that would tell of a few of them.

    ``groups``: the group of each, by author. ``shown``: all tables of this question that anybody was shown before. In a
    table a person stands under a keyed digest of author and answer: another once they change it, and nothing to others.
    """
    answers = [member.background.get(key, "") for member in members]
    pairs = zip(members, answers, strict=True)
    people = [_digest(project, key, member.author, answer.casefold()) for member, answer in pairs]
    of_people = None
    if groups is not None:
        of_people = {person: groups[member.author] for person, member in zip(people, members, strict=True)}
    return count_answers(dict(zip(people, answers, strict=True)), of_people, shown=shown)


def _digest(project: Project, key: str, author: str, answer: str) -> str:
    return key_of(project, f"{key}\0{author}\0{answer}")


class BackgroundCounts(NamedTuple):
    """What a page tells of a question: how many people gave each answer, and the same by groups, by what these are."""

    question: BackgroundQuestion
    counts: Mapping[str, int]
    by_group: list[tuple[str, Mapping[str, Mapping[str, int]]]]


def who_took_part(project: Project) -> list[BackgroundCounts]:
    """Return, of each question, how many people said what, and tables of that by role and by session, as pages show it.

    It is what :func:`count_again` counted last: of who withdrew since it says no less, of who came no more.
    """
    newest: dict[str, list[tuple[str, Counts]]] = {}
    for counted in PeopleCounted.objects.filter(project=project):
        newest |= _tables(counted)
    told = []
    for question in asked(project):
        tables = newest.get(question.key, [])
        counts = next((table.by_answer for name, table in tables if not name), {})
        told.append(BackgroundCounts(question, counts, [(name, table.cells) for name, table in tables if name]))
    return told


def people_counted(project: Project) -> int:
    """Return how many people had told something about themselves when they were counted last; 0 before."""
    last = PeopleCounted.objects.filter(project=project).last()
    return len(last.people) if last else 0


def _tables(counted: PeopleCounted) -> dict[str, list[tuple[str, Counts]]]:
    return {key: [(name, Counts.from_json(kept)) for name, kept in rows] for key, rows in counted.tables.items()}


def shown_before(project: Project, key: str) -> list[Counts]:
    """Return every table of a question that anybody could have seen: on pages, and in releases."""
    releases = [release.facts.get("counted", {}) for release in Release.objects.filter(project=project)]
    of_pages = PeopleCounted.objects.filter(project=project)
    on_pages = [table for counted in of_pages for _name, table in _tables(counted).get(key, ())]
    return [*on_pages, *(Counts.from_json(tables[key]) for tables in releases if key in tables)]


def groups_of(project: Project, member: Membership) -> dict[str, str]:
    """Return in which groups a member is now: the first of their roles, and the first session that they were in."""
    opened = Event.objects.filter(project=project, kind="session.opened", erased=False).order_by("seq")
    sessions = (event.body["title"] for event in opened if member.author in event.body["attendees"])
    return {_ROLE: next(iter(member.roles), ""), _SESSION: next(sessions, "")}


def count_again(project: Project) -> bool:
    """Count who took part anew where five people or more changed since the last count; return whether it was.

    Somebody changes who tells something, changes it, or withdraws. They stand in the role and the session in which they
    were when they told it, for a coordinator may change both at any time. A table of a question that beside all those
    before it, on pages and in releases, would tell of a few people is left out; the one before it stays on the page.
    """
    every = Membership.objects.filter(project=project).exclude(background={}).order_by("author")
    members = list(every)
    for member in members:
        if not member.background_groups:  # told to an earlier version
            change(member, background_groups=groups_of(project, member))
    now = {_digest(project, "", member.author, json.dumps(member.background, sort_keys=True)) for member in members}
    last = PeopleCounted.objects.filter(project=project).last()
    before = set(last.people) if last else set()
    if max(len(now - before), len(before - now)) < FEWEST:
        return False
    groups = {member.author: member.background_groups for member in members}
    tables = {}
    for question in asked(project):
        if new := _counted(project, members, question.key, groups):
            tables[question.key] = [(name, table.to_json()) for name, table in new]
    PeopleCounted.objects.create(project=project, people=sorted(now), tables=tables)
    return True


def _counted(
    project: Project, members: Sequence[Membership], key: str, groups: Mapping[str, Mapping[str, str]]
) -> list[tuple[str, Counts]]:
    """Return the tables of a question that can be shown, the whole first; [] where that cannot."""
    shown = shown_before(project, key)
    whole = count_people(project, members, key, shown=shown)
    if whole is None:
        return []
    tables = [("", whole)]
    for name in (_ROLE, _SESSION):
        theirs = {author: of.get(name, "") for author, of in groups.items()}
        of_pages = [*shown, *(table for _name, table in tables)]
        if table := count_people(project, members, key, theirs, shown=of_pages):
            tables.append((name, table))
    return tables

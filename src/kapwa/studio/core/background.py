"""What people say about themselves: what a project asks, and tables in which no group is smaller than five.

Everything is optional. It stands apart from what people write, no page shows it beside a name or a person's number, it
goes when they withdraw, and a release counts only those who agreed to that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from django.utils.translation import gettext_noop

from kapwa.files import table_rows
from kapwa.studio.core.tables import Event, Membership, Project

# No group of fewer people is told of, nor can it be had by taking the others away.
FEWEST = 5
OTHERS = gettext_noop("others, or not said")
# What a project may ask, by key: the question, and what there is to choose among; () for a line of one's own.
STANDARD = {
    row["key"]: (row["question"], tuple(filter(None, row["choices"].split(";"))))
    for row in table_rows(Path(__file__).with_name("background.csv"))
}


class Question(NamedTuple):
    """What people are asked about themselves; ``key``: under which the answer is kept."""

    key: str
    text: str
    choices: tuple[str, ...]


def asked(project: Project) -> list[Question]:
    """Return what a project asks people: of STANDARD, then questions of its own, a line each.

    A line is a question, or a question, a colon, and choices between semicolons; in any script's signs.
    """
    questions = [Question(key, *about) for key, about in STANDARD.items() if key in project.background]
    for line in filter(None, map(str.strip, project.background_own.split("\n"))):
        text, *choices = re.split("[:：]", line, maxsplit=1)
        options = re.split("[;；؛]", "".join(choices))
        questions.append(Question(text.strip(), text.strip(), tuple(filter(None, map(str.strip, options)))))
    return questions


def answers_to(members: Iterable[Membership], key: str) -> list[str]:
    """Return what each of ``members`` said, "" for nothing, in the first spelling where only capitals differ."""
    spelled: dict[str, str] = {}
    values = [member.background.get(key, "") for member in members]
    return [spelled.setdefault(value.casefold(), value) for value in values]


def anonymous(values: Iterable[str]) -> dict[str, int]:
    """Count people by what they said, in groups of at least five; {} where even all together are fewer.

    Smaller groups, and who said nothing, are one group. Where that has fewer than five, the next smallest joins it, so
    that no small group can be had by taking others from the whole.
    """
    counts = Counter(value.strip() for value in values)
    rest = counts.pop("", 0)
    for value, n in sorted(counts.items(), key=lambda pair: (pair[1], pair[0])):
        if n < FEWEST or 0 < rest < FEWEST:
            rest += counts.pop(value)
    if not counts and rest < FEWEST:
        return {}
    return {**dict(sorted(counts.items())), **({OTHERS: rest} if rest else {})}


def tells_apart(past: Mapping[str, int], now: Mapping[str, int]) -> bool:
    """Whether two releases' counts together tell something of fewer than five people: of those who came or left.

    Groups that both name may differ by nobody or by five and more, and so may all others together; where a group is
    named once only, somebody changed, so the others must differ by five and more.
    """
    if not past or not now:
        return False
    both = (past.keys() & now.keys()) - {OTHERS}
    rest = sum(now.values()) - sum(past.values()) - sum(now[name] - past[name] for name in both)
    changes = [abs(rest), *(abs(now[name] - past[name]) for name in both)]
    named_once = (past.keys() ^ now.keys()) - {OTHERS}
    return any(0 < n < FEWEST for n in changes) or bool(named_once and not rest)


def crossed(values: Iterable[str], groups: Iterable[str]) -> dict[str, dict[str, int | None]]:
    """Count people, each with a value and a group, by both; {} where no cell can be shown.

    Both are merged by :func:`anonymous`. A cell of one to four people is None; and where all such cells of a row or
    column hold fewer than five together, the next smallest is, too, so that none can be had from the sums.
    """
    pairs = list(zip(values, groups, strict=True))
    rows, columns = (anonymous(side) for side in (zip(*pairs, strict=True) if pairs else ((), ())))
    counts = Counter((row if row in rows else OTHERS, group if group in columns else OTHERS) for row, group in pairs)
    hidden = {cell for cell, n in counts.items() if n < FEWEST}
    lines = [[cell for cell in counts if name == cell[side]] for side in (0, 1) for name in (rows, columns)[side]]

    def exposes(line: Iterable[tuple[str, str]]) -> bool:
        return 0 < sum(counts[cell] for cell in hidden.intersection(line)) < FEWEST

    while line := next(filter(exposes, lines), None):
        hidden.add(min(set(line) - hidden, key=lambda cell: (counts[cell], cell)))
    if hidden == counts.keys():
        return {}
    return {row: {group: None if (row, group) in hidden else counts[row, group] for group in columns} for row in rows}


def who_took_part(project: Project) -> list[tuple[Question, dict[str, int], list[tuple[str, Any]]]]:
    """Return, of each question, how many people said what, and tables of that: by role and by session.

    Somebody stands in the first session that they were in, and in the first of their roles, so that nobody is two.
    """
    members = [member for member in Membership.objects.filter(project=project).order_by("author") if member.background]
    sessions: dict[str, str] = {}
    for event in Event.objects.filter(project=project, kind="session.opened", erased=False).order_by("-seq"):
        sessions |= dict.fromkeys(event.body["attendees"], event.body["title"])
    groups = {
        gettext_noop("Role"): [next(iter(member.roles), "") for member in members],
        gettext_noop("Session"): [sessions.get(member.author, "") for member in members],
    }
    tables = []
    for question in asked(project):
        values = answers_to(members, question.key)
        by_group = [(name, crossed(values, theirs)) for name, theirs in groups.items()]
        tables.append((question, anonymous(values), [(name, table) for name, table in by_group if table]))
    return tables

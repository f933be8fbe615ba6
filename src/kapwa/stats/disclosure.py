"""Tables of what people reported about themselves that do not reveal the answers of fewer than five people.

A reader of such tables may know each person's role, who came or left between two tables, and who was counted at all. So
a table is shown only if this holds for every group of the counted people that a reader can form: any five of the group
(all, where the group is smaller) may have given any one answer, and any five may not. :func:`tells` tests this: it
takes all tables that were ever shown and computes the bounds of each count by linear programming. Small groups are
merged rather than blanked (global recoding; Willenborg and de Waal 2001, *Elements of Statistical Disclosure Control*,
chapter 4): a blank beside sums can be solved for, a sum of five people cannot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from kapwa.languages.same import same_text
from kapwa.value_types import JsonMapping, JsonObject

# Nothing is shown about fewer people.
FEWEST = 5
# The name of the row or column for small groups and for people who gave no answer.
OTHERS = "others, or not said"
# Bounds of a linear program are counts of people but for rounding.
_ROUNDING = 1e-6
# Up to this many groups, combinations of two are tested too; above it, only the groups that a table shows.
_MOST_GROUPS = 60
_Reals = NDArray[np.float64]
_People = frozenset[str]


@dataclass(frozen=True)
class Counts:
    """How many people of each group gave each answer: a table that is shown, and who is counted in it.

    ``groups``: the people of each group, by its name; no one is in two. ``cells``: for each answer the number of people
    of each group. The answer :data:`OTHERS` counts every answer that has no row of its own, and missing answers.
    """

    groups: Mapping[str, _People]
    cells: Mapping[str, Mapping[str, int]]

    @property
    def by_answer(self) -> dict[str, int]:
        """How many people gave each answer, over all groups."""
        return {answer: sum(row.values()) for answer, row in self.cells.items()}

    def to_json(self) -> JsonObject:
        """Return what JSON can hold; :meth:`from_json` makes the table again."""
        groups = {name: sorted(people) for name, people in self.groups.items()}
        return {"groups": groups, "cells": {answer: dict(row) for answer, row in self.cells.items()}}

    @classmethod
    def from_json(cls, stored: JsonMapping) -> Counts:
        """Return the table that :meth:`to_json` wrote."""
        return cls({name: frozenset(people) for name, people in stored["groups"].items()}, stored["cells"])


def count_answers(
    answers: Mapping[str, str], groups: Mapping[str, str] | None = None, *, shown: Sequence[Counts] = ()
) -> Counts | None:
    """Count people by answer, and by group where ``groups`` are known; None where any counts would reveal too much.

    Answers are merged, the smallest first, until the counts reveal nothing about fewer than five people.

    ``answers``: each person's answer ("" for none), by an id that changes when the person changes an answer; answers
    that differ in capitals alone are one. ``groups``: each person's group, by the same ids; small ones are merged.
    ``shown``: every table of this question that was shown before, on any page or in any release.
    """
    spelled = {same_text(row): row for table in shown for row in table.cells}
    given = [spelled.setdefault(same_text(answer), answer.strip()) for answer in answers.values()]
    rows = dict(zip(answers, _merged(given), strict=True))
    columns = dict.fromkeys(answers, "")
    if groups is not None:
        columns = dict(zip(answers, _merged([groups[person] for person in answers]), strict=True))
        rows, columns = _coarsened(rows, columns)
    if groups is not None and len(set(columns.values())) < 2:
        return None
    while len(set(rows.values())) > 1:
        table = _table(rows, columns)
        if not tells((*shown, table)):
            return table
        rows = _with_others(rows)
    return None


def _table(rows: Mapping[str, str], columns: Mapping[str, str]) -> Counts:
    """Count people by the names of their rows and columns; the others last."""
    cells = Counter((rows[person], columns[person]) for person in rows)
    names = sorted(set(columns.values()), key=_others_last)
    return Counts(
        {name: frozenset(person for person in rows if columns[person] == name) for name in names},
        {row: {name: cells[row, name] for name in names} for row in sorted(set(rows.values()), key=_others_last)},
    )


def _with_others(names: Mapping[str, str]) -> dict[str, str]:
    """Merge the smallest group into :data:`OTHERS`; where there are no others yet, the two smallest."""
    sizes = Counter(names.values())
    sizes.pop(OTHERS, None)
    joined = sorted(sizes, key=lambda name: (sizes[name], name))[: 1 if OTHERS in names.values() else 2]
    return {who: OTHERS if name in joined else name for who, name in names.items()}


def tells(shown: Sequence[Counts]) -> bool:
    """Whether the ``shown`` tables together reveal what fewer than five people answered, or did not answer.

    They do if, for some group of people and some answer in a table (or its others), the count can be bounded
    below ``min(size, 5)``, or above ``max(0, size − 5)``. Groups tried: sets of people whom no table separates, the
    columns of tables, whole tables, and differences, intersections and unions of two of these. Bounds are those of
    the linear relaxation, which are exact for one table.
    """
    if not _differ(shown):
        return False
    system = _System(shown)
    least, most = np.minimum(system.sizes, FEWEST), np.maximum(0, system.sizes - FEWEST)
    high, low = np.full(system.shape, -np.inf), np.full(system.shape, np.inf)
    # A solution that shows one pair of a group and an answer to be free shows many others to be.
    for sign, bound in ((-1.0, high), (1.0, low)):
        while True:
            open_pairs = high < least[:, None] - _ROUNDING if sign < 0 else low > most[:, None] + _ROUNDING
            if not open_pairs.any():
                break
            pair = np.unravel_index(int(open_pairs.argmax()), open_pairs.shape)
            counts = system.extreme(int(pair[0]), int(pair[1]), sign)
            if counts is None:  # the tables contradict each other, so they do not count the people they name
                return True
            np.maximum(high, counts, out=high)
            np.minimum(low, counts, out=low)
            reached = bound[pair]
            if reached < least[pair[0]] - _ROUNDING if sign < 0 else reached > most[pair[0]] + _ROUNDING:
                return True
    return False


def _merged(names: list[str]) -> list[str]:
    """Merge groups of fewer than five and people without one (""); add the next smallest if that is still too few."""
    counts = Counter(name.strip() for name in names)
    rest = counts.pop("", 0) + counts.pop(OTHERS, 0)
    for name, n in sorted(counts.items(), key=lambda pair: (pair[1], pair[0])):
        if n < FEWEST or 0 < rest < FEWEST:
            rest += counts.pop(name)
    return [name.strip() if name.strip() in counts else OTHERS for name in names]


def _coarsened(rows: Mapping[str, str], columns: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Merge answers and groups, the smaller side first, until no cell holds fewer than five people."""
    sides = [dict(rows), dict(columns)]
    while True:
        cells = Counter(zip(sides[0].values(), sides[1].values(), strict=True))
        sizes = [Counter(side.values()) for side in sides]
        pairs = [(row, column) for row in sizes[0] for column in sizes[1]]
        smallest = min(pairs, key=lambda pair: (cells[pair], pair), default=None)
        if smallest is None or cells[smallest] >= FEWEST or min(map(len, sizes)) < 2:
            return sides[0], sides[1]
        side = 0 if sizes[0][smallest[0]] <= sizes[1][smallest[1]] else 1
        if len(sizes[side]) == 2 < len(sizes[1 - side]):
            side = 1 - side
        joined = smallest[side]
        if joined == OTHERS or OTHERS not in sizes[side]:
            others = [name for name in sizes[side] if name not in (joined, OTHERS)]
            partner = min(others, key=lambda name: (sizes[side][name], name))
        else:
            partner = OTHERS
        sides[side] = {who: OTHERS if name in (joined, partner) else name for who, name in sides[side].items()}


def _others_last(name: str) -> tuple[bool, str]:
    return name == OTHERS, name


def _differ(shown: Sequence[Counts]) -> bool:
    """Whether bounds must be computed: a single table whose cells are large enough reveals nothing."""
    small = any(n < FEWEST for table in shown for row in table.cells.values() for n in row.values())
    return small or any(table != shown[0] for table in shown) or any(len(table.cells) < 2 for table in shown)


class _System:
    """What tables reveal about who gave which answer, as linear equations.

    The unknowns: for each set of people whom no table separates (``atoms``), how many gave each answer; the last answer
    is for all that no table names.
    """

    def __init__(self, shown: Sequence[Counts]) -> None:
        columns = [people for table in shown for people in table.groups.values()]
        wholes = [frozenset[str]().union(*table.groups.values()) for table in shown]
        marks: dict[tuple[bool, ...], set[str]] = {}
        for person in frozenset[str]().union(*wholes):
            marks.setdefault(tuple(person in people for people in columns), set()).add(person)
        atoms = sorted((frozenset(people) for people in marks.values()), key=min)
        groups = _groups(atoms, [*columns, *wholes])
        self._members = np.array([[atom <= group for atom in atoms] for group in groups], dtype=float)
        self.sizes = np.array([len(group) for group in groups], dtype=float)
        named = sorted({answer for table in shown for answer in table.cells} - {OTHERS})
        answer_sets = {frozenset({answer}) for answer in named}
        answer_sets |= {_answers_of(row, table, named) for table in shown for row in table.cells}
        self._answers = np.array([[name in own for name in (*named, OTHERS)] for own in answer_sets], dtype=float)
        self.shape = len(groups), len(answer_sets)
        self._unknown = len(atoms), len(named) + 1
        equations = [(np.ones(len(named) + 1), [atom], len(atom)) for atom in atoms]
        for table in shown:
            for answer, row in table.cells.items():
                own = _answers_of(answer, table, named)
                of_row = np.array([name in own for name in (*named, OTHERS)], dtype=float)
                equations += [(of_row, _within(atoms, table.groups[group]), n) for group, n in row.items()]
        left = [np.outer([float(atom in within) for atom in atoms], side).ravel() for side, within, _n in equations]
        self._left, self._right = np.array(left), np.array([float(n) for _side, _within_, n in equations])

    def extreme(self, group: int, answer: int, sign: float) -> _Reals | None:
        """Counts of every group and answer where that of one pair is least (``sign`` 1) or most (−1)."""
        aim = sign * np.outer(self._members[group], self._answers[answer]).ravel()
        solved = linprog(aim, A_eq=self._left, b_eq=self._right, bounds=(0, None), method="highs")
        if not solved.success:
            return None
        counts: _Reals = self._members @ solved.x.reshape(self._unknown) @ self._answers.T
        return counts


def _answers_of(row: str, table: Counts, named: Iterable[str]) -> frozenset[str]:
    """Return the answers that a row counts: its own, or those that the table does not name."""
    if row != OTHERS:
        return frozenset({row})
    return frozenset({OTHERS, *named}) - (table.cells.keys() - {OTHERS})


def _within(atoms: Iterable[_People], group: _People) -> list[_People]:
    return [atom for atom in atoms if atom <= group]


def _groups(atoms: Iterable[_People], of_tables: Iterable[_People]) -> list[_People]:
    """Return the groups of people that a reader of the tables can form in one or two steps."""
    first = dict.fromkeys(of_tables)
    groups = dict.fromkeys((*atoms, *first))
    if len(first) <= _MOST_GROUPS:
        groups |= dict.fromkeys(_pairs(first))
    return [group for group in groups if group]


def _pairs(groups: Iterable[_People]) -> Iterator[_People]:
    for one, other in combinations(groups, 2):
        yield from (one - other, other - one, one & other, one | other)

"""Tables of what people said of themselves: how often they are shown, and how often an attacker learns of a few."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from benchmarks.simulations import Cell
from scipy.optimize import linprog

from kapwa.stats.disclosure import FEWEST, Counts, count_answers

ANSWERS, SHARES = ("a", "b", "c", "d", ""), (0.4, 0.3, 0.15, 0.1, 0.05)
ROLES, ROLE_SHARES = ("writer", "reviewer", "rater"), (0.5, 0.35, 0.15)
SESSIONS = ("first", "second", "")


def learnt(table: Counts) -> bool:
    """Whether a cell of one to four people, or of nobody, can be had from one table and its sums.

    A plain attack beside :func:`kapwa.stats.disclosure.tells`: each cell's least and most by linear programming.
    """
    rows, columns = list(table.cells), list(table.groups)
    places = {pair: number for number, pair in enumerate(product(rows, columns))}
    sides, totals = [], []
    for (row, column), place in places.items():
        sides.append(np.eye(len(places))[place])
        totals.append(table.cells[row][column])
    for cell in np.eye(len(places)):
        ends = [
            sign * linprog(sign * cell, A_eq=np.array(sides), b_eq=np.array(totals), method="highs").fun
            for sign in (1, -1)
        ]
        if ends[1] < FEWEST - 1e-6:
            return True
    return False


def people(random: np.random.Generator, numbers: Sequence[int]) -> list[dict[str, str]]:
    """What each person says, their role, and the session they were in."""
    kinds = ((ANSWERS, SHARES), (ROLES, ROLE_SHARES), (SESSIONS, (0.4, 0.4, 0.2)))
    return [{f"p{n}": str(random.choice(names, p=shares)) for n in numbers} for names, shares in kinds]


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Tables of one page; then a second time, when some people came."""
    for size in (20, 30, 60, 120):
        shown = dict.fromkeys(("answers", "role", "session", "later: 3 came", "later: a third came"), 0)
        leaks = 0
        for _ in range(repeats):
            said, roles, sessions = people(random, range(size))
            told = [table] if (table := count_answers(said)) else []
            shown["answers"] += bool(told)
            for name, groups in (("role", roles), ("session", sessions)) if told else ():
                if table := count_answers(said, groups, shown=told):
                    told.append(table)
                    shown[name] += 1
            leaks += any(learnt(table) for table in told)
            for name, came in (("later: 3 came", 3), ("later: a third came", size // 3)) if told else ():
                newcomers = people(random, range(size, size + came))[0]
                shown[name] += count_answers(said | newcomers, shown=told) is not None
        yield Cell(
            "disclosure", "a page tells of fewer than five", f"{size} people", 100 * leaks / repeats, repeats, 0, 0
        )
        for name, number in shown.items():
            yield Cell("disclosure", f"shown: {name}", f"{size} people", 100 * number / repeats, repeats, 0, 100)

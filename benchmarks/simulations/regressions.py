"""A new run against an old one: how often the words of ``kapwa compare --margin`` are wrong, and what they find.

"No regression" is wrong where the true loss is the margin (or more), "regression" where it is the margin (or less). Of
the cultures of one comparison, any wrong "regression" counts, as Holm's method allows for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.simulations import Cell
from benchmarks.simulations.comparisons import answers, places

from kapwa.report.tables.regression import LEVEL, outcome_of
from kapwa.stats.intervals import Comparison, paired_differences
from kapwa.stats.pooled import pooled_differences
from kapwa.stats.significance import holm

SUBJECT = "A new run against an old one"
MARGIN = 0.05
LARGE = 0.15
# Cultures, questions of each, and whether cultures share them.
DESIGNS = {
    "16 cultures × 40 shared questions": (16, 40, "shared"),
    "16 cultures × 100 shared questions": (16, 100, "shared"),
    "16 cultures × 300 shared questions": (16, 300, "shared"),
    "1 culture × 40 questions": (1, 40, "own"),
    "1 culture × 300 questions": (1, 300, "own"),
}


def simulated(random: np.random.Generator, design: tuple[int, int, str], loss: float) -> tuple[np.ndarray, ...]:
    """Right and wrong of the new and the old run, with the culture and question of each item."""
    cultures, questions = places(random, design)
    base = 0.5 * np.linspace(0.8, 1.2, design[0]) if design[0] > 1 else np.array([0.5])
    new, old = answers(random, cultures, questions, np.stack([base - loss, base]))
    return new, old, cultures, questions


def of_one_culture(new: np.ndarray, old: np.ndarray, questions: np.ndarray) -> Comparison:
    """The comparison of one culture; its sign-flip test is not looked at."""
    return paired_differences(new, old, questions, binary=True, permutations=100, equal_within=MARGIN)[0]


def outcome(random: np.random.Generator, design: tuple[int, int, str], loss: float) -> str:
    """What is said of one simulated pair of runs."""
    new, old, cultures, questions = simulated(random, design, loss)
    if design[0] == 1:
        compared = of_one_culture(new, old, questions)
    else:
        compared = pooled_differences(new, old, cultures, questions, binary=True)[0].comparison
    return outcome_of(compared.low, compared.high, MARGIN)


def any_culture(random: np.random.Generator, design: tuple[int, int, str], loss: float) -> bool:
    """Whether a regression is said of any culture of one simulated pair of runs."""
    new, old, cultures, questions = simulated(random, design, loss)
    p_values = []
    for culture in range(design[0]):
        chosen = cultures == culture
        compared = of_one_culture(new[chosen], old[chosen], questions[chosen])
        lost = compared.difference is not None and compared.difference < 0
        p_values.append(1 - compared.p_equal if lost and compared.p_equal is not None else 1.0)
    return bool((holm(p_values) <= LEVEL).any())


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Errors of both words at the margin and where nothing is lost, and what is found."""
    for name, design in DESIGNS.items():
        setting = f"{name}, margin {100 * MARGIN:.0f} points"
        shares = {}
        for loss in (0.0, MARGIN, LARGE):
            words = [outcome(random, design, loss) for _ in range(repeats)]
            shares[loss] = {word: 100 * words.count(word) / repeats for word in ("no regression", "regression")}
        at = f"{setting}, just that much lost"
        yield Cell(SUBJECT, "“no regression”", at, shares[MARGIN]["no regression"], repeats, 0, 3)
        yield Cell(SUBJECT, "“regression”", at, shares[MARGIN]["regression"], repeats, 0, 3)
        yield Cell(SUBJECT, "“regression”", f"{setting}, nothing lost", shares[0.0]["regression"], repeats, 0, 3)
        yield Cell(
            SUBJECT, "“no regression”", f"{setting}, nothing lost", shares[0.0]["no regression"], repeats, 0, 100
        )
        at = f"{setting}, {100 * LARGE:.0f} points lost"
        yield Cell(SUBJECT, "“regression”", at, shares[LARGE]["regression"], repeats, 0, 100)
    for name in ("16 cultures × 40 shared questions", "16 cultures × 100 shared questions"):
        wrong = sum(any_culture(random, DESIGNS[name], MARGIN) for _ in range(repeats))
        setting = f"{name}, margin {100 * MARGIN:.0f} points, just that much lost in each"
        yield Cell(SUBJECT, "“regression” in any culture", setting, 100 * wrong / repeats, repeats, 0, 3)

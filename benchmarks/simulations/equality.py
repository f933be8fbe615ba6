"""Equal within a margin: how often the words are wrong where the true difference is the margin, and how often found.

The two one-sided tests (Schuirmann 1987) as Kapwa prints them: clustered, of one culture and of means over cultures,
alone and adjusted by Holm's method in one family, in which any wrong "equal" counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.simulations import Cell
from benchmarks.simulations.comparisons import answers, places

from kapwa.stats.intervals import paired_differences
from kapwa.stats.pooled import pooled_differences
from kapwa.stats.significance import holm

SUBJECT = "Equal within a margin"
MARGIN = 0.1
# Cultures, questions of each, and whether cultures share them.
DESIGNS = {
    "1 culture × 40 questions": (1, 40, "own"),
    "1 culture × 200 questions": (1, 200, "own"),
    "16 cultures × 15 shared questions": (16, 15, "shared"),
    "16 cultures × 100 shared questions": (16, 100, "shared"),
    "4 cultures × 20 questions of their own": (4, 20, "own"),
}
TESTS = 6  # of one family


def equality_p(random: np.random.Generator, design: tuple[int, int, str], better: float, level: float) -> float:
    """The p-value that one simulated pair of models is equal within the margin; 1 where it cannot be told."""
    cultures, questions = places(random, design)
    base = np.full(design[0], level)
    a, b = answers(random, cultures, questions, np.stack([base + better, base]))
    if design[0] == 1:
        # The sign-flip test and the bootstrap are not looked at.
        found = paired_differences(a, b, questions, binary=True, permutations=100, equal_within=MARGIN)[0]
    else:
        found = pooled_differences(a, b, cultures, questions, binary=True, equal_within=MARGIN)[0].comparison
    return 1.0 if found.p_equal is None else found.p_equal


def continuous_p(random: np.random.Generator, clusters: int, better: float) -> float:
    """The same of numbers that are not right or wrong, five items to a cluster."""
    groups = np.repeat(np.arange(clusters), 5)
    noise = 0.15 * random.normal(size=clusters)[groups] + 0.2 * random.normal(size=groups.size)
    found = paired_differences(
        0.5 + better + noise, np.full(groups.size, 0.5), groups, permutations=100, equal_within=MARGIN
    )
    return found[0].p_equal or 0.0


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Error rate at the margin, of single tests and of families, and power where the two are equal."""
    for name, design in DESIGNS.items():
        for level in (0.5, 0.15):
            setting = f"{name}, {100 * level:.0f} % right, margin 10 points"
            erred = sum(equality_p(random, design, MARGIN, level) < 0.05 for _ in range(repeats))
            detected = sum(equality_p(random, design, 0.0, level) < 0.05 for _ in range(repeats))
            yield Cell(SUBJECT, "“equal” at the margin", setting, 100 * erred / repeats, repeats, 0, 6)
            yield Cell(SUBJECT, "“equal” of equal models", setting, 100 * detected / repeats, repeats, 0, 100)
    for clusters in (15, 40):
        setting = f"{clusters} clusters of five numbers, margin .1"
        erred = sum(continuous_p(random, clusters, MARGIN) < 0.05 for _ in range(repeats))
        detected = sum(continuous_p(random, clusters, 0.0) < 0.05 for _ in range(repeats))
        yield Cell(SUBJECT, "“equal” at the margin", setting, 100 * erred / repeats, repeats, 0, 6)
        yield Cell(SUBJECT, "“equal” of equal models", setting, 100 * detected / repeats, repeats, 0, 100)
    for name in ("1 culture × 200 questions", "4 cultures × 20 questions of their own"):
        wrong = 0
        for _ in range(repeats):
            family = [equality_p(random, DESIGNS[name], MARGIN, 0.5) for _ in range(TESTS)]
            wrong += bool((holm(family) < 0.05).any())
        setting = f"{name}, any of {TESTS} in a family, all at the margin"
        yield Cell(SUBJECT, "“equal” at the margin", setting, 100 * wrong / repeats, repeats, 0, 6)

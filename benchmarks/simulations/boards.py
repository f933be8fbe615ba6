"""The board of a report: ranks of systems by paired tests of every two, Holm over all pairs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from benchmarks.simulations import Cell
from benchmarks.simulations.comparisons import answers, places

from kapwa.report.board import ranks
from kapwa.stats.pooled import pooled_differences
from kapwa.stats.significance import holm

SUBJECT = "the board: ranks of systems"
NAMES = tuple("abcdef")
DESIGNS = {
    "16 cultures × 40 shared questions": (16, 40, "shared"),
    "4 cultures × 30 questions of their own": (4, 30, "own"),
}


def ranked(
    random: np.random.Generator, design: tuple[int, int, str], shares: np.ndarray, seed: int
) -> dict[str, tuple[int, int]]:
    """Interval of the rank of each system; ``shares``: how much each knows of every culture."""
    cultures, questions = places(random, design)
    scores = answers(random, cultures, questions, np.repeat(shares[:, None], design[0], axis=1))
    pairs = []
    for one, other in combinations(range(len(shares)), 2):
        found = pooled_differences(scores[one], scores[other], cultures, questions, binary=True, seed=seed)[0]
        pairs.append({**found.comparison._asdict(), "a": NAMES[one], "b": NAMES[other]})
    for pair, p in zip(pairs, holm([pair["p_value"] for pair in pairs]), strict=True):
        pair["p_holm"] = p
    return ranks(NAMES[: len(shares)], pairs)


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Six equal systems; three of two levels; one that is 10 points better than five equal ones."""
    for name, design in DESIGNS.items():
        equal = [ranked(random, design, np.full(6, 0.5), seed) for seed in range(repeats)]
        erred = 100 * float(np.mean([any(rank != (1, 6) for rank in one.values()) for one in equal]))
        yield Cell(SUBJECT, "any system set below another", f"{name}, six equal systems", erred, repeats, 0, 6)
        shares = np.array([0.6, 0.6, 0.6, 0.5, 0.5, 0.5])
        levels = [ranked(random, design, shares, seed) for seed in range(repeats)]
        wrong = [any(one[k][0] > 1 for k in "abc") or any(one[k][1] < 6 for k in "def") for one in levels]
        setting = f"{name}, three systems 10 points above three"
        yield Cell(SUBJECT, "a rank that is not in its interval", setting, 100 * float(np.mean(wrong)), repeats, 0, 6)
        found = 100 * float(np.mean([one["a"][0] == 1 and one["d"][0] > 1 for one in levels]))
        yield Cell(SUBJECT, "a lower system is set below some higher one", setting, found, repeats, 0, 100)

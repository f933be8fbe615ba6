"""Coverage of means with few or large clusters, and errors of verdicts, by exact p-values and by mid-p-values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from benchmarks.simulations import Cell
from benchmarks.simulations.detectable import Design, compared, draw, verdicts

from kapwa.stats.clusters import FloatArray
from kapwa.stats.intervals import mean_estimates

# Clusters, items in each, share that is right.
MEANS = (
    *((clusters, size, right) for clusters in (6, 10) for size in (5, 100) for right in (0.02, 0.4)),
    *((clusters, 5, right) for clusters in (15, 30, 86) for right in (0.02, 0.1, 0.4)),
    *((clusters, size, right) for clusters in (15, 30) for size in (20, 100) for right in (0.02, 0.1, 0.4)),
)
EQUAL = (
    *(Design(30, 1, share) for share in (0.1, 0.4)),
    *(Design(150, 1, share) for share in (0.05, 0.2)),
    Design(500, 1, 0.2),
    *(Design(clusters, 5, 0.2) for clusters in (10, 20)),
)
CORRELATION = 0.3


def answered(random: np.random.Generator, clusters: int, size: int, right: float, repeats: int) -> FloatArray:
    """Right and wrong answers of ``repeats`` data sets, (items, data sets): beta-binomial, alike within clusters."""
    spread = 1 / CORRELATION - 1
    chances = random.beta(right * spread, (1 - right) * spread, size=(clusters, repeats))
    return (random.random((clusters * size, repeats)) < np.repeat(chances, size, axis=0)).astype(float)


def coverage(random: np.random.Generator, clusters: int, size: int, right: float, repeats: int) -> float:
    """Percent of intervals that hold ``right``."""
    answers = answered(random, clusters, size, right, repeats)
    found = mean_estimates(answers, np.repeat(np.arange(clusters), size), share=True)
    return 100 * float(np.mean([(one.low or 0.0) <= right <= (one.high or 0.0) for one in found]))


def cells(
    random: np.random.Generator,
    repeats: int,
    *,
    means: Sequence[tuple[int, int, float]] = MEANS,
    equal: Sequence[Design] = EQUAL,
) -> Iterator[Cell]:
    """Scores of right and wrong answers; then two models that are equally good, and how often one is called better."""
    for clusters, size, right in means:
        setting = f"{clusters} clusters of {size} items, {right:.0%} right, correlation {CORRELATION}"
        held = coverage(random, clusters, size, right, repeats)
        yield Cell("few clusters", "coverage of a score", setting, held, repeats, 93, 97)
    for design in equal:
        drawn = draw(random, design, np.zeros(repeats))
        for way in ("exact", "mid-p"):
            wrong = verdicts(compared(drawn, design, mid_p=way == "mid-p"), design) != 0
            yield Cell("mid-p", f"verdict without a difference, {way}", str(design), 100 * wrong.mean(), repeats, 3, 6)

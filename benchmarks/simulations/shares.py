"""Coverage of the mean over cultures of right/wrong scores, and of bounded, skewed measures such as MC2 and MC3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from benchmarks.simulations import Cell
from scipy.special import ndtr, ndtri
from scipy.stats import beta

from kapwa.stats.clusters import FloatArray
from kapwa.stats.intervals import mean_estimates
from kapwa.stats.pooled import pooled_mean

RATES = (0.02, 0.05, 0.1, 0.3, 0.5, 0.85, 0.98)
# Cultures, questions of each, whether all share them, and how alike the answers to one question are in all cultures.
OVER = (
    (4, 15, "own", 0.0),
    (16, 15, "own", 0.0),
    (4, 15, "shared", 0.3),
    (16, 15, "shared", 0.3),
    (16, 60, "shared", 0.3),
)
# Clusters, items in each.
FEW = ((10, 1), (10, 2), (15, 1), (20, 1))
# What MC3 is of an item with three relevant responses: none, one, two or all beat every irrelevant one.
STEPS = (0, 1 / 3, 2 / 3, 1)
MEASURES: dict[str, tuple[float, float] | tuple[float, float, float, float]] = {
    "MC2 of .05, beta with a + b = 10": (0.05, 10),
    "MC2 of .1, beta with a + b = 5": (0.1, 5),
    "MC2 of .1, beta with a + b = 2": (0.1, 2),
    "summed MC2 of .2, beta with a + b = 1": (0.2, 1),
    "MC2 of .35, beta with a + b = 30": (0.35, 30),
    "MC2 of .93, beta with a + b = 5": (0.93, 5),
    "MC3 of .05, steps of a third": (0.88, 0.09, 0.025, 0.005),
    "MC3 of .1, steps of a third": (0.78, 0.15, 0.05, 0.02),
    "MC3 of .22, as a golden run of Kalahi": (0.5, 0.38, 0.08, 0.04),
}
# A tenth of the items high (.8), the others low (.05): of 10 items, none is high in a third of the data sets.
ODD = "a tenth of the items at .8, the others at .05"


def over_cultures(
    random: np.random.Generator, cultures: int, each: int, alike: float, rate: float
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Right or wrong of every item, its culture and question, and the true mean; cultures lie up to 20 % about it."""
    culture, question = (part.ravel() for part in np.indices((cultures, each)))
    question = question if alike else culture * each + question
    spread = np.linspace(-0.2, 0.2, cultures) * min(rate, 1 - rate)
    normal = np.sqrt(alike) * random.normal(size=question.max() + 1)[question]
    normal += np.sqrt(1 - alike) * random.normal(size=len(question))
    return (normal < ndtri(rate + spread)[culture]).astype(float), culture, question, rate


def measured(
    random: np.random.Generator, kind: str, clusters: int, size: int, repeats: int
) -> tuple[FloatArray, float]:
    """Values of ``repeats`` data sets, (items, data sets), with a correlation of .3 in clusters; and the true mean."""
    normal = np.sqrt(0.3) * np.repeat(random.normal(size=(clusters, repeats)), size, axis=0)
    place = np.clip(ndtr(normal + np.sqrt(0.7) * random.normal(size=normal.shape)), 1e-9, 1 - 1e-9)
    if kind == ODD:
        low = beta.ppf(np.clip(place / 0.9, 0, 1 - 1e-9), 1, 19)
        return np.where(place > 0.9, beta.ppf(np.clip((place - 0.9) / 0.1, 1e-9, 1), 8, 2), low), 0.9 * 0.05 + 0.1 * 0.8
    shape = MEASURES[kind]
    if len(shape) == 2:
        mean, both = shape
        return beta.ppf(place, mean * both, (1 - mean) * both), mean
    return np.asarray(STEPS)[np.searchsorted(np.cumsum(shape)[:-1], place)], float(np.dot(STEPS, shape))


def coverage(values: FloatArray, true: float, size: int) -> float:
    """Percent of the data sets whose interval holds the true mean; one that is absent does not."""
    estimates = mean_estimates(values, np.repeat(np.arange(len(values) // size), size), binary=True)
    return 100 * float(np.mean([one.low is not None and one.low <= true <= (one.high or 0.0) for one in estimates]))


def cells(
    random: np.random.Generator, repeats: int, *, over: Sequence[tuple[int, int, str, float]] = OVER
) -> Iterator[Cell]:
    """The mean over cultures at every rate; then bounded measures of few clusters."""
    for cultures, each, kind, alike in over:
        for rate in RATES:
            held = 0
            for _ in range(repeats):
                *data, true = over_cultures(random, cultures, each, alike, rate)
                one = pooled_mean(*data, binary=True)
                held += one.low is not None and one.low <= true <= (one.high or 0.0)
            setting = f"{cultures} cultures × {each} {kind} questions, {rate:.0%} right"
            yield Cell("mean over cultures", "coverage", setting, 100 * held / repeats, repeats, 93, 97)
    for kind in (*MEASURES, ODD):
        for clusters, size in FEW:
            held_share = coverage(*measured(random, kind, clusters, size, repeats), size)
            setting = f"{kind}, {clusters} clusters of {size}"
            yield Cell("few clusters of a measure", "coverage", setting, held_share, repeats, 93, 97)

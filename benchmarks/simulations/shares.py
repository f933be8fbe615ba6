"""Coverage of the mean over cultures of right/wrong scores, and of bounded, skewed measures such as MC2 and MC3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from benchmarks.simulations import Cell
from scipy.special import ndtr, ndtri
from scipy.stats import beta, binom

from kapwa.stats.clusters import FloatArray
from kapwa.stats.intervals import mean_estimates
from kapwa.stats.pooled import pooled_differences, pooled_mean

RATES = (0.02, 0.05, 0.1, 0.3, 0.5, 0.85, 0.98)
# Cultures, questions of each, whether all share them, and how alike the answers to one question are in all cultures.
OVER = (
    (4, 15, "own", 0.0),
    (16, 15, "own", 0.0),
    (4, 15, "shared", 0.3),
    (16, 15, "shared", 0.3),
    (16, 60, "shared", 0.3),
)
# Cultures with unequally many questions of their own: how many, and which share is right in truth.
UNEQUAL: dict[str, tuple[tuple[int, ...], tuple[float, ...]]] = {
    "10, 200, 200 questions, 90, 99, 99% right": ((10, 200, 200), (0.9, 0.99, 0.99)),
    "10, 200, 200 questions, 70, 99, 99% right": ((10, 200, 200), (0.7, 0.99, 0.99)),
    "10, 200, 200 questions, 50% right": ((10, 200, 200), (0.5, 0.5, 0.5)),
    "10, 200, 200 questions, 10, 1, 1% right": ((10, 200, 200), (0.1, 0.01, 0.01)),
    "10, 200 questions, 90, 99% right": ((10, 200), (0.9, 0.99)),
    "5, 100, 100, 100 questions, 90, 98, 98, 98% right": ((5, 100, 100, 100), (0.9, 0.98, 0.98, 0.98)),
    "8 cultures of 10 to 200 questions, 97% right": ((10, 20, 40, 60, 80, 100, 150, 200), (0.97,) * 8),
    "8 cultures of 10 to 200 questions, 90 to 99% right": (
        (10, 10, 20, 40, 60, 100, 150, 200),
        (0.9, 0.9, 0.95, 0.95, 0.97, 0.99, 0.99, 0.99),
    ),
    "8 cultures of 10 to 200 questions, 90 to 20% right": (
        (10, 20, 40, 60, 80, 100, 150, 200),
        (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2),
    ),
}
# Gains and losses of each culture's questions, of a difference that is 0 or small elsewhere.
UNEQUAL_PAIRS: dict[str, tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...]]] = {
    "10, 200, 200 questions, gains 10, 1, 1%": ((10, 200, 200), (0.1, 0.01, 0.01), (0.0, 0.0, 0.0)),
    "10, 200, 200 questions, gains 20, 1, 1%, losses 0, 1, 1%": ((10, 200, 200), (0.2, 0.01, 0.01), (0.0, 0.01, 0.01)),
    "10, 200, 200 questions, gains 20%, losses 10%": ((10, 200, 200), (0.2,) * 3, (0.1,) * 3),
    "8 cultures of 10 to 200 questions, gains 10 to 1%": (
        (10, 20, 40, 60, 80, 100, 150, 200),
        (0.1, 0.1, 0.05, 0.05, 0.03, 0.01, 0.01, 0.01),
        (0.0,) * 8,
    ),
    "16 cultures of 15 questions, gains 2%, losses 1%": ((15,) * 16, (0.02,) * 16, (0.01,) * 16),
}
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


def unequal(
    random: np.random.Generator, sizes: tuple[int, ...], shares: tuple[float, ...]
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Right or wrong answers to each culture's own questions, culture and question, and the true mean."""
    culture = np.repeat(np.arange(len(sizes)), sizes)
    right = random.random(len(culture)) < np.asarray(shares)[culture]
    return right.astype(float), culture, np.arange(len(culture)), float(np.mean(shares))


def unequal_pairs(
    random: np.random.Generator, sizes: tuple[int, ...], gains: tuple[float, ...], losses: tuple[float, ...]
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, float]:
    """Both sides' answers to each culture's own questions, culture and question, and the true mean difference."""
    culture = np.repeat(np.arange(len(sizes)), sizes)
    place, up, down = random.random(len(culture)), np.asarray(gains)[culture], np.asarray(losses)[culture]
    first, second = place < up, (place >= up) & (place < up + down)
    true = float(np.mean(gains) - np.mean(losses))
    return first.astype(float), second.astype(float), culture, np.arange(len(culture)), true


def exact_intervals(few: int, many: int, grid: int = 200) -> tuple[FloatArray, FloatArray]:
    """Exact 95 % intervals of the mean of two shares, for each number right of ``few`` and of ``many`` questions.

    Every mean for which neither tail of the estimate's distribution is below 2.5 %, whatever the two shares are that
    have this mean (Buehler 1957). Shares and means are tried in steps of 1/``grid``. Returns (few + 1, many + 1) ends.
    """
    counts = np.arange(few + 1)[:, None] / few + np.arange(many + 1) / many
    order = np.argsort(counts.ravel(), kind="stable")
    # Equal estimates are in one tail together.
    _, block = np.unique(np.round(counts.ravel()[order], 9), return_inverse=True)
    ends = np.append(np.flatnonzero(np.diff(block)), len(block) - 1)
    rates = np.arange(grid + 1) / grid
    chances = binom.pmf(np.arange(few + 1), few, rates[:, None]), binom.pmf(np.arange(many + 1), many, rates[:, None])
    means = np.arange(2 * grid + 1)
    above, below = np.zeros((2, len(means), len(ends)))
    for mean in means:
        first = np.arange(max(0, mean - grid), min(grid, mean) + 1)
        both = (chances[0][first][:, :, None] * chances[1][mean - first][:, None, :]).reshape(len(first), -1)[:, order]
        cumulated = both.cumsum(axis=1)[:, ends]
        below[mean] = cumulated.max(axis=0)
        above[mean] = (1 - cumulated + np.add.reduceat(both, np.append(0, ends[:-1] + 1), axis=1)).max(axis=0)
    lows, highs = np.empty((2, counts.size))
    lows[order] = ((above > 0.025).argmax(axis=0) / (2 * grid))[block]
    highs[order] = (1 - (below > 0.025)[::-1].argmax(axis=0) / (2 * grid))[block]
    return lows.reshape(counts.shape), highs.reshape(counts.shape)


def unequal_cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Means over cultures, and paired differences, where a small culture may show nothing of its own error."""
    for setting, (sizes, rates) in UNEQUAL.items():
        held, length, exact = 0, 0.0, 0.0
        ends = exact_intervals(*sizes) if len(sizes) == 2 else None
        for _ in range(repeats):
            values, culture, question, true = unequal(random, sizes, rates)
            one = pooled_mean(values, culture, question, share=True)
            held += one.low is not None and one.low <= true <= (one.high or 0.0)
            length += (one.high or 0.0) - (one.low or 0.0)
            if ends is not None:
                place = tuple(np.bincount(culture, values).astype(int))
                exact += ends[1][place] - ends[0][place]
        yield Cell("mean over cultures", "coverage", setting, 100 * held / repeats, repeats, 93, 99)
        if ends is not None:
            yield Cell(
                "mean over cultures",
                "length over that of the exact interval",
                setting,
                100 * length / exact,
                repeats,
                0,
                115,
            )
    for setting, design in UNEQUAL_PAIRS.items():
        held = 0
        for _ in range(repeats):
            *data, true = unequal_pairs(random, *design)
            (pair,) = pooled_differences(*data, binary=True, varies=False, permutations=100)
            held += (pair.comparison.low or 0.0) <= true <= (pair.comparison.high or 0.0)
        yield Cell("difference over cultures", "coverage", setting, 100 * held / repeats, repeats, 93, 100)


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
    estimates = mean_estimates(values, np.repeat(np.arange(len(values) // size), size), share=True)
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
                one = pooled_mean(*data, share=True)
                held += one.low is not None and one.low <= true <= (one.high or 0.0)
            setting = f"{cultures} cultures × {each} {kind} questions, {rate:.0%} right"
            yield Cell("mean over cultures", "coverage", setting, 100 * held / repeats, repeats, 93, 97)
    yield from unequal_cells(random, max(repeats // 4, 1))
    for kind in (*MEASURES, ODD):
        for clusters, size in FEW:
            held_share = coverage(*measured(random, kind, clusters, size, repeats), size)
            setting = f"{kind}, {clusters} clusters of {size}"
            yield Cell("few clusters of a measure", "coverage", setting, held_share, repeats, 93, 97)

"""How often 95 % intervals hold the true value: the simulations behind docs/explanation/statistics.md.

Run ``python tests/stats/coverage_study.py`` to print the tables of that page; the tests call the same functions
with fewer draws.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kapwa.stats.clusters import cluster_sums
from kapwa.stats.intervals import mean_estimates, paired_differences
from kapwa.stats.resampling import bootstrap_weights, expanded_tail

Floats = NDArray[np.float64]
Sizes = NDArray[np.intp]

# The released Kalahi data: 86 prompts behind 150 items.
KALAHI = np.repeat([1, 2, 3, 4, 5], [44, 24, 15, 2, 1])
DESIGNS = {
    "150 items, 86 clusters (as Kalahi)": KALAHI,
    "40 items, 15 clusters": np.repeat([1, 2, 3, 5, 7], [6, 3, 3, 1, 2]),
    "16 items, 6 clusters": np.array([1, 2, 2, 3, 3, 5]),
    "30 items, 6 clusters, one of 20": np.array([20, 2, 2, 2, 2, 2]),
}


def labels(sizes: Sizes) -> NDArray[np.intp]:
    """Cluster label of each item."""
    return np.repeat(np.arange(sizes.size), sizes)


def right_or_wrong(sizes: Sizes, p: float, icc: float, draws: int, seed: int) -> Floats:
    """Beta-binomial items, (items, draws): mean ``p``, correlation ``icc`` within clusters."""
    generator = np.random.default_rng(seed)
    spread = 1 / icc - 1
    chances = generator.beta(p * spread, (1 - p) * spread, size=(sizes.size, draws))
    return (generator.random((sizes.sum(), draws)) < chances[labels(sizes)]).astype(np.float64)


def normal(sizes: Sizes, icc: float, draws: int, seed: int) -> Floats:
    """Normal items with mean 0 and variance 1, (items, draws)."""
    generator = np.random.default_rng(seed)
    shared = generator.normal(size=(sizes.size, draws))[labels(sizes)]
    return np.sqrt(icc) * shared + np.sqrt(1 - icc) * generator.normal(size=(sizes.sum(), draws))


def lognormal(sizes: Sizes, icc: float, draws: int, seed: int) -> Floats:
    """Strongly skewed items, (items, draws); the mean is √e."""
    return np.exp(normal(sizes, icc, draws, seed))


def coverage(low: Floats, high: Floats, truth: float) -> float:
    """Share of intervals that hold the truth; no interval counts as a miss."""
    return float(((low <= truth) & (truth <= high)).mean())


def column(found: Sequence[object], field: str) -> Floats:
    """One field of many estimates, NaN where it is None."""
    return np.array([getattr(one, field) for one in found], dtype=np.float64)


def mean_coverage(values: Floats, sizes: Sizes, truth: float, **options: object) -> float:
    """Coverage of the library's intervals over the columns of simulated values."""
    found = mean_estimates(values, labels(sizes), **options)
    return coverage(column(found, "low"), column(found, "high"), truth)


def disagreements(sizes: Sizes, rate: float, effect: float, draws: int, seed: int) -> Floats:
    """Paired differences in {−1, 0, 1}: ``rate`` of items differ, on average by ``effect``; copies within clusters."""
    generator = np.random.default_rng(seed)
    own = generator.random((sizes.sum(), draws))
    shared = generator.random((sizes.size, draws))[labels(sizes)]
    draw = np.where(generator.random(own.shape) < 0.5, shared, own)
    up = (rate + effect) / 2
    return np.where(draw < up, 1.0, np.where(draw < rate, -1.0, 0.0))


def paired_coverage(differences: Floats, sizes: Sizes, truth: float, *, binary: bool) -> float:
    """Coverage of the paired interval; the p-values are not wanted here, so few permutations are drawn."""
    wins, losses = np.maximum(differences, 0), np.maximum(-differences, 0)
    found = paired_differences(wins, losses, labels(sizes), binary=binary, permutations=100)
    return coverage(column(found, "low"), column(found, "high"), truth)


def percentile_coverage(values: Floats, sizes: Sizes, truth: float, tails: Floats) -> float:
    """Coverage of a percentile bootstrap of clusters, whose ends leave out the share ``tails`` of the draws."""
    totals = np.add.reduceat(values, np.cumsum(sizes) - sizes)
    weights = bootstrap_weights(sizes.size, replicates=2000, seed=0)
    means = (weights @ totals) / (weights @ sizes)[:, None]
    low, high = (
        np.array([np.quantile(each, end) for each, end in zip(means.T, ends, strict=True)])
        for ends in (tails, 1 - tails)
    )
    return coverage(low, high, truth)


def edge_rows(draws: int) -> Iterator[tuple[str, list[float]]]:
    """Right/wrong metrics: the plain t interval beside the one used."""
    for (name, sizes), p in itertools.product(DESIGNS.items(), (0.43, 0.10, 0.02)):
        values = right_or_wrong(sizes, p, 0.3, draws, seed=1)
        yield f"{name}, {p:.2f}", [mean_coverage(values, sizes, p, share=flag) for flag in (False, True)]


def continuous_rows(draws: int) -> Iterator[tuple[str, list[float]]]:
    """Other metrics: the interval used beside the bootstrap."""
    kinds = (("normal", normal, 0.0), ("skewed (lognormal)", lognormal, float(np.exp(0.5))))
    for (name, sizes), (kind, make, truth) in itertools.product(DESIGNS.items(), kinds):
        values = make(sizes, 0.3, draws, 2)
        tails = expanded_tail(sizes.size, cluster_sums(values, labels(sizes)).df)
        bootstraps = (percentile_coverage(values, sizes, truth, tail) for tail in (tails, np.full(draws, 0.025)))
        cells = [mean_coverage(values, sizes, truth), *bootstraps]
        yield f"{name}, {kind}", cells


def paired_rows(draws: int) -> Iterator[tuple[str, list[float]]]:
    """Paired right/wrong differences: the plain t interval beside the one used."""
    for (name, sizes), (rate, effect) in itertools.product(DESIGNS.items(), ((0.30, 0.10), (0.02, 0.01))):
        values = disagreements(sizes, rate, effect, draws, seed=3)
        cells = [paired_coverage(values, sizes, effect, binary=flag) for flag in (False, True)]
        yield f"{name}, {rate:.2f}, {effect:.2f}", cells


if __name__ == "__main__":
    for header, rows in (
        ("design, true share | t, % | Wilson (used), %", edge_rows(10_000)),
        (
            "design, values | t (used), % | expanded percentile bootstrap, % | plain percentile bootstrap, %",
            continuous_rows(2_000),
        ),
        ("design, items that differ, true difference | t, % | Bonett–Price (used), %", paired_rows(4_000)),
    ):
        print(f"| {header} |\n|{'---|' * (1 + header.count('|'))}")
        for name, cells in rows:
            print(f"| {name} | " + " | ".join(f"{100 * cell:.1f}" for cell in cells) + " |")
        print()

"""Paired comparisons on shared items: difference, interval, p-value and what could have been seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import UsageError
from kapwa.stats.clusters import ROUNDING, check_level, cluster_codes, cluster_sums, none_if_nan, read_values
from kapwa.stats.intervals import effective_size
from kapwa.stats.resampling import bootstrap_mean_intervals, sign_flip_p_values

# Sampled p-values go down to 1/50,000, so that Holm over a hundred comparisons can still decide at 5 %.
PERMUTATIONS = 49_999


class Comparison(NamedTuple):
    """How much A scores above B on the items both were measured on.

    ``low``–``high``: analytic interval (``method``); ``boot_low``–``boot_high``: the cluster bootstrap's, as a
    cross-check. ``p_value``: cluster sign-flip permutation test, two-sided. ``mde``: the smallest true difference that
    a two-sided test at 5 % would find with 80 % power on this many items, (t_{0.975} + t_{0.8}) · se, in the metric's
    own unit (Bloom 1995; Miller 2024, arXiv 2411.00640). Fields are None where the data cannot tell.
    ``a_value`` and ``b_value`` are means over the shared items, so ``difference == a_value - b_value``.
    """

    a_value: float | None
    b_value: float | None
    difference: float | None
    se: float | None
    low: float | None
    high: float | None
    boot_low: float | None
    boot_high: float | None
    p_value: float | None
    mde: float | None
    n: int
    clusters: int
    method: str


def paired_differences(
    a: ArrayLike,
    b: ArrayLike,
    clusters: ArrayLike | None,
    *,
    binary: bool | Sequence[bool] = False,
    level: float = 0.95,
    seed: int = 0,
    replicates: int = 2000,
    permutations: int = PERMUTATIONS,
) -> list[Comparison]:
    """Compare A with B on paired items, metric by metric: mean difference, interval, permutation p-value, MDE.

    ``a``, ``b``: (items, metrics) values of the same items in the same order; a pair with a NaN on either side is left
    out. ``clusters``: (items,) labels of the sampled units. p: sign flips of whole clusters, exact where it can be.
    Deterministic for a seed. Raises UsageError or DataError for input that does not fit.

    Interval: t with the clustered standard error of the differences. For ``binary`` values that of Bonett and Price
    (2012) for paired proportions, on the effective sample size: one item more is counted on each side, so that two
    runs that never disagree get an interval with a width.
    """
    from scipy.special import stdtrit

    check_level(level)
    if np.shape(a) != np.shape(b):
        raise UsageError(f"The two sides differ in shape: {np.shape(a)} and {np.shape(b)}.", hint="Pair the items.")
    (first, flags), (second, _) = read_values(a, binary), read_values(b, binary)
    codes = cluster_codes(clusters, len(first))
    differences = first - second
    # Equal numbers that were summed in another order are a few ulp apart.
    differences[np.abs(differences) <= ROUNDING * np.maximum(np.abs(first), np.abs(second))] = 0.0
    missing = np.isnan(differences)
    sums = cluster_sums(differences, codes)
    p_values, ways = sign_flip_p_values(sums.totals, replicates=permutations, seed=seed)
    boot = bootstrap_mean_intervals(sums, level=level, seed=seed, replicates=replicates)
    # Of right/wrong values, the shares of items that only A and only B got right.
    gains, losses = (
        np.where(missing | ~flags, 0.0, np.maximum(part, 0)).sum(axis=0) / np.maximum(sums.n, 1)
        for part in (differences, -differences)
    )
    size = effective_size(sums, np.maximum(gains + losses - (gains - losses) ** 2, 0))
    up, down = (gains * size + 1) / (size + 2), (losses * size + 1) / (size + 2)
    error = np.where(flags, np.sqrt((up + down - (up - down) ** 2) / (size + 2)), sums.se)
    centre, half = np.where(flags, up - down, sums.mean), stdtrit(sums.df, 0.5 + level / 2) * error
    spread = sums.se > 0
    shown = (sums.clusters > 1) & (spread | flags)
    numbers = {
        **{
            name: cluster_sums(np.where(missing, np.nan, side), codes).mean
            for name, side in (("a_value", first), ("b_value", second))
        },
        "difference": sums.mean,
        "se": np.where(shown, np.where(spread, sums.se, error), np.nan),
        "low": np.where(shown, np.where(flags, np.maximum(centre - half, -1), centre - half), np.nan),
        "high": np.where(shown, np.where(flags, np.minimum(centre + half, 1), centre + half), np.nan),
        "boot_low": np.where(spread, boot[0], np.nan),
        "boot_high": np.where(spread, boot[1], np.nan),
        "p_value": np.where(sums.clusters > 0, p_values, np.nan),
    }
    numbers["mde"] = (stdtrit(sums.df, 0.975) + stdtrit(sums.df, 0.8)) * numbers["se"]
    kinds = np.select(
        [sums.clusters == 1, flags, spread], ["one-cluster", "bonett-price-clustered", "t-clustered"], "no-spread"
    )
    return [
        Comparison(
            **{name: none_if_nan(column[k]) for name, column in numbers.items()},
            n=int(sums.n[k]),
            clusters=int(sums.clusters[k]),
            method=f"{kinds[k]}, sign-flip {ways[k]}" if sums.clusters[k] else "no-data",
        )
        for k in range(len(flags))
    ]

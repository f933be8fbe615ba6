"""Paired comparisons on shared items: difference, interval, p-value and what could have been seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import UsageError
from kapwa.stats.clusters import (
    ClusterSums,
    FloatArray,
    as_matrix,
    check_level,
    check_unit_range,
    cluster_codes,
    cluster_sums,
    none_if_nan,
    student_quantile,
)
from kapwa.stats.intervals import effective_size
from kapwa.stats.resampling import bootstrap_mean_intervals, check_replicates, sign_flip_p_values

# Sampled p-values go down to 1/50,000, so that Holm over a hundred comparisons can still decide at 5 %.
PERMUTATIONS = 49_999


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much A scores above B on the items both were measured on.

    ``low``–``high``: analytic interval (``method``); ``boot_low``–``boot_high``: the cluster bootstrap's, as a
    cross-check. ``p_value``: cluster sign-flip permutation test, two-sided. ``mde``: the difference that this many
    items would detect (5 %, two-sided) with 80 % power. Fields are None where the data cannot tell.
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


def minimum_detectable_effect(
    se: float | None, *, alpha: float = 0.05, power: float = 0.8, df: float | None = None
) -> float | None:
    """Smallest true difference a two-sided test at ``alpha`` finds with probability ``power``.

    (z_{1−α/2} + z_{power}) · se, which is 2.80 · se at the defaults; in the metric's own unit. With ``df`` the
    quantiles are Student's, which is more when clusters are few. None for a missing ``se``. Source: Bloom
    (1995); Miller (2024, arXiv 2411.00640) for evaluations; here with the standard error of the paired difference.
    """
    if not (0 < alpha < 1 and 0 < power < 1):
        raise UsageError(f"alpha and power must lie between 0 and 1, not {alpha} and {power}.")
    if se is None or np.isnan(se):
        return None
    from scipy.special import stdtrit

    freedom = np.inf if df is None else df
    return float((stdtrit(freedom, 1 - alpha / 2) + stdtrit(freedom, power)) * se)


def _adjusted_wald(
    sums: ClusterSums, gains: FloatArray, losses: FloatArray, quantile: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bonett and Price (2012) interval of a difference of paired proportions, on the effective sample size.

    ``gains``, ``losses``: mean of the positive and negative parts of the differences (for 0/1 values the shares of
    items only A and only B got right). One item more is counted on each side, so that two runs that never
    disagree get an interval with a width.
    """
    difference = gains - losses
    size = effective_size(sums, np.maximum(gains + losses - difference**2, 0))
    up, down = (gains * size + 1) / (size + 2), (losses * size + 1) / (size + 2)
    centre = up - down
    error = np.sqrt((up + down - centre**2) / (size + 2))
    se = sums.standard_error()
    low, high = np.maximum(centre - quantile * error, -1), np.minimum(centre + quantile * error, 1)
    return np.where(se > 0, se, error), low, high


def _part_means(differences: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean positive and mean negative part of each column's differences."""
    filled = np.nan_to_num(differences)
    count = np.maximum(n, 1)
    return np.maximum(filled, 0).sum(axis=0) / count, np.maximum(-filled, 0).sum(axis=0) / count


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
    out. ``clusters``: (items,) labels of the sampled units. Interval: t with the clustered standard error of the
    differences; for ``binary`` values Bonett and Price's on the effective sample size. p: sign flips of whole
    clusters, exact where it can be. Deterministic for a seed. Raises UsageError or DataError for input that does
    not fit.
    """
    check_level(level)
    check_replicates(permutations)
    first, second = as_matrix(a), as_matrix(b)
    if first.shape != second.shape:
        raise UsageError(f"The two sides differ in shape: {first.shape} and {second.shape}.", hint="Pair the items.")
    flags = np.broadcast_to(np.asarray(binary, dtype=bool), first.shape[1:])
    check_unit_range(first, flags)
    check_unit_range(second, flags)
    codes = cluster_codes(clusters, first.shape[0])
    differences = _subtract(first, second)
    sums = cluster_sums(differences, codes)
    p_values, ways = sign_flip_p_values(sums.totals, replicates=permutations, seed=seed)
    boot = bootstrap_mean_intervals(sums, level=level, seed=seed, replicates=replicates)
    se, low, high = _interval(sums, differences, flags, level)
    spread = sums.standard_error() > 0
    shown = (sums.clusters > 1) & (spread | flags)
    se, low, high = (np.where(shown, x, np.nan) for x in (se, low, high))
    missing = np.isnan(differences)
    a_value, b_value = (cluster_sums(np.where(missing, np.nan, side), codes).mean for side in (first, second))
    df, shared = sums.degrees_of_freedom(), sums.n.astype(int)
    numbers = {
        "a_value": a_value,
        "b_value": b_value,
        "difference": sums.mean,
        "se": se,
        "low": low,
        "high": high,
        "boot_low": np.where(spread, boot[0], np.nan),
        "boot_high": np.where(spread, boot[1], np.nan),
        "p_value": np.where(sums.clusters > 0, p_values, np.nan),
    }
    return [
        Comparison(
            **{name: none_if_nan(column[k]) for name, column in numbers.items()},
            mde=minimum_detectable_effect(float(se[k]), df=float(df[k])),
            n=int(shared[k]),
            clusters=int(sums.clusters[k]),
            method=_method(sums, flags, ways, k),
        )
        for k in range(flags.size)
    ]


def _subtract(first: FloatArray, second: FloatArray) -> FloatArray:
    """Subtract, taking equal numbers that were summed in another order (a few ulp apart) as equal."""
    difference = first - second
    noise = 1e-12 * np.maximum(np.abs(first), np.abs(second))
    return np.where(np.abs(difference) <= noise, 0.0, difference)


def _interval(
    sums: ClusterSums, differences: FloatArray, binary: np.ndarray, level: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Standard error and analytic interval of each column."""
    quantile = student_quantile(level, sums.degrees_of_freedom())
    se = sums.standard_error()
    low, high = sums.mean - quantile * se, sums.mean + quantile * se
    gains, losses = _part_means(differences[:, binary], sums.n[binary])
    se[binary], low[binary], high[binary] = _adjusted_wald(sums.columns(binary), gains, losses, quantile[binary])
    return se, low, high


def _method(sums: ClusterSums, flags: np.ndarray, ways: list[str], column: int) -> str:
    groups = sums.clusters[column]
    if groups == 0:
        return "no-data"
    if groups == 1:
        kind = "one-cluster"
    elif flags[column]:
        kind = "bonett-price-clustered"
    else:
        kind = "t-clustered" if sums.standard_error()[column] > 0 else "no-spread"
    return f"{kind}, sign-flip {ways[column]}"

"""Means with honest error bars: clustered standard errors, Wilson at the edges, Student t elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

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
from kapwa.stats.resampling import bootstrap_mean_intervals

IntervalKind = Literal["analytic", "bootstrap"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval.

    ``n``: values measured; ``clusters``: sampled units they come from. ``value`` is None without values;
    ``se``, ``low`` and ``high`` are None where the data cannot tell: ``method`` says why.

    Methods: ``wilson-clustered`` (right/wrong metrics), ``t-clustered`` (other metrics), ``bootstrap-clustered``
    (on request), ``one-cluster`` (no spread between clusters to learn from), ``no-spread`` (the cluster totals do
    not vary, so an interval would have no width), ``no-data``.
    """

    value: float | None
    se: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    method: str


def wilson_interval(p: ArrayLike, n: ArrayLike, quantile: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Wilson score interval of a proportion ``p`` of ``n`` (effective) trials, in [0, 1].

    ``quantile``: two-sided normal or Student quantile. Source: Wilson (1927).
    """
    share, size, q = (np.asarray(x, dtype=np.float64) for x in (p, n, quantile))
    scale = 1 + q**2 / size
    centre = (share + q**2 / (2 * size)) / scale
    half = q / scale * np.sqrt(np.maximum(share * (1 - share), 0) / size + q**2 / (4 * size**2))
    # At the edges the bound is the edge exactly; floating point would leave it 1e-17 short.
    low = np.where(share <= 0, 0.0, np.maximum(centre - half, 0.0))
    high = np.where(share >= 1, 1.0, np.minimum(centre + half, 1.0))
    return low, high


def effective_size(sums: ClusterSums, variance: FloatArray) -> FloatArray:
    """Independent trials that carry as much information as the clustered values, per column.

    ``variance``: what one 0/1 trial would have, p(1 − p) for a proportion. The size is n over the design effect,
    times ``variance`` over the values' own variance (1 for 0/1 values; more when items are means of several
    samples and so vary less). Without spread the design effect is unknown, and the worst case is taken: all
    values of a cluster say the same (Kish size).
    """
    measured = sums.scatter > 0
    own = np.where(measured, sums.scatter, 1.0) / np.maximum(sums.n, 1)
    size = sums.n * (variance / own) / sums.design_effect()
    return np.where(measured & (variance > 0), size, sums.kish_size())


def _wilson(sums: ClusterSums, quantile: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Standard error and Wilson interval on the effective sample size.

    Where the clustered standard error is zero (all right, all wrong), that of one more right and one more wrong
    answer stands in for it (Laplace's rule of succession): a zero would claim certainty.
    """
    mean, se = sums.mean, sums.standard_error()
    size = effective_size(sums, mean * (1 - mean))
    low, high = wilson_interval(mean, size, quantile)
    padded = (mean * size + 1) / (size + 2)
    return np.where(se > 0, se, np.sqrt(padded * (1 - padded) / (size + 2))), low, high


def mean_estimates(
    values: ArrayLike,
    clusters: ArrayLike | None,
    *,
    binary: bool | Sequence[bool] = False,
    level: float = 0.95,
    interval: IntervalKind = "analytic",
    seed: int = 0,
    replicates: int = 2000,
) -> list[Estimate]:
    """Estimate the mean of every column of a (rows, metrics) matrix at once; see :func:`mean_estimate`.

    ``binary``: one flag, or one a column. NaN entries are left out of their own column only.
    """
    check_level(level)
    matrix = as_matrix(values)
    flags = np.broadcast_to(np.asarray(binary, dtype=bool), matrix.shape[1:])
    check_unit_range(matrix, flags)
    if interval not in ("analytic", "bootstrap"):
        raise UsageError(f"There is no interval {interval!r}.", hint="Choose 'analytic' or 'bootstrap'.")
    sums = cluster_sums(matrix, cluster_codes(clusters, matrix.shape[0]))
    quantile = student_quantile(level, sums.degrees_of_freedom())
    se = sums.standard_error()
    low, high = sums.mean - quantile * se, sums.mean + quantile * se
    wilson = flags & (interval == "analytic")
    if interval == "bootstrap":
        low, high = bootstrap_mean_intervals(sums, level=level, seed=seed, replicates=replicates)
    if wilson.any():
        se[wilson], low[wilson], high[wilson] = _wilson(sums.columns(wilson), quantile[wilson])
    groups = sums.clusters
    method = np.full(len(flags), "bootstrap-clustered" if interval == "bootstrap" else "t-clustered", dtype=object)
    method[se == 0] = "no-spread"
    method[wilson] = "wilson-clustered"
    method[groups < 2] = "one-cluster"
    method[groups == 0] = "no-data"
    silent = np.isin(method.astype(str), ("no-data", "one-cluster", "no-spread"))
    se, low, high = (np.where(silent, np.nan, x) for x in (se, low, high))
    mean, n = sums.mean, sums.n
    return [
        Estimate(
            value=none_if_nan(mean[k]),
            se=none_if_nan(se[k]),
            low=none_if_nan(low[k]),
            high=none_if_nan(high[k]),
            n=int(n[k]),
            clusters=int(groups[k]),
            method=method[k],
        )
        for k in range(len(flags))
    ]


def mean_estimate(
    values: ArrayLike,
    clusters: ArrayLike | None,
    *,
    binary: bool = False,
    level: float = 0.95,
    interval: IntervalKind = "analytic",
    seed: int = 0,
    replicates: int = 2000,
) -> Estimate:
    """Estimate the mean of ``values`` with a clustered interval.

    ``values``: (n,) numbers, NaN where nothing was measured (left out); ``clusters``: (n,) labels of the sampled
    units, None when each value is its own. ``binary``: right/wrong, values in [0, 1].

    Standard error: clustered sandwich with G/(G−1) (Miller 2024, arXiv 2411.00640). Quantile: Student t with
    Satterthwaite degrees of freedom (G−1 for equal clusters). ``binary`` values always get a Wilson interval on
    the effective sample size (Korn and Graubard 1998; Franco et al. 2019), so there is no threshold at which the
    interval jumps and none of zero width. ``interval="bootstrap"`` resamples clusters instead (expanded
    percentile, ``replicates`` resamples from ``seed``): in our simulations it covers about as often as t, so it is
    the cross-check and the formula that draws nothing is the default. Raises UsageError or DataError for lengths,
    levels and values that do not fit.
    """
    return mean_estimates(
        np.asarray(values, dtype=np.float64).reshape(-1, 1),
        clusters,
        binary=binary,
        level=level,
        interval=interval,
        seed=seed,
        replicates=replicates,
    )[0]

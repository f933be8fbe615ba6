"""Several cultures together: means over them, and paired differences.

Cultures are fixed and count alike. The questions are a sample: a cluster label identifies one question (or situation)
wherever it occurs, so that one put to many cultures is one piece of evidence, not many. Every standard error and test
here is based on clusters, never on cultures or items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kapwa.stats.clusters import ROUNDING, FloatArray, IntArray, none_if_nan, read_values
from kapwa.stats.culture_means import CultureMeans, codes_of, equal_weights, item_sizes, means_of_valid
from kapwa.stats.intervals import (
    PERMUTATIONS,
    AgainstMark,
    Comparison,
    Estimate,
    equality_p,
    mean_estimates,
    paired_values,
    share_quantile,
    succession_error,
)
from kapwa.stats.power import detectable_difference
from kapwa.stats.resampling import sign_flip_p_values
from kapwa.stats.spread import spread_of
from kapwa.stats.stratified import Strata, paired_centre, score_interval
from kapwa.value_types import Keywords

_LARGEST_SCALE = 10**6


# --- the mean over cultures --------------------------------------------------------------------------------------


def pooled_mean(
    values: ArrayLike,
    cultures: ArrayLike,
    clusters: ArrayLike,
    *,
    share: bool = False,
    weights: FloatArray | None = None,
) -> Estimate:
    """Mean over cultures of their means, each counting alike, with an interval clustered by question.

    ``values``: (n,) numbers, NaN where nothing was measured; ``cultures`` and ``clusters``: (n,) labels. ``share``:
    values lie between 0 and 1, and the interval is the score interval of a mean of shares, which is Wilson's where
    cultures are alike (:func:`kapwa.stats.stratified.score_interval`); else Student's. ``weights``: (n,) how many items
    each value represents within its culture; None: all alike. Where every culture has the same questions, the standard
    error is that of the questions' means over cultures; where none is shared, that of independent means. Degrees of
    freedom: the smaller of Satterthwaite's for independent items, which loses one for each culture with questions of
    its own, and of Bell and McCaffrey's for clusters of unequal weight.
    """
    from scipy.special import stdtrit

    matrix, _ = read_values(values, share)
    valid, codes = ~np.isnan(matrix[:, 0]), codes_of(matrix, cultures, clusters)
    n = int(valid.sum())
    if not n:
        return Estimate(value=None, se=None, low=None, high=None, n=0, clusters=0, method="no-data")
    means = means_of_valid(matrix[:, 0], codes, weights)
    value, (se, df), several = float(means.means.mean()), pooled_error(means), len(means.shares)
    if several < 2 or not (share or se > 0):
        return Estimate(
            value=value,
            se=None,
            low=None,
            high=None,
            n=n,
            clusters=several,
            method="one-cluster" if several < 2 else "no-spread",
        )
    if not share:
        half = float(stdtrit(df, 0.975)) * se
        return Estimate(
            value=value, se=se, low=value - half, high=value + half, n=n, clusters=several, method="t-clustered"
        )
    worst = 1 / float((_weights(means) ** 2).sum())
    strata = Strata.of(item_sizes(valid, codes[0], weights), means.means * (1 - means.means), se, worst)
    quantile = float(share_quantile(value, strata.trials, worst, df, 0.95))
    low, high = score_interval(means.means, strata, quantile)
    shown = se or float(succession_error(value, worst))
    return Estimate(
        value=value,
        se=shown,
        low=min(low, value),
        high=max(high, value),
        n=n,
        clusters=several,
        method="wilson-clustered",
    )


def mean_of_items(values: ArrayLike, cultures: Sequence[str], clusters: ArrayLike, *, share: bool) -> Estimate:
    """Estimate the mean of the items of one culture, or over several cultures, each counting alike."""
    if len(set(cultures)) > 1:
        return pooled_mean(values, cultures, clusters, share=share)
    return mean_estimates(values, clusters, share=share)[0]


def _weights(means: CultureMeans) -> FloatArray:
    """The weight of each cluster in the mean over cultures; they add up to 1."""
    return np.asarray(means.shares.sum(axis=1) / len(means.means))


def pooled_error(cultures: CultureMeans) -> tuple[float, float]:
    """Standard error of the mean over cultures, and its degrees of freedom."""
    several, weights = len(cultures.means), _weights(cultures)
    # The error of a culture with one cluster is unknown: its distance from the mean over cultures is used instead.
    single = cultures.clusters < 2
    residuals = cultures.residuals + cultures.shares * np.where(single, cultures.means - cultures.means.mean(), 0.0)
    by_cluster = residuals.sum(axis=1)
    # Where cultures cancel, 1e-17 remains, and an interval would have no width.
    by_cluster[np.abs(by_cluster) <= ROUNDING * np.abs(residuals).max(initial=0.0)] = 0.0
    se = float(np.sqrt(((by_cluster / several) ** 2).sum()))
    spread = 1 - (weights**2).sum()
    if spread <= 0:
        return se, math.nan
    share = weights**2 / (1 - weights)
    bell = 1 / ((weights**2).sum() + share.sum() ** 2 - (share**2).sum())
    # For independent items of equal variance: the squared trace of the clusters' covariance over that of its square.
    # The covariance is diag(variances) − within · sharesᵀ; as a matrix of all clusters it would not fit into memory.
    factor = np.where(single, 1.0, cultures.clusters / np.maximum(cultures.clusters - 1, 1)) / cultures.n
    variances = (cultures.shares * factor).sum(axis=1)
    within = cultures.shares * np.where(single, 0.0, factor)
    overlap = (within * cultures.shares).sum(axis=1)
    joint = (within.T @ within) * (cultures.shares.T @ cultures.shares)
    square = float((variances * (variances - 2 * overlap)).sum() + joint.sum())
    return se, min(bell, float((variances - overlap).sum()) ** 2 / square) if square > 0 else bell


# --- paired differences over cultures ----------------------------------------------------------------------------


class PooledDifference(NamedTuple):
    """How much A scores above B on average over cultures, and how much that varies between them.

    ``comparison``: means over cultures, interval, p-value. ``sd``: the estimated
    standard deviation of the true difference between cultures, without noise, with its 95 % interval ``sd_low`` to
    ``sd_high``. ``p_varies``: of the test that it is the same in all cultures; see
    :func:`kapwa.stats.spread.culture_spread`. All None where the data cannot tell; there is never a standard deviation
    without its interval.
    """

    comparison: Comparison
    cultures: int
    sd: float | None
    sd_low: float | None
    sd_high: float | None
    p_varies: float | None


def pooled_differences(  # noqa: PLR0913 - each is one decision of the caller; all but four have defaults
    a: ArrayLike,
    b: ArrayLike,
    cultures: ArrayLike,
    clusters: ArrayLike,
    *,
    binary: bool | Sequence[bool] = False,
    seed: int = 0,
    mid_p: bool = False,
    equal_within: float | None = None,
    varies: bool = True,
    permutations: int = PERMUTATIONS,
    level: float = 0.95,
) -> list[PooledDifference]:
    """Compare A with B over several cultures, metric by metric: the mean over cultures of the paired difference.

    ``a``, ``b``: (items, metrics) values of the same items; a pair with a NaN on either side is left out. ``cultures``,
    ``clusters``: (items,) labels; a question put to many cultures is one cluster. Cultures count alike.

    p-value: sign flips of whole questions over all cultures at once, exact for right/wrong values where all cultures
    have equal numbers of items (or nearly), else by ``permutations`` random flips. Interval: t with the standard error
    clustered by question; for ``binary`` values Bonett and Price's on the effective sample size, as in
    :func:`kapwa.stats.intervals.paired_differences`. ``varies``: whether to test if the difference varies between
    cultures, which takes most of the computing time. Raises UsageError or DataError for input that does not fit.
    """
    first, second, differences, flags = paired_values(a, b, binary)
    codes, columns = codes_of(differences, cultures, clusters), differences.shape[1]
    flips = np.zeros((int(codes[1].max(initial=-1)) + 1, columns))
    for k, valid in enumerate(~np.isnan(differences).T):
        n = np.bincount(codes[0][valid])
        scale = math.lcm(*map(int, n[n > 0]))
        weight = (scale if scale <= _LARGEST_SCALE else 1) / np.maximum(n, 1)
        np.add.at(flips[:, k], codes[1][valid], differences[valid, k] * weight[codes[0][valid]])
    p_values, ways = sign_flip_p_values(flips, replicates=permutations, seed=seed, mid_p=mid_p)
    pooled = []
    for k in range(columns):
        sides = tuple(np.where(np.isnan(differences[:, k]), np.nan, side[:, k]) for side in (first, second))
        p = float(p_values[k])
        tested = (p, ways[k], equal_within)
        pooled.append(
            _pooled_difference(
                differences[:, k], sides, codes, bool(flags[k]), tested, seed if varies else None, level=level
            )
        )
    return pooled


def _pooled_difference(
    differences: FloatArray,
    sides: tuple[FloatArray, ...],
    codes: tuple[IntArray, IntArray],
    binary: bool,
    tested: tuple[float, str, float | None],
    seed: int | None,
    *,
    level: float,
) -> PooledDifference:
    """One metric: the means of both sides over cultures, and their difference with its tests and intervals.

    ``tested``: p-value, how it was computed, the margin of equality. ``seed`` None: it is not tested
    whether the difference varies between cultures.
    """
    from scipy.special import stdtrit

    p_value, way, margin = tested
    valid = ~np.isnan(differences)
    if not valid.any():
        nothing = dict.fromkeys(Comparison._fields) | {"n": 0, "clusters": 0, "method": "no-data"}
        return PooledDifference(Comparison(**nothing), 0, None, None, None, None)  # type: ignore[arg-type]
    means, weights = means_of_valid(differences, codes), equal_weights(valid, codes[0])
    filled = np.where(valid, differences, 0.0)
    left, right = (float(weights @ np.where(valid, side, 0.0)) for side in sides)
    value, (se, df) = float(means.means.mean()), pooled_error(means)
    centre, error, kind = value, se, "t-clustered"
    if binary:
        centre, error = bounded_centre(differences, codes[0], means, se)
        kind = "bonett-price-clustered"
    known = len(means.shares) > 1 and error > 0
    if not known:
        kind = "side-cluster" if len(means.shares) < 2 else "no-spread"
    half = float(stdtrit(df, 0.5 + level / 2)) * error if known else math.nan
    ends = (max(centre - half, -1.0), min(centre + half, 1.0)) if binary else (centre - half, centre + half)
    shown = se if se > 0 else error
    differing = float(weights @ (np.abs(filled) if binary else filled != 0))
    shape: Keywords = {"n": int(valid.sum()), "clusters": len(means.shares), "difference": value}
    shape |= {"se": shown if known else None, "differing": differing}
    comparison = Comparison(
        a_value=left,
        b_value=right,
        low=none_if_nan(ends[0]) if known else None,
        high=none_if_nan(ends[1]) if known else None,
        p_value=p_value,
        mde=none_if_nan(detectable_difference(**shape, binary=binary, mid_p=way == "mid-p")) if known else None,
        **shape,
        method=f"{kind}, sign-flip {way}",
        p_equal=none_if_nan(float(equality_p(centre, error, df, margin))) if known else None,
    )
    return PooledDifference(comparison, len(means.means), *_variation(means, seed, binary=binary))


def _variation(means: CultureMeans, seed: int | None, *, binary: bool) -> tuple[float | None, ...]:
    """The last fields of :class:`PooledDifference`: how much a difference varies between cultures, and the p-value."""
    cultures = tuple(range(len(means.means)))
    spread = None if seed is None else spread_of(means, cultures, seed=seed, ranked=False)
    if spread is None:
        return (None,) * 4
    # Differences between -1 and 1 cannot have a standard deviation above 1.
    most = 1.0 if binary else math.inf
    deviation = [None if value is None else min(value, most) for value in spread.deviation]
    return (*deviation, spread.p_value)


def bounded_centre(
    differences: FloatArray, cultures: IntArray, means: CultureMeans, se: float, weights: FloatArray | None = None
) -> tuple[float, float]:
    """Centre and standard error of the interval of a mean over cultures of differences between -1 and 1.

    ``differences``: (n,), NaN where there is none; ``cultures``: (n,) numbers from 0; ``weights``: (n,) how many items
    each represents within its culture; ``se``: of the mean over cultures. See
    :func:`kapwa.stats.stratified.paired_centre`.
    """
    valid = ~np.isnan(differences)
    shares = equal_weights(valid, cultures, weights) * len(means.means)
    filled = np.where(valid, differences, 0.0)
    there = np.bincount(cultures, valid) > 0
    gains, losses = (
        np.asarray(np.bincount(cultures, shares * np.maximum(side, 0))[there], dtype=np.float64)
        for side in (filled, -filled)
    )
    # Where no item differs, each question counts as one pair (Kish).
    kish = 1 / float((_weights(means) ** 2).sum())
    variances = np.maximum(gains + losses - (gains - losses) ** 2, 0.0)
    return paired_centre(gains, losses, Strata.of(item_sizes(valid, cultures, weights), variances, se, kish))


def pooled_against_marks(
    values: FloatArray,
    marks: FloatArray,
    cultures: ArrayLike,
    clusters: ArrayLike,
    *,
    binary: bool = False,
    share: bool = False,
) -> list[AgainstMark]:
    """Compare ``values`` (n,) with each column of ``marks`` (n, k) over several cultures, each counting alike.

    Pairs with a NaN are left out. Test and interval of the difference: :func:`pooled_differences`; interval of the
    mark: :func:`pooled_mean` (``share``: values lie between 0 and 1); that of the ratio of the two means over cultures
    by linearisation, values − ratio · mark.
    """
    against = []
    sides = np.broadcast_to(values[:, None], marks.shape), marks
    differences = pooled_differences(*sides, cultures, clusters, binary=binary, varies=False)
    for mark, difference in zip(marks.T, differences, strict=True):
        mark_mean, c = pooled_mean(mark, cultures, clusters, share=binary or share), difference.comparison
        ratio = low = high = None
        if c.a_value is not None and c.b_value is not None and c.b_value > 0:
            ratio = c.a_value / c.b_value
            rest = pooled_mean((values - ratio * mark) / c.b_value, cultures, clusters)
            if rest.low is not None and rest.high is not None:
                low, high = max(0.0, ratio + rest.low), ratio + rest.high
        against.append(
            AgainstMark(
                low=mark_mean.low,
                high=mark_mean.high,
                difference=c.difference,
                p_value=c.p_value,
                relative=ratio,
                relative_low=low,
                relative_high=high,
                difference_low=c.low,
                difference_high=c.high,
            )
        )
    return against

"""Means and paired differences with honest error bars: clustered standard errors, Wilson at the edges, Student t."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kapwa.errors import UsageError
from kapwa.stats.clusters import (
    ROUNDING,
    ClusterSums,
    FloatArray,
    cluster_codes,
    cluster_sums,
    read_values,
)
from kapwa.stats.power import detectable_difference
from kapwa.stats.resampling import sign_flip_p_values
from kapwa.value_types import Cells

# Sampled p-values go down to 1/50,000, so that Holm over a hundred comparisons can still decide at 5 %.
PERMUTATIONS = 49_999
LEAST_FREEDOM = 2.5


class Estimate(NamedTuple):
    """A mean with its interval.

    ``n``: values measured; ``clusters``: sampled units they come from. ``value`` is None without values;
    ``se``, ``low`` and ``high`` are None where the data cannot tell: ``method`` says why.

    Methods: ``wilson-clustered`` (right/wrong metrics and others in [0, 1]), ``t-clustered`` (other metrics),
    ``one-cluster`` (no spread between clusters to learn from), ``no-spread`` (the cluster totals do not vary, so an
    interval would have no width), ``no-data``.
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


def share_interval(
    share: ArrayLike, size: ArrayLike, worst: ArrayLike, df: ArrayLike, level: float
) -> tuple[FloatArray, FloatArray]:
    """Wilson interval of a mean of values in [0, 1] that come in clusters, in [0, 1].

    ``size``: the effective number of independent trials; ``worst``, ``df``: see :func:`share_quantile`.
    """
    return wilson_interval(share, size, share_quantile(share, size, worst, df, level))


def share_quantile(share: ArrayLike, size: ArrayLike, worst: ArrayLike, df: ArrayLike, level: float) -> FloatArray:
    """Two-sided Student quantile for a mean of values in [0, 1] that come in clusters.

    ``size``: the effective number of independent trials; ``worst``: this number if all values of a cluster were
    the same (Kish); ``df``: degrees of freedom of the standard error.

    With large clusters of rare answers, and with skewed measures, the spread of the clusters' means is uncertain. The
    degrees of freedom are reduced for this: df' = 1 / (1/df + 0.6 w κ/(2 G)), at least 2.5, with G = ``worst``, κ the
    excess kurtosis (at least 0) of a beta distribution of the same mean whose variance is that of a cluster's mean, and
    w = c²/(1 + c²), c = size/worst − 1 (0 for single right/wrong answers, for which Wilson's interval is made). The
    variance of a variance contains κ/(2 G) (O'Neill 2014); w and 0.6 are fitted by simulation, as Wilson's interval
    already widens towards ½.
    """
    from scipy.special import stdtrit

    p, trials, clusters = (np.asarray(argument, dtype=np.float64) for argument in (share, size, worst))
    variance, beta = p * (1 - p), np.maximum(trials / clusters - 1, 0.0)
    below = np.where(variance > 0, variance * (beta + 2) * (beta + 3), 1.0)
    kurtosis = np.where(variance > 0, 6 * ((1 - 4 * variance) * (beta + 1) - variance * (beta + 2)) / below, 0.0)
    fewer = 1 / (1 / np.asarray(df) + 0.3 * np.maximum(kurtosis, 0.0) * beta**2 / (1 + beta**2) / clusters)
    return np.asarray(stdtrit(np.maximum(fewer, np.minimum(df, LEAST_FREEDOM)), 0.5 + level / 2))


def succession_error(share: ArrayLike, size: ArrayLike) -> FloatArray:
    """Standard error of a share of ``size`` trials with one more right and one more wrong (rule of succession)."""
    padded = (np.asarray(share) * size + 1) / (np.asarray(size) + 2)
    return np.asarray(np.sqrt(padded * (1 - padded) / (np.asarray(size) + 2)))


def effective_size(sums: ClusterSums, variance: FloatArray) -> FloatArray:
    """Independent trials that carry as much information as the clustered values, per column.

    ``variance``: what one 0/1 trial would have, p(1 − p) for a proportion. The size is n over the design effect,
    times ``variance`` over the values' own variance (1 for 0/1 values; more when items are means of several
    samples and so vary less). Without spread, or with one cluster, the design effect is unknown, and the worst case is
    taken: all values of a cluster say the same (Kish size).
    """
    measured = (sums.scatter > 0) & (sums.clusters > 1)
    spread = np.where(measured, sums.scatter, 1.0) / np.maximum(sums.n, 1)
    size = sums.n * (variance / spread) / sums.design_effect
    return np.where(measured & (variance > 0), size, sums.kish_size)


def mean_estimates(
    values: ArrayLike,
    clusters: ArrayLike | None,
    *,
    share: bool | Sequence[bool] = False,
    weights: FloatArray | None = None,
    level: float = 0.95,
) -> list[Estimate]:
    """Estimate the mean of every column of ``values`` with a clustered interval.

    ``values``: (n,) or (n, metrics) numbers, NaN where nothing was measured (left out of its own column only);
    ``clusters``: (n,) labels of the sampled units, None when each row is its own. ``share``: values lie between 0 and
    1, such as 0 for wrong and 1 for right; one flag, or one for each column. ``weights``: (n,) how many items each row
    represents, the inverse of its probability of being drawn; None: all alike.

    Standard error: clustered sandwich with G/(G−1) (Miller 2024, arXiv 2411.00640). Quantile: Student t with
    Satterthwaite degrees of freedom (G−1 for equal clusters). Shares always get a Wilson interval on the
    effective sample size (Korn and Graubard 1998; Franco et al. 2019; :func:`share_interval`), so there is no
    threshold at which the interval jumps, and no interval of zero width. In our simulations the bootstrap covers about
    as often, so the formula without random draws is used. Raises UsageError or DataError for lengths and values that
    do not fit.
    """
    from scipy.special import stdtrit

    matrix, flags = read_values(values, share)
    sums = cluster_sums(matrix, cluster_codes(clusters, len(matrix)), weights)
    proportion, half = np.where(flags, sums.mean, 0.0), stdtrit(sums.df, 0.5 + level / 2) * sums.se
    size = effective_size(sums, proportion * (1 - proportion))
    # All right or all wrong has a standard error of 0, which would claim certainty.
    se = np.where(flags & (sums.se == 0), succession_error(proportion, size), sums.se)
    wilson = share_interval(proportion, size, sums.kish_size, sums.df, level)
    low, high = np.where(flags, wilson, (sums.mean - half, sums.mean + half))
    method = np.select(
        [sums.clusters == 0, sums.clusters == 1, flags, se == 0],
        ["no-data", "one-cluster", "wilson-clustered", "no-spread"],
        "t-clustered",
    )
    blank = np.isin(method, ("no-data", "one-cluster", "no-spread"))
    se, low, high = (np.where(blank, np.nan, column) for column in (se, low, high))
    numbers = {"value": sums.mean, "se": se, "low": low, "high": high}
    return [Estimate(**row) for row in _rows(numbers, sums, method)]


def _rows(numbers: Mapping[str, FloatArray], sums: ClusterSums, methods: Iterable[str]) -> Iterator[Cells]:
    """Yield the fields of each column's estimate, with None for what is not known."""
    for k, method in enumerate(methods):
        counts = {"n": int(sums.n[k]), "clusters": int(sums.clusters[k]), "method": str(method)}
        yield {name: None if np.isnan(c[k]) else float(c[k]) for name, c in numbers.items()} | counts


class AgainstMark(NamedTuple):
    """Values compared with what a trick or a person scores on the same items; None where the data cannot tell.

    ``low``–``high``: interval of the mark itself. ``difference``: values − mark, ``p_value`` that it is 0, two-sided.
    ``relative``: values / mark, with its interval. ``difference_low``–``difference_high``: interval of the difference,
    of means over several cultures only (:func:`kapwa.stats.pooled.pooled_against_marks`). Filled by
    :func:`kapwa.stats.missing.against_marks_with_worst_cases`: ``p_worst`` where all missing answers count against the
    side that scores higher, ``worst_low``–``worst_high`` the outer ends of ``difference_low``–``difference_high`` then.
    """

    low: float | None
    high: float | None
    difference: float | None
    p_value: float | None
    relative: float | None
    relative_low: float | None
    relative_high: float | None
    difference_low: float | None = None
    difference_high: float | None = None
    p_worst: float | None = None
    worst_low: float | None = None
    worst_high: float | None = None


def against_marks(
    values: FloatArray,
    marks: FloatArray,
    clusters: ArrayLike,
    *,
    binary: bool = False,
    share: bool = False,
) -> list[AgainstMark]:
    """Compare ``values`` (n,) with each column of ``marks`` (n, k) item by item; pairs with a NaN are left out.

    The test is Student's t of the differences, clustered. For ``binary`` values (0/1, or means of samples) one more won
    pair and one more lost pair are counted (Bonett and Price 2012): where few pairs differ, t alone finds too much, and
    this p is near that of the exact test. One pair weighs little beside large clusters, so p is never below 2^(1 − G),
    the least that sign flips of G clusters can give. The interval of the ratio is by linearisation,
    values − ratio · mark; that of the mark itself is as in :func:`mean_estimates` (``share``: values lie between
    0 and 1).
    """
    from scipy.special import stdtr, stdtrit

    differences, codes = values[:, None] - marks, cluster_codes(clusters, len(values))
    means = [estimate.value for estimate in mean_estimates(differences, codes)]
    tested, apart = differences, codes
    if binary:
        tested = np.vstack([differences, np.ones(marks.shape[1]), -np.ones(marks.shape[1])])
        apart = np.append(codes, [len(codes), len(codes) + 1])
    tests = mean_estimates(tested, apart)
    mark_estimates = mean_estimates(marks, codes, share=binary or share)
    compared_marks = np.where(np.isnan(differences), np.nan, marks)
    paired = [estimate.value for estimate in mean_estimates(compared_marks, codes)]
    against = []
    for k, (test, mark) in enumerate(zip(tests, mark_estimates, strict=True)):
        p = ratio = low = high = None
        if test.value is not None and test.se and means[k] is not None:
            p = float(2 * stdtr(test.clusters - 1, -abs(test.value / test.se)))
            p = max(p, 2.0 ** (3 - test.clusters)) if binary else p
        if (whole := paired[k]) and (apart_by := means[k]) is not None and whole > 0:
            ratio = 1 + apart_by / whole
            spread = mean_estimates((values - ratio * compared_marks[:, k]) / whole, codes)[0]
            if spread.se is not None:
                half = float(stdtrit(spread.clusters - 1, 0.975)) * spread.se
                low, high = max(0.0, ratio - half), ratio + half
        against.append(
            AgainstMark(
                low=mark.low,
                high=mark.high,
                difference=means[k],
                p_value=p,
                relative=ratio,
                relative_low=low,
                relative_high=high,
            )
        )
    return against


# --- paired comparisons on shared items ---------------------------------------------------------------------


class Comparison(NamedTuple):
    """How much A scores above B on the items both were measured on.

    ``low``–``high``: analytic interval (``method``). ``p_value``: cluster sign-flip permutation test, two-sided.
    ``mde``: the smallest true difference that this test at 5 % detects four times in five on such items, in the
    metric's own unit; see :func:`kapwa.stats.power.detectable_difference`; infinite where none would be detected so
    often. ``differing``: share of items on which the two differ. ``p_equal``: p of the two one-sided tests of a margin,
    None without one. Fields are None where the data cannot tell. ``a_value`` and ``b_value`` are means over the shared
    items, so ``difference == a_value - b_value``.

    Filled by :func:`kapwa.stats.missing.add_worst_cases`: ``missing_a`` and ``missing_b``, the share of each side's
    answers that are missing; ``least_low``–``least_high``, the interval of A − B where all of these favour B, and
    ``most_low``–``most_high`` where they favour A; ``p_worst``, p of the case against the side that scores
    higher; ``p_over``, one-sided, that this side is not ahead by more than the margin of ``p_equal``. ``p_equal`` is
    then the largest of all cases.
    """

    a_value: float | None
    b_value: float | None
    difference: float | None
    se: float | None
    low: float | None
    high: float | None
    p_value: float | None
    mde: float | None
    differing: float | None
    n: int
    clusters: int
    method: str
    p_equal: float | None = None
    missing_a: float | None = None
    missing_b: float | None = None
    least_low: float | None = None
    least_high: float | None = None
    most_low: float | None = None
    most_high: float | None = None
    p_worst: float | None = None
    p_over: float | None = None


def paired_differences(  # noqa: PLR0913 - each is one decision of the caller; all but three have defaults
    a: ArrayLike,
    b: ArrayLike,
    clusters: ArrayLike | None,
    *,
    binary: bool | Sequence[bool] = False,
    level: float = 0.95,
    seed: int = 0,
    permutations: int = PERMUTATIONS,
    mid_p: bool = False,
    equal_within: float | None = None,
) -> list[Comparison]:
    """Compare A with B on paired items, metric by metric: mean difference, interval, permutation p-value, MDE.

    ``a``, ``b``: (items, metrics) values of the same items in the same order; a pair with a NaN on either side is left
    out. ``clusters``: (items,) labels of the sampled units. p: sign flips of whole clusters, exact where it can be, and
    with ``mid_p`` its mid-p.
    Deterministic for a seed. Raises UsageError or DataError for input that does not fit.

    Interval: t with the clustered standard error of the differences. For ``binary`` values that of Bonett and Price
    (2012) for paired proportions, on the effective sample size: one item more is counted on each side, so that two
    runs that never disagree get an interval with a width.
    """
    first, second, differences, flags = paired_values(a, b, binary)
    codes = cluster_codes(clusters, len(first))
    sums = cluster_sums(differences, codes)
    p_values, ways = sign_flip_p_values(sums.totals, replicates=permutations, seed=seed, mid_p=mid_p)
    se, low, high, p_equal = _paired_intervals(differences, flags, sums, level, equal_within)
    spread = sums.se > 0
    a_value, b_value = (
        cluster_sums(np.where(np.isnan(differences), np.nan, side), codes).mean for side in (first, second)
    )
    # For means of several right/wrong answers: the expected share on which single answers differ.
    size = np.where(flags, np.abs(differences), np.where(np.isnan(differences), np.nan, differences != 0))
    differing = cluster_sums(size, codes).mean
    numbers = {
        **{"a_value": a_value, "b_value": b_value, "difference": sums.mean, "se": se, "low": low, "high": high},
        "p_value": np.where(sums.clusters > 0, p_values, np.nan),
        "mde": _detectable(sums, se, differing, flags, mid_p=mid_p),
        **{"differing": differing, "p_equal": p_equal},
    }
    kinds = np.select(
        [sums.clusters == 1, flags, spread], ["one-cluster", "bonett-price-clustered", "t-clustered"], "no-spread"
    )
    methods = [
        f"{kind}, sign-flip {way}" if count else "no-data"
        for kind, way, count in zip(kinds, ways, sums.clusters, strict=True)
    ]
    return [Comparison(**row) for row in _rows(numbers, sums, methods)]


def _detectable(
    sums: ClusterSums, se: FloatArray, differing: FloatArray, flags: NDArray[np.bool_], *, mid_p: bool
) -> FloatArray:
    """Return the smallest difference of each column that the paired test finds four times in five."""
    differences = [
        detectable_difference(
            n=int(sums.n[k]),
            clusters=int(sums.clusters[k]),
            difference=float(sums.mean[k]),
            se=float(se[k]),
            differing=float(differing[k]),
            binary=bool(flags[k]),
            mid_p=mid_p,
        )
        for k in range(len(flags))
    ]
    return np.asarray(differences)


def paired_values(
    a: ArrayLike, b: ArrayLike, binary: bool | Sequence[bool]
) -> tuple[FloatArray, FloatArray, FloatArray, NDArray[np.bool_]]:
    """Return both sides of paired items, (items, metrics), their differences, and which metrics are right or wrong."""
    if np.shape(a) != np.shape(b):
        raise UsageError(f"The two sides differ in shape: {np.shape(a)} and {np.shape(b)}.", hint="Pair the items.")
    (first, flags), (second, _) = read_values(a, binary), read_values(b, binary)
    differences = first - second
    # Equal numbers that were summed in another order are a few ulp apart.
    differences[np.abs(differences) <= ROUNDING * np.maximum(np.abs(first), np.abs(second))] = 0.0
    return first, second, differences, flags


def bonett_price(gains: FloatArray, losses: FloatArray, size: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the centre of Bonett and Price's interval (2012, paired proportions) and its standard error.

    ``gains``, ``losses``: shares of ``size`` independent pairs that only A and only B got right; one pair more is
    counted for each side.
    """
    up, down = (gains * size + 1) / (size + 2), (losses * size + 1) / (size + 2)
    return up - down, np.sqrt((up + down - (up - down) ** 2) / (size + 2))


def equality_p(centre: ArrayLike, error: ArrayLike, df: ArrayLike, margin: float | None) -> FloatArray:
    """Return the larger p of two one-sided t tests that a true difference lies within ±``margin``; NaN without one.

    Below α exactly where the interval of level 1 − 2α lies inside the margin. Source: Schuirmann (1987).
    """
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(stdtr(df, (np.abs(centre) - (np.nan if margin is None else margin)) / np.asarray(error)))


def _paired_intervals(
    differences: FloatArray, flags: NDArray[np.bool_], sums: ClusterSums, level: float, margin: float | None
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Standard error, interval and p of equality of each column's difference; NaN where the data cannot tell."""
    from scipy.special import stdtrit

    # For right/wrong values, the shares of items that only A and only B got right.
    gains, losses = (
        np.where(flags & ~np.isnan(ahead), np.maximum(ahead, 0), 0.0).sum(axis=0) / np.maximum(sums.n, 1)
        for ahead in (differences, -differences)
    )
    size = effective_size(sums, np.maximum(gains + losses - (gains - losses) ** 2, 0))
    middle, wide = bonett_price(gains, losses, size)
    error = np.where(flags, wide, sums.se)
    centre, half = np.where(flags, middle, sums.mean), stdtrit(sums.df, 0.5 + level / 2) * error
    low, high = (np.where(flags, np.clip(bound, -1, 1), bound) for bound in (centre - half, centre + half))
    spread = sums.se > 0
    unknown = (sums.clusters < 2) | ~(spread | flags)
    equal = equality_p(centre, error, sums.df, margin)
    columns = (np.where(spread, sums.se, error), low, high, equal)
    se, low, high, equal = (np.where(unknown, np.nan, column) for column in columns)
    return se, low, high, equal

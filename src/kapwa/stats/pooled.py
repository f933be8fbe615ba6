"""Several cultures together: means and paired differences over them, and whether they differ by more than noise.

Cultures are taken as they are and count alike. What was drawn are the questions: a cluster label stands for one
question (or situation) wherever it occurs, so that one put to many cultures is one piece of evidence, not many. Every
standard error and test here draws on clusters, never on cultures or items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kapwa.stats.clusters import ROUNDING, FloatArray, IntArray, check_level, cluster_codes, none_if_nan, read_values
from kapwa.stats.intervals import (
    PERMUTATIONS,
    AgainstMark,
    Comparison,
    Estimate,
    bonett_price,
    equality_p,
    paired_values,
    share_interval,
    succession_error,
)
from kapwa.stats.power import detectable_difference
from kapwa.stats.resampling import CHUNK, TIE, monte_carlo_p, sign_flip_p_values

FLIPS = 4999
LEVEL = 0.05  # of the test of equality, above which no ranks are told
PRIOR = 10.0  # clusters that all cultures' variance weighs beside a culture's own
MOST_RANKED = 300  # with more cultures, comparing each with each says nothing anyone could read
_LARGEST_SCALE = 10**6


class CultureMeans(NamedTuple):
    """One measure by culture: ``means``, ``n`` items and ``clusters`` of each (K,), and how the means err together.

    ``shares`` (G, K): the part of a culture's items that a cluster holds. ``residuals`` (G, K): a cluster's part in a
    culture's mean, less what it would be at that mean, times √(G_c/(G_c−1)); ``residuals.T @ residuals`` is the
    covariance of the means (cluster-robust, the off-diagonal from questions that cultures share). 0 for a culture with
    one cluster, whose error the data cannot tell.
    """

    means: FloatArray
    n: IntArray
    clusters: IntArray
    shares: FloatArray
    residuals: FloatArray


def culture_means(values: FloatArray, cultures: IntArray, clusters: IntArray) -> CultureMeans:
    """Means of a vector without NaN by culture code, and the residuals of its clusters; every code occurs."""
    shape = (int(clusters.max()) + 1, int(cultures.max()) + 1)
    sizes, totals = np.zeros(shape), np.zeros(shape)
    np.add.at(sizes, (clusters, cultures), 1.0)
    np.add.at(totals, (clusters, cultures), values)
    n, groups = sizes.sum(axis=0), np.count_nonzero(sizes, axis=0)
    means = totals.sum(axis=0) / n
    factor = np.sqrt(groups / np.maximum(groups - 1, 1))
    residuals = factor * (totals - sizes * means) / n
    residuals[np.abs(residuals) <= ROUNDING * np.abs(values).max(initial=0.0)] = 0.0
    return CultureMeans(means, n.astype(np.intp), groups, sizes / n, residuals)


# --- the mean over cultures --------------------------------------------------------------------------------------


def pooled_mean(
    values: ArrayLike, cultures: ArrayLike, clusters: ArrayLike, *, binary: bool = False, level: float = 0.95
) -> Estimate:
    """Mean over cultures of their means, each counting alike, with an interval clustered by question.

    ``values``: (n,) numbers, NaN where nothing was measured; ``cultures`` and ``clusters``: (n,) labels. ``binary``:
    right/wrong, or another measure from 0 to 1: Wilson's interval on the effective sample size p(1 − p)/SE² (Korn and
    Graubard 1998), Kish's where nothing varies; else Student's. Where every
    culture has the same questions, the standard error is that of the questions' means over cultures; where none is
    shared, that of independent means. Degrees of freedom: the smaller of Satterthwaite's for independent items, which
    loses one for each culture with questions of its own, and of Bell and McCaffrey's for clusters of unequal weight.
    """
    from scipy.special import stdtrit

    check_level(level)
    matrix, _ = read_values(values, binary)
    n = int((~np.isnan(matrix[:, 0])).sum())
    if not n:
        return Estimate(None, None, None, None, 0, 0, "no-data")
    means = _kept_means(matrix[:, 0], _encoded(matrix, cultures, clusters))
    value, (se, df), several = float(means.means.mean()), _pooled_error(means), len(means.shares)
    if several < 2 or not (binary or se > 0):
        return Estimate(value, None, None, None, n, several, "one-cluster" if several < 2 else "no-spread")
    if not binary:
        half = float(stdtrit(df, 0.5 + level / 2)) * se
        return Estimate(value, se, value - half, value + half, n, several, "t-clustered")
    worst = 1 / float((_weights(means) ** 2).sum())
    size = value * (1 - value) / se**2 if se > 0 else worst
    low, high = map(float, share_interval(value, size, worst, df, level))
    return Estimate(value, se or float(succession_error(value, size)), low, high, n, several, "wilson-clustered")


def _weights(means: CultureMeans) -> FloatArray:
    """The part of the mean over cultures that each cluster has; they add up to 1."""
    return np.asarray(means.shares.sum(axis=1) / len(means.means))


def _encoded(values: FloatArray, cultures: ArrayLike, clusters: ArrayLike) -> tuple[IntArray, IntArray]:
    """Numbers of the cultures and clusters of all rows."""
    return cluster_codes(cultures, len(values)), cluster_codes(clusters, len(values))


def _kept_means(values: FloatArray, codes: tuple[IntArray, IntArray]) -> CultureMeans:
    """Means by culture of the rows that are no NaN; cultures and clusters without any are left out."""
    kept = ~np.isnan(values)
    cultures, clusters = (np.unique(code[kept], return_inverse=True)[1] for code in codes)
    return culture_means(values[kept], cultures, clusters)


def _pooled_error(found: CultureMeans) -> tuple[float, float]:
    """Standard error of the mean over cultures, and its degrees of freedom."""
    several, weights = len(found.means), _weights(found)
    # A culture with one cluster does not tell its error: its distance from the mean over cultures stands in for it.
    alone = found.clusters < 2
    residuals = found.residuals + found.shares * np.where(alone, found.means - found.means.mean(), 0.0)
    se = float(np.sqrt(((residuals.sum(axis=1) / several) ** 2).sum()))
    spread = 1 - (weights**2).sum()
    if spread <= 0:
        return se, math.nan
    share = weights**2 / (1 - weights)
    bell = 1 / ((weights**2).sum() + share.sum() ** 2 - (share**2).sum())
    # For independent items of equal variance: the squared trace of the clusters' covariance over that of its square.
    factor = np.where(alone, 1.0, found.clusters / np.maximum(found.clusters - 1, 1)) / found.n
    own = np.diag((found.shares * factor).sum(axis=1))
    covariance = own - (found.shares * np.where(alone, 0.0, factor)) @ found.shares.T
    square = float((covariance**2).sum())
    return se, min(bell, float(np.trace(covariance)) ** 2 / square) if square > 0 else bell


# --- paired differences over cultures ----------------------------------------------------------------------------


class PooledDifference(NamedTuple):
    """How much A scores above B on average over cultures, and how far that varies between them.

    ``comparison``: means over cultures, interval, p-value (without the bootstrap's interval). ``sd``: the estimated
    standard deviation of the true difference between cultures, noise taken out. ``p_varies``: whether it is the same
    in all of them; see :func:`culture_spread`. Both None where the data cannot tell.
    """

    comparison: Comparison
    cultures: int
    sd: float | None
    p_varies: float | None


def pooled_differences(  # noqa: PLR0913 - each is one decision of the caller; all but four have defaults
    a: ArrayLike,
    b: ArrayLike,
    cultures: ArrayLike,
    clusters: ArrayLike,
    *,
    binary: bool | Sequence[bool] = False,
    level: float = 0.95,
    seed: int = 0,
    mid_p: bool = False,
    equal_within: float | None = None,
) -> list[PooledDifference]:
    """Compare A with B over several cultures, metric by metric: the mean over cultures of the paired difference.

    ``a``, ``b``: (items, metrics) values of the same items; a pair with a NaN on either side is left out. ``cultures``,
    ``clusters``: (items,) labels; a question put to many cultures is one cluster. Cultures count alike.

    p-value: sign flips of whole questions over all cultures at once, exact for right/wrong values where all cultures
    have equally many items (or nearly), else by 49,999 random flips. Interval: t with the standard error clustered by
    question; for ``binary`` values Bonett and Price's on the effective sample size, as in
    :func:`kapwa.stats.intervals.paired_differences`. Raises UsageError or DataError for input that does not fit.
    """
    check_level(level)
    first, second, differences, flags = paired_values(a, b, binary)
    codes, columns = _encoded(differences, cultures, clusters), differences.shape[1]
    flips = np.zeros((int(codes[1].max(initial=-1)) + 1, columns))
    for k, kept in enumerate(~np.isnan(differences).T):
        n = np.bincount(codes[0][kept])
        scale = math.lcm(*map(int, n[n > 0]))
        weight = (scale if scale <= _LARGEST_SCALE else 1) / np.maximum(n, 1)
        np.add.at(flips[:, k], codes[1][kept], differences[kept, k] * weight[codes[0][kept]])
    p_values, ways = sign_flip_p_values(flips, replicates=PERMUTATIONS, seed=seed, mid_p=mid_p)
    found = []
    for k in range(columns):
        sides = tuple(np.where(np.isnan(differences[:, k]), np.nan, side[:, k]) for side in (first, second))
        p = float(p_values[k])
        tested = (p, ways[k], level, equal_within)
        found.append(_pooled_difference(differences[:, k], sides, codes, bool(flags[k]), tested, seed))
    return found


def _pooled_difference(
    differences: FloatArray,
    sides: tuple[FloatArray, ...],
    codes: tuple[IntArray, IntArray],
    binary: bool,
    tested: tuple[float, str, float, float | None],
    seed: int,
) -> PooledDifference:
    """One metric: the means of both sides over cultures and all that is said of their difference.

    ``tested``: p-value, how it was found, the interval's level, the margin of equality.
    """
    from scipy.special import stdtrit

    p_value, way, level, margin = tested
    kept = ~np.isnan(differences)
    if not kept.any():
        nothing = dict.fromkeys(Comparison._fields) | {"n": 0, "clusters": 0, "method": "no-data"}
        return PooledDifference(Comparison(**nothing), 0, None, None)  # type: ignore[arg-type]
    means, (left, right) = _kept_means(differences, codes), (_kept_means(one, codes).means for one in sides)
    value, (se, df) = float(means.means.mean()), _pooled_error(means)
    centre, error, kind = value, se, "t-clustered"
    if binary:
        gains, losses = (_kept_means(np.maximum(one, 0), codes).means.mean() for one in (differences, -differences))
        # As many independent pairs as tell as much; where no item differs, a question is one pair (Kish).
        variance, weights = gains + losses - value**2, _weights(means)
        size = float(variance / se**2 if se > 0 and variance > 0 else 1 / (weights**2).sum())
        centre, error = map(float, bonett_price(gains, losses, np.asarray(size)))
        kind = "bonett-price-clustered"
    known = len(means.shares) > 1 and error > 0
    half = float(stdtrit(df, 0.5 + level / 2)) * error if known else math.nan
    ends = (max(centre - half, -1.0), min(centre + half, 1.0)) if binary else (centre - half, centre + half)
    shown = se if se > 0 else error
    spread = _spread_of(means, tuple(range(len(means.means))), seed=seed, ranked=False)
    differing = _kept_means(np.where(kept, np.abs(differences) if binary else differences != 0, np.nan), codes).means
    shape: dict[str, Any] = {"n": int(kept.sum()), "clusters": len(means.shares), "difference": value}
    shape |= {"se": shown if known else None, "differing": float(differing.mean())}
    comparison = Comparison(
        a_value=float(left.mean()),
        b_value=float(right.mean()),
        low=none_if_nan(ends[0]) if known else None,
        high=none_if_nan(ends[1]) if known else None,
        boot_low=None,
        boot_high=None,
        p_value=p_value,
        mde=none_if_nan(detectable_difference(**shape, binary=binary, mid_p=way == "mid-p")) if known else None,
        **shape,
        method=f"{kind if known else 'one-cluster' if len(means.shares) < 2 else 'no-spread'}, sign-flip {way}",
        p_equal=none_if_nan(float(equality_p(centre, error, df, margin))) if known else None,
    )
    return PooledDifference(comparison, len(means.means), spread and spread.sd, spread and spread.p_value)


def pooled_against_marks(
    values: FloatArray,
    marks: FloatArray,
    cultures: ArrayLike,
    clusters: ArrayLike,
    *,
    binary: bool = False,
    share: bool = False,
) -> list[AgainstMark]:
    """Hold ``values`` (n,) against each column of ``marks`` (n, k) over several cultures, each counting alike.

    Pairs with a NaN are left out. Test and interval of the difference: :func:`pooled_differences`; interval of the
    mark: :func:`pooled_mean` (``share``: values lie between 0 and 1); that of the ratio of the two means over cultures
    by linearisation, values − ratio · mark.
    """
    found = []
    sides = np.broadcast_to(values[:, None], marks.shape), marks
    for mark, one in zip(marks.T, pooled_differences(*sides, cultures, clusters, binary=binary), strict=True):
        own, c = pooled_mean(mark, cultures, clusters, binary=binary or share), one.comparison
        ratio = low = high = None
        if c.a_value is not None and c.b_value:
            ratio = c.a_value / c.b_value
            rest = pooled_mean((values - ratio * mark) / c.b_value, cultures, clusters)
            if rest.low is not None and rest.high is not None:
                low, high = max(0.0, ratio + rest.low), ratio + rest.high
        found.append(AgainstMark(own.low, own.high, c.difference, c.p_value, ratio, low, high, c.low, c.high))
    return found


# --- do cultures differ? -----------------------------------------------------------------------------------------


def shares_of(values: ArrayLike, marks: ArrayLike, cultures: ArrayLike) -> FloatArray:
    """Values as shares of what people score on the same items, made so that a culture's mean is its share.

    ``values``: (n,) numbers x; ``marks``: (n,) what people score, h; ``cultures``: (n,) labels. Returns z, (n,):

        z = ρ + (x − ρ h) / h̄

    with ρ the sum of all x over that of all h, and h̄ the mean of h in the culture. The mean of z in a culture is the
    mean of x over that of h there; how z varies tells its error by linearisation (Cochran 1977, section 6.4), at the
    ratio that all cultures have in common if the share is the same everywhere. An item of which either is NaN is in no
    sum and NaN; all of a culture are whose people score 0 or less.
    """
    x, h = (read_values(one, binary=False)[0][:, 0] for one in (values, marks))
    codes, there = cluster_codes(cultures, len(x)), ~(np.isnan(x) | np.isnan(h))
    sums, n = (np.bincount(codes[there], one, int(codes.max(initial=-1)) + 1) for one in (h[there], None))
    means = np.divide(sums, n, out=np.full(len(sums), np.nan), where=sums > 0)
    there &= ~np.isnan(means[codes])
    ratio = float(x[there].sum() / h[there].sum()) if there.any() else math.nan
    return np.asarray(np.where(there, ratio + (x - ratio * h) / means[codes], np.nan))


class CultureSpread(NamedTuple):
    """Whether the means of cultures differ by more than noise, and what each is worth.

    ``cultures``: labels, sorted; of each ``means``, ``partial`` (drawn towards the mean over cultures as far as noise
    explains its distance) and the interval of its rank, ``rank_low``–``rank_high``, 1 the highest: all ranks together
    hold with 95 % confidence. ``p_value``: whether all true means are equal. ``sd``: the estimated standard deviation
    of the true means.
    """

    cultures: tuple[Any, ...]
    means: FloatArray
    partial: FloatArray
    rank_low: IntArray
    rank_high: IntArray
    p_value: float
    sd: float

    def apart(self, one: int, other: int) -> bool:
        """Whether two cultures are told apart, all pairs allowed for."""
        return bool(self.rank_high[one] < self.rank_low[other] or self.rank_high[other] < self.rank_low[one])


def culture_spread(
    values: ArrayLike, cultures: ArrayLike, clusters: ArrayLike, *, seed: int = 0
) -> CultureSpread | None:
    """Test whether cultures' means are equal, estimate how far they truly spread, and give intervals of their ranks.

    ``values``: (n,) numbers, scores or paired differences, NaN left out; ``cultures``, ``clusters``: (n,) labels. None
    where fewer than two cultures have two clusters; a culture with one is in no test, and its rank may be any.

    Test: F, the squared distances of cultures' means from their mean over what noise alone would give (the trace of
    their cluster-robust covariance, the noise they share taken out), against its distribution when the residuals of
    whole questions change sign at random, in all cultures at once: a wild cluster bootstrap (Liu 1988; Cameron, Gelbach
    and Miller 2008). Partial pooling: means are drawn towards their mean by τ² / (τ² + σ_c²), τ² by moments
    (DerSimonian and Laird 1986), σ_c² in proportion to Σ (n_g/n)²: a question tells equally much in all cultures.
    Ranks: where the test rejects at 5 %, pairs are told apart whose studentised distance exceeds the 95 % point of the
    largest under the same sign flips (Mogstad, Romano, Shaikh and Wilhelm 2024); else every rank is possible. Variances
    of single cultures are drawn towards what all of them say, weighing :data:`PRIOR` clusters: a culture with all
    answers right is not known without error. Deterministic for a seed.
    """
    matrix, _ = read_values(values, binary=False)
    kept = ~np.isnan(matrix[:, 0])
    if not kept.any():
        return None
    codes, given = _encoded(matrix, cultures, clusters), np.asarray(cultures, dtype=object)[kept]
    # Labels in the order of their codes.
    first = np.unique(codes[0][kept], return_index=True)[1]
    return _spread_of(
        _kept_means(matrix[:, 0], codes), tuple(given[first]), seed=seed, ranked=len(first) <= MOST_RANKED
    )


def _spread_of(found: CultureMeans, labels: tuple[object, ...], *, seed: int, ranked: bool) -> CultureSpread | None:
    """The spread of means; without intervals of ranks unless ``ranked``."""
    tested = np.flatnonzero(found.clusters > 1)
    if tested.size < 2:
        return None
    means, residuals = found.means[tested], found.residuals[:, tested]
    covariance, several = residuals.T @ residuals, tested.size
    distance = float(((means - means.mean()) ** 2).sum())
    noise = float(np.trace(covariance) - covariance.sum() / several)
    least = (ROUNDING * np.abs(means).max()) ** 2
    if noise <= least:
        p = 1.0 if distance <= least else math.nan
        return _spread(labels, found, tested, p, math.sqrt(distance / (several - 1)), np.zeros((0, 0)))
    shrunk = _shrunk(covariance.diagonal(), (found.shares[:, tested] ** 2).sum(axis=0), found.clusters[tested])
    pairs = shrunk[:, None] + shrunk - 2 * (covariance - np.diag(covariance.diagonal()))
    np.fill_diagonal(pairs, 0.0)
    errors = np.sqrt(np.where(pairs > ROUNDING * pairs.max(), pairs, np.inf))[: several if ranked else 0]
    ratios, largest = _flipped(residuals, noise, errors, seed=seed)
    # F of flips has the same correction as that of the data: what the flips' own means take from their residuals.
    bar = distance / (noise + distance / float(found.clusters[tested].mean())) * (1 - TIE)
    beyond = (means[:, None] - means)[: len(errors)] / errors / max(float(np.quantile(largest, 0.95)), ROUNDING)
    sd = math.sqrt(max(distance - noise, 0.0) / (several - 1))
    # Residuals are fitted and so too small: of few clusters, hold p at the least chance that their sign flips have.
    least = 2.0 ** (1 - np.count_nonzero(found.shares[:, tested].any(axis=1)))
    p = max(monte_carlo_p(int((ratios >= bar).sum()), FLIPS), least)
    return _spread(labels, found, tested, p, sd, beyond if p < LEVEL else np.zeros((0, 0)))


def _shrunk(variances: FloatArray, worth: FloatArray, clusters: IntArray) -> FloatArray:
    """Variances of cultures' means drawn towards what all say of a culture of its ``worth`` (Σ of squared shares)."""
    common = worth * float(variances.sum() / worth.sum())
    return np.asarray((PRIOR * common + (clusters - 1) * variances) / (PRIOR + clusters - 1))


def _flipped(residuals: FloatArray, noise: float, errors: FloatArray, *, seed: int) -> tuple[FloatArray, FloatArray]:
    """Under each sign flip of questions: squared distances over ``noise``, and the largest distance over ``errors``."""
    generator = np.random.default_rng(seed)
    ratios, largest = [], []
    for start in range(0, FLIPS, CHUNK):
        signs = generator.integers(0, 2, size=(min(CHUNK, FLIPS - start), len(residuals)), dtype=np.int8)
        means = (signs.astype(np.float64) * 2 - 1) @ residuals
        ratios.append(((means - means.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) / noise)
        most = np.zeros(len(means))
        for k, error in enumerate(errors):
            np.maximum(most, (np.abs(means - means[:, [k]]) / error).max(axis=1), out=most)
        largest.append(most)
    return np.concatenate(ratios), np.concatenate(largest)


def _spread(
    labels: tuple[object, ...], found: CultureMeans, tested: IntArray, p: float, sd: float, beyond: FloatArray
) -> CultureSpread:
    """Partial pooling and ranks. ``beyond``: distances of the tested cultures, in units of what tells two apart."""
    several = len(labels)
    low, high = np.ones(several, dtype=np.intp), np.full(several, several, dtype=np.intp)
    low[tested] += np.asarray((beyond < -1).sum(axis=1) if beyond.size else 0)
    high[tested] -= np.asarray((beyond > 1).sum(axis=1) if beyond.size else 0)
    covariance = found.residuals.T @ found.residuals
    own = (np.trace(covariance) - covariance.sum() / several) * several / max(several - 1, 1)
    worth = (found.shares**2).sum(axis=0)
    noise = max(float(own), 0.0) * worth / worth[found.clusters > 1].sum()
    centre = found.means.mean()
    part = np.divide(sd**2, sd**2 + noise, out=np.ones(several), where=sd**2 + noise > 0)
    partial = centre + part * (found.means - centre)
    return CultureSpread(labels, found.means, partial, low, high, p, sd)

"""Whether cultures differ by more than noise: the spread of their means, partial pooling, and intervals of ranks.

The questions are the random sample (:mod:`kapwa.stats.pooled`), so signs of whole questions are flipped.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kapwa.stats.clusters import ROUNDING, FloatArray, IntArray, cluster_codes, read_values
from kapwa.stats.culture_means import CultureMeans, codes_of, means_of_valid
from kapwa.stats.resampling import CHUNK, TIE, monte_carlo_p

FLIPS = 4999
LEVEL = 0.05  # of the test of equality, above which no ranks are reported
_HALVINGS = 60
PRIOR = 10.0  # the weight of all cultures' variance beside a culture's own, in clusters
MOST_RANKED = 300  # with more cultures, nobody could read the comparisons of each with each


def shares_of(values: ArrayLike, marks: ArrayLike, cultures: ArrayLike) -> FloatArray:
    """Values as shares of what people score on the same items, such that a culture's mean is its share.

    ``values``: (n,) numbers x; ``marks``: (n,) what people score, h; ``cultures``: (n,) labels. Returns z, (n,):

        z = ρ + (x − ρ h) / h̄

    with ρ the sum of all x over that of all h, and h̄ the mean of h in the culture. The mean of z in a culture is the
    mean of x over that of h there; the variance of z gives its error by linearisation (Cochran 1977, section 6.4), at
    the ratio that all cultures have in common if the share is the same everywhere. Where x or h is NaN, z is NaN, and
    the item is in no sum; so are all items of a culture whose people score 0 or less.
    """
    x, h = (read_values(side, share=False)[0][:, 0] for side in (values, marks))
    codes, measured = cluster_codes(cultures, len(x)), ~(np.isnan(x) | np.isnan(h))
    sums, n = (np.bincount(codes[measured], side, int(codes.max(initial=-1)) + 1) for side in (h[measured], None))
    means = np.divide(sums, n, out=np.full(len(sums), np.nan), where=sums > 0)
    measured &= ~np.isnan(means[codes])
    ratio = float(x[measured].sum() / h[measured].sum()) if measured.any() else math.nan
    return np.asarray(np.where(measured, ratio + (x - ratio * h) / means[codes], np.nan))


class CultureSpread(NamedTuple):
    """Whether the means of cultures differ by more than noise, and what each is worth.

    ``cultures``: labels, sorted. For each culture: ``means``, ``partial`` (the mean shrunk towards the mean over
    cultures, as far as noise explains its distance) and the interval of its rank, ``rank_low``–``rank_high``, where 1
    is the highest; all intervals of ranks hold together with 95 % confidence. ``p_value``: of the test that all true
    means are equal. ``sd``: the estimated standard deviation of the true means, with its 95 % interval
    ``sd_low``–``sd_high``, which is wide for few cultures; NaN where no item differs from its culture's mean, since
    nothing is then known about the noise.
    """

    cultures: tuple[Any, ...]
    means: FloatArray
    partial: FloatArray
    rank_low: IntArray
    rank_high: IntArray
    p_value: float
    sd: float
    sd_low: float
    sd_high: float

    @property
    def deviation(self) -> tuple[float, float, float] | tuple[None, None, None]:
        """``sd``, ``sd_low`` and ``sd_high``; all None where the interval is not known.

        It is also unknown where means lie closer together than noise alone would nearly always allow: no value of τ
        fits them then, and an interval of 0 to 0 would claim certainty.
        """
        return (self.sd, self.sd_low, self.sd_high) if self.sd_high > 0 else (None, None, None)

    def apart(self, first: int, second: int) -> bool:
        """Whether two cultures differ significantly, adjusted for all pairs."""
        return bool(self.rank_high[first] < self.rank_low[second] or self.rank_high[second] < self.rank_low[first])


def culture_spread(
    values: ArrayLike, cultures: ArrayLike, clusters: ArrayLike, *, seed: int = 0
) -> CultureSpread | None:
    """Test whether cultures' means are equal, estimate how far they truly spread, and give intervals of their ranks.

    ``values``: (n,) numbers, scores or paired differences, NaN left out; ``cultures``, ``clusters``: (n,) labels. None
    where fewer than two cultures have two clusters; a culture with one is in no test, and its rank may be any.

    Test: F is the sum of squared distances of cultures' means from their mean, over what noise alone would give (the
    trace of their cluster-robust covariance, without the noise they share). It is compared with its distribution when
    the residuals of whole questions change sign at random, in all cultures at once: a wild cluster bootstrap (Liu 1988;
    Cameron, Gelbach and Miller 2008).

    Partial pooling: means are shrunk towards their mean by τ² / (τ² + σ_c²), with τ² by moments (DerSimonian and Laird
    1986) and σ_c² in proportion to Σ (n_g/n)², as a question is equally informative in all cultures.

    Ranks: where the test rejects at 5 %, a pair differs significantly if its studentised distance exceeds the 95 %
    point of the largest under the same sign flips (Mogstad, Romano, Shaikh and Wilhelm 2024); else any rank is
    possible. Variances of single cultures are shrunk towards that of all cultures, with a weight of :data:`PRIOR`
    clusters: the mean of a culture with all answers right is not free of error. Deterministic for a seed.
    """
    matrix, _ = read_values(values, share=False)
    valid = ~np.isnan(matrix[:, 0])
    if not valid.any():
        return None
    codes, labels = codes_of(matrix, cultures, clusters), np.asarray(cultures, dtype=object)[valid]
    # Labels in the order of their codes.
    first = np.unique(codes[0][valid], return_index=True)[1]
    return spread_of(
        means_of_valid(matrix[:, 0], codes), tuple(labels[first]), seed=seed, ranked=len(first) <= MOST_RANKED
    )


def spread_of(estimated: CultureMeans, labels: tuple[object, ...], *, seed: int, ranked: bool) -> CultureSpread | None:
    """The spread of means; without intervals of ranks unless ``ranked``."""
    tested = np.flatnonzero(estimated.clusters > 1)
    if tested.size < 2:
        return None
    means, residuals = estimated.means[tested], estimated.residuals[:, tested]
    covariance, several = residuals.T @ residuals, tested.size
    distance = float(((means - means.mean()) ** 2).sum())
    noise = float(np.trace(covariance) - covariance.sum() / several)
    least = (ROUNDING * np.abs(means).max()) ** 2
    if noise <= least:
        p = 1.0 if distance <= least else math.nan
        sd = math.sqrt(distance / (several - 1))
        return _spread(labels, estimated, tested, p, (sd, math.nan, math.nan), np.zeros((0, 0)))
    shrunk = _shrunk(covariance.diagonal(), (estimated.shares[:, tested] ** 2).sum(axis=0), estimated.clusters[tested])
    pairs = shrunk[:, None] + shrunk - 2 * (covariance - np.diag(covariance.diagonal()))
    np.fill_diagonal(pairs, 0.0)
    errors = np.sqrt(np.where(pairs > ROUNDING * pairs.max(), pairs, np.inf))[: several if ranked else 0]
    ratios, largest = _flipped(residuals, noise, errors, seed=seed)
    # F of the data gets the same correction as F of the flips: the flips' own means reduce their residuals.
    bar = distance / (noise + distance / float(estimated.clusters[tested].mean())) * (1 - TIE)
    beyond = (means[:, None] - means)[: len(errors)] / errors / max(float(np.quantile(largest, 0.95)), ROUNDING)
    sd = math.sqrt(max(distance - noise, 0.0) / (several - 1))
    # Residuals are fitted and therefore too small: with few clusters, p is at least that of one of their sign flips.
    least = 2.0 ** (1 - np.count_nonzero(estimated.shares[:, tested].any(axis=1)))
    p = max(monte_carlo_p(int((ratios >= bar).sum()), FLIPS), least)
    worth = (estimated.shares[:, tested] ** 2).sum(axis=0)
    errors_of = noise / (several - 1) * worth / worth.mean()
    freedom = float((estimated.clusters[tested] - 1).sum()) * (several - 1) / several
    ends = sd_interval(means, errors_of, freedom)
    return _spread(labels, estimated, tested, p, (sd, *ends), beyond if p < LEVEL else np.zeros((0, 0)))


def sd_interval(means: FloatArray, variances: FloatArray, freedom: float) -> tuple[float, float]:
    """95 % interval of the standard deviation τ of true means, of which ``means`` (K,) are estimates.

    ``variances`` (K,): of their errors, known with ``freedom`` degrees of freedom. The interval holds every τ for which
    Q(τ) = Σ w (m − m̄_w)² with w = 1/(σ² + τ²) lies within the middle 95 % of its distribution, (K − 1) F with K − 1
    and ``freedom`` degrees of freedom: the Q-profile of Viechtbauer (2007), F in place of χ² for estimated errors.
    """
    from scipy.special import fdtri

    several = len(means)

    def statistic(squared: float) -> float:
        weights = 1 / (variances + squared)
        centre = float((weights * means).sum() / weights.sum())
        return float((weights * (means - centre) ** 2).sum()) / (several - 1)

    def root(target: float) -> float:
        least, most = 0.0, float(((means - means.mean()) ** 2).sum()) / target
        if statistic(least) <= target:
            return 0.0
        for _ in range(_HALVINGS):
            middle = (least + most) / 2
            least, most = (middle, most) if statistic(middle) > target else (least, middle)
        return math.sqrt((least + most) / 2)

    return root(float(fdtri(several - 1, freedom, 0.975))), root(float(fdtri(several - 1, freedom, 0.025)))


def _shrunk(variances: FloatArray, worth: FloatArray, clusters: IntArray) -> FloatArray:
    """Variances of cultures' means, shrunk towards that expected from all for their ``worth`` (Σ of squared shares)."""
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
    labels: tuple[object, ...],
    estimated: CultureMeans,
    tested: IntArray,
    p: float,
    sds: tuple[float, float, float],
    beyond: FloatArray,
) -> CultureSpread:
    """Partial pooling and ranks. ``beyond``: distances of the tested cultures, in units of a significant distance."""
    several, sd = len(labels), sds[0]
    low, high = np.ones(several, dtype=np.intp), np.full(several, several, dtype=np.intp)
    low[tested] += np.asarray((beyond < -1).sum(axis=1) if beyond.size else 0)
    high[tested] -= np.asarray((beyond > 1).sum(axis=1) if beyond.size else 0)
    covariance = estimated.residuals.T @ estimated.residuals
    expected = (np.trace(covariance) - covariance.sum() / several) * several / max(several - 1, 1)
    worth = (estimated.shares**2).sum(axis=0)
    noise = max(float(expected), 0.0) * worth / worth[estimated.clusters > 1].sum()
    centre = estimated.means.mean()
    reliability = np.divide(sd**2, sd**2 + noise, out=np.ones(several), where=sd**2 + noise > 0)
    partial = centre + reliability * (estimated.means - centre)
    sd_value, sd_low, sd_high = sds
    return CultureSpread(
        cultures=labels,
        means=estimated.means,
        partial=partial,
        rank_low=low,
        rank_high=high,
        p_value=p,
        sd=sd_value,
        sd_low=sd_low,
        sd_high=sd_high,
    )

"""How reliably scores rank systems, or cultures: coefficients of generalizability, and how many items reach one."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import UsageError
from kapwa.stats.clusters import ROUNDING, FloatArray, cluster_codes
from kapwa.stats.culture_means import culture_means, means_of_valid

GOAL = 0.8  # the reliability for which the items needed are computed
FEWEST = 4  # systems or cultures: with fewer, their variance is unknown


class Reliability(NamedTuple):
    """How reliably scores rank ``ranked`` systems or cultures.

    ``coefficient``: the coefficient of generalizability Eρ² for relative decisions, 0 to 1: the expected squared
    correlation of observed and true scores; ``low``–``high``: its 95 % interval. ``spread``: the standard deviation of
    true scores. ``error``: the standard error of measurement, for relative decisions; both are in units of the score.
    ``lengths``: the factor by which the items of each culture must increase to reach :data:`GOAL`;
    ``lengths_low``–``lengths_high``: by the ends of the interval. ∞ where no number of items is known to reach it.
    ``items``: used; ``left_out``: with a missing score; ``clusters``: sampled units.
    """

    ranked: int
    coefficient: float
    low: float
    high: float
    spread: float
    error: float
    lengths: float
    lengths_low: float
    lengths_high: float
    items: int
    left_out: int
    clusters: int


def system_reliability(
    values: ArrayLike, cultures: ArrayLike | None = None, clusters: ArrayLike | None = None
) -> Reliability | None:
    """How reliably the means of systems rank them: systems are random, and so are items within these cultures.

    ``values``: (systems, items), NaN where a score is missing; items without a score of every system are left out.
    ``cultures``, ``clusters``: (items,) labels; None: one culture, each item its own cluster. A system's score is its
    mean over cultures, each counting alike. None for fewer than :data:`FEWEST` systems, a culture with one cluster, and
    scores that are all the same.

    The squared error δ² is the mean of the diagonal of the scores' cluster-robust covariance less the mean of its other
    cells. With one culture and each item its own cluster, it is the mean square of system × item, and the coefficient
    is Cronbach's alpha (Hoyt 1941; Brennan 2001, *Generalizability Theory*, chapter 2). The interval is that of Feldt
    (1965); its degrees of freedom follow from how the error varies over clusters, and how much the errors of the means
    differ.
    """
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 2:
        raise UsageError(f"A reliability needs scores by system and item, not of shape {scores.shape}.")
    systems, count = scores.shape
    complete = ~np.isnan(scores).any(axis=0)
    if systems < FEWEST or not complete.any():
        return None
    codes = [cluster_codes([0] * count if cultures is None else cultures, count), cluster_codes(clusters, count)]
    of_culture, of_cluster = (np.unique(code[complete], return_inverse=True)[1] for code in codes)
    by_system = [culture_means(row[complete], of_culture, of_cluster) for row in scores]
    if (by_system[0].clusters < 2).any():
        return None
    means = np.array([one.means.mean() for one in by_system])
    residuals = np.stack([one.residuals.mean(axis=1) for one in by_system], axis=1)
    return _reliability(means, residuals, int(complete.sum()), count - int(complete.sum()))


def culture_reliability(values: ArrayLike, cultures: ArrayLike, clusters: ArrayLike) -> Reliability | None:
    """How reliably the means of cultures rank them: cultures and questions are random.

    ``values``: (items,) scores of one system, or means over fixed systems; NaN is left out.
    Questions that several cultures share are one cluster: what they add to all cultures alike does not affect ranks.
    The rest is as in :func:`system_reliability`; None for fewer than :data:`FEWEST` cultures with two clusters.
    """
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1:
        raise UsageError(f"A reliability of cultures needs one score for each item, not of shape {scores.shape}.")
    valid = ~np.isnan(scores)
    if not valid.any():
        return None
    of_culture, of_cluster = cluster_codes(cultures, len(scores)), cluster_codes(clusters, len(scores))
    means_by_culture = means_of_valid(scores, (of_culture, of_cluster))
    tested = means_by_culture.clusters > 1
    if np.count_nonzero(tested) < FEWEST:
        return None
    used = int(means_by_culture.n[tested].sum())
    return _reliability(means_by_culture.means[tested], means_by_culture.residuals[:, tested], used, len(scores) - used)


def _reliability(means: FloatArray, residuals: FloatArray, items: int, left_out: int) -> Reliability | None:
    """The coefficient of ``means`` (K,); ``residuals`` (clusters, K) are what each cluster adds to their errors."""
    ranked = len(means)
    observed = float(means.var(ddof=1))
    if math.sqrt(observed) <= ROUNDING * float(np.abs(means).max()):
        return None
    # An error of a cluster that is the same in all means does not change ranks.
    squares = (residuals - residuals.mean(axis=1, keepdims=True)) ** 2
    by_cluster = squares.sum(axis=1) / (ranked - 1)
    by_cluster = by_cluster[(residuals != 0).any(axis=1)]
    error = float(by_cluster.sum())
    unreliable = error / observed
    variances = max(observed - error, 0.0) + squares.sum(axis=0) * ranked / (ranked - 1)
    low, high = _feldt(unreliable, _freedom(by_cluster, ranked), _freedom_of_means(variances))
    return Reliability(
        ranked=ranked,
        coefficient=max(1 - unreliable, 0.0),
        low=low,
        high=high,
        spread=math.sqrt(max(observed - error, 0.0)),
        error=math.sqrt(error),
        lengths=_lengths(1 - unreliable),
        lengths_low=_lengths(high),
        lengths_high=_lengths(low),
        items=items,
        left_out=left_out,
        clusters=len(residuals),
    )


def _freedom(by_cluster: FloatArray, ranked: int) -> float:
    """Degrees of freedom of a sum of squares: by moments (Satterthwaite 1946), at most those of a normal one."""
    most = float(max(len(by_cluster) - 1, 1) * (ranked - 1))
    if len(by_cluster) < 2:
        return most
    variance = len(by_cluster) * float(by_cluster.var(ddof=1))
    return most if variance == 0 else min(2 * float(by_cluster.sum()) ** 2 / variance, most)


def _freedom_of_means(variances: FloatArray) -> float:
    """Degrees of freedom of the variance of K means with these ``variances`` (Satterthwaite); K − 1 if all equal."""
    several, total = len(variances), float(variances.sum())
    squared = float((variances**2).sum()) * (1 - 2 / several) + (total / several) ** 2
    return (total / several * (several - 1)) ** 2 / squared


def _feldt(unreliable: float, error_freedom: float, freedom: float) -> tuple[float, float]:
    """95 % interval of a coefficient whose complement is ``unreliable``: (1 − r) / (1 − ρ) has an F distribution."""
    from scipy.special import fdtri

    low, high = (1 - unreliable / float(fdtri(error_freedom, freedom, tail)) for tail in (0.025, 0.975))
    return max(low, 0.0), max(high, 0.0)


def _lengths(coefficient: float) -> float:
    """The factor by which items must increase for a reliability of :data:`GOAL` (Spearman 1910; Brown 1910)."""
    if coefficient <= 0:
        return math.inf
    return GOAL / (1 - GOAL) * (1 - coefficient) / coefficient

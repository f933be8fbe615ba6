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
FEWEST = 4  # systems or cultures: of fewer nobody can tell how much such differ


class Reliability(NamedTuple):
    """How reliably scores rank what they are of: ``ranked`` systems or cultures.

    ``coefficient``: the coefficient of generalizability Eρ² for relative decisions, 0 to 1: the expected squared
    correlation of observed and true scores; ``low``–``high``: its 95 % interval. ``spread``: the standard deviation of
    true scores. ``error``: the standard error of measurement, of a score beside the others, both in units of the score.
    ``lengths``: how many times as many items of each culture reach :data:`GOAL`; ``lengths_low``–``lengths_high``: by
    the ends of the interval. ∞ where no number of items is known to. ``items``: used; ``left_out``: of which a score
    is missing; ``clusters``: sampled units.
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
    """How reliably the means of systems rank them: systems are like others, items like others of these cultures.

    ``values``: (systems, items), NaN where a score is missing; items without a score of every system are left out.
    ``cultures``, ``clusters``: (items,) labels; None: one culture, a cluster an item. A system's score is its mean over
    cultures, each counting alike. None for fewer than :data:`FEWEST` systems, a culture with one cluster, and scores
    that are all the same.

    The squared error δ² is what the cluster-robust covariance of the scores has on its diagonal beyond what is beside
    it; with one culture and a cluster an item it is the mean square of system × item, and the coefficient Cronbach's
    alpha (Hoyt 1941; Brennan 2001, *Generalizability Theory*, chapter 2). The interval is that of Feldt (1965), with
    degrees of freedom from how the error's parts vary over clusters, and how unlike the means' errors are.
    """
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 2:
        raise UsageError(f"A reliability needs scores by system and item, not of shape {scores.shape}.")
    systems, count = scores.shape
    kept = ~np.isnan(scores).any(axis=0)
    if systems < FEWEST or not kept.any():
        return None
    codes = [cluster_codes([0] * count if cultures is None else cultures, count), cluster_codes(clusters, count)]
    of_culture, of_cluster = (np.unique(code[kept], return_inverse=True)[1] for code in codes)
    found = [culture_means(row[kept], of_culture, of_cluster) for row in scores]
    if (found[0].clusters < 2).any():
        return None
    means = np.array([one.means.mean() for one in found])
    residuals = np.stack([one.residuals.mean(axis=1) for one in found], axis=1)
    return _reliability(means, residuals, int(kept.sum()), count - int(kept.sum()))


def culture_reliability(values: ArrayLike, cultures: ArrayLike, clusters: ArrayLike) -> Reliability | None:
    """How reliably the means of cultures rank them: cultures are like others, questions like others.

    ``values``: (items,) scores of one system, or means over systems that are taken as they are; NaN is left out.
    Questions that several cultures share are one cluster: what they add to all of these is no error of the rank. The
    rest is as in :func:`system_reliability`; None for fewer than :data:`FEWEST` cultures with two clusters.
    """
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1:
        raise UsageError(f"A reliability of cultures needs a score an item, not of shape {scores.shape}.")
    kept = ~np.isnan(scores)
    if not kept.any():
        return None
    of_culture, of_cluster = cluster_codes(cultures, len(scores)), cluster_codes(clusters, len(scores))
    found = means_of_valid(scores, (of_culture, of_cluster))
    tested = found.clusters > 1
    if np.count_nonzero(tested) < FEWEST:
        return None
    used = int(found.n[tested].sum())
    return _reliability(found.means[tested], found.residuals[:, tested], used, len(scores) - used)


def _reliability(means: FloatArray, residuals: FloatArray, items: int, left_out: int) -> Reliability | None:
    """The coefficient of ``means`` (K,), of whose errors each cluster has a part in ``residuals`` (clusters, K)."""
    ranked = len(means)
    observed = float(means.var(ddof=1))
    if math.sqrt(observed) <= ROUNDING * float(np.abs(means).max()):
        return None
    # What a cluster adds to all alike moves no rank.
    squares = (residuals - residuals.mean(axis=1, keepdims=True)) ** 2
    parts = squares.sum(axis=1) / (ranked - 1)
    parts = parts[(residuals != 0).any(axis=1)]
    error = float(parts.sum())
    unreliable = error / observed
    variances = max(observed - error, 0.0) + squares.sum(axis=0) * ranked / (ranked - 1)
    low, high = _feldt(unreliable, _freedom(parts, ranked), _freedom_of_means(variances))
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


def _freedom(parts: FloatArray, ranked: int) -> float:
    """Degrees of freedom of a sum of squares: by moments (Satterthwaite 1946), at most those of a normal one."""
    most = float(max(len(parts) - 1, 1) * (ranked - 1))
    if len(parts) < 2:
        return most
    variance = len(parts) * float(parts.var(ddof=1))
    return most if variance == 0 else min(2 * float(parts.sum()) ** 2 / variance, most)


def _freedom_of_means(variances: FloatArray) -> float:
    """Degrees of freedom of the variance of K means with unlike ``variances`` (Satterthwaite); K − 1 of like ones."""
    several, total = len(variances), float(variances.sum())
    squared = float((variances**2).sum()) * (1 - 2 / several) + (total / several) ** 2
    return (total / several * (several - 1)) ** 2 / squared


def _feldt(unreliable: float, error_freedom: float, freedom: float) -> tuple[float, float]:
    """95 % interval of a coefficient whose complement is ``unreliable``: (1 − r) / (1 − ρ) has an F distribution."""
    from scipy.special import fdtri

    low, high = (1 - unreliable / float(fdtri(error_freedom, freedom, tail)) for tail in (0.025, 0.975))
    return max(low, 0.0), max(high, 0.0)


def _lengths(coefficient: float) -> float:
    """How many times as many items have a reliability of :data:`GOAL` (Spearman 1910; Brown 1910)."""
    if coefficient <= 0:
        return math.inf
    return GOAL / (1 - GOAL) * (1 - coefficient) / coefficient

"""Correlation of two lists of numbers, with intervals that admit how few models there are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import UsageError
from kapwa.stats.clusters import FloatArray


class Correlation(NamedTuple):
    """A correlation in [−1, 1] of ``n`` complete pairs.

    ``value`` is None with fewer than two pairs or when one side is constant; ``low`` and ``high`` are None with
    fewer than four pairs or at exactly ±1, where the transform is infinite; ``p_value`` (two-sided, Student t with
    n − 2 degrees of freedom) is None with fewer than three pairs.
    """

    value: float | None
    low: float | None
    high: float | None
    p_value: float | None
    n: int


def pearson(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Pearson's linear correlation; 95 % interval by Fisher's z, tanh(atanh r ± z/√(n − 3)). NaN pairs are left out."""
    return _correlation(*_complete(x, y))


def spearman(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Spearman's rank correlation, ties at their mean rank. NaN pairs are left out.

    95 % interval: Fisher's z with the variance (1 + r²/2)/(n − 3) of Bonett and Wright (2000).
    """
    return _correlation(*map(_mean_ranks, _complete(x, y)), inflation=0.5)


def _mean_ranks(values: FloatArray) -> FloatArray:
    """Rank from 1; equal values share the mean of their ranks."""
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[index], dtype=np.float64)


def _complete(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise UsageError(f"A correlation needs two lists of equal length, not {first.shape} and {second.shape}.")
    if np.isinf(first).any() or np.isinf(second).any():
        raise UsageError("A correlation needs finite numbers.", hint="Use NaN for 'not measured'.")
    complete = ~(np.isnan(first) | np.isnan(second))
    return first[complete], second[complete]


def _correlation(x: FloatArray, y: FloatArray, *, inflation: float = 0.0) -> Correlation:
    """Product-moment correlation; Fisher's variance grows by the factor 1 + ``inflation`` · r²."""
    from scipy.special import ndtri, stdtr

    n = len(x)
    if n < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Correlation(None, None, None, None, n)
    dx, dy = x - x.mean(), y - y.mean()
    r = float((dx / np.linalg.norm(dx)) @ (dy / np.linalg.norm(dy)))
    if abs(r) > 1 - 1e-14:  # rounding leaves perfectly linear data a few ulp short of (or beyond) one
        return Correlation(float(np.sign(r)), None, None, 0.0 if n > 2 else None, n)
    p = float(2 * stdtr(n - 2, -abs(r) * np.sqrt((n - 2) / (1 - r * r)))) if n > 2 else None
    if n < 4:
        return Correlation(r, None, None, p, n)
    half = ndtri(0.975) * np.sqrt((1 + inflation * r**2) / (n - 3))
    return Correlation(r, float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half)), p, n)

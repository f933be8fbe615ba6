"""Kendall's τ-b of many pairs of rows at once, each in O(n log n), with ties, gaps and p-values.

One corpus asks for a τ per country, concept, measure and survey: millions. Here all rows of a block are sorted
together and their inversions counted bit by bit, so a block of 94 rows of 94 costs about as much as four calls
of scipy's function. Values equal ``scipy.stats.kendalltau`` (tests/stats/test_kendall.py).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kapwa.stats.clusters import FloatArray, IntArray

BoolArray = NDArray[np.bool_]

# Up to here the exact null distribution is used, as scipy does; beyond it the normal one is close enough.
EXACT = 33


class TauRows(NamedTuple):
    """What a block of row pairs gives: (R,) each.

    ``surplus``: concordant minus discordant pairs; ``n``: values known in both rows; ``x_ties``, ``y_ties``:
    (R, m) how many values share each rank.
    """

    surplus: IntArray
    n: IntArray
    x_ties: IntArray
    y_ties: IntArray

    def tau(self) -> FloatArray:
        """τ-b of each row, −1 to 1; NaN where a side is constant or fewer than two values are known."""
        pairs = self.n * (self.n - 1) // 2
        x_free, y_free = pairs - _tied_pairs(self.x_ties), pairs - _tied_pairs(self.y_ties)
        # One root of the product, not the product of two: equal rankings then give exactly 1.
        scale = np.sqrt(x_free.astype(np.float64) * y_free)
        tau = np.divide(self.surplus, scale, out=np.full(scale.shape, np.nan), where=scale > 0)
        return np.asarray(np.clip(tau, -1.0, 1.0))

    def p_values(self) -> FloatArray:
        """Two-sided p of no association; NaN where τ is.

        Exact without ties for up to 33 values (or when at most one pair disagrees), else the normal
        approximation with Kendall's tie-corrected variance (Kendall 1970, ch. 4), as in scipy.
        """
        pairs = self.n * (self.n - 1) // 2
        x_tied, y_tied = _tied_pairs(self.x_ties), _tied_pairs(self.y_ties)
        p = _normal_p(self)
        fewer = (pairs - np.abs(self.surplus)) // 2
        exact = (x_tied == 0) & (y_tied == 0) & ((self.n <= EXACT) | (fewer <= 1))
        for row in np.flatnonzero(exact & (self.n > 1)):
            p[row] = exact_p(int(self.n[row]), int(fewer[row]))
        p[(x_tied == pairs) | (y_tied == pairs)] = np.nan
        return p


def dense_ranks(values: FloatArray, known: BoolArray) -> IntArray:
    """Rank each row from 0, equal values sharing a rank without gaps; unknown values get the row's length."""
    filled = np.where(known, values, np.inf)
    order = np.argsort(filled, axis=1)
    ordered = np.take_along_axis(filled, order, axis=1)
    steps = np.zeros(values.shape, dtype=np.intp)
    np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1, out=steps[:, 1:])
    ranks = np.empty_like(steps)
    np.put_along_axis(ranks, order, steps, axis=1)
    ranks[~known] = values.shape[1]
    return ranks


def tau_rows(x: IntArray, y: IntArray) -> TauRows:
    """Compare ranks row by row. ``x``, ``y``: (R, m) dense ranks; m marks a value that is unknown in either."""
    m = x.shape[1]
    gap = (x == m) | (y == m)
    n = m - gap.sum(axis=1)
    if (n < m).any():
        x, y = _fill(x, gap, n), _fill(y, gap, n)
    x_ties, y_ties = _tie_sizes(x, n), _tie_sizes(y, n)
    x_tied, y_tied = (x_ties > 1).any(axis=1), (y_ties > 1).any(axis=1)
    discordant, both = np.empty(len(x), dtype=np.intp), np.zeros(len(x), dtype=np.intp)
    for tied, rows in ((False, ~(x_tied | y_tied)), (True, x_tied | y_tied)):
        if rows.any():
            sequence = _tied_sequence if tied else _untied_sequence
            discordant[rows] = inversions(sequence(x[rows], y[rows]))
    rows = x_tied & y_tied
    if rows.any():
        both[rows] = _tied_pairs(_tie_sizes(_joint_codes(x[rows], y[rows]), n[rows]))
    comparable = n * (n - 1) // 2 - _tied_pairs(x_ties) - _tied_pairs(y_ties) + both
    return TauRows(comparable - 2 * discordant, n, x_ties, y_ties)


def _fill(ranks: IntArray, gap: BoolArray, n: IntArray) -> IntArray:
    """Give unknown values the ranks from ``n`` up, by position: alike on both sides, so no pair is discordant."""
    lost = (gap & (ranks < ranks.shape[1])).any(axis=1)
    if lost.any():
        # Known here but not on the other side: without these values the ranks close up.
        ranks = ranks.copy()
        ranks[lost] = dense_ranks(ranks[lost].astype(np.float64), ~gap[lost])
    return np.where(gap, n[:, None] + np.cumsum(gap, axis=1) - 1, ranks)


def _untied_sequence(x: IntArray, y: IntArray) -> NDArray[np.int32]:
    """The y ranks in the order of x: a pair is discordant exactly when it stands in descending order."""
    sequence = np.empty(x.shape, dtype=np.int32)
    np.put_along_axis(sequence, x, y.astype(np.int32), axis=1)
    return sequence


def _tied_sequence(x: IntArray, y: IntArray) -> NDArray[np.int32]:
    """Places in the order (y, x) of the values in the order (x, y).

    Ties of one side are broken by the other and ties of both by position, alike in both sorts, so again exactly
    the discordant pairs stand in descending order.
    """
    m = x.shape[1]
    keys = np.uint16 if m * m <= 1 << 16 else np.int64
    place = np.empty(x.shape, dtype=np.int32)
    by_y = np.argsort((y * m + x).astype(keys), axis=1, kind="stable")
    np.put_along_axis(place, by_y, np.arange(m, dtype=np.int32)[None], axis=1)
    return np.take_along_axis(place, np.argsort((x * m + y).astype(keys), axis=1, kind="stable"), axis=1)


def inversions(permutations: NDArray[np.int32]) -> IntArray:
    """Count in each row of 0…m−1 the pairs that stand in descending order.

    Bit by bit from the highest: of two numbers that agree in all higher bits, the one without the bit should come
    first. How far the zeros of a group stand behind the group's front half is the number of pairs out of order;
    then zeros move before ones, stably, which splits each group in two. Rows are filled up to a power of two with
    numbers that are in order, so that every group has as many zeros as ones and needs no bookkeeping.
    """
    rows, m = permutations.shape
    bits = max(m - 1, 0).bit_length()
    full, width = 1 << bits, np.int16 if bits < 15 else np.int32
    values = np.empty((rows, full), dtype=width)
    values[:, :m] = permutations
    values[:, m:] = np.arange(m, full, dtype=width)
    places, total = np.arange(full), np.zeros(rows, dtype=np.intp)
    for bit in reversed(range(bits)):
        half, flat = 1 << bit, values.ravel()
        ones = (flat & half) != 0
        zeros = np.flatnonzero(~ones)
        # Places run on from row to row: row r starts at r·full and has full/2 zeros.
        in_order = int(places[(places & half) == 0].sum()) + np.arange(rows) * (full * full // 2)
        total += zeros.reshape(rows, -1).sum(axis=1) - in_order
        if bit:
            parts = (flat.take(zeros), flat.take(np.flatnonzero(ones)))
            values = np.stack([part.reshape(rows, -1, half) for part in parts], axis=2)
    return total


def exact_p(n: int, fewer: int) -> float:
    """Exact two-sided p of an untied τ: ``n`` values, ``fewer`` pairs of the rarer direction."""
    if n > EXACT:
        # Only ever asked for 0 or 1: one order has no pair the wrong way round, n − 1 have one.
        return math.exp(math.log(2.0 * (n if fewer else 1)) - math.lgamma(n + 1))
    return float(min(1.0, 2 * _null_distribution(n)[fewer]))


@lru_cache(maxsize=EXACT + 1)
def _null_distribution(n: int) -> FloatArray:
    """Chance that a random order of ``n`` has at most k inversions, k = 0 … n(n−1)/2."""
    chances = np.ones(1)
    for size in range(2, n + 1):
        chances = np.convolve(chances, np.full(size, 1 / size))
    return np.cumsum(chances)


def _tie_sizes(ranks: IntArray, n: IntArray) -> IntArray:
    """How many of the known values of each row have rank 0, 1, …; the unknown ones have ranks from ``n`` up."""
    rows, m = ranks.shape
    codes = ranks + np.arange(rows, dtype=np.intp)[:, None] * m
    sizes = np.bincount(codes.ravel(), minlength=rows * m).reshape(rows, m)
    return np.where(np.arange(m) < n[:, None], sizes, 0)


def _tied_pairs(sizes: IntArray) -> IntArray:
    return np.asarray((sizes * (sizes - 1)).sum(axis=1) // 2)


def _joint_codes(x: IntArray, y: IntArray) -> IntArray:
    """Number the distinct (x, y) of each row from 0, in ascending order; unknown values, all distinct, come last."""
    keys = np.sort(x * x.shape[1] + y, axis=1)
    codes = np.zeros(keys.shape, dtype=np.intp)
    np.cumsum(keys[:, 1:] != keys[:, :-1], axis=1, out=codes[:, 1:])
    return codes


def _normal_p(found: TauRows) -> FloatArray:
    """Two-sided p from the tie-corrected normal approximation; meaningless (no warning) where τ is NaN."""
    from scipy.special import ndtr

    n = found.n.astype(np.float64)
    ordered = n * (n - 1)
    (x2, x3, x5), (y2, y3, y5) = _tie_sums(found.x_ties), _tie_sums(found.y_ties)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (ordered * (2 * n + 5) - x5 - y5) / 18 + x2 * y2 / (2 * ordered) + x3 * y3 / (9 * ordered * (n - 2))
        z = found.surplus / np.sqrt(variance)
    return np.asarray(2 * ndtr(-np.abs(z)))


def _tie_sums(sizes: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Σ t(t−1), Σ t(t−1)(t−2) and Σ t(t−1)(2t+5) over the groups of equal values of each row."""
    t = sizes.astype(np.float64)
    pairs = t * (t - 1)
    return pairs.sum(axis=1), (pairs * (t - 2)).sum(axis=1), (pairs * (2 * t + 5)).sum(axis=1)

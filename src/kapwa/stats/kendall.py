"""Do texts resemble each other where cultures do? Kendall's τ-b, one anchor country at a time.

For each anchor, the other countries are ranked by how similar their texts are to the anchor's and by how near
their cultural values are; τ says how far the two rankings agree. ``anchor_taus_reference`` is what the released
EECC code computes instead, so that published numbers can be reproduced. ``permuted_means`` gives τ as it is
by chance. One corpus needs millions of τ, so all pairs of neighbours are compared as bits
(:mod:`kapwa.stats.kendall_bits`); values equal ``scipy.stats.kendalltau`` (tests/stats/test_kendall.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kapwa.errors import UsageError
from kapwa.stats.clusters import ROUNDING, FloatArray, IntArray
from kapwa.stats.kendall_bits import PairBits, agreement, pair_bits
from kapwa.stats.resampling import permuted_orders

BoolArray = NDArray[np.bool_]

# Up to here the exact null distribution is used, as scipy does; beyond it the normal one is close enough.
EXACT = 33
# Bytes of permutations' bits computed at a time, and cached for one survey (enough for 200 countries).
_BLOCK = 8_000_000
_CACHE_BYTES = 220_000_000


@dataclass(frozen=True, slots=True)
class Anchors:
    """Cultural distances of m countries made ready for many comparisons; from :func:`prepare_anchors`.

    ``nearness``: (m, m) dense rank of −distance within each row, m where unknown; ``known``: (m, m), False on the
    diagonal, since a country's distance to itself says nothing.
    """

    nearness: IntArray
    known: BoolArray


@dataclass(frozen=True, slots=True)
class Taus:
    """τ-b (−1 to 1), its two-sided p and the number of values compared, for each pair of rows: (R,) each.

    NaN where fewer than two values are known or one side is constant. For anchors: adjust the p-values
    (:func:`kapwa.stats.significance.holm`) before reading any of them as a finding.
    """

    tau: FloatArray
    p: FloatArray
    n: IntArray

    @property
    def mean(self) -> float:
        """Mean τ over the rows that have one; NaN when none has."""
        known = self.tau[~np.isnan(self.tau)]
        return float(known.mean()) if known.size else math.nan


def prepare_anchors(distance: ArrayLike) -> Anchors:
    """Rank each country's neighbours by cultural distance once, for :func:`anchor_taus` over many concepts.

    ``distance``: (m, m), NaN where unknown; the diagonal is ignored. Raises UsageError when it is not square or
    holds infinite values.
    """
    matrix = square_matrix(distance, "cultural distances")
    known = known_pairs(matrix)
    return Anchors(dense_ranks(-matrix, known), known)


def anchor_taus(similarity: ArrayLike, distance: ArrayLike | Anchors) -> Taus:
    """Kendall's τ-b between similarity to the anchor and −distance from it, for each of m anchors.

    ``similarity``: (m, m), larger is more alike (give −WED for an edit distance); row a holds the similarities to
    anchor a. ``distance``: (m, m), or prepared anchors. NaN marks unknown cells: each anchor is compared over the
    countries known in both. Positive τ: countries nearer in values have more similar texts. Raises UsageError when
    shapes differ. Source: Bhatt and Diaz (2024), section 3.1 and appendix B.
    """
    matrix, anchors = _both(similarity, distance)
    return tau_rows(dense_ranks(matrix, known_pairs(matrix)), anchors.nearness)


def anchor_taus_reference(
    similarity: ArrayLike,
    distance: ArrayLike | Anchors,
    names: Sequence[str],
    *,
    measure: Literal["bleu", "wed"] = "bleu",
    values_order: ArrayLike | None = None,
) -> Taus:
    """Compute what the released EECC code calls Kendall's τ; it is not a rank correlation of the values.

    It sorts the countries by similarity and by distance, drops the first of each list, and correlates the two
    lists of *names*, position by position, by their alphabetical order. So two nearly equal rankings look unrelated.
    ``names``: (m,) distinct; ties of similarity are in alphabetical order (values that differ by rounding alone are
    ties here too, where the released code goes by the last digit of its sums). ``measure``: with "wed",
    ``similarity`` holds word edit distances and both lists run from the nearest, as released. ``values_order``:
    (m,) row index of each country in the values file, which breaks ties of distance; default: the order given.
    ``n`` counts positions compared. τ-c of the released code equals τ-b here, as names have no ties. Raises
    UsageError for names that repeat or do not fit. Source: analysis/analyse_kendalls_tau.py.
    """
    matrix, anchors = _both(similarity, distance)
    m = len(matrix)
    if len(names) != m or len(set(names)) != m:
        raise UsageError(f"{m} distinct names are needed, one for each country.")
    # Code-point order, which is how numpy compares the strings given to scipy.
    letters = np.empty(m)
    letters[sorted(range(m), key=lambda index: names[index])] = np.arange(m)
    order = np.arange(m) if values_order is None else np.asarray(values_order)
    known = known_pairs(matrix) & anchors.known
    nearness = np.where(known, anchors.nearness, m)
    if measure == "wed":
        nearness = np.where(known, m - 1 - nearness, m)
    by_distance = np.argsort(nearness * (m + 1) + np.argsort(np.argsort(order)), axis=1)[:, 1:]
    by_similarity = np.argsort(dense_ranks(matrix, known) * (m + 1) + letters, axis=1)[:, 1:]
    compared = np.arange(1, m) < known.sum(axis=1)[:, None]
    return tau_rows(dense_ranks(letters[by_distance], compared), dense_ranks(letters[by_similarity], compared))


def tau_rows(x: IntArray, y: IntArray) -> Taus:
    """Compare ranks row by row. ``x``, ``y``: (R, m) dense ranks; m marks a value that is unknown.

    p-values: exact without ties for up to 33 values (or when at most one pair disagrees), else the normal
    approximation with Kendall's tie-corrected variance (Kendall 1970, ch. 4), as in scipy.
    """
    m = x.shape[1]
    known = (x < m) & (y < m)
    n = known.sum(axis=1)
    bits = (pair_bits(ranks[:, None].astype(np.int16), known[:, None], gaps=False) for ranks in (x, y))
    pairwise = agreement(*bits)
    surplus, pairs = pairwise.surplus[:, 0, 0].astype(np.int64), n * (n - 1) // 2
    x_ties, y_ties = _tie_sizes(x, known), _tie_sizes(y, known)
    p = _normal_p(n, surplus, x_ties, y_ties)
    fewer = (pairs - np.abs(surplus)) // 2
    no_ties = (pairwise.x_free[:, 0, 0] == pairs) & (pairwise.y_free[:, 0, 0] == pairs)
    for row in np.flatnonzero(no_ties & ((n <= EXACT) | (fewer <= 1)) & (n > 1)):
        p[row] = exact_p(int(n[row]), int(fewer[row]))
    tau = pairwise.tau()[:, 0, 0]
    return Taus(tau, np.where(np.isnan(tau), np.nan, p), n)


def dense_ranks(values: FloatArray, known: BoolArray) -> IntArray:
    """Rank each row from 0, equal values sharing a rank without gaps; unknown values get the row's length.

    Values that differ by rounding alone count as equal, such as means of the same fractions added in another order.
    """
    filled = np.where(known, values, np.finfo(float).max)
    order = np.argsort(filled, axis=1)
    ordered = np.take_along_axis(filled, order, axis=1)
    steps = np.zeros(values.shape, dtype=np.intp)
    apart = np.diff(ordered, axis=1) > ROUNDING * np.abs(ordered[:, 1:])
    np.cumsum(apart, axis=1, out=steps[:, 1:])
    ranks = np.empty_like(steps)
    np.put_along_axis(ranks, order, steps, axis=1)
    ranks[~known] = values.shape[1]
    return ranks


def exact_p(n: int, fewer: int) -> float:
    """Exact two-sided p of an untied τ: ``n`` values, ``fewer`` pairs of the rarer direction."""
    if n > EXACT:
        # Only called for 0 or 1: one order has no discordant pair, n − 1 orders have one.
        return math.exp(math.log(2.0 * (n if fewer else 1)) - math.lgamma(n + 1))
    return float(min(1.0, 2 * _null_distribution(n)[fewer]))


@lru_cache(maxsize=EXACT + 1)
def _null_distribution(n: int) -> FloatArray:
    """Chance that a random order of ``n`` has at most k inversions, k = 0 … n(n−1)/2."""
    chances = np.ones(1)
    for size in range(2, n + 1):
        chances = np.convolve(chances, np.full(size, 1 / size))
    return np.cumsum(chances)


def _tie_sizes(ranks: IntArray, known: BoolArray) -> FloatArray:
    """Count how many of the known values of each row have rank 0, 1 and so on."""
    rows, m = ranks.shape
    codes = np.where(known, ranks, m) + np.arange(rows, dtype=np.intp)[:, None] * (m + 1)
    sizes = np.bincount(codes.ravel(), minlength=rows * (m + 1)).reshape(rows, m + 1)
    return sizes[:, :m].astype(np.float64)


def _normal_p(n: IntArray, surplus: IntArray, x_ties: FloatArray, y_ties: FloatArray) -> FloatArray:
    """Two-sided p from the tie-corrected normal approximation; meaningless (no warning) where τ is NaN."""
    from scipy.special import ndtr

    size = n.astype(np.float64)
    ordered = size * (size - 1)
    # Σ t(t−1), Σ t(t−1)(t−2) and Σ t(t−1)(2t+5) over the groups of equal values of each row.
    (x2, x3, x5), (y2, y3, y5) = (
        [(t * (t - 1) * factor).sum(axis=1) for factor in (1.0, t - 2, 2 * t + 5)] for t in (x_ties, y_ties)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (ordered * (2 * size + 5) - x5 - y5) / 18
        variance += x2 * y2 / (2 * ordered) + x3 * y3 / (9 * ordered * (size - 2))
        return np.asarray(2 * ndtr(-np.abs(surplus / np.sqrt(variance))))


def square_matrix(values: ArrayLike, what: str) -> FloatArray:
    """Return a square float matrix without infinite values, or raise UsageError naming ``what``."""
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise UsageError(f"The {what} must be a square matrix, not of shape {matrix.shape}.")
    if np.isinf(matrix).any():
        raise UsageError(f"The {what} hold an infinite value.", hint="Use NaN for 'not known'.")
    return matrix


def known_pairs(matrix: FloatArray) -> BoolArray:
    """Cells that are known and off the diagonal."""
    known = ~np.isnan(matrix)
    np.fill_diagonal(known, False)
    return known


def _both(similarity: ArrayLike, distance: ArrayLike | Anchors) -> tuple[FloatArray, Anchors]:
    matrix = square_matrix(similarity, "similarities")
    anchors = distance if isinstance(distance, Anchors) else prepare_anchors(distance)
    if len(matrix) != len(anchors.known):
        raise UsageError(f"There are similarities of {len(matrix)} countries but distances of {len(anchors.known)}.")
    return matrix, anchors


# --- τ by chance ------------------------------------------------------------------------------------------


def permuted_means(
    similarities: Sequence[FloatArray], distance: FloatArray, *, permutations: int, seed: int
) -> FloatArray:
    """Mean τ-b over anchors of each of C similarities (m, m) against −distance (m, m), permuted: (C, permutations).

    Rows and columns of ``distance`` are permuted together, so each draw keeps the structure of the distances. NaN
    marks unknown cells: each anchor is compared over the neighbours known in both, and left out where fewer than
    two of them differ. NaN for a matrix in which no anchor is left.
    """
    if not len(similarities) or distance.shape[0] < 3:
        return np.full((len(similarities), permutations), np.nan)
    near = _permuted(np.ascontiguousarray(distance, dtype=np.float64).tobytes(), len(distance), permutations, seed)
    return drawn_means(similarities, near)


def drawn_means(similarities: Sequence[FloatArray], near: Draws | _Permuted) -> FloatArray:
    """Mean τ-b over anchors of each of C similarities (m, m) against −distance in each of D draws: (C, D).

    As :func:`permuted_means`, for any other distances.
    """
    c, likeness = len(similarities), _Ranked(np.stack(similarities))
    sums, anchors = np.zeros((c, near.draws)), np.zeros((c, near.draws), dtype=np.int64)
    for block, moved in near.cached or near.made():
        # One anchor after the other, so that the sums do not depend on how many are in memory at once.
        some = pair_bits(likeness.ranks[block], likeness.known[block], gaps=likeness.gaps)
        for tau in agreement(some, moved).tau():
            known = ~np.isnan(tau)
            np.add(sums, tau, out=sums, where=known)
            anchors += known
    return np.divide(sums, anchors, out=np.full_like(sums, np.nan), where=anchors > 0)


class _Ranked:
    """Neighbours ranked by each anchor in C matrices (C, m, m): by anchor first, as they are compared."""

    def __init__(self, matrices: FloatArray) -> None:
        c, m = matrices.shape[:2]
        known = np.stack([known_pairs(matrix) for matrix in matrices])
        ranks = dense_ranks(matrices.reshape(-1, m), known.reshape(-1, m)).astype(np.int16)
        self.ranks, self.known = ranks.reshape(c, m, m).transpose(1, 0, 2), known.transpose(1, 0, 2)
        self.gaps = int(known.sum()) < c * m * (m - 1)


class Draws:
    """Neighbours ranked by −distance in each of D matrices (D, m, m), NaN where unknown; for :func:`drawn_means`."""

    def __init__(self, distances: FloatArray) -> None:
        self.draws = len(distances)
        self._ranked = _Ranked(-distances)
        m = distances.shape[1]
        self.cached = list(self.made()) if self.draws * m**3 // 16 * 3 <= _CACHE_BYTES else None

    def made(self) -> Iterator[tuple[slice, PairBits]]:
        """Yield an anchor at a time, and its neighbours compared in every draw."""
        for start in range(self._ranked.ranks.shape[0]):
            block = slice(start, start + 1)
            yield block, pair_bits(self._ranked.ranks[block], self._ranked.known[block], gaps=self._ranked.gaps)


# Concepts and corpora share a survey, so what depends on it alone is computed once in each process.
@lru_cache(maxsize=2)
def _permuted(distance: bytes, m: int, permutations: int, seed: int) -> _Permuted:
    return _Permuted(np.frombuffer(distance).reshape(m, m), permutations, seed)


class _Permuted:
    """Neighbours ranked by −distance under permutations of the countries: cached where few, else computed again."""

    def __init__(self, distance: FloatArray, permutations: int, seed: int) -> None:
        m, self.draws = len(distance), permutations
        self._ranked = ranked = _Ranked(-distance[None])
        self._orders = np.concatenate(list(permuted_orders(m, permutations, seed=seed, values_each=1)))
        bits = permutations * (m // 2) * m // 8 * (3 if ranked.gaps else 2)
        self._step = max(1, _BLOCK // max(bits, 1))
        self.cached = list(self.made()) if bits * m <= _CACHE_BYTES else None

    def made(self) -> Iterator[tuple[slice, PairBits]]:
        """Yield some anchors at a time, and their neighbours compared under every permutation."""
        ranks, known = self._ranked.ranks[:, 0], self._ranked.known[:, 0]
        for start in range(0, len(ranks), self._step):
            block = slice(start, min(start + self._step, len(ranks)))
            # Anchor a is country order[a], and its neighbour j is order[j].
            moved = self._orders.T[block, :, None], self._orders[None]
            yield block, pair_bits(ranks[moved], known[moved], gaps=self._ranked.gaps)


def without_some(distance: FloatArray, *, groups: int, seed: int) -> FloatArray:
    """Leave out each of ``groups`` random groups of countries (each country, if there are fewer): (groups, m, m)."""
    m = len(distance)
    group = np.random.default_rng(seed).permutation(m) % min(groups, m)
    left_out = np.arange(min(groups, m))[:, None] == group
    return np.where(left_out[:, :, None] | left_out[:, None, :], np.nan, distance)


def jackknife(estimate: float, without: FloatArray) -> tuple[float, float]:
    """95 % interval from estimates ``without`` (G,) each group; NaN with fewer than two, or none that differ.

    The variance is (G − 1)/G · Σ (without − mean)², the quantile Student's with G − 1 degrees of freedom
    (delete-a-group jackknife, Kott 2001).
    """
    from scipy.special import stdtrit

    known = without[~np.isnan(without)]
    g = len(known)
    error = math.sqrt((g - 1) * float(known.var())) if g > 1 else 0.0
    if math.isnan(estimate) or error <= ROUNDING:
        return math.nan, math.nan
    half = float(stdtrit(g - 1, 0.975)) * error
    return max(estimate - half, -1.0), min(estimate + half, 1.0)

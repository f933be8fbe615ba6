"""What Kendall's τ comes to by chance: one set of permuted countries for many similarity matrices at once.

τ of an anchor is a product of two arrays of signs, one for each pair of other countries: which of the two is more
similar in text, and which is nearer in values. Permuting countries moves the second array only, so for all concepts
and permutations together it is one matrix product, ten times faster than ranking anew each time
(``kapwa.stats.ranks.permuted_taus`` is the plain twin, and draws the same permutations).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kapwa.stats.kendall import dense_ranks
from kapwa.stats.permutations import permuted_orders
from kapwa.stats.ranks import known_pairs

Reals = NDArray[np.float64]
Signs = NDArray[np.int8]
Integers = NDArray[np.intp]
# Signs held at once for all matrices and permutations: some 30 MB, not far from the processor's own memory.
_BLOCK = 8_000_000
# Permuted signs of one survey that are kept, in bytes: those of 130 countries.
_KEPT = 220_000_000


def permuted_means(similarities: Sequence[Reals], distance: Reals, *, permutations: int, seed: int) -> Reals:
    """Mean τ-b over anchors of each of C similarities (m, m) against −distance (m, m), permuted: (C, permutations).

    Exact where no cell beside the diagonals is NaN. Where some are, ties are taken to be as frequent among the pairs
    known in both as among those known in one, which moves a mean τ by less than 0.001. NaN for a matrix in which no
    anchor has two neighbours that differ.
    """
    c, m = len(similarities), distance.shape[0]
    if not c or m < 3:
        return np.full((c, permutations), np.nan)
    near = _permuted(np.ascontiguousarray(distance, dtype=np.float64).tobytes(), m, permutations, seed)
    likeness = _Signs(np.stack(similarities), *np.triu_indices(m, 1))
    sums, anchors = np.zeros((c, permutations)), np.zeros((c, permutations))
    for block in _blocks(m, c + permutations):
        signs = likeness.block(block) * likeness.weights[:, block, None]
        sums += signs.reshape(c, -1) @ near.weighted(block).reshape(permutations, -1).T
        anchors += likeness.alive[:, block] @ near.alive(block).T
    return np.divide(sums, anchors, out=np.full_like(sums, np.nan), where=anchors > 0)


def _blocks(m: int, rows: int) -> Iterator[slice]:
    size = max(1, 2 * _BLOCK // max(1, m * (m - 1) * rows))
    for start in range(0, m, size):
        yield slice(start, min(start + size, m))


# Concepts and corpora share a survey, so what depends on it alone is worked out once in each process.
@lru_cache(maxsize=2)
def _permuted(distance: bytes, m: int, permutations: int, seed: int) -> _Permuted:
    return _Permuted(np.frombuffer(distance).reshape(m, m), permutations, seed)


class _Permuted:
    """Signs of −distance under permutations of the countries: kept where they are few, else made block by block."""

    def __init__(self, distance: Reals, permutations: int, seed: int) -> None:
        m = len(distance)
        self._first, self._second = np.triu_indices(m, 1)
        self._orders = np.concatenate(list(permuted_orders(m, permutations, seed=seed, values_each=1)))
        signs = _Signs(-distance[None], self._first, self._second)
        self._weights, self._alive = signs.weights[0], signs.alive[0]
        self._table = np.zeros((m, m * m), dtype=np.int8)
        self._table[:, self._first * m + self._second] = signs.block(slice(0, m))[0]
        self._table[:, self._second * m + self._first] = -self._table[:, self._first * m + self._second]
        few = permutations * m * self._first.size <= _KEPT
        self._kept = self._moved(slice(0, m)) if few else None

    def _moved(self, block: slice) -> Signs:
        m = len(self._table)
        anchors = self._orders[:, block]
        moved = np.empty((*anchors.shape, self._first.size), dtype=np.int8)
        for row, order in enumerate(self._orders):
            places = order[self._first] * m + order[self._second]
            np.take(self._table[anchors[row]], places, axis=1, out=moved[row], mode="clip")
        return moved

    def weighted(self, block: slice) -> NDArray[np.float32]:
        """Signs of a block of anchors under every permutation, times their weights: (P, A, pairs)."""
        moved = self._moved(block) if self._kept is None else self._kept[:, block]
        return np.asarray(moved * self._weights[self._orders[:, block], None])

    def alive(self, block: slice) -> Reals:
        """Which anchors have any sign under each permutation, (P, A)."""
        return np.asarray(self._alive[self._orders[:, block]])


class _Signs:
    """Which of two neighbours j < k stands nearer to an anchor, for C matrices: +1, −1, or 0 for a tie or unknown.

    ``weights`` (C, m) turn a sum of products of signs into τ; ``alive`` (C, m): 1.0 where an anchor has any sign.
    """

    def __init__(self, matrices: Reals, first: Integers, second: Integers) -> None:
        c, m = matrices.shape[:2]
        known = np.stack([known_pairs(matrix) for matrix in matrices])
        rows = dense_ranks(matrices.reshape(-1, m), known.reshape(-1, m))
        self._ranks = rows.reshape(c, m, m).astype(np.int16)
        self._known, self._gaps = known, int(known.sum()) < c * m * (m - 1)
        self._first, self._second = first, second
        codes = rows + np.arange(c * m)[:, None] * (m + 1)
        sizes = np.bincount(codes.ravel(), minlength=c * m * (m + 1)).reshape(c, m, m + 1)[:, :, :m]
        n = known.sum(axis=2)
        pairs = n * (n - 1) / 2
        untied = pairs - (sizes * (sizes - 1)).sum(axis=2) / 2
        self.alive = (untied > 0).astype(np.float64)
        share = np.divide(untied, pairs, out=np.ones_like(pairs), where=untied > 0)
        everyone = max(1, (m - 1) * (m - 2) // 2)
        # Both sides together: 1 / (pairs known in both · √(share untied here · share untied there)).
        weights = np.sqrt(everyone) / (np.where(untied > 0, pairs, np.inf) * np.sqrt(share))
        self.weights = weights.astype(np.float32)

    def block(self, block: slice) -> Signs:
        """Return the signs of some anchors: (C, A, pairs)."""
        ranks = self._ranks[:, block]
        # Smaller dense ranks are smaller values, so the difference has the sign of the values' difference.
        signs: Signs = np.clip(ranks[:, :, self._first] - ranks[:, :, self._second], -1, 1).astype(np.int8)
        if self._gaps:
            known = self._known[:, block]
            signs[~(known[:, :, self._first] & known[:, :, self._second])] = 0
            return signs
        anchors = np.arange(self._ranks.shape[1])[block]
        own = (anchors[:, None] == self._first) | (anchors[:, None] == self._second)
        signs[:, own] = 0
        return signs

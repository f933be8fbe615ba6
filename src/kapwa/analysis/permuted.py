"""What Kendall's τ comes to by chance: one set of permuted countries for many similarity matrices at once.

τ of an anchor is a product of two arrays of signs, one for each pair of other countries: which of the two is more
similar in text, and which is nearer in values. Permuting countries moves the second array only, so for all concepts
and permutations together it is one matrix product, ten times faster than ranking anew each time
(``kapwa.stats.ranks.permuted_taus`` is the plain twin, and draws the same permutations).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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


def permuted_means(similarities: Sequence[Reals], distance: Reals, *, permutations: int, seed: int) -> Reals:
    """Mean τ-b over anchors of each of C similarities (m, m) against −distance (m, m), permuted: (C, permutations).

    Exact where no cell beside the diagonals is NaN. Where some are, ties are taken to be as frequent among the pairs
    known in both as among those known in one, which moves a mean τ by less than 0.001. NaN for a matrix in which no
    anchor has two neighbours that differ.
    """
    c, m = len(similarities), distance.shape[0]
    if not c or m < 3:
        return np.full((c, permutations), np.nan)
    orders = np.concatenate(list(permuted_orders(m, permutations, seed=seed, values_each=1)))
    first, second = np.triu_indices(m, 1)
    likeness = _Signs(np.stack(similarities), first, second)
    nearness = _Signs(-distance[None], first, second)
    table = np.zeros((m, m * m), dtype=np.int8)
    table[:, first * m + second] = nearness.block(np.arange(m))[0]
    table[:, second * m + first] = -table[:, first * m + second]
    places = orders[:, first] * m + orders[:, second]
    sums, anchors = np.zeros((c, permutations)), np.zeros((c, permutations))
    for block in _blocks(m, len(first), c + permutations):
        moved = np.empty((permutations, block.size, first.size), dtype=np.int8)
        for row, (order, place) in enumerate(zip(orders, places, strict=True)):
            np.take(table[order[block]], place, axis=1, out=moved[row], mode="clip")
        weighted = moved * nearness.weights[0][orders[:, block], None]
        signs = likeness.block(block) * likeness.weights[:, block, None]
        sums += signs.reshape(c, -1) @ weighted.reshape(permutations, -1).T
        anchors += likeness.alive[:, block] @ nearness.alive[0][orders[:, block]].T
    return np.divide(sums, anchors, out=np.full_like(sums, np.nan), where=anchors > 0)


def _blocks(m: int, pairs: int, rows: int) -> Iterator[Integers]:
    size = max(1, _BLOCK // max(1, pairs * rows))
    for start in range(0, m, size):
        yield np.arange(start, min(start + size, m))


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

    def block(self, anchors: Integers) -> Signs:
        """Return the signs of some anchors: (C, A, pairs)."""
        ranks = self._ranks[:, anchors]
        # Smaller dense ranks are smaller values, so the difference has the sign of the values' difference.
        signs: Signs = np.clip(ranks[:, :, self._first] - ranks[:, :, self._second], -1, 1).astype(np.int8)
        if self._gaps:
            known = self._known[:, anchors]
            signs[~(known[:, :, self._first] & known[:, :, self._second])] = 0
            return signs
        own = (anchors[:, None] == self._first) | (anchors[:, None] == self._second)
        signs[:, own] = 0
        return signs

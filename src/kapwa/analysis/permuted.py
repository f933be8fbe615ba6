"""What Kendall's τ comes to by chance: one set of permuted countries for many similarity matrices at once.

Permuting countries moves one of the two rankings of an anchor's neighbours only, so the comparisons of every two
neighbours are made once for each matrix and once for each permutation, and held against each other as bits
(:mod:`kapwa.analysis.signs`). ``kapwa.stats.ranks.permuted_taus`` is the plain twin, and draws the same permutations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kapwa.analysis.signs import Signs, agreement, signs
from kapwa.stats.kendall import dense_ranks
from kapwa.stats.permutations import permuted_orders
from kapwa.stats.ranks import known_pairs

Reals = NDArray[np.float64]
# Bytes of bits of permutations made at a time.
_BLOCK = 8_000_000
# Bytes of one survey's permuted bits that are kept: those of 200 countries.
_KEPT = 220_000_000


def permuted_means(similarities: Sequence[Reals], distance: Reals, *, permutations: int, seed: int) -> Reals:
    """Mean τ-b over anchors of each of C similarities (m, m) against −distance (m, m), permuted: (C, permutations).

    NaN marks unknown cells: each anchor is compared over the neighbours known in both, and left out where fewer than
    two of them differ. NaN for a matrix in which no anchor is left.
    """
    c, m = len(similarities), distance.shape[0]
    if not c or m < 3:
        return np.full((c, permutations), np.nan)
    near = _permuted(np.ascontiguousarray(distance, dtype=np.float64).tobytes(), m, permutations, seed)
    likeness = _Ranked(np.stack(similarities))
    sums, anchors = np.zeros((c, permutations)), np.zeros((c, permutations), dtype=np.int64)
    for block, moved in near.blocks():
        # One anchor after the other, so that the sums do not depend on how many are held at once.
        for tau in agreement(likeness.signs(block), moved).tau():
            known = ~np.isnan(tau)
            np.add(sums, tau, out=sums, where=known)
            anchors += known
    return np.divide(sums, anchors, out=np.full_like(sums, np.nan), where=anchors > 0)


class _Ranked:
    """Neighbours ranked by each anchor in C matrices (C, m, m): by anchor first, as they are compared."""

    def __init__(self, matrices: Reals) -> None:
        c, m = matrices.shape[:2]
        known = np.stack([known_pairs(matrix) for matrix in matrices])
        ranks = dense_ranks(matrices.reshape(-1, m), known.reshape(-1, m)).astype(np.int16)
        self.ranks, self.known = ranks.reshape(c, m, m).transpose(1, 0, 2), known.transpose(1, 0, 2)
        self.gaps = int(known.sum()) < c * m * (m - 1)

    def signs(self, block: slice) -> Signs:
        """Return the comparisons of some anchors."""
        return signs(self.ranks[block], self.known[block], gaps=self.gaps)


# Concepts and corpora share a survey, so what depends on it alone is worked out once in each process.
@lru_cache(maxsize=2)
def _permuted(distance: bytes, m: int, permutations: int, seed: int) -> _Permuted:
    return _Permuted(np.frombuffer(distance).reshape(m, m), permutations, seed)


class _Permuted:
    """Neighbours ranked by −distance under permutations of the countries: kept where they are few, else made anew."""

    def __init__(self, distance: Reals, permutations: int, seed: int) -> None:
        m = len(distance)
        ranked = _Ranked(-distance[None])
        self._ranks, self._known, self._gaps = ranked.ranks[:, 0], ranked.known[:, 0], ranked.gaps
        self._orders = np.concatenate(list(permuted_orders(m, permutations, seed=seed, values_each=1)))
        bits = permutations * (m // 2) * m // 8 * (3 if ranked.gaps else 2)
        self._step = max(1, _BLOCK // max(bits, 1))
        self._kept = list(self._made()) if bits * m <= _KEPT else None

    def blocks(self) -> Iterator[tuple[slice, Signs]]:
        """Yield some anchors at a time, and their neighbours compared under every permutation."""
        yield from self._made() if self._kept is None else self._kept

    def _made(self) -> Iterator[tuple[slice, Signs]]:
        m = len(self._ranks)
        for start in range(0, m, self._step):
            block = slice(start, min(start + self._step, m))
            # Anchor a stands for country order[a], and its neighbour j for order[j].
            moved = self._orders.T[block, :, None], self._orders[None]
            yield block, signs(self._ranks[moved], self._known[moved], gaps=self._gaps)

"""How far many pairs of rankings agree: one bit for each two ranked things, and integers throughout.

Kendall's τ-b of two rankings is (concordant − discordant) / √(untied here · untied there), counted over the pairs of
things that both rankings know. With one bit for each pair, 64 pairs are compared by three logical operations
and a count of ones. Counts are exact, so every processor, with and without numba, computes the same τ.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Counts = NDArray[np.int32]
# From this many compared words of bits, loading numba (half a second) saves time.
_WORTH_LOADING = 10_000_000


class PairBits(NamedTuple):
    """Rankings in A blocks of R as bits, one for each pair (j, k) of the things ranked: (A, R, words) each.

    ``more``: j is ranked above k. ``untied``: one of them is above the other. ``known``: both are ranked; None where
    all rankings of a block lack the same things.
    """

    more: Words
    untied: Words
    known: Words | None


class Agreement(NamedTuple):
    """Each ranking of one set against each of another, of the same block: all broadcast to (A, R, S).

    ``surplus``: concordant minus discordant pairs. ``x_free``, ``y_free``: pairs known in both that are untied in the
    first, and in the second.
    """

    surplus: Counts
    x_free: Counts
    y_free: Counts

    def tau(self) -> NDArray[np.float64]:
        """τ-b, −1 to 1; NaN where a side is constant."""
        # One root of the product, not the product of two: equal rankings then give exactly 1.
        scale = np.sqrt(self.x_free.astype(np.float64) * self.y_free)
        return np.asarray(np.divide(self.surplus, scale, out=np.full(self.surplus.shape, np.nan), where=scale > 0))


def pair_bits(ranks: NDArray[np.int16], known: NDArray[np.bool_], *, gaps: bool) -> PairBits:
    """Compare every two of m things in each of A × R rankings (A, R, m).

    ``ranks``: 0 to m − 1, read where ``known``. ``gaps``: whether rankings of one block lack different things.
    """
    m = ranks.shape[-1]
    # What is unknown is neither above nor below anything.
    low, high = np.where(known, ranks, np.int16(-1)), np.where(known, ranks, np.int16(m))
    low, high = np.concatenate([low, low], axis=-1), np.concatenate([high, high], axis=-1)
    more = _packed(m, low, high, np.greater)
    untied = more | _packed(m, high, low, np.less)
    both = np.concatenate([known, known], axis=-1)
    return PairBits(more, untied, _packed(m, both, both, np.logical_and) if gaps else None)


def _packed(m: int, left: NDArray[Any], right: NDArray[Any], compare: np.ufunc) -> Words:
    """Return the bits of ``compare`` for every two of m things, whose values are given twice in a row: (…, 2m) each.

    Thing j is compared with thing j + step, counted in a circle, for steps up to half the circle: whole rows at a time.
    """
    width, steps = -(-m // 8), m // 2
    bits = np.zeros((*left.shape[:-1], -(-width * steps // 8) * 8), dtype=np.uint8)
    for step in range(1, steps + 1):
        # At half the circle, j + step is compared with j already.
        count = m if 2 * step < m else step
        row = np.packbits(compare(left[..., :count], right[..., step : step + count]), axis=-1)
        start = (step - 1) * width
        bits[..., start : start + row.shape[-1]] = row
    return bits.view(np.uint64)


def agreement(x: PairBits, y: PairBits) -> Agreement:
    """Compare every ranking of ``x`` (A, R, words) with every one of ``y`` (A, S, words) in the same block."""
    (a, r, words), s = x.more.shape, y.more.shape[1]
    fast = _kernels() if a * r * s * words >= _WORTH_LOADING else None
    surplus = np.empty((a, r, s), dtype=np.int32)
    (fast.surplus if fast else _surplus)(x.more, x.untied, y.more, y.untied, surplus)
    x_free = _shared(x.untied, y.known, fast)
    y_free = _shared(y.untied, x.known, fast)
    return Agreement(surplus, x_free, y_free.transpose(0, 2, 1))


def _shared(left: Words, other: Words | None, fast: Any) -> Counts:
    """Count the bits that each row of ``left`` shares with each row of ``other``; None has every bit."""
    if other is None:
        return np.asarray(np.bitwise_count(left).sum(axis=2, dtype=np.int32)[:, :, None])
    counts = np.empty((*left.shape[:2], other.shape[1]), dtype=np.int32)
    (fast.shared if fast else _shared_bits)(left, other, counts)
    return counts


@cache
def _kernels() -> Any:
    """Return the compiled kernels, or None where numba is missing or does not fit this numpy."""
    try:
        from kapwa.stats import kendall_numba
    except ImportError:
        return None
    return kendall_numba


def _surplus(x_more: Words, x_untied: Words, y_more: Words, y_untied: Words, out: Counts) -> None:
    for block, row in np.ndindex(*x_more.shape[:2]):
        both = x_untied[block, row] & y_untied[block]
        apart = (x_more[block, row] ^ y_more[block]) & both
        counts = np.bitwise_count(both).astype(np.int16) - 2 * np.bitwise_count(apart).astype(np.int16)
        counts.sum(axis=1, dtype=np.int32, out=out[block, row])


def _shared_bits(left: Words, other: Words, out: Counts) -> None:
    for block, row in np.ndindex(*left.shape[:2]):
        np.bitwise_count(left[block, row] & other[block]).sum(axis=1, dtype=np.int32, out=out[block, row])

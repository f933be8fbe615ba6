"""Random relabelling: seeded permutations in blocks, and the p-value they give."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kapwa.errors import UsageError
from kapwa.stats.clusters import FloatArray, IntArray

# Values per block: large enough for numpy's loops, small enough for the processor's cache.
BLOCK_VALUES = 1 << 17
# Statistics that agree to this share of their size are ties: a relabelling may leave them the same by symmetry.
TIE = 1e-10


def check_permutations(permutations: int) -> None:
    """Raise UsageError when there are too few permutations for p ≤ 0.05 to be possible."""
    if permutations < 19:
        raise UsageError(f"At least 19 permutations are needed, not {permutations}.", hint="The default is 999.")


def permuted_orders(size: int, permutations: int, *, seed: int, values_each: int) -> Iterator[IntArray]:
    """Yield all random orders of ``size`` things in blocks of shape (rows, size), rows summing to ``permutations``.

    ``values_each``: how many values the caller holds for one permutation; it sets how many come at once. The
    orders depend on ``size``, ``permutations`` and ``seed`` alone, so two calls that share these relabel alike.
    """
    generator = np.random.default_rng(seed)
    rows = max(1, BLOCK_VALUES // max(values_each, size, 1))
    for start in range(0, permutations, rows):
        block = np.tile(np.arange(size, dtype=np.intp), (min(rows, permutations - start), 1))
        yield generator.permuted(block, axis=1, out=block)


def at_least(draws: FloatArray, observed: float) -> int:
    """Count draws not below the observed value, ties included."""
    return int(np.count_nonzero(draws >= observed - TIE * abs(observed)))


def monte_carlo_p(hits: int, permutations: int) -> float:
    """(1 + hits) / (1 + permutations): never 0, and exact in size (Phipson and Smyth 2010)."""
    return (1 + hits) / (1 + permutations)

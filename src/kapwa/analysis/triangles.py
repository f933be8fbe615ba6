"""Symmetric matrices between identities as upper triangles: half the memory, and sums over concepts that lack some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Integers = NDArray[np.intp]


def positions(members: Integers, size: int) -> Integers:
    """Return where the pairs of ``members`` (ascending) lie in the upper triangle of ``size`` identities."""
    first, second = np.triu_indices(len(members), 1)
    i, j = members[first], members[second]
    return np.asarray(i * size - i * (i + 1) // 2 + j - i - 1)


def square(triangle: Reals, size: int) -> Reals:
    """Lay a triangle out as a symmetric (size, size) matrix with NaN on the diagonal."""
    matrix = np.full((size, size), np.nan)
    first, second = np.triu_indices(size, 1)
    matrix[first, second] = triangle
    matrix[second, first] = triangle
    return matrix


def places_between(chosen: Integers, size: int) -> Integers:
    """Return where the pairs of ``chosen`` lie in the upper triangle of ``size`` identities, as a square matrix.

    −1 for an identity with itself, and where one of them is −1 (that is, not among the ``size``).
    """
    low, high = np.minimum(chosen[:, None], chosen), np.maximum(chosen[:, None], chosen)
    places = low * size - low * (low + 1) // 2 + high - low - 1
    return np.where((low >= 0) & (low < high), places, -1)


@dataclass(eq=False)
class Means:
    """Running means over concepts of several triangles between ``size`` identities; cells may be unknown.

    ``sums``: (triangles, pairs); ``counts`` (pairs,): concepts that know a pair.
    """

    size: int
    sums: Reals
    counts: NDArray[np.int32]

    @classmethod
    def of(cls, triangles: int, size: int) -> Means:
        """Begin with nothing known."""
        pairs = size * (size - 1) // 2
        return cls(size, np.zeros((triangles, pairs)), np.zeros(pairs, dtype=np.int32))

    def add(self, triangles: Sequence[Reals], members: Integers) -> None:
        """Add one concept's triangles between ``members`` (positions among the identities, ascending)."""
        everyone = len(members) == self.size
        at = slice(None) if everyone else positions(members, self.size)
        known = ~np.isnan(np.sum(triangles, axis=0))
        self.counts[at] += known
        for row, triangle in zip(self.sums, triangles, strict=True):
            row[at] += np.where(known, triangle, 0.0)

    def merge(self, other: Means) -> None:
        """Add what ``other`` has gathered."""
        self.sums += other.sums
        self.counts += other.counts

    def triangle(self, which: int) -> Reals:
        """Return the mean triangle number ``which``, NaN for pairs that no concept knows."""
        row = self.sums[which]
        return np.asarray(np.divide(row, self.counts, out=np.full(row.shape, np.nan), where=self.counts > 0))

    def matrix(self, which: int) -> Reals:
        """Return the mean number ``which`` as a (size, size) matrix with NaN on the diagonal."""
        return square(self.triangle(which), self.size)

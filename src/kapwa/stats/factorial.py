"""Variance of texts whose prompts cross several factors (nationality × religion): by factor and by combination.

Everything is worked out from squared distances alone, as in :mod:`kapwa.stats.distances`. A *cell* is one combination
of levels, which is one prompt with its samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import UsageError
from kapwa.stats.clusters import FloatArray, IntArray
from kapwa.stats.kendall import square_matrix
from kapwa.stats.resampling import check_permutations

Term = tuple[int, ...]


class CellDistances(NamedTuple):
    """Squared distances between the mean texts of C cells, and the spread of each cell.

    ``true`` (C, C): unbiased, so that sampling adds nothing on average (values may be below 0). ``observed`` (C, C): of
    the means as drawn. ``spread`` (C,): variance among the texts of a cell, half the mean squared distance of two.
    """

    true: FloatArray
    observed: FloatArray
    spread: FloatArray


class Permuted(NamedTuple):
    """A main effect with levels exchanged among the cells of each combination of the other factors.

    ``location`` (1 + P,): variance of the level means, as observed and then permuted. ``spread`` (1 + P, levels): mean
    spread of the cells at each level, in the same order.
    """

    location: FloatArray
    spread: FloatArray


def terms_of(factors: int) -> list[Term]:
    """Return the main effects and then the interactions of ``factors`` factors, as the factors that each holds."""
    return [term for size in range(1, factors + 1) for term in combinations(range(factors), size)]


def degrees_of_freedom(term: Term, levels: Sequence[int]) -> int:
    """Return the degrees of freedom of a term: the product of its factors' levels, each less one."""
    return prod(levels[factor] - 1 for factor in term)


def cell_distances(mean_squares: ArrayLike, samples: ArrayLike) -> CellDistances:
    """Return distances between the means of cells, from mean squared distances between their texts.

    ``mean_squares``: (C, C), on the diagonal over pairs of distinct texts of a cell. ``samples``: (C,) texts of each,
    at least two. The squared distance of two means is the mean squared distance of texts of the two, less the variance
    within each (Huygens). Raises UsageError for shapes that do not fit and a cell of fewer than two texts.
    """
    squares, counts = square_matrix(mean_squares, "distances between cells"), np.asarray(samples)
    if counts.shape != (len(squares),):
        raise UsageError(f"There are {len(squares)} cells but sample counts of shape {counts.shape}.")
    if counts.min(initial=2) < 2:
        raise UsageError("A cell has fewer than two texts.", hint="Sample each prompt at least twice.")
    spread = np.diagonal(squares) / 2
    noise = spread / counts
    true = squares - spread[:, None] - spread
    observed = true + noise[:, None] + noise
    np.fill_diagonal(true, 0.0)
    np.fill_diagonal(observed, 0.0)
    return CellDistances(true, observed, spread)


def factor_variances(squares: ArrayLike, levels: Sequence[int]) -> FloatArray:
    """Return the variance that each term of :func:`terms_of` has among the means of cells, each cell counting once.

    ``squares``: (C, C) squared distances between means, cells in C order of ``levels`` (the last factor changes
    fastest). All terms together are the variance of the means of the cells. V = −½ tr(P δ²)/C with P the projection on
    the term. Raises UsageError for shapes that do not fit. Source: McArdle and Anderson (2001), Ecology 82.
    """
    matrix = _crossed(squares, levels)
    cells = len(matrix)
    return np.array([-np.vdot(_projection(term, levels), matrix) / 2 / cells for term in terms_of(len(levels))])


def _projection(term: Term, levels: Sequence[int]) -> FloatArray:
    """Return the (C, C) projection on the contrasts of a term: centred in its factors, averaged over the others."""
    projections = [
        np.eye(size) - 1 / size if factor in term else np.full((size, size), 1 / size)
        for factor, size in enumerate(levels)
    ]
    return reduce(np.kron, projections)


def _crossed(squares: ArrayLike, levels: Sequence[int]) -> FloatArray:
    matrix = square_matrix(squares, "distances between cells")
    if min(levels, default=0) < 2 or prod(levels) != len(matrix):
        crossed = " × ".join(map(str, levels))
        raise UsageError(f"{len(matrix)} cells do not make up a full design of {crossed} levels.")
    return matrix


def permuted_effect(
    cells: CellDistances, levels: Sequence[int], factor: int, *, permutations: int, seed: int
) -> Permuted:
    """Exchange the levels of ``factor`` among the prompts that share all other levels, ``permutations`` times.

    Samples of a prompt stay together: what is particular to one prompt counts once, however many texts it has. Where
    the factor makes no difference, alone or in combination, every exchange is as likely as the observed assignment; an
    interaction without a main effect makes the test conservative. Pseudo-F rises with the variance of the level means
    under these exchanges, so the variances are compared (Anderson and ter Braak 2003, J. Statist. Comput. Simul. 73).
    Raises UsageError for shapes that do not fit and too few permutations.
    """
    check_permutations(permutations)
    matrix = _crossed(cells.observed, levels)
    size, total = levels[factor], len(matrix)
    # (others, levels): the number of each cell.
    numbers = np.moveaxis(np.arange(total).reshape(levels), factor, -1).reshape(-1, size)
    others = len(numbers)
    constant = float(matrix.sum()) / size
    location, spread = [], []
    for orders in _orders(numbers, permutations, seed):
        alike = matrix[orders[:, :, None, :], orders[:, None, :, :]].sum(axis=(1, 2, 3))
        location.append(-(alike - constant) / others / 2 / total)
        spread.append(cells.spread[orders].mean(axis=1))
    return Permuted(np.concatenate(location), np.concatenate(spread))


_CELLS_AT_ONCE = 1 << 20


def _orders(numbers: IntArray, permutations: int, seed: int) -> Iterator[IntArray]:
    """Yield the cells as they are, and then with each row's exchanged at random: blocks of (rows, others, levels)."""
    yield numbers[None]
    generator = np.random.default_rng(seed)
    block = max(1, _CELLS_AT_ONCE // (numbers.size * len(numbers)))
    for start in range(0, permutations, block):
        rows = min(block, permutations - start)
        keys = np.argsort(generator.random((rows, *numbers.shape)), axis=-1)
        yield np.take_along_axis(np.broadcast_to(numbers, keys.shape), keys, axis=-1)


def shared_effects(squares: ArrayLike, levels: Sequence[int], factor: int, by: int) -> FloatArray:
    """Return how far ``factor`` has the same effect at every two levels of the factor ``by``: (levels, levels) of it.

    On the diagonal is the variance between the levels of ``factor`` at one level of ``by``; elsewhere the variance that
    two have in common (the mean product of the two effects): all of it for equal effects, on average 0 for unrelated
    ones. ``squares``: as for :func:`factor_variances`, unbiased. The shared variance is half of how much nearer, across
    the pair, cells of the same level of ``factor`` are than cells of any two levels; other factors have the same levels
    on both sides, and the mean over these is returned. The sampling of the two sides is independent, so nothing needs
    to be subtracted. Raises UsageError for shapes that do not fit.
    """
    matrix = _crossed(squares, levels)
    numbers = np.moveaxis(np.arange(len(matrix)).reshape(levels), (factor, by), (-1, -2))
    numbers = numbers.reshape(-1, levels[by] * levels[factor])
    sides = (levels[by], levels[factor]) * 2
    # (others, by, factor, by, factor): all that keep the levels of the other factors.
    blocks = matrix[numbers[:, :, None], numbers[:, None, :]].reshape(-1, *sides)
    same = np.einsum("oafbf->oab", blocks) / levels[factor]
    return np.asarray((blocks.mean(axis=(2, 4)) - same).mean(axis=0) / 2)

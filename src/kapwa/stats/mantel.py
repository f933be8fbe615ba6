"""Correlation of two whole matrices between the same countries, with p-values that allow for shared countries.

A cell of a distance matrix is not an observation of its own: every country enters m − 1 of them. The Mantel test
permutes countries instead of cells. Two cautions hold for every test here: when both matrices vary smoothly over a
map, its p-values are too small even with geographic distance as a control (Guillot and Rousset 2013), and r is
attenuated by noise in either matrix, so a small r with a small p is no proof of a weak relation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import UsageError
from kapwa.stats.clusters import ROUNDING, FloatArray, IntArray
from kapwa.stats.kendall import square_matrix
from kapwa.stats.resampling import TIE, check_permutations, monte_carlo_p, permuted_orders


@dataclass(frozen=True, slots=True)
class Mantel:
    """Correlation r of the cells below the diagonal, its permutation p, and n countries; ``p_drawn`` from given draws.

    r is NaN (and p with it) when a matrix is constant or fewer than three countries remain.
    """

    r: float
    p: float
    n: int
    p_drawn: float = math.nan


def mantel(
    x: ArrayLike,
    y: ArrayLike,
    controls: Sequence[ArrayLike] = (),
    *,
    permutations: int = 999,
    seed: int = 0,
    draws: FloatArray | None = None,
) -> Mantel:
    """Mantel test: correlate two symmetric (m, m) matrices, permuting rows and columns of ``y`` together; two-sided.

    With ``controls`` ((m, m) each, such as geographic distance, or a shared language as 0/1) it is the partial Mantel
    test: r is the correlation of x and y that is left when the controls are held constant, and rows and columns of
    ``y`` are permuted against x and the controls (Smouse, Long and Sokal 1986; method 1 of Legendre 2000); r is NaN
    when the controls explain a matrix completely. NaN marks unknown cells: a country without any known cell is left out
    of all matrices; other cells are compared where all are known, separately for every permutation. The diagonal is
    ignored. Signs are as given: similarity against distance is negative where they agree.
    p = (1 + hits)/(1 + permutations). ``draws`` (D, m, m) are used instead of permutations of ``y`` for ``p_drawn``
    (:func:`kapwa.stats.spatial.surrogate_maps`). Raises UsageError for matrices that are not square, symmetric or of
    one size. Source: Mantel (1967); equals scikit-bio's on complete matrices.
    """
    check_permutations(permutations)
    matrices, alive = _shared([x, y, *controls])
    m = len(matrices[0])
    nothing = Mantel(math.nan, math.nan, m)
    if m < 3:
        return nothing
    first, second, *fixed = (cells(matrix) for matrix in matrices)
    correlate: Callable[[FloatArray], FloatArray]
    if any(bool(np.isnan(side).any()) for side in (first, second, *fixed)):
        correlate = partial(_with_gaps, x=first, controls=fixed)
    else:
        second = _centred(second)
        correlate = _linear(first, second, fixed)
    observed = float(correlate(second[:, None])[0])
    if np.isnan(observed):
        return nothing
    permuted = np.concatenate([correlate(block) for block in _permuted(second, m, permutations, seed)])
    p_drawn = math.nan
    if draws is not None:
        columns = np.stack([cells(draw[np.ix_(alive, alive)]) for draw in draws], axis=1)
        p_drawn = _p(observed, _with_gaps(columns, x=first, controls=fixed))
    return Mantel(observed, _p(observed, permuted), m, p_drawn)


def _p(observed: float, draws: FloatArray) -> float:
    """Two-sided: ties count as hits, and a draw without a correlation counts against the finding."""
    hits = int(np.count_nonzero(~(np.abs(draws) < abs(observed) - TIE * abs(observed))))
    return monte_carlo_p(hits, len(draws))


def cells(matrix: FloatArray) -> FloatArray:
    """Return the m(m−1)/2 cells below the diagonal, row by row."""
    return np.asarray(matrix[np.tril_indices(len(matrix), -1)])


def _shared(values: Sequence[ArrayLike]) -> tuple[list[FloatArray], IntArray]:
    """Check the matrices, blank their diagonals, and select the countries (m',) with known cells in every matrix."""
    matrices = [square_matrix(matrix, "matrices of a Mantel test") for matrix in values]
    if len({matrix.shape for matrix in matrices}) > 1:
        sizes = ", ".join(str(len(matrix)) for matrix in matrices)
        raise UsageError(f"The matrices of a Mantel test cover different countries: {sizes}.")
    blank = [np.where(np.eye(len(matrix), dtype=bool), np.nan, matrix) for matrix in matrices]
    if not all(np.allclose(matrix, matrix.T, equal_nan=True) for matrix in blank):
        raise UsageError("A Mantel test needs symmetric matrices.", hint="Give the mean of both directions.")
    alive = np.flatnonzero(np.all([~np.isnan(matrix).all(axis=1) for matrix in blank], axis=0))
    return [matrix[np.ix_(alive, alive)] for matrix in blank], alive


def _permuted(values: FloatArray, m: int, permutations: int, seed: int) -> Iterator[FloatArray]:
    """Yield the cells in their order after relabelling the countries at random, in blocks of (cells, rows)."""
    low, high = np.tril_indices(m, -1)
    cell_index = np.zeros((m, m), dtype=np.intp)
    cell_index[low, high] = cell_index[high, low] = np.arange(values.size)
    for orders in permuted_orders(m, permutations, seed=seed, values_each=values.size):
        # Cells along rows: a gather of whole rows is several times faster than one within rows.
        columns = np.ascontiguousarray(orders.T)
        yield values.take(cell_index.ravel().take(columns[low] * m + columns[high]))


def _linear(x: FloatArray, y: FloatArray, controls: Sequence[FloatArray]) -> Callable[[FloatArray], FloatArray]:
    """Return the (partial) linear correlation of x with columns that are permutations of the centred y.

    With Q an orthonormal basis of the constant and the controls, residuals are x − QQᵀx and y − QQᵀy, so
    r = e·y / √(|y|² − |Qᵀy|²) for e the residual of x at length one: one small product for a whole block.
    """
    basis = _basis(x.size, controls)
    residual = x - _within(basis, x)
    length, power = _length(residual), float(np.einsum("i,i->", y, y))
    constant = length <= ROUNDING * _length(x)
    weights = np.vstack([residual / (1.0 if constant else length), basis.T])

    def correlate(columns: FloatArray) -> FloatArray:
        products = np.einsum("ij,jk->ik", weights, columns)
        left = power - (products[1:] ** 2).sum(axis=0)
        defined = (left > ROUNDING * power) & (not constant)
        r = np.divide(products[0], np.sqrt(np.maximum(left, 0.0)), out=np.full(left.shape, np.nan), where=defined)
        return np.asarray(np.clip(r, -1.0, 1.0))

    return correlate


def _centred(values: FloatArray) -> FloatArray:
    """Subtract the mean; a constant leaves exact zeros rather than rounding noise."""
    centred = values - values.mean()
    return np.zeros_like(centred) if np.abs(centred).max() <= ROUNDING * np.abs(values).max() else centred


def _basis(size: int, controls: Sequence[FloatArray]) -> FloatArray:
    """Orthonormal columns spanning the constant and the controls; a control that adds nothing adds no column."""
    basis = np.full((size, 1), size**-0.5)
    for control in controls:
        rest = control - _within(basis, control)
        rest -= _within(basis, rest)
        if _length(rest) > ROUNDING * _length(control):
            basis = np.column_stack([basis, rest / _length(rest)])
    return basis


# Products here are einsum's, not BLAS's, which sums in an order that depends on the number of threads.


def _within(basis: FloatArray, x: FloatArray) -> FloatArray:
    """Return the projection of x on the space of the basis."""
    return np.asarray(np.einsum("ij,j->i", basis, np.einsum("ij,i->j", basis, x)))


def _length(x: FloatArray) -> float:
    return math.sqrt(float(np.einsum("i,i->", x, x)))


def _with_gaps(columns: FloatArray, *, x: FloatArray, controls: Sequence[FloatArray]) -> FloatArray:
    """Correlations over the cells known everywhere, which differ from column to column."""
    correlations = np.full(columns.shape[1], np.nan)
    for index, y in enumerate(columns.T):
        known = ~np.isnan(np.stack([x, y, *controls])).any(axis=0)
        if known.sum() > 2:
            first, second, *fixed = (side[known] for side in (x, y, *controls))
            second = _centred(second)
            correlations[index] = _linear(first, second, fixed)(second[:, None])[0]
    return correlations

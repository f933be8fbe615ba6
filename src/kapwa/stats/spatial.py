"""The correlation with simulated maps that have the same spatial smoothness and the same blocks as the values.

Values of neighbouring countries are alike, and so are texts. Two unrelated maps that are both smooth, or both uniform
within regions or languages, agree far more than maps with shuffled countries do. So maps are simulated from Gaussian
processes. Along each principal axis of the values, a country's value is the sum of several components: smooth ones
(exponential and Matérn 3/2 covariance of one range), those that countries of one block share (a region, a subregion, a
language, a branch of languages), and the country's own. Which components there are, and their variances, are estimated
from the axis by restricted likelihood (Patterson and Thompson 1971); as 45 countries say little of them, each simulated
map has its own variances, drawn in proportion to their likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kapwa.stats.clusters import FloatArray
from kapwa.stats.kendall import known_pairs

# Sets of variances to try: the range in km, and ln of a component's variance over that of the country's own.
_TRIED = 1600
_REACHES = (200.0, 8000.0)
_LOG_SHARES = (-4.0, 4.0)
_SMOOTH = 2
_PRESENT = 0.5  # the probability that a component is present at all
_EARTH = 2 * 6371.0088  # the diameter in km


def surrogate_maps(
    distance: FloatArray, kilometres: FloatArray, blocks: Sequence[FloatArray], *, draws: int, seed: int
) -> FloatArray:
    """Draw distances of values on simulated maps with the same smoothness and blocks: (draws, m, m), symmetric.

    ``distance``: (m, m) between values, NaN where unknown, also in the result; ``kilometres``: (m, m) between the
    countries; ``blocks``: similarities (m, m), each a covariance with ones on its diagonal, such as 1 within a region
    and 0 beyond. For the estimation, unknown distances are replaced by the averages of their rows and columns.
    """
    m, known = len(distance), known_pairs(distance)
    squares = np.where(known, distance, 0.0) ** 2
    means = squares.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    filled = np.where(known, squares, np.maximum(means[:, None] + means - squares[known].mean(), 0.0))
    np.fill_diagonal(filled, 0.0)
    centre = np.eye(m) - 1 / m
    sizes, vectors = np.linalg.eigh(-centre @ filled @ centre / 2)
    positive = sizes > 1e-9 * sizes[-1]
    axes = vectors[:, positive] * np.sqrt(sizes[positive])
    maps = np.full((draws, m, m), np.nan)
    for here, fields in zip(maps, surrogate_columns(axes, kilometres, blocks, draws=draws, seed=seed), strict=True):
        lengths = (fields**2).sum(axis=0)
        moved = np.sqrt(np.maximum(lengths[:, None] + lengths - 2 * fields.T @ fields, 0.0))
        here[known] = ((moved + moved.T) / 2)[known]
    return maps


def surrogate_columns(
    columns: FloatArray,
    kilometres: FloatArray,
    blocks: Sequence[FloatArray],
    *,
    draws: int,
    seed: int,
    together: bool = False,
) -> FloatArray:
    """Draw simulated maps of values (m, V) of m countries, each column with its smoothness and blocks: (draws, V, m).

    See :func:`surrogate_maps`; a column's mean is not in its draws. ``together``: the variances are estimated from
    all columns at once, for instance if each is a question of one survey, which alone says little.
    """
    m, generator = len(columns), np.random.default_rng(seed)
    tried = _Covariances(kilometres, blocks, generator)
    likelihoods, squares = map(
        np.stack, zip(*(_likelihood(tried.root(k), columns) for k in range(_TRIED)), strict=True)
    )
    if together:
        likelihoods = np.repeat(likelihoods.sum(axis=1, keepdims=True), columns.shape[1], axis=1)
    chances = np.cumsum(np.exp(likelihoods - likelihoods.max(axis=0)), axis=0)
    drawn = generator.random((draws, columns.shape[1], 1)) * chances[-1][:, None]
    chosen = (drawn > chances.T).sum(axis=2)
    scales = squares[chosen, np.arange(columns.shape[1])] / generator.chisquare(m - 1, chosen.shape)
    normal = generator.normal(size=(*chosen.shape, m)) * np.sqrt(scales)[:, :, None]
    for k in np.unique(chosen).tolist():
        normal[chosen == k] = normal[chosen == k] @ tried.root(k).T
    return np.asarray(normal)


class _Covariances:
    """Covariances of a value between m countries, each with a random range and random variances."""

    def __init__(self, kilometres: FloatArray, blocks: Sequence[FloatArray], generator: np.random.Generator) -> None:
        # Through the earth, where both functions of distance are covariances; over its surface they need not be.
        self._through = _EARTH * np.sin(np.minimum((kilometres + kilometres.T) / 2 / _EARTH, np.pi / 2))
        self._blocks = tuple(blocks)
        nearest, farthest = (float(np.log(reach)) for reach in _REACHES)
        least, most = _LOG_SHARES
        self.reaches = np.exp(generator.uniform(nearest, farthest, _TRIED))
        shape = (_TRIED, _SMOOTH + len(self._blocks))
        self.shares = np.exp(generator.uniform(least, most, shape)) * (generator.random(shape) < _PRESENT)

    def root(self, k: int) -> FloatArray:
        """Cholesky factor of covariance number ``k``; a country's own component has variance 1."""
        near = self._through / self.reaches[k]
        smooth = np.exp(-near), (1 + np.sqrt(3) * near) * np.exp(-np.sqrt(3) * near)
        components = zip(self.shares[k], (*smooth, *self._blocks), strict=True)
        shared = sum(share * covariance for share, covariance in components)
        return np.linalg.cholesky(shared + np.eye(len(near)))


def _likelihood(root: FloatArray, axes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Restricted log-likelihood of each axis (A,), mean and scale unknown, and its sum of squares under ``root``."""
    from scipy.linalg import solve_triangular

    m = len(root)
    white = solve_triangular(root, np.column_stack([np.ones(m), axes]), lower=True)
    constant, rest = white[:, 0], white[:, 1:]
    squares = (rest**2).sum(axis=0) - (constant @ rest) ** 2 / (constant @ constant)
    return -np.log(np.diagonal(root)).sum() - np.log(constant @ constant) / 2 - (m - 1) / 2 * np.log(squares), squares

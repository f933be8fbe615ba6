"""What a correlation comes to for other maps that are as smooth, and as much in blocks, as that of the values.

Values of neighbouring countries are alike, and so are texts. Two maps that have nothing to do with each other but are
both smooth, or both of one piece within regions or languages, then agree far more than shuffled names do. Other maps
are drawn from Gaussian processes: along each principal axis of the values a country's value is the sum of parts that
are smooth over the map (exponential and Matérn 3/2 covariance of one reach), of parts that countries of one block share
(a region, a subregion, a language, a branch of languages), and its own. Which parts there are, and how large each is,
follows from the axis, by restricted likelihood (Patterson and Thompson 1971); as 45 countries say little of it, each
map has shares of its own, drawn as often as they are likely.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kapwa.stats.clusters import FloatArray
from kapwa.stats.kendall import known_pairs

# Sets of shares that are tried: km over which likeness falls, and ln of a part's variance over that of a country's own.
_TRIED = 1600
_REACHES = (200.0, 8000.0)
_LOG_SHARES = (-4.0, 4.0)
_SMOOTH_PARTS = 2
_PRESENT = 0.5  # how often a part is there at all
_EARTH = 2 * 6371.0088  # km through it


def surrogate_maps(
    distance: FloatArray, kilometres: FloatArray, blocks: Sequence[FloatArray], *, draws: int, seed: int
) -> FloatArray:
    """Draw distances of values on other maps that are as smooth and as much in blocks: (draws, m, m), symmetric.

    ``distance``: (m, m) between values, NaN where unknown, which stays unknown; ``kilometres``: (m, m) between the
    places; ``blocks``: likenesses (m, m), each a covariance with ones on its diagonal, such as 1 within a region and 0
    beyond. Unknown distances are filled by what their rows and columns have on average.
    """
    m, known = len(distance), known_pairs(distance)
    squares = np.where(known, distance, 0.0) ** 2
    means = squares.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    filled = np.where(known, squares, np.maximum(means[:, None] + means - squares[known].mean(), 0.0))
    np.fill_diagonal(filled, 0.0)
    centre = np.eye(m) - 1 / m
    sizes, vectors = np.linalg.eigh(-centre @ filled @ centre / 2)
    kept = sizes > 1e-9 * sizes[-1]
    axes = vectors[:, kept] * np.sqrt(sizes[kept])
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
    """Draw other maps of values (m, V) of m places, each column as smooth and as much in blocks: (draws, V, m).

    See :func:`surrogate_maps`; a column's mean is not in its draws. ``together``: how large the parts are follows from
    all columns at once, as where each is a question of one survey, of which a single one says little.
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
    """Covariances of a value between m countries, each with a reach and shares drawn at random."""

    def __init__(self, kilometres: FloatArray, blocks: Sequence[FloatArray], generator: np.random.Generator) -> None:
        # Through the earth, where both functions of distance are covariances; over its surface they need not be.
        self._through = _EARTH * np.sin(np.minimum((kilometres + kilometres.T) / 2 / _EARTH, np.pi / 2))
        self._blocks = tuple(blocks)
        nearest, farthest = (float(np.log(reach)) for reach in _REACHES)
        least, most = _LOG_SHARES
        self.reaches = np.exp(generator.uniform(nearest, farthest, _TRIED))
        shape = (_TRIED, _SMOOTH_PARTS + len(self._blocks))
        self.shares = np.exp(generator.uniform(least, most, shape)) * (generator.random(shape) < _PRESENT)

    def root(self, k: int) -> FloatArray:
        """Lower triangle whose product with itself is covariance number ``k``; a country's own part has variance 1."""
        near = self._through / self.reaches[k]
        smooth = np.exp(-near), (1 + np.sqrt(3) * near) * np.exp(-np.sqrt(3) * near)
        parts = sum(share * part for share, part in zip(self.shares[k], (*smooth, *self._blocks), strict=True))
        return np.linalg.cholesky(parts + np.eye(len(near)))


def _likelihood(root: FloatArray, axes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Restricted log-likelihood of each axis (A,), mean and scale unknown, and its sum of squares under ``root``."""
    from scipy.linalg import solve_triangular

    m = len(root)
    white = solve_triangular(root, np.column_stack([np.ones(m), axes]), lower=True)
    constant, rest = white[:, 0], white[:, 1:]
    squares = (rest**2).sum(axis=0) - (constant @ rest) ** 2 / (constant @ constant)
    return -np.log(np.diagonal(root)).sum() - np.log(constant @ constant) / 2 - (m - 1) / 2 * np.log(squares), squares

"""What a correlation with values comes to for another map that is as smooth: Moran spectral randomisation.

Values of neighbouring countries are alike, and so are texts. Two maps that have nothing to do with each other but are
both smooth then agree far more than shuffled names do. Wagner and Dray (2015, Methods in Ecology and Evolution 6,
1169-1178) draw other maps with the same spatial structure: what lies along pairs of neighbouring Moran eigenvectors is
turned by random angles. Crabot and others (2019, ibid. 10, 532-540) do so with the distances of a Mantel test.
"""

from __future__ import annotations

import numpy as np

from kapwa.stats.clusters import FloatArray
from kapwa.stats.kendall import known_pairs

# Reaches of the weights that are tried, km, and how weights fall with distance over reach.
_REACHES = (500.0, 1000.0, 2000.0, 4000.0, 8000.0)


def moran_surrogates(distance: FloatArray, kilometres: FloatArray, *, draws: int, seed: int) -> FloatArray:
    """Draw distances of values on other maps that are as smooth: (draws, m, m), symmetric.

    ``distance``: (m, m) between values, NaN where unknown, which stays unknown; ``kilometres``: (m, m) between the
    places. Distances are kept as a whole (their sum of squares, their spread over broad and fine patterns), their
    places are not. Unknown ones are filled by what their rows and columns have on average.
    """
    m, known = len(distance), known_pairs(distance)
    squares = np.where(known, distance, 0.0) ** 2
    means = squares.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    filled = np.where(known, squares, np.maximum(means[:, None] + means - squares[known].mean(), 0.0))
    np.fill_diagonal(filled, 0.0)
    centre = np.eye(m) - 1 / m
    patterns, along = _patterns(centre, -centre @ filled @ centre / 2, kilometres)
    generator = np.random.default_rng(seed)
    found = np.full((draws, m, m), np.nan)
    for one in found:
        turned = _turns(m - 1, generator)
        products = patterns @ turned @ along @ turned.T @ patterns.T
        sizes = np.diagonal(products)
        moved = np.sqrt(np.maximum(sizes[:, None] + sizes - 2 * products, 0.0))
        one[known] = ((moved + moved.T) / 2)[known]
    return found


def _patterns(centre: FloatArray, products: FloatArray, kilometres: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Moran eigenvectors (m, m − 1), the broadest first, and ``products`` along them.

    Of several reaches that under which what lies along different eigenvectors is least related, as it is where weights
    fall as the values' likeness does. A seed gives the same maps on every processor: each eigenvector points to the
    same side of a fixed direction. Countries far from all others have equal eigenvalues, whose eigenvectors are not
    unique: a different millionth is added to the weight of each country.
    """
    order = np.arange(len(kilometres))
    millionths, side = np.diag(1e-6 * order), np.cos(order + 1)
    best: tuple[float, FloatArray, FloatArray] | None = None
    for reach in _REACHES:
        for weights in (np.exp(-kilometres / reach), np.exp(-((kilometres / reach) ** 2) / 2)):
            vectors = np.linalg.eigh(centre @ (weights + weights.T + millionths) @ centre)[1][:, ::-1]
            vectors = np.delete(vectors, np.argmax(np.abs(vectors.sum(axis=0))), axis=1)
            vectors *= np.where(side @ vectors < 0, -1.0, 1.0)
            along = vectors.T @ products @ vectors
            related = float((along**2).sum() - (np.diagonal(along) ** 2).sum())
            if best is None or related < best[0]:
                best = related, vectors, along
    assert best is not None
    return best[1:]


def _turns(size: int, generator: np.random.Generator) -> FloatArray:
    """Random turns, or mirrored turns, of axes 1 and 2, 3 and 4, …; of an odd number the last is mirrored or not."""
    turns = np.diag(generator.choice([-1.0, 1.0], size))
    first = np.arange(0, size - 1, 2)
    angles = generator.uniform(0, 2 * np.pi, len(first))
    sides = generator.choice([-1.0, 1.0], len(first))
    turns[first, first], turns[first + 1, first] = np.cos(angles), np.sin(angles)
    turns[first, first + 1], turns[first + 1, first + 1] = -sides * np.sin(angles), sides * np.cos(angles)
    return turns

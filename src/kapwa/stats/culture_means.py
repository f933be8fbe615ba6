"""Means of one measure by culture, and how they err together where cultures share questions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kapwa.stats.clusters import ROUNDING, FloatArray, IntArray, cluster_codes


class CultureMeans(NamedTuple):
    """One measure by culture: ``means``, ``n`` items and ``clusters`` of each (K,), and how the means err together.

    ``shares`` (G, K): the share of a culture's items that are in a cluster. ``residuals`` (G, K): what a cluster adds
    to a culture's mean, less what it would add if it had that mean, times √(G_c/(G_c−1)); ``residuals.T @ residuals``
    is the covariance of the means (cluster-robust, the off-diagonal from questions that cultures share). 0 for a
    culture with one cluster, whose error the data cannot tell.
    """

    means: FloatArray
    n: IntArray
    clusters: IntArray
    shares: FloatArray
    residuals: FloatArray


def culture_means(
    values: FloatArray, cultures: IntArray, clusters: IntArray, weights: FloatArray | None = None
) -> CultureMeans:
    """Means of a vector without NaN by culture code, and the residuals of its clusters; every code occurs.

    ``weights``: (n,) how many items each value represents ("items" above are then weights); None: one each.
    """
    heavy = np.ones(len(values)) if weights is None else weights
    shape = (int(clusters.max()) + 1, int(cultures.max()) + 1)
    sizes, totals = np.zeros(shape), np.zeros(shape)
    np.add.at(sizes, (clusters, cultures), heavy)
    np.add.at(totals, (clusters, cultures), heavy * values)
    weight, groups = sizes.sum(axis=0), np.count_nonzero(sizes, axis=0)
    means = totals.sum(axis=0) / weight
    factor = np.sqrt(groups / np.maximum(groups - 1, 1))
    residuals = factor * (totals - sizes * means) / weight
    residuals[np.abs(residuals) <= ROUNDING * np.abs(values).max(initial=0.0)] = 0.0
    return CultureMeans(means, np.bincount(cultures), groups, sizes / weight, residuals)


def codes_of(values: FloatArray, cultures: ArrayLike, clusters: ArrayLike) -> tuple[IntArray, IntArray]:
    """Numbers of the cultures and clusters of all rows."""
    return cluster_codes(cultures, len(values)), cluster_codes(clusters, len(values))


def means_of_valid(
    values: FloatArray, codes: tuple[IntArray, IntArray], weights: FloatArray | None = None
) -> CultureMeans:
    """Means by culture of the rows that are not NaN; cultures and clusters without any are left out."""
    valid = ~np.isnan(values)
    if valid.all():
        return culture_means(values, *codes, weights)
    cultures, clusters = (np.unique(code[valid], return_inverse=True)[1] for code in codes)
    return culture_means(values[valid], cultures, clusters, None if weights is None else weights[valid])


def equal_weights(valid: NDArray[np.bool_], cultures: IntArray, weights: FloatArray | None = None) -> FloatArray:
    """Weights (n,) of the ``valid`` rows: cultures count alike, rows of each by ``weights``; 0 for other rows."""
    heavy = valid.astype(np.float64) if weights is None else np.where(valid, weights, 0.0)
    whole = np.bincount(cultures, heavy)
    return np.asarray(heavy / (np.where(whole > 0, whole, 1.0)[cultures] * np.count_nonzero(whole)))


def item_sizes(valid: NDArray[np.bool_], cultures: IntArray, weights: FloatArray | None = None) -> FloatArray:
    """Items of each culture that has a ``valid`` row; with ``weights`` Kish's effective number of them."""
    heavy = valid.astype(np.float64) if weights is None else np.where(valid, weights, 0.0)
    whole, squares = np.bincount(cultures, heavy), np.bincount(cultures, heavy**2)
    there = whole > 0
    return np.asarray(whole[there] ** 2 / squares[there])


class ItemChange(NamedTuple):
    """How a difference varies over items: its standard deviation, and the share of items of the opposite sign."""

    sd: float
    reversed: float


def change_over_items(differences: ArrayLike, cultures: ArrayLike | None = None) -> ItemChange | None:
    """How paired differences vary item by item, cultures counting alike, as in their mean.

    ``differences``: (items,), NaN left out; ``cultures``: (items,) labels, None: one. An item without a difference goes
    neither way; where the mean is 0, no item is opposite. None for fewer than two items.
    """
    every = np.asarray(differences, dtype=np.float64)
    valid = ~np.isnan(every)
    if np.count_nonzero(valid) < 2:
        return None
    codes = cluster_codes([0] * len(every) if cultures is None else cultures, len(every))
    weights, values = equal_weights(valid, codes), np.where(valid, every, 0.0)
    weights /= weights.sum()
    mean = float((weights * values).sum())
    sd = float(np.sqrt((weights * (values - mean) ** 2).sum()))
    against = 0.0 if abs(mean) <= ROUNDING else float(weights[values * mean < 0].sum())
    return ItemChange(sd, against)

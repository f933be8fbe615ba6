"""Per-cluster sums of a matrix of values, and all that clustered estimates take from them, for every column at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kapwa.errors import DataError, UsageError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

# Below this share of the values' own size, a standard error is rounding noise and means "no spread".
ROUNDING = 1e-12


class ClusterSums(NamedTuple):
    """Statistics of a matrix of values in clusters, NaN left out: one number per column, but for the first two.

    ``sizes`` and ``totals``: (clusters, columns) number of values and their sum. ``n``: values; ``clusters``: clusters
    with at least one of them; ``mean``: over values, not over clusters; ``scatter``: sum of squared deviations from it.

    ``se``: √(G/(G−1) · Σ_g (Σ_{i∈g} (x_i − x̄))²) / n, Miller (2024, arXiv 2411.00640) with the small-sample factor
    G/(G−1); with clusters of one value the classical s/√n; NaN with fewer than two clusters.

    ``df``: Satterthwaite degrees of freedom of the clustered variance, NaN with one cluster. Bell and McCaffrey (2002)
    for an intercept-only regression with independent errors, where it has the closed form
    n² / (Σ n_g² + (Σ a_g)² − Σ a_g²), a_g = n_g² / (n − n_g). Clusters of equal size give exactly G−1; one cluster
    that holds most of the items gives far less, as it should.

    ``kish_size``: effective sample size if all values of a cluster were the same, n² / Σ n_g² (Kish 1965).
    ``design_effect``: clustered variance over the variance of as many independent values; NaN without spread. It is at
    least 1: an estimate under 1 is nearly always noise and would narrow the interval.
    """

    sizes: FloatArray
    totals: FloatArray
    n: FloatArray
    clusters: IntArray
    mean: FloatArray
    scatter: FloatArray
    se: FloatArray
    df: FloatArray
    kish_size: FloatArray
    design_effect: FloatArray


def cluster_sums(values: FloatArray, codes: IntArray, weights: FloatArray | None = None) -> ClusterSums:
    """Sum a (rows, columns) matrix by cluster code; NaN entries count nowhere.

    ``weights``: (rows,) how many items each row stands for; they are scaled so that a column's add up to its ``n``, and
    "one value" above is then one of that weight.
    """
    present = ~np.isnan(values)
    filled = np.where(present, values, 0.0)
    heavy = present.astype(np.float64)
    if weights is not None:
        heavy = present * weights[:, None]
        heavy *= np.nan_to_num(_divide(present.sum(axis=0), heavy.sum(axis=0)))
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    sizes, totals = (np.add.reduceat(matrix[order], starts, axis=0) for matrix in (heavy, heavy * filled))
    n, groups = sizes.sum(axis=0), np.count_nonzero(sizes, axis=0)
    mean = _divide(totals.sum(axis=0), n)
    centre = np.nan_to_num(mean)
    largest = np.abs(filled).max(axis=0, initial=0.0)
    scatter = (heavy * (filled - centre) ** 2).sum(axis=0)
    scatter[scatter <= (ROUNDING * largest) ** 2 * len(values)] = 0.0
    factor = _divide(groups, groups - 1)
    se = _divide(np.sqrt(factor * ((totals - sizes * centre) ** 2).sum(axis=0)), n)
    se[se <= ROUNDING * largest] = 0.0
    squares = (sizes**2).sum(axis=0)
    share = _divide(sizes**2, n - sizes)
    df = np.where(groups > 1, _divide(n**2, squares + share.sum(axis=0) ** 2 - (share**2).sum(axis=0)), np.nan)
    design_effect = np.maximum(_divide(se**2, _divide(scatter, n * (n - 1))), 1.0)
    return ClusterSums(
        sizes=sizes,
        totals=totals,
        n=n,
        clusters=groups,
        mean=mean,
        scatter=scatter,
        se=se,
        df=df,
        kish_size=_divide(n**2, squares),
        design_effect=design_effect,
    )


def _divide(a: ArrayLike, b: ArrayLike) -> FloatArray:
    """Divide, giving NaN (and no warning) where the divisor is zero."""
    quotient: FloatArray = np.divide(a, b, out=np.full(np.broadcast(a, b).shape, np.nan), where=np.not_equal(b, 0))
    return quotient


def cluster_codes(clusters: ArrayLike | None, n: int) -> IntArray:
    """Number the cluster of each of ``n`` rows from 0, in sorted order of the labels; None: a cluster a row.

    Sorted numbering makes every seeded resample independent of the order of rows.
    """
    if clusters is None:
        return np.arange(n, dtype=np.intp)
    labels = np.asarray(clusters, dtype=object)
    if labels.shape != (n,):
        raise UsageError(
            f"There are {n} rows of values but the cluster labels have shape {labels.shape}.",
            hint="Give one cluster label for each row.",
        )
    for row, label in enumerate(labels, start=1):
        if label is None or (isinstance(label, float) and np.isnan(label)):
            hint = "Every item needs the name of the unit that was sampled."
            raise DataError("the cluster label is missing.", row=row, column="cluster", hint=hint)
    # Labels keep their own type where they share one; mixed labels (3 and "a") sort as text.
    return np.asarray(np.unique(np.asarray(labels.tolist()), return_inverse=True)[1], dtype=np.intp)


def read_values(values: ArrayLike, share: bool | Sequence[bool]) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return values as a float matrix, one column a metric (a vector is one column), and which columns are shares.

    ``share``: values lie between 0 and 1; one flag, or one for each column. NaN marks missing values. Raises UsageError
    for another shape, DataError for infinite values and for shares outside 0 to 1 by more than rounding.
    """
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2:
        raise UsageError(f"Values must be a vector or a matrix (rows × metrics), not of shape {matrix.shape}.")
    if np.isinf(matrix).any():
        raise DataError("a value is infinite; an estimate needs finite values.", hint="Use NaN for 'not measured'.")
    flags = np.broadcast_to(np.asarray(share, dtype=bool), matrix.shape[1:])
    # Values that lie outside only by rounding are moved to the end of the range.
    matrix = np.where(flags & (np.abs(matrix - 0.5) <= 0.5 + 1e-9), np.clip(matrix, 0.0, 1.0), matrix)
    bad = np.argwhere(flags & ((matrix < 0) | (matrix > 1)))
    if len(bad):
        raise DataError(
            f"a share, or a right/wrong metric, has a value outside 0 to 1 at position {bad[0, 0] + 1}.",
            hint="Right is 1, wrong is 0, and the mean of several samples of one item lies between.",
        )
    return matrix, flags


def none_if_nan(value: float) -> float | None:
    """Turn NaN into None for records that people and JSON read."""
    return None if np.isnan(value) else float(value)

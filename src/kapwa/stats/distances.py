"""Variance without coordinates: how far texts lie apart within and across identities, from distances alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import DataError, UsageError
from kapwa.stats.clusters import FloatArray, IntArray
from kapwa.stats.kendall import square_matrix
from kapwa.stats.resampling import BLOCK_VALUES, TIE, check_permutations, monte_carlo_p, permuted_orders


@dataclass(frozen=True, slots=True)
class LexicalVariance:
    """Lexical variance of one concept, in squared distance (0 to ½ for distances up to 1; reference: 0 to 1).

    ``within``: (G,) among one identity's own texts; ``across``: (G,) between its texts and the others';
    ``within_mean``, ``across_mean``: over identities that have one. NaN where there are too few texts.
    """

    within: FloatArray
    across: FloatArray
    within_mean: float
    across_mean: float


@dataclass(frozen=True, slots=True)
class Permanova:
    """Pseudo-F, share of the sum of squares between groups (R²) and permutation p.

    F and R² are NaN when all texts are the same; F is infinite when only the groups differ.
    """

    f: float
    r2: float
    p: float


def lexical_variance(wed_square: ArrayLike, samples: ArrayLike) -> LexicalVariance:
    """Half the mean squared distance over distinct pairs of texts: one estimator within and across identities.

    ``wed_square``: (G, G) mean of squared distances over pairs of texts, on the diagonal over pairs of distinct
    texts of one identity. ``samples``: (G,) texts of each identity; fewer than two have no variance within, none
    leave the identity out. Half the mean squared difference of two draws *is* the variance of numbers (appendix
    A.1 applies it to edit distances), and over distinct pairs it is unbiased: where the identity makes no
    difference, within and across have the same expectation for any numbers of samples. Each identity counts once
    in the means, so they speak of two texts for one identity and for two. Raises UsageError for shapes that do
    not fit.
    """
    squares, counts = square_matrix(wed_square, "distances between identities"), np.asarray(samples)
    if counts.shape != (len(squares),):
        raise UsageError(f"There are {len(squares)} identities but sample counts of shape {counts.shape}.")
    half = squares / 2
    within = np.where(counts >= 2, np.diagonal(half), np.nan)
    pairs = np.where((counts > 0)[:, None] & (counts > 0), half, np.nan)
    np.fill_diagonal(pairs, np.nan)
    return LexicalVariance(within, row_means(pairs), _mean(within), _mean(pairs.ravel()))


def lexical_variance_reference(wed: ArrayLike, wed_square_reference: ArrayLike) -> LexicalVariance:
    """Variances as the released EECC code computes them: two different estimators.

    ``wed``: (G, G) mean distances; ``wed_square_reference``: (G,) Σd²/S² over all S² ordered pairs of an identity's
    texts. Across: Σ (mean distance)² / G², each identity zero from itself, so a *square of means*. Within: a *mean
    of squares* that counts S zero distances of texts to themselves, which are a fifth of all at S = 5. So the two
    differ even if the identity has no effect. Identities without texts (NaN rows) are left out. Source:
    analysis/calculate_lexical_variance.py and calculate_within_nationality_lexical_variance.py.
    """
    means = square_matrix(wed, "distances between identities").copy()
    within = np.asarray(wed_square_reference, dtype=np.float64)
    if within.shape != (len(means),):
        raise UsageError(f"There are {len(means)} identities but variances within of shape {within.shape}.")
    np.fill_diagonal(means, np.nan)
    present = ~np.isnan(means).all(axis=1) | ~np.isnan(within)
    size = max(int(present.sum()), 1)
    across = np.where(present, np.nansum(means**2, axis=1) / size, np.nan)
    return LexicalVariance(within, across, _mean(within), _mean(across))


def permanova(distances: ArrayLike, groups: ArrayLike, *, permutations: int = 999, seed: int = 0) -> Permanova:
    """Permutational analysis of variance: do texts of one group lie nearer to each other than to the rest?

    ``distances``: (N, N) symmetric, its diagonal ignored. ``groups``: (N,) labels.
    F = (SS_A/(a − 1)) / (SS_W/(N − a)) with SS_T = Σd²/N over pairs and SS_W alike within groups; p: share of label
    permutations with an F at least as large, the observed one counted. When groups are equal, SS_W/(N − a) is the mean
    of :func:`lexical_variance` within. Each permutation reads only the pairs within groups. Raises UsageError for
    shapes that do not fit, asymmetry, infinite distances, one group, or only groups of one; DataError for NaN.
    Source: Anderson (2001), Austral Ecology 26; equals scikit-bio's.
    """
    check_permutations(permutations)
    matrix = _symmetric(distances)
    codes, sizes = _groups(groups, len(matrix))
    n, a = len(matrix), len(sizes)
    pairs = _pairs_within(codes, sizes)
    diagonal = np.diagonal(matrix)
    # Over unordered pairs; the diagonal does not count.
    total = float(np.einsum("ij,ij", matrix, matrix, dtype=np.float64) - diagonal @ diagonal) / 2 / n
    within = float(_sums_within(matrix, np.arange(n)[None], pairs)[0])
    hits = 0
    for orders in permuted_orders(n, permutations, seed=seed, values_each=pairs[0].size):
        drawn = _sums_within(matrix, orders, pairs)
        # F falls as the sum within rises, so the sums are compared; the tolerance keeps ties ties.
        hits += int(np.count_nonzero(drawn <= within + TIE * total))
    between = max(total - within, 0.0)
    f, r2 = float("nan"), float("nan")
    if total > 0:
        r2 = between / total
        f = (between / (a - 1)) / (within / (n - a)) if within > 0 else float("inf")
    return Permanova(f, r2, monte_carlo_p(hits, permutations))


@dataclass(frozen=True, slots=True)
class Permdisp:
    """F of the spreads of groups and its permutation p; NaN where no text differs in its distance from its centre."""

    f: float
    p: float


def permdisp(distances: ArrayLike, groups: ArrayLike, *, permutations: int = 999, seed: int = 0) -> Permdisp:
    """Are the texts of some groups spread more widely than those of others?

    F is that of an analysis of variance of each text's distance from the centre of its group,
    z² = Σd²/n − Σ of pairs d²/n², times n/(n − 1) so that the size of a group does not matter. For p, texts are moved
    so that all groups have one centre, assigned to the groups at random, and measured again. Permuting the distances
    alone would not do: few texts lie about equally far from a centre that they define themselves, and the test would
    find unequal spread in a fifth of the data without any. Groups of one text are left out.

    Use it beside :func:`permanova`, which takes spread for a difference where groups are of unequal spread *and* size.
    Raises as :func:`permanova`. Source: Anderson (2006), Biometrics 62; F equals scikit-bio's (test="centroid") where
    groups are of one size and distances Euclidean.
    """
    check_permutations(permutations)
    matrix = _symmetric(distances)
    codes, sizes = _groups(groups, len(matrix))
    grouped = np.flatnonzero(sizes[codes] > 1)
    grouped = grouped[np.argsort(codes[grouped], kind="stable")]
    sizes = sizes[sizes > 1]
    n = len(grouped)
    if len(sizes) < 2:
        return Permdisp(float("nan"), float("nan"))
    squares = matrix[np.ix_(grouped, grouped)] ** 2
    np.fill_diagonal(squares, 0.0)
    f = _spread_f(squares, np.arange(n), sizes)
    # Texts less the centre of their group, as products of every two.
    starts, group_of = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
    products = -squares / 2
    for _ in range(2):
        products = (products - (np.add.reduceat(products, starts) / sizes[:, None])[group_of]).T
    products *= np.sqrt(sizes / (sizes - 1))[group_of] * np.sqrt(sizes / (sizes - 1))[group_of][:, None]
    lengths = np.diagonal(products)
    moved = lengths[:, None] + lengths - 2 * products
    hits = 0
    for orders in permuted_orders(n, permutations, seed=seed, values_each=n):
        hits += sum(not _spread_f(moved, order, sizes) < f * (1 - TIE) for order in orders)
    return Permdisp(f, float("nan") if np.isnan(f) else monte_carlo_p(hits, permutations))


def _spread_f(squares: FloatArray, order: IntArray, sizes: IntArray) -> float:
    """F of the distances from the centre, where the texts in ``order`` make up groups of ``sizes``."""
    n, starts, z = len(order), np.cumsum(sizes) - sizes, np.empty(len(order))
    for size in np.unique(sizes):
        at = starts[sizes == size][:, None] + np.arange(size)
        members = order[at]
        means = squares[members[:, :, None], members[:, None, :]].mean(axis=2)
        z[at] = np.sqrt(np.abs(means - means.mean(axis=1, keepdims=True) / 2) * size / (size - 1))
    z -= z.mean()
    total = float(z @ z)
    if total <= TIE * n * float(squares.max(initial=0.0)):
        return float("nan")
    between = float((np.add.reduceat(z, starts) ** 2 / sizes).sum())
    within = total - between
    return between / (len(sizes) - 1) / (within / (n - len(sizes))) if within > TIE * total else float("inf")


def _sums_within(matrix: FloatArray, orders: IntArray, pairs: tuple[IntArray, IntArray, FloatArray]) -> FloatArray:
    """Σ over groups of Σd²/size, for each order of the texts: (rows,)."""
    # Pairs along rows: a gather of whole rows is several times faster than one within rows.
    columns = np.ascontiguousarray(orders.T)
    sums = np.zeros(len(orders))
    for start in range(0, pairs[0].size, BLOCK_VALUES):
        first, second, weights = (array[start : start + BLOCK_VALUES] for array in pairs)
        values = matrix.reshape(-1).take(columns[first] * len(matrix) + columns[second])
        sums += weights @ (values * values)
    return sums


def _pairs_within(codes: IntArray, sizes: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Positions of all pairs of texts in the same group, and 1/size of that group."""
    order, starts = np.argsort(codes, kind="stable"), np.cumsum(sizes) - sizes
    first, second, weights = [], [], []
    for size in np.unique(sizes[sizes > 1]):
        low, high = np.triu_indices(size, 1)
        members = order[starts[sizes == size][:, None] + np.arange(size)]
        first.append(members[:, low].ravel())
        second.append(members[:, high].ravel())
        weights.append(np.full(first[-1].size, 1 / size))
    return np.concatenate(first), np.concatenate(second), np.concatenate(weights)


def _symmetric(distances: ArrayLike) -> FloatArray:
    """Return the distances (N, N) as a matrix; raise as :func:`permanova`."""
    matrix = square_matrix(distances, "distances")
    if not np.array_equal(matrix, matrix.T):
        if np.isnan(matrix).any():
            row, column = (int(index) for index in np.argwhere(np.isnan(matrix))[0])
            raise DataError(f"the distance between texts {row + 1} and {column + 1} is missing.")
        if not np.allclose(matrix, matrix.T):
            raise UsageError("The distances are not symmetric.", hint="Give the mean of both directions.")
    return matrix


def _groups(groups: ArrayLike, n: int) -> tuple[IntArray, IntArray]:
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise UsageError(f"There are {n} texts but group labels of shape {labels.shape}.")
    _, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if len(sizes) < 2 or sizes.max() < 2:
        raise UsageError(
            f"{n} texts in {len(sizes)} groups: at least two groups, and one of two texts, are needed.",
            hint="Sample each prompt at least twice to tell identities from chance.",
        )
    return np.asarray(codes, dtype=np.intp), np.asarray(sizes, dtype=np.intp)


def row_means(matrix: FloatArray) -> FloatArray:
    """Mean of the known values of each row; NaN (without a warning) for a row without any."""
    known = ~np.isnan(matrix)
    counts = known.sum(axis=1)
    sums = np.where(known, matrix, 0.0).sum(axis=1)
    means: FloatArray = np.divide(sums, counts, out=np.full(len(matrix), np.nan), where=counts > 0)
    return means


def _mean(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")

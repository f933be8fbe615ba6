"""Resampling: the bootstrap and sign flips of whole clusters, and random orders for permutation tests."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import UsageError
from kapwa.stats.clusters import FloatArray, IntArray

# Enumerating 2^14 sign vectors is as quick as drawing them; above, integer sums still have an exact answer.
ENUMERABLE = 14
LEAST_REPLICATES = 100
CHUNK = 4096
CONVOLUTION_LIMIT = 20_000_000
# Values per block: large enough for numpy's loops, small enough for the processor's cache.
BLOCK_VALUES = 1 << 17
# Statistics that agree to this share of their size are ties: a relabelling may leave them the same by symmetry.
TIE = 1e-10


def check_replicates(replicates: int) -> None:
    """Raise UsageError when there are too few resamples for an interval or a p-value to mean anything."""
    if replicates < LEAST_REPLICATES:
        raise UsageError(
            f"At least {LEAST_REPLICATES} replicates are needed, not {replicates}.", hint="The default is 2000."
        )


def bootstrap_weights(groups: int, *, replicates: int, seed: int) -> FloatArray:
    """Draw how often each cluster enters each resample: (replicates, groups) counts, rows sum to ``groups``."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(groups, np.full(groups, 1 / groups), size=replicates).astype(np.float64)


def expanded_tail(groups: int, df: ArrayLike, level: float = 0.95) -> FloatArray:
    """Share of resamples beyond each end of an interval: Φ(−√(G/(G−1)) · t_df) (Hesterberg 2014, arXiv 1411.5279).

    A plain percentile interval is too narrow by √((G−1)/G) and uses normal instead of t quantiles; this repairs both.
    """
    from scipy.special import ndtr, stdtrit

    return np.asarray(ndtr(-np.sqrt(groups / (groups - 1)) * stdtrit(df, 0.5 + level / 2)))


def _exact_integer(sums: FloatArray, ties: float) -> float:
    """Exact two-sided p of Σ ±|D_g| for integer sums, by convolution: any number of clusters."""
    from scipy.special import gammaln

    sizes, counts = np.unique(np.abs(sums).astype(np.int64), return_counts=True)
    centre, chances = int(sizes @ counts), np.ones(1)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        # Clusters of one size are like equal coins: one head more moves the sum by twice that size.
        heads = np.arange(count + 1)
        ways = gammaln(count + 1) - gammaln(heads + 1) - gammaln(count - heads + 1)
        moved = np.zeros(len(chances) + 2 * size * count)
        for start, chance in zip(2 * size * heads, np.exp(ways - count * math.log(2)), strict=True):
            moved[start : start + len(chances)] += chance * chances
        chances = moved
    reach = abs(int(sums.sum()))
    beyond, equal = 2 * chances[centre + reach + 1 :].sum(), (2 if reach else 1) * chances[centre + reach]
    return float(min(1.0, beyond + ties * equal))


def _exact_enumerated(sums: FloatArray, ties: float) -> float:
    """Exact two-sided p over all sign vectors; the tolerance keeps ties ties."""
    outcomes = np.zeros(1)
    for value in sums:
        outcomes = np.concatenate([outcomes + value, outcomes - value])
    beyond, noise = np.abs(outcomes) - abs(sums.sum()), TIE * np.abs(sums).sum()
    return float((beyond > noise).mean() + ties * (np.abs(beyond) <= noise).mean())


def sign_flip_p_values(
    sums: FloatArray, *, replicates: int, seed: int, mid_p: bool = False
) -> tuple[FloatArray, list[str]]:
    """Two-sided p-values that the paired differences are symmetric about zero, cluster by cluster.

    ``sums``: (clusters, columns) sum of differences in each cluster. Under the null hypothesis the two systems
    are exchangeable, so the sign of each cluster's sum is a fair coin. Exact when the sums are whole numbers
    (right/wrong metrics; with clusters of one item this is the exact McNemar test) or when at most 14 clusters
    differ; otherwise ``(k + 1) / (replicates + 1)`` over random signs (Phipson and Smyth 2010). A column without
    any difference has p = 1. ``mid_p``: where p is exact, results that equal the observed one count half (Lancaster
    1961; for McNemar's test Fagerland, Lydersen and Laake 2013); with random signs there are hardly any of these.
    Returns the p-values and how each was computed: "exact", "mid-p" or "sampled".
    """
    check_replicates(replicates)
    ties, exactly = (0.5, "mid-p") if mid_p else (1.0, "exact")
    columns = sums.shape[1]
    p_values, ways, sampled = np.ones(columns), [exactly] * columns, []
    for column in range(columns):
        # Differences that cancel within a cluster leave 1e-17 behind; they are zeros.
        nonzero = sums[:, column][np.abs(sums[:, column]) > 1e-12]
        if not nonzero.size:
            continue
        whole = np.rint(nonzero)
        total = float(np.abs(whole).sum())
        if whole.all() and np.abs(nonzero - whole).max() < 1e-9 and total * nonzero.size < CONVOLUTION_LIMIT:
            p_values[column] = _exact_integer(whole, ties)
        elif nonzero.size <= ENUMERABLE:
            p_values[column] = _exact_enumerated(nonzero, ties)
        else:
            sampled.append(column)
            ways[column] = "sampled"
    if sampled:
        p_values[sampled] = _sampled(sums[:, sampled], replicates=replicates, seed=seed)
    return p_values, ways


def _sampled(sums: FloatArray, *, replicates: int, seed: int) -> FloatArray:
    """Monte Carlo p-values; all columns share the random signs, drawn in chunks to bound memory."""
    generator = np.random.default_rng(seed)
    bar = np.abs(sums.sum(axis=0)) - TIE * np.abs(sums).sum(axis=0)
    hits = np.zeros(sums.shape[1])
    for start in range(0, replicates, CHUNK):
        rows = min(CHUNK, replicates - start)
        signs = generator.integers(0, 2, size=(rows, sums.shape[0]), dtype=np.int8).astype(np.float64) * 2 - 1
        hits += (np.abs(signs @ sums) >= bar).sum(axis=0)
    return np.asarray((hits + 1) / (replicates + 1))


# --- permutation tests ------------------------------------------------------------------------------------


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


def monte_carlo_p(hits: int, permutations: int) -> float:
    """(1 + hits) / (1 + permutations): never 0, and exact in size (Phipson and Smyth 2010)."""
    return (1 + hits) / (1 + permutations)

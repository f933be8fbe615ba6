"""Estimates of mean distances from some pairs of identities, where all pairs are too many.

Pairs are a simple random sample, without replacement, of all pairs of the corpus's identities. About this corpus
(what all its pairs would give) the usual interval with the finite-population correction is right, although pairs
share identities: identities are fixed, only the choice of pairs is random.

Source: Cochran 1977, chapter 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kapwa.errors import UsageError
from kapwa.metrics.pairwise_bleu import BleuTexts, bleu_texts, check_groups, score, shared_features
from kapwa.metrics.pairwise_edits import Ints, Texts, edits_between, read_texts
from kapwa.metrics.tokens import Encoded

Matrix = npt.NDArray[np.float64]

_CHUNK = 2_000
"""Pairs of identities whose texts or features are compared at once."""


class SampledMean(NamedTuple):
    """An estimated mean with its interval; ``n`` values measured of ``total``; NaN where nothing can be said."""

    estimate: float
    low: float
    high: float
    n: int
    total: int


@dataclass(frozen=True, slots=True)
class SampledDistances:
    """Estimated means over identities (within) and pairs of identities (across).

    WED within an identity is over its distinct pairs of texts; BLEU is averaged over both directions.
    """

    across_wed: SampledMean
    across_wed_square: SampledMean
    across_bleu: SampledMean
    within_wed: SampledMean
    within_wed_square: SampledMean
    pairs: int
    level: float


def sample_distances(
    encoded: Encoded,
    groups: npt.ArrayLike,
    identities: Sequence[str],
    *,
    pairs: int,
    seed: int,
    level: float = 0.95,
) -> SampledDistances:
    """Estimate the means of :func:`~kapwa.metrics.distance.pair_distances` from ``pairs`` pairs of identities.

    Pairs (and at most as many identities, for what is within) are drawn with ``seed`` among those with texts; if
    there are fewer pairs, all are taken. ``level``: of the intervals, Student's t. Raises UsageError for unfitting
    arrays, ``pairs`` below 2 or a level outside 0 to 1.
    """
    if pairs < 2 or not 0 < level < 1:
        raise UsageError(
            f"Cannot sample {pairs} pairs at level {level}.",
            hint="Give at least 2 pairs, and a level between 0 and 1.",
        )
    texts, labels = read_texts(encoded), np.asarray(groups, np.int64)
    check_groups(labels, len(texts.lengths), len(identities))
    rng = np.random.default_rng(seed)
    members = _members(labels, len(identities))
    present = np.flatnonzero([len(m) > 0 for m in members])
    drawn, total = _draw_pairs(present, pairs, rng)
    across = np.concatenate([_mean_wed(texts, members, part) for part in _parts(drawn)] or [np.empty((0, 2))])
    several = np.flatnonzero([len(m) > 1 for m in members])
    inside = np.sort(rng.choice(several, size=min(pairs, len(several)), replace=False))
    within = np.concatenate([_within_wed(texts, members, part) for part in _parts(inside)] or [np.empty((0, 2))])
    bleu = _bleu(bleu_texts(encoded, labels, len(identities), 4, only=np.unique(drawn)), drawn)
    speaking = len(np.unique(labels[texts.lengths > 0]))
    totals = (total, total, speaking * (speaking - 1) // 2)
    sampled = zip((*across.T, bleu), totals, strict=True)
    ends = [_estimate(values, of, level) for values, of in sampled]
    mids = [_estimate(values, len(several), level) for values in within.T]
    return SampledDistances(ends[0], ends[1], ends[2], mids[0], mids[1], len(drawn), level)


def _members(labels: Ints, n_groups: int) -> list[Ints]:
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels, minlength=n_groups))[:-1])


def _draw_pairs(present: Ints, pairs: int, rng: np.random.Generator) -> tuple[Ints, int]:
    """Draw pairs of identities without replacement: (P, 2), the smaller first, and how many there are in all."""
    count = len(present)
    total = count * (count - 1) // 2
    number = np.sort(rng.choice(total, size=min(pairs, total), replace=False)) if total else np.zeros(0, np.int64)
    # Pair number n lies in column j of the triangle below it: j(j−1)/2 ≤ n < j(j+1)/2.
    column = ((1 + np.sqrt(1 + 8.0 * number)) / 2).astype(np.int64)
    column -= column * (column - 1) // 2 > number
    column += column * (column + 1) // 2 <= number
    row = number - column * (column - 1) // 2
    return np.stack([present[row], present[column]], axis=1), total


def _parts(values: Ints) -> list[Ints]:
    return [values[i : i + _CHUNK] for i in range(0, len(values), _CHUNK)]


def _mean_wed(texts: Texts, members: list[Ints], pairs: Ints) -> Matrix:
    """Mean WED and mean squared WED of pairs of identities: (P, 2)."""
    compared = [np.stack(np.meshgrid(members[i], members[j], indexing="ij"), axis=-1).reshape(-1, 2) for i, j in pairs]
    return _means(texts, compared)


def _within_wed(texts: Texts, members: list[Ints], chosen: Ints) -> Matrix:
    """Mean WED and mean squared WED within identities of at least two texts: (K, 2)."""
    return _means(
        texts, [np.stack([members[i][side] for side in np.triu_indices(len(members[i]), 1)], 1) for i in chosen]
    )


def _means(texts: Texts, compared: list[Ints]) -> Matrix:
    flat = np.concatenate(compared)
    longer = np.maximum(texts.lengths[flat].max(axis=1), 1)
    distances = edits_between(texts, flat) / longer
    sizes = np.array([len(part) for part in compared])
    starts = np.cumsum(sizes) - sizes
    found: Matrix = np.stack([np.add.reduceat(each, starts) / sizes for each in (distances, distances**2)], axis=1)
    return found


def _bleu(chosen: BleuTexts, pairs: Ints) -> Matrix:
    """BLEU of pairs of identities, averaged over both directions: (P,); NaN where one has empty texts only."""
    from scipy.sparse import csr_matrix

    lengths, orders = chosen.lengths(), []
    for features in shared_features(chosen):
        shape = (len(features.starts) - 1, chosen.n_groups)
        counts = csr_matrix((features.counts.astype(float), features.groups, features.starts), shape=shape).T.tocsr()
        orders.append((counts, counts.sign()))
    shortest = np.ones(chosen.n_groups)
    present, starts = np.unique(chosen.groups, return_index=True)
    if len(present):
        shortest[present] = np.minimum.reduceat(chosen.texts.lengths, starts)
    found = np.empty(len(pairs))
    for first in range(0, len(pairs), _CHUNK):
        part = pairs[first : first + _CHUNK].T
        values = [_direction(orders, lengths, shortest, a, b) for a, b in (part, part[::-1])]
        found[first : first + _CHUNK] = np.mean(values, axis=0)
    found[(lengths.texts[pairs] == 0).any(axis=1)] = np.nan
    return found


def _direction(orders: list[tuple[Any, Any]], lengths: Any, shortest: Matrix, first: Ints, second: Ints) -> Matrix:
    matches = [np.asarray(counts[first].multiply(presence[second]).sum(axis=1)).ravel() for counts, presence in orders]
    reference = lengths.texts[first] * shortest[second]
    return score(np.stack(matches), lengths.possible[:, first], np.maximum(lengths.tokens[first], 1.0), reference)


def _estimate(values: Matrix, total: int, level: float) -> SampledMean:
    """Mean of a simple random sample (n,) of ``total`` values with its interval, Student's t; NaN are left out."""
    from scipy.special import stdtrit

    values = values[~np.isnan(values)]
    n, mean = len(values), float(values.mean()) if len(values) else math.nan
    if n < 2:
        return SampledMean(mean, math.nan, math.nan, n, total)
    error = math.sqrt((1 - n / total) * float(values.var(ddof=1)) / n)
    half = float(stdtrit(n - 1, (1 + level) / 2)) * error
    return SampledMean(mean, mean - half, mean + half, n, total)

"""How far the texts of identities are from one another: word edit distance and corpus BLEU for all pairs, exactly.

Equal to the plain definitions (an edit distance a pair of texts, a corpus BLEU a pair of identities), computed
thousands of times faster; ``benchmarks/pairwise.py`` measures by how much. Where all pairs are too many,
:func:`sample_distances` estimates their means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kapwa.errors import KapwaError, UsageError
from kapwa.metrics.pairwise_bleu import Brevity, all_pairs_bleu, check_groups
from kapwa.metrics.pairwise_edits import (
    CELLS,
    Backend,
    EncodedTexts,
    Ints,
    edit_blocks,
    edits_between,
    read_texts,
    resolve_backend,
)
from kapwa.metrics.tokens import Encoded

Matrix = npt.NDArray[np.float64]

_STRIP = 64
_CHECKED_TEXTS = 16
# Pairs of identities whose texts are compared at once.
_CHUNK = 2_000


@dataclass(frozen=True, slots=True)
class PairDistances:
    """Distances of the texts of G identities about one concept.

    ``samples`` (G,): texts an identity. ``wed`` (G, G): mean word edit distance (0 to 1) over all pairs of one text
    of each; on the diagonal over all distinct pairs within the identity. ``wed_square``: mean of its square over the
    same pairs. ``wed_square_reference`` (G,): within, as the released analysis has it, over all ordered pairs with
    each text's distance of 0 to itself. ``bleu``: see :func:`all_pairs_bleu`. ``texts_wed`` (N, N): the distance of
    every two texts, in the order given, where it was asked for.

    NaN where there is no pair: identities without texts, the diagonal of ``bleu``, and that of ``wed`` with one text.
    """

    samples: Ints
    wed: Matrix
    wed_square: Matrix
    wed_square_reference: Matrix
    bleu: Matrix
    texts_wed: Matrix | None = None

    @property
    def similarity(self) -> Matrix:
        """BLEU averaged over both directions: (G, G), symmetric, NaN on the diagonal."""
        return np.add(self.bleu, self.bleu.T) / 2

    def similarity_reference(self, order: npt.ArrayLike) -> Matrix:
        """BLEU as released: of two identities, the texts of the first predict those of the second, both ways alike.

        ``order`` (G,): the place of each identity in the file; the one with the smaller is the first.
        """
        order_array = np.asarray(order)
        return np.where(order_array[:, None] < order_array, self.bleu, self.bleu.T)


def pair_distances(
    encoded: Encoded,
    groups: npt.ArrayLike,
    n_groups: int,
    *,
    brevity: Brevity = "nmt",
    backend: Backend = "auto",
    keep_texts: bool = False,
) -> PairDistances:
    """Return word edit distances and BLEU of every two identities.

    ``groups`` (N,): each text's identity, 0 to ``n_groups`` − 1; not all need have texts. ``brevity``: see
    :func:`all_pairs_bleu`. Memory: a few matrices of identities and blocks of bounded size; every two texts' distance
    only for ``keep_texts``. Raises UsageError for unfitting arrays.
    """
    labels = np.asarray(groups, np.int64)
    texts = read_texts(encoded)
    check_groups(labels, len(texts.lengths), n_groups)
    wed, square, matrix = _summed(texts, labels, n_groups, backend, keep_texts)
    samples = np.bincount(labels, minlength=n_groups).astype(np.int64)
    with np.errstate(invalid="ignore"):
        reference = 2 * np.diag(square) / samples**2
    _to_means(wed, samples)
    _to_means(square, samples)
    bleu = all_pairs_bleu(encoded, labels, n_groups, brevity=brevity)
    return PairDistances(samples, wed, square, reference, bleu, matrix)


def _summed(
    texts: EncodedTexts, labels: Ints, n_groups: int, backend: Backend, keep: bool
) -> tuple[Matrix, Matrix, Matrix | None]:
    """Sum distances and their squares over pairs of texts, each counted once: (G, G) each, lower triangle 0."""
    order = np.argsort(labels, kind="stable")
    ordered, labels = texts.take(order), labels[order]
    # No edits without tokens, so that dividing by 1 gives the 0 of two empty texts.
    lengths = np.maximum(ordered.lengths, 1).astype(np.int32)
    sums, squares = np.zeros((n_groups, n_groups)), np.zeros((n_groups, n_groups))
    matrix = np.zeros((len(order), len(order))) if keep else None
    for top, block in edit_blocks(ordered, backend=backend):
        # Strips are small enough for the processor's cache, and without what lies left of the diagonal.
        for row in range(0, len(block), _STRIP):
            strip, first = block[row : row + _STRIP, row:], top + row
            last = first + len(strip)
            distances: Matrix = strip / np.maximum.outer(lengths[first:last], lengths[first:])
            if matrix is not None:
                matrix[first:last, first:] = distances
            rows, row_starts = np.unique(labels[first:last], return_index=True)
            columns, starts = np.unique(labels[first:], return_index=True)
            cells = np.ix_(rows, columns)
            sums[cells] += np.add.reduceat(np.add.reduceat(distances, row_starts), starts, axis=1)
            distances *= distances
            squares[cells] += np.add.reduceat(np.add.reduceat(distances, row_starts), starts, axis=1)
    if matrix is not None:
        matrix += matrix.T
        back = np.argsort(order)
        matrix = matrix[np.ix_(back, back)]
    return sums, squares, matrix


def _to_means(sums: Matrix, samples: Ints) -> None:
    """Mirror sums over pairs and divide them by the number of pairs, in place, since G may be 10,000."""
    step = max(1, CELLS // max(1, len(sums)))
    for first in range(0, len(sums), step):
        last = min(first + step, len(sums))
        sums[first:last, :first] = sums[:first, first:last].T
        square = sums[first:last, first:last]
        square += np.triu(square, 1).T
    within = samples * (samples - 1) // 2
    with np.errstate(invalid="ignore"):
        diagonal = np.diag(sums) / within
        for first in range(0, len(sums), step):
            sums[first : first + step] /= np.multiply.outer(samples[first : first + step], samples)
        np.fill_diagonal(sums, diagonal)


def self_check(encoded: Encoded, seed: int) -> None:
    """Compare the edit distances of each two of 16 texts, drawn with ``seed``, with rapidfuzz's before a long analysis.

    Raises KapwaError naming the pair that differs.
    """
    texts = read_texts(encoded)
    count = len(texts.lengths)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(count, size=min(_CHECKED_TEXTS, count), replace=False))
    left, right = np.triu_indices(len(chosen), 1)
    if not len(left):
        return
    ((_, fast),) = edit_blocks(texts.take(chosen))
    slow = edits_between(texts, np.stack([chosen[left], chosen[right]], axis=1))
    differ = np.flatnonzero(fast[left, right] != slow)
    if len(differ):
        i, j = left[differ[0]], right[differ[0]]
        distances = f"{fast[i, j]} by {resolve_backend()} but {slow[differ[0]]} by rapidfuzz"
        hint = "Use backend='rapidfuzz', and please report this with the versions of numba and rapidfuzz."
        raise KapwaError(f"The edit distance of texts {chosen[i]} and {chosen[j]} is {distances}.", hint=hint)


# --- estimates from some pairs of identities --------------------------------------------------------


class SampledMean(NamedTuple):
    """An estimated mean with its interval; NaN where nothing can be said."""

    estimate: float
    low: float
    high: float


def sample_distances(
    encoded: Encoded, groups: npt.ArrayLike, n_groups: int, *, pairs: int, seed: int
) -> tuple[SampledMean, SampledMean]:
    """Estimate the means of the squared distances of :func:`pair_distances`, within and across, from some pairs.

    ``pairs`` pairs of identities (and at most as many identities, for what is within: over distinct pairs of texts)
    are drawn with ``seed`` among those with texts; if there are fewer, all are taken. Raises UsageError for unfitting
    arrays and ``pairs`` below 2.

    The pairs are a simple random sample, without replacement, of all pairs of the corpus's identities. About this
    corpus (what all its pairs would give) the usual 95 % interval with the finite-population correction is right,
    although pairs share identities: identities are fixed, only the choice of pairs is random (Cochran 1977, ch. 2).
    """
    if pairs < 2:
        raise UsageError(f"Cannot sample {pairs} pairs.", hint="Give at least 2 pairs.")
    texts, labels = read_texts(encoded), np.asarray(groups, np.int64)
    check_groups(labels, len(texts.lengths), n_groups)
    rng = np.random.default_rng(seed)
    sizes = np.bincount(labels, minlength=n_groups)
    members = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
    drawn, total = _draw_pairs(np.flatnonzero(sizes), pairs, rng)
    across = [
        np.stack(np.meshgrid(members[i], members[j], indexing="ij"), axis=-1).reshape(-1, 2) for i, j in drawn.tolist()
    ]
    several = np.flatnonzero(sizes > 1)
    inside = np.sort(rng.choice(several, size=min(pairs, len(several)), replace=False))
    within = [np.stack([members[i][side] for side in np.triu_indices(sizes[i], 1)], 1) for i in inside.tolist()]
    return _estimate(_mean_squares(texts, within), len(several)), _estimate(_mean_squares(texts, across), total)


def _draw_pairs(present: Ints, pairs: int, rng: np.random.Generator) -> tuple[Ints, int]:
    """Draw pairs of identities without replacement: (P, 2), the smaller first, and how many there are in all."""
    count = len(present)
    total = count * (count - 1) // 2
    number = np.sort(rng.choice(total, size=min(pairs, total), replace=False)) if total else np.zeros(0, np.int64)
    # Pair number n lies in column j of the triangle below it: j(j−1)/2 ≤ n < j(j+1)/2.
    column = ((1 + np.sqrt(1 + 8.0 * number)) / 2).astype(np.int64)
    row = number - column * (column - 1) // 2
    return np.stack([present[row], present[column]], axis=1), total


def _mean_squares(texts: EncodedTexts, compared: list[Ints]) -> Matrix:
    """Mean squared distance of each list of pairs of texts."""
    means = [np.empty(0)]
    for first in range(0, len(compared), _CHUNK):
        block = compared[first : first + _CHUNK]
        flat, sizes = np.concatenate(block), np.array([len(pairs) for pairs in block])
        squares = (edits_between(texts, flat) / np.maximum(texts.lengths[flat].max(axis=1), 1)) ** 2
        means.append(np.add.reduceat(squares, np.cumsum(sizes) - sizes) / sizes)
    return np.concatenate(means)


def _estimate(values: Matrix, total: int) -> SampledMean:
    """Mean of a simple random sample (n,) of ``total`` values in [0, 1] with its 95 % interval, Student's t."""
    from scipy.special import stdtrit

    n, mean = len(values), float(values.mean()) if len(values) else math.nan
    if n < 2:
        return SampledMean(mean, math.nan, math.nan)
    error = math.sqrt((1 - n / total) * float(values.var(ddof=1)) / n)
    half = float(stdtrit(n - 1, 0.975)) * error
    return SampledMean(mean, max(mean - half, 0.0), min(mean + half, 1.0))

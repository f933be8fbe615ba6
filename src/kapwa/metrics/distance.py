"""How far the texts of identities are from one another: word edit distance and corpus BLEU for all pairs, exactly.

Equal to the plain definitions (an edit distance a pair of texts, a corpus BLEU a pair of identities), computed
thousands of times faster; ``benchmarks/pairwise.py`` measures by how much. Where all pairs are too many,
:func:`~kapwa.metrics.pairwise_sample.sample_distances` estimates their means.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kapwa.errors import KapwaError
from kapwa.metrics.pairwise_bleu import Brevity, all_pairs_bleu, check_groups
from kapwa.metrics.pairwise_edits import (
    CELLS,
    Backend,
    Edits,
    Ints,
    Texts,
    edit_blocks,
    edits_between,
    read_texts,
    resolve_backend,
)
from kapwa.metrics.pairwise_sample import SampledDistances, SampledMean, sample_distances
from kapwa.metrics.tokens import Encoded

__all__ = [
    "Backend", "Brevity", "PairDistances", "SampledDistances", "SampledMean", "all_pairs_bleu", "pair_distances",
    "resolve_backend", "sample_distances", "self_check", "word_edits",
]  # fmt: skip

Matrix = npt.NDArray[np.float64]

_STRIP = 64
_CHECKED_TEXTS, _CHECKED_PAIRS = 16, 4


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

    identities: tuple[str, ...]
    samples: Ints
    wed: Matrix
    wed_square: Matrix
    wed_square_reference: Matrix
    bleu: Matrix
    texts_wed: Matrix | None = None

    @property
    def similarity(self) -> Matrix:
        """BLEU averaged over both directions: (G, G), symmetric, NaN on the diagonal."""
        found: Matrix = (self.bleu + self.bleu.T) / 2
        return found

    @property
    def similarity_reference(self) -> Matrix:
        """BLEU as released: of two identities, the texts of the first predict those of the second, both ways alike."""
        upper = np.triu(self.bleu, 1)
        found: Matrix = upper + upper.T
        np.fill_diagonal(found, np.nan)
        return found


def word_edits(encoded: Encoded, *, backend: Backend = "auto") -> Edits:
    """Levenshtein distance on tokens of every two texts: (N, N), symmetric.

    ``backend``: "auto" takes numba where installed; both give the same integers. Raises UsageError for arrays that
    are no encoded texts, MissingDependencyError for "numba" without it. Source: Levenshtein 1966.
    """
    texts = read_texts(encoded)
    count = len(texts.lengths)
    found: Edits = np.zeros((count, count), np.int32)
    for first, block in edit_blocks(texts, backend=backend):
        found[first : first + len(block), first:] = block
    found += found.T
    return found


def _by_longer(edits: Edits, rows: Ints, columns: Ints) -> Matrix:
    # No edits without tokens, so that dividing by 1 gives the 0 of two empty texts.
    longer = np.maximum.outer(np.maximum(rows, 1).astype(np.int32), columns.astype(np.int32))
    found: Matrix = edits / longer
    return found


def pair_distances(
    encoded: Encoded,
    groups: npt.ArrayLike,
    identities: Sequence[str],
    *,
    brevity: Brevity = "nmt",
    backend: Backend = "auto",
    keep_texts: bool = False,
) -> PairDistances:
    """Return word edit distances and BLEU of every two identities.

    ``groups`` (N,): each text's place in ``identities``; not all need have texts. ``brevity``: see
    :func:`all_pairs_bleu`. Memory: a few matrices of identities and blocks of bounded size; every two texts' distance
    only for ``keep_texts``. Raises UsageError for unfitting arrays.
    """
    labels = np.asarray(groups, np.int64)
    texts = read_texts(encoded)
    check_groups(labels, len(texts.lengths), len(identities))
    wed, square, kept = _summed(texts, labels, len(identities), backend, keep_texts)
    samples = np.bincount(labels, minlength=len(identities)).astype(np.int64)
    with np.errstate(invalid="ignore"):
        reference = 2 * np.diag(square) / samples**2
    _to_means(wed, samples)
    _to_means(square, samples)
    bleu = all_pairs_bleu(encoded, labels, len(identities), brevity=brevity)
    return PairDistances(tuple(identities), samples, wed, square, reference, bleu, kept)


def _summed(
    texts: Texts, labels: Ints, n_groups: int, backend: Backend, keep: bool
) -> tuple[Matrix, Matrix, Matrix | None]:
    """Sum distances and their squares over pairs of texts, each counted once: (G, G) each, lower triangle 0."""
    order = np.argsort(labels, kind="stable")
    ordered, labels = texts.take(order), labels[order]
    sums, squares = np.zeros((n_groups, n_groups)), np.zeros((n_groups, n_groups))
    kept = np.zeros((len(order), len(order))) if keep else None
    for first, strip in _strips(edit_blocks(ordered, backend=backend, cells=CELLS)):
        last = first + len(strip)
        distances = _by_longer(strip, ordered.lengths[first:last], ordered.lengths[first:])
        if kept is not None:
            kept[first:last, first:] = distances
        rows, row_starts = np.unique(labels[first:last], return_index=True)
        columns, starts = np.unique(labels[first:], return_index=True)
        place = np.ix_(rows, columns)
        sums[place] += np.add.reduceat(np.add.reduceat(distances, row_starts), starts, axis=1)
        distances *= distances
        squares[place] += np.add.reduceat(np.add.reduceat(distances, row_starts), starts, axis=1)
    if kept is not None:
        kept += kept.T
        back = np.argsort(order)
        kept = kept[np.ix_(back, back)]
    return sums, squares, kept


def _strips(blocks: Iterator[tuple[int, Edits]]) -> Iterator[tuple[int, Edits]]:
    """Cut blocks into strips small enough for the processor's cache, without what lies left of the diagonal."""
    for first, block in blocks:
        for row in range(0, len(block), _STRIP):
            yield first + row, block[row : row + _STRIP, row:]


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
        own = np.diag(sums) / within
        for first in range(0, len(sums), step):
            sums[first : first + step] /= np.multiply.outer(samples[first : first + step], samples)
        np.fill_diagonal(sums, own)


# --- checking the kernels against each other ------------------------------------------------------


def self_check(encoded: Encoded, groups: npt.ArrayLike, seed: int) -> None:
    """Compare the fast kernels with slower ones on some pairs, drawn with ``seed``, before a long analysis.

    Edit distances by the backend in use with rapidfuzz's for each two of 16 texts; BLEU with its plain definition
    for 4 pairs of identities. Raises KapwaError naming the pair that differs.
    """
    texts, labels = read_texts(encoded), np.asarray(groups, np.int64)
    check_groups(labels, len(texts.lengths), int(labels.max(initial=-1)) + 1)
    rng = np.random.default_rng(seed)
    _check_edits(texts, rng)
    present = np.unique(labels[texts.lengths > 0])
    if len(present) > 1:
        chosen = rng.choice(present, size=min(_CHECKED_PAIRS, len(present)), replace=False)
        _check_bleu(encoded, labels, chosen)


def _check_edits(texts: Texts, rng: np.random.Generator) -> None:
    count = len(texts.lengths)
    chosen = np.sort(rng.choice(count, size=min(_CHECKED_TEXTS, count), replace=False))
    left, right = np.triu_indices(len(chosen), 1)
    if not len(left):
        return
    ((_, fast),) = edit_blocks(texts.take(chosen))
    slow = edits_between(texts, np.stack([chosen[left], chosen[right]], axis=1))
    differ = np.flatnonzero(fast[left, right] != slow)
    if len(differ):
        pair = differ[0]
        raise KapwaError(
            f"The edit distance of texts {chosen[left[pair]]} and {chosen[right[pair]]} is "
            f"{fast[left[pair], right[pair]]} by {resolve_backend()} but {slow[pair]} by rapidfuzz.",
            hint="Use backend='rapidfuzz', and please report this with the versions of numba and rapidfuzz.",
        )


def _check_bleu(encoded: Encoded, labels: Ints, chosen: Ints) -> None:
    fast = all_pairs_bleu(encoded, labels, int(labels.max()) + 1)
    for first, second in zip(chosen, np.roll(chosen, 1), strict=True):
        slow = _plain_bleu(
            *([_tokens(encoded, i) for i in np.flatnonzero(labels == g).tolist()] for g in (first, second))
        )
        if not math.isclose(fast[first, second], slow, rel_tol=1e-9, abs_tol=1e-12):
            raise KapwaError(
                f"The BLEU of identity {first} against {second} is {fast[first, second]} by products of counts "
                f"but {slow} by its definition.",
                hint="Please report this with the versions of numpy and scipy.",
            )


def _tokens(encoded: Encoded, text: int) -> tuple[int, ...]:
    return tuple(encoded.ids[encoded.offsets[text] : encoded.offsets[text + 1]].tolist())


def _plain_bleu(predictions: list[tuple[int, ...]], references: list[tuple[int, ...]]) -> float:
    """Corpus BLEU with the shortest reference's length, by its definition."""
    predictions, references = ([text for text in texts if text] for texts in (predictions, references))
    logs = 0.0
    for order in range(1, 5):
        ceiling: Counter[tuple[int, ...]] = Counter()
        for text in references:
            ceiling |= _grams(text, order)
        counts = [_grams(text, order) for text in predictions]
        matches = sum((count & ceiling).total() for count in counts)
        if not matches:
            return 0.0
        logs += math.log(matches / sum(count.total() for count in counts)) / 4
    length, reference = sum(map(len, predictions)), len(predictions) * min(map(len, references))
    return math.exp(logs + min(0.0, 1 - reference / length))


def _grams(text: tuple[int, ...], order: int) -> Counter[tuple[int, ...]]:
    return Counter(text[i : i + order] for i in range(len(text) - order + 1))

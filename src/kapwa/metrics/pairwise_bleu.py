"""Corpus BLEU of every identity's texts against every other's, as products of count matrices.

The k-th occurrence of an n-gram in a text is a *feature*. A prediction shares with a set of references as many
n-grams (each clipped at its largest count in one reference) as it has features that any of the references has. So
with ``N[i, f]`` the number of texts of identity i with feature f, the clipped matches of all predictions of i against
all texts of j are ``sum_f N[i, f] · [N[j, f] > 0]``: whole numbers, computed for all pairs at once. A feature of one
identity only adds nothing to any pair, nor does any longer n-gram around it: both are left out at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from kapwa.errors import UsageError
from kapwa.metrics.pairwise_edits import CELLS, EncodedTexts, Ints, read_texts
from kapwa.metrics.tokens import Encoded
from kapwa.metrics.tokens_chunks import gather
from kapwa.value_types import Json, Untyped

Brevity = Literal["nmt", "closest", "average"]
Matrix = npt.NDArray[np.float64]

_DENSE_CELLS, _DENSE_STEP = 250_000, 256
"""A dense block of features stays in the processor's cache, but is not so thin that the product is slow."""
_DENSE_SHARE = 12
"""A feature of more than a twelfth of the identities is cheaper in a dense product than in a sparse one."""
_ORDERS = 4
"""N-grams are counted up to this length."""
_EXACT_FLOAT32 = 2**24
_BITS = 64


class Features(NamedTuple):
    """The features of one n-gram length that at least two identities have.

    ``starts`` (F + 1,): where each feature's entries start; ``groups``, ``counts``: its identities, and how many of
    their texts have it.
    """

    starts: Ints
    groups: Ints
    counts: Ints


class BleuTexts(NamedTuple):
    """The texts that BLEU compares: those with tokens, sorted by identity, one after the other.

    ``groups``: the identity of each text. ``samples`` (G,): texts an identity; ``possible`` (4, G): its n-grams by
    length, tokens first.
    """

    texts: EncodedTexts
    groups: Ints
    samples: Ints
    possible: Ints


def all_pairs_bleu(encoded: Encoded, groups: npt.ArrayLike, n_groups: int, *, brevity: Brevity = "nmt") -> Matrix:
    """Corpus BLEU of each identity's texts against every other identity's.

    ``groups`` (N,): each text's identity, 0 to ``n_groups`` − 1. Returns (G, G), 0 to 1; ``[i, j]``: all texts of i
    are predictions, each with all texts of j as its references. No smoothing: without a common 4-gram the
    value is 0. ``brevity``: the length a prediction is held against, of the shortest reference ("nmt", as
    tensorflow/nmt and Hugging Face's ``bleu`` do), the closest (as sacrebleu does; the shorter of two equally close)
    or their average. Empty texts are neither predictions nor references. NaN on the diagonal and for identities
    without texts.

    Source: Papineni et al. 2002; the paper of EECC, appendix on similarity. Raises UsageError for unfitting arrays.
    """
    chosen = _bleu_texts(encoded, groups, n_groups)
    orders = list(_shared_features(chosen))
    bleu: Matrix = np.empty((n_groups, n_groups))
    step = max(1, CELLS // max(1, n_groups))
    for first in range(0, n_groups, step):
        rows = slice(first, min(first + step, n_groups))
        matches = np.stack([_matches(features, rows, n_groups, int(chosen.possible[0].max())) for features in orders])
        reference = _reference_lengths(chosen, rows, brevity)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(matches / chosen.possible[:, rows, None]).mean(axis=0)
            logs += np.minimum(0.0, 1 - reference / chosen.possible[0, rows, None].astype(float))
            bleu[rows] = np.where((matches > 0).all(axis=0), np.exp(logs), 0.0)
    bleu[chosen.samples == 0] = np.nan
    bleu[:, chosen.samples == 0] = np.nan
    np.fill_diagonal(bleu, np.nan)
    return bleu


def _bleu_texts(encoded: Encoded, groups: npt.ArrayLike, n_groups: int) -> BleuTexts:
    texts, labels = read_texts(encoded), np.asarray(groups, np.int64)
    check_groups(labels, len(texts.lengths), n_groups)
    non_empty = np.flatnonzero(texts.lengths > 0)
    non_empty = non_empty[np.argsort(labels[non_empty], kind="stable")]
    lengths, labels = texts.lengths[non_empty], labels[non_empty]
    ids, ends = gather(texts.ids, texts.starts[non_empty], lengths)
    grams = np.maximum(lengths - np.arange(_ORDERS)[:, None], 0)
    possible = np.stack([np.bincount(labels, weights=row, minlength=n_groups) for row in grams]).astype(np.int64)
    samples = np.bincount(labels, minlength=n_groups)
    return BleuTexts(EncodedTexts(ids, ends[:-1], lengths, texts.size), labels, samples, possible)


def check_groups(groups: Ints, count: int, n_groups: int) -> None:
    """Raise UsageError unless there is an identity from 0 to ``n_groups`` − 1 for each text."""
    if groups.shape != (count,):
        raise UsageError(f"There are {count} texts, but groups of shape {groups.shape}.")
    if count and (groups.min() < 0 or groups.max() >= n_groups):
        raise UsageError(f"Groups must be 0 to {n_groups - 1}; found {groups.min()} to {groups.max()}.")


def _reference_lengths(chosen: BleuTexts, rows: slice, brevity: Brevity) -> Matrix:
    """Sum over an identity's predictions of the reference length each is held against: (rows, G)."""
    size, labels = chosen.texts.lengths, chosen.groups
    present, starts = np.unique(labels, return_index=True)
    # 1 where nothing is compared: avoids dividing by 0
    lengths: Matrix = np.ones((rows.stop - rows.start, len(chosen.samples)))
    if not len(present):
        return lengths
    if brevity != "closest":
        shortest, mean = np.minimum.reduceat(size, starts), chosen.possible[0, present] / chosen.samples[present]
        lengths[:, present] = chosen.samples[rows, None] * (shortest if brevity == "nmt" else mean)
        return lengths
    big = int(size.max()) + 1
    for group in range(rows.start, rows.stop):
        mine = size[np.searchsorted(labels, group) : np.searchsorted(labels, group, "right")]
        # Distance first, length second: the smallest number is the closest reference, the shorter of two.
        keys = np.abs(size[None, :] - mine[:, None]) * big + size[None, :]
        lengths[group - rows.start, present] = (np.minimum.reduceat(keys, starts, axis=1) % big).sum(axis=0)
    return lengths


# --- features ---------------------------------------------------------------------------------------


def _shared_features(chosen: BleuTexts) -> Iterator[Features]:
    """Yield, for each n-gram length, the features that at least two identities have."""
    ids, (_, starts, lengths, size) = chosen.texts.ids, chosen.texts
    count = len(ids)
    text_of = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    left = np.repeat((starts + lengths).astype(np.int32), lengths) - np.arange(count, dtype=np.int32)
    grams = ids
    kinds, positions = size, np.arange(count)
    for order in range(1, _ORDERS + 1):
        keys = grams[positions].astype(np.int64)
        if order > 1:
            keys *= size
            keys += ids[positions + (order - 1)]
        numbers, kept, kinds = _shared_grams(*_sort(keys, positions, kinds * size, count), text_of, chosen.groups)
        yield _count(numbers, text_of[kept], chosen)
        if order < _ORDERS:
            grams = np.full(count + 1, -1, np.int32)
            grams[kept] = numbers
            # A longer n-gram that two identities share starts and continues with n-grams they share.
            known = grams >= 0
            positions = np.flatnonzero(known[:-1] & known[1:] & (left > order))


def _sort(keys: Ints, positions: Ints, kinds: int, count: int) -> tuple[Ints, Ints]:
    """Return keys sorted, with their places, ascending within a key."""
    shift = max(1, count).bit_length()
    if max(1, kinds).bit_length() + shift < _BITS:
        # One number for both: sorting it is several times faster than finding an order of the keys.
        keys <<= shift
        keys |= positions
        keys.sort()
        return keys >> shift, keys & ((1 << shift) - 1)
    order = np.argsort(keys, kind="stable")
    return keys[order], positions[order]


def _changes(values: npt.NDArray[Json]) -> npt.NDArray[np.bool_]:
    """Return where a value differs from the one before; the first one does."""
    changes = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes


def _shared_grams(
    keys: Ints, positions: Ints, text_of: npt.NDArray[Untyped], groups: Ints
) -> tuple[npt.NDArray[Untyped], Ints, int]:
    """Number the n-grams that two identities have: the number and place of each occurrence, and how many there are.

    Places ascend, and with them identities: an n-gram is shared if its first and last occurrence differ in identity.
    """
    starts = np.flatnonzero(_changes(keys))
    widths = np.diff(starts, append=len(keys))
    shared = groups[text_of[positions[starts]]] != groups[text_of[positions[starts + widths - 1]]]
    total = int(shared.sum())
    numbers = np.repeat(np.arange(total, dtype=text_of.dtype), widths[shared])
    return numbers, positions[np.repeat(shared, widths)], total


def _count(grams: npt.NDArray[Untyped], texts: npt.NDArray[Untyped], chosen: BleuTexts) -> Features:
    """Count features from the occurrences of shared n-grams, sorted by n-gram and text.

    The k-th occurrence in a text has the number of the n-gram's first place plus k: an n-gram takes as many places
    as it occurs, so that no two features share a number.
    """
    new_gram = _changes(grams)
    new_text = new_gram | _changes(texts)
    first = np.flatnonzero(new_text)
    features = _entries(grams[first], chosen.groups[texts[first]])
    if len(first) == len(grams):
        return features
    again = np.flatnonzero(~new_text)
    run = np.searchsorted(first, again) - 1
    numbers = np.flatnonzero(new_gram)[grams[again]] + again - first[run]
    n_groups = len(chosen.samples)
    keys = np.sort(numbers * n_groups + chosen.groups[texts[again]])
    more = _entries(*np.divmod(keys, n_groups))
    starts = np.concatenate([features.starts, features.starts[-1] + more.starts[1:]])
    return Features(starts, *(np.concatenate(both) for both in zip(features[1:], more[1:], strict=True)))


def _entries(features: npt.NDArray[Untyped], groups: Ints) -> Features:
    """Return the entries of sorted (feature, identity) rows, but for features of one identity."""
    if not len(features):
        return Features(np.zeros(1, np.int64), groups, groups)
    new_feature = _changes(features)
    places = np.flatnonzero(new_feature | _changes(groups))
    counts = np.diff(places, append=len(features))
    starts = np.flatnonzero(new_feature[places])
    widths = np.diff(starts, append=len(places))
    entries = Features(np.append(starts, len(places)), groups[places], counts)
    return _choose(entries, widths, widths > 1)


# --- products -----------------------------------------------------------------------------------------


def _matches(features: Features, rows: slice, n_groups: int, most: int) -> Matrix:
    """Clipped matches of the predictions of ``rows`` with every identity's references: (rows, G), whole numbers."""
    from scipy.sparse import csr_matrix

    widths = np.diff(features.starts)
    dense = widths > n_groups / _DENSE_SHARE
    starts, groups, counted = _choose(features, widths, ~dense)
    shape, groups = (len(starts) - 1, n_groups), groups.astype(np.int32)
    counts = csr_matrix((counted.astype(np.float64), groups, starts), shape=shape)
    presence = csr_matrix((np.ones(len(groups)), groups, starts), shape=shape)
    matches: Matrix = (counts.T.tocsr()[rows] @ presence).toarray().astype(np.float64)
    matches += _dense_product(_choose(features, widths, dense), rows, n_groups, most)
    return matches


def _choose(features: Features, widths: Ints, chosen: npt.NDArray[np.bool_]) -> Features:
    if chosen.all():
        return features
    chosen_entries = np.repeat(chosen, widths)
    return Features(
        np.concatenate([[0], np.cumsum(widths[chosen])]),
        features.groups[chosen_entries],
        features.counts[chosen_entries],
    )


def _dense_product(features: Features, rows: slice, n_groups: int, most: int) -> Matrix:
    """Multiply in float32, whose whole numbers are exact to 2²⁴, or in float64 where sums may pass that."""
    kind = np.float32 if most < _EXACT_FLOAT32 else np.float64
    matches: Matrix = np.zeros((rows.stop - rows.start, n_groups))
    step, total = max(_DENSE_STEP, _DENSE_CELLS // max(1, n_groups)), len(features.starts) - 1
    for first in range(0, total, step):
        last = min(first + step, total)
        entries = slice(features.starts[first], features.starts[last])
        row = np.repeat(np.arange(last - first), np.diff(features.starts[first : last + 1]))
        counts = np.zeros((last - first, n_groups), kind)
        counts[row, features.groups[entries]] = features.counts[entries]
        matches += counts[:, rows].T @ (counts > 0).astype(kind)
    return matches

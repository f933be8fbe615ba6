"""Edit distances of every two texts, block by block: with numba where it is installed, with rapidfuzz otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from kapwa.errors import MissingDependencyError, UsageError
from kapwa.metrics.tokens import Encoded
from kapwa.value_types import Untyped

Backend = Literal["auto", "numba", "rapidfuzz"]
Ints = npt.NDArray[np.int64]
Edits = npt.NDArray[np.int32]

CELLS = 4_000_000
"""Numbers a block of a result holds: distances of 16 MB, and some 100 MB for what is computed from them."""
LANES = 32
"""Texts compared at once by the fast kernel; a block has at least so many rows."""
_SURROGATES, _SURROGATE_COUNT = 0xD800, 0x800


class EncodedTexts(NamedTuple):
    """Texts as ids, their starts and lengths, and the number of distinct ids."""

    ids: npt.NDArray[np.int32]
    starts: Ints
    lengths: Ints
    size: int

    def take(self, chosen: Ints) -> EncodedTexts:
        """Return the texts at these positions, in this order."""
        return EncodedTexts(self.ids, self.starts[chosen], self.lengths[chosen], self.size)


def read_texts(encoded: Encoded) -> EncodedTexts:
    """Return encoded texts as the kernels take them.

    Raises UsageError where the arrays contradict one another, since compiled code would read other memory.
    """
    ids, offsets = np.ascontiguousarray(encoded.ids, np.int32), np.asarray(encoded.offsets, np.int64)
    lengths, size, problem = np.diff(offsets), len(encoded.vocabulary), ""
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(ids) or (lengths < 0).any():
        problem = f"The offsets of encoded texts must grow from 0 to the number of ids, {len(ids)}."
    elif len(ids) and (ids.min() < 0 or ids.max() >= size):
        problem = f"The ids of encoded texts must be positions in their vocabulary of {size}; "
        problem += f"found {ids.min()} to {ids.max()}."
    if problem:
        raise UsageError(problem, hint="Make them with kapwa.metrics.tokens.encode.")
    return EncodedTexts(ids, offsets[:-1].copy(), lengths, size)


def resolve_backend(backend: Backend = "auto") -> Literal["numba", "rapidfuzz"]:
    """Return what ``backend`` means here: "auto" is numba where it can be imported. Both give the same integers.

    Raises MissingDependencyError for "numba" without numba.
    """
    if backend == "rapidfuzz" or (backend == "auto" and _kernel() is None):
        return "rapidfuzz"
    if _kernel() is None:
        raise MissingDependencyError("numba", extra="fast", purpose="The backend 'numba'")
    return "numba"


@cache
def _kernel() -> Untyped:
    """Return the compiled kernel, or None where numba is missing or does not fit this numpy."""
    try:
        from kapwa.metrics import pairwise_numba
    except ImportError:
        return None
    return pairwise_numba.fill


def edits_between(texts: EncodedTexts, pairs: Ints) -> Edits:
    """Return the edit distances of pairs of texts, shape ``(P,)``; ``pairs`` (P, 2) are positions. By rapidfuzz."""
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cpdist

    used, inverse = np.unique(pairs, return_inverse=True)
    strings = _as_strings(texts.take(used))
    left, right = ([strings[i] for i in side] for side in inverse.reshape(-1, 2).T)
    edits: Edits = cpdist(left, right, scorer=Levenshtein.distance, dtype=np.int32, workers=1)
    return edits


def edit_blocks(texts: EncodedTexts, *, backend: Backend = "auto") -> Iterator[tuple[int, Edits]]:
    """Yield blocks of the matrix of edit distances: the first row, and the block of shape (rows, N − first row).

    A block's columns start at its first row. Of every two texts only the one above the diagonal is given, the
    rest is 0, so that sums over all blocks count each two texts once.
    """
    chosen, count = resolve_backend(backend), len(texts.lengths)
    step = max(LANES, CELLS // max(1, count) // LANES * LANES)
    strings = _as_strings(texts) if chosen == "rapidfuzz" else []
    for first in range(0, count, step):
        last = min(first + step, count)
        yield first, _by_numba(texts, first, last) if chosen == "numba" else _by_rapidfuzz(strings, first, last)


def _by_numba(texts: EncodedTexts, first: int, last: int) -> Edits:
    """Compare rows ``first`` to ``last`` with one another and with all later texts."""
    count, fill = len(texts.lengths), _kernel()
    out = np.zeros((last - first, count - first), np.int32)
    corpus = (texts.ids, texts.starts, texts.lengths)
    # By length: lanes work in step, so that a batch costs as much as its longest text.
    rows = first + np.argsort(texts.lengths[first:last], kind="stable")
    later = last + np.argsort(texts.lengths[last:count], kind="stable")
    fill(corpus, texts.size, rows, rows, True, first, out)
    if len(later):
        fill(corpus, texts.size, rows, later, False, first, out)
    return out


def _by_rapidfuzz(strings: Sequence[str], first: int, last: int) -> Edits:
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    rows = strings[first:last]
    block: Edits = np.zeros((last - first, len(strings) - first), np.int32)
    # One list given twice is compared once each way: rapidfuzz looks whether both are the same object.
    block[:, : last - first] = np.triu(cdist(rows, rows, scorer=Levenshtein.distance, dtype=np.int32, workers=1))
    if last < len(strings):
        later = strings[last:]
        block[:, last - first :] = cdist(rows, later, scorer=Levenshtein.distance, dtype=np.int32, workers=1)
    return block


def _as_strings(texts: EncodedTexts) -> list[str]:
    """Return each text as a string with one character a token; Unicode has a million for them.

    Frequent tokens get the first characters: rapidfuzz finds those below 256 in a table, others by hashing.
    """
    points = np.empty(texts.size, np.uint32)
    points[np.argsort(-np.bincount(texts.ids, minlength=texts.size), kind="stable")] = np.arange(texts.size)
    points[points >= _SURROGATES] += _SURROGATE_COUNT
    whole = points[texts.ids].astype("<u4").tobytes().decode("utf-32-le")
    spans = zip(texts.starts.tolist(), texts.lengths.tolist(), strict=True)
    return [whole[start : start + length] for start, length in spans]

"""How often each identity's texts use each word: sparse counts that add up over concepts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kapwa.metrics.tokens import Encoded

Ints = NDArray[np.int64]

# Cells of a dense (identity, word) table up to which counting in one is quicker than sorting: 128 MB.
_DENSE = 1 << 24
# Cells of such a table up to which sums are kept in one: 64 MB, less than sorting as many entries would take.
_DENSE_SUMS = 1 << 23
# Entries gathered before they are added up, at least.
_PENDING = 1 << 20


@dataclass(frozen=True, eq=False)
class WordCounts:
    """Counts of G identities' tokens as rows of a sparse matrix (CSR).

    ``vocabulary``: the tokens that occur, sorted. Row ``i`` is the stretch ``indptr[i]:indptr[i + 1]`` of
    ``indices`` (int32 positions in the vocabulary, rising) and ``counts`` (int64, all positive). 12 bytes an entry.
    """

    vocabulary: tuple[str, ...]
    indptr: Ints
    indices: NDArray[np.int32]
    counts: Ints

    @property
    def n_groups(self) -> int:
        """How many identities (rows) there are, those without a token among them."""
        return len(self.indptr) - 1

    @property
    def rows(self) -> Ints:
        """The row of every entry."""
        return np.repeat(np.arange(self.n_groups), np.diff(self.indptr))

    @property
    def totals(self) -> Ints:
        """(G,) tokens of each identity."""
        sums = np.append(0, np.cumsum(self.counts))
        return np.asarray(sums[self.indptr[1:]] - sums[self.indptr[:-1]])

    def spread(self, members: ArrayLike, n_groups: int) -> WordCounts:
        """Return the same counts with row ``i`` at ``members[i]`` of ``n_groups`` rows, the others empty.

        For concepts that lack some identities, before they are merged with those that have them.
        """
        rows = np.asarray(members, np.int64)[self.rows]
        return _from_entries(self.vocabulary, rows, self.indices, self.counts, n_groups)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return plain arrays, for ``np.savez``: indptr, indices, counts, and the tokens' UTF-8 and its offsets."""
        encoded = [token.encode("utf-8", "surrogatepass") for token in self.vocabulary]
        return {
            "indptr": self.indptr,
            "indices": self.indices,
            "counts": self.counts.astype(np.int32) if self.counts.max(initial=0) < 2**31 else self.counts,
            "letters": np.frombuffer(b"".join(encoded), np.uint8),
            "offsets": np.cumsum([0, *map(len, encoded)], dtype=np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> WordCounts:
        """Return the counts that :meth:`to_arrays` wrote."""
        letters, offsets = arrays["letters"], arrays["offsets"]
        text = letters.tobytes().decode("utf-8", "surrogatepass")
        if len(text) < len(letters):
            # Characters begin at bytes that are no continuation of one.
            begun = np.concatenate([[0], np.cumsum((letters & 0xC0) != 0x80)])
            offsets = begun[offsets]
        tokens = tuple(text[start:end] for start, end in pairwise(offsets.tolist()))
        return cls(
            tokens,
            arrays["indptr"].astype(np.int64),
            arrays["indices"].astype(np.int32),
            arrays["counts"].astype(np.int64),
        )


def count_words(encoded: Encoded, groups: ArrayLike, n_groups: int) -> WordCounts:
    """Count the tokens of every identity; ``groups`` (N,): which of ``n_groups`` each text belongs to."""
    size = len(encoded.vocabulary)
    keys = np.repeat(np.asarray(groups, np.int64) * size, np.diff(encoded.offsets)) + encoded.ids
    if n_groups * size <= _DENSE:
        table = np.bincount(keys, minlength=n_groups * size)
        keys = np.flatnonzero(table)
        counts = table[keys]
    else:
        keys, counts = np.unique(keys, return_counts=True)
    rows, indices = np.divmod(keys, max(size, 1))
    indptr = np.searchsorted(rows, np.arange(n_groups + 1)).astype(np.int64)
    return WordCounts(encoded.vocabulary, indptr, indices.astype(np.int32), counts.astype(np.int64))


class WordSums:
    """Growing sums of word counts of ``n_groups`` identities, added row by row; holds some three times the result.

    A table of a row for each word and a column for each identity while that is small, else entries that are sorted now
    and then.
    """

    def __init__(self, n_groups: int) -> None:
        self._n_groups = n_groups
        self._known: defaultdict[str, int] = defaultdict()  # a number from 0 for every token that is looked up
        self._known.default_factory = self._known.__len__
        self._table: Ints | None = np.zeros(0, np.int64)
        self._parts: list[tuple[Ints, Ints]] = []
        self._settled = self._waiting = 0

    def add(self, counts: WordCounts) -> None:
        """Add counts of equally many identities."""
        vocabulary = counts.vocabulary
        numbers = np.fromiter(map(self._known.__getitem__, vocabulary), np.int64, len(vocabulary))
        # Word first: the vocabulary grows, the number of identities does not.
        keys = numbers[counts.indices] * self._n_groups + counts.rows
        table = self._grown()
        if table is not None:
            table[keys] += counts.counts  # of one addend, each key comes once
            return
        self._parts.append((keys, counts.counts))
        # Adding up is put off until as much is waiting as there is, so that it stays linear.
        self._waiting += len(keys)
        if self._waiting > max(_PENDING, self._settled):
            self._settle()

    def result(self) -> WordCounts:
        """Return the sums so far."""
        words = tuple(sorted(self._known))
        numbers = np.fromiter(map(self._known.__getitem__, words), np.int64, len(words))
        if self._table is not None:
            cells = self._table[: len(words) * self._n_groups].reshape(len(words), self._n_groups)[numbers].T.ravel()
            found = np.flatnonzero(cells)
            rows, indices = np.divmod(found, max(len(words), 1))
            indptr = np.searchsorted(rows, np.arange(self._n_groups + 1)).astype(np.int64)
            return WordCounts(words, indptr, indices.astype(np.int32), cells[found])
        self._settle()
        keys, values = self._parts[0]
        place = np.empty(len(words), np.int64)
        place[numbers] = np.arange(len(words))
        numbers, rows = np.divmod(keys, max(self._n_groups, 1))
        return _from_entries(words, rows, place[numbers], values, self._n_groups)

    def _grown(self) -> Ints | None:
        """Return the table with room for all words known, or None once it would be too large."""
        needed = len(self._known) * self._n_groups
        if self._table is None or needed <= len(self._table):
            return self._table
        before, self._table = self._table, None
        if needed <= _DENSE_SUMS:
            self._table = np.zeros(min(2 * needed, _DENSE_SUMS), np.int64)
            self._table[: len(before)] = before
        else:
            keys = np.flatnonzero(before)
            self._parts.append((keys, before[keys]))
            self._settled = len(keys)
        return self._table

    def _settle(self) -> None:
        keys = np.concatenate([part[0] for part in self._parts])
        values = np.concatenate([part[1] for part in self._parts])
        self._parts.clear()
        # Equal keys are added up, in whatever order they come: no stable sort is needed, and this one is vectorised.
        order = np.argsort(keys)
        keys, values = keys[order], values[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        self._parts.append((keys[starts], np.add.reduceat(values, starts) if len(starts) else values))
        self._settled, self._waiting = len(starts), 0


def _from_entries(
    vocabulary: tuple[str, ...], rows: Ints, indices: NDArray[Any], counts: Ints, n_groups: int
) -> WordCounts:
    """Sort entries into rows; each (row, index) comes once."""
    order = np.argsort(rows * np.int64(max(len(vocabulary), 1)) + indices)
    indptr = np.searchsorted(rows[order], np.arange(n_groups + 1)).astype(np.int64)
    return WordCounts(vocabulary, indptr, indices[order].astype(np.int32), counts[order])

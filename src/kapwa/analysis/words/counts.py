"""How often, and in how many of its texts, each identity uses each word: sparse counts that add up over concepts."""

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
# Prompts from which on a stratum is kept narrow.
_DOZEN = 12
# Cells of such a table up to which sums are kept in one: 128 MB, less than sorting as many entries would take.
_DENSE_SUMS = 1 << 23
# Entries gathered before they are added up, at least.
_PENDING = 1 << 20


@dataclass(frozen=True, eq=False)
class WordCounts:
    """Counts of G identities' tokens as rows of a sparse matrix (CSR).

    ``vocabulary``: the tokens that occur, sorted. Row ``i`` is the stretch ``indptr[i]:indptr[i + 1]`` of
    ``indices`` (int32 positions in the vocabulary, rising) and ``sums`` (2, E): uses, and texts with one (int64, all
    positive). 20 bytes an entry. An identity's texts of one concept are its prompt's: what one prompt does to all of
    them is seen once. ``prompts`` (C, G): how many prompts of an identity are in a stratum (0 or 1, unless several were
    merged), which has prompts of one concept with about equally many words. ``strata`` (4, E'): stratum, word, in how
    many texts of a prompt the word stands (at least 1), and how many prompts of the stratum have it in so many (int32);
    the strata rise.
    """

    vocabulary: tuple[str, ...]
    indptr: Ints
    indices: NDArray[np.int32]
    sums: Ints
    prompts: Ints
    strata: NDArray[np.int32]

    @property
    def counts(self) -> Ints:
        """(E,) uses."""
        return np.asarray(self.sums[0])

    @property
    def texts(self) -> Ints:
        """(E,) texts with at least one use."""
        return np.asarray(self.sums[1])

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

    def spread_rows(self, members: ArrayLike, n_groups: int) -> WordCounts:
        """Return the same counts with row ``i`` at ``members[i]`` of ``n_groups`` rows, the others empty.

        For concepts that lack some identities, before they are merged with those that have them.
        """
        rows = np.asarray(members, np.int64)[self.rows]
        prompts = np.zeros((len(self.prompts), n_groups), np.int64)
        prompts[:, np.asarray(members, np.int64)] = self.prompts
        return _from_entries(self.vocabulary, rows, self.indices, self.sums, prompts, self.strata)

    def merged(self, groups: ArrayLike, n_groups: int) -> WordCounts:
        """Return the counts with rows of the same group added up; ``groups`` (G,): which of ``n_groups`` each joins.

        A group then has several prompts in a stratum, as ``prompts`` says.
        """
        whose, size = np.asarray(groups, np.int64), max(len(self.vocabulary), 1)
        keys = whose[self.rows] * size + self.indices
        (distinct, uses), (_, texts) = (_tallied(keys, n_groups * size, counts) for counts in self.sums)
        rows, indices = np.divmod(distinct, size)
        sums = np.stack([uses, texts])
        prompts = self.prompts @ (whose[:, None] == np.arange(n_groups)).astype(np.int64)
        return _from_entries(self.vocabulary, rows, indices, sums, prompts, self.strata)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the counts of one concept as plain arrays, for ``np.savez``; tokens as UTF-8 and its offsets."""
        encoded = [token.encode("utf-8", "surrogatepass") for token in self.vocabulary]
        return {
            "indptr": self.indptr,
            "indices": self.indices,
            "counts": self.counts,
            "texts": self.texts,
            "prompts": self.prompts,
            "strata": self.strata,
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
        sums = np.stack([arrays["counts"].astype(np.int64), arrays["texts"].astype(np.int64)])
        indptr, indices = arrays["indptr"].astype(np.int64), arrays["indices"].astype(np.int32)
        prompts, strata = arrays["prompts"].astype(np.int64), arrays["strata"].astype(np.int32)
        return cls(tokens, indptr, indices, sums, prompts, strata)


def count_words(encoded: Encoded, groups: ArrayLike, n_groups: int) -> WordCounts:
    """Count the tokens of every identity; ``groups`` (N,): which of ``n_groups`` each text of a concept belongs to."""
    size, whose = len(encoded.vocabulary), np.asarray(groups, np.int64)
    lengths = np.diff(encoded.offsets)
    uses = _tallied(np.repeat(np.arange(len(lengths)) * size, lengths) + encoded.ids, len(lengths) * size)
    texts, words = np.divmod(uses[0], max(size, 1))
    keys = whose[texts] * size + words
    sums = [_tallied(keys, n_groups * size, weights) for weights in (uses[1], np.ones_like(keys))]
    rows, indices = np.divmod(sums[0][0], max(size, 1))
    indptr = np.searchsorted(rows, np.arange(n_groups + 1)).astype(np.int64)
    both = np.stack([counts for _, counts in sums])
    present = np.unique(whose)
    stratum = np.full(n_groups, -1)
    stratum[present] = _length_strata(np.bincount(whose, lengths, n_groups)[present].astype(np.int64))
    prompts = np.zeros((int(stratum.max(initial=-1)) + 1, n_groups), np.int64)
    prompts[stratum[present], present] = 1
    texts_with = sums[1][1]
    most = int(texts_with.max(initial=0)) + 1
    kinds, many = _tallied((stratum[rows] * size + indices) * most + texts_with, len(prompts) * size * most)
    places, counted = np.divmod(kinds, most)
    strata = np.stack([*np.divmod(places, max(size, 1)), counted, many]).astype(np.int32)
    return WordCounts(encoded.vocabulary, indptr, indices.astype(np.int32), both, prompts, strata)


def _length_strata(lengths: Ints) -> Ints:
    """Put each of N prompts in a stratum of those with about equally many words in their texts, the fewest in 0.

    From the shortest on, a stratum ends where the next is longer than its first by more than two fifths and a word, or,
    once it has a dozen prompts, by more than a fifth and a word: texts are a word longer for the word in question.
    """
    stratum, number, first, size = np.zeros(len(lengths), np.int64), -1, -2, 0
    order = np.argsort(lengths, kind="stable")
    for prompt, length in zip(order.tolist(), lengths[order].tolist(), strict=True):
        if length > first * (1.2 if size >= _DOZEN else 1.4) + 1:
            number, first, size = number + 1, length, 0
        stratum[prompt], size = number, size + 1
    return stratum


def _tallied(keys: Ints, size: int, weights: Ints | None = None) -> tuple[Ints, Ints]:
    """Return the different ``keys`` (each under ``size``), rising, and how often each comes, or their weights added."""
    if size <= _DENSE:
        table = np.bincount(keys, weights, size)
        distinct = np.flatnonzero(table)
        return distinct, table[distinct].astype(np.int64)
    distinct, inverse = np.unique(keys, return_inverse=True)
    return distinct, np.bincount(inverse.ravel(), weights, len(distinct)).astype(np.int64)


class WordSums:
    """Growing sums of word counts of ``n_groups`` identities, added row by row; holds some three times the result.

    A table of a row for each word and a column for each identity while that is small, else entries that are sorted now
    and then.
    """

    def __init__(self, n_groups: int) -> None:
        self._n_groups = n_groups
        self._known: defaultdict[str, int] = defaultdict()  # a number from 0 for every token that is looked up
        self._known.default_factory = self._known.__len__
        self._table: Ints | None = np.zeros((2, 0), np.int64)
        self._parts: list[tuple[Ints, Ints]] = []
        self._strata: dict[int, tuple[Ints, NDArray[np.int32]]] = {}
        self._settled = self._waiting = 0

    def add(self, counts: WordCounts, position: int | None = None) -> None:
        """Add counts of equally many identities; ``position`` orders their strata, whichever are added first."""
        vocabulary = counts.vocabulary
        numbers = np.fromiter(map(self._known.__getitem__, vocabulary), np.int64, len(vocabulary))
        # Word first: the vocabulary grows, the number of identities does not.
        keys = numbers[counts.indices] * self._n_groups + counts.rows
        strata = counts.strata.copy()
        strata[1] = numbers[strata[1]]
        self._strata[len(self._strata) if position is None else position] = counts.prompts, strata
        table = self._grown()
        if table is not None:
            table[:, keys] += counts.sums  # of one addend, each key comes once
            return
        self._parts.append((keys, counts.sums))
        # Adding up is put off until as much is waiting as there is, so that it stays linear.
        self._waiting += len(keys)
        if self._waiting > max(_PENDING, self._settled):
            self._settle()

    def result(self) -> WordCounts:
        """Return the sums so far."""
        words = tuple(sorted(self._known))
        numbers = np.fromiter(map(self._known.__getitem__, words), np.int64, len(words))
        place = np.empty(len(words), np.int64)
        place[numbers] = np.arange(len(words))
        prompts, strata = np.empty((0, self._n_groups), np.int64), np.empty((4, 0), np.int32)
        if self._strata:
            parts = [self._strata[number] for number in sorted(self._strata)]
            prompts = np.concatenate([stratum[0] for stratum in parts])
            strata = np.concatenate([stratum[1] for stratum in parts], 1)
            sizes = [len(stratum[0]) for stratum in parts]
            strata[0] += np.repeat(np.cumsum(sizes) - sizes, [stratum[1].shape[1] for stratum in parts]).astype(
                np.int32
            )
            strata[1] = place[strata[1]]
        if self._table is not None:
            keys = np.flatnonzero(self._table[0])
            values = self._table[:, keys]
        else:
            self._settle()
            keys, values = self._parts[0]
        numbers, rows = np.divmod(keys, max(self._n_groups, 1))
        return _from_entries(words, rows, place[numbers], values, prompts, strata)

    def _grown(self) -> Ints | None:
        """Return the table with room for all words known, or None once it would be too large."""
        needed = len(self._known) * self._n_groups
        if self._table is None or needed <= self._table.shape[1]:
            return self._table
        before, self._table = self._table, None
        if needed <= _DENSE_SUMS:
            self._table = np.zeros((2, min(2 * needed, _DENSE_SUMS)), np.int64)
            self._table[:, : before.shape[1]] = before
        else:
            keys = np.flatnonzero(before[0])
            self._parts.append((keys, before[:, keys]))
            self._settled = len(keys)
        return self._table

    def _settle(self) -> None:
        keys = np.concatenate([counts[0] for counts in self._parts])
        values = np.concatenate([counts[1] for counts in self._parts], axis=1)
        self._parts.clear()
        # Equal keys are added up, in whatever order they come: no stable sort is needed, and this one is vectorised.
        order = np.argsort(keys)
        keys, values = keys[order], values[:, order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        self._parts.append((keys[starts], np.add.reduceat(values, starts, axis=1) if len(starts) else values))
        self._settled, self._waiting = len(starts), 0


def _from_entries(
    vocabulary: tuple[str, ...],
    rows: Ints,
    indices: NDArray[Any],
    sums: Ints,
    prompts: Ints,
    strata: NDArray[np.int32],
) -> WordCounts:
    """Sort entries into rows; each (row, index) comes once."""
    order = np.argsort(rows * np.int64(max(len(vocabulary), 1)) + indices)
    indptr = np.searchsorted(rows[order], np.arange(prompts.shape[1] + 1)).astype(np.int64)
    return WordCounts(vocabulary, indptr, indices[order].astype(np.int32), sums[:, order], prompts, strata)

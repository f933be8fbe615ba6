"""Sparse word counts say what plain dictionaries say, and add up."""

from __future__ import annotations

import io
from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from kapwa.analysis.words import counts as word_counts
from kapwa.analysis.words.counts import WordCounts, WordSums, count_words
from kapwa.metrics.tokens import encode

Plain = dict[int, Counter[str]]


def merge(many: list[WordCounts]) -> WordCounts:
    """Add counts of equally many identities up."""
    sums = WordSums(many[0].n_groups)
    for counts in many:
        sums.add(counts)
    return sums.result()


class _Spaces:
    name = "spaces"

    def __call__(self, text: str) -> list[str]:
        return text.split()


def _plain(texts: list[str], groups: list[int]) -> Plain:
    """The slow twin: one Counter an identity."""
    found: Plain = {}
    for text, group in zip(texts, groups, strict=True):
        found.setdefault(group, Counter()).update(text.split())
    return {group: counter for group, counter in found.items() if counter}


def _read(counts: WordCounts) -> Plain:
    found: Plain = {}
    for row, word, count in zip(counts.rows, counts.indices, counts.counts, strict=True):
        assert counts.vocabulary[word] not in found.get(row, {})
        found.setdefault(int(row), Counter())[counts.vocabulary[word]] = int(count)
    return found


def _count(texts: list[str], groups: list[int], n_groups: int) -> WordCounts:
    return count_words(encode(texts, _Spaces()), groups, n_groups)


words = st.lists(st.sampled_from("abcdefgh"), max_size=8).map(" ".join)
concept = st.lists(st.tuples(words, st.integers(0, 4)), max_size=6)


@given(concept)
def test_counts_equal_plain_counting(rows: list[tuple[str, int]]) -> None:
    texts, groups = [text for text, _ in rows], [group for _, group in rows]
    counts = _count(texts, groups, 5)
    assert _read(counts) == _plain(texts, groups)
    assert counts.n_groups == 5
    assert counts.totals.tolist() == [sum(_plain(texts, groups).get(row, Counter()).values()) for row in range(5)]
    assert counts.indices.dtype == np.int32
    for start, end in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        assert np.all(np.diff(counts.indices[start:end]) > 0)


@given(
    st.lists(concept, min_size=1, max_size=5), st.sampled_from((0, 3, 1 << 20)), st.sampled_from((0, 17, 30, 1 << 23))
)
def test_merging_equals_counting_all_at_once(concepts: list[list[tuple[str, int]]], pending: int, dense: int) -> None:
    parts = [_count([text for text, _ in rows], [group for _, group in rows], 5) for rows in concepts]
    together = [row for rows in concepts for row in rows]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_counts, "_PENDING", pending)
        patch.setattr(word_counts, "_DENSE_SUMS", dense)
        merged = merge(parts)
    whole = _count([text for text, _ in together], [group for _, group in together], 5)
    assert merged.vocabulary == whole.vocabulary
    assert merged.indptr.tolist() == whole.indptr.tolist()
    assert merged.indices.tolist() == whole.indices.tolist()
    assert merged.counts.tolist() == whole.counts.tolist()
    assert (merged.indptr.dtype, merged.indices.dtype, merged.counts.dtype) == (np.int64, np.int32, np.int64)


def test_rows_can_be_spread_over_more_identities() -> None:
    counts = _count(["a b b", "c"], [0, 1], 2)
    spread = counts.spread([3, 1], 5)
    assert _read(spread) == {3: Counter({"a": 1, "b": 2}), 1: Counter({"c": 1})}
    assert merge([spread, _count(["b"], [3], 5)]).totals.tolist() == [0, 1, 0, 4, 0]


def test_counts_survive_a_file() -> None:
    counts = _count(["naïve 日本語 \ud800 a a", "b"], [2, 0], 4)
    file = io.BytesIO()
    np.savez(file, **counts.to_arrays())
    file.seek(0)
    again = WordCounts.from_arrays(dict(np.load(file, allow_pickle=False)))
    assert again.vocabulary == counts.vocabulary
    assert _read(again) == _read(counts)
    assert (again.indptr.dtype, again.indices.dtype, again.counts.dtype) == (np.int64, np.int32, np.int64)
    nothing = WordCounts.from_arrays(_count([], [], 3).to_arrays())
    assert (nothing.vocabulary, nothing.n_groups, nothing.totals.tolist()) == ((), 3, [0, 0, 0])


@given(concept)
def test_large_tables_are_counted_the_same_by_sorting(rows: list[tuple[str, int]]) -> None:
    texts, groups = [text for text, _ in rows], [group for _, group in rows]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_counts, "_DENSE", 0)
        sparse = _count(texts, groups, 5)
    assert _read(sparse) == _read(_count(texts, groups, 5))
    assert sparse.indptr.tolist() == _count(texts, groups, 5).indptr.tolist()

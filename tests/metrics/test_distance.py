"""Word edit distances: both kernels against the textbook recursion, blocks, groups and what the check finds."""

from __future__ import annotations

import itertools
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapwa.errors import KapwaError, MissingDependencyError, UsageError
from kapwa.metrics import distance, pairwise_edits
from kapwa.metrics.tokens import Encoded

BACKENDS = ("numba", "rapidfuzz")


def word_edit_distances(encoded: object, backend: str = "auto") -> np.ndarray:
    """Edits by the tokens of the longer text; two empty texts: 0."""
    lengths = np.maximum(np.diff(encoded.offsets), 1)
    return distance.word_edits(encoded, backend=backend) / np.maximum.outer(lengths, lengths)


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "numba":
        pytest.importorskip("numba")
    return request.param


def encoded(texts):
    """Encode lists of small whole numbers; the vocabulary has no gaps, as kapwa.metrics.tokens.encode makes it."""
    flat = [token for text in texts for token in text]
    vocabulary = sorted(set(flat))
    number = {token: i for i, token in enumerate(vocabulary)}
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts], dtype=np.int64)]).astype(np.int64)
    return Encoded(np.array([number[t] for t in flat], np.int32), offsets, tuple(map(str, vocabulary)))


def plain_edits(left, right):
    """The textbook recursion, a row at a time."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        above, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (a != b))
    return row[-1]


@cache
def plain_edits_once(left, right):
    return plain_edits(left, right)


def plain_matrix(texts):
    found = np.zeros((len(texts), len(texts)), np.int32)
    for i, j in itertools.combinations(range(len(texts)), 2):
        # An edit script read backwards is one of the same length: each two are worked out once, for all tests.
        found[i, j] = found[j, i] = plain_edits_once(*sorted((tuple(texts[i]), tuple(texts[j]))))
    return found


def texts_of(seed, lengths, vocabulary, copied=0.5):
    """Texts that resemble one another: pieces of a common text, with repeated tokens."""
    rng = np.random.default_rng(seed)
    common = rng.integers(0, vocabulary, 4000)
    found = []
    for length in lengths:
        start = rng.integers(0, 200)
        text = common[start : start + length].copy()
        changed = rng.random(length) > copied
        text[changed] = rng.integers(0, vocabulary, changed.sum())
        found.append(text.tolist())
    return found


text = st.lists(st.integers(0, 4), max_size=9) | st.lists(st.integers(0, 60), max_size=140)


@given(st.lists(text, max_size=6))
@settings(max_examples=50, deadline=None)
@pytest.mark.parametrize("name", BACKENDS)
def test_edits_equal_the_textbook(name, texts):
    if name == "numba":
        pytest.importorskip("numba")
    found = distance.word_edits(encoded(texts), backend=name)
    assert found.dtype == np.int32
    assert np.array_equal(found, plain_matrix(texts))


def test_edits_of_every_depth_of_words(backend):
    # The kernel takes words of 32 rows, four a pass: lengths around each border, and more texts than lanes.
    lengths = [*range(30, 35), 63, 64, 65, 95, 96, 97, 127, 128, 129, 160, 161, 255, 256, 257, *([40] * 30), 0, 1, 1]
    texts = texts_of(1, lengths, 50)
    assert np.array_equal(distance.word_edits(encoded(texts), backend=backend), plain_matrix(texts))


def test_edits_of_texts_of_2000_tokens(backend):
    texts = [*texts_of(2, [2000, 1990], 3000), [], [7]]
    found = distance.word_edits(encoded(texts), backend=backend)
    assert np.array_equal(found, plain_matrix(texts))
    assert 1000 < found[0, 1] < 2000


@pytest.mark.parametrize("cells", [1, 40 * 64, 10**6])
def test_blocks_do_not_change_what_is_counted(backend, cells):
    lengths = np.random.default_rng(3).integers(0, 50, 130)
    texts = texts_of(4, lengths.tolist(), 30)
    whole = np.zeros((130, 130), np.int32)
    rows = 0
    for first, block in pairwise_edits.edit_blocks(
        pairwise_edits.read_texts(encoded(texts)), backend=backend, cells=cells
    ):
        assert block.shape[1] == 130 - first
        assert len(block) <= max(pairwise_edits.LANES, cells // 130) or cells >= 130 * 130
        whole[first : first + len(block), first:] = block
        rows += len(block)
    assert rows == 130
    assert np.array_equal(whole, np.triu(plain_matrix(texts)))


def test_both_kernels_agree_on_many_lengths_and_words():
    pytest.importorskip("numba")
    lengths = np.random.default_rng(5).integers(0, 400, 150)
    made = encoded(texts_of(6, lengths.tolist(), 2000, copied=0.8))
    assert np.array_equal(distance.word_edits(made, backend="numba"), distance.word_edits(made, backend="rapidfuzz"))


def test_vocabularies_beyond_unicode_are_compared_as_numbers(monkeypatch):
    texts = texts_of(7, [30] * 12, 90)
    monkeypatch.setattr(pairwise_edits, "_CODE_POINTS", pairwise_edits._SURROGATE_COUNT + 10)
    read = pairwise_edits.read_texts(encoded(texts))
    assert isinstance(pairwise_edits.as_strings(read)[0], list)
    assert np.array_equal(distance.word_edits(encoded(texts), backend="rapidfuzz"), plain_matrix(texts))


# --- groups ----------------------------------------------------------------------------------------


def plain_pairs(texts, groups, count):
    wed = [[plain_edits(a, b) / max(len(a), len(b), 1) for b in texts] for a in texts]
    means, squares = np.full((count, count), np.nan), np.full((count, count), np.nan)
    reference = np.full(count, np.nan)
    for g in range(count):
        for h in range(count):
            pairs = [
                wed[i][j]
                for i in range(len(texts))
                for j in range(len(texts))
                if groups[i] == g and groups[j] == h and (g != h or i < j)
            ]
            if pairs:
                means[g, h], squares[g, h] = np.mean(pairs), np.mean(np.square(pairs))
        own = [i for i in range(len(texts)) if groups[i] == g]
        if own:
            reference[g] = np.mean([wed[i][j] ** 2 for i in own for j in own])
    return means, squares, reference


@pytest.mark.parametrize("cells", [40 * 32, 10**6])
def test_pair_distances_are_means_over_pairs(backend, cells, monkeypatch):
    monkeypatch.setattr(distance, "CELLS", cells)
    rng = np.random.default_rng(8)
    texts = texts_of(9, rng.integers(0, 40, 70).tolist(), 12)
    groups = rng.permutation(np.repeat([0, 1, 3, 4, 6], [5, 1, 40, 2, 22]))
    names = tuple("abcdefg")
    found = distance.pair_distances(encoded(texts), groups, names, backend=backend, keep_texts=True)
    means, squares, reference = plain_pairs(texts, groups, 7)
    assert found.identities == names
    assert found.samples.tolist() == [5, 1, 0, 40, 2, 0, 22]
    for mine, plain in ((found.wed, means), (found.wed_square, squares), (found.wed_square_reference, reference)):
        np.testing.assert_allclose(mine, plain, rtol=1e-13, atol=0)
    assert np.array_equal(found.texts_wed, word_edit_distances(encoded(texts), backend=backend))
    assert distance.pair_distances(encoded(texts), groups, names, backend=backend).texts_wed is None


def test_nearly_all_texts_alike_are_compared_once_and_counted_often(backend):
    texts = [[1, 2, 3]] * 8 + [[1, 2, 4]] * 2
    found = distance.pair_distances(encoded(texts), [0] * 5 + [1] * 5, ("a", "b"), backend=backend)
    assert found.wed[0, 1] == pytest.approx(2 / 5 / 3, abs=1e-15)
    assert found.wed[0, 0] == 0
    assert found.wed[1, 1] == pytest.approx(6 / 10 / 3, abs=1e-15)
    assert found.wed_square_reference[1] == pytest.approx(12 / 25 / 9, abs=1e-15)


def test_reference_similarity_takes_one_direction():
    texts = [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6, 7, 8]]
    found = distance.pair_distances(encoded(texts), [0, 1], ("a", "b"))
    # Five tokens against eight: all n-grams are there, but brevity costs; the other way about, precision does.
    assert found.bleu[0, 1] == pytest.approx(np.exp(1 - 8 / 5), abs=1e-15)
    assert found.bleu[1, 0] == pytest.approx((5 / 8 * 4 / 7 * 3 / 6 * 2 / 5) ** 0.25, abs=1e-15)
    assert found.similarity_reference[0, 1] == found.similarity_reference[1, 0] == found.bleu[0, 1]
    assert found.similarity[0, 1] == found.similarity[1, 0] == pytest.approx((found.bleu[0, 1] + found.bleu[1, 0]) / 2)
    assert np.isnan(np.diag(found.similarity_reference)).all()


def test_nothing_to_compare():
    found = distance.pair_distances(encoded([]), [], ("a", "b"))
    for matrix in (found.wed, found.wed_square, found.bleu):
        assert matrix.shape == (2, 2)
        assert np.isnan(matrix).all()
    assert distance.word_edits(encoded([])).shape == (0, 0)


# --- what goes wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "offsets"), [([0, 1], [0, 3]), ([0, 1], [1, 2]), ([0, 1], [0, 2, 1, 2]), ([0, 2], [0, 2]), ([-1], [0, 1])]
)
def test_contradicting_arrays_are_refused(ids, offsets):
    with pytest.raises(UsageError, match="encoded texts must"):
        distance.word_edits(Encoded(np.array(ids, np.int32), np.array(offsets), ("a", "b")))


def test_unfitting_groups_and_backends_are_refused():
    made = encoded([[1], [2]])
    with pytest.raises(UsageError, match="2 texts, but groups of shape"):
        distance.pair_distances(made, [0], ("a",))
    with pytest.raises(UsageError, match="Groups must be 0 to 0"):
        distance.pair_distances(made, [0, 1], ("a",))
    with pytest.raises(UsageError, match="Unknown backend 'cuda'"):
        distance.word_edits(made, backend="cuda")


def test_without_numba_rapidfuzz_does_it(monkeypatch):
    monkeypatch.setattr(pairwise_edits, "_kernel", lambda: None)
    assert distance.resolve_backend() == "rapidfuzz"
    assert distance.word_edits(encoded([[1], [2, 3]]))[0, 1] == 2
    with pytest.raises(MissingDependencyError, match="numba"):
        distance.word_edits(encoded([[1], [2]]), backend="numba")


def test_the_kernel_compiles_where_nothing_can_be_kept():
    pytest.importorskip("numba")
    script = (
        "from numba.core import caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "import numpy as np\n"
        "from kapwa.metrics.distance import word_edits\n"
        "from kapwa.metrics.pairwise_numba import fill\n"
        "from kapwa.metrics.tokens import Encoded\n"
        "print(type(fill._cache).__name__)\n"
        "texts = Encoded(np.array([0, 1, 0], np.int32), np.array([0, 2, 3]), ('a', 'b'))\n"
        "print(word_edits(texts, backend='numba').tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["NullCache", "[[0, 1], [1, 0]]"]


def test_self_check_passes_and_names_a_differing_pair(monkeypatch):
    texts = texts_of(10, [0, 1, 5, 60, 61, 62, 300, 0, 20, 20], 40)
    made, groups = encoded(texts), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    distance.self_check(made, groups, seed=1)
    distance.self_check(encoded([]), [], seed=1)
    distance.self_check(encoded([[1]]), [0], seed=1)
    right = distance.edits_between

    def wrong(texts, pairs):
        found = right(texts, pairs).copy()
        found[(pairs == [3, 6]).all(axis=1)] += 1
        return found

    monkeypatch.setattr(distance, "edits_between", wrong)
    with pytest.raises(KapwaError, match="texts 3 and 6"):
        distance.self_check(made, groups, seed=1)


def test_self_check_names_a_differing_bleu(monkeypatch):
    made, groups = encoded(texts_of(11, [30] * 4, 10)), [0, 0, 1, 1]
    right = distance.all_pairs_bleu
    monkeypatch.setattr(distance, "all_pairs_bleu", lambda *a: right(*a) + 1e-6)
    with pytest.raises(KapwaError, match="BLEU of identity"):
        distance.self_check(made, groups, seed=1)

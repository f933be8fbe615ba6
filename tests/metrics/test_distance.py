"""Word edit distances: both kernels against the textbook recursion, blocks, groups and what the check finds."""

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


def word_edits(made, backend="auto"):
    """The whole symmetric matrix, put together from blocks."""
    texts = pairwise_edits.read_texts(made)
    found = np.zeros((len(texts.lengths),) * 2, np.int32)
    for first, block in pairwise_edits.edit_blocks(texts, backend=backend):
        found[first : first + len(block), first:] = block
    return found + found.T


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "numba":
        pytest.importorskip("numba")
    return request.param


def encoded(texts):
    """Encode lists of small whole numbers; the vocabulary has no gaps, as kapwa.metrics.tokens.encode makes it."""
    flat = [token for text in texts for token in text]
    vocabulary, ids = np.unique(np.array(flat, int), return_inverse=True)
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return Encoded(ids.astype(np.int32), offsets, tuple(map(str, vocabulary)))


@cache
def plain_edits(left, right):
    """The textbook recursion, a row at a time."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        above, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (a != b))
    return row[-1]


def plain_matrix(texts):
    found = np.zeros((len(texts), len(texts)), np.int32)
    for i, j in itertools.combinations(range(len(texts)), 2):
        # An edit script read backwards is one of the same length: each two are worked out once, for all tests.
        found[i, j] = found[j, i] = plain_edits(*sorted((tuple(texts[i]), tuple(texts[j]))))
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
    found = word_edits(encoded(texts), backend=name)
    assert found.dtype == np.int32
    assert np.array_equal(found, plain_matrix(texts))


def test_edits_of_every_depth_of_words(backend):
    # The kernel takes words of 32 rows, four a pass: lengths around each border, and more texts than lanes.
    lengths = [*range(30, 35), 63, 64, 65, 95, 96, 97, 127, 128, 129, 160, 161, 255, 256, 257, *([40] * 30), 0, 1, 1]
    texts = texts_of(1, lengths, 50)
    assert np.array_equal(word_edits(encoded(texts), backend=backend), plain_matrix(texts))


def test_edits_of_texts_of_2000_tokens(backend):
    texts = [*texts_of(2, [2000, 1990], 3000), [], [7]]
    found = word_edits(encoded(texts), backend=backend)
    assert np.array_equal(found, plain_matrix(texts))
    assert 1000 < found[0, 1] < 2000


@pytest.mark.parametrize("cells", [1, 40 * 64])
def test_blocks_do_not_change_what_is_counted(backend, cells, monkeypatch):
    monkeypatch.setattr(pairwise_edits, "CELLS", cells)
    texts = texts_of(4, np.random.default_rng(3).integers(0, 50, 130).tolist(), 30)
    blocks = list(pairwise_edits.edit_blocks(pairwise_edits.read_texts(encoded(texts)), backend=backend))
    assert max(len(block) for _, block in blocks) <= max(pairwise_edits.LANES, cells // 130)
    assert np.array_equal(word_edits(encoded(texts), backend=backend), plain_matrix(texts))


def plain_pairs(texts, groups, count):
    lengths = np.maximum([len(text) for text in texts], 1)
    wed = plain_matrix(texts) / np.maximum.outer(lengths, lengths)
    means, squares, reference = np.full((count, count), np.nan), np.full((count, count), np.nan), np.full(count, np.nan)
    for g, h in itertools.product(range(count), repeat=2):
        block = wed[np.ix_(groups == g, groups == h)]
        pairs = block[np.triu_indices(len(block), 1)] if g == h else block.ravel()
        if pairs.size:
            means[g, h], squares[g, h] = pairs.mean(), (pairs**2).mean()
        if g == h and block.size:
            reference[g] = (block**2).mean()
    return means, squares, reference, wed


@pytest.mark.parametrize("cells", [40 * 32, 10**6])
def test_pair_distances_are_means_over_pairs(backend, cells, monkeypatch):
    monkeypatch.setattr(distance, "CELLS", cells)
    monkeypatch.setattr(pairwise_edits, "CELLS", cells)
    rng = np.random.default_rng(8)
    texts = texts_of(9, rng.integers(0, 40, 70).tolist(), 12)
    groups = rng.permutation(np.repeat([0, 1, 3, 4, 6], [5, 1, 40, 2, 22]))
    found = distance.pair_distances(encoded(texts), groups, 7, backend=backend, keep_texts=True)
    means, squares, reference, wed = plain_pairs(texts, groups, 7)
    assert found.samples.tolist() == [5, 1, 0, 40, 2, 0, 22]
    for mine, plain in ((found.wed, means), (found.wed_square, squares), (found.wed_square_reference, reference)):
        np.testing.assert_allclose(mine, plain, rtol=1e-13, atol=0)
    assert np.array_equal(found.texts_wed, wed)
    assert distance.pair_distances(encoded(texts), groups, 7, backend=backend).texts_wed is None


def test_copies_of_a_text_count_as_often_as_they_stand(backend):
    texts = [[1, 2, 3]] * 8 + [[1, 2, 4]] * 2
    found = distance.pair_distances(encoded(texts), [0] * 5 + [1] * 5, 2, backend=backend)
    assert found.wed[0, 1] == pytest.approx(2 / 5 / 3, abs=1e-15)
    assert found.wed[0, 0] == 0
    assert found.wed[1, 1] == pytest.approx(6 / 10 / 3, abs=1e-15)
    assert found.wed_square_reference[1] == pytest.approx(12 / 25 / 9, abs=1e-15)


def test_reference_similarity_takes_one_direction():
    texts = [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6, 7, 8]]
    found = distance.pair_distances(encoded(texts), [0, 1], 2)
    # Five tokens against eight: all n-grams are there, but brevity costs; the other way about, precision does.
    assert found.bleu[0, 1] == pytest.approx(np.exp(1 - 8 / 5), abs=1e-15)
    assert found.bleu[1, 0] == pytest.approx((5 / 8 * 4 / 7 * 3 / 6 * 2 / 5) ** 0.25, abs=1e-15)
    for order, direction in (([0, 1], (0, 1)), ([1, 0], (1, 0))):
        released = found.similarity_reference(order)
        assert released[0, 1] == released[1, 0] == found.bleu[direction]
        assert np.isnan(np.diag(released)).all()
    assert found.similarity[0, 1] == found.similarity[1, 0] == pytest.approx((found.bleu[0, 1] + found.bleu[1, 0]) / 2)


def test_nothing_to_compare():
    found = distance.pair_distances(encoded([]), [], 2)
    for matrix in (found.wed, found.wed_square, found.bleu):
        assert matrix.shape == (2, 2)
        assert np.isnan(matrix).all()
    assert word_edits(encoded([])).shape == (0, 0)


@pytest.mark.parametrize(
    ("ids", "offsets"), [([0, 1], [0, 3]), ([0, 1], [1, 2]), ([0, 1], [0, 2, 1, 2]), ([0, 2], [0, 2]), ([-1], [0, 1])]
)
def test_contradicting_arrays_are_refused(ids, offsets):
    with pytest.raises(UsageError, match="encoded texts must"):
        word_edits(Encoded(np.array(ids, np.int32), np.array(offsets), ("a", "b")))


def test_unfitting_groups_are_refused():
    made = encoded([[1], [2]])
    with pytest.raises(UsageError, match="2 texts, but groups of shape"):
        distance.pair_distances(made, [0], 1)
    with pytest.raises(UsageError, match="Groups must be 0 to 0"):
        distance.pair_distances(made, [0, 1], 1)


def test_without_numba_rapidfuzz_does_it(monkeypatch):
    monkeypatch.setattr(pairwise_edits, "_kernel", lambda: None)
    assert distance.resolve_backend() == "rapidfuzz"
    assert word_edits(encoded([[1], [2, 3]]))[0, 1] == 2
    with pytest.raises(MissingDependencyError, match="numba"):
        word_edits(encoded([[1], [2]]), backend="numba")


def test_the_kernel_compiles_where_nothing_can_be_kept():
    pytest.importorskip("numba")
    script = (
        "from numba.core import caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "import numpy as np\n"
        "from kapwa.metrics.pairwise_edits import edit_blocks, read_texts\n"
        "from kapwa.metrics.pairwise_numba import fill\n"
        "from kapwa.metrics.tokens import Encoded\n"
        "print(type(fill._cache).__name__)\n"
        "texts = Encoded(np.array([0, 1, 0], np.int32), np.array([0, 2, 3]), ('a', 'b'))\n"
        "print([block.tolist() for _, block in edit_blocks(read_texts(texts), backend='numba')])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["NullCache", "[[[0, 1], [0, 0]]]"]


def test_self_check_passes_and_names_a_differing_pair(monkeypatch):
    made = encoded(texts_of(10, [0, 1, 5, 60, 61, 62, 300, 0, 20, 20], 40))
    for some in (made, encoded([]), encoded([[1]])):
        distance.self_check(some, seed=1)
    right = distance.edits_between

    def wrong(texts, pairs):
        found = right(texts, pairs).copy()
        found[(pairs == [3, 6]).all(axis=1)] += 1
        return found

    monkeypatch.setattr(distance, "edits_between", wrong)
    with pytest.raises(KapwaError, match="texts 3 and 6"):
        distance.self_check(made, seed=1)


def corpus(seed, identities, samples):
    """Texts whose identities differ much in how common their words are, so that pairs of one identity are alike."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(identities):
        common = rng.beta(0.5, 0.5)
        for _ in range(samples):
            size = rng.integers(8, 14)
            texts.append(np.where(rng.random(size) < common, np.arange(size) % 7, rng.integers(0, 40, size)).tolist())
    return encoded(texts), np.repeat(np.arange(identities), samples)


def true_means(made, groups, identities):
    squares = distance.pair_distances(made, groups, identities).wed_square
    return np.nanmean(np.diag(squares)), squares[np.triu_indices(identities, 1)].mean()


def test_all_pairs_give_the_exact_means(monkeypatch):
    monkeypatch.setattr(distance, "_CHUNK", 7)
    made, groups = corpus(1, 12, 3)
    found = distance.sample_distances(made, groups, 12, pairs=1000, seed=1)
    for mean, value in zip(found, true_means(made, groups, 12), strict=True):
        assert mean.estimate == pytest.approx(value, abs=1e-12)
        assert mean.low == pytest.approx(mean.high, abs=1e-12)


def test_pairs_are_drawn_uniformly_and_once():
    rng = np.random.default_rng(2)
    present = np.array([3, 5, 8, 9, 11])
    seen = np.zeros((12, 12))
    for _ in range(2000):
        pairs, total = distance._draw_pairs(present, 4, rng)
        assert total == 10
        assert len({tuple(p) for p in pairs.tolist()}) == 4
        assert (pairs[:, 0] < pairs[:, 1]).all()
        seen[tuple(pairs.T)] += 1
    drawn = seen[np.ix_(present, present)][np.triu_indices(5, 1)]
    assert drawn.sum() == 8000
    assert abs(drawn - 800).max() < 5 * np.sqrt(2000 * 0.4 * 0.6)


def test_large_pair_numbers_are_decoded():
    pairs, total = distance._draw_pairs(np.arange(10_000), 3000, np.random.default_rng(3))
    assert (total, len(np.unique(pairs, axis=0))) == (49_995_000, 3000)
    assert (pairs[:, 0] >= 0).all()
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert pairs.max() < 10_000


def test_intervals_hold_the_corpus_means_as_often_as_they_say():
    # Identities differ strongly, so that pairs sharing one are alike: sampling pairs still tells about this corpus.
    made, groups = corpus(4, 40, 3)
    expected, covered, rounds = true_means(made, groups, 40), np.zeros(2), 300
    for seed in range(rounds):
        found = distance.sample_distances(made, groups, 40, pairs=20, seed=seed)
        covered += [mean.low <= value <= mean.high for mean, value in zip(found, expected, strict=True)]
    assert (abs(covered / rounds - 0.95) < 0.045).all()  # over 3 standard errors of a share from 300


def test_empty_texts_count_in_edits_and_no_texts_tell_nothing():
    made = Encoded(np.arange(12, dtype=np.int32) % 6, np.array([0, 6, 12, 12, 12]), tuple("abcdef"))
    within, across = distance.sample_distances(made, [0, 1, 2, 2], 3, pairs=10, seed=1)
    assert (within.estimate, across.estimate) == (0.0, pytest.approx(2 / 3))
    assert np.isnan(within.low)
    nothing = distance.sample_distances(encoded([]), [], 1, pairs=2, seed=1)
    assert np.isnan(nothing).all()


def test_bounds_of_few_pairs_stay_where_squared_distances_are():
    made = encoded([[0, 0], [0, 1], [2, 3], [2, 2], [0, 2], [4, 5]])
    for seed in range(20):
        for found in distance.sample_distances(made, [0, 0, 1, 1, 2, 2], 3, pairs=2, seed=seed):
            assert np.isnan(found.low) or 0 <= found.low <= found.estimate <= found.high <= 1


def test_same_seed_same_estimates():
    made, groups = corpus(7, 15, 2)
    first, again, other = (distance.sample_distances(made, groups, 15, pairs=20, seed=seed) for seed in (9, 9, 10))
    assert first == again != other
    with pytest.raises(UsageError, match="Cannot sample"):
        distance.sample_distances(made, groups, 15, pairs=1, seed=1)

"""Estimates from some pairs of identities: their values, and how often their intervals hold what they are about."""

from __future__ import annotations

import numpy as np
import pytest

from kapwa.errors import UsageError
from kapwa.metrics import pairwise_sample
from kapwa.metrics.distance import pair_distances, sample_distances
from kapwa.metrics.tokens import Encoded


def corpus(seed, identities, samples):
    """Texts whose identities differ much in how common their words are, so that pairs of one identity are alike."""
    rng = np.random.default_rng(seed)
    texts, groups = [], []
    for identity in range(identities):
        common = rng.beta(0.5, 0.5)
        for _ in range(samples):
            size = rng.integers(8, 14)
            text = np.where(rng.random(size) < common, np.arange(size) % 7, rng.integers(0, 40, size))
            texts.append(text)
            groups.append(identity)
    flat = np.concatenate(texts).astype(np.int32)
    used, ids = np.unique(flat, return_inverse=True)
    offsets = np.concatenate([[0], np.cumsum([len(t) for t in texts])]).astype(np.int64)
    return Encoded(ids.astype(np.int32), offsets, tuple(map(str, used))), np.array(groups)


def truth(encoded, groups, identities):
    full = pair_distances(encoded, groups, identities)
    upper = np.triu_indices(len(identities), 1)
    return {
        "across_wed": full.wed[upper].mean(),
        "across_wed_square": full.wed_square[upper].mean(),
        "across_bleu": full.similarity[upper].mean(),
        "within_wed": np.nanmean(np.diag(full.wed)),
        "within_wed_square": np.nanmean(np.diag(full.wed_square)),
    }


def test_all_pairs_give_the_exact_means(monkeypatch):
    monkeypatch.setattr(pairwise_sample, "_CHUNK", 7)
    encoded, groups = corpus(1, 12, 3)
    names = tuple(map(str, range(12)))
    found = sample_distances(encoded, groups, names, pairs=1000, seed=1)
    assert found.pairs == 66
    for name, value in truth(encoded, groups, names).items():
        mean = getattr(found, name)
        assert mean.estimate == pytest.approx(value, abs=1e-12)
        assert mean.low == pytest.approx(mean.high, abs=1e-12)
        assert mean.n == mean.total


def test_pairs_are_drawn_uniformly_and_once():
    rng = np.random.default_rng(2)
    present = np.array([3, 5, 8, 9, 11])
    seen = np.zeros((12, 12))
    for _ in range(2000):
        pairs, total = pairwise_sample._draw_pairs(present, 4, rng)
        assert total == 10
        assert len({tuple(p) for p in pairs.tolist()}) == 4
        assert (pairs[:, 0] < pairs[:, 1]).all()
        seen[tuple(pairs.T)] += 1
    drawn = seen[np.ix_(present, present)][np.triu_indices(5, 1)]
    assert drawn.sum() == 8000
    assert abs(drawn - 800).max() < 5 * np.sqrt(2000 * 0.4 * 0.6)


def test_large_pair_numbers_are_decoded():
    everyone = np.arange(10_000)
    pairs, total = pairwise_sample._draw_pairs(everyone, 3000, np.random.default_rng(3))
    assert total == 49_995_000
    row, column = pairs.T
    assert (row >= 0).all()
    assert (row < column).all()
    assert column.max() < 10_000
    assert len(np.unique(pairs, axis=0)) == 3000


def test_intervals_hold_the_corpus_means_as_often_as_they_say():
    # Identities differ strongly, so that pairs sharing one are alike: sampling pairs still tells about this corpus.
    encoded, groups = corpus(4, 40, 3)
    names = tuple(map(str, range(40)))
    expected = truth(encoded, groups, names)
    covered = dict.fromkeys(("across_wed", "across_wed_square", "across_bleu"), 0)
    rounds = 300
    for seed in range(rounds):
        found = sample_distances(encoded, groups, names, pairs=120, seed=seed, level=0.9)
        for name in covered:
            mean = getattr(found, name)
            covered[name] += mean.low <= expected[name] <= mean.high
    for hits in covered.values():
        assert 0.9 - 0.06 < hits / rounds < 0.9 + 0.06  # over 3 standard errors of a share from 300


def test_empty_texts_count_in_edits_but_not_in_bleu():
    encoded = Encoded(np.arange(12, dtype=np.int32) % 6, np.array([0, 6, 12, 12, 12]), tuple("abcdef"))
    found = sample_distances(encoded, [0, 1, 2, 2], ("a", "b", "c"), pairs=10, seed=1)
    assert found.across_wed.estimate == pytest.approx(2 / 3)
    assert found.across_bleu[0] == 1.0
    assert (found.across_bleu.n, found.across_bleu.total) == (1, 1)
    assert found.within_wed.estimate == 0.0
    assert np.isnan(found.across_bleu.low)
    nothing = sample_distances(Encoded(np.zeros(0, np.int32), np.zeros(1, np.int64), ()), [], ("a",), pairs=2, seed=1)
    assert np.isnan(nothing.across_wed.estimate)
    assert nothing.pairs == 0


def test_same_seed_same_estimates():
    encoded, groups = corpus(7, 15, 2)
    names = tuple(map(str, range(15)))
    first, again = (sample_distances(encoded, groups, names, pairs=20, seed=9) for _ in range(2))
    assert first == again
    assert first != sample_distances(encoded, groups, names, pairs=20, seed=10)


def test_wrong_arguments_are_refused():
    encoded, groups = corpus(8, 3, 2)
    for wrong in ({"pairs": 1}, {"pairs": 5, "level": 1.0}):
        with pytest.raises(UsageError, match="Cannot sample"):
            sample_distances(encoded, groups, ("a", "b", "c"), seed=1, **wrong)

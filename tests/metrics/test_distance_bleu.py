"""Corpus BLEU of all pairs: against its definition, and against sacrebleu and NLTK where they mean the same."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_distance import encoded

from kapwa.metrics import pairwise_bleu
from kapwa.metrics.pairwise_bleu import all_pairs_bleu


def grams(text, order):
    return Counter(tuple(text[i : i + order]) for i in range(len(text) - order + 1))


def reference_length(prediction, references, brevity):
    lengths = [len(text) for text in references]
    if brevity == "nmt":
        return min(lengths)
    if brevity == "average":
        return sum(lengths) / len(lengths)
    return min(lengths, key=lambda n: (abs(n - len(prediction)), n))


def plain_bleu(predictions, references, brevity, max_n=4):
    """The definition: every prediction with all references, counts clipped, geometric mean, brevity penalty."""
    predictions, references = [p for p in predictions if p], [r for r in references if r]
    if not predictions or not references:
        return math.nan
    matches, possible, length, against = [0] * max_n, [0] * max_n, 0, 0
    for prediction in predictions:
        length += len(prediction)
        against += reference_length(prediction, references, brevity)
        for order in range(1, max_n + 1):
            ceiling = Counter()
            for reference in references:
                ceiling |= grams(reference, order)
            mine = grams(prediction, order)
            matches[order - 1] += sum((mine & ceiling).values())
            possible[order - 1] += sum(mine.values())
    if not all(matches):
        return 0.0
    mean = math.exp(sum(math.log(m / p) for m, p in zip(matches, possible, strict=True)) / max_n)
    return mean * (1.0 if length > against else math.exp(1 - against / length))


def plain_matrix(texts, groups, count, brevity):
    sets = [[t for t, g in zip(texts, groups, strict=True) if g == wanted] for wanted in range(count)]
    return np.array(
        [[math.nan if i == j else plain_bleu(a, b, brevity) for j, b in enumerate(sets)] for i, a in enumerate(sets)]
    )


def resembling(seed, count, longest, vocabulary):
    rng = np.random.default_rng(seed)
    phrases = [rng.integers(0, vocabulary, rng.integers(1, 8)).tolist() for _ in range(25)]
    texts = []
    for _ in range(count):
        made = [token for pick in rng.integers(0, 25, longest) for token in phrases[pick]]
        texts.append(made[: rng.integers(0, longest)])
    return texts


few = st.lists(st.integers(0, 2), max_size=12)
many = st.lists(st.integers(0, 8), max_size=40)


@given(st.lists(st.tuples(few | many, st.integers(0, 3)), max_size=14), st.sampled_from(["nmt", "closest", "average"]))
@settings(max_examples=150, deadline=None)
def test_bleu_equals_its_definition(rows, brevity):
    texts, groups = [text for text, _ in rows], [group for _, group in rows]
    found = all_pairs_bleu(encoded(texts), groups, 5, brevity=brevity)
    np.testing.assert_allclose(found, plain_matrix(texts, groups, 5, brevity), rtol=0, atol=1e-12)


@pytest.mark.parametrize("brevity", ["nmt", "closest", "average"])
@pytest.mark.parametrize("share", [0.001, 12, 10**9])
def test_sparse_and_dense_products_are_one(brevity, share, monkeypatch):
    monkeypatch.setattr(pairwise_bleu, "_DENSE_SHARE", share)
    texts = resembling(1, 60, 50, 20)
    groups = np.random.default_rng(2).integers(0, 20, 60)
    found = all_pairs_bleu(encoded(texts), groups, 21, brevity=brevity)
    expected = plain_matrix(texts, groups.tolist(), 21, brevity)
    assert np.nanmax(expected) > 0.3
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_blocks_large_counts_and_wide_keys_change_nothing(monkeypatch):
    texts = resembling(3, 60, 50, 20)
    groups = np.repeat(np.arange(12), 5)
    expected = all_pairs_bleu(encoded(texts), groups, 12)
    monkeypatch.setattr(pairwise_bleu, "CELLS", 30)
    monkeypatch.setattr(pairwise_bleu, "_DENSE_CELLS", 30)
    monkeypatch.setattr(pairwise_bleu, "_DENSE_STEP", 3)
    assert np.array_equal(all_pairs_bleu(encoded(texts), groups, 12), expected, equal_nan=True)
    monkeypatch.setattr(pairwise_bleu, "_EXACT_FLOAT32", 1)
    monkeypatch.setattr(pairwise_bleu, "_BITS", 1)
    assert np.array_equal(all_pairs_bleu(encoded(texts), groups, 12), expected, equal_nan=True)


def test_long_repeated_and_identical_texts():
    long = np.random.default_rng(4).integers(0, 300, 2000).tolist()
    texts = [long, long[5:], [1] * 2000, [1] * 7, long, [3], [], [4, 5]]
    groups = [0, 0, 1, 1, 2, 3, 4, 5]
    found = all_pairs_bleu(encoded(texts), groups, 6)
    np.testing.assert_allclose(found, plain_matrix(texts, groups, 6, "nmt"), rtol=0, atol=1e-12)
    assert found[2, 0] == 1.0
    assert found[0, 2] == pytest.approx(math.exp(1 - 4000 / 3995), abs=1e-15)
    assert found[3, 0] == 0.0
    assert np.isnan(found[4]).all()


def test_closest_brevity_is_sacrebleu():
    from sacrebleu.metrics import BLEU

    texts = [text for text in resembling(8, 60, 60, 25) if len(text) >= 4][:40]
    groups = np.arange(len(texts)) // 5
    peer = BLEU(tokenize="none", smooth_method="none", force=True)
    found = all_pairs_bleu(encoded(texts), groups, 8, brevity="closest")
    compared = 0
    for i in range(8):
        for j in range(8):
            if i != j:
                predictions, references = (
                    [" ".join(f"w{t}" for t in text) for text, g in zip(texts, groups, strict=True) if g == side]
                    for side in (i, j)
                )
                score = peer.corpus_score(predictions, [[r] * len(predictions) for r in references]).score
                assert found[i, j] == pytest.approx(score / 100, abs=1e-12)
                compared += found[i, j] > 0.05
    assert compared > 20


def test_texts_in_any_order_and_identities_without_texts():
    texts = resembling(5, 40, 30, 15)
    groups = np.random.default_rng(6).integers(2, 9, 40)
    mixed = np.random.default_rng(7).permutation(40)
    found = all_pairs_bleu(encoded(texts), groups, 12)
    assert np.array_equal(found, all_pairs_bleu(encoded([texts[i] for i in mixed]), groups[mixed], 12), equal_nan=True)
    assert np.isnan(found[[0, 1, 9, 10, 11]]).all()


def test_the_three_brevity_rules_by_hand():
    texts = [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7, 8, 9]]
    groups = [0, 1, 1, 1]
    value = {
        rule: all_pairs_bleu(encoded(texts), groups, 2, brevity=rule)[0, 1] for rule in ("nmt", "closest", "average")
    }
    # Six tokens against five, seven and nine: longer than the shortest, five is the closest too, seven the average.
    assert value["nmt"] == value["closest"] == 1.0
    assert value["average"] == pytest.approx(math.exp(1 - 7 / 6), abs=1e-15)

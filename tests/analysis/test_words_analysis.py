"""Words of each identity: counts say what plain dictionaries say, marks what slow twins find, ``kapwa words`` both."""

import io
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from benchmarks.simulations.words import LENGTHS, corpus, name_of_prompt, starred
from hypothesis import example, given
from scipy import stats
from typer.testing import CliRunner

from kapwa.analysis.corpus import open_corpora
from kapwa.analysis.words import (
    chance,
    kld_reference_words,
    log_odds_words,
    stop_words,
    tfidf_reference_words,
    tfidf_words,
    word_lists,
)
from kapwa.analysis.words import counts as word_counts
from kapwa.analysis.words.counts import WordCounts, WordSums, count_words
from kapwa.cli.main import app
from kapwa.errors import UsageError
from kapwa.metrics.tokens import encode, tokenizer_for

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


def _plain_strata(rows: Sequence[tuple[str, int]]) -> list[list[int]]:
    """The slow twin: identities whose texts have about equally many words, one after the other; the fewest first."""
    totals: Counter[int] = Counter()
    for text, who in rows:
        totals[who] += len(text.split())
    found: list[list[int]] = []
    for who in sorted(totals, key=lambda one: (totals[one], one)):
        first = found and totals[found[-1][0]]
        if found and totals[who] - 1 <= first * (1.4 if len(found[-1]) < 12 else 1.2):
            found[-1].append(who)
        else:
            found.append([who])
    return found


def _texts_with(rows: Sequence[tuple[str, int]], who: int, word: str) -> int:
    return sum(word in text.split() for text, one in rows if one == who)


def _count(texts: Sequence[str], groups: Sequence[int], n_groups: int) -> WordCounts:
    return count_words(encode(texts, _Spaces()), groups, n_groups)


words = st.lists(st.sampled_from("abcdefgh"), max_size=8).map(" ".join)
concept = st.lists(st.tuples(words, st.integers(0, 4)), max_size=6)


@given(concept)
def test_counts_equal_plain_counting(rows: list[tuple[str, int]]) -> None:
    texts, groups = [text for text, _ in rows], [group for _, group in rows]
    counts = _count(texts, groups, 5)
    assert _read(counts) == _plain(texts, groups)
    with_word = Counter((group, word) for text, group in zip(texts, groups, strict=True) for word in set(text.split()))
    at = zip(counts.rows.tolist(), counts.indices.tolist(), strict=True)
    assert [with_word[row, counts.vocabulary[word]] for row, word in at] == counts.texts.tolist()
    strata, prompts = [], []
    for number, alike in enumerate(_plain_strata(rows)):
        prompts.append([int(who in alike) for who in range(5)])
        for place, word in enumerate(counts.vocabulary):
            kinds = Counter(_texts_with(rows, who, word) for who in alike)
            strata += [(number, place, texts, kinds[texts]) for texts in sorted(kinds) if texts]
    assert counts.prompts.tolist() == prompts
    assert [tuple(column) for column in counts.strata.T.tolist()] == strata
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
    assert merged.sums.tolist() == whole.sums.tolist()
    before = np.cumsum([0, *(len(part.prompts) for part in parts)]).tolist()
    apart = [
        (before[concept] + stratum, merged.vocabulary.index(part.vocabulary[word]), texts, many)
        for concept, part in enumerate(parts)
        for stratum, word, texts, many in part.strata.T.tolist()
    ]
    assert sorted(apart) == sorted(map(tuple, merged.strata.T.tolist()))
    assert np.all(np.diff(merged.strata[0]) >= 0)
    assert merged.prompts.tolist() == [row for part in parts for row in part.prompts.tolist()]
    assert (merged.indptr.dtype, merged.indices.dtype, merged.counts.dtype) == (np.int64, np.int32, np.int64)


def test_rows_can_be_spread_over_more_identities() -> None:
    counts = _count(["a b b", "c"], [0, 1], 2)
    spread = counts.spread_rows([3, 1], 5)
    assert _read(spread) == {3: Counter({"a": 1, "b": 2}), 1: Counter({"c": 1})}
    assert spread.prompts.tolist() == [[0, 1, 0, 0, 0], [0, 0, 0, 1, 0]]
    assert merge([spread, _count(["b"], [3], 5)]).totals.tolist() == [0, 1, 0, 4, 0]


def test_counts_survive_a_file() -> None:
    counts = _count(["naïve 日本語 \ud800 a a", "b"], [2, 0], 4)
    file = io.BytesIO()
    np.savez(file, **counts.to_arrays())
    file.seek(0)
    again = WordCounts.from_arrays(dict(np.load(file, allow_pickle=False)))
    assert again.vocabulary == counts.vocabulary
    assert _read(again) == _read(counts)
    for name in ("sums", "prompts", "strata"):
        assert getattr(again, name).tolist() == getattr(counts, name).tolist()
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


COLUMNS = ["identity", "rank", "word", "score", "z", "count", "df", "texts", "expected", "p_adjusted"]
WORDS = ("gun", "senate", "adobo", "rice", "naira", "brot", "the", "nan", "1,000", "...")


def _counts(texts: Sequence[str]) -> WordCounts:
    """One text an identity."""
    return _count(texts, range(len(texts)), len(texts))


def _plain_tfidf(texts: Sequence[str], top: int) -> list[tuple[int, str, float]]:
    counters = [Counter(text.split()) for text in texts]
    n = sum(bool(counter) for counter in counters)
    found = []
    for identity, counter in enumerate(counters):
        scores = {
            word: count * math.log(n / sum(word in other for other in counters))
            for word, count in counter.items()
            if word not in ("the", "1,000", "...")
        }
        ranked = sorted(scores, key=lambda word: (-scores[word], word))
        found += [(identity, word, scores[word]) for word in ranked if scores[word] > 0][:top]
    return found


def _plain_log_odds(texts: Sequence[str], word: str, identity: int, prior: float) -> tuple[float, float]:
    """Monroe et al. (2008), equations 16, 20 and 22, word by word."""
    counters = [Counter(text.split()) for text in texts]
    pooled: Counter[str] = sum(counters, Counter())
    rest = pooled - counters[identity]
    n_pooled, n_i, n_j = pooled.total(), counters[identity].total(), rest.total()
    a0 = prior * n_pooled / sum(bool(counter) for counter in counters)
    a = a0 * pooled[word] / n_pooled
    y_i, y_j = counters[identity][word], rest[word]
    delta = math.log((y_i + a) / (n_i + a0 - y_i - a)) - math.log((y_j + a) / (n_j + a0 - y_j - a))
    return delta, delta / math.sqrt(1 / (y_i + a) + 1 / (y_j + a))


texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), min_size=2, max_size=5)


@given(texts, st.integers(1, 4))
def test_tfidf_equals_its_slow_twin(some: list[str], top: int) -> None:
    frame = tfidf_words(_counts(some), top)
    assert frame.columns == COLUMNS
    want = _plain_tfidf(some, top)
    assert [(row["identity"], row["word"]) for row in frame.to_dicts()] == [(who, word) for who, word, _ in want]
    assert frame["score"].to_list() == pytest.approx([score for _, _, score in want])
    for row in frame.to_dicts():
        assert row["count"] == some[row["identity"]].split().count(row["word"])
        assert row["df"] == sum(row["word"] in text.split() for text in some)
        assert row["z"] is None


@given(texts, st.sampled_from((0.01, 1.0, 30.0)))
def test_log_odds_equal_their_slow_twin(some: list[str], prior: float) -> None:
    frame = log_odds_words(_counts(some), 100, prior)
    assert frame.columns == COLUMNS
    found = {(row["identity"], row["word"]): (row["score"], row["z"]) for row in frame.to_dicts()}
    if sum(bool(text) for text in some) < 2:
        assert not found
        return
    for identity, text in enumerate(some):
        for word in set(text.split()) - {"the", "1,000", "..."}:
            if len(set(" ".join(some).split())) == 1:
                continue  # one word has no odds
            score, z = _plain_log_odds(some, word, identity, prior)
            if (identity, word) in found:
                assert found[identity, word] == (pytest.approx(score), pytest.approx(z))
            else:
                assert z < 1e-9


def test_log_odds_by_hand() -> None:
    frame = log_odds_words(_counts(["gun gun rice", "rice rice adobo"]), 1, prior=1.0)
    # One identity has 3 tokens, so has the prior: a("gun") = 3 × 2/6 = 1; 2 of 3 uses here, none of 3 there.
    score = math.log(3 / 3) - math.log(1 / 5)
    z = pytest.approx(score / math.sqrt(1 / 3 + 1))
    assert frame.row(0) == (0, 1, "gun", pytest.approx(score), z, 2, 1, 1, 0.5, 1.0)


def test_only_numbers_are_numbers() -> None:
    some = ["nan inf infinity 1e5 1_000 3.5 1,000 ½ ... -- n't '' `` gun e 21st", "rice"]
    assert set(tfidf_words(_counts(some), 50)["word"]) == {"nan", "inf", "infinity", "gun", "21st", "rice"}


def test_stop_words_are_those_of_the_language() -> None:
    counts = _counts(["the gun", "der Brot", "x y z"])
    assert "the" not in tfidf_words(counts)["word"].to_list()
    assert "the" in tfidf_words(counts, language="de")["word"].to_list()
    assert stop_words("en-GB") == stop_words("en")
    assert stop_words("zh") == frozenset()
    chinese = _counts(["我 喜欢 三", "你 e"])
    assert set(tfidf_words(chinese, language="zh")["word"]) == {"我", "喜欢", "你"}


def test_stop_words_stand_as_the_tokenizer_cuts_them() -> None:
    said = "I don't, can’t; she's they'd we’ll it isn't you've whoever's shan't won't couldn’t've the of amongst."
    kept = [token for token in tokenizer_for("en")(said) if token not in stop_words("en") and len(token) > 1]
    assert kept == []
    assert all(word == word.lower() for word in stop_words("en"))
    assert not stop_words("en") & {"ai", "man", "woman", "war", "work", "nan", "us", "it's"}


def _plain_chances(concepts: list[list[tuple[str, int]]], n_groups: int) -> dict[tuple[int, str], tuple[float, float]]:
    """The slow twin: every way to shuffle names among prompts; expected texts and adjusted p of each entry."""
    strata = [(rows, alike) for rows in concepts for alike in _plain_strata(rows)]
    seen: dict[tuple[int, str], int] = Counter()
    shuffled: list[Counter[tuple[int, str]]] = [Counter()]
    for rows, alike in strata:
        of_prompt = [Counter(word for text, one in rows if one == who for word in set(text.split())) for who in alike]
        seen.update({(who, word): n for who, found in zip(alike, of_prompt, strict=True) for word, n in found.items()})
        ways = [
            Counter({(who, word): n for who, found in zip(order, of_prompt, strict=True) for word, n in found.items()})
            for order in permutations(alike)
        ]
        shuffled = [before + way for before in shuffled for way in ways]
    words = {word for rows in concepts for text, _ in rows for word in text.split()} - {"the", "1,000", "..."}
    n = len(shuffled)
    cells = list(product(range(n_groups), sorted(words)))
    tail = {cell: [sum(way[cell] >= k for way in shuffled) / n for k in range(12)] for cell in cells}
    found = {}
    for cell, texts in seen.items():
        if cell[1] in words:
            p = tail[cell][texts]
            rivals = sum(min(q for q in tail[other] if q) <= p * (1 + 1e-9) for other in cells)
            found[cell] = (sum(tail[cell][1:]), min(max(p * rivals, p), 1.0))
    return found


strata = st.lists(st.lists(st.tuples(words, st.integers(0, 2)), min_size=1, max_size=4), min_size=1, max_size=3)


@given(strata)
@example([[("a", 0), ("a", 0), ("b", 1), ("c", 2)], [("a", 0), ("b", 1), ("b", 1), ("d", 2)]])
def test_chances_equal_those_of_every_shuffle(concepts: list[list[tuple[str, int]]]) -> None:
    concepts = [[(" ".join(f"w{word}" for word in text.split()), who) for text, who in rows] for rows in concepts]
    counts = merge([_count([text for text, _ in rows], [who for _, who in rows], 3) for rows in concepts])
    found = chance.by_chance(counts, np.arange(len(counts.counts)), np.ones(len(counts.vocabulary), bool))
    want = _plain_chances(concepts, 3)
    places = zip(counts.rows.tolist(), counts.indices.tolist(), strict=True)
    for place, (row, word) in enumerate(places):
        expected, adjusted = want[row, counts.vocabulary[word]]
        assert found.expected[place] == pytest.approx(expected)
        assert found.p_adjusted[place] == pytest.approx(adjusted, abs=1e-9)


def _plain_draws_put_back(counts: WordCounts) -> tuple[list[float], list[float]]:
    """The slow twin where an identity has several prompts in a stratum: each is one of the stratum's, put back.

    Prompt by prompt, in dictionaries: expected texts and adjusted p of each entry.
    """
    sizes = counts.prompts.sum(axis=1).tolist()
    kinds: dict[tuple[int, int], dict[int, float]] = {}
    for stratum, word, texts, many in counts.strata.T.tolist():
        kinds.setdefault((stratum, word), {})[texts] = many / sizes[stratum]
    sums: dict[tuple[int, int], dict[int, float]] = {}
    least: dict[tuple[int, int], float] = {}
    for who, word in product(range(counts.n_groups), range(len(counts.vocabulary))):
        so_far, fewest = {0: 1.0}, 1.0
        for stratum, times in enumerate(counts.prompts[:, who].tolist()):
            shares = kinds.get((stratum, word), {})
            one = {0: 1 - sum(shares.values()), **shares}
            for _ in range(times):
                after: dict[int, float] = {}
                for (before, p), (more, q) in product(so_far.items(), one.items()):
                    after[before + more] = after.get(before + more, 0.0) + p * q
                so_far = after
                fewest *= shares[max(shares)] if shares else 1.0
        sums[who, word], least[who, word] = so_far, fewest
    expected, adjusted = [], []
    for who, word, texts in zip(counts.rows.tolist(), counts.indices.tolist(), counts.texts.tolist(), strict=True):
        found = sums[who, word]
        mean = sum(many * p for many, p in found.items())
        varies = sum(many**2 * p for many, p in found.items()) - mean**2 > 1e-9
        p = min(sum(p for many, p in found.items() if many >= texts), 1.0) if varies else 1.0
        rivals = sum(other <= p * (1 + 1e-9) for other in least.values())
        expected.append(mean)
        adjusted.append(min(max(p * rivals, p), 1.0))
    return expected, adjusted


levels = st.lists(st.integers(0, 1), min_size=5, max_size=5)


@given(st.lists(st.lists(st.tuples(words, st.integers(0, 4)), min_size=1, max_size=9), min_size=1, max_size=3), levels)
@example([[("a", 0), ("a", 0), ("b", 1), ("a", 2), ("b a", 3)], [("a", 0), ("b", 4), ("b", 1)]], [0, 0, 0, 1, 1])
def test_chances_of_several_prompts_in_a_stratum_equal_those_drawn_one_by_one(
    concepts: list[list[tuple[str, int]]], level: list[int]
) -> None:
    parts = [_count([text for text, _ in rows], [who for _, who in rows], 5) for rows in concepts]
    counts = merge(parts).merged(level, 2)
    assert _read(counts) == _read(merge([_count([t for t, _ in r], [level[w] for _, w in r], 2) for r in concepts]))
    together = [[part.prompts[:, np.array(level) == one].sum(axis=1) for one in (0, 1)] for part in parts]
    assert counts.prompts.tolist() == np.concatenate([np.stack(one, axis=1) for one in together]).tolist()
    found = chance.by_chance(counts, np.arange(len(counts.counts)), np.ones(len(counts.vocabulary), bool))
    expected, adjusted = _plain_draws_put_back(counts)
    assert found.expected.tolist() == pytest.approx(expected)
    assert found.p_adjusted.tolist() == pytest.approx(adjusted, abs=1e-9)


def test_work_on_a_merged_level_does_not_grow_with_its_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries of a stratum are held once, however many of its prompts are drawn: copies of them filled the memory."""
    held: list[int] = []
    whole = chance._tails

    def noted(draws: Any, *more: Any) -> Any:
        held.append(len(draws.word))
        return whole(draws, *more)

    monkeypatch.setattr(chance, "_tails", noted)
    rows = [(f"rice w{who} w{who + 1}", who) for who in range(40)]
    counts = _count([text for text, _ in rows], [who for _, who in rows], 40).merged(np.arange(40) % 2, 2)
    log_odds_words(counts, top=3)
    assert held
    assert max(held) <= 3


def test_words_of_very_many_texts_have_the_tail_of_their_distribution() -> None:
    """Three thousand concepts with two prompts each, one of which has the word in both of its texts: binomial."""
    many = 3_000
    exact = stats.binom(many, 0.5)
    place = np.arange(many, dtype=np.int32)
    strata = np.stack([place, np.zeros_like(place), np.full_like(place, 2), np.ones_like(place)])
    for prompts in (1_540, 1_570, 1_600):
        sums = np.array([[2 * prompts, 2 * (many - prompts)]] * 2)
        both = np.ones((many, 2), np.int64)
        counts = WordCounts(("word",), np.array([0, 1, 2]), np.zeros(2, np.int32), sums, both, strata)
        found = chance.by_chance(counts, np.arange(1), np.ones(1, bool))
        assert found.expected[0] == pytest.approx(many)
        # Both identities could reach as small a p; the fitted distribution knows no gaps between even numbers.
        assert exact.sf(prompts) * 1.9 < found.p_adjusted[0] < exact.sf(prompts - 1) * 2.1


def test_longer_texts_of_one_identity_make_no_findings() -> None:
    """Twice as long, of the same words: within a concept alone 14 to 69 of 100 lists would have a star."""
    generator = np.random.default_rng(6)
    shares = 1 / np.arange(1.0, 301)
    names = [f"w{number}" for number in range(300)]
    flat = stars = 0
    for _ in range(12):
        concepts = []
        for _ in range(8):
            groups = np.repeat(np.arange(10), 5)
            lengths = (40 * np.exp(generator.normal(0, 0.25, 50)) * np.where(groups == 3, 2, 1)).astype(int)
            some = [" ".join(generator.choice(names, length, p=shares / shares.sum())) for length in lengths]
            concepts.append(_count(some, groups.tolist(), 10))
        counts = merge(concepts)
        stars += bool((log_odds_words(counts)["p_adjusted"] < 0.05).any())
        # The same counts, each concept one stratum.
        whole = [_one_stratum(concept) for concept in concepts]
        flat += bool((log_odds_words(merge(whole))["p_adjusted"] < 0.05).any())
    assert flat >= 6
    assert stars <= 2


def _one_stratum(counts: WordCounts) -> WordCounts:
    _, word, texts, many = counts.strata.astype(np.int64)
    kinds, place = np.unique(np.stack([word, texts]), axis=1, return_inverse=True)
    summed = np.bincount(place.ravel(), many)
    strata = np.stack([np.zeros(len(summed)), *kinds, summed]).astype(np.int32)
    return replace(counts, prompts=counts.prompts.sum(axis=0)[None], strata=strata)


def test_names_that_prompts_repeat_are_no_findings() -> None:
    """Each prompt gives all of its texts one random name: shuffled text by text, a third of the lists had a star."""
    generator = np.random.default_rng(3)
    stars = sum(bool(starred(corpus(generator, name_of_prompt, LENGTHS[1][0], identities=20))) for _ in range(12))
    assert stars <= 2


def test_names_that_single_texts_repeat_are_no_findings() -> None:
    """Each text repeats one random name: z reaches 8 for most nationalities, and no word is one's own."""
    generator = np.random.default_rng(1)
    stars, high = 0, 0
    for _ in range(12):
        concepts = []
        for _ in range(10):
            names = generator.integers(0, 100, 100).tolist()
            some = [f"n{name} " * (1 + generator.poisson(8)) + "king river song " * 4 for name in names]
            concepts.append(_count(some, np.repeat(np.arange(20), 5).tolist(), 20))
        frame = log_odds_words(merge(concepts))
        stars += bool((frame["p_adjusted"] < 0.05).any())
        high += frame.filter(pl.col("z") >= 4)["identity"].n_unique()
    assert high / 12 > 14
    assert stars <= 3


def test_a_planted_word_gets_a_star() -> None:
    generator = np.random.default_rng(2)
    found = []
    for _ in range(5):
        concepts = []
        for _ in range(10):
            planted = generator.random(60) < np.where(np.arange(60) // 5 == 4, 0.5, 0.1)
            some = [" ".join(generator.choice(["rice", "river", "bridge", "song"], 20)) for _ in range(60)]
            some = [text + " jollof" * plant for text, plant in zip(some, planted.tolist(), strict=True)]
            concepts.append(_count(some, np.repeat(np.arange(12), 5).tolist(), 12))
        frame = log_odds_words(merge(concepts)).filter(pl.col("p_adjusted") < 0.05)
        found.append(list(zip(frame["identity"], frame["word"], strict=True)))
    assert found == [[(4, "jollof")]] * 5


MARKS = {"American": "congress", "Filipino": "barangay", "German": "Bundestag"}
TOPICS = {"politics": ("elections", "tax"), "food": ("bread", "rice")}


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of 3 identities, 2 topics of 2 concepts, 4 samples; German has none of one concept."""
    path = tmp_path_factory.mktemp("words") / "texts.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for (topic, concepts), (identity, mark), sample in product(TOPICS.items(), MARKS.items(), range(4)):
            for concept in concepts:
                if (identity, concept) == ("German", "rice"):
                    continue
                text = f"The {concept} is a matter of the {mark}, they say; number {sample} of {topic} in 1,000."
                row = {"task": "eecc/qa", "topic": topic, "concept": concept, "nationality": identity}
                file.write(json.dumps({**row, "sample": sample, "text": text}) + "\n")
    return path


def _run(*arguments: str | Path) -> str:
    done = CliRunner().invoke(app, ["words", *map(str, arguments)], env={"COLUMNS": "200"}, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def _rows(*arguments: str | Path) -> list[dict[str, Any]]:
    return json.loads(_run(*arguments, "--json"))  # type: ignore[no-any-return]


def test_each_identity_gets_its_word(marked: Path) -> None:
    rows = _rows("--responses", marked)
    assert {row["identity"]: row["word"] for row in rows if row["rank"] == 1} == {
        identity: mark.lower() for identity, mark in MARKS.items()
    }
    american = next(row for row in rows if row["identity"] == "American")
    assert list(american) == [
        *("corpus", "task", "topic", "identity", "method", "rank", "word", "score", "z", "count", "df"),
        *("texts", "expected", "p_adjusted"),
    ]
    assert (american["topic"], american["method"], american["count"], american["df"]) == ("all", "tfidf", 16, 1)
    assert american["z"] is None


def test_a_concept_without_an_identity_counts_for_the_others_only(marked: Path) -> None:
    rows = _rows(marked, "--top", "3")
    found = {(row["identity"], row["word"]): row["count"] for row in rows}
    # German has no text about rice, so "rice" tells the other two apart from it, and only them.
    assert {who for who, word in found if word == "rice"} == {"American", "Filipino"}
    assert found["German", "bundestag"] == 12


def test_tables_for_people(marked: Path) -> None:
    shown = _run(marked, "--method", "logodds", "--top", "2")
    assert "texts, eecc/qa" in shown
    assert "barangay" in shown
    assert shown.index("American") < shown.index("Filipino") < shown.index("German")
    assert "*" not in shown  # four prompts of each are too few


def test_a_word_of_many_prompts_has_a_star(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number, (identity, mark), sample in product(range(9), MARKS.items(), range(2)):
            row = {"task": "eecc/qa", "topic": "food", "concept": f"dish {number}", "nationality": identity}
            text = f"The {mark} thinks so, and dish {number} is fine."
            file.write(json.dumps({**row, "sample": sample, "text": text}) + "\n")
    shown = _run(path, "--method", "logodds", "--top", "2")
    assert re.search(r"barangay [\d.]+\*", shown)
    assert not re.search(r"fine [\d.]+\*", shown)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no texts to read"),
        (["--by", "concept"], "by topic, not by 'concept'"),
        (["--method", "tfdif"], "Did you mean 'tfidf'"),
        (["--identity", "Filipina"], "Did you mean 'Filipino'"),
        (["--identity", ","], "names no identity"),
    ],
)
def test_what_cannot_be_is_refused(marked: Path, arguments: list[str], message: str) -> None:
    sources = [str(marked)] if arguments else []
    done = CliRunner().invoke(app, ["words", *sources, *arguments])
    assert isinstance(done.exception, UsageError)
    assert message in str(done.exception)


def test_memory_holds_one_concept_at_a_time(marked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (corpus,) = open_corpora([marked])
    read: list[str] = []
    whole = type(corpus).texts

    def noted(this: Any, key: Any) -> Any:
        read.append(key.concept)
        return whole(this, key)

    monkeypatch.setattr(type(corpus), "texts", noted)
    lists = word_lists(corpus, by_topic=True)
    first = next(lists)
    assert (first.topic, read) == ("politics", ["elections", "tax"])
    assert [found.topic for found in lists] == ["food"]


@pytest.fixture
def nltk_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where NLTK looks for its data: a folder of one's own, with nothing in it yet."""
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    return tmp_path / "corpora" / "stopwords"


def test_the_released_list_of_stop_words_is_nltks(nltk_words: Path) -> None:
    texts = ["tea becomes nan"] * 2 + ["rice among"] * 2
    with pytest.raises(UsageError, match="not here") as raised:
        tfidf_reference_words(_counts(texts))
    assert "nltk.download('stopwords')" in raised.value.hint
    nltk_words.mkdir(parents=True)
    (nltk_words / "english").write_text("the\namong\n", encoding="utf-8")
    released, plain = (set(listed(_counts(texts))["word"]) for listed in (tfidf_reference_words, tfidf_words))
    assert released == {"tea", "becomes", "rice"}
    assert plain == {"tea", "nan", "rice"}


def test_words_by_divergence_are_those_of_the_released_code(nltk_words: Path) -> None:
    """Held against the released procedure, in dictionaries: p ln(p / q) of the words it keeps, q over all texts."""
    nltk_words.mkdir(parents=True)
    (nltk_words / "english").write_text("the\namong\n", encoding="utf-8")
    texts = ["the tea tea becomes nan 12 ...", "tea x rice '' 1e5", "rice rice among ...", "rice becomes bread inf"]
    groups, words = [0, 0, 1, 1], ("tea", "rice", "becomes", "bread", "...")
    plain = {
        who: Counter(one for one in found.elements() if one in words) for who, found in _plain(texts, groups).items()
    }
    pooled = plain[0] + plain[1]
    wanted = {
        (who, word): n / found.total() * math.log((n / found.total()) / (pooled[word] / pooled.total()))
        for who, found in plain.items()
        for word, n in found.items()
    }
    table = kld_reference_words(_count(texts, groups, 2), top=25)
    shown = {(who, word): score for who, word, score in table.select("identity", "word", "score").iter_rows()}
    assert shown == pytest.approx(wanted)
    for who in (0, 1):
        scores = table.filter(identity=who)["score"].to_list()
        assert scores == sorted(scores, reverse=True)
        assert sum(scores) >= 0  # a divergence
    assert table.filter(identity=0, rank=1)["word"].to_list() == ["tea"]


def test_words_by_divergence_from_the_command_line(marked: Path, nltk_words: Path) -> None:
    nltk_words.mkdir(parents=True)
    (nltk_words / "english").write_text("the\n", encoding="utf-8")
    shown = _rows(marked, "--method", "kld_reference", "--top", "2")
    assert {row["method"] for row in shown} == {"kld_reference"}
    assert {row["rank"] for row in shown} == {1, 2}

"""Stars on words: how often one is given where the name in the prompt changes nothing, and where it does.

A list of words is wrong when it has any star for a word that was not planted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from benchmarks.simulations import Cell

from kapwa.analysis.words import log_odds_words, tfidf_words
from kapwa.analysis.words.counts import WordCounts, WordSums, count_words
from kapwa.metrics.tokens import Encoded

Ints = np.ndarray[tuple[int], np.dtype[np.int64]]
Write = Callable[[np.random.Generator, Ints, Ints], list[Ints]]
PLANTED = 9_999


def counted(concepts: list[list[Ints]], whose: list[Ints], identities: int) -> WordCounts:
    """Count texts of word numbers (``concepts``: the texts of each), which belong to the identities ``whose``."""
    sums = WordSums(identities)
    for texts, groups in zip(concepts, whose, strict=True):
        used, ids = np.unique(np.concatenate(texts), return_inverse=True)
        offsets = np.append(0, np.cumsum([len(text) for text in texts]))
        names = np.array([f"w{number:05d}" for number in used])
        sums.add(count_words(Encoded(ids.astype(np.int32), offsets, tuple(names.tolist())), groups, identities))
    return sums.result()


class Lengths(NamedTuple):
    """How long texts are: how the logarithm ``varied``, and how many ``times`` as long those of identity 3 are."""

    times: float = 1.0
    varied: float = 0.0

    def drawn(self, random: np.random.Generator, groups: Ints, tokens: float) -> Ints:
        """Return the length of each text, which belongs to one of ``groups``; identity 3 (or the last) has others."""
        longer = np.where(groups == min(3, int(groups.max(initial=0))), self.times, 1.0)
        return np.maximum(np.rint(tokens * longer * np.exp(random.normal(0, self.varied, len(groups)))), 3).astype(int)


def repeated_names(random: np.random.Generator, lengths: Ints, _groups: Ints) -> list[Ints]:
    """Texts that each repeat one of 200 names in about a fifth of their words, among 60 common words."""
    return [
        np.append(np.repeat(random.integers(60, 260), 1 + random.poisson(length / 5)), random.integers(0, 60, length))
        for length in lengths.tolist()
    ]


def name_of_prompt(random: np.random.Generator, lengths: Ints, groups: Ints) -> list[Ints]:
    """Texts that have the name of their prompt, one of 200, in about a fifth of their words, among 60 common words."""
    names = random.integers(60, 260, int(groups.max(initial=0)) + 1)[groups]
    return [
        np.append(np.repeat(name, 1 + random.poisson(length / 5)), random.integers(0, 60, length))
        for name, length in zip(names.tolist(), lengths.tolist(), strict=True)
    ]


def bursty_texts(random: np.random.Generator, lengths: Ints, _groups: Ints) -> list[Ints]:
    """Texts of words used as often as words are (Zipf), with words of the concept and words that a text repeats."""
    shares = 1 / np.arange(1, 1501) * random.gamma(0.4, 1, 1500)
    own = shares * random.gamma(0.5, 1, (len(lengths), 1500))
    return [random.choice(1500, length, p=row / row.sum()) for row, length in zip(own, lengths.tolist(), strict=True)]


def plain_texts(random: np.random.Generator, lengths: Ints, _groups: Ints) -> list[Ints]:
    """Texts whose words are drawn one by one: how many different ones there are goes with the length most of all."""
    shares = 1 / np.arange(1, 1501) * random.gamma(0.4, 1, 1500)
    return [random.choice(1500, length, p=shares / shares.sum()) for length in lengths.tolist()]


def starred(counts: WordCounts) -> set[tuple[int, str]]:
    """Identities and words with a star, of the fifteen that each list has for each identity."""
    listed = pl.concat(
        [words(counts).select("identity", "word", "p_adjusted") for words in (tfidf_words, log_odds_words)]
    )
    rows = listed.filter(listed["p_adjusted"] < 0.05)
    return set(zip(rows["identity"].to_list(), rows["word"].to_list(), strict=True))


def corpus(
    random: np.random.Generator,
    write: Write,
    lengths: Lengths,
    *,
    identities: int,
    lost: float = 0.0,
    planted: tuple[int | tuple[int, ...], float, float] | None = None,
) -> WordCounts:
    """Count 20 concepts × 5 texts of each identity, a share ``lost`` missing.

    ``planted``: an identity or several, and in which share of their texts, and of others', one word stands in place of
    another.
    """
    concepts, whose = [], []
    for _ in range(20):
        groups = np.repeat(np.arange(identities), 5)
        groups = groups[random.random(len(groups)) >= lost]
        short = write in (repeated_names, name_of_prompt)
        texts = write(random, lengths.drawn(random, groups, 30 if short else 80), groups)
        if planted:
            who, more, usual = planted
            for place in np.flatnonzero(
                random.random(len(groups)) < np.where(np.isin(groups, who), more, usual)
            ).tolist():
                texts[place][-1] = PLANTED
        concepts.append(texts)
        whose.append(groups)
    return counted(concepts, whose, identities)


def error_rate(
    random: np.random.Generator, repeats: int, write: Write, lengths: Lengths, *, identities: int, lost: float = 0.0
) -> float:
    """Percent of lists with a star where no identity differs."""
    made = (corpus(random, write, lengths, identities=identities, lost=lost) for _ in range(repeats))
    return 100 * sum(bool(starred(counts)) for counts in made) / repeats


def power(
    random: np.random.Generator, repeats: int, lengths: Lengths, *, who: int, usual: float, planted: float
) -> float:
    """Percent of lists that star a word which stands in a share ``planted`` of one identity's texts, else ``usual``."""
    found = 0
    for _ in range(repeats):
        counts = corpus(random, bursty_texts, lengths, identities=12, planted=(who, planted, usual))
        found += (who, f"w{PLANTED:05d}") in starred(counts)
    return 100 * found / repeats


LENGTHS = (
    (Lengths(), "equally long texts"),
    (Lengths(varied=0.25), "lengths that vary 25%"),
    (Lengths(1.5, 0.25), "lengths that vary 25%, one identity's 1.5 times as long"),
    (Lengths(2.0, 0.25), "lengths that vary 25%, one identity's 2 times as long"),
)


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Error rates over all words and identities of a list, and the share of planted words that get a star."""
    few = max(repeats // 4, 20)
    cases = (
        ("12 identities, words drawn one by one", plain_texts, 12, 0.0, LENGTHS),
        ("12 identities, words repeated within texts", bursty_texts, 12, 0.0, LENGTHS),
        ("20 identities, each text repeats one random name", repeated_names, 20, 0.0, LENGTHS[1:2]),
        ("20 identities, each prompt has one random name in all its texts", name_of_prompt, 20, 0.0, LENGTHS[:2]),
        ("12 identities, each prompt has one random name in all its texts", name_of_prompt, 12, 0.0, LENGTHS[1:3]),
        ("3 identities, words repeated within texts", bursty_texts, 3, 0.0, LENGTHS[1:2]),
        (
            "12 identities, words repeated within texts, a fifth of the texts missing",
            bursty_texts,
            12,
            0.2,
            LENGTHS[:1],
        ),
    )
    for what, write, identities, lost, several in cases:
        for lengths, how in several:
            percent = error_rate(random, repeats, write, lengths, identities=identities, lost=lost)
            setting = f"{what}, {how}; 20 concepts × 5 texts"
            yield Cell("words", "any star where no name makes a difference", setting, percent, repeats, 0, 6)
    for usual, planted, low in ((0.1, 0.3, 40), (0.02, 0.2, 80)):
        for lengths, how, who, whom in (
            (*LENGTHS[0], 4, "one identity's"),
            (*LENGTHS[1], 4, "one identity's"),
            (*LENGTHS[3], 4, "another's"),
            (*LENGTHS[3], 3, "that identity's"),
        ):
            setting = f"a word in {100 * planted:.0f}% of {whom} texts, in {100 * usual:.0f}% of others', {how}"
            percent = power(random, few, lengths, who=who, usual=usual, planted=planted)
            yield Cell("words", "planted word gets a star", setting, percent, few, low if who == 4 else 0, 100)

"""Stars on words: how often one is given where the name in the prompt changes nothing, and where it does.

A list of words is wrong when it has any star for a word that was not planted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from benchmarks.simulations import Cell

from kapwa.analysis.words import log_odds_words
from kapwa.analysis.words.counts import WordCounts, WordSums, count_words
from kapwa.metrics.tokens import Encoded

Ints = np.ndarray[tuple[int], np.dtype[np.int64]]


def counted(concepts: list[list[Ints]], whose: list[Ints], identities: int) -> WordCounts:
    """Count texts of word numbers (``concepts``: the texts of each), which belong to the identities ``whose``."""
    sums = WordSums(identities)
    for texts, groups in zip(concepts, whose, strict=True):
        used, ids = np.unique(np.concatenate(texts), return_inverse=True)
        offsets = np.append(0, np.cumsum([len(text) for text in texts]))
        names = np.array([f"w{number:05d}" for number in used])
        sums.add(count_words(Encoded(ids.astype(np.int32), offsets, tuple(names.tolist())), groups, identities))
    return sums.result()


def repeated_names(random: np.random.Generator, texts: int) -> list[Ints]:
    """Texts that each repeat one of 200 names about eight times, among 60 common words."""
    return [
        np.append(np.repeat(random.integers(60, 260), 1 + random.poisson(8)), random.integers(0, 60, 30))
        for _ in range(texts)
    ]


def bursty_texts(random: np.random.Generator, texts: int) -> list[Ints]:
    """Texts of 80 words, used as often as words are (Zipf), with words of the concept and words that a text repeats."""
    shares = 1 / np.arange(1, 1501) * random.gamma(0.4, 1, 1500)
    own = shares * random.gamma(0.5, 1, (texts, 1500))
    return [random.choice(1500, 80, p=row / row.sum()) for row in own]


def starred(counts: WordCounts) -> set[tuple[int, str]]:
    """Identities and words with a star, of the fifteen listed for each identity."""
    listed = log_odds_words(counts)
    rows = listed.filter(listed["p_adjusted"] < 0.05)
    return set(zip(rows["identity"].to_list(), rows["word"].to_list(), strict=True))


def error_rate(
    random: np.random.Generator,
    repeats: int,
    write: Callable[[np.random.Generator, int], list[Ints]],
    *,
    identities: int,
    concepts: int,
    lost: float = 0.0,
    samples: int = 5,
) -> float:
    """Percent of lists with a star where no identity differs; a share ``lost`` of the texts is missing."""
    wrong = 0
    for _ in range(repeats):
        whose = [np.repeat(np.arange(identities), samples) for _ in range(concepts)]
        whose = [groups[random.random(len(groups)) >= lost] for groups in whose]
        wrong += bool(starred(counted([write(random, len(groups)) for groups in whose], whose, identities)))
    return 100 * wrong / repeats


def power(random: np.random.Generator, repeats: int, *, usual: float, planted: float) -> float:
    """Percent of lists that star a word which stands in a share ``planted`` of one identity's texts, else ``usual``."""
    found = 0
    for _ in range(repeats):
        groups = np.repeat(np.arange(12), 5)
        concepts = [bursty_texts(random, 60) for _ in range(20)]
        for texts in concepts:
            for place in np.flatnonzero(random.random(60) < np.where(groups == 3, planted, usual)).tolist():
                texts[place] = np.append(texts[place], 9_999)
        found += (3, "w09999") in starred(counted(concepts, [groups] * 20, 12))
    return 100 * found / repeats


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Error rates over all words and identities of a list, and the share of planted words that get a star."""
    cases = (
        ("20 identities × 20 concepts × 5 texts, each repeats one random name", repeated_names, 20, 20, 0.0),
        ("12 identities × 20 concepts × 5 texts, words repeated within texts", bursty_texts, 12, 20, 0.0),
        ("3 identities × 20 concepts × 5 texts, words repeated within texts", bursty_texts, 3, 20, 0.0),
        ("12 identities × 20 concepts, a fifth of the texts missing", bursty_texts, 12, 20, 0.2),
    )
    for setting, write, identities, concepts, lost in cases:
        percent = error_rate(random, repeats, write, identities=identities, concepts=concepts, lost=lost)
        yield Cell("words", "any star where no name makes a difference", setting, percent, repeats, 3, 6)
    few = max(repeats // 4, 20)
    for usual, planted, low in ((0.1, 0.4, 90), (0.1, 0.3, 50), (0.02, 0.2, 90)):
        setting = f"a word in {100 * planted:.0f}% of one's 100 texts, in {100 * usual:.0f}% of others'"
        percent = power(random, few, usual=usual, planted=planted)
        yield Cell("words", "planted word gets a star", setting, percent, few, low, 100)

"""In how many texts of an identity a word would stand if the identity made no difference to prompts of one length.

Then names could be shuffled among the prompts of each stratum: those of one concept whose texts have about equally many
words, for longer texts have more words of any kind. An identity would have the texts with the word that one prompt of
the stratum has, each as likely, and in all strata the sum of independent ones. The prompt is what is shuffled, not the
text: a model may give all stories of one prompt the same hero, and five texts with the name are then one piece of
evidence. A text counts once however often it repeats a word, which z-scores take for as many findings.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kapwa.analysis.words.counts import Ints, WordCounts

Reals = NDArray[np.float64]
# Texts up to which a distribution is convolved; beyond, a binomial one with its mean, variance and skewness is as good.
_EXACT = 512


class ByChance(NamedTuple):
    """What shuffled names give, for some entries of counts.

    ``expected``: mean number of the identity's texts with the word. ``p_adjusted``: chance that any word of any
    identity stands in so surprisingly many texts.
    """

    expected: Reals
    p_adjusted: Reals


class _Strata(NamedTuple):
    """The entries of all strata, each column one of E: ``many`` of ``size`` prompts have ``word`` in ``texts`` texts.

    Of one stratum and word there may be several, with rising numbers of texts; strata rise, and words within them.
    """

    stratum: Ints
    word: Ints
    size: Ints
    texts: Ints
    many: Ints

    @classmethod
    def of(cls, counts: WordCounts, family: NDArray[np.bool_]) -> _Strata:
        """Return the entries of the words that are looked at."""
        stratum, word, texts, many = counts.strata[:, family[counts.strata[1]]].astype(np.int64)
        return cls(stratum, word, counts.prompts.sum(axis=1)[stratum], texts, many)

    def only(self, chosen: Ints) -> _Strata:
        """Return the entries at these positions."""
        return _Strata(*(values[chosen] for values in self))


class _ByWord(NamedTuple):
    """Where the entries of each word are: ``places`` of word w are ``starts[w]:starts[w + 1]``, rising."""

    places: Ints
    starts: Ints

    @classmethod
    def of(cls, strata: _Strata, size: int) -> _ByWord:
        """Sort the entries by their words, of which there are ``size``."""
        starts = np.append(0, np.cumsum(np.bincount(strata.word, minlength=size)))
        return cls(np.argsort(strata.word, kind="stable"), starts)

    def entries(self, words: Ints) -> Ints:
        """Return the positions of all entries of ``words``, in the order of the strata."""
        entries = [self.places[self.starts[word] : self.starts[word + 1]] for word in words.tolist()]
        return np.sort(np.concatenate(entries))


class _LeastChances:
    """The least p-values that words of an identity can reach: each of its prompts is one of those with most texts."""

    def __init__(self, strata: _Strata, size: int) -> None:
        # The last entry of a stratum and word is of the prompts with most texts.
        last = np.append(_differ(strata), True)[1:] if len(strata.word) else np.zeros(0, bool)
        self._stratum, self._word = strata.stratum[last], strata.word[last]
        self._ways = np.log(strata.many[last] / strata.size[last])
        self._size = size

    def of(self, times: Ints) -> Reals:
        """Return those of an identity with ``times`` (C,) prompts in each stratum, one for every word, rising."""
        return np.sort(np.exp(np.bincount(self._word, self._ways * times[self._stratum], self._size)))


def by_chance(counts: WordCounts, entries: Ints, family: NDArray[np.bool_]) -> ByChance:
    """Hold the texts of ``entries`` against shuffled names; ``family`` (V,): the words that are looked at.

    The adjusted p of an entry is its p-value times the number of all words of all identities that could reach as small
    a one at all: Bonferroni's, but for what few texts can never show (Tarone 1990).

    Several prompts of an identity in a stratum are drawn as if each were put back: their sum varies a little more than
    it can, so that the chances are on the careful side.
    """
    rows, words, texts = counts.rows[entries], counts.indices[entries].astype(np.int64), counts.texts[entries]
    expected, p, rivals = np.zeros(len(entries)), np.ones(len(entries)), np.zeros(len(entries), np.int64)
    if not len(entries):
        return ByChance(expected, p)
    size = len(counts.vocabulary)
    strata = _Strata.of(counts, family)
    by_word, least = _ByWord.of(strata, size), _LeastChances(strata, size)
    # Entries are many, of all strata, and the words of an identity few: only theirs are looked up for it.
    for who in np.unique(rows).tolist():
        mine = np.flatnonzero(rows == who)
        expected[mine], p[mine] = _identity_tails(
            strata.only(by_word.entries(words[mine])), counts.prompts[:, who], words[mine], texts[mine]
        )
    for times in counts.prompts.T:
        # Chances that are equal differ in their last digits.
        rivals += np.searchsorted(least.of(times), p * (1 + 1e-9), side="right")
    return ByChance(expected, np.clip(p * rivals, p, 1.0))


def _identity_tails(strata: _Strata, times: Ints, words: Ints, texts: Ints) -> tuple[Reals, Reals]:
    """Return the mean number of texts with each of ``words`` (W,), and the chance of at least ``texts`` of them.

    ``strata`` are the entries of these words; the identity has ``times`` (C,) prompts in each.
    """
    drawn = strata.only(np.flatnonzero(times[strata.stratum]))
    order = np.argsort(words)
    numbered = drawn._replace(word=order[np.searchsorted(words, drawn.word, sorter=order)])
    return _tails(numbered, times, texts)


def _differ(draws: _Strata) -> NDArray[np.bool_]:
    """Whether each entry is the first of its stratum and word."""
    changes = (np.diff(draws.stratum) != 0) | (np.diff(draws.word) != 0)
    return np.append(np.ones(min(len(draws.word), 1), bool), changes)


def _tails(draws: _Strata, times: Ints, texts: Ints) -> tuple[Reals, Reals]:
    """Mean number of texts with each of W words, and the chance of at least ``texts`` (W,) of them.

    ``times`` (C,): from how many prompts of each stratum one is drawn.
    """
    first = _differ(draws)
    group = np.cumsum(first) - 1  # a group is a stratum and word
    word, often, share = draws.word[first], times[draws.stratum[first]], draws.many / draws.size
    means, squares, cubes = (np.bincount(group, share * draws.texts**power, len(word)) for power in (1, 2, 3))
    spread, skewed = squares - means**2, cubes - 3 * means * squares + 2 * means**3
    moments = (means, spread, skewed)
    mean, variance, third = np.stack([np.bincount(word, often * moment, len(texts)) for moment in moments])
    largest = np.zeros(len(word), np.int64)
    np.maximum.at(largest, group, draws.texts)
    most = np.bincount(word, often * largest, len(texts))
    needed = np.minimum(most, np.ceil(mean + 8 * np.sqrt(variance)) + 8).astype(np.int64) + 1
    many = needed > _EXACT
    p = np.ones(len(texts))
    p[many] = _fitted(texts[many], mean[many], variance[many], third[many])
    few = np.flatnonzero(~many)
    shape = len(texts), int(needed[few].max(initial=1))
    chances = _convolved(draws.only(np.flatnonzero(~many[draws.word])), times, shape)[few]
    # No less than that of the most that are listed.
    upper = np.cumsum(chances[:, ::-1], axis=1)[:, ::-1] + np.maximum(1 - chances.sum(axis=1, keepdims=True), 0.0)
    p[few] = upper[np.arange(len(few)), np.minimum(texts[few], needed[few] - 1)]
    return mean, np.where(variance > 1e-9, np.minimum(p, 1.0), 1.0)


def _convolved(draws: _Strata, times: Ints, shape: tuple[int, int]) -> Reals:
    """Chance of 0, 1 … texts with each word; ``shape``: how many words and how many numbers of texts."""
    chances, width = np.zeros(shape), shape[1]
    chances[:, 0] = 1.0
    bounds = np.flatnonzero(np.diff(draws.stratum, prepend=-1, append=-1)).tolist()
    for start, end in pairwise(bounds):
        here, inverse = np.unique(draws.word[start:end], return_inverse=True)
        step = np.zeros((len(here), int(draws.texts[start:end].max()) + 1))
        step[inverse, draws.texts[start:end]] = draws.many[start:end] / draws.size[start:end]
        step[:, 0] = 1 - step[:, 1:].sum(axis=1)
        after = chances[here]
        for _ in range(int(times[draws.stratum[start]])):
            before, after = after, after * step[:, :1]
            for k in range(1, min(step.shape[1], width)):
                after[:, k:] += before[:, :-k] * step[:, k : k + 1]
        chances[here] = after
    return chances


def _fitted(texts: Ints, mean: Reals, variance: Reals, third: Reals) -> Reals:
    """Chance of at least ``texts`` by a binomial distribution moved by so much that three cumulants agree."""
    from scipy.special import betainc

    p = np.clip((1 - third / variance) / 2, 1e-9, 1 - 1e-9)
    n = variance / (p * (1 - p))
    x = texts - (mean - n * p)
    inside = (x > 0) & (x < n + 1)
    return np.asarray(np.where(inside, betainc(np.where(inside, x, 1.0), np.where(inside, n - x + 1, 1.0), p), x <= 0))

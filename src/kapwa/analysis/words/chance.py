"""In how many texts of an identity a word would stand if the identity made no difference to texts of the same length.

Then names could be shuffled among the texts of each stratum: those of one concept that are about equally long, for a
longer text has more words of any kind. Of n texts of a stratum d have the word, so the S texts of an identity have a
hypergeometric number of them, and those of all strata the sum of independent ones: the exact test of Mantel, Haenszel
and Zelen. A text counts once however often it repeats a word: a story about one Finn says "Finn" thirty times, and
z-scores, which count uses as if they were drawn one by one, take it for thirty findings.
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


class _Draws(NamedTuple):
    """One identity's draws, each of ``drawn`` texts from the ``size`` of a stratum, of which ``having`` have a word."""

    stratum: Ints
    word: Ints
    size: Ints
    having: Ints
    drawn: Ints


def by_chance(counts: WordCounts, entries: Ints, family: NDArray[np.bool_]) -> ByChance:
    """Hold the texts of ``entries`` against shuffled names; ``family`` (V,): the words that are looked at.

    The adjusted p of an entry is its p-value times the number of all words of all identities that could reach as small
    a one at all: Bonferroni's, but for what few texts can never show (Tarone 1990).
    """
    rows, words, texts = counts.rows[entries], counts.indices[entries].astype(np.int64), counts.texts[entries]
    strata = counts.strata[:, family[counts.strata[1]]].astype(np.int64)
    sizes = counts.samples.sum(axis=1)
    everyone = [_draws(strata, sizes, many) for many in counts.samples.T] if len(entries) else []
    expected, p, rivals = np.zeros(len(entries)), np.ones(len(entries)), np.zeros(len(entries), np.int64)
    for who in np.unique(rows).tolist():
        draws, mine = everyone[who], np.flatnonzero(rows == who)
        row = np.full(len(counts.vocabulary), -1)
        row[words[mine]] = np.arange(len(mine))
        some = _Draws(*(part[row[draws.word] >= 0] for part in draws))
        expected[mine], p[mine] = _tails(some._replace(word=row[some.word]), texts[mine])
    for draws in everyone:
        # Chances that are equal differ in their last digits.
        rivals += np.searchsorted(_least(draws, len(counts.vocabulary)), p * (1 + 1e-9), side="right")
    return ByChance(expected, np.clip(p * rivals, p, 1.0))


def _draws(strata: Ints, sizes: Ints, many: Ints) -> _Draws:
    """Return the draws of an identity that has ``many`` (C,) texts of the strata."""
    stratum, word, having = strata[:, many[strata[0]] > 0]
    return _Draws(stratum, word, sizes[stratum], having, many[stratum])


def _least(draws: _Draws, size: int) -> Reals:
    """Return the least p-value that each of ``size`` words can reach, rising: as many texts drawn have it as can."""
    from scipy.special import gammaln

    logs = gammaln(np.arange(draws.size.max(initial=0) + 1) + 1.0)
    fewer, more = np.minimum(draws.having, draws.drawn), np.maximum(draws.having, draws.drawn)
    ways = logs[more] - logs[more - fewer] - logs[draws.size] + logs[draws.size - fewer]
    return np.sort(np.exp(np.bincount(draws.word, ways, size)))


def _tails(draws: _Draws, texts: Ints) -> tuple[Reals, Reals]:
    """Mean number of the texts drawn that have each of W words, and the chance of at least ``texts`` (W,) of them."""
    n, s, d = (part.astype(np.float64) for part in (draws.size, draws.drawn, draws.having))
    spread = s * (d / n) * (1 - d / n) * (n - s) / np.maximum(n - 1, 1)
    skewed = spread * (n - 2 * d) * (n - 2 * s) / np.maximum(n * (n - 2), 1)
    moments = [np.bincount(draws.word, part, len(texts)) for part in (s * d / n, spread, skewed)]
    mean, variance, third = np.stack(moments)
    most = np.bincount(draws.word, np.minimum(s, d), len(texts))
    needed = np.minimum(most, np.ceil(mean + 8 * np.sqrt(variance)) + 8).astype(np.int64) + 1
    many = needed > _EXACT
    p = np.ones(len(texts))
    p[many] = _fitted(texts[many], mean[many], variance[many], third[many])
    few = np.flatnonzero(~many)
    chances = _convolved(draws, len(texts), int(needed[few].max(initial=1)))
    # No less than that of the most that are listed.
    upper = np.cumsum(chances[:, ::-1], axis=1)[:, ::-1] + np.maximum(1 - chances.sum(axis=1, keepdims=True), 0.0)
    p[few] = upper[few, np.minimum(texts[few], needed[few] - 1)]
    return mean, np.where(variance > 1e-9, np.minimum(p, 1.0), 1.0)


def _convolved(draws: _Draws, words: int, width: int) -> Reals:
    """Chance of 0, 1 … ``width`` − 1 texts with each word."""
    chances = np.zeros((words, width))
    chances[:, 0] = 1.0
    bounds = np.flatnonzero(np.diff(draws.stratum, prepend=-1, append=-1)).tolist()
    for start, end in pairwise(bounds):
        here = draws.word[start:end]
        step = _hypergeometric(int(draws.size[start]), draws.having[start:end], int(draws.drawn[start]))[:, :width]
        before = chances[here]
        after = before * step[:, :1]
        for k in range(1, step.shape[1]):
            after[:, k:] += before[:, :-k] * step[:, k : k + 1]
        chances[here] = after
    return chances


def _hypergeometric(n: int, with_word: Ints, drawn: int) -> Reals:
    """Chance of 0, 1 … texts with the word among ``drawn`` of ``n``, for each number of texts ``with_word``."""
    from scipy.special import gammaln

    d, k = with_word[:, None].astype(np.float64), np.arange(min(drawn, int(with_word.max())) + 1.0)
    possible = (k <= d) & (drawn - k <= n - d)
    k = np.where(possible, k, np.maximum(drawn - n + d, 0))
    ways = sum(gammaln(a + 1) - gammaln(b + 1) - gammaln(a - b + 1) for a, b in ((d, k), (n - d, drawn - k)))
    return np.where(possible, np.exp(ways - (gammaln(n + 1) - gammaln(drawn + 1) - gammaln(n - drawn + 1))), 0.0)


def _fitted(texts: Ints, mean: Reals, variance: Reals, third: Reals) -> Reals:
    """Chance of at least ``texts`` by a binomial distribution moved by so much that three cumulants agree."""
    from scipy.special import betainc

    p = np.clip((1 - third / variance) / 2, 1e-9, 1 - 1e-9)
    n = variance / (p * (1 - p))
    x = texts - (mean - n * p)
    inside = (x > 0) & (x < n + 1)
    return np.asarray(np.where(inside, betainc(np.where(inside, x, 1.0), np.where(inside, n - x + 1, 1.0), p), x <= 0))

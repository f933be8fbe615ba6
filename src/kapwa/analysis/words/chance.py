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


class _Draws(NamedTuple):
    """One identity's draws, each of a prompt from the ``size`` of a stratum; ``many`` have a word in ``texts``.

    Of one stratum and word there may be several, with different numbers of texts.
    """

    stratum: Ints
    word: Ints
    size: Ints
    texts: Ints
    many: Ints


def by_chance(counts: WordCounts, entries: Ints, family: NDArray[np.bool_]) -> ByChance:
    """Hold the texts of ``entries`` against shuffled names; ``family`` (V,): the words that are looked at.

    The adjusted p of an entry is its p-value times the number of all words of all identities that could reach as small
    a one at all: Bonferroni's, but for what few texts can never show (Tarone 1990).
    """
    rows, words, texts = counts.rows[entries], counts.indices[entries].astype(np.int64), counts.texts[entries]
    strata = counts.strata[:, family[counts.strata[1]]].astype(np.int64)
    sizes = counts.prompts.sum(axis=1)
    everyone = [_draws(strata, sizes, whose) for whose in counts.prompts.T] if len(entries) else []
    expected, p, rivals = np.zeros(len(entries)), np.ones(len(entries)), np.zeros(len(entries), np.int64)
    for who in np.unique(rows).tolist():
        draws, mine = everyone[who], np.flatnonzero(rows == who)
        row = np.full(len(counts.vocabulary), -1)
        row[words[mine]] = np.arange(len(mine))
        some = _Draws(*(values[row[draws.word] >= 0] for values in draws))
        expected[mine], p[mine] = _tails(some._replace(word=row[some.word]), texts[mine])
    for draws in everyone:
        # Chances that are equal differ in their last digits.
        rivals += np.searchsorted(_least(draws, len(counts.vocabulary)), p * (1 + 1e-9), side="right")
    return ByChance(expected, np.clip(p * rivals, p, 1.0))


def _draws(strata: Ints, sizes: Ints, whose: Ints) -> _Draws:
    """Return the draws of an identity that has ``whose`` (C,) prompts in each stratum.

    Several prompts of a stratum are drawn as if each were put back: their sum varies a little more than it can, so that
    the chances are on the careful side.
    """
    times = whose[strata[0]]
    several = [strata[:, times > number] for number in range(int(times.max(initial=1)))]
    stratum, word, texts, many = np.concatenate(several, axis=1)
    again = np.repeat(np.arange(len(several)), [rows.shape[1] for rows in several])
    return _Draws(stratum + again * len(whose), word, sizes[stratum], texts, many)


def _least(draws: _Draws, size: int) -> Reals:
    """Return the least p-value that each of ``size`` words can reach, rising: the prompts with most texts are drawn."""
    # The entries of a stratum and word stand together, with rising numbers of texts.
    last = np.append(_differ(draws), True)[1:] if len(draws.word) else np.zeros(0, bool)
    ways = np.log(draws.many[last] / draws.size[last])
    return np.sort(np.exp(np.bincount(draws.word[last], ways, size)))


def _differ(draws: _Draws) -> NDArray[np.bool_]:
    """Whether each entry is the first of its stratum and word."""
    changes = (np.diff(draws.stratum) != 0) | (np.diff(draws.word) != 0)
    return np.append(np.ones(min(len(draws.word), 1), bool), changes)


def _tails(draws: _Draws, texts: Ints) -> tuple[Reals, Reals]:
    """Mean number of texts with each of W words, and the chance of at least ``texts`` (W,) of them."""
    first = _differ(draws)
    group = np.cumsum(first) - 1  # a group is a stratum and word
    word, share = draws.word[first], draws.many / draws.size
    means, squares, cubes = (np.bincount(group, share * draws.texts**power, len(word)) for power in (1, 2, 3))
    spread, skewed = squares - means**2, cubes - 3 * means * squares + 2 * means**3
    mean, variance, third = np.stack([np.bincount(word, moments, len(texts)) for moments in (means, spread, skewed)])
    largest = np.zeros(len(word), np.int64)
    np.maximum.at(largest, group, draws.texts)
    most = np.bincount(word, largest, len(texts))
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
        here, inverse = np.unique(draws.word[start:end], return_inverse=True)
        step = np.zeros((len(here), int(draws.texts[start:end].max()) + 1))
        step[inverse, draws.texts[start:end]] = draws.many[start:end] / draws.size[start:end]
        step[:, 0] = 1 - step[:, 1:].sum(axis=1)
        before = chances[here]
        after = before * step[:, :1]
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

"""In how many texts of an identity a word would stand if the identity made no difference to the texts of a concept.

Then names could be shuffled among the texts of each concept. Of n texts of a concept d have the word, so the S texts of
an identity have a hypergeometric number of them, and those of all concepts the sum of independent ones: the exact test
of Mantel, Haenszel and Zelen for strata. A text counts once however often it repeats a word: a story about one Finn
says "Finn" thirty times, and z-scores, which count uses as if they were drawn one by one, take it for thirty findings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kapwa.analysis.words.counts import Ints, WordCounts

Reals = NDArray[np.float64]
# Words of concepts, times kinds of identities, that are worked out: a few seconds.
_WORK = 6_000_000
# Texts up to which a distribution is convolved; beyond, a binomial one with its mean, variance and skewness is as good.
_EXACT = 512
_WIDTHS = (8, 32, 128, _EXACT)


class ByChance(NamedTuple):
    """What shuffled names give, for some entries of counts.

    ``expected``: mean number of the identity's texts with the word (an upper bound where :func:`by_chance` tests all
    identities as the largest). ``p_adjusted``: chance that any word of any
    identity stands in so surprisingly many texts.
    """

    expected: Reals
    p_adjusted: Reals


class _Tails(NamedTuple):
    """Chances of at least so many texts, of V words: from ``start`` texts on, ``width`` of them, at ``offset``.

    The first of ``chances`` is 1, of any number below.
    """

    mean: Reals
    start: Ints
    width: Ints
    offset: Ints
    chances: Reals

    def at(self, words: Ints, texts: Ints) -> Reals:
        """Chance that a word stands in at least so many texts; no less than that of the most that are listed."""
        steps = np.minimum(texts - self.start[words], self.width[words] - 1)
        return self.chances[np.where((steps >= 0) & (self.width[words] > 0), self.offset[words] + steps, 0)]


def by_chance(counts: WordCounts, entries: Ints, family: NDArray[np.bool_]) -> ByChance:
    """Hold the texts of ``entries`` against shuffled names; ``family`` (V,): the words that are looked at.

    The adjusted p of an entry is the sum, over all words of all identities, of the largest p-value each can reach that
    is no larger: Bonferroni's, but for what few texts can reach at all (Westfall and Wolfinger 1997). Identities with
    the same numbers of texts of all concepts are of one kind. Of many kinds in a large corpus all are tested as if they
    had the most texts that any has, which errs on the careful side.
    """
    samples, kinds = np.unique(counts.samples, axis=1, return_inverse=True)
    kinds = kinds.ravel()
    if samples.shape[1] > 1 and samples.shape[1] * counts.strata.shape[1] > _WORK:
        samples, kinds = counts.samples.max(axis=1)[:, None], np.zeros(counts.n_groups, np.int64)
    rows, words, texts = counts.rows[entries], counts.indices[entries].astype(np.int64), counts.texts[entries]
    expected, p = np.zeros(len(entries)), np.ones(len(entries))
    reached: list[Reals] = [np.empty(0)]
    weights: list[Reals] = [np.empty(0)]
    there = np.asarray(counts.samples.sum(axis=0) > 0)
    for kind, many in enumerate(samples.T):
        if not many.any():
            continue
        tails = _tails(counts, many, family)
        mine = kinds[rows] == kind
        expected[mine], p[mine] = tails.mean[words[mine]], tails.at(words[mine], texts[mine])
        # Each step of a word's tail: reached with the chance itself, but counted as what it adds to the next one.
        following = np.append(tails.chances[1:], 0.0)
        following[(tails.offset + tails.width)[tails.width > 0] - 1] = 0.0
        reached.append(tails.chances)
        weights.append((tails.chances - following) * np.count_nonzero(there & (kinds == kind)))
    all_reached, all_weights = np.concatenate(reached), np.concatenate(weights)
    order = np.argsort(all_reached)
    sums = np.append(0.0, np.cumsum(all_weights[order]))
    # Chances that are equal differ in their last digits.
    adjusted = sums[np.searchsorted(all_reached[order], p * (1 + 1e-9), side="right")]
    return ByChance(expected, np.where(p < 1, np.clip(adjusted, p, 1.0), 1.0))


def _tails(counts: WordCounts, many: Ints, family: NDArray[np.bool_]) -> _Tails:
    """In how many texts each word stands, of an identity that has ``many`` (C,) texts of the concepts."""
    concepts, words, texts = counts.strata[:, family[counts.strata[1]]].astype(np.int64)
    sizes, size = counts.samples.sum(axis=1), len(counts.vocabulary)
    n, s, d = sizes[concepts].astype(np.float64), many[concepts].astype(np.float64), texts.astype(np.float64)
    spread = s * (d / n) * (1 - d / n) * (n - s) / np.maximum(n - 1, 1)
    skewed = spread * (n - 2 * d) * (n - 2 * s) / np.maximum(n * (n - 2), 1)
    mean, variance, third = np.stack([np.bincount(words, part, size) for part in (s * d / n, spread, skewed)])
    most = np.bincount(words, np.minimum(s, d), size).astype(np.int64)
    needed = np.minimum(most, np.ceil(mean + 8 * np.sqrt(variance)).astype(np.int64) + 8) + 1
    needed[variance <= 1e-9] = 0
    start, width, offset = np.zeros((3, size), np.int64)
    chances: list[Reals] = [np.ones(1)]
    exact = _convolved(concepts, words, texts, sizes, many, needed)
    for rows, first, tail in (*exact, *_fitted(np.flatnonzero(needed > _EXACT), mean, variance, third)):
        start[rows], width[rows] = first, tail.shape[1]
        offset[rows] = sum(map(len, chances)) + np.arange(len(rows)) * tail.shape[1]
        chances.append(tail.ravel())
    return _Tails(mean, start, width, offset, np.concatenate(chances))


def _convolved(
    concepts: Ints, words: Ints, texts: Ints, sizes: Ints, many: Ints, needed: Ints
) -> Iterator[tuple[Ints, Ints, Reals]]:
    """Yield words, 0 for each, and their exact tails from 0 texts on, those of about equal width together."""
    bounds = np.searchsorted(concepts, np.arange(len(sizes) + 1))
    for least, width in zip((0, *_WIDTHS[:-1]), _WIDTHS, strict=True):
        chosen = np.flatnonzero((needed > least) & (needed <= width))
        row = np.full(len(needed), -1)
        row[chosen] = np.arange(len(chosen))
        chance = np.zeros((len(chosen), width))
        chance[:, 0] = 1.0
        for concept, (start, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
            here = np.flatnonzero(row[words[start:end]] >= 0) + start
            if not len(here) or not many[concept]:
                continue
            found, which = np.unique(texts[here], return_inverse=True)
            step = _hypergeometric(int(sizes[concept]), found, int(many[concept]))[which][:, :width]
            at = row[words[here]]
            before = chance[at]
            after = before * step[:, :1]
            for k in range(1, step.shape[1]):
                after[:, k:] += before[:, :-k] * step[:, k : k + 1]
            chance[at] = after
        lost = np.maximum(1 - chance.sum(axis=1, keepdims=True), 0.0)
        yield chosen, np.zeros_like(chosen), np.cumsum(chance[:, ::-1], axis=1)[:, ::-1] + lost


def _hypergeometric(n: int, with_word: Ints, drawn: int) -> Reals:
    """Chance of 0, 1 … texts with the word among ``drawn`` of ``n``, for each number of texts ``with_word``."""
    from scipy.special import gammaln

    d, k = with_word[:, None].astype(np.float64), np.arange(min(drawn, int(with_word.max())) + 1.0)
    possible = (k <= d) & (drawn - k <= n - d)
    k = np.where(possible, k, np.maximum(drawn - n + d, 0))
    ways = sum(gammaln(a + 1) - gammaln(b + 1) - gammaln(a - b + 1) for a, b in ((d, k), (n - d, drawn - k)))
    return np.where(possible, np.exp(ways - (gammaln(n + 1) - gammaln(drawn + 1) - gammaln(n - drawn + 1))), 0.0)


def _fitted(rows: Ints, mean: Reals, variance: Reals, third: Reals) -> Iterator[tuple[Ints, Ints, Reals]]:
    """Yield words that stand in very many texts, the whole number below the mean, and their tails from there on."""
    from scipy.special import betainc

    if not len(rows):
        return
    mean, variance, third = mean[rows, None], variance[rows, None], third[rows, None]
    # A binomial distribution moved by so much that three cumulants agree.
    p = np.clip((1 - third / variance) / 2, 1e-9, 1 - 1e-9)
    n = variance / (p * (1 - p))
    first = np.floor(mean)
    x = first + np.arange(8 * np.sqrt(variance.max()) + 8) - (mean - n * p)
    inside = (x > 0) & (x < n + 1)
    tail = np.where(inside, betainc(np.where(inside, x, 1.0), np.where(inside, n - x + 1, 1.0), p), x <= 0)
    yield rows, first[:, 0].astype(np.int64), tail

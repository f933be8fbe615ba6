"""The cultural consensus model: do people share one set of answers, who knows them best, and which are they?

People answer without a key. If they share one culture, two of them agree as often as both know the answer, or guess
alike: the match matrix, corrected for guessing, is the product of their competences off its diagonal. Source: Romney,
Weller and Batchelder (1986), "Culture as consensus", American Anthropologist 88, 313-338.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kapwa.errors import UsageError
from kapwa.stats.clusters import FloatArray, IntArray

# The first eigenvalue over the second from which the authors speak of one culture.
ONE_CULTURE = 3.0
# Three people always fit one factor exactly.
LEAST_PEOPLE, LEAST_ITEMS = 4, 10
MISSING = -1
_ROUNDS, _TOLERANCE = 200, 1e-10
# The smallest second side to detect: this share of the people gives another answer to this share of the items.
SIDE_OF_PEOPLE, SIDE_OF_ITEMS = 0.25, 0.25
# People who know nothing but agree on a popular answer look as if they had a competence of up to this.
POPULAR = 0.5
# The largest competence that is used, so that no single answer decides alone.
_SUREST = 0.99


class Consensus(NamedTuple):
    """Whether people's answers follow a shared key.

    ``competence``: (people,) the share of answers that each knows, and does not guess, in [−1, 1]; below 0 somebody
    answers against all others. ``second_side``: (people,) where there are two cultures, who belongs to
    which: the two people who agree least are on different sides, and everybody else is on the side of the one of these
    two with whom they agree more (people who share no item count as agreeing by guessing alone). ``ratio``: the
    first eigenvalue over the second, infinite where there is no second.

    The p-values are shares of simulated studies with these people and items. ``p_one``: with one culture, the ratio is
    as low; ``p_against``: with one culture, the lowest competence is as low. ``p_two``: a quarter of the people have
    another answer to a quarter of the items, and the ratio is as high. ``p_guess``: everybody guesses, and people agree
    as much. ``p_popular``: everybody gives a popular answer to every second item and guesses the others, and the mean
    competence is as high.
    """

    competence: FloatArray
    second_side: NDArray[np.bool_]
    ratio: float
    p_one: float
    p_against: float
    p_two: float
    p_guess: float
    p_popular: float

    @property
    def verdict(self) -> str:
        """What the authors' rules say, unless guesses, a popular answer or a second side explain the answers as well.

        A ratio of 3 or more is no proof of one culture. Four people who all guess on 12 items reach it in nine of ten
        studies. So do two camps that contradict each other (one camp then has negative competences), and two camps
        whose keys are mostly the same.
        """
        lowest = float(self.competence.min())
        if self.p_guess >= 0.05:
            return "no agreement beyond guessing"
        alone = self.ratio >= ONE_CULTURE and lowest >= 0 and self.p_two < 0.05
        if alone and self.p_popular < 0.05:
            return "one culture"
        # Two tests, each at 2.5 %. One disputed question does not make a second culture.
        several = self.p_one < 0.025 or (lowest < 0 and self.p_against < 0.025)
        return "several cultures" if several and self.p_two >= 0.05 else "cannot be told"


class KeyedAnswer(NamedTuple):
    """The likeliest answer to an item (a code of ``answers``), how sure the model is of it, and who gave it."""

    answer: int
    confidence: float
    votes: int
    people: int


def corrected_matches(answers: ArrayLike, options: ArrayLike) -> FloatArray:
    """Return how often two people give the same answer, corrected for guessing; NaN where they share no item.

    ``answers``: (people, items) codes, :data:`MISSING` for none; free texts that mean the same have one code.
    ``options``: (items,) how many there were to choose among, infinite for free texts. With L options two people match
    by guessing in 1/L of cases, so that (match − 1/L) / (1 − 1/L), pooled over items, estimates the product of their
    competences; for equal L it is the paper's (L M − 1) / (L − 1). The diagonal is NaN.
    """
    codes, sizes = _checked(answers, options)
    guessed, known = 1 / sizes, codes != MISSING
    matches = np.full((len(codes), len(codes)), np.nan)
    for i in range(len(codes) - 1):
        both = known[i] & known[i + 1 :]
        surplus = (((codes[i] == codes[i + 1 :]) - guessed) * both).sum(axis=1)
        possible = both @ (1 - guessed)
        matches[i, i + 1 :] = matches[i + 1 :, i] = surplus / np.where(possible > 0, possible, np.nan)
    return matches


def competences(matches: FloatArray) -> FloatArray:
    """Return the competences whose products fit the known ``matches`` off the diagonal best (minimum residuals).

    Each in turn becomes Σ_j M_ij D_j / Σ_j D_j² over the others, cut to [−1, 1], until none changes (Comrey's method;
    for three people exactly D_1 = √(M_12 M_13 / M_23)). The sign is chosen so that their sum is positive. A person who
    shares no item gets 0.
    """
    known = ~np.isnan(matches)
    filled, d = np.where(known, matches, 0.0), np.full(len(matches), 0.5)
    for _ in range(_ROUNDS):
        before = d.copy()
        for i in range(len(d)):
            weight = float(known[i] @ d**2)
            d[i] = min(max(float(filled[i] @ d) / weight, -1.0), 1.0) if weight > 0 else 0.0
        if np.abs(d - before).max() < _TOLERANCE:
            break
    return d if d.sum() >= 0 else -d


def consensus(answers: ArrayLike, options: ArrayLike, *, seed: int = 0, replicates: int = 100) -> Consensus:
    """Fit the model; see :func:`corrected_matches` for the arguments, and :class:`Consensus` for what it says.

    Raises UsageError for fewer than four people, or fewer than ten items that two of them answered.
    """
    codes, sizes = _checked(answers, options)
    shared = int(((codes != MISSING).sum(axis=0) > 1).sum())
    if len(codes) < LEAST_PEOPLE or shared < LEAST_ITEMS:
        raise UsageError(f"{len(codes)} people share {shared} items: too few to tell whether they share one culture.")
    matches = corrected_matches(codes, sizes)
    d, ratio = _factors(matches)
    first, second = np.unravel_index(np.nanargmin(matches), matches.shape)
    random = np.random.default_rng(seed)

    def studies(knows: FloatArray, *, sides: bool = False) -> list[FloatArray]:
        drawn = (_drawn(knows, codes, sizes, random, sides=sides) for _ in range(replicates))
        return [corrected_matches(study, sizes) for study in drawn]

    one = [_factors(study) for study in studies(d)]
    lower = sum(simulated <= ratio for _, simulated in one)
    against = sum(simulated.min() <= d.min() for simulated, _ in one)
    higher = sum(_factors(study)[1] >= ratio for study in studies(d, sides=True))
    agreeing = sum(_strength(study) >= _strength(matches) for study in studies(0 * d))
    popular = sum(competences(study).mean() >= d.mean() for study in studies(0 * d + POPULAR))
    known = np.nan_to_num(matches)
    np.fill_diagonal(known, 1.0)
    side = known[:, second] > known[:, first]
    shares = ((1 + count) / (1 + replicates) for count in (lower, against, higher, agreeing, popular))
    return Consensus(d, side, ratio, *map(float, shares))


def answer_key(answers: ArrayLike, options: ArrayLike, competence: ArrayLike) -> list[KeyedAnswer]:
    """Return each item's likeliest answer and its posterior probability, with equal prior probabilities.

    A person of competence D gives the right one of L answers with probability D + (1 − D)/L, and each other with
    (1 − D)/L. Competences are cut to [0, 0.99]. For free texts (infinite ``options``) L is the number of different
    texts plus one, since a text that nobody gave may be right. The lower code wins a tie. An item that nobody answered
    has :data:`MISSING` and confidence NaN.
    """
    codes, sizes = _checked(answers, options)
    d = np.clip(np.asarray(competence, dtype=np.float64), 0.0, _SUREST)
    keyed = []
    for column, size in zip(codes.T, sizes.tolist(), strict=True):
        made = column != MISSING
        texts, indices = np.unique(column[made], return_inverse=True)
        if not texts.size:
            keyed.append(KeyedAnswer(MISSING, np.nan, 0, 0))
            continue
        alternatives = len(texts) + 1 if np.isinf(size) else max(size, len(texts))
        weights = np.log((d[made] * (alternatives - 1) + 1) / (1 - d[made]))
        support = np.bincount(indices, weights=weights)
        best = int(support.argmax())
        others = np.exp(support - support[best]).sum() + (alternatives - len(texts)) * np.exp(-support[best])
        keyed.append(KeyedAnswer(int(texts[best]), float(1 / others), int((indices == best).sum()), int(made.sum())))
    return keyed


def _checked(answers: ArrayLike, options: ArrayLike) -> tuple[IntArray, FloatArray]:
    codes, sizes = np.asarray(answers), np.asarray(options, dtype=np.float64)
    if codes.ndim != 2 or sizes.shape != codes.shape[1:] or not (sizes >= 2).all():
        raise UsageError("Answers are people × items, and every item has two options or more.")
    return codes.astype(np.int64), sizes


def _factors(matches: FloatArray) -> tuple[FloatArray, float]:
    """Return competences, and the ratio of the first two eigenvalues.

    Unknown matches and the diagonal are replaced by the products of competences (the diagonal: communalities).
    """
    d = competences(matches)
    second, first = np.linalg.eigvalsh(np.where(np.isnan(matches), np.outer(d, d), matches))[-2:].tolist()
    return d, first / second if second > 1e-12 else np.inf


def _strength(matches: FloatArray) -> float:
    """How far people agree, be it in two camps: the first eigenvalue of the matches alone."""
    return float(np.linalg.eigvalsh(np.nan_to_num(matches))[-1])


def _drawn(d: FloatArray, codes: IntArray, sizes: FloatArray, random: np.random.Generator, *, sides: bool) -> IntArray:
    """Draw answers of people with competences ``d``, whose key is code 0; wrong free texts hardly ever match.

    With ``sides``, a quarter of the people (at least two) have the key 1 for a quarter of the items.
    """
    key = np.zeros(codes.shape, dtype=np.int64)
    if sides:
        people, items = (random.permutation(n) for n in codes.shape)
        other = people[: max(2, round(SIDE_OF_PEOPLE * len(people)))]
        key[np.ix_(other, items[: max(1, round(SIDE_OF_ITEMS * len(items)))])] = 1
    knows = random.random(codes.shape) < np.clip(d, 0.0, 1.0)[:, None]
    guesses = random.integers(0, np.minimum(sizes, 2.0**31).astype(np.int64), size=codes.shape)
    return np.where(codes == MISSING, MISSING, np.where(knows, key, guesses))

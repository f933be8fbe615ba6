"""Corrected scores: coverage of what is printed, differences between runs that a scorer treats unlike, signs of bias.

Answers of a stratum come in questions that go alike (correlation .3), and so do the scorer's mistakes on them. People
label some, drawn with the same chance each, or those that the scorer calls wrong four times as often as the others,
which still get a quarter of the labels. Each data set is a stratum of one call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from benchmarks.simulations import Cell
from scipy.special import ndtri

from kapwa.stats.clusters import FloatArray
from kapwa.stats.corrected import Corrected, corrected_difference, corrected_means, corrected_over_strata, labels_needed

ANSWERS = 480
ALIKE = 0.3
FAVOUR, LEAST_PART = 4, 0.25
LABELS = (20, 40, 60, 120, 300)
RATES = (0.1, 0.5, 0.9)
# How often the scorer calls right what people call right, and what they call wrong; None: a coin with the true rate.
SCORERS: dict[str, tuple[float, float] | None] = {"useless": None, "fair": (0.7, 0.15), "good": (0.9, 0.05)}
# Labels, answers to a question, whether doubtful answers are drawn more often.
DRAWS = (
    *((labels, size, doubtful) for size, doubtful in ((1, False), (4, True), (4, False)) for labels in LABELS),
    (60, 2, False),
    (60, 1, True),
)
# How often scorers over strata call right and wrong answers right, in the first stratum and in the last.
OVER_SCORERS = {"fair to good": ((0.7, 0.9), (0.15, 0.05)), "mild": ((0.95, 0.95), (0.3, 0.3))}
# Strata, labels in each, whether they share questions, how much is right in the first and in the last, the scorer.
Over = tuple[int, int, bool, tuple[float, float], str]
OVER: tuple[Over, ...] = (
    (4, 60, False, (0.2, 0.8), "fair to good"),
    (16, 60, False, (0.2, 0.8), "fair to good"),
    (16, 60, True, (0.2, 0.8), "fair to good"),
    (16, 20, True, (0.2, 0.8), "fair to good"),
    (16, 60, False, (0.9, 0.98), "fair to good"),
    (16, 60, True, (0.9, 0.98), "fair to good"),
    (8, 20, False, (0.85, 0.95), "mild"),
    (30, 20, False, (0.85, 0.95), "mild"),
    (30, 20, False, (0.95, 0.99), "mild"),
    (30, 60, False, (0.85, 0.95), "mild"),
    (30, 40, False, (0.95, 0.99), "mild"),
    (30, 20, True, (0.95, 0.99), "mild"),
)
# Labels, answers to a question.
PAIRS = ((60, 1), (120, 1), (60, 4), (120, 4))
PLANS = ((0.1, 0.85), (0.07, 0.85), (0.1, 0.6))
# How often the scorer calls right answers right, and wrong ones, in each of eight cultures.
CULTURES = ((0.65, 0.02), (0.75, 0.05), (0.85, 0.05), (0.95, 0.05), (0.95, 0.15), (0.9, 0.2), (0.95, 0.3), (1.0, 0.4))


class Audited(NamedTuple):
    """Data sets × answers: what people say, what the scorer says, the chance to be drawn, whether it was."""

    people: FloatArray
    scores: FloatArray
    chances: FloatArray
    drawn: FloatArray


def alike(random: np.random.Generator, shape: tuple[int, int], size: int) -> FloatArray:
    """Normal numbers (data sets, answers) that go alike within questions of ``size`` answers."""
    question = np.repeat(random.normal(size=(shape[0], shape[1] // size)), size, axis=1)
    return np.sqrt(ALIKE) * question + np.sqrt(1 - ALIKE) * random.normal(size=shape)


def judged(
    random: np.random.Generator, people: FloatArray, hits: float | FloatArray, errs: float | FloatArray, size: int
) -> FloatArray:
    """What a scorer says of answers: right with chance ``hits`` where people say so, else with chance ``errs``."""
    return (alike(random, people.shape, size) < ndtri(np.where(people == 1, hits, errs))).astype(float)


def ranks(random: np.random.Generator, inside: FloatArray) -> FloatArray:
    """A random order (data sets, answers) of the answers ``inside``, from 0; the others come last."""
    order = np.where(inside, random.random(inside.shape), 2.0).argsort(axis=1)
    return order.argsort(axis=1)


def draw(
    random: np.random.Generator, scores: FloatArray, labels: int, *, doubtful: bool
) -> tuple[FloatArray, FloatArray]:
    """Draw ``labels`` answers of each data set: the chance of every answer, and which are drawn."""
    n = scores.shape[1]
    if not doubtful:
        return np.full(scores.shape, labels / n), ranks(random, np.ones(scores.shape)) < labels
    wrong = (scores < 0.5).sum(axis=1)
    right, least = n - wrong, round(labels * LEAST_PART)
    share = FAVOUR * wrong / (FAVOUR * wrong + right)
    of_right = np.clip(labels - np.round(labels * share), least, labels - least)
    of_right = np.clip(of_right, labels - np.minimum(wrong, labels), np.minimum(right, labels)).astype(int)
    chances, drawn = np.zeros(scores.shape), np.zeros(scores.shape, dtype=bool)
    for inside, count, size in ((scores < 0.5, labels - of_right, wrong), (scores >= 0.5, of_right, right)):
        chances = np.where(inside, (count / np.maximum(size, 1))[:, None], chances)
        drawn |= inside & (ranks(random, inside) < count[:, None])
    return chances, drawn


def audited(
    random: np.random.Generator,
    repeats: int,
    rate: float,
    scorer: tuple[float, float] | None,
    labels: int,
    size: int,
    *,
    doubtful: bool = False,
) -> Audited:
    """``repeats`` data sets of one design."""
    people = (alike(random, (repeats, ANSWERS), size) < ndtri(rate)).astype(float)
    scores = judged(random, people, *(scorer or (rate, rate)), size)
    return Audited(people, scores, *draw(random, scores, labels, doubtful=doubtful))


def corrected(data: Audited, size: int) -> list[Corrected]:
    """The corrected scores of all data sets; of a question one number serves for all of them."""
    places = [part.ravel() for part in np.indices(data.people.shape)]
    labels = np.where(data.drawn, data.people, np.nan)
    rows = (part.ravel() for part in (data.scores, labels, data.chances))
    return corrected_means(*rows, places[0], places[1] // size)


def printed(row: Corrected) -> tuple[float, float]:
    """The ends of the interval that is printed; NaN without one."""
    low, high = (row.low, row.high) if row.use == "corrected" else (row.people_low, row.people_high)
    return (np.nan, np.nan) if low is None or high is None else (low, high)


def covered(rows: Sequence[Corrected], true: float) -> float:
    """Percent of the rows whose printed interval holds the ``true`` mean."""
    return 100 * float(np.mean([low - 1e-12 <= true <= high + 1e-12 for low, high in map(printed, rows)]))


def longer(rows: Sequence[Corrected]) -> float:
    """By how many percent printed intervals are longer than the shorter of people's and the corrected ones."""
    widths = np.array(
        [
            [high - low for low, high in (printed(row), (row.people_low, row.people_high), (row.low, row.high))]
            for row in rows
        ],
        dtype=float,
    ).mean(axis=0)
    return 100 * float(widths[0] / widths[1:].min() - 1)


class OverStrata(NamedTuple):
    """Answers of two runs to the questions of several strata: what the scorer says, and people of those drawn."""

    scores: tuple[FloatArray, FloatArray]
    labels: tuple[FloatArray, FloatArray]
    chances: FloatArray
    strata: FloatArray
    questions: FloatArray

    def mean(self) -> Corrected:
        """The first run's mean over strata."""
        return corrected_over_strata(self.scores[0], self.labels[0], *self[2:])

    def difference(self) -> Corrected:
        """The difference of the two runs over strata."""
        return corrected_difference(*self.scores, *self.labels, *self[2:])[-1]


def over_strata(random: np.random.Generator, repeats: int, over: Over) -> Iterator[OverStrata]:
    """Yield data sets; with ``shared`` questions an answer goes like those to the same question in other strata."""
    strata, labels, shared, right, scorer = over
    rates, hits, errs = (np.linspace(*ends, strata)[:, None] for ends in (right, *OVER_SCORERS[scorer]))
    places = [part.ravel() for part in np.indices((strata, 120))]
    questions = places[1] if shared else places[0] * 120 + places[1]
    for _ in range(repeats):
        sides = []
        for scale in (1.0, 0.7):
            normal = alike(random, (120, strata), strata).T if shared else random.normal(size=(strata, 120))
            people = (normal < ndtri(rates)).astype(float)
            sides.append((people, judged(random, people, hits * scale, errs, 1)))
        drawn = ranks(random, np.ones((strata, 120))) < labels
        (a, scores_a), (b, scores_b) = [
            (np.where(drawn, people, np.nan).ravel(), scores.ravel()) for people, scores in sides
        ]
        yield OverStrata((scores_a, scores_b), (a, b), np.full(a.size, labels / 120), places[0], questions)


def two_runs(random: np.random.Generator, repeats: int, labels: int, size: int) -> list[Corrected]:
    """Two runs of which people call as many right (60 %), and the scorer misses a twentieth and a third of these."""
    sides = []
    for hits in (0.95, 0.65):
        people = (alike(random, (repeats, ANSWERS), size) < ndtri(0.6)).astype(float)
        sides.append((people, judged(random, people, hits, 0.05, size)))
    chances, drawn = draw(random, sides[0][1], labels, doubtful=False)
    (a, scores_a), (b, scores_b) = [(np.where(drawn, people, np.nan), scores) for people, scores in sides]
    places = [part.ravel() for part in np.indices(a.shape)]
    rows = (part.ravel() for part in (scores_a, scores_b, a, b, chances))
    return corrected_difference(*rows, places[0], places[1] // size)[:repeats]


def named(low: float | None, high: float | None) -> bool:
    """Whether an interval leaves out zero."""
    return low is not None and high is not None and (low > 0 or high < 0)


def cells(
    random: np.random.Generator,
    repeats: int,
    *,
    rates: Sequence[float] = RATES,
    draws: Sequence[tuple[int, int, bool]] = DRAWS,
    over: Sequence[Over] = OVER,
    pairs: Sequence[tuple[int, int]] = PAIRS,
) -> Iterator[Cell]:
    """Scores; a useless scorer; the mean over strata; two runs; the sign of the bias; plans."""
    for (n, size, doubtful), rate, scorer in product(draws, rates, SCORERS):
        rows = corrected(audited(random, repeats, rate, SCORERS[scorer], n, size, doubtful=doubtful), size)
        drawn = "doubtful ones drawn more often" if doubtful else "drawn alike"
        setting = f"{n} labels of {ANSWERS} answers, {size} a question, {drawn}; {rate:.0%} right, {scorer} scorer"
        yield Cell("audited scores", "coverage of what is printed", setting, covered(rows, rate), repeats, 93, 97)
        if scorer == "useless":
            yield Cell("audited scores", "longer than the shorter of the two", setting, longer(rows), repeats, -1, 2)
    for n, size in pairs:
        setting = f"{n} labels of {ANSWERS} answers to the same questions, {size} a question; 60% of both right"
        yield from difference_cells(two_runs(random, repeats, n, size), setting, repeats)
    yield from over_cells(random, max(repeats // 2, 1), over)
    yield from bias_cells(random, repeats)
    for half, agreement in PLANS:
        plan = labels_needed(ANSWERS, half, agreement=agreement)
        n = (plan.corrected if plan.use == "corrected" else plan.people) or ANSWERS
        rows = corrected(audited(random, repeats, 0.5, (agreement, 1 - agreement), n, 1), 1)
        width = np.mean([high - low for low, high in map(printed, rows)]) / (2 * half)
        setting = f"± {half:g} planned, {agreement:.0%} agreement"
        yield Cell("audited scores", "printed over planned width", setting, 100 * width, repeats, 90, 103)


def over_cells(random: np.random.Generator, repeats: int, over: Sequence[Over]) -> Iterator[Cell]:
    """Coverage of the mean over strata, and how often a difference is named that people do not see."""
    for design in over:
        drawn = list(over_strata(random, repeats, design))
        means, differences = [one.mean() for one in drawn], [one.difference() for one in drawn]
        strata, n, shared, right, scorer = design
        setting = f"{strata} strata, {n} labels of 120 answers in each, {'shared' if shared else 'own'} questions; "
        setting += f"{right[0]:.0%} to {right[1]:.0%} right, {scorer} scorer"
        yield Cell("audited scores", "coverage over strata", setting, covered(means, sum(right) / 2), repeats, 93, 97)
        yield from difference_cells(differences, setting, repeats)


def difference_cells(rows: Sequence[Corrected], setting: str, repeats: int) -> Iterator[Cell]:
    """How often the scorer names a difference of two equal runs, and how often what is printed does."""
    raw = np.mean([named(row.automatic_low, row.automatic_high) for row in rows])
    false = np.mean([row.p_value is not None and row.p_value < 0.05 for row in rows])
    yield Cell("audited differences", "the scorer names one of equal runs", setting, 100 * raw, repeats, 90, 100)
    yield Cell("audited differences", "the corrected one is named", setting, 100 * false, repeats, 3, 6)


def bias_cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Cultures judged too strictly, fairly and too mildly: how often the interval of the bias says the right sign."""
    for hits, errs in CULTURES:
        rows = corrected(audited(random, repeats, 0.5, (hits, errs), 60, 1), 1)
        true = (hits + errs - 1) / 2
        held = np.mean([(row.bias_low or 0) <= true <= (row.bias_high or 0) for row in rows])
        signs = np.array([named(row.bias_low, row.bias_high) * np.sign(row.bias or 0.0) for row in rows])
        setting = f"60 labels, scorer {100 * true:+.1f} points off"
        yield Cell("bias of a scorer", "coverage", setting, 100 * held, repeats, 93, 97)
        if true:
            right, wrong = (100 * float(np.mean(signs == sign)) for sign in (np.sign(true), -np.sign(true)))
            yield Cell("bias of a scorer", "right sign named", setting, right, repeats, 0, 100)
            yield Cell("bias of a scorer", "wrong sign named", setting, wrong, repeats, 0, 2.5)

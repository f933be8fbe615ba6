"""Means over cultures against tricks, guessing and people: how often any verdict of a report is wrong.

Several models in one report, all as good as what they are held against: each has a family of tests of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.simulations import Cell
from benchmarks.simulations.comparisons import answers as answers_over
from benchmarks.simulations.comparisons import places
from benchmarks.simulations.floors import errs, mark, tested, votes_of

from kapwa.report.view.reference_scores import ReferenceScores
from kapwa.stats.pooled import pooled_against_marks, pooled_mean

SUBJECT = "means over cultures against tricks and people"
POOLED = {
    "16 cultures × 15 shared questions": (16, 15, "shared"),
    "16 cultures × 100 shared questions": (16, 100, "shared"),
    "16 cultures × 40–100 of 100 questions": (16, 100, "part"),
    "16 cultures × 15 questions of their own": (16, 15, "own"),
    "4 cultures × 20 questions of their own": (4, 20, "own"),
}
MODELS = 5


def on_average_against_tricks(
    random: np.random.Generator, design: tuple[int, int, str], models: int, tricks: int, level: float
) -> float:
    """The share of several models whose mean is called better or worse than a trick that is as good."""
    cultures, questions = places(random, design)
    shares = np.tile(level * np.linspace(0.8, 1.2, design[0]), (models + tricks, 1))
    answers = answers_over(random, cultures, questions, shares)
    marks, names, wrong = answers[models:].T, frozenset(map(str, range(tricks))), []
    for values in answers[:models]:
        found = pooled_against_marks(values, marks, cultures, questions, binary=True)
        every = [tested(str(k), float(marks[:, k].mean()), False, one) for k, one in enumerate(found)]
        mean = dict(pooled_mean(values, cultures, questions, share=True)._asdict())
        wrong.append(errs([(mean, ReferenceScores.of(every))], names))
    return float(np.mean(wrong))


def on_average_against_people(random: np.random.Generator, design: tuple[int, int, str], models: int) -> float:
    """The share of models that answer as a person there whose mean is called better or worse than people."""
    cultures, questions = places(random, design)
    person, said = votes_of(random, len(cultures), models)
    wrong = []
    for fair in said.T:
        (found,) = pooled_against_marks(fair, person[:, None], cultures, questions, binary=True)
        mean = dict(pooled_mean(fair, cultures, questions, share=True)._asdict())
        people = ReferenceScores.of([tested("people", float(person.mean()), True, found)])
        wrong.append(errs([(mean, people)], frozenset(["people"])))
    return float(np.mean(wrong))


def on_average_against_guessing(random: np.random.Generator, design: tuple[int, int, str], models: int) -> float:
    """The share of models that guess among four whose mean is called better or worse than guessing."""
    cultures, questions = places(random, design)
    wrong = []
    for _ in range(models):
        values = (random.random(len(cultures)) < 0.25).astype(np.float64)
        mean = dict(pooled_mean(values, cultures, questions, share=True)._asdict())
        wrong.append(errs([(mean, ReferenceScores.of([mark("chance", 0.25, False)]))], frozenset(["chance"])))
    return float(np.mean(wrong))


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Yield the error rates of the sentence over all cultures."""

    def rate(figure: str, setting: str, errors: list[float]) -> Cell:
        return Cell(SUBJECT, figure, setting, 100 * float(np.mean(errors)), len(errors), 0.0, 6.0)

    for name, design in POOLED.items():
        for level in (0.05, 0.45):
            found = [on_average_against_tricks(random, design, MODELS, 3, level) for _ in range(repeats)]
            setting = f"{name}, {MODELS} models, 3 tricks, {100 * level:.0f} % right"
            yield rate("a mean over cultures called better or worse than a trick that is as good", setting, found)
        found = [on_average_against_people(random, design, MODELS) for _ in range(repeats)]
        setting = f"{name}, {MODELS} models"
        yield rate("a mean over cultures called better or worse than people who are as good", setting, found)
        found = [on_average_against_guessing(random, design, MODELS) for _ in range(repeats)]
        yield rate("a mean over cultures of guessers called better or worse than guessing", setting, found)

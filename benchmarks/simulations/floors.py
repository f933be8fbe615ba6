"""Verdicts of a score against tricks, guessing and people; intervals of what people score."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.simulations import Cell
from numpy.typing import NDArray

from kapwa.report.view.reference_scores import ReferenceScore, ReferenceScores, verdicts
from kapwa.stats.intervals import AgainstMark, against_marks, mean_estimates

Floats = NDArray[np.float64]
SUBJECT = "floors and people"
VERDICT = (3.0, 6.0)
COVERAGE = (93.0, 97.0)
CULTURES, QUESTIONS = 16, 480
# Rates of the tricks of blend/saq; the first is the best.
TRICKS = (0.45, 0.34, 0.30, 0.30, 0.013, 0.026, 0.001)


def right(random: np.random.Generator, rates: Floats, likeness: float) -> Floats:
    """Return 0/1 answers of shape ``rates`` (n, k) whose columns are as alike as items of different difficulty make."""
    ease = random.normal(0, likeness, (len(rates), 1)) if likeness else np.zeros((len(rates), 1))
    from scipy.special import ndtr, ndtri

    return (random.random(rates.shape) < ndtr(ndtri(rates) * np.sqrt(1 + likeness**2) + ease)).astype(np.float64)


def row(values: Floats) -> dict[str, object]:
    """The estimate of right/wrong values, as a run keeps it."""
    return dict(mean_estimates(values, None, share=True)[0]._asdict())


def mark(name: str, value: float, ceiling: bool, **known: float | None) -> ReferenceScore:
    """A floor, or what people score."""
    return ReferenceScore(name, value, ceiling, name, name, **known)


def tested(name: str, value: float, ceiling: bool, found: AgainstMark) -> ReferenceScore:
    """A mark that values were held against item by item."""
    return ReferenceScore(name, value, ceiling, name, name, *found)


def errs(held: list[tuple[dict[str, object], ReferenceScores]], names: frozenset[str]) -> bool:
    """Whether any verdict of the family on the named marks, all as good as the model, is not "unclear"."""
    return any(way != "unclear" for said in verdicts(held) for one, way in said.items() if one.name in names)


def against_tricks(random: np.random.Generator, cultures: int, n: int, rates: tuple[float, ...], alike: float) -> bool:
    """Whether a model as good as the first trick is called better or worse than a trick as good as it."""
    held = []
    for _ in range(cultures):
        answers = right(random, np.tile((rates[0], *rates), (n, 1)), alike)
        found = against_marks(answers[:, 0], answers[:, 1:], np.arange(n), binary=True)
        marks = [tested(str(k), float(answers[:, k + 1].mean()), False, one) for k, one in enumerate(found)]
        held.append((row(answers[:, 0]), ReferenceScores.of(marks)))
    return errs(held, frozenset(str(k) for k, rate in enumerate(rates) if rate == rates[0]))


def against_guessing(random: np.random.Generator, n: int) -> bool:
    """Whether a model that guesses among four is called better or worse than guessing."""
    values = (random.random(n) < 0.25).astype(np.float64)
    return errs([(row(values), ReferenceScores.of([mark("chance", 0.25, False)]))], frozenset(["chance"]))


def against_published(random: np.random.Generator, alike: float) -> bool:
    """Whether a model as good as people (89.1 % of 150 prompts, three people) is called better or worse than them."""
    answers = right(random, np.full((150, 4), 0.891), alike)
    people = mean_estimates(answers[:, 1:].mean(axis=1), None, share=True)[0]
    assert people.value is not None
    top = mark("human", people.value, True, low=people.low, high=people.high)
    return errs([(row(answers[:, 0]), ReferenceScores.of([top]))], frozenset(["human"]))


def votes(random: np.random.Generator, questions: int) -> tuple[Floats, Floats, Floats]:
    """Ask people and a model that answers as one of them.

    Returns, by question, what a person scores against the others, and the model against the keys without one person
    and against the whole key: shares of 4 to 10 people's answers, of twelve possible ones.
    """
    person, fair = votes_of(random, questions, 1)
    return person, fair[:, 0], (fair[:, 0] > 0).astype(np.float64)


def votes_of(random: np.random.Generator, questions: int, models: int) -> tuple[Floats, Floats]:
    """Return by question what a person scores, and each of several such models by keys without one person."""
    people = random.integers(4, 11, questions)
    chances = random.dirichlet(np.full(12, 0.25), questions).cumsum(axis=1)
    said = (random.random((questions, 10 + models, 1)) > chances[:, None, :]).sum(axis=2).clip(max=11)
    there = np.arange(10) < people[:, None]
    counts = np.zeros((questions, 12), dtype=np.int64)
    np.add.at(counts, (np.repeat(np.arange(questions), 10)[there.ravel()], said[:, :10].ravel()[there.ravel()]), 1)
    person = np.where(counts > 1, counts, 0).sum(axis=1) / people
    own = counts[np.arange(questions)[:, None], said[:, 10:]]
    return person, np.where(own == 1, 1 - 1 / people[:, None], own > 0).astype(np.float64)


def against_people(random: np.random.Generator, cultures: int, n: int, *, equal: bool) -> bool:
    """Whether a model that answers as a person there is called better or worse than people."""
    held = []
    for _ in range(cultures):
        person, fair, whole = votes(random, n)
        (found,) = against_marks(fair if equal else whole, person[:, None], np.arange(n), binary=True)
        held.append((row(whole), ReferenceScores.of([tested("people", float(person.mean()), True, found)])))
    return errs(held, frozenset(["people"]))


def coverage(random: np.random.Generator, repeats: int, n: int) -> tuple[float, float]:
    """How often, in percent, the intervals of people's score and of the model's share of it hold the truth."""
    person, fair, _ = votes(random, 400_000)
    # A model that knows the answer to 70 % of the questions, and then answers as a person.
    truth, share = person.mean(), 0.7 * fair.mean() / person.mean()
    own = relative = 0
    for _ in range(repeats):
        person, fair, _ = votes(random, n)
        values = fair * (random.random(n) < 0.7)
        (found,) = against_marks(values, person[:, None], np.arange(n), binary=True)
        own += (found.low or 0.0) <= truth <= (found.high or 0.0)
        relative += (found.relative_low or 0.0) <= share <= (found.relative_high or 0.0)
    return 100 * own / repeats, 100 * relative / repeats


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Yield the error rates of verdicts and the coverage of intervals."""

    def rate(figure: str, setting: str, errors: list[bool]) -> Cell:
        return Cell(SUBJECT, figure, setting, 100 * float(np.mean(errors)), len(errors), *VERDICT)

    for n, alike in ((50, 0.0), (150, 0.0), (150, 1.0), (480, 1.0)):
        found = [against_tricks(random, 1, n, (0.41,), alike) for _ in range(repeats)]
        setting = f"{n} items{', hard and easy ones' if alike else ''}"
        yield rate("called better or worse than one trick that is as good", setting, found)
    several = f"{CULTURES} cultures × {QUESTIONS} questions, {len(TRICKS)} tricks"
    for name, rates in (("best trick", TRICKS), ("tricks", (0.41,) * len(TRICKS))):
        found = [against_tricks(random, CULTURES, QUESTIONS, rates, 1.0) for _ in range(repeats)]
        yield rate(f"anywhere called better or worse than the {name} that are as good", several, found)
    for n in (16, 50, 150):
        found = [against_guessing(random, n) for _ in range(10 * repeats)]
        yield rate("a guesser called better or worse than guessing among four", f"{n} items", found)
    for alike in (0.0, 1.0):
        found = [against_published(random, alike) for _ in range(repeats)]
        setting = f"150 prompts, three people, 89.1 %{', hard and easy prompts' if alike else ''}"
        yield rate("called better or worse than published people who are as good", setting, found)
    for cultures in (1, CULTURES):
        found = [against_people(random, cultures, QUESTIONS, equal=True) for _ in range(repeats)]
        setting = f"{cultures} {'cultures' if cultures > 1 else 'culture'} × {QUESTIONS} questions"
        yield rate("who answers as a person there called better or worse than people", setting, found)
    for n in (30, 100, QUESTIONS):
        own, relative = coverage(random, repeats, n)
        yield Cell(SUBJECT, "interval of what people score holds it", f"{n} questions", own, repeats, *COVERAGE)
        figure = "interval of a model's share of people's score holds it"
        yield Cell(SUBJECT, figure, f"{n} questions", relative, repeats, *COVERAGE)

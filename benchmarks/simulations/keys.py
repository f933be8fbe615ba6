"""Keys that other people might have made: coverage for the same questions, and for other questions and other people."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from benchmarks.simulations import Cell

from kapwa.stats.clusters import FloatArray
from kapwa.stats.intervals import mean_estimates, wilson_interval
from kapwa.suites.blend.saq_keys import key_error

PEOPLE = 5
Drawn = Callable[[np.random.Generator, int], FloatArray]
# The share of people who agree with a reply, over questions.
SHARES: dict[str, Drawn] = {
    "beta(.5, 1)": lambda random, n: random.beta(0.5, 1, n),
    "beta(.3, 3)": lambda random, n: random.beta(0.3, 3, n),
    "35 % of replies nobody's, else beta(1, 2)": lambda random, n: np.where(
        random.random(n) < 0.35, 0.0, random.beta(1, 2, n)
    ),
    "40 % nobody's, else .15 or .7": lambda random, n: random.choice([0.0, 0.15, 0.7], n, p=[0.4, 0.3, 0.3]),
}


def resampled(random: np.random.Generator, votes: FloatArray) -> tuple[float, float]:
    """Interval by drawing questions and, of each, people again from its votes; the alternative that is not used."""
    places = random.integers(0, len(votes), (500, len(votes)))
    means = (random.binomial(PEOPLE, votes[places] / PEOPLE) > 0).mean(axis=1)
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Three intervals of a share of right replies, and what each should hold."""
    subject = "keys"
    for name, shares in SHARES.items():
        overall = float((1 - (1 - shares(random, 10**6)) ** PEOPLE).mean())
        for n in (60, 460):
            held = dict.fromkeys(("keys", "usual", "both"), 0)
            for _ in range(repeats):
                agree = shares(random, n)
                votes = random.binomial(PEOPLE, agree).astype(float)
                right = (votes > 0).astype(float)
                same, mean = float((1 - (1 - agree) ** PEOPLE).mean()), float(right.mean())
                error = key_error(votes, np.full(n, PEOPLE)) / np.sqrt(n)
                size = mean * (1 - mean) / error**2 if error and 0 < mean < 1 else n
                ends = tuple(map(float, wilson_interval(mean, size, 1.959964)))
                held["keys"] += ends[0] <= same <= ends[1]
                one = mean_estimates(right, None, share=True)[0]
                held["usual"] += (one.low or 0.0) <= overall <= (one.high or 0.0)
                ends = resampled(random, votes)
                held["both"] += ends[0] <= overall <= ends[1]
            setting = f"{n} questions of {PEOPLE} people, agreement {name}"
            figures = {
                "keys": "same questions, other people: low_keys–high_keys",
                "usual": "other questions, other people: the usual interval",
                "both": "the same, votes and questions resampled (not used)",
            }
            for key, figure in figures.items():
                bounds = (0, 100) if key == "both" else (93, 97)
                yield Cell(subject, figure, setting, 100 * held[key] / repeats, repeats, *bounds)
    # The same five people answer all questions, and some of them give the rarer answers.
    for sd in (0.5, 1.0):
        held_usual = 0
        truths = [_crossed(random, 2000, sd)[1] for _ in range(400)]
        overall = float(np.mean(truths))
        for _ in range(repeats):
            one = mean_estimates(_crossed(random, 460, sd)[0], None, share=True)[0]
            held_usual += (one.low or 0.0) <= overall <= (one.high or 0.0)
        setting = f"460 questions, the same {PEOPLE} people, who differ by {sd:g} (logits)"
        figure = "other questions, other people: the usual interval"
        yield Cell(subject, figure, setting, 100 * held_usual / repeats, repeats, 0, 100)


def _crossed(random: np.random.Generator, n: int, sd: float) -> tuple[FloatArray, float]:
    """Right replies where the same people answered every question, and their share."""
    person = sd * random.normal(size=PEOPLE)
    agree = 1 / (1 + np.exp(-(random.normal(-1.0, 1.5, size=(n, 1)) + person)))
    right = (random.random((n, PEOPLE)) < agree).any(axis=1).astype(float)
    return right, float(right.mean())

"""Two models over many cultures: coverage of the pooled interval, errors of its verdict, what it finds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.simulations import Cell
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import multivariate_normal

from kapwa.stats.pooled import PooledDifference, pooled_differences

SUBJECT = "Model against model, over cultures"
# Cultures, questions of each, and the share of them that all cultures were asked ("own": none).
DESIGNS = {
    "16 cultures × 100 shared questions": (16, 100, "shared"),
    "16 cultures × 15 shared questions": (16, 15, "shared"),
    "16 cultures × 40–100 of 100 questions": (16, 100, "part"),
    "4 cultures × 20 questions of their own": (4, 20, "own"),
    "2 cultures × 60 shared questions": (2, 60, "shared"),
}
PLANTED = (16, 300, "shared")


def places(random: np.random.Generator, design: tuple[int, int, str]) -> tuple[np.ndarray, np.ndarray]:
    """Culture and question of each item."""
    several, each, kind = design
    cultures, questions = (part.ravel() for part in np.indices((several, each)))
    if kind == "own":
        questions = cultures * each + questions
    kept = np.ones(len(cultures), dtype=bool)
    if kind == "part":
        kept = random.random(len(cultures)) < np.linspace(0.4, 1, several)[cultures]
    return cultures[kept], questions[kept]


def answers(
    random: np.random.Generator, cultures: np.ndarray, questions: np.ndarray, shares: np.ndarray, alike: float = 0.5
) -> np.ndarray:
    """Right or wrong of models (rows of ``shares``: the true share by culture) on items; hard questions are shared.

    ``alike``: how far two models agree on an item beyond its question.
    """
    question = np.sqrt(0.3) * random.normal(size=questions.max() + 1)[questions]
    item = np.sqrt(0.7 * alike) * random.normal(size=len(questions))
    # What is a model's own: half of it with a question in all cultures, half with one item.
    each, several = np.sqrt(0.35 * (1 - alike)), len(shares)
    own = each * random.normal(size=(several, len(questions)))
    own += each * random.normal(size=(several, questions.max() + 1))[:, questions]
    return np.asarray(question + item + own < ndtri(shares)[:, cultures], dtype=np.float64)


def compared(
    random: np.random.Generator, design: tuple[int, int, str], better: float, level: float = 0.45, alike: float = 0.5
) -> PooledDifference:
    """The pooled comparison of one simulated pair of models; cultures lie 20 per cent about ``level``."""
    cultures, questions = places(random, design)
    a, b = answers(random, cultures, questions, shares_of(design, better, level), alike)
    return pooled_differences(a, b, cultures, questions, binary=True)[0]


def shares_of(design: tuple[int, int, str], better: float, level: float = 0.45) -> np.ndarray:
    """How much each of two models knows of every culture."""
    base = level * np.linspace(0.8, 1.2, design[0])
    return np.stack([base + better, base])


def differing(shares: np.ndarray, alike: float) -> float:
    """The share of answers on which two such models differ: one bivariate normal chance a culture."""
    both = [
        multivariate_normal.cdf(pair, cov=[[1, 0.3 + 0.7 * alike], [0.3 + 0.7 * alike, 1]]) for pair in ndtri(shares).T
    ]
    return float((shares.sum(axis=0) - 2 * np.array(both)).mean())


def as_alike(design: tuple[int, int, str], better: float) -> float:
    """How alike two models are of which one is better, yet no more answers differ than of two equal ones."""
    equal = differing(shares_of(design, 0.0), 0.5)
    return float(brentq(lambda alike: differing(shares_of(design, better), alike) - equal, 0.5, 0.999))


def found(one: PooledDifference) -> bool:
    """What a report calls more than noise."""
    low, high, p = one.comparison.low, one.comparison.high, one.comparison.p_value
    return p is not None and p < 0.05 and low is not None and high is not None and not low <= 0 <= high


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Coverage, error rate and power of the first row and sentence of a comparison."""
    for name, design in DESIGNS.items():
        held = erred = detected = 0
        sizes = [compared(random, design, 0.0).comparison.mde or 0.0 for _ in range(40)]
        detectable = float(np.mean(sizes))
        # The sentence says: if no more answers differ than here. Of shared questions the noise is the questions'.
        alike = as_alike(design, detectable) if design[2] == "own" else 0.5
        for _ in range(repeats):
            better = compared(random, design, 0.05).comparison
            held += (better.low or 0.0) <= 0.05 <= (better.high or 0.0)
            erred += found(compared(random, design, 0.0))
            detected += found(compared(random, design, detectable, alike=alike))
        yield Cell(SUBJECT, "interval holds the truth", f"{name}, 5 points", 100 * held / repeats, repeats, 93, 97)
        yield Cell(SUBJECT, "verdict “more than noise”", f"{name}, equal", 100 * erred / repeats, repeats, 3, 6)
        setting = f"{name}, {100 * detectable:.1f} points"
        yield Cell(SUBJECT, "found at the detectable difference", setting, 100 * detected / repeats, repeats, 75, 85)
    rare = DESIGNS["16 cultures × 100 shared questions"]
    erred = sum(found(compared(random, rare, 0.0, level=0.05)) for _ in range(repeats))
    setting = "16 cultures × 100 shared questions, 5 % right, equal"
    yield Cell(SUBJECT, "verdict “more than noise”", setting, 100 * erred / repeats, repeats, 3, 6)
    planted = sum(found(compared(random, PLANTED, 0.05)) for _ in range(repeats))
    setting = "16 cultures × 300 shared questions, 5 points everywhere"
    yield Cell(SUBJECT, "found", setting, 100 * planted / repeats, repeats, 80, 100)

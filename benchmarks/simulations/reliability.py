"""Reliability of ranks: do its intervals hold the planted coefficient, and do the items it asks for reach the goal?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from benchmarks.simulations import Cell
from numpy.typing import NDArray

from kapwa.stats.reliability import GOAL, culture_reliability, system_reliability

SUBJECT = "Reliability of ranks"
SPREAD = 0.05  # standard deviation of true scores


class Design(NamedTuple):
    """Items by culture, items a cluster, the share of scores missing, and the standard deviation of item × system."""

    sizes: tuple[int, ...]
    clustered: int = 1
    missing: float = 0.0
    noise: float = 0.4


DESIGNS = {
    "100 items of one culture": Design((100,)),
    "8 cultures of 10 to 80 items": Design((10, 20, 30, 40, 50, 60, 70, 80)),
    "8 cultures of 10 to 80 items, 5 a cluster": Design((10, 20, 30, 40, 50, 60, 70, 80), clustered=5),
    "8 cultures of 10 to 80 items, 2 % missing": Design((10, 20, 30, 40, 50, 60, 70, 80), missing=0.02),
}


def labels_of(design: Design) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The culture and the cluster of every item; no cluster is in two cultures."""
    cultures = np.repeat(np.arange(len(design.sizes)), design.sizes)
    within = np.concatenate([np.arange(size) for size in design.sizes])
    return cultures, cultures * 1000 + within // design.clustered


def noise_of(random: np.random.Generator, design: Design, clusters: NDArray[np.intp], rows: int) -> NDArray[np.float64]:
    """Errors (rows, items): half their variance is of clusters where these have several items."""
    names, codes = np.unique(clusters, return_inverse=True)
    half = design.noise * np.sqrt(0.5 if design.clustered > 1 else 0.0)
    own = random.normal(scale=np.sqrt(design.noise**2 - half**2), size=(rows, len(clusters)))
    return np.asarray(own + random.normal(size=(rows, len(names)))[:, codes] * half)


def squared_error(design: Design) -> float:
    """The true squared error of a system's mean over cultures, each counting alike, without what all share."""
    total = 0.0
    for size in design.sizes:
        groups = np.bincount(np.arange(size) // design.clustered)
        shared = 0.5 if design.clustered > 1 else 0.0
        total += design.noise**2 * (shared * (groups**2).sum() / size**2 + (1 - shared) / size)
    return total / len(design.sizes) ** 2


def systems(
    random: np.random.Generator, design: Design, count: int, spread: float
) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
    """Scores (systems, items) with planted true scores; items differ in difficulty for all systems alike."""
    cultures, clusters = labels_of(design)
    scores = 0.5 + random.normal(scale=spread, size=(count, 1)) + random.normal(scale=0.3, size=len(cultures))
    scores = scores + noise_of(random, design, clusters, count)
    scores[random.random(scores.shape) < design.missing] = np.nan
    return scores, cultures, clusters


def _of_systems(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    for name, design in DESIGNS.items():
        error = squared_error(design) / (1 - design.missing) ** 6
        for spread, count in ((SPREAD, 6), (SPREAD / 5, 6), (SPREAD, 20)):
            truth, held = spread**2 / (spread**2 + error), 0
            for _ in range(repeats):
                found = system_reliability(*systems(random, design, count, spread))
                held += found is not None and found.low <= truth <= found.high
            setting = f"{name}, {count} systems, true {truth:.2f}"
            yield Cell(SUBJECT, "interval of the coefficient", setting, 100 * held / repeats, repeats, 93, 98)


def _rights(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Right and wrong answers: a question is harder in one culture than in another, and shared by all of them."""
    questions, cultures = 60, 16
    for spread in (0.02, 0.06, 0.12):
        held = 0
        for _ in range(repeats):
            chance = 0.5 + random.normal(scale=spread, size=(cultures, 1)) + random.normal(scale=0.12, size=questions)
            right = (random.random((cultures, questions)) < chance).astype(float)
            rows, columns = np.indices(right.shape)
            found = culture_reliability(right.ravel(), rows.ravel(), columns.ravel())
            # An answer varies by p (1 − p); questions add to all cultures alike.
            error = (0.25 - 0.12**2 - spread**2) / questions
            truth = spread**2 / (spread**2 + error)
            held += found is not None and found.low <= truth <= found.high
        setting = f"16 cultures × 60 shared questions, right or wrong, true {truth:.2f}"
        yield Cell(SUBJECT, "interval of the coefficient", setting, 100 * held / repeats, repeats, 93, 98)


def _unequal_cultures(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    design = Design(tuple(range(10, 90, 5)), clustered=2)
    cultures, clusters = labels_of(design)
    errors = [squared_error(design._replace(sizes=(size,))) for size in design.sizes]
    for spread in (0.03, 0.1):
        truth, held = spread**2 / (spread**2 + float(np.mean(errors))), 0
        for _ in range(repeats):
            scores = random.normal(scale=spread, size=len(design.sizes))[cultures]
            scores = scores + noise_of(random, design, clusters, 1)[0]
            found = culture_reliability(scores, cultures, clusters)
            held += found is not None and found.low <= truth <= found.high
        setting = f"16 cultures of 10 to 85 items, 2 a cluster, true {truth:.2f}"
        yield Cell(SUBJECT, "interval of the coefficient", setting, 100 * held / repeats, repeats, 93, 98)


def _lengthened(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """What the items asked for would reach, and how often a reliability is told where there is none, or one of .9."""
    design = DESIGNS["100 items of one culture"]
    error = squared_error(design)
    reached = 0
    for _ in range(repeats):
        found = system_reliability(*systems(random, design, 20, SPREAD))
        assert found is not None
        reached += SPREAD**2 / (SPREAD**2 + error / found.lengths_high) >= GOAL
    setting = "100 items of one culture, 20 systems"
    figure = "the items at the upper end reach .8"
    yield Cell(SUBJECT, figure, setting, 100 * reached / repeats, repeats, 95, 100)
    for spread, figure, low, high in (
        (0.0, "the interval is above 0 where all are equal", 0, 6),
        (0.12, "the interval is above .5 where the coefficient is .90", 75, 100),
    ):
        above = 0
        for _ in range(repeats):
            found = system_reliability(*systems(random, design, 20, spread))
            above += found is not None and found.low > (0.5 if spread else 0.0)
        yield Cell(SUBJECT, figure, setting, 100 * above / repeats, repeats, low, high)


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Coverage where items are unequal in number, clustered, missing, or right and wrong; errors and power."""
    yield from _of_systems(random, repeats)
    yield from _rights(random, repeats)
    yield from _unequal_cultures(random, repeats)
    yield from _lengthened(random, repeats)

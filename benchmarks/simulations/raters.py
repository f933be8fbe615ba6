"""Raters who are milder or stricter than one another: coverage for other raters like them, and for these alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from benchmarks.simulations import Cell

from kapwa.stats.clusters import FloatArray
from kapwa.stats.corrected import Corrected, corrected_means
from kapwa.stats.raters import RaterLabels, rater_labels

ANSWERS, ITEM_SD = 480, 1.5
# How far raters differ, in logits; answers labelled, and how many raters label each.
SPREADS, DESIGNS = (0.0, 0.5, 1.0), ((60, 1), (60, 2), (120, 5))
RATERS, MEANS = (2, 5, 8), (0.0, 2.0)
# Criteria of a long answer: an answer's label is the share that it meets.
CRITERIA = 5


@dataclass(frozen=True)
class World:
    """One design: raters, how far they differ, the mean of answers in logits, labels, raters and criteria each."""

    raters: int
    spread: float
    mean: float
    labels: int
    each: int
    criteria: int


def labelled(random: np.random.Generator, world: World) -> tuple[FloatArray, FloatArray, RaterLabels, float]:
    """A scorer's verdicts, people's labels, the same by rater, and what these raters would say of all answers."""
    answer = world.mean + ITEM_SD * random.normal(size=(ANSWERS, 1))
    chance = 1 / (1 + np.exp(-(answer + world.spread * random.normal(size=world.raters))))
    each = min(world.each, world.raters)
    drawn = random.permutation(ANSWERS)[: world.labels]
    turns = (np.arange(world.labels)[:, None] + np.arange(each)) % world.raters
    places, who = np.repeat(drawn, each), turns.ravel()
    values = random.binomial(world.criteria, chance[places, who]) / world.criteria
    labels = np.full(ANSWERS, np.nan)
    labels[drawn] = values.reshape(turns.shape).mean(axis=1)
    scores = (random.random(ANSWERS) < np.where(chance.mean(axis=1) > 0.5, 0.9, 0.1)).astype(float)
    alone = float((chance @ np.bincount(who, minlength=world.raters)).mean()) / len(who)
    return scores, labels, rater_labels(places, who, values), alone


def printed(row: Corrected) -> tuple[float, float]:
    """The interval that is printed."""
    low, high = (row.low, row.high) if row.use == "corrected" else (row.people_low, row.people_high)
    return low or 0.0, 1.0 if high is None else high


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """What is printed of two raters holds for these; of five and more for others, too."""
    worlds = [
        World(raters, spread, mean, labels, each, criteria)
        for criteria, raters, spread, mean, (labels, each) in product((1, CRITERIA), RATERS, SPREADS, MEANS, DESIGNS)
        if criteria == 1 or (mean == 0 and labels == 60)
    ]
    for world in worlds:
        normal = random.normal(size=(2, 10**6))
        overall = float((1 / (1 + np.exp(-(world.mean + ITEM_SD * normal[0] + world.spread * normal[1])))).mean())
        held, before = 0, 0
        for _ in range(repeats):
            scores, labels, by_rater, alone = labelled(random, world)
            rows = scores, labels, np.full(ANSWERS, world.labels / ANSWERS), ["x"] * ANSWERS, range(ANSWERS)
            (row,), (fixed,) = corrected_means(*rows, by_rater=by_rater), corrected_means(*rows)
            low, high = printed(row)
            held += low <= (alone if row.rater_sd is None else overall) <= high
            low, high = printed(fixed)
            before += low <= overall <= high
        few = world.raters < RATERS[1]
        setting = f"{world.raters} raters who differ by {world.spread:g} (logits), {world.labels} answers, each by "
        setting += f"{min(world.each, world.raters)}; {world.criteria} criteria, mean {world.mean:g}"
        whom = "for these raters" if few else "for people like them"
        yield Cell("raters", f"coverage {whom}", setting, 100 * held / repeats, repeats, 93, 99.5)
        yield Cell(
            "raters", "for people, raters not counted (not used)", setting, 100 * before / repeats, repeats, 0, 100
        )

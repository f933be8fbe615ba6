"""Groups of items: coverage for all right or none, for agreement above that of chance, and for the gain of a ladder."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.simulations import Cell

from kapwa.stats.clusters import FloatArray
from kapwa.stats.intervals import Estimate, mean_estimates
from kapwa.suites.groups import agreement_excess

ITEMS = 4
GROUPS = (15, 40, 200)
# Logits of an item that is right: their mean, and how far groups differ (standard deviation).
SETTINGS = ((1.5, 1.0), (0.0, 1.0), (0.0, 0.0))
# Of a ladder: logits at the step before, and how much the step adds.
LADDERS = ((0.0, 0.5), (-1.0, 0.0), (2.0, 0.5))


def rights(random: np.random.Generator, groups: int, means: FloatArray, spread: float) -> FloatArray:
    """Right (1) and wrong (0) answers, (groups, items), of groups that differ by ``spread``."""
    logits = means + spread * random.normal(size=(groups, 1))
    return (random.random((groups, len(means))) < 1 / (1 + np.exp(-logits))).astype(np.float64)


def holds(estimate: Estimate, truth: float) -> bool:
    """Whether the printed interval holds the truth; where none is printed it does not."""
    return estimate.low is not None and estimate.high is not None and estimate.low <= truth <= estimate.high


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Coverage of each interval."""
    subject = "groups"
    for mean, spread in SETTINGS:
        means = np.full(ITEMS, mean)
        many = rights(random, 10**6, means, spread)
        share, agree = many.mean(), (many == many[:, :1]).all(axis=1).mean()
        truths = {
            "all_right": float(many.all(axis=1).mean()),
            "consistency_excess": float(agree - share**ITEMS - (1 - share) ** ITEMS),
        }
        for groups in GROUPS:
            held = dict.fromkeys(truths, 0)
            for _ in range(repeats):
                drawn = rights(random, groups, means, spread)
                excess = agreement_excess(np.full(groups, float(ITEMS)), drawn.sum(axis=1))
                printed = (
                    mean_estimates(drawn.prod(axis=1), None, share=True)[0],
                    mean_estimates(excess, None)[0],
                )
                for name, estimate in zip(truths, printed, strict=True):
                    held[name] += holds(estimate, truths[name])
            setting = f"{groups} groups of {ITEMS}, logits {mean:g} ± {spread:g}"
            for name, truth in truths.items():
                figure = f"coverage of {name}"
                yield Cell(subject, figure, f"{setting}; true {truth:.2f}", 100 * held[name] / repeats, repeats, 93, 97)
    for before, step in LADDERS:
        means = np.array([before, before + step])
        many = rights(random, 10**6, means, 1.5)
        truth = float((many[:, 1] - many[:, 0]).mean())
        for groups in GROUPS:
            drawn = [rights(random, groups, means, 1.5) for _ in range(repeats)]
            inside_n = sum(holds(mean_estimates(each[:, 1] - each[:, 0], None)[0], truth) for each in drawn)
            setting = f"{groups} pairs, logits {before:g} and {before + step:g} ± 1.5; true {truth:.2f}"
            yield Cell(subject, "coverage of gain", setting, 100 * inside_n / repeats, repeats, 93, 97)

"""What ``kapwa contamination`` says of models that were not trained on a benchmark: how often it says too much.

The public and the private half are drawn from one population of questions; texts are completed by chance equally often
in both. Forms are compared as runs are, which :mod:`benchmarks.simulations.comparisons` puts to the test.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from benchmarks.simulations import Cell
from benchmarks.simulations.series import item_frames

from kapwa.stats.halves import Apart, apart

SUBJECT = "published against private items"
DESIGNS = (
    ("1 culture, 80 public and 20 private questions", 1, [1] * 80, [1] * 20),
    ("1 culture, 200 public and 50 private questions in pairs", 1, [2] * 100, [2] * 25),
    ("8 cultures, 80 public and 20 private questions", 8, [1] * 80, [1] * 20),
)
LEARNT = 0.2


def half(random: np.random.Generator, cultures: int, sizes: list[int], accuracy: float) -> pl.DataFrame:
    """One half, as a run has it: questions of a cluster have the same chance to be answered rightly."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    rate = random.beta(2 * accuracy, 2 * (1 - accuracy), (len(sizes), cultures))[clusters]
    (frame,) = item_frames(cultures, sizes, [(random.random(rate.shape) < rate).astype(float)])
    return frame.with_columns(asked=pl.lit(1, pl.Int64), missing=pl.lit(0, pl.Int64))


def compared(
    random: np.random.Generator, design: tuple[str, int, list[int], list[int]], accuracies: tuple[float, float]
) -> Apart | None:
    """The two halves of one data set, held against each other."""
    _, cultures, public, private = design
    return apart(
        half(random, cultures, public, accuracies[0]), half(random, cultures, private, accuracies[1]), share=True
    )


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Coverage, how often a model that learnt nothing is said to score higher, and one that did."""
    for design in DESIGNS:
        for accuracy in (0.02, 0.1, 0.5, 0.9):
            found = [compared(random, design, (accuracy, accuracy)) for _ in range(repeats)]
            known = [one for one in found if one is not None]
            setting = f"{design[0]}, {accuracy:g} right"
            held = 100 * np.mean([one.low <= 0 <= one.high for one in known])
            yield Cell(SUBJECT, "interval holds the difference", setting, float(held), len(known), 93, 100)
            wrong = 100 * sum(one.shown for one in known) / repeats
            yield Cell(SUBJECT, "“scores higher on the published items”, wrongly", setting, wrong, repeats, 0, 3)
        learnt = [compared(random, design, (0.5 + LEARNT, 0.5)) for _ in range(repeats)]
        shown = 100 * sum(one is not None and one.shown for one in learnt) / repeats
        setting = f"{design[0]}, .5 right, {100 * LEARNT:g} points more on published ones"
        yield Cell(SUBJECT, "“scores higher on the published items”, rightly", setting, shown, repeats, 0, 100)

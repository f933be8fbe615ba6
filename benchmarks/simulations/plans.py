"""Power of a study that `kapwa plan` sizes from two pilot runs, over many cultures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.simulations import Cell
from benchmarks.simulations.comparisons import answers, found, places

import kapwa
from kapwa.stats.clusters import FloatArray
from kapwa.stats.pooled import pooled_differences

# Cultures, questions of the pilot, whether all cultures share them, and the true difference.
PILOTS = (
    (16, 30, "shared", 0.08),
    (16, 60, "shared", 0.05),
    (16, 100, "part", 0.05),
    (16, 15, "own", 0.05),
    (4, 60, "shared", 0.08),
)
STUDIES = 2  # of each plan


class Pilot:
    """What a plan reads of a run."""

    def __init__(self, name: str, values: FloatArray, cultures: FloatArray, questions: FloatArray) -> None:
        """Lay out one answer to each question of each culture."""
        self.path = Path(name)
        self.manifest = {"task": "blend/saq", "headline": ["sem_b"], "metrics": {"sem_b": {"binary": True}}}
        self.manifest |= {"selection": {"variants": ["full"]}}
        names = pl.Series(questions).cast(pl.String)
        columns = {"culture": pl.Series(cultures).cast(pl.String), "cluster": names, "value": values}
        same = {"language": "en", "variant": "full", "metric": "sem_b"}
        self.scores = pl.DataFrame(columns | {"item_id": pl.Series(cultures).cast(pl.String) + "-" + names})
        self.scores = self.scores.with_columns(pl.lit(value).alias(key) for key, value in same.items())


def pair(
    random: np.random.Generator, design: tuple[int, int, str], better: float, alike: float = 0.5
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Answers of two models, one of them better on some questions, in all cultures alike; cultures and questions."""
    cultures, questions = places(random, design)
    base = 0.45 * np.linspace(0.8, 1.2, design[0])
    a, b = answers(random, cultures, questions, np.stack([base + better, base]), alike)
    return a, b, cultures, questions


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Pilots, the plan of each for the true difference, and studies of so many questions."""
    for cultures, each, kind, better in PILOTS:
        hits, sizes = 0, []
        for _ in range(repeats // STUDIES):
            a, b, *where = pair(random, (cultures, each, kind), better)
            plan = kapwa.plan(Pilot("a", a, *where), Pilot("b", b, *where), difference=better)
            # A plan counts all questions; a design those of one culture.
            asked = plan.items if kind != "own" else max(round(plan.items / cultures), 1)
            sizes.append(plan.items)
            for _ in range(STUDIES):
                study = pair(random, (cultures, asked, kind), better)
                hits += found(pooled_differences(*study, binary=True)[0])
        done = len(sizes) * STUDIES
        setting = (
            f"pilot of {cultures} cultures × {each} questions ({kind}), {better:.0%}; planned: {np.median(sizes):.0f}"
        )
        yield Cell("plan", "power of the planned study", setting, 100 * hits / done, done, 75, 85)

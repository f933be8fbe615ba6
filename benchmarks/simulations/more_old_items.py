"""A new run of a random part of an old run's items: whether the interval that uses the other answers covers.

The populations are those of :mod:`benchmarks.simulations.series`: questions with chances of their own, and a new answer
that is the old one with chance φ. Items, cultures and clusters are drawn anew for each data set.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from benchmarks.simulations import Cell
from benchmarks.simulations.series import item_frames

from kapwa.stats.clusters import FloatArray
from kapwa.stats.controlled import Controlled, with_old_items
from kapwa.stats.intervals import Comparison
from kapwa.stats.series import change

SUBJECT = "A new run of a part of the old one's items"
MARGIN = 0.02
DESIGNS = (
    ("1 culture, 60 of 300 questions", 1, [1] * 300, 60),
    ("1 culture, 60 of 300 questions in pairs", 1, [2] * 150, 60),
    ("16 cultures, 40 of 150 shared questions", 16, [1] * 150, 40),
)


def planted_pair(
    random: np.random.Generator, cultures: int, sizes: list[int], accuracy: float, alike: float
) -> tuple[FloatArray, FloatArray]:
    """Answers of the old and the new run, (items, cultures), of equal true scores."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    rate = random.beta(2 * accuracy, 2 * (1 - accuracy), (len(sizes), cultures))[clusters]
    old, anew = ((random.random(rate.shape) < rate).astype(float) for _ in range(2))
    return old, np.where(random.random(rate.shape) < alike, old, anew)


def part_of(random: np.random.Generator, frame: pl.DataFrame, several: int) -> pl.DataFrame:
    """A random part of a run's items: of each culture ``several``, whole clusters first."""
    lots = {cluster: random.random() for cluster in frame["cluster"].unique().sort()}
    lot = pl.col("cluster").replace_strict(lots, return_dtype=pl.Float64)
    return frame.filter(pl.struct(lot, "item_id").rank("ordinal").over("culture") <= several)


def one_data_set(
    random: np.random.Generator, design: tuple[str, int, list[int], int], accuracy: float, alike: float
) -> tuple[Controlled | None, Comparison]:
    """What is said with the other items, and without."""
    _, cultures, sizes, several = design
    old, new = item_frames(cultures, sizes, list(planted_pair(random, cultures, sizes, accuracy, alike)))
    new = part_of(random, new, several)
    return with_old_items(new, old, share=True, margin=MARGIN), change(old, new, share=True, level=0.95).comparison


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Coverage of what is printed, with the control where it saves; how often it does, and how much."""
    for design in DESIGNS:
        for accuracy in (0.1, 0.5, 0.9):
            for alike in (0.0, 0.3, 0.8):
                held, saved = [], []
                for _ in range(repeats):
                    controlled, plain = one_data_set(random, design, accuracy, alike)
                    said = plain if controlled is None else controlled.comparison
                    held.append(said.low is not None and said.high is not None and said.low <= 0 <= said.high)
                    saved.append(0.0 if controlled is None else controlled.saves)
                setting = f"{design[0]}, {accuracy:g} right, φ {alike:g}"
                yield Cell(SUBJECT, "interval holds the truth", setting, 100 * np.mean(held), repeats, 93, 100)
                yield Cell(SUBJECT, "mean saving of variance", setting, 100 * np.mean(saved), repeats, 0, 100)

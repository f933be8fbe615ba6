"""A series of checkpoints of one model on the same items: what changed, with one error rate for all looks together.

People look at the results after each checkpoint, and may stop at any. So the k-th comparison of a series may err in
5 % / (k(k + 1)) of series; the sum over all k is 5 %, however long the series becomes and whenever somebody looks
(Bonferroni's inequality, with an error spent look by look). The result of a checkpoint does not change when later
ones are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from kapwa.stats.blocks import checked_scores
from kapwa.stats.clusters import FloatArray
from kapwa.stats.intervals import Comparison
from kapwa.stats.missing import (
    Ends,
    Side,
    compare_over_cultures_with_worst_cases,
    compare_with_worst_cases,
    item_bounds,
)
from kapwa.value_types import JsonMapping

ERROR = 0.05
# A trend needs at least this many checkpoints; with two it is the change.
LEAST_TREND = 3
KEYS = ("culture", "language", "item_id")
Direction = Literal["up", "down"]


def level_at(look: int, claims: int = 1) -> float:
    """Return the level of intervals in the ``look``-th comparison of a series (from 1), for ``claims`` at once."""
    return 1 - ERROR / (look * (look + 1) * claims)


class SeriesChange(NamedTuple):
    """How items moved from one side to the other.

    ``comparison``: its ``difference`` is new − old, on the items of both, with the interval of ``level``. ``gained``
    and ``lost``: items that score higher, and lower, than before. ``cultures``: how many cultures the mean is over.
    """

    comparison: Comparison
    level: float
    gained: int
    lost: int
    cultures: int

    @property
    def shown(self) -> Direction | None:
        """The direction of the change, if the interval excludes 0 for any values of the missing answers; else None."""
        return direction(self.comparison)


def direction(compared: Comparison) -> Direction | None:
    """Return on which side of 0 a difference lies with its interval and those of both worst cases; None if on both."""
    ends = [(compared.low, compared.high), (compared.least_low, compared.least_high)]
    ends.append((compared.most_low, compared.most_high))
    if any(low is None or high is None for low, high in ends):
        return None
    if all(low > 0 for low, _ in ends if low is not None):
        return "up"
    return "down" if all(high < 0 for _, high in ends if high is not None) else None


def items_of_run(scores: pl.DataFrame, metric: str, variant: str, *, share: bool, ends: Ends) -> pl.DataFrame:
    """Return a row for each item of a run: its mean over samples, and the bounds of this mean.

    ``scores``: of the run. ``share``: the metric lies between 0 and 1; ``ends``: of one that does not.
    """
    rows = scores.filter(pl.col("metric") == metric, pl.col("variant") == variant)
    items = item_bounds(checked_scores(rows, {metric: share}, ranges={metric: ends}), KEYS, ("cluster",))
    return items.with_columns(gone=pl.col("missing") / pl.col("asked"))


def change(old: pl.DataFrame, new: pl.DataFrame, *, share: bool, level: float) -> SeriesChange:
    """Compare two checkpoints (:func:`items_of_run`) on the items of both, as ``kapwa compare`` does."""
    both = old.join(new, on=KEYS, how="inner", suffix=" new", maintain_order="left")
    sides = side_of(both, " new"), side_of(both, "")
    moved = (sides[0].value - sides[1].value)[:, 0]
    return SeriesChange(
        comparison=_compared(both, sides, share=share, level=level),
        level=level,
        gained=int((moved > 0).sum()),
        lost=int((moved < 0).sum()),
        cultures=both["culture"].n_unique(),
    )


def trend(checkpoints: Sequence[pl.DataFrame], *, level: float) -> SeriesChange:
    """Return the slope of the score over checkpoints, one step a checkpoint, on the items of all of them.

    Each item has its own least-squares slope; the result is their mean over cultures, clustered by question, as
    a comparison whose ``difference`` is that slope. ``gained``, ``lost``: items whose own slope is above, below 0.
    """
    joined = checkpoints[0].rename({name: f"{name} 0" for name in ("value", "least", "most", "gone")})
    for index, each in enumerate(checkpoints[1:], 1):
        columns = [pl.col(name).alias(f"{name} {index}") for name in ("value", "least", "most", "gone")]
        joined = joined.join(each.select(*KEYS, *columns), on=KEYS, how="inner", maintain_order="left")
    steps = np.arange(len(checkpoints)) - (len(checkpoints) - 1) / 2
    weights = steps / (steps**2).sum()
    sides = _weighted(joined, np.maximum(weights, 0)), _weighted(joined, np.maximum(-weights, 0))
    slopes = (sides[0].value - sides[1].value)[:, 0]
    tiny = 1e-12
    return SeriesChange(
        comparison=_compared(joined, sides, share=False, level=level),
        level=level,
        gained=int((slopes > tiny).sum()),
        lost=int((slopes < -tiny).sum()),
        cultures=joined["culture"].n_unique(),
    )


def side_of(both: pl.DataFrame, suffix: str) -> Side:
    """Return one side of items of two runs that were joined: the columns whose names end in ``suffix``."""
    return Side(*(_column(both, f"{name}{suffix}") for name in ("value", "least", "most", "gone")))


def _weighted(joined: pl.DataFrame, weights: FloatArray) -> Side:
    """The weighted sum of what checkpoints score on each item; a checkpoint of weight 0 is not in it."""
    used = np.flatnonzero(weights)

    def total(name: str) -> FloatArray:
        return np.asarray(sum(weights[index] * _column(joined, f"{name} {index}") for index in used))

    gone = np.mean([_column(joined, f"gone {index}") for index in used], axis=0)
    return Side(total("value"), total("least"), total("most"), gone)


def _column(frame: pl.DataFrame, name: str) -> FloatArray:
    return frame[name].cast(pl.Float64).fill_null(np.nan).to_numpy().reshape(-1, 1)


def _compared(both: pl.DataFrame, sides: tuple[Side, Side], *, share: bool, level: float) -> Comparison:
    """The first side less the second: over cultures, each counting alike, or of the only one."""
    clusters, cultures = both["cluster"].to_list(), both["culture"].to_list()
    # The interval decides: a p-value by random flips could not be small enough late in a series.
    settings: JsonMapping = {"level": level, "permutations": 100}
    flags = np.array([share])
    if len(set(cultures)) > 1:
        (pooled,) = compare_over_cultures_with_worst_cases(*sides, cultures, clusters, flags, varies=False, **settings)
        return pooled.comparison
    (one,) = compare_with_worst_cases(*sides, clusters, flags, **settings)
    return one

"""A series of checkpoints arranged for reading: the score of each, what changed, what flipped, what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import polars as pl

from kapwa.report.view.means import scores_by_system
from kapwa.report.view.reference_scores import EstimateRow, is_unranked
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import is_share, label_text
from kapwa.runs.checkpoints import Checkpoint, Series
from kapwa.stats.missing import ranges_of
from kapwa.stats.series import KEYS, LEAST_TREND, SeriesChange, change, items_of_run, level_at, trend

RIGHT, WRONG, UNKNOWN = "●", "○", "·"


@dataclass(frozen=True, slots=True)
class TrackedStep:
    """One checkpoint: its score, and how it differs from the one before and from the first.

    ``estimate``: of the first headline metric, None where it has no score. ``cultures``: of each culture the same two
    changes. A change is None for the first checkpoint, and where one side has no score.
    """

    point: Checkpoint
    estimate: EstimateRow | None
    before: SeriesChange | None
    first: SeriesChange | None
    cultures: Mapping[str, tuple[SeriesChange, SeriesChange]]

    @property
    def scored(self) -> bool:
        """Whether it has a score to compare."""
        return self.estimate is not None and self.estimate["value"] is not None and not is_unranked(self.estimate)


class Track:
    """The checkpoints of one task, the earliest first.

    Attributes:
        view: The runs as every report arranges them, named by their checkpoints.
        steps: A :class:`TrackedStep` for each checkpoint.
        trend: The slope over all checkpoints with a score; None for fewer than three.
        differences: What besides weights differs between the checkpoints.
    """

    def __init__(self, series: Series) -> None:
        self.series = series
        runs = [point.run for point in series.checkpoints]
        self.view = TaskView(series.task, runs, [label_text(point.name) for point in series.checkpoints])
        self.differences = series.differences
        self.info = self.view.metrics[self.view.main_metric]
        rows = scores_by_system([(self.view, self.view.main_metric)])
        estimates = [rows[label][0] for label in self.view.labels]
        scored = [row is not None and row["value"] is not None and not is_unranked(row) for row in estimates]
        self._items = [self._items_of(index) if ok else None for index, ok in enumerate(scored)]
        self.steps = [self._step(index, row) for index, row in enumerate(estimates)]
        known = [items for items in self._items if items is not None]
        self.trend: SeriesChange | None = None
        if len(known) >= LEAST_TREND:
            fitted = trend(known, level=level_at(len(known) - LEAST_TREND + 1))
            self.trend = fitted if fitted.comparison.n else None

    def _items_of(self, index: int) -> pl.DataFrame:
        metric, ranges = self.view.main_metric, ranges_of(self.view.metrics)
        scores, share = self.view.runs[index].scores, is_share(self.info)
        return items_of_run(scores, metric, self.view.variant, share=share, ends=ranges[metric])

    def _step(self, index: int, estimate: EstimateRow | None) -> TrackedStep:
        """Compare a checkpoint with the last one before it that has a score, and with the first such."""
        point, items = self.series.checkpoints[index], self._items[index]
        earlier = [known_items for known_items in self._items[:index] if known_items is not None]
        if items is None or not earlier:
            return TrackedStep(point, estimate, None, None, {})
        look, share = len(earlier), is_share(self.info)
        pair = [change(other, items, share=share, level=level_at(look)) for other in (earlier[-1], earlier[0])]
        names = items["culture"].unique(maintain_order=True).to_list() if self.view.several_cultures else []
        level = level_at(look, max(1, len(names)))
        cultures = {}
        for name in names:
            here = pl.col("culture") == name
            sides = [(other.filter(here), items.filter(here)) for other in (earlier[-1], earlier[0])]
            moved = [change(old, new, share=share, level=level) for old, new in sides]
            cultures[name] = (moved[0], moved[1])
        before, first = (one if one.comparison.n else None for one in pair)
        return TrackedStep(point, estimate, before, first, cultures)

    @cached_property
    def flips(self) -> pl.DataFrame:
        """Items that were right at one checkpoint and wrong at the next they were asked at, most flips first.

        ``flips``: how many; ``pattern``: a sign for each checkpoint: right, wrong, or not known. It is empty for a
        metric that is not right or wrong.
        """
        schema = {**dict.fromkeys(KEYS, pl.String), "flips": pl.Int64, "pattern": pl.String}
        if not self.info.binary:
            return pl.DataFrame(schema=schema)
        signs: dict[tuple[str, ...], list[str]] = {}
        for index, items in enumerate(self._items):
            for *key, value in () if items is None else items.select(*KEYS, "value").iter_rows():
                row = signs.setdefault(tuple(key), [UNKNOWN] * len(self._items))
                row[index] = UNKNOWN if value is None else RIGHT if value >= 0.5 else WRONG
        rows = [(*key, _flips(row), "".join(row)) for key, row in signs.items()]
        changed = pl.DataFrame([row for row in rows if row[-2]], schema=schema, orient="row")
        return changed.sort("flips", *KEYS, descending=[True, False, False, False])

    @property
    def last(self) -> TrackedStep | None:
        """The last checkpoint that was compared with the first."""
        return next((step for step in reversed(self.steps) if step.first is not None), None)


def _flips(signs: Sequence[str]) -> int:
    known = [sign for sign in signs if sign != UNKNOWN]
    return sum(one != other for one, other in pairwise(known))


def outer(moved: SeriesChange) -> tuple[float | None, float | None]:
    """Return the interval of a change for any values of the missing answers."""
    compared = moved.comparison
    lows = [low for low in (compared.low, compared.least_low, compared.most_low) if low is not None]
    highs = [high for high in (compared.high, compared.least_high, compared.most_high) if high is not None]
    return (min(lows), max(highs)) if lows and highs else (None, None)

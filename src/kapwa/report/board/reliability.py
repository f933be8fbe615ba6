"""How reliably the items of a task rank systems, and cultures, and how many items would be enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from kapwa.report import wording
from kapwa.report.board.ranks import ranked_labels
from kapwa.report.tables.table import Cell, Column, Table, frame_of
from kapwa.report.view.means import scores_by_system
from kapwa.report.view.tasks import TaskView
from kapwa.stats.reliability import FEWEST, GOAL, Reliability, culture_reliability, system_reliability
from kapwa.suites.base import MetricInfo
from kapwa.value_types import Row

_PLACE = ("culture", "language", "item_id")
_NOTE = (
    "Reliability is the coefficient of generalizability for ranks: 1 where other items like these would rank all of "
    "them alike, 0 where only chance ranks them. Systems and cultures are treated as samples from more of their kind, "
    f"so fewer than {FEWEST} have none; where systems are ranked, the cultures stay the same, and where cultures are, "
    "the systems. “True spread”: the standard deviation of scores without the error of items. “Standard error”: of a "
    "score beside the others. “∞”: the interval includes 0."
)


class ReliabilityRow(NamedTuple):
    """How reliably the main variant of a task ranks ``what`` ("systems", "cultures"), by which measure.

    Numbers are those of :class:`kapwa.stats.reliability.Reliability`; ``items_needed`` and its ends are of each
    culture; None for no known number.
    """

    task: str | None
    data: str | None
    metric: str | None
    variant: str | None
    what: str | None
    measure: str | None
    ranked: int | None
    others: int | None  # cultures over which systems are ranked, systems over which cultures are
    reliability: float | None
    low: float | None
    high: float | None
    spread: float | None
    error: float | None
    items_per_culture: float | None
    items_needed: int | None
    items_needed_low: int | None
    items_needed_high: int | None
    items: int | None
    left_out: int | None
    clusters: int | None
    task_index: int | None


def reliability_table(views: Sequence[TaskView]) -> Table | None:
    """A row for the systems of each task and one for its cultures; None where too few are ranked."""
    rows = [row for task_index, view in enumerate(views) for row in _rows(view, task_index)]
    if not rows:
        return None
    frame = frame_of(ReliabilityRow, rows)

    def ranked(row: Row) -> Cell:
        few, many = ("system", "systems") if row["what"] == "systems" else ("culture", "cultures")
        where = [views[row["task_index"]].title] if len(views) > 1 else []
        return Cell(wording.count(row["ranked"], few, many), "; ".join([*where, _by_what(row)]))

    def info(row: Row) -> MetricInfo:
        return views[row["task_index"]].metrics[row["metric"]]

    def coefficient(row: Row) -> Cell:
        between = " to ".join(wording.decimal(row[end], 2) for end in ("low", "high"))
        return Cell(wording.decimal(row["reliability"], 2), between, number=True, strong=row["low"] >= GOAL)

    def items(row: Row) -> Cell:
        gone = f"{row['left_out']:,} of {row['items'] + row['left_out']:,} left out" if row["left_out"] else ""
        return Cell(wording.decimal(row["items_per_culture"], 0), gone, number=True)

    columns = [
        Column("Ranked", ranked),
        Column("Reliability", coefficient),
        Column("True spread", lambda row: Cell(wording.points(row["spread"], info(row), 1), number=True)),
        Column("Standard error", lambda row: Cell(wording.points(row["error"], info(row), 1), number=True)),
        Column("Items of each culture", items),
        Column(f"Items for {GOAL}", _needed),
    ]
    gone = " An item without a score of each system is left out." if frame["left_out"].sum() else ""
    caption = "How reliably these items rank systems and cultures"
    return Table("reliability", caption, frame.drop("task_index"), columns, _NOTE + gone, frame)


def _needed(row: Row) -> Cell:
    """How many items of each culture reach the goal, and the ends of the interval."""
    estimate, low, high = (
        "∞" if row[name] is None else f"{row[name]:,}"
        for name in ("items_needed", "items_needed_low", "items_needed_high")
    )
    return Cell(estimate, f"{low} to {high}", number=True)


def _by_what(row: Row) -> str:
    """What the ranked scores are of: "mean of 16 cultures", "share of what people score, mean of 3 systems"."""
    noun = "culture" if row["what"] == "systems" else "system"
    mean = f"mean of {wording.count(row['others'], noun)}" if row["others"] > 1 else f"of one {noun}"
    return mean if row["measure"] == "score" else f"{row['measure']}, {mean}"


def _rows(view: TaskView, task_index: int) -> list[ReliabilityRow]:
    if view.needs_verdicts:
        return []
    ranked = ranked_labels(view, scores_by_system([(view, view.main_metric)]))
    runs = [run for run, label in enumerate(view.labels) if label in ranked]
    rows = []
    reliability = _of_systems(view, runs)
    if reliability is not None:
        cultures = view.cultures
        rows.append(_row(view, task_index, ("systems", "score"), reliability, (cultures, cultures)))
    # With very many systems the page does not compare cultures.
    reliability = _of_cultures(view, runs) if view.several_cultures and not view.crowded else None
    if reliability is not None:
        measure = view.compared(view.main_metric).words
        rows.append(_row(view, task_index, ("cultures", measure), reliability, (len(runs), reliability.ranked)))
    return rows


def _row(
    view: TaskView,
    task_index: int,
    what: tuple[str, str],
    reliability: Reliability,
    others_and_cultures: tuple[int, int],
) -> ReliabilityRow:
    others, cultures = others_and_cultures
    each = reliability.items / cultures

    def needed(length: float) -> int | None:
        return None if math.isinf(length) else math.ceil(length * each)

    return ReliabilityRow(
        task=view.task,
        data=view.source,
        metric=view.main_metric,
        variant=view.variant,
        what=what[0],
        measure=what[1],
        ranked=reliability.ranked,
        others=others,
        reliability=reliability.coefficient,
        low=reliability.low,
        high=reliability.high,
        spread=reliability.spread,
        error=reliability.error,
        items_per_culture=each,
        items_needed=needed(reliability.lengths),
        items_needed_low=needed(reliability.lengths_low),
        items_needed_high=needed(reliability.lengths_high),
        items=reliability.items,
        left_out=reliability.left_out,
        clusters=reliability.clusters,
        task_index=task_index,
    )


def _of_systems(view: TaskView, runs: Sequence[int]) -> Reliability | None:
    """How reliably the mean over cultures ranks those systems."""
    if len(runs) < FEWEST:
        return None
    items = [view.item_scores(run, view.main_metric).select(*_PLACE, "cluster", "value") for run in runs]
    numbered = (frame.with_columns(run=pl.lit(k)) for k, frame in enumerate(items))
    wide = pl.concat(numbered).pivot(on="run", index=[*_PLACE, "cluster"], values="value").sort(_PLACE)
    values = wide.select(map(str, range(len(runs)))).to_numpy().astype(np.float64).T
    return system_reliability(values, wide["culture"].to_list(), wide["cluster"].to_list())


def _of_cultures(view: TaskView, runs: Sequence[int]) -> Reliability | None:
    """How reliably the mean over those systems ranks cultures, by what the page compares them on."""
    if not runs:
        return None
    items = view.compared(view.main_metric).items
    every = pl.concat([items[run].select(*_PLACE, "cluster", "value") for run in runs])
    means = every.group_by(_PLACE, maintain_order=True).agg(pl.first("cluster"), pl.mean("value"), systems=pl.len())
    # The mean of fewer systems is of another measure.
    values = means.select(pl.when(systems=len(runs)).then("value")).to_series().cast(pl.Float64).fill_null(np.nan)
    subjects = (means["culture"] + "\0" + means["language"]).to_list()
    return culture_reliability(values.to_numpy(), subjects, means["cluster"].to_list())

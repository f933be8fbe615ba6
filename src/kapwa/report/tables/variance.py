"""How much another wording or another draw of the answers would change scores: variance components."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import NamedTuple

import polars as pl

from kapwa.report import wording
from kapwa.report.tables.table import NONE, Cell, Column, Table, frame_of
from kapwa.report.view.tasks import TaskView
from kapwa.report.view.wordings import score_grid, wordings_of
from kapwa.report.wording import isolate
from kapwa.stats.components import Decomposition, variance_components
from kapwa.suites.base import MetricInfo
from kapwa.value_types import Row

# What differs, by the name of a component of variance.
_WORDS: Mapping[str, str] = {
    "culture": "cultures",
    "prompt": "wordings of the prompt",
    "culture × prompt": "wordings, from culture to culture",
    "item": "items",
    "item × prompt": "wordings, from item to item",
    "sample": "draws of the answer",
}


# With fewer degrees of freedom (three wordings have two) an interval of a standard deviation spans a factor of ten.
FEWEST = 3
_VARIANCE_NOTE = (
    "Variance: of single answers. Error: the squared standard error of a culture's mean over all items, wordings and "
    "draws here; it gets smaller with more of what has the largest share. Items and wordings are treated as samples "
    "from more of their kind; estimates below 0 are shown as 0. Fewer than {fewest} wordings or cultures do not show "
    "how much these differ; the intervals assume that they vary normally."
)


def variance_table(view: TaskView) -> Table | None:
    """Where the variance of each model's scores comes from; None with one wording and one sample."""
    variants, info = wordings_of(view), view.metrics[view.main_metric]
    rows: list[VarianceRow] = []
    for i, label in enumerate(view.labels):
        grid = score_grid(view, i, variants)
        if grid.values.shape[1:] != (1, 1) and grid.units:
            decomposition = variance_components(grid.values, [culture for culture, _ in grid.units])
            rows += _component_rows(label, decomposition)
    if not rows:
        return None
    frame = frame_of(VarianceRow, rows)
    left_out = sum(frame.unique("model")["left_out"])
    gone = f" {wording.count(left_out, 'item')} without a score in each are left out." if left_out else ""
    columns = [
        Column("Differences between", lambda row: Cell(row["named"], isolate(wording.truncate(row["model"], 32)))),
        Column("Standard deviation", lambda row: Cell(_deviation(row, info), number=True)),
        Column("95% interval", lambda row: Cell(_interval(row, info), number=True)),
        Column("Share of variance", lambda row: Cell(_share(row, "variance"), number=True)),
        Column("Share of error", lambda row: Cell(_share(row, "error"), number=True)),
    ]
    return Table(
        key=f"{view.slug}-variance",
        caption=f"Where the variance of {view.titles[view.main_metric]} comes from",
        frame=frame.drop("named", "freedom"),
        columns=columns,
        shown=frame.with_columns(_total("variance"), _total("error")),
        note=_VARIANCE_NOTE.format(fewest=FEWEST + 1) + gone,
    )


class VarianceRow(NamedTuple):
    """A component of the variance of a model's scores, and the design that it was estimated from."""

    model: str | None
    component: str | None
    named: str | None  # the component in words
    variance: float | None
    low: float | None
    high: float | None
    error: float | None
    freedom: int | None
    cultures: int | None
    items: int | None
    left_out: int | None
    prompts: int | None
    samples: int | None


def _component_rows(label: str, decomposition: Decomposition) -> list[VarianceRow]:
    """The components that a design can tell apart."""
    known = [component for component in decomposition.components if component.variance is not None]
    rows = []
    for component in known:
        # A component includes what the design cannot separate from it.
        undrawn = " (and draws)" if component is known[-1] and component.name != "sample" else ""
        rows.append(
            VarianceRow(
                model=label,
                component=component.name,
                named=_WORDS[component.name] + undrawn,
                variance=component.variance,
                low=component.low,
                high=component.high,
                error=component.error,
                freedom=component.freedom,
                cultures=decomposition.cultures,
                items=decomposition.items,
                left_out=decomposition.left_out,
                prompts=decomposition.prompts,
                samples=decomposition.samples,
            )
        )
    return rows


def _total(name: str) -> pl.Expr:
    """A model's variances or errors, those below 0 as 0, added up over its components."""
    return pl.col(name).fill_null(0.0).clip(0.0).sum().over("model").alias(f"total_{name}")


def _deviation(row: Row, info: MetricInfo, end: str = "variance") -> str:
    """The standard deviation of a component, or one ``end`` of its interval."""
    if (row["freedom"] or 0) < FEWEST:
        return NONE.text
    return wording.points(sqrt(max(row[end] or 0.0, 0.0)), info, 1)


def _interval(row: Row, info: MetricInfo) -> str:
    """The interval of a standard deviation, or the reason why there is none."""
    if (row["freedom"] or 0) < FEWEST:
        few = {"prompt": wording.count(row["prompts"], "wording"), "culture": wording.count(row["cultures"], "culture")}
        return f"not known from {few.get(row['component'], 'so few')}"
    low, high = (_deviation(row, info, end) for end in ("low", "high"))
    return f"{low.removesuffix(' points')} to {high}"


def _share(row: Row, name: str) -> str:
    variance, total = row[name], row[f"total_{name}"]
    few = (row["freedom"] or 0) < FEWEST
    return NONE.text if few or variance is None or total <= 0 else f"{100 * max(variance, 0.0) / total:.0f}%"

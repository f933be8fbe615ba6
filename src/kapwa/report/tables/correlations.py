"""Correlations that a report shows: of metrics across systems, with and without the sampling errors of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import polars as pl

from kapwa.report import wording
from kapwa.report.tables.columns import count_column, decimal_column
from kapwa.report.tables.table import NONE, Cell, Column, Table
from kapwa.report.view.means import scores_by_system
from kapwa.report.view.tasks import Subject, TaskView
from kapwa.report.wording import clean
from kapwa.stats.correlation import (
    CORRELATION_SCHEMA,
    Disattenuated,
    correlate_metrics,
    disattenuated,
)
from kapwa.value_types import Row

LEAST = 4  # cultures or models: below, a correlation has no interval, and none is shown
CORRELATED = 6  # metrics whose agreement is shown, unless more stand for their tasks; the CSV holds all

# For each culture, language and variant: what each cluster of questions adds to the error of the mean.
Errors = Mapping[tuple[str, str, str], Mapping[str, float]]
_CORRELATIONS_NOTE = (
    "Under each coefficient is its 95% interval; where there is none, no coefficient is shown. The intervals treat "
    "models as independent samples, which models of one family are not."
)


class MeasuredScore(NamedTuple):
    """A score, and what each cluster of questions adds to its error; {} if that is not known."""

    value: float | None
    errors: Mapping[str, float]


def sampling_errors(view: TaskView, run: int, metric: str) -> Errors:
    """Of a metric's mean in each culture, language and variant, the error by cluster (``stats.correlation``)."""
    over = ("culture", "language", "variant")
    scored = view.runs[run].scores.filter((pl.col("metric") == metric) & pl.col("value").is_not_null())
    items = scored.group_by(*over, "item_id", maintain_order=True).agg(
        pl.col("value").mean(), pl.col("cluster").first()
    )
    share = (pl.col("value") - pl.col("value").mean().over(over)) / pl.len().over(over)
    groups = pl.col("cluster").n_unique().over(over)
    summed = items.with_columns(part=share * (groups / (groups - 1)).sqrt()).filter(groups > 1)
    errors: dict[tuple[str, str, str], dict[str, float]] = {}
    by_cluster = summed.group_by(*over, "cluster", maintain_order=True).agg(pl.sum("part"))
    for culture, language, variant, cluster, error in by_cluster.iter_rows():
        errors.setdefault((culture, language, variant), {})[cluster] = error
    return errors


def mean_error(errors: Errors, view: TaskView, cells: Sequence[tuple[Subject, str]]) -> dict[str, float]:
    """The error, by cluster, of the mean over some cultures and variants; {} unless it is known of each."""
    errors_of_cells = [
        errors.get((subject.culture, view.language_of(subject, name), name), {}) for subject, name in cells
    ]
    clusters = (
        dict.fromkeys(cluster for cell_errors in errors_of_cells for cluster in cell_errors)
        if all(errors_of_cells)
        else {}
    )
    return {
        cluster: sum(cell_errors.get(cluster, 0.0) for cell_errors in errors_of_cells) / len(errors_of_cells)
        for cluster in clusters
    }


def correlate(x: Sequence[MeasuredScore], y: Sequence[MeasuredScore]) -> Disattenuated:
    """The disattenuated correlation of two lists of scores; those without an error are left out."""
    both = [(a, b) for a, b in zip(x, y, strict=True) if a.errors and b.errors]
    clusters = list(dict.fromkeys(name for pair in both for one in pair for name in one.errors))
    sides = [[pair[side] for pair in both] for side in (0, 1)]
    values = [[float("nan") if one.value is None else one.value for one in side] for side in sides]
    matrices = [[[one.errors.get(name, 0.0) for name in clusters] for one in side] for side in sides]
    if len(both) < LEAST:
        return Disattenuated(None, None, None, None, None, len(both))
    return disattenuated(values[0], values[1], matrices[0], matrices[1])


def metric_correlations(columns: Mapping[str, Sequence[MeasuredScore]]) -> pl.DataFrame | None:
    """Correlate metrics across models: three coefficients each pair, the third "disattenuated".

    None below two metrics and below the four models of which a correlation has an interval.
    """
    columns = {
        name: estimates for name, estimates in columns.items() if any(one.value is not None for one in estimates)
    }
    if len(columns) < 2 or len(next(iter(columns.values()))) < LEAST:
        return None
    values = {name: [one.value for one in estimates] for name, estimates in columns.items()}
    plain = correlate_metrics(pl.DataFrame(values, schema=dict.fromkeys(values, pl.Float64)))
    rows = [
        (a, b, "disattenuated", estimates.value, estimates.low, estimates.high, None, estimates.n)
        for a, b in combinations(columns, 2)
        for estimates in (correlate(columns[a], columns[b]),)
    ]
    return pl.concat([plain, pl.DataFrame(rows, schema=CORRELATION_SCHEMA, orient="row")])


def correlations(views: Sequence[TaskView]) -> Table | None:
    """How far the metrics of the tasks of one suite agree across systems; None below four systems.

    Of means over cultures; the headline metrics of every task first.
    """
    columns = [(view, name) for view in views for name, info in view.metrics.items() if not info.reference]
    columns.sort(key=lambda column: column[1] not in column[0].headline)
    tasks = [view.task for view in views]
    measured = {}
    for (view, name), rows in zip(columns, zip(*scores_by_system(columns).values(), strict=True), strict=True):
        cells = [(subject, view.variant) for subject in view.subjects]
        whose = "" if len(views) == 1 else f"{view.task if tasks.count(view.task) == 1 else view.slug} "
        measured[f"{whose}{name}"] = [
            MeasuredScore(None, {})
            if row is None
            else MeasuredScore(row["value"], mean_error(sampling_errors(view, row["run"], name), view, cells))
            for row in rows
        ]
    frame = metric_correlations(measured)
    if frame is None:
        return None
    caption = f"Agreement of metrics across systems ({' and '.join(dict.fromkeys(tasks))})"
    return correlation_table(frame, views[0].slug, caption, max(CORRELATED, sum(len(view.headline) for view in views)))


UNDEFINED = "the scores differ by no more than their errors"


def correlation_table(frame: pl.DataFrame, key: str, caption: str, shown: int) -> Table:
    """How far metrics agree across models: pairs of the first ``shown`` metrics; the CSV holds all of them."""
    first = list(dict.fromkeys([*frame["metric_a"], *frame["metric_b"]]))[:shown]
    among_first = frame.filter(pl.col("metric_a").is_in(first) & pl.col("metric_b").is_in(first))
    without = {"pearson": "all on one line", "spearman": "one order", "disattenuated": UNDEFINED}
    heads = ("Pearson r", "Spearman ρ", "r without sampling error")

    def coefficient(row: Row) -> Cell:
        return coefficient_cell(row, without[row["coefficient"]] if row["runs"] >= LEAST else FEW)

    return Table(
        key=f"{key}-correlations",
        caption=caption,
        frame=frame,
        columns=[
            Column("Metrics", lambda row: Cell(clean(f"{row['metric_a']} × {row['metric_b']}"))),
            Column("", coefficient, spread=True, none=NO_SPREAD),
            count_column("Runs", "runs"),
        ],
        shown=among_first.with_columns(runs=pl.col("n").max().over("metric_a", "metric_b")),
        by=["metric_a", "metric_b"],
        across=("coefficient", dict(zip(without, heads, strict=True))),
        note=_CORRELATIONS_NOTE,
    )


NO_SPREAD = NONE._replace(small="no spread")
FEW = "too few runs"


def coefficient_cell(row: Row, without: str) -> Cell:
    """A correlation with its interval; where it has none, no number stands there but why."""
    if not all(wording.known(row[name]) for name in ("value", "low", "high")):
        spread = wording.known(row["value"]) or without in (UNDEFINED, FEW)
        return NONE._replace(small=without) if spread else NO_SPREAD
    return decimal_column("", "value", ("low", "high")).cell(row)

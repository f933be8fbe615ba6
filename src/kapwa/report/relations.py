"""Correlations that a report shows: of two tasks across cultures, and of metrics across models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import polars as pl

from kapwa.files import slug
from kapwa.report import numbers
from kapwa.report.charts import Point, ScatterChart
from kapwa.report.comparisons import variant_name
from kapwa.report.tables import NONE, Cell, Table, frame_csv
from kapwa.report.text import clean, isolate
from kapwa.report.view import TaskView
from kapwa.stats.correlation import Correlation, pearson
from kapwa.tables_io import csv_text

LEAST_CULTURES = 4  # below, a correlation has no interval


@dataclass(frozen=True, slots=True)
class Relation:
    """One model's two tasks, each in one variant, across the cultures both measured."""

    model: str
    across: str
    upwards: str
    points: tuple[Point, ...]
    correlation: Correlation
    same_language: bool


def relations(views: Sequence[TaskView]) -> list[Relation]:
    """Correlate the first headline metrics of every two tasks of a suite that one model ran, variant by variant.

    Only shares (0 to 1) and at least four shared cultures. Pearson's r with Fisher's interval across cultures.
    """
    found = list[Relation]()
    for one, other in combinations(views, 2):
        if one.task == other.task or one.manifest.get("suite") != other.manifest.get("suite"):
            continue
        if all(numbers.is_share(view.metrics[view.metric]) for view in (one, other)):
            models, others = (
                [(str(run.manifest["model"]["id"]), str(run.manifest["model"].get("revision"))) for run in view.runs]
                for view in (one, other)
            )
            for i, j in product(range(len(models)), range(len(others))):
                found += _of_runs(one, i, other, j) if models[i] == others[j] else ()
    return found


def _of_runs(one: TaskView, i: int, other: TaskView, j: int) -> Iterator[Relation]:
    for first, second in product(one.variants, other.variants):
        points = tuple(_points(one, i, first, other, j, second))
        if len(points) >= LEAST_CULTURES:
            yield Relation(
                one.labels[i],
                _named(one, first),
                _named(other, second),
                points,
                pearson([p.x for p in points], [p.y for p in points]),
                _languages(one, first) == _languages(other, second),
            )


def _points(one: TaskView, i: int, first: str, other: TaskView, j: int, second: str) -> Iterator[Point]:
    theirs = {subject.culture: subject for subject in other.subjects}
    for subject in one.subjects:
        if subject.culture in theirs:
            x = one.estimate(i, subject, one.metric, first)
            y = other.estimate(j, theirs[subject.culture], other.metric, second)
            if x and y and numbers.known(x["value"]) and numbers.known(y["value"]):
                yield Point(subject.label, x["value"], y["value"])


def _languages(view: TaskView, variant: str) -> set[tuple[str, str]]:
    return {(subject.culture, view.language_of(subject, variant)) for subject in view.subjects}


def _named(view: TaskView, variant: str) -> str:
    """The task, and which of its variants where there are several."""
    return f"{view.task} {variant_name(variant)}" if len(view.variants) > 1 else view.task


def relation_charts(found: Sequence[Relation]) -> list[ScatterChart]:
    """One chart for each model and pair of tasks: the variants that ask in the same language, else the first."""
    chosen: dict[tuple[str, str, str], Relation] = {}
    for relation in sorted(found, key=lambda relation: not relation.same_language):
        tasks = (relation.model, relation.across.split(" ")[0], relation.upwards.split(" ")[0])
        chosen.setdefault(tasks, relation)
    return [_chart(relation) for relation in found if any(relation is one for one in chosen.values())]


def _chart(relation: Relation) -> ScatterChart:
    r = numbers.decimal(relation.correlation.value, 2)
    title = f"{relation.upwards} against {relation.across}"
    return ScatterChart(
        key=f"relation-{slug(relation.model)}-{slug(relation.across)}-{slug(relation.upwards)}",
        title=title,
        subject=f"{relation.model}, r = {r}",
        alt=f"{title}, {relation.model}: Pearson's r = {r} across {len(relation.points)} cultures.",
        points=sorted(relation.points, key=lambda point: -point.y),
        across=f"{relation.across} →",
        upwards=f"↑ {relation.upwards}",
    )


def relation_table(found: Sequence[Relation]) -> Table | None:
    """Pearson's r across cultures, with its interval, for every model and pair of variants."""
    if not found:
        return None
    rows, tidy = [], []
    for one in found:
        r = one.correlation
        rows.append(
            [
                Cell(f"{one.across} × {one.upwards}", isolate(one.model)),
                coefficient_cell({"value": r.value, "low": r.low, "high": r.high}, "no interval"),
                Cell(str(r.n), number=True),
            ]
        )
        tidy.append([one.model, one.across, one.upwards, r.value, r.low, r.high, r.p_value, r.n])
    head = ("model", "first", "second", "pearson", "low", "high", "p_value", "cultures")
    return Table(
        key="tasks-correlated",
        caption="Correlation of two tasks across cultures",
        head=["Tasks", "Pearson r (95% interval)", "Cultures"],
        rows=rows,
        csv=csv_text(head, tidy),
        note="The interval takes cultures for independent draws; neighbours are not.",
    )


def correlation_table(view: TaskView, frame: pl.DataFrame, shown: int) -> Table:
    """How far metrics agree across runs: pairs of the first ``shown`` metrics; the CSV holds all of them."""
    pairs: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    first = set(list(dict.fromkeys([*frame["metric_a"], *frame["metric_b"]]))[:shown])
    for row in frame.iter_rows(named=True):
        if {row["metric_a"], row["metric_b"]} <= first:
            pairs.setdefault((row["metric_a"], row["metric_b"]), {})[row["coefficient"]] = row
    rows = []
    for (a, b), found in pairs.items():
        cells = [coefficient_cell(found.get(kind), "too few for an interval") for kind in ("pearson", "spearman")]
        rows.append([Cell(clean(f"{a} × {b}")), *cells, Cell(str(max(r["n"] for r in found.values())), number=True)])
    return Table(
        key=f"{view.slug}-correlations",
        caption=f"Agreement of metrics across {len(view.runs)} runs ({view.task})",
        head=["Metrics", "Pearson r", "Spearman ρ", "Runs"],
        rows=rows,
        csv=frame_csv(frame),
    )


def coefficient_cell(row: Mapping[str, Any] | None, without: str) -> Cell:
    """A correlation with its interval, or what is said ``without`` one."""
    if row is None or not numbers.known(row["value"]):
        return NONE._replace(small="no spread")
    known = numbers.known(row["low"]) and numbers.known(row["high"])
    small = f"{numbers.decimal(row['low'], 2)} to {numbers.decimal(row['high'], 2)}" if known else without
    return Cell(numbers.decimal(row["value"], 2), small, number=True)

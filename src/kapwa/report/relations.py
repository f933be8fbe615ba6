"""Correlations that a report shows: of two tasks across cultures, and of metrics across models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import polars as pl

from kapwa.files import slug
from kapwa.report import wording
from kapwa.report.charts import Point, ScatterChart
from kapwa.report.comparisons import part_words, split, variant_name
from kapwa.report.tables import NONE, Cell, Table, frame_csv
from kapwa.report.view import Subject, TaskView
from kapwa.report.wording import clean, isolate
from kapwa.stats.correlation import Correlation, pearson
from kapwa.tables_io import csv_text

LEAST_CULTURES = 4  # below, a correlation has no interval


class Relation(NamedTuple):
    """One model's two tasks, each in one variant, across the cultures both measured."""

    model: str
    across: str
    upwards: str
    points: list[Point]
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
        if all(wording.is_share(view.metrics[view.metric]) for view in (one, other)):
            models, others = (
                [(str(run.manifest["model"]["id"]), str(run.manifest["model"].get("revision"))) for run in view.runs]
                for view in (one, other)
            )
            for i, j in product(range(len(models)), range(len(others))):
                found += _of_runs(one, i, other, j) if models[i] == others[j] else ()
    return found


def _of_runs(one: TaskView, i: int, other: TaskView, j: int) -> Iterator[Relation]:
    theirs = {subject.culture: subject for subject in other.subjects}
    for first, second in product(_askings(one), _askings(other)):
        points = []
        for subject in (subject for subject in one.subjects if subject.culture in theirs):
            x = _mean(one, i, subject, first)
            y = _mean(other, j, theirs[subject.culture], second)
            if x is not None and y is not None:
                points.append(Point(subject.label, x, y))
        if len(points) >= LEAST_CULTURES:
            named, languages = [], []
            for view, asked in ((one, first), (other, second)):
                named.append(f"{view.task} {_asked_words(asked)}" if len(view.variants) > 1 else view.task)
                languages.append({(s.culture, view.language_of(s, name)) for s in view.subjects for name in asked})
            r = pearson([point.x for point in points], [point.y for point in points])
            yield Relation(one.labels[i], named[0], named[1], points, r, languages[0] == languages[1])


def _askings(view: TaskView) -> list[tuple[str, ...]]:
    """Each variant, and those together that put one prompt in several languages: their mean is over the languages."""
    by_prompt: dict[str, list[str]] = {}
    for name in view.variants:
        if parts := split(name):
            by_prompt.setdefault(parts[1], []).append(name)
    return [*((name,) for name in view.variants), *(tuple(names) for names in by_prompt.values() if len(names) > 1)]


def _asked_words(asked: Sequence[str]) -> str:
    if len(asked) == 1:
        return variant_name(asked[0])
    return f"mean of {len(asked)} languages, {part_words(asked[0].partition('/')[2])}"


def _mean(view: TaskView, run: int, subject: Subject, asked: Sequence[str]) -> float | None:
    """The mean of a culture's scores in the variants ``asked``; None unless it has all of them."""
    rows = [view.estimate(run, subject, view.metric, name) for name in asked]
    values = [row["value"] for row in rows if row is not None and wording.known(row["value"])]
    return sum(values) / len(values) if len(values) == len(asked) else None


def relation_charts(found: Sequence[Relation]) -> list[ScatterChart]:
    """One chart for each model and pair of tasks: the variants that ask in the same language, else the first."""
    chosen: dict[tuple[str, str, str], Relation] = {}
    for relation in sorted(found, key=lambda relation: not relation.same_language):
        tasks = (relation.model, relation.across.split(" ")[0], relation.upwards.split(" ")[0])
        chosen.setdefault(tasks, relation)
    charts = []
    for one in sorted(chosen.values(), key=found.index):
        r, title = wording.decimal(one.correlation.value, 2), f"{one.upwards} against {one.across}"
        charts.append(
            ScatterChart(
                key=f"relation-{slug(one.model)}-{slug(one.across)}-{slug(one.upwards)}",
                title=title,
                subject=f"{one.model}, r = {r}",
                alt=f"{title}, {one.model}: Pearson's r = {r} across {len(one.points)} cultures.",
                points=sorted(one.points, key=lambda point: -point.y),
                across=f"{one.across} →",
                upwards=f"↑ {one.upwards}",
            )
        )
    return charts


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


def correlation_table(frame: pl.DataFrame, key: str, caption: str, shown: int) -> Table:
    """How far metrics agree across models: pairs of the first ``shown`` metrics; the CSV holds all of them."""
    pairs: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    first = set(list(dict.fromkeys([*frame["metric_a"], *frame["metric_b"]]))[:shown])
    for row in frame.iter_rows(named=True):
        if {row["metric_a"], row["metric_b"]} <= first:
            pairs.setdefault((row["metric_a"], row["metric_b"]), {})[row["coefficient"]] = row
    rows = []
    for (a, b), found in pairs.items():
        n = max(row["n"] for row in found.values())
        without = "too few for an interval" if n < 4 else "no interval"  # at ±1 there is none either
        cells = [coefficient_cell(found.get(kind), without) for kind in ("pearson", "spearman")]
        rows.append([Cell(clean(f"{a} × {b}")), *cells, Cell(str(n), number=True)])
    return Table(
        key=f"{key}-correlations",
        caption=caption,
        head=["Metrics", "Pearson r", "Spearman ρ", "Runs"],
        rows=rows,
        csv=frame_csv(frame),
    )


def coefficient_cell(row: Mapping[str, Any] | None, without: str) -> Cell:
    """A correlation with its interval, or what is said ``without`` one."""
    if row is None or not wording.known(row["value"]):
        return NONE._replace(small="no spread")
    known = wording.known(row["low"]) and wording.known(row["high"])
    small = f"{wording.decimal(row['low'], 2)} to {wording.decimal(row['high'], 2)}" if known else without
    return Cell(wording.decimal(row["value"], 2), small, number=True)

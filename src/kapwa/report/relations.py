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
from kapwa.report.table import NONE, Cell, Column, Row, Table, count_column
from kapwa.report.view import Subject, TaskView
from kapwa.report.wording import clean, isolate
from kapwa.stats.correlation import (
    CORRELATION_SCHEMA,
    Correlation,
    Disattenuated,
    correlate_metrics,
    disattenuated,
    pearson,
)

LEAST = 4  # cultures or models: below, a correlation has no interval, and none is shown

# By culture, language and variant: what each cluster of questions adds to the error of the mean.
Errors = Mapping[tuple[str, str, str], Mapping[str, float]]


class Measured(NamedTuple):
    """A score, and what each cluster of questions adds to its error; {} where that cannot be told."""

    value: float | None
    errors: Mapping[str, float]


def sampling_errors(view: TaskView, run: int, metric: str) -> Errors:
    """Of a metric's mean in each culture, language and variant, the error by cluster (``stats.correlation``)."""
    over = ("culture", "language", "variant")
    kept = view.runs[run].scores.filter((pl.col("metric") == metric) & pl.col("value").is_not_null())
    items = kept.group_by(*over, "item_id", maintain_order=True).agg(pl.col("value").mean(), pl.col("cluster").first())
    part = (pl.col("value") - pl.col("value").mean().over(over)) / pl.len().over(over)
    groups = pl.col("cluster").n_unique().over(over)
    summed = items.with_columns(part=part * (groups / (groups - 1)).sqrt()).filter(groups > 1)
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    for *where, cluster, error in (
        summed.group_by(*over, "cluster", maintain_order=True).agg(pl.sum("part")).iter_rows()
    ):
        found.setdefault((where[0], where[1], where[2]), {})[cluster] = error
    return found


def mean_error(errors: Errors, view: TaskView, cells: Sequence[tuple[Subject, str]]) -> dict[str, float]:
    """The error, by cluster, of the mean over some cultures and variants; {} unless it is known of each."""
    found = [errors.get((subject.culture, view.language_of(subject, name), name)) for subject, name in cells]
    clusters = dict.fromkeys(name for one in found if one for name in one)
    known = [one for one in found if one]
    if len(known) < len(found):
        return {}
    return {name: sum(one.get(name, 0.0) for one in known) / len(known) for name in clusters}


def correlate(x: Sequence[Measured], y: Sequence[Measured]) -> Disattenuated:
    """The disattenuated correlation of two lists of scores; those without an error are left out."""
    both = [(a, b) for a, b in zip(x, y, strict=True) if a.errors and b.errors]
    clusters = list(dict.fromkeys(name for pair in both for one in pair for name in one.errors))
    sides = [[pair[side] for pair in both] for side in (0, 1)]
    values = [[float("nan") if one.value is None else one.value for one in side] for side in sides]
    matrices = [[[one.errors.get(name, 0.0) for name in clusters] for one in side] for side in sides]
    if len(both) < LEAST:
        return Disattenuated(None, None, None, None, None, len(both))
    return disattenuated(values[0], values[1], matrices[0], matrices[1])


def metric_correlations(columns: Mapping[str, Sequence[Measured]]) -> pl.DataFrame | None:
    """Correlate metrics across models: three coefficients each pair, the third "disattenuated".

    None below two metrics and below the four models of which a correlation has an interval.
    """
    columns = {name: found for name, found in columns.items() if any(one.value is not None for one in found)}
    if len(columns) < 2 or len(next(iter(columns.values()))) < LEAST:
        return None
    values = {name: [one.value for one in found] for name, found in columns.items()}
    plain = correlate_metrics(pl.DataFrame(values, schema=dict.fromkeys(values, pl.Float64)))
    rows = [
        (a, b, "disattenuated", found.value, found.low, found.high, None, found.n)
        for a, b in combinations(columns, 2)
        for found in (correlate(columns[a], columns[b]),)
    ]
    return pl.concat([plain, pl.DataFrame(rows, schema=CORRELATION_SCHEMA, orient="row")])


def run_correlations(view: TaskView) -> pl.DataFrame | None:
    """Correlate the metrics of a task across its runs (means over cultures); None below four runs."""
    if len(view.runs) < LEAST:
        return None
    cells = [(subject, view.variant) for subject in view.subjects]
    measured = {}
    for name in (name for name, info in view.metrics.items() if not info.get("reference")):
        column = measured[name] = list[Measured]()
        for i in range(len(view.runs)):
            rows = [view.estimate(i, subject, name) for subject in view.subjects]
            known = [row["value"] for row in rows if row is not None and row["value"] is not None]
            errors = mean_error(sampling_errors(view, i, name), view, cells) if len(known) == len(cells) else {}
            column.append(Measured(sum(known) / len(known) if known else None, errors))
    return metric_correlations(measured)


class Relation(NamedTuple):
    """One model's two tasks, each in one variant, across the cultures both measured."""

    model: str
    across: str
    upwards: str
    points: list[Point]
    correlation: Correlation
    corrected: Disattenuated
    same_language: bool


def relations(views: Sequence[TaskView]) -> list[Relation]:
    """Correlate the first headline metrics of every two tasks of a suite that one system ran, variant by variant.

    Only shares (0 to 1) and at least four shared cultures. Pearson's r with Fisher's interval across cultures, and
    what it would be if the scores had no sampling error.
    """
    found = list[Relation]()
    for one, other in combinations(views, 2):
        if one.task == other.task or one.manifest.get("suite") != other.manifest.get("suite"):
            continue
        if all(wording.is_share(view.metrics[view.metric]) for view in (one, other)):
            for i, j in product(range(len(one.labels)), range(len(other.labels))):
                found += _of_runs(one, i, other, j) if one.labels[i] == other.labels[j] else ()
    return found


def _of_runs(one: TaskView, i: int, other: TaskView, j: int) -> Iterator[Relation]:
    theirs = {subject.culture: subject for subject in other.subjects}
    errors = [sampling_errors(view, run, view.metric) for view, run in ((one, i), (other, j))]
    for first, second in product(_askings(one), _askings(other)):
        points, scores = list[Point](), list[tuple[Measured, Measured]]()
        for subject in (subject for subject in one.subjects if subject.culture in theirs):
            x = _measured(one, i, subject, first, errors[0])
            y = _measured(other, j, theirs[subject.culture], second, errors[1])
            if x.value is not None and y.value is not None:
                points.append(Point(subject.label, x.value, y.value))
                scores.append((x, y))
        if len(points) >= LEAST:
            named, languages = [], []
            for view, asked in ((one, first), (other, second)):
                named.append(f"{view.task} {_asked_words(asked)}" if len(view.variants) > 1 else view.task)
                languages.append({(s.culture, view.language_of(s, name)) for s in view.subjects for name in asked})
            r = pearson([point.x for point in points], [point.y for point in points])
            corrected = correlate(*zip(*scores, strict=True))
            yield Relation(one.labels[i], named[0], named[1], points, r, corrected, languages[0] == languages[1])


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


def _measured(view: TaskView, run: int, subject: Subject, asked: Sequence[str], errors: Errors) -> Measured:
    """The mean of a culture's scores in the variants ``asked``; without a value unless it has all of them."""
    rows = [view.estimate(run, subject, view.metric, name) for name in asked]
    values = [row["value"] for row in rows if row is not None and wording.known(row["value"])]
    if len(values) < len(asked):
        return Measured(None, {})
    return Measured(sum(values) / len(values), mean_error(errors, view, [(subject, name) for name in asked]))


def relation_charts(found: Sequence[Relation]) -> list[ScatterChart]:
    """One chart for each model and pair of tasks: the variants that ask in the same language, else the first."""
    chosen: dict[tuple[str, str, str], Relation] = {}
    for relation in sorted(found, key=lambda relation: not relation.same_language):
        tasks = (relation.model, relation.across.split(" ")[0], relation.upwards.split(" ")[0])
        chosen.setdefault(tasks, relation)
    charts = []
    for one in sorted(chosen.values(), key=found.index):
        cell, title = coefficient_cell(one.correlation._asdict(), "no interval"), f"{one.upwards} against {one.across}"
        told = f"Pearson's r = {cell.text} ({cell.small})" if cell.text != NONE.text else "no correlation"
        charts.append(
            ScatterChart(
                key=f"relation-{slug(one.model)}-{slug(one.across)}-{slug(one.upwards)}",
                title=title,
                subject=f"{one.model}, {told}",
                alt=f"{title}, {one.model}: {told} across {len(one.points)} cultures.",
                points=sorted(one.points, key=lambda point: -point.y),
                across=f"{one.across} →",
                upwards=f"↑ {one.upwards}",
            )
        )
    return charts


def relation_table(relations: Sequence[Relation]) -> Table | None:
    """Pearson's r across cultures, and corrected for sampling error, for every model and pair of variants."""
    if not relations:
        return None
    rows = [(one.model, one.across, one.upwards, *one.correlation, *one.corrected[:5]) for one in relations]
    texts = dict.fromkeys(("model", "first", "second"), pl.String)
    pearson = dict.fromkeys(("pearson", "low", "high", "p_value"), pl.Float64)
    more = ("disattenuated", "disattenuated_low", "disattenuated_high", "reliability_first", "reliability_second")
    schema = {**texts, **pearson, "cultures": pl.Int64, **dict.fromkeys(more, pl.Float64)}

    def corrected(row: Row) -> Cell:
        value = {name: row[f"disattenuated{end}"] for name, end in (("value", ""), ("low", "_low"), ("high", "_high"))}
        return coefficient_cell(value, UNDEFINED)

    return Table(
        key="tasks-correlated",
        caption="Correlation of two tasks across cultures",
        frame=pl.DataFrame(rows, schema=schema, orient="row"),
        columns=[
            Column("Tasks", lambda row: Cell(f"{row['first']} × {row['second']}", isolate(row["model"]))),
            Column(
                "Pearson r (95% interval)",
                lambda row: coefficient_cell({**row, "value": row["pearson"]}, "all on one line"),
            ),
            Column("Without sampling error (95% interval)", corrected),
            count_column("Cultures", "cultures"),
        ],
        note="The intervals treat cultures as independent samples; neighbours are not. “Without sampling error” is "
        "what r would be if every culture were asked all questions of this kind (disattenuated).",
    )


UNDEFINED = "the scores differ by no more than their errors"


def correlation_table(frame: pl.DataFrame, key: str, caption: str, shown: int) -> Table:
    """How far metrics agree across models: pairs of the first ``shown`` metrics; the CSV holds all of them."""
    first = list(dict.fromkeys([*frame["metric_a"], *frame["metric_b"]]))[:shown]
    kept = frame.filter(pl.col("metric_a").is_in(first) & pl.col("metric_b").is_in(first))
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
        shown=kept.with_columns(runs=pl.col("n").max().over("metric_a", "metric_b")),
        by=["metric_a", "metric_b"],
        across=("coefficient", dict(zip(without, heads, strict=True))),
        note="Under each coefficient is its 95% interval; where there is none, no coefficient is shown. The intervals "
        "treat models as independent samples, which models of one family are not.",
    )


NO_SPREAD = NONE._replace(small="no spread")
FEW = "too few runs"


def coefficient_cell(row: Mapping[str, Any] | None, without: str) -> Cell:
    """A correlation with its interval; where it has none, no number stands there but why."""
    if row is None:
        return NONE._replace(small="no spread")
    if not all(wording.known(row[name]) for name in ("value", "low", "high")):
        spread = wording.known(row["value"]) or without in (UNDEFINED, FEW)
        return NONE._replace(small=without if spread else "no spread")
    small = f"{wording.decimal(row['low'], 2)} to {wording.decimal(row['high'], 2)}"
    return Cell(wording.decimal(row["value"], 2), small, number=True)

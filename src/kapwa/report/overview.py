"""What several tasks, models and cultures say together: a row for each model, gaps within a language, topics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from kapwa.report import wording
from kapwa.report.comparisons import language_facts
from kapwa.report.marks import Estimate
from kapwa.report.relations import Measured, mean_error, metric_correlations, sampling_errors
from kapwa.report.summaries import equal_mean
from kapwa.report.table import Cell, Column, Table, text_column
from kapwa.report.tables import score_cell
from kapwa.report.view import Compared, TaskView
from kapwa.report.wording import isolate
from kapwa.stats.families import adjust_p_values
from kapwa.stats.intervals import mean_estimates
from kapwa.stats.resampling import LEAST_REPLICATES
from kapwa.stats.spread import shares_of
from kapwa.stats.tables import COMPARISON_SCHEMA, compare_runs
from kapwa.suites.base import holds_shares

TaskMetric = tuple[TaskView, str]  # a task, and a metric of it
_NUMBERS = {**dict.fromkeys(("value", "low", "high"), pl.Float64), "n": pl.Int64}


def together(views: Sequence[TaskView]) -> list[list[TaskView]]:
    """Views of two or more tasks of one suite."""
    by_suite: dict[str, list[TaskView]] = {}
    for view in views:
        by_suite.setdefault(str(view.manifest.get("suite")), []).append(view)
    return [group for group in by_suite.values() if len({view.task for view in group}) > 1]


def model_columns(views: Sequence[TaskView]) -> list[TaskMetric]:
    """The headline metrics of every task, and those that measure as the first of them does ("rouge1_acc")."""
    columns: list[TaskMetric] = []
    for view in views:
        stem, _, kind = view.metric.partition("_")
        alike = [name for name in view.metrics if stem and kind and name.endswith(f"_{kind}")]
        columns += [(view, name) for name in dict.fromkeys([*view.headline, *alike])]
    return columns


def _sources(views: Sequence[TaskView]) -> dict[str, str]:
    """By the slug of a view, the data it is about where another view is of the same task; "" elsewhere."""
    tasks = [view.task for view in views]
    data = {view.slug: view.manifest["data"] for view in views}
    named = {slug: f"{one['name']}@{one['digest'][:6]}" for slug, one in data.items()}
    return {view.slug: named[view.slug] if tasks.count(view.task) > 1 else "" for view in views}


def model_rows(columns: Sequence[TaskMetric], variant: str | None = None) -> dict[str, list[Estimate | None]]:
    """By system, its score in every column: that of the one culture, or the mean over cultures, each counting alike.

    ``variant``: None is the main one of each task. Beside the estimate stands ``run``, the number of the run in the
    column's view.
    """
    rows: dict[str, list[Estimate | None]] = {}
    for place, (view, metric) in enumerate(columns):
        for i, system in enumerate(view.labels):
            if len(view.subjects) == 1:
                mean = view.estimate(i, view.subjects[0], metric, variant)
            else:
                over = equal_mean(view, i, metric, variant=variant)
                mean = None if over is None else over._asdict()
            row = rows.setdefault(system, [None] * len(columns))
            row[place] = None if mean is None else {**mean, "run": i}
    return rows


def direction(view: TaskView, metric: str) -> int:
    """1 where a higher score is better, -1 where a lower one is."""
    return -1 if view.metrics[metric].get("higher_is_better") is False else 1


def place_of(row: Estimate | None, sign: int = 1) -> float:
    """Sort better scores first (``sign``: :func:`direction`), and systems without a score last."""
    value = None if row is None else row["value"]
    return -sign * value if wording.known(value) else math.inf


def model_table(views: Sequence[TaskView]) -> Table:
    """A row for each model, a column for each task's metrics (Kalahi's table 5)."""
    columns, sources = model_columns(views), _sources(views)
    rows = []
    for label, estimates in model_rows(columns).items():
        for place, ((view, name), row) in enumerate(zip(columns, estimates, strict=True)):
            facts = {"model": label, "task": view.task, "data": sources[view.slug], "metric": name}
            rows.append(facts | {key: (row or {}).get(key) for key in _NUMBERS} | {"place": place})
    texts = dict.fromkeys(("model", "task", "data", "metric"), pl.String)
    frame = pl.DataFrame(rows, schema={**texts, **_NUMBERS, "place": pl.Int64})
    heads = {
        place: " ".join(filter(None, [view.titles[name].partition(":")[0], f"({name})", sources[view.slug]]))
        for place, (view, name) in enumerate(columns)
    }
    several = any(len(view.subjects) > 1 for view in views)
    note = "Under each score is its 95% interval."
    note += " In means over cultures, each culture has the same weight." if several else ""
    return Table(
        key=f"{views[0].slug}-models",
        caption=f"Every model on {' and '.join(dict.fromkeys(view.task for view in views))}",
        frame=frame.drop("place"),
        columns=[
            text_column("Model", "model"),
            Column("", lambda row: score_cell(row, columns[row["place"]][0].metrics[row["metric"]]), spread=True),
        ],
        shown=frame,
        by=["model"],
        across=("place", heads),
        note=note,
    )


def task_correlations(views: Sequence[TaskView]) -> pl.DataFrame | None:
    """Correlate the columns of :func:`model_table` across models; None below four models."""
    columns, sources = model_columns(views), _sources(views)
    measured = {}
    for (view, name), rows in zip(columns, zip(*model_rows(columns).values(), strict=True), strict=True):
        cells = [(subject, view.variant) for subject in view.subjects]
        measured[" ".join(filter(None, [view.task, sources[view.slug], name]))] = [
            Measured(None, {})
            if row is None
            else Measured(row["value"], mean_error(sampling_errors(view, row["run"], name), view, cells))
            for row in rows
        ]
    return metric_correlations(measured)


# --- over the models of one task


def model_average(items: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The value of every item, averaged over models; ``items``: those of each (:meth:`TaskView.item_values`)."""
    place = ("culture", "language", "item_id")
    tables = [one.select(*place, "value", "cluster") for one in items]
    return pl.concat(tables).group_by(*place, maintain_order=True).agg(pl.col("value").mean(), pl.first("cluster"))


def average_estimates(view: TaskView) -> dict[str, Estimate]:
    """By culture, the mean over models with its interval; {} for one model."""
    if len(view.runs) < 2:
        return {}
    found, info = {}, view.metrics[view.metric]
    scores = [view.item_values(i, view.metric) for i in range(len(view.runs))]
    for (culture,), items in model_average(scores).group_by("culture", maintain_order=True):
        share = holds_shares(info, items["value"])
        estimate = mean_estimates(items["value"].to_numpy(), items["cluster"].to_numpy(), binary=share)[0]
        found[str(culture)] = dict(estimate._asdict())
    return found


def language_gaps(view: TaskView) -> pl.DataFrame:
    """Differences between cultures that share a language, question by question, averaged over models.

    Of what cultures are compared on, named in the column ``compared`` (:meth:`TaskView.compared`).

    The languages are those of the data: of the variant that asks in the most. Columns of ``comparisons``; ``a`` is the
    culture that scores higher, ``culture`` names the language. Empty where no two cultures share one, and where all
    are asked in one: then it need not be theirs.
    """
    tongues = [{s: view.language_of(s, name).partition("-")[0] for s in view.subjects} for name in view.variants]
    spoken = max(tongues, key=lambda one: len(set(one.values())), default={})
    if len(set(spoken.values())) < 2:
        return pl.DataFrame()
    compared = view.compared(view.metric)
    tables = []
    ranked = [subject for subject in view.by_score(view.metric) if subject in spoken]
    for a, b in combinations(ranked, 2):
        if spoken[a] == spoken[b]:
            scores = model_average([_pair_items(items, (a.culture, b.culture), compared) for items in compared.items])
            sides = (_as_items(scores, one.culture, spoken[a], view) for one in (a, b))
            more: dict[str, Any] = {"metrics": {view.metric: False}, "replicates": LEAST_REPLICATES}
            tables.append(compare_runs(*sides, label_a=a.label, label_b=b.label, **more))
    found = [table for table in tables if table.height and table["n"][0]]
    if not found:
        return pl.DataFrame(schema=COMPARISON_SCHEMA)
    return adjust_p_values(pl.concat(found).with_columns(kind=pl.lit("cultures"))).with_columns(
        compared=pl.lit(compared.words)
    )


def _pair_items(items: pl.DataFrame, cultures: tuple[str, str], compared: Compared) -> pl.DataFrame:
    """One model's values in two cultures; shares of what people score are of the questions that both have."""
    both = items.filter(pl.col("culture").is_in(cultures))
    if compared.top is None:
        return both
    both = both.filter(pl.col("culture").n_unique().over("cluster") == len(cultures))
    shares = shares_of(both["score"].to_numpy(), both["people"].to_numpy(), both["culture"].to_list())
    return both.with_columns(value=pl.Series(shares)).filter(pl.col("value").is_not_nan())


def _as_items(scores: pl.DataFrame, culture: str, language: str, view: TaskView) -> pl.DataFrame:
    """One culture's questions, named by what cultures share of them: their cluster."""
    own = scores.filter(pl.col("culture") == culture).group_by("cluster", maintain_order=True).agg(pl.mean("value"))
    same = {"culture": language_facts(language)[0], "language": language, "variant": view.variant}
    told = {**same, "category": "", "topic": "", "metric": view.metric, "outcome": "scored"}
    return own.with_columns(pl.col("cluster").alias("item_id"), pl.lit(0).alias("sample")).with_columns(
        pl.lit(value).alias(name) for name, value in told.items()
    )


def topic_means(view: TaskView) -> Iterator[tuple[str, dict[str, list[tuple[int, Estimate]]]]]:
    """For each grouping, by topic, every model's mean over cultures, each counting alike (BLEnD's figure 15)."""
    for group in view.groups:
        names = sorted({name for run in view.runs for name in run.scores[group].unique().drop_nulls()})
        found: dict[str, list[tuple[int, Estimate]]] = {}
        for name in names if len(names) > 1 else ():
            for i in range(len(view.runs)):
                mean = equal_mean(view, i, stratum=(group, name))
                if mean is not None:
                    found.setdefault(name, []).append((i, mean._asdict()))
        if found:
            order = {name: -float(np.mean([row["value"] for _, row in rows])) for name, rows in found.items()}
            yield group, {name: found[name] for name in sorted(found, key=lambda name: (order[name], name))}


def topic_table(view: TaskView) -> Table | None:
    """The numbers of the chart of topics over all cultures."""
    info, rows = view.metrics[view.metric], []
    for group, by_topic in topic_means(view):
        for topic, means in by_topic.items():
            for i, row in means:
                facts = {"model": view.labels[i], "group": group, "topic": topic}
                rows.append(facts | {key: row[key] for key in _NUMBERS})
    if not rows:
        return None
    texts = dict.fromkeys(("model", "group", "topic"), pl.String)
    return Table(
        key=f"{view.slug}-topics",
        caption=f"{view.titles[view.metric]} by topic, mean over cultures",
        frame=pl.DataFrame(rows, schema={**texts, **_NUMBERS}),
        columns=[
            Column("Topic", lambda row: Cell(row["topic"], row["group"])),
            Column("", lambda row: score_cell(row, info), spread=True),
        ],
        by=["group", "topic"],
        across=("model", {label: isolate(label) for label in view.labels}),
        note="Each culture has the same weight.",
    )

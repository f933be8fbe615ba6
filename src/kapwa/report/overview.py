"""What several tasks, models and cultures say together: means over cultures, gaps within a language, topics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import polars as pl

from kapwa.report import wording
from kapwa.report.comparisons import language_facts
from kapwa.report.marks import Estimate
from kapwa.report.summaries import equal_mean
from kapwa.report.view import Compared, TaskView
from kapwa.stats.families import adjust_p_values
from kapwa.stats.resampling import LEAST_REPLICATES
from kapwa.stats.spread import shares_of
from kapwa.stats.tables import COMPARISON_SCHEMA, compare_runs
from kapwa.suites.base import LEADING

TaskMetric = tuple[TaskView, str]  # a task, and a metric of it


def by_suite(views: Sequence[TaskView]) -> list[list[TaskView]]:
    """Views, those of one suite together."""
    groups: dict[str, list[TaskView]] = {}
    for view in views:
        groups.setdefault(str(view.manifest.get("suite")), []).append(view)
    return list(groups.values())


def model_rows(columns: Sequence[TaskMetric], variant: str | None = None) -> dict[str, list[Estimate | None]]:
    """By system, its score in every column: that of the one culture, or the mean over cultures, each counting alike.

    ``variant``: None is the main one of each task. Beside the estimate stands ``run``, the number of the run in the
    column's view.
    """
    rows: dict[str, list[Estimate | None]] = {}
    for place, (view, metric) in enumerate(columns):
        for i, system in enumerate(view.labels):
            whole = view.whole and view.estimate(i, view.whole, metric, variant)
            mean = whole if view.whole else equal_mean(view, i, metric, variant=variant)
            row = rows.setdefault(system, [None] * len(columns))
            row[place] = None if mean is None else {**mean, "run": i}
    return rows


def group_sentences(view: TaskView) -> list[str]:
    """Tell what groups of items scored, and what ladders gained: a sentence a system and metric; [] of other items."""
    names = [name for name in view.headline if name.startswith(LEADING)]
    sentences = []
    for label, estimates in model_rows([(view, name) for name in names]).items():
        for name, row in zip(names, estimates, strict=True):
            if row is None or not wording.known(row["value"]):
                continue
            info, base = view.metrics[name], view.marks(view.whole, name, run=row["run"]).base
            value, between = wording.amount(row["value"], info), wording.interval(row["low"], row["high"], info)
            if not wording.is_share(info):
                value = f"{wording.change(row['value'], wording.SHARE)} points"
                between = wording.change_interval(row["low"], row["high"], wording.SHARE)
            ends = "95% interval " * wording.known(row["low"]) + between
            guess = f"; {base.words} would give {wording.amount(base.value, info)}" if base else ""
            sentences.append(f"{view.titles[name]}: {wording.isolate(label)} {value} ({ends}){guess}.")
    return sentences


def direction(view: TaskView, metric: str) -> int:
    """1 where a higher score is better, -1 where a lower one is."""
    return -1 if view.metrics[metric].get("higher_is_better") is False else 1


def place_of(row: Estimate | None, sign: int = 1) -> float:
    """Sort better scores first (``sign``: :func:`direction`), and systems without a score last."""
    value = None if row is None else row["value"]
    return -sign * value if wording.known(value) else math.inf


# --- over the models of one task


def model_average(items: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The value of every item, averaged over models; ``items``: those of each (:meth:`TaskView.item_values`)."""
    place = ("culture", "language", "item_id")
    tables = [one.select(*place, "value", "cluster") for one in items]
    return pl.concat(tables).group_by(*place, maintain_order=True).agg(pl.col("value").mean(), pl.first("cluster"))


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
    """For each grouping, by topic, every model's mean over cultures, each counting alike (BLEnD's figure 15).

    Of one culture it is the score there. The topic of the highest scores comes first. Of groupings into the same topics
    there is one.
    """
    seen = list[list[str]]()
    for group in view.groups:
        names = sorted({name for run in view.runs for name in run.scores[group].unique().drop_nulls()})
        found: dict[str, list[tuple[int, Estimate]]] = {}
        for name in names if len(names) > 1 and names not in seen else ():
            for i in range(len(view.runs)):
                whole = view.whole and view.strata(i, view.whole, group).get(name)
                mean = whole if view.whole else equal_mean(view, i, stratum=(group, name))
                if mean is not None:
                    found.setdefault(name, []).append((i, mean))
        seen.append(names)
        if found:
            order = {name: sum(place_of(row) for _, row in rows) / len(rows) for name, rows in found.items()}
            yield group, {name: found[name] for name in sorted(found, key=lambda name: (order[name], name))}

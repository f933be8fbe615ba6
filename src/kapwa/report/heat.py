"""Heat maps as plain data: culture × topic, and whose answers a model gives where it is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from kapwa.files import slug
from kapwa.report import numbers
from kapwa.report.charts import HeatChart, Square, heat_step
from kapwa.report.comparisons import variant_name
from kapwa.report.text import culture_name, label_text
from kapwa.report.view import Subject, TaskView

FEW_ITEMS = 10  # what rests on fewer is grey, or in brackets: its interval says little more than "unknown"
SHOWN_SHARE = 0.005  # smaller shares of wrong answers leave their square without a number


def heat_class(value: float, domain: tuple[float, float]) -> str:
    """The class of a value's colour: "q0" (little) to "q6" (much)."""
    return f"q{heat_step(value, domain)}"


def heat_domain(values: Sequence[float], info: Mapping[str, Any], *, zero: bool = False) -> tuple[float, float]:
    """A colour scale for ``values``: shares to the next 5 points, others as they are; from zero where asked."""
    low, high = (0.0 if zero else min(values)), max(values)
    if not numbers.is_share(info):
        return (low, high if high > low else low + 1.0)
    low, high = 0.05 * int(low / 0.05 + 1e-9), 0.05 * -int(-high / 0.05 + 1e-9 - 1)
    return (round(low, 2), round(min(1.0, high), 2) if high > low else round(low + 0.05, 2))


def by_score(view: TaskView, metric: str) -> list[Subject]:
    """Cultures with a score in the main variant, the highest first (mean over models)."""
    found = []
    for subject in view.subjects:
        rows = [view.estimate(i, subject, metric) for i in range(len(view.runs))]
        values = [row["value"] for row in rows if row is not None and numbers.known(row["value"])]
        if values:
            found.append((sum(values) / len(values), subject))
    return [subject for _, subject in sorted(found, key=lambda pair: (-pair[0], pair[1].label))]


def stratum_charts(view: TaskView) -> list[HeatChart]:
    """Culture × topic (or category) of the first headline metric, one heat map a model and grouping."""
    if not view.headline:
        return []
    metric, seen = view.headline[0], set()
    info, subjects, runs = view.info(metric), by_score(view, metric), range(len(view.runs))
    charts = []
    for group in view.groups:
        found = [[view.strata(i, subject, metric, group) for subject in subjects] for i in runs]
        values: dict[str, list[float]] = {}
        for strata in (one for by_run in found for one in by_run):
            for name, row in strata.items():
                if numbers.known(row["value"]):
                    values.setdefault(name, []).append(row["value"])
        columns = sorted(values, key=lambda name: (-sum(values[name]) / len(values[name]), name))
        if len(columns) < 2 or tuple(columns) in seen:
            continue
        seen.add(tuple(columns))
        title = f"{view.title_of(metric)}, by {label_text(group).replace('_', ' ')}"
        for i in runs:
            squares = [[_square(strata.get(name), info) for name in columns] for strata in found[i]]
            drawn = [square.value for row in squares for square in row if square is not None]
            if drawn:
                charts.append(
                    HeatChart(
                        key=f"{view.slug}-{slug(view.labels[i])}-{slug(group)}-{i}",
                        title=title,
                        subject=view.labels[i],
                        alt=f"{title}, {view.labels[i]}. The same numbers stand in the table.",
                        rows=[subject.label for subject in subjects],
                        columns=[label_text(name or "(none given)") for name in columns],
                        squares=squares,
                        domain=heat_domain(drawn, info),
                        share=numbers.is_share(info),
                    )
                )
    return charts


def _square(row: Mapping[str, Any] | None, info: Mapping[str, Any]) -> Square | None:
    """The value and n of a stratum; in brackets where it rests on few items."""
    if row is None or not numbers.known(row["value"]):
        return None
    n = int(row["n"])
    # A share stands as a bare whole per cent: the legend carries the sign.
    text = numbers.decimal(100 * row["value"], 0) if numbers.is_share(info) else numbers.amount(row["value"], info)
    return Square(row["value"], f"({text})" if n < FEW_ITEMS else text, f"n = {n:,}")


class Confusion(NamedTuple):
    """One model's wrong answers by culture: a confusion table with a column ``value``, the share to show."""

    run: int
    variant: str
    table: pl.DataFrame


def confusions(view: TaskView) -> list[Confusion]:
    """Whose answers each model gives where it is wrong, from the tables ``confusion``; [] where there are none.

    Of the variants one is shown: the first that asks every culture in one language (answers can be compared best
    there), else the main one.
    """
    shared = (v for v in view.variants if len({view.language_of(subject, v) for subject in view.subjects}) == 1)
    variant = next(shared, view.variant)
    found = []
    for i, frame in view.table("confusion"):
        if {"culture", "variant", "other", "share"} <= set(frame.columns):
            kept = frame.filter((pl.col("variant") == variant) & pl.col("share").is_not_null())
            value = pl.col("split") if "split" in frame.columns else pl.col("share")
            if kept.height:
                found.append(Confusion(i, variant, kept.with_columns(value.alias("value"))))
    return found


def confusion_chart(view: TaskView, confusion: Confusion) -> HeatChart:
    """Rows: whose question it was. Columns: whose answer was given. Squares: shares of the row's wrong answers."""
    asked = set(confusion.table["culture"])
    rows = [subject for subject in by_score(view, view.headline[0]) if subject.culture in asked]
    # Columns in the order of the rows, so that the diagonal is where a culture meets itself.
    others = confusion.table["other"].unique().sort().to_list()
    order = {subject.culture: place for place, subject in enumerate(rows)}
    columns = sorted(others, key=lambda other: order.get(other, len(order)))
    values = {(r["culture"], r["other"]): r["value"] for r in confusion.table.iter_rows(named=True)}
    squares = [[_share(values.get((subject.culture, other))) for other in columns] for subject in rows]
    top = max((square.value for row in squares for square in row if square is not None), default=0.0)
    title = "Whose answer it was, in per cent of wrong answers"
    label = view.labels[confusion.run]
    return HeatChart(
        key=f"{view.slug}-{slug(label)}-confusion-{confusion.run}",
        title=title,
        subject=f"{label}, {variant_name(confusion.variant)}",
        alt=f"{title}, {label}. Rows: the culture asked about. Columns: the culture whose answer was given. "
        "The largest shares stand in the table.",
        rows=[subject.label for subject in rows],
        columns=[culture_name(other) for other in columns],
        squares=squares,
        domain=heat_domain([top], {"low": 0, "high": 1}, zero=True),
        share=True,
    )


def _share(value: float | None) -> Square | None:
    if value is None or not numbers.known(value):
        return None
    return Square(value, numbers.decimal(100 * value, 0) if value >= SHOWN_SHARE else "")

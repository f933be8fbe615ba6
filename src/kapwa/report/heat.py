"""Heat maps as plain data: culture × topic, and whose answers a model gives where it is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from kapwa.files import slug
from kapwa.report import numbers
from kapwa.report.canvas import HEAT
from kapwa.report.plots import FEW_ITEMS
from kapwa.report.text import culture_name, label_text
from kapwa.report.variants import variant_name
from kapwa.report.view import Subject, TaskView, suite_table

SHOWN_SHARE = 0.005  # smaller shares of wrong answers leave their square without a number


class Square(NamedTuple):
    """One cell: its value, the number printed in it, and what stands small under it."""

    value: float
    text: str
    small: str = ""


@dataclass(frozen=True, slots=True)
class HeatPlot:
    """A matrix of values: rows and columns with names, squares row by row (None: nothing there), the colour scale."""

    key: str
    title: str
    subject: str
    alt: str
    rows: Sequence[str]
    columns: Sequence[str]
    squares: Sequence[Sequence[Square | None]]
    domain: tuple[float, float]
    share: bool


def heat_step(value: float, domain: tuple[float, float]) -> int:
    """The colour step of a value: 0 (little) to 6 (much)."""
    low, high = domain
    place = (value - low) / (high - low) if high > low else 0.0
    return min(len(HEAT) - 1, max(0, int(place * len(HEAT))))


def heat_domain(values: Sequence[float], info: Mapping[str, Any], *, zero: bool = False) -> tuple[float, float]:
    """A colour scale for ``values``: shares to the next 5 points, others as they are; from zero where asked."""
    low, high = (0.0 if zero else min(values)), max(values)
    if not numbers.is_share(info):
        return (low, high if high > low else low + 1.0)
    low, high = 0.05 * int(low / 0.05 + 1e-9), 0.05 * -int(-high / 0.05 + 1e-9 - 1)
    return (round(low, 2), round(min(1.0, high), 2) if high > low else round(low + 0.05, 2))


def by_score(view: TaskView, metric: str) -> list[Subject]:
    """Cultures with a score in the main variant, the highest first (mean over models)."""

    def mean(subject: Subject) -> float | None:
        rows = [view.estimate(i, subject, metric) for i in range(len(view.runs))]
        values = [row["value"] for row in rows if row is not None and numbers.known(row["value"])]
        return sum(values) / len(values) if values else None

    found = [(value, subject) for subject in view.subjects if (value := mean(subject)) is not None]
    return [subject for _, subject in sorted(found, key=lambda pair: (-pair[0], pair[1].label))]


def stratum_plots(view: TaskView) -> list[HeatPlot]:
    """Culture × topic (or category) of the first headline metric, one heat map a model and grouping."""
    if not view.headline:
        return []
    plots, seen = [], set()
    for group in dict.fromkeys(g for run in view.runs for g in run.manifest.get("groups", ())):
        columns = _strata(view, group)
        if len(columns) < 2 or tuple(columns) in seen:
            continue
        seen.add(tuple(columns))
        plots += [plot for i in range(len(view.runs)) if (plot := _stratum_plot(view, i, group, columns)) is not None]
    return plots


def _strata(view: TaskView, group: str) -> list[str]:
    """The strata of a grouping, the one with the highest mean first."""
    values: dict[str, list[float]] = {}
    for i in range(len(view.runs)):
        for subject in view.subjects:
            for stratum, row in view.strata(i, subject, view.headline[0], group).items():
                if numbers.known(row["value"]):
                    values.setdefault(stratum, []).append(row["value"])
    return sorted(values, key=lambda name: (-sum(values[name]) / len(values[name]), name))


def _stratum_plot(view: TaskView, run: int, group: str, columns: Sequence[str]) -> HeatPlot | None:
    metric = view.headline[0]
    info = view.metrics.get(metric, {})
    subjects = by_score(view, metric)
    found = [view.strata(run, subject, metric, group) for subject in subjects]
    squares = [[_square(strata.get(name), info) for name in columns] for strata in found]
    values = [square.value for row in squares for square in row if square is not None]
    if not values:
        return None
    title = f"{view.title_of(metric)}, by {label_text(group).replace('_', ' ')}"
    return HeatPlot(
        key=f"{view.slug}-{slug(view.labels[run])}-{slug(group)}-{run}",
        title=title,
        subject=view.labels[run],
        alt=f"{title}, {view.labels[run]}. The same numbers stand in the table.",
        rows=[subject.label for subject in subjects],
        columns=[label_text(name or "(none given)") for name in columns],
        squares=squares,
        domain=heat_domain(values, info),
        share=numbers.is_share(info),
    )


def _square(row: Mapping[str, Any] | None, info: Mapping[str, Any]) -> Square | None:
    """The value and n of a stratum; in brackets where it rests on few items."""
    if row is None or not numbers.known(row["value"]):
        return None
    n = int(row["n"])
    text = percent(row["value"]) if numbers.is_share(info) else numbers.amount(row["value"], info)
    return Square(row["value"], f"({text})" if n < FEW_ITEMS else text, f"n = {n:,}")


def percent(value: float) -> str:
    """A share as a bare whole per cent: the legend carries the sign."""
    return numbers.decimal(100 * value, 0)


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
    found = []
    variant = _shared_language(view)
    for i, run in enumerate(view.runs):
        frame = suite_table(run, "confusion")
        if frame is None or not {"culture", "variant", "other", "share"} <= set(frame.columns):
            continue
        kept = frame.filter((pl.col("variant") == variant) & pl.col("share").is_not_null())
        value = pl.col("split") if "split" in frame.columns else pl.col("share")
        if kept.height:
            found.append(Confusion(i, variant, kept.with_columns(value.alias("value"))))
    return found


def _shared_language(view: TaskView) -> str:
    for variant in view.variants:
        if len({view.language_of(subject, variant) for subject in view.subjects}) == 1:
            return variant
    return view.variant


def confusion_plot(view: TaskView, confusion: Confusion) -> HeatPlot:
    """Rows: whose question it was. Columns: whose answer was given. Squares: shares of the row's wrong answers."""
    asked = set(confusion.table["culture"])
    rows = [subject for subject in by_score(view, view.headline[0]) if subject.culture in asked]
    # Columns in the order of the rows, so that the diagonal is where a culture meets itself.
    others = confusion.table["other"].unique().sort().to_list()
    order = {subject.culture: place for place, subject in enumerate(rows)}
    columns = sorted(others, key=lambda other: order.get(other, len(order)))
    values = {(r["culture"], r["other"]): r["value"] for r in confusion.table.iter_rows(named=True)}
    squares = [[_shared(values.get((subject.culture, other))) for other in columns] for subject in rows]
    top = max((square.value for row in squares for square in row if square is not None), default=0.0)
    title = "Whose answer it was, in per cent of wrong answers"
    label = view.labels[confusion.run]
    return HeatPlot(
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


def _shared(value: float | None) -> Square | None:
    if value is None or not numbers.known(value):
        return None
    return Square(value, percent(value) if value >= SHOWN_SHARE else "")

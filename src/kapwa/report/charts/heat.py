"""Heat maps as plain data: culture × topic, and whose answers a model gives where it is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kapwa.files import slug
from kapwa.report import wording
from kapwa.report.charts.elements import FEW_ITEMS, HeatChart, Square
from kapwa.report.view.comparisons import variant_name
from kapwa.report.view.means import topic_means
from kapwa.report.view.tasks import Confusion, TaskView
from kapwa.report.wording import culture_name, label_text
from kapwa.suites.base import MetricInfo
from kapwa.value_types import Row

SHOWN_SHARE = 0.005  # smaller shares of wrong answers leave their square without a number


def heat_domain(values: Sequence[float], info: MetricInfo, *, zero: bool = False) -> tuple[float, float]:
    """A colour scale for ``values``: shares to the next 5 points, others as they are; from zero where asked."""
    low, high = (0.0 if zero else min(values)), max(values)
    if not wording.is_share(info):
        return (low, high if high > low else low + 1.0)
    low, high = 0.05 * int(low / 0.05 + 1e-9), 0.05 * -int(-high / 0.05 + 1e-9 - 1)
    return (round(low, 2), round(high, 2) if high > low else round(low + 0.05, 2))


def heat_chart(
    squares: Sequence[Sequence[Square | None]], info: MetricInfo, *, zero: bool = False, **words: Any
) -> list[HeatChart]:
    """A heat map of ``squares`` on a scale of their own; none where all are empty. ``words``: fields of its chart."""
    drawn = [square.value for row in squares for square in row if square is not None]
    if not drawn:
        return []
    scale = heat_domain(drawn, info, zero=zero)
    return [HeatChart(squares=squares, domain=scale, share=wording.is_share(info), **words)]


def stratum_charts(view: TaskView) -> list[HeatChart]:
    """Culture × topic (or category) of the first headline metric, one heat map a model and grouping."""
    info, subjects, charts = view.metrics[view.main_metric], view.by_score(view.main_metric), list[HeatChart]()
    for group, topics in topic_means(view):
        title = f"{view.titles[view.main_metric]}, by {label_text(group).replace('_', ' ')}"
        for i, label in enumerate(view.labels):
            strata = [view.strata(i, subject, group) for subject in subjects]
            charts += heat_chart(
                [[square_of(of_culture.get(name), info) for name in topics] for of_culture in strata],
                info,
                key=f"{view.slug}-{slug(label)}-{slug(group)}-{i}",
                title=title,
                subject=label,
                alt=f"{title}, {label}. The table has the same numbers.",
                rows=[subject.label for subject in subjects],
                columns=list(map(label_text, topics)),
            )
    return charts


def square_of(row: Row | None, info: MetricInfo) -> Square | None:
    """The value and n of a stratum; in brackets where it rests on few items."""
    if row is None or not wording.known(row["value"]):
        return None
    n = int(row["n"])
    # A share stands as a bare whole per cent: the legend carries the sign.
    text = wording.decimal(100 * row["value"], 0) if wording.is_share(info) else wording.amount(row["value"], info)
    return Square(row["value"], f"({text})" if n < FEW_ITEMS else text, f"n = {n:,}")


def confusion_chart(view: TaskView, confusion: Confusion) -> list[HeatChart]:
    """Rows: whose question it was. Columns: whose answer was given. Squares: shares of the row's wrong answers."""
    cultures = set(confusion.table["culture"])
    rows = [subject for subject in view.by_score(view.main_metric) if subject.culture in cultures]
    # Columns in the order of the rows, so that the diagonal is where a culture meets itself.
    order = {subject.culture: index for index, subject in enumerate(rows)}
    columns = sorted(confusion.table["other"].unique().sort(), key=lambda other: order.get(other, len(order)))
    values = {(r["culture"], r["other"]): r["value"] for r in confusion.table.iter_rows(named=True)}
    squares: list[list[Square | None]] = []
    for subject in rows:
        shares = [values.get((subject.culture, other)) for other in columns]
        words = [wording.decimal(100 * v, 0) if wording.known(v) and v >= SHOWN_SHARE else "" for v in shares]
        squares.append([Square(v, w) if wording.known(v) else None for v, w in zip(shares, words, strict=True)])
    title, label = "Whose answer it was, in per cent of wrong answers", view.labels[confusion.run]
    return heat_chart(
        squares,
        wording.SHARE,
        zero=True,
        key=f"{view.slug}-{slug(label)}-confusion-{confusion.run}",
        title=title,
        subject=f"{label}, {variant_name(confusion.variant)}",
        alt=f"{title}, {label}. Rows: the culture asked about. Columns: the culture whose answer was given. "
        "The table has the largest shares.",
        rows=[subject.label for subject in rows],
        columns=[culture_name(other) for other in columns],
    )

"""What each chart of rows shows: models, strata and variants of one culture; many cultures on one axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from kapwa.files import slug
from kapwa.report import wording
from kapwa.report.charts.elements import FEW_ITEMS, Dot, Line, Marker, RowChart
from kapwa.report.view.comparisons import LEVELS, axis_names, contrast_language, language_facts
from kapwa.report.view.means import topic_means
from kapwa.report.view.reference_scores import EstimateRow, is_first_items_only
from kapwa.report.view.tasks import Subject, TaskView
from kapwa.report.wording import label_text
from kapwa.stats.families import is_clear
from kapwa.suites.base import MetricInfo
from kapwa.value_types import Row

SAME = "The table has the same numbers."


def row_chart(
    view: TaskView,
    metric: str,
    lines: Sequence[Line],
    marks: Iterable[float] = (),
    *,
    title: str,
    about: str,
    tail: str = "",
    **more: Any,
) -> list[RowChart]:
    """A chart on the metric's axis, described in words (``about``, the numbers, ``tail``); none without a dot."""
    if not any(line.dots for line in lines):
        return []
    lines_in_words = "; ".join(f"{line.label} {line.strong} ({line.beside})" for line in lines if line.strong)
    alt = ". ".join(
        sentence
        for sentence in (f"{title}, {about}", lines_in_words, tail if tail or lines_in_words else SAME)
        if sentence
    )
    info = view.metrics[metric]
    models = [(str(k), name) for k, name in enumerate(more.get("series", ()))]
    more["keys"] = [*(models if len(models) > 1 else ()), *more.get("keys", ())]
    share, low, high = wording.is_share(info), 0.0, 1.0
    if not share:  # the data, the marks and zero with a little air
        ends = (value for line in lines for dot in line.dots for value in (dot.value, dot.low, dot.high))
        seen = [*(value for value in ends if wording.known(value)), *marks, 0.0]
        low, high = min(seen), max(seen)
        air = 0.06 * (high - low)
        # Where there is nothing but zero, the axis needs a length all the same.
        high = high + air if high > 0 else 0.0 if low < 0 else 1.0
        low = low - air if low < 0 else 0.0
    return [RowChart(title=title, alt=alt, lines=lines, share=share, domain=(low, high), **more)]


def headline_charts(view: TaskView, metric: str) -> list[RowChart]:
    """One culture: a row a model, its score and interval on one axis with every floor and the ceiling."""
    (subject,), info = view.subjects, view.metrics[metric]
    marks, lines = view.marks(subject, metric), []
    for i, label in enumerate(view.labels):
        row = view.estimate(i, subject, metric)
        if row is None:
            continue
        n, clusters = int(row["n"]), int(row.get("clusters") or 0)
        below = f"n = {n:,}" + (f", {wording.count(clusters, 'cluster')}" if clusters and clusters != n else "")
        if _has_dot(row):
            strong, interval = wording.amount(row["value"], info), wording.interval(row["low"], row["high"], info)
            lines.append(Line(label, [Dot(row["value"], row["low"], row["high"])], below, strong, interval))
        else:
            lines.append(Line(label, below=below, strong="no score", muted=True))
    shown = [(mark, wording.amount(mark.value, info, 0)) for mark in marks.every]
    return row_chart(
        view,
        metric,
        lines,
        [mark.value for mark in marks.every],
        title=view.titles[metric],
        about=subject.label,
        tail="; ".join(f"{mark.words}: {at}" for mark, at in shown),
        key=f"{view.slug}-{slug(subject.label)}-{slug(metric)}",
        subject=subject.label,
        markers=[Marker(mark.value, f"{mark.short} {at}", mark.is_ceiling) for mark, at in shown],
        band=marks.best_trick.value if marks.best_trick else None,
    )


def _series_line(label: str, rows: Sequence[tuple[int, EstimateRow]]) -> Line:
    """One row with a dot for each model; ``rows`` pairs a series number with an estimate."""
    sizes = sorted({int(row["n"]) for _, row in rows})
    few = sizes[-1] < FEW_ITEMS
    dots = [Dot(row["value"], row["low"], row["high"], k, few) for k, row in rows if wording.known(row["value"])]
    size_words = f"n = {sizes[0]:,}" if len(sizes) == 1 else f"n = {sizes[0]:,}–{sizes[-1]:,}"
    return Line(label_text(label), dots, beside=size_words, muted=few)


def culture_charts(view: TaskView, metric: str) -> list[RowChart]:
    """Every culture a row, the highest first: score and interval, shaded up to its best floor, its ceiling marked."""
    lines = [_culture_line(view, subject, metric) for subject in view.by_score(metric)]
    floors = [line.zone for line in lines if line.zone is not None]
    tops = [line.top for line in lines if line.top is not None]
    keys = [("zone", "best trick without cultural knowledge")] if floors else []
    keys += [("top", " or ".join(mark.short for mark in view.tops([metric])))] if tops else []
    drawn = any(dot.partial is not None for line in lines for dot in line.dots)
    keys += [("partial", "drawn towards the mean as far as noise explains")] if drawn else []
    return row_chart(
        view,
        metric,
        lines,
        floors + tops,
        title=view.titles[metric],
        about="by culture",
        key=f"{view.slug}-cultures-{slug(metric)}",
        subject=", ".join(view.labels),
        series=view.labels,
        compact=True,
        keys=keys,
    )


def topic_charts(view: TaskView) -> list[RowChart]:
    """Every topic a row, a dot for each model: its mean over cultures, each counting alike."""
    charts = []
    for group, topics in topic_means(view):
        title = f"{view.titles[view.main_metric]}, by {label_text(group).replace('_', ' ')}"
        charts += row_chart(
            view,
            view.main_metric,
            [_series_line(name, rows) for name, rows in topics.items()],
            title=f"{title}, mean over cultures" if view.several_cultures else title,
            about="all cultures" if view.several_cultures else view.subjects[0].label,
            key=f"{view.slug}-{slug(group)}-over-cultures",
            subject=", ".join(view.labels),
            series=view.labels,
            compact=True,
        )
    return charts


def _has_dot(row: Row) -> bool:
    return wording.known(row["value"]) and not is_first_items_only(row)


def _culture_line(view: TaskView, subject: Subject, metric: str) -> Line:
    info, marks = view.metrics[metric], view.marks(subject, metric)
    rows = [(i, view.estimate(i, subject, metric)) for i in range(len(view.runs))]
    scored = [(k, row) for k, row in rows if row is not None and _has_dot(row)]
    most = max((int(row["n"]) for _, row in scored), default=0)
    strong, size_words = "", f"n = {most:,}"

    def partial(run: int) -> float | None:
        worth = view.pooled_value_and_rank(run, subject, metric)
        # A share of the ceiling has no place on the axis of scores.
        by_share = worth is not None and worth[1] is not None and view.compared(metric).ceiling is not None
        return None if worth is None or worth[1] is None or by_share else worth[0]

    if len(view.runs) == 1 and scored:
        row = scored[0][1]
        strong, size_words = wording.amount(row["value"], info), wording.interval(row["low"], row["high"], info)
    return Line(
        subject.label,
        [Dot(row["value"], row["low"], row["high"], k, most < FEW_ITEMS, partial(k)) for k, row in scored],
        strong=strong,
        beside=size_words,
        muted=most < FEW_ITEMS,
        zone=marks.best_trick.value if marks.best_trick else None,
        top=marks.ceiling.value if marks.ceiling else None,
    )


def contrast_charts(view: TaskView, table: pl.DataFrame) -> list[RowChart]:
    """Two variants of each culture joined by a line, their paired difference beside; one chart a model.

    Of the pairs of variants on an axis the first is drawn; the table holds the others. Rows of the axis "asked" are
    grouped by how much text there is in the local language.
    """
    axis, info = table["axis"][0], view.metrics[view.main_metric]
    labels = {subject.culture: subject.label for subject in view.subjects}
    charts = []
    shown = table.filter(pl.col("held") == table["held"][0], pl.col("cultures") == 1)
    for model, frame in shown.partition_by("model", as_dict=True, maintain_order=True).items():
        rows = frame.to_dicts()
        levels: dict[str, list[Row]] = {level: [] for level in LEVELS}
        rows.sort(key=lambda row: (not wording.known(row["difference"]), -(row["difference"] or 0.0)))
        for row in rows:
            row["language"], level = language_facts(contrast_language(view, row)) if axis == "asked" else ("", "")
            levels[level].append(row)
        heads = sum(map(bool, levels.values())) > 1
        lines = []
        for level, members in levels.items():
            known = [row["difference"] for row in members if wording.known(row["difference"])]
            mean = f": {wording.change(sum(known) / len(known), info)} on average" if known else ""
            lines += [Line(f"{LEVELS[level]}{mean}", header=True)] if heads and members else []
            lines += [_dumbbell(labels[row["culture"]], row, info) for row in members]
        first, second = axis_names(rows[0], axis)
        whose = str(model[0]) or view.labels[0]
        charts += row_chart(
            view,
            view.main_metric,
            lines,
            title=f"{view.titles[view.main_metric]}: {first} and {second}",
            about=f"{whose}. Beside each culture the first minus the second",
            key=f"{view.slug}-{slug(whose)}-{axis}",
            subject=whose,
            series=[first, second],
            compact=True,
        )
    return charts


def _dumbbell(label: str, row: Row, info: MetricInfo) -> Line:
    few = int(row["n"]) < FEW_ITEMS
    values = [(k, row[name]) for k, name in enumerate(("a_value", "b_value")) if wording.known(row[name])]
    return Line(
        label,
        [Dot(value, None, None, k, few) for k, value in values],
        strong=wording.change(row["difference"], info),
        beside=wording.change_interval(row["low"], row["high"], info),
        muted=few or not is_clear(row),
        aside=row["language"],
        joined=True,
    )

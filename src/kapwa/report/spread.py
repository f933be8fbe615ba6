"""Many cultures on one axis, as plain data: a dot plot by culture, and dumbbells of two variants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from kapwa.files import slug
from kapwa.report import numbers
from kapwa.report.heat import by_score
from kapwa.report.plots import FEW_ITEMS, Dot, IntervalPlot, Line, axis_domain, series_parts
from kapwa.report.variants import (
    LEVELS,
    Level,
    asked_name,
    language_name,
    prompt_name,
    resource_level,
    short_prompt,
    split,
)
from kapwa.report.view import Subject, TaskView
from kapwa.report.words import is_clear

ZONE_KEY, TOP_KEY = "best trick without cultural knowledge", "people"


def culture_plots(view: TaskView, metric: str) -> list[IntervalPlot]:
    """Every culture a row, the highest first: score and interval, shaded up to its best floor, its ceiling marked."""
    subjects = by_score(view, metric)
    info = view.metrics.get(metric, {})
    plots = []
    for part, members in series_parts(view):
        lines = [_culture_line(view, subject, metric, members) for subject in subjects]
        marks = [value for line in lines for value in (line.zone, line.top) if value is not None]
        title = view.title_of(metric)
        plots.append(
            IntervalPlot(
                key=f"{view.slug}-cultures-{slug(metric)}{part}",
                title=title,
                subject=", ".join(view.labels[i] for i in members),
                alt=_alt(f"{title}, by culture", lines),
                lines=lines,
                series=[view.labels[i] for i in members],
                domain=axis_domain(info, [line.dots for line in lines], marks),
                share=numbers.is_share(info),
                compact=True,
                zone_key=ZONE_KEY if any(line.zone is not None for line in lines) else "",
                top_key=TOP_KEY if any(line.top is not None for line in lines) else "",
            )
        )
    return plots


def _culture_line(view: TaskView, subject: Subject, metric: str, members: Sequence[int]) -> Line:
    info = view.metrics.get(metric, {})
    rows = [(k, view.estimate(i, subject, metric)) for k, i in enumerate(members)]
    found = [(k, row) for k, row in rows if row is not None and numbers.known(row["value"])]
    most = max((int(row["n"]) for _, row in found), default=0)
    few = most < FEW_ITEMS
    marks = view.marks(subject, metric)
    floors = [mark.value for mark in marks if not mark.ceiling]
    tops = [mark.value for mark in marks if mark.ceiling]
    strong, beside = "", f"n = {most:,}"
    if len(members) == 1 and found:
        row = found[0][1]
        strong, beside = numbers.amount(row["value"], info), numbers.interval(row["low"], row["high"], info)
    return Line(
        subject.label,
        [Dot(row["value"], row["low"], row["high"], k, few) for k, row in found],
        strong=strong,
        beside=beside,
        muted=few,
        zone=max(floors) if floors else None,
        top=tops[0] if tops else None,
    )


def _alt(title: str, lines: Iterable[Line]) -> str:
    told = [f"{line.label} {line.strong} ({line.beside})" for line in lines if line.strong]
    return ". ".join([title, "; ".join(told) or "The same numbers stand in the table"]) + "."


def contrast_plots(view: TaskView, table: pl.DataFrame) -> list[IntervalPlot]:
    """Dumbbells: two variants of each culture joined by a line, their paired difference beside; one plot a model.

    Of the pairs of variants on an axis the first is drawn; the table holds the others. Rows of the axis "asked" are
    grouped by how much text there is in the local language.
    """
    if not table.height:
        return []
    axis, held = table["axis"][0], table["held"][0]
    plots = []
    for label in table["model"].unique(maintain_order=True):
        drawn = table.filter((pl.col("model") == label) & (pl.col("held") == held))
        if drawn.height:
            plots.append(_contrast_plot(view, drawn.to_dicts(), label or view.labels[0], axis))
    return plots


def _contrast_plot(view: TaskView, rows: Sequence[Mapping[str, Any]], label: str, axis: str) -> IntervalPlot:
    info = view.metrics.get(view.headline[0], {})
    subjects = {subject.culture: subject for subject in view.subjects}
    ordered = sorted(rows, key=lambda row: (not numbers.known(row["difference"]), -(row["difference"] or 0.0)))
    grouped = axis == "asked"
    lines = _grouped(view, subjects, ordered) if grouped else [_dumbbell(view, subjects, row, "") for row in ordered]
    first, second = part_names(rows[0], axis)
    title = f"{view.title_of(view.headline[0])}: {first} and {second}"
    return IntervalPlot(
        key=f"{view.slug}-{slug(label)}-{axis}",
        title=title,
        subject=label,
        alt=_alt(f"{title}, {label}. Beside each culture the first minus the second", lines),
        lines=lines,
        series=[first, second],
        domain=axis_domain(info, [line.dots for line in lines], ()),
        share=numbers.is_share(info),
        compact=True,
    )


def _grouped(view: TaskView, subjects: Mapping[str, Subject], rows: Sequence[Mapping[str, Any]]) -> list[Line]:
    """Rows under the level of their language; without heads where all languages are of one."""
    levels: dict[Level, list[Line]] = {level: [] for level in LEVELS}
    for row in rows:
        language = contrast_language(view, row)
        levels[resource_level(language)].append(_dumbbell(view, subjects, row, language_name(language)))
    used = {level: lines for level, lines in levels.items() if lines}
    heads = len(used) > 1
    return [line for level in used for line in (*([Line(LEVELS[level], header=True)] if heads else []), *used[level])]


def contrast_language(view: TaskView, row: Mapping[str, Any]) -> str:
    """The language of the first variant of a contrast: the local one."""
    subject = next(subject for subject in view.subjects if subject.culture == row["culture"])
    return view.language_of(subject, row["a"])


def _dumbbell(view: TaskView, subjects: Mapping[str, Subject], row: Mapping[str, Any], aside: str) -> Line:
    info = view.metrics.get(view.headline[0], {})
    values = (row["a_value"], row["b_value"])
    few = int(row["n"]) < FEW_ITEMS
    return Line(
        subjects[row["culture"]].label,
        [Dot(value, None, None, k, few) for k, value in enumerate(values) if numbers.known(value)],
        strong=numbers.change(row["difference"], info),
        beside=numbers.change_interval(row["low"], row["high"], info),
        muted=few or not is_clear(row),
        aside=aside,
        joined=True,
    )


def part_names(row: Mapping[str, Any], axis: str) -> tuple[str, str]:
    """What the two variants of a contrast are called: "local language" and "English", "direct" and "persona"."""
    first, second = split(str(row["a"])), split(str(row["b"]))
    if first is None or second is None:
        return str(row["a"]), str(row["b"])
    if axis == "prompt":
        return short_prompt(first.prompt), short_prompt(second.prompt)
    return asked_name(first.asked).removeprefix("the "), asked_name(second.asked).removeprefix("the ")


def held_name(axis: str, held: str) -> str:
    """What the part is called that both variants of a contrast share."""
    return prompt_name(held) if axis == "asked" else f"in {asked_name(held)}"

"""What each chart shows, as plain data: rows with dots and intervals, and marked values.

One form serves the whole report: an interval plot. :mod:`kapwa.report.figures` draws it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kapwa.files import slug
from kapwa.report import numbers
from kapwa.report.text import label_text
from kapwa.report.view import Estimate, Subject, TaskView
from kapwa.report.words import base_floor, trick_name

# Strata below this many items are drawn grey: their interval says little more than "unknown".
FEW_ITEMS = 10
MAX_SERIES = 4

# Short names for marks drawn in a chart, where the sentence's "always picking ..." would not fit.
SHORT_MARKS = {
    "always picking the longest answer": "longest answer",
    "always picking the shortest answer": "shortest answer",
    "always picking the first answer": "first answer",
    "always picking the longest option": "longest option",
    "always picking the shortest option": "shortest option",
    "always picking the first in the alphabet": "first in the alphabet",
    "an answer to another situation": "another answer",
    "the answers to many other situations at once": "many other answers",
    "having no preference": "no preference",
}


@dataclass(frozen=True, slots=True)
class Dot:
    """One estimate with its interval; ``series`` numbers the model, ``muted`` greys it."""

    value: float
    low: float | None
    high: float | None
    series: int = 0
    muted: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a plot. A ``header`` row has a label and nothing else.

    ``aside`` stands beside the label. ``zone`` shades the row up to a value of its own (its floor), ``top`` marks one
    (its ceiling). The dots of a ``joined`` row stand on one line that joins them; ``muted`` greys its value only.
    """

    label: str
    dots: Sequence[Dot] = ()
    below: str = ""
    strong: str = ""
    beside: str = ""
    muted: bool = False
    header: bool = False
    aside: str = ""
    zone: float | None = None
    top: float | None = None
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Marker:
    """A value marked across all rows: a floor (dashed) or a ceiling (solid)."""

    value: float
    label: str
    ceiling: bool = False


@dataclass(frozen=True, slots=True)
class IntervalPlot:
    """A chart: rows, marked values, the axis, and the words that stand for it. ``subject`` is whose culture.

    ``compact`` rows take one line of text each, for many of them; ``zone_key`` and ``top_key`` say what the shading
    and the mark of a row mean.
    """

    key: str
    title: str
    subject: str
    alt: str
    lines: Sequence[Line]
    markers: Sequence[Marker] = ()
    series: Sequence[str] = ()
    domain: tuple[float, float] = (0.0, 1.0)
    share: bool = True
    band: float | None = None
    compact: bool = False
    zone_key: str = ""
    top_key: str = ""


def task_plots(view: TaskView) -> list[IntervalPlot]:
    """Every chart of one task: headline metrics, breakdown and variants, for each culture."""
    plots = []
    for subject in view.subjects:
        plots += [headline_plot(view, subject, metric) for metric in view.headline]
        plots += breakdown_plots(view, subject)
        plots += variant_plots(view, subject)
    return [plot for plot in plots if any(line.dots for line in plot.lines)]


def headline_plot(view: TaskView, subject: Subject, metric: str) -> IntervalPlot:
    """One row a model: its score and interval on one axis with every floor and the ceiling."""
    info = view.metrics.get(metric, {})
    marks = view.marks(subject, metric)
    lines = []
    for i, label in enumerate(view.labels):
        row = view.estimate(i, subject, metric)
        if row is not None:
            lines.append(_headline_line(label, row, info))
    floors = [mark.value for mark in marks if not mark.ceiling]
    title = view.title_of(metric)
    return IntervalPlot(
        key=f"{view.slug}-{slug(subject.label)}-{slug(metric)}",
        title=title,
        subject=subject.label,
        alt=_alt(f"{title}, {subject.label}", lines, marks_words(view, subject, metric)),
        lines=lines,
        markers=[Marker(m.value, f"{_short(m.name)} {_amount(m.value, info)}", m.ceiling) for m in marks],
        domain=axis_domain(info, [line.dots for line in lines], [m.value for m in marks]),
        share=numbers.is_share(info),
        band=max(floors) if floors else None,
    )


def breakdown_plots(view: TaskView, subject: Subject) -> list[IntervalPlot]:
    """The first headline metric by category and topic; several models share a row, four to a chart."""
    groups = list(dict.fromkeys(g for run in view.runs for g in run.manifest.get("groups", ())))
    plots = []
    for part, members in series_parts(view):
        lines: list[Line] = []
        for group in groups:
            rows = _stratum_lines(view, subject, group, members)
            if len(rows) > 1:
                lines += [Line(f"By {group.replace('_', ' ')}", header=True), *rows]
        plots.append(_series_plot(view, subject, f"breakdown{part}", "by " + " and ".join(groups), lines, members))
    return plots


def variant_plots(view: TaskView, subject: Subject) -> list[IntervalPlot]:
    """The first headline metric under each prompt variant; empty when there is only one."""
    if len(view.variants) < 2 or not view.headline:
        return []
    plots = []
    for part, members in series_parts(view):
        lines = []
        for variant in view.variants:
            rows = [(i, view.estimate(i, subject, view.headline[0], variant)) for i in members]
            line = _shared_line(variant, [(k, row) for k, (_, row) in enumerate(rows) if row is not None])
            lines += [line] if line else []
        plots.append(_series_plot(view, subject, f"variants{part}", "by prompt variant", lines, members))
    return plots


def marks_words(view: TaskView, subject: Subject, metric: str) -> str:
    """The floors and ceilings of a metric in one line."""
    info = view.metrics.get(metric, {})
    marks = view.marks(subject, metric)
    return "; ".join(f"{trick_name(m.name)}: {_amount(m.value, info)}" for m in marks)


def _headline_line(label: str, row: Estimate, info: Mapping[str, Any]) -> Line:
    n, clusters = int(row["n"]), int(row.get("clusters") or 0)
    below = f"n = {n:,}" + (f", {numbers.count(clusters, 'cluster')}" if clusters and clusters != n else "")
    if not numbers.known(row["value"]):
        return Line(label, below=below, strong="no score", muted=True)
    dot = Dot(row["value"], row["low"], row["high"])
    beside = numbers.interval(row["low"], row["high"], info)
    return Line(label, [dot], below, numbers.amount(row["value"], info), beside)


def series_parts(view: TaskView) -> list[tuple[str, list[int]]]:
    """Runs four to a chart, with what to add to the chart's key where there are several."""
    members = list(range(len(view.runs)))
    chunks = [members[i : i + MAX_SERIES] for i in range(0, len(members), MAX_SERIES)]
    return [("" if len(chunks) == 1 else f"-{k}", chunk) for k, chunk in enumerate(chunks, start=1)]


def _stratum_lines(view: TaskView, subject: Subject, group: str, members: Sequence[int]) -> list[Line]:
    """Rows of one grouping, the largest strata first: they are the ones that can be read."""
    found: dict[str, list[tuple[int, Estimate]]] = {}
    for k, i in enumerate(members):
        for stratum, row in view.strata(i, subject, view.headline[0], group).items():
            found.setdefault(stratum, []).append((k, row))
    ordered = sorted(found.items(), key=lambda pair: (-max(int(row["n"]) for _, row in pair[1]), pair[0]))
    lines = [_shared_line(stratum or "(none given)", rows) for stratum, rows in ordered]
    return [line for line in lines if line is not None]


def _shared_line(label: str, rows: Sequence[tuple[int, Estimate]]) -> Line | None:
    """One row with a dot for each model; ``rows`` pairs a series number with an estimate."""
    sizes = sorted({int(row["n"]) for _, row in rows})
    if not sizes:
        return None
    dots = [
        Dot(row["value"], row["low"], row["high"], k, sizes[-1] < FEW_ITEMS)
        for k, row in rows
        if numbers.known(row["value"])
    ]
    beside = f"n = {sizes[0]:,}" if len(sizes) == 1 else f"n = {sizes[0]:,}–{sizes[-1]:,}"
    return Line(label_text(label), dots, beside=beside, muted=sizes[-1] < FEW_ITEMS)


def _series_plot(
    view: TaskView, subject: Subject, kind: str, how: str, lines: Sequence[Line], members: Sequence[int]
) -> IntervalPlot:
    metric = view.headline[0] if view.headline else ""
    info = view.metrics.get(metric, {})
    title = f"{view.title_of(metric)}, {how}"
    base = base_floor(view.marks(subject, metric))
    chance = [base] if base else []
    return IntervalPlot(
        key=f"{view.slug}-{slug(subject.label)}-{kind}",
        title=title,
        subject=subject.label,
        alt=_alt(f"{title}, {subject.label}", lines, "The same numbers stand in the table."),
        lines=lines,
        markers=[Marker(m.value, f"{_short(m.name)} {_amount(m.value, info)}") for m in chance],
        series=[view.labels[i] for i in members],
        domain=axis_domain(info, [line.dots for line in lines], [m.value for m in chance]),
        share=numbers.is_share(info),
    )


def _alt(title: str, lines: Sequence[Line], tail: str) -> str:
    told = [f"{line.label} {line.strong} ({line.beside})" for line in lines if line.strong]
    return ". ".join(part for part in (title, "; ".join(told), tail) if part)


def _short(name: str) -> str:
    words = trick_name(name)
    return SHORT_MARKS.get(words, words)


def _amount(value: float, info: Mapping[str, Any]) -> str:
    return numbers.amount(value, info, 0)


def axis_domain(info: Mapping[str, Any], dots: Sequence[Sequence[Dot]], marks: Sequence[float]) -> tuple[float, float]:
    """0 to 1 for shares; else the data, the marks and zero with a little air."""
    if numbers.is_share(info):
        return (0.0, 1.0)
    seen = [
        v for row in dots for dot in row for v in (dot.value, dot.low, dot.high) if v is not None and numbers.known(v)
    ]
    seen += [*marks, 0.0]
    low, high = min(seen), max(seen)
    if low == high:
        # Nothing but zero: an axis needs a length.
        return (0.0, 1.0)
    air = 0.06 * (high - low)
    return (low - air if low < 0 else 0.0, high + air if high > 0 else 0.0)

"""What each chart of rows shows: models, strata and variants of one culture; many cultures on one axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from kapwa.files import slug
from kapwa.report import numbers
from kapwa.report.charts import Dot, Line, Marker, RowChart
from kapwa.report.comparisons import LEVELS, contrast_language, language_name, part_names, resource_level
from kapwa.report.heat import FEW_ITEMS, by_score
from kapwa.report.sentences import base_floor, is_clear
from kapwa.report.text import label_text
from kapwa.report.view import Estimate, Mark, Subject, TaskView
from kapwa.report.worldmap import MapChart, Spot, place_of

MAX_SERIES = 4
LEAST_PLACES = 4  # with fewer, a map says less than a line of text
Info = Mapping[str, Any]


def task_charts(view: TaskView) -> list[RowChart]:
    """Every chart of one task of few cultures: headline metrics, breakdown and variants, for each culture."""
    found = []
    for subject in view.subjects:
        found += [headline_chart(view, subject, metric) for metric in view.headline]
        found += [*breakdown_charts(view, subject), *variant_charts(view, subject)]
    return [chart for chart in found if chart.drawn]


def headline_chart(view: TaskView, subject: Subject, metric: str) -> RowChart:
    """One row a model: its score and interval on one axis with every floor and the ceiling."""
    info, marks = view.info(metric), view.marks(subject, metric)
    lines = []
    for i, label in enumerate(view.labels):
        row = view.estimate(i, subject, metric)
        if row is None:
            continue
        n, clusters = int(row["n"]), int(row.get("clusters") or 0)
        below = f"n = {n:,}" + (f", {numbers.count(clusters, 'cluster')}" if clusters and clusters != n else "")
        if numbers.known(row["value"]):
            strong, beside = numbers.amount(row["value"], info), numbers.interval(row["low"], row["high"], info)
            lines.append(Line(label, [Dot(row["value"], row["low"], row["high"])], below, strong, beside))
        else:
            lines.append(Line(label, below=below, strong="no score", muted=True))
    floors = [mark.value for mark in marks if not mark.ceiling]
    title = view.title_of(metric)
    told = "; ".join(f"{m.words}: {numbers.amount(m.value, info, 0)}" for m in marks)
    return RowChart(
        key=f"{view.slug}-{slug(subject.label)}-{slug(metric)}",
        title=title,
        subject=subject.label,
        alt=_alt(f"{title}, {subject.label}", lines, told),
        lines=lines,
        markers=_markers(marks, info),
        domain=axis_domain(info, lines, [m.value for m in marks]),
        share=numbers.is_share(info),
        band=max(floors) if floors else None,
    )


def _markers(marks: Iterable[Mark], info: Info) -> list[Marker]:
    return [Marker(m.value, f"{m.short} {numbers.amount(m.value, info, 0)}", m.ceiling) for m in marks]


def breakdown_charts(view: TaskView, subject: Subject) -> list[RowChart]:
    """The first headline metric by category and topic, the largest strata first: they are the ones that can be read."""
    found = []
    for part, members in series_parts(view):
        lines: list[Line] = []
        for group in view.groups:
            strata: dict[str, list[tuple[int, Estimate]]] = {}
            for k, i in enumerate(members):
                for stratum, row in view.strata(i, subject, view.headline[0], group).items():
                    strata.setdefault(stratum, []).append((k, row))
            if len(strata) > 1:
                ordered = sorted(strata.items(), key=lambda pair: (-max(int(r["n"]) for _, r in pair[1]), pair[0]))
                lines.append(Line(f"By {group.replace('_', ' ')}", header=True))
                lines += [_series_line(stratum or "(none given)", rows) for stratum, rows in ordered]
        how = "by " + " and ".join(view.groups)
        found.append(_series_chart(view, subject, f"breakdown{part}", how, lines, members))
    return found


def variant_charts(view: TaskView, subject: Subject) -> list[RowChart]:
    """The first headline metric under each prompt variant; empty when there is only one."""
    if len(view.variants) < 2 or not view.headline:
        return []
    found = []
    for part, members in series_parts(view):
        lines = []
        for variant in view.variants:
            rows = [(k, view.estimate(i, subject, view.headline[0], variant)) for k, i in enumerate(members)]
            known = [(k, row) for k, row in rows if row is not None]
            lines += [_series_line(variant, known)] if known else []
        found.append(_series_chart(view, subject, f"variants{part}", "by prompt variant", lines, members))
    return found


def series_parts(view: TaskView) -> list[tuple[str, list[int]]]:
    """Runs four to a chart, with what to add to the chart's key where there are several."""
    members = list(range(len(view.runs)))
    chunks = [members[i : i + MAX_SERIES] for i in range(0, len(members), MAX_SERIES)]
    return [("" if len(chunks) == 1 else f"-{k}", chunk) for k, chunk in enumerate(chunks, start=1)]


def _series_line(label: str, rows: Sequence[tuple[int, Estimate]]) -> Line:
    """One row with a dot for each model; ``rows`` pairs a series number with an estimate."""
    sizes = sorted({int(row["n"]) for _, row in rows})
    few = sizes[-1] < FEW_ITEMS
    dots = [Dot(row["value"], row["low"], row["high"], k, few) for k, row in rows if numbers.known(row["value"])]
    beside = f"n = {sizes[0]:,}" if len(sizes) == 1 else f"n = {sizes[0]:,}–{sizes[-1]:,}"
    return Line(label_text(label), dots, beside=beside, muted=few)


def _series_chart(
    view: TaskView, subject: Subject, kind: str, how: str, lines: Sequence[Line], members: Sequence[int]
) -> RowChart:
    metric = view.headline[0] if view.headline else ""
    info, title = view.info(metric), f"{view.title_of(metric)}, {how}"
    base = base_floor(view.marks(subject, metric))
    return RowChart(
        key=f"{view.slug}-{slug(subject.label)}-{kind}",
        title=title,
        subject=subject.label,
        alt=_alt(f"{title}, {subject.label}", lines, "The same numbers stand in the table."),
        lines=lines,
        markers=_markers([base._replace(ceiling=False)], info) if base else (),
        series=[view.labels[i] for i in members],
        domain=axis_domain(info, lines, [base.value] if base else []),
        share=numbers.is_share(info),
    )


def culture_charts(view: TaskView, metric: str) -> list[RowChart]:
    """Every culture a row, the highest first: score and interval, shaded up to its best floor, its ceiling marked."""
    subjects, info, title = by_score(view, metric), view.info(metric), view.title_of(metric)
    found = []
    for part, members in series_parts(view):
        lines = [_culture_line(view, subject, metric, members) for subject in subjects]
        marks = [value for line in lines for value in (line.zone, line.top) if value is not None]
        keys = (
            [("zone", "best trick without cultural knowledge")] if any(line.zone is not None for line in lines) else []
        )
        keys += [("top", "people")] if any(line.top is not None for line in lines) else []
        found.append(
            RowChart(
                key=f"{view.slug}-cultures-{slug(metric)}{part}",
                title=title,
                subject=", ".join(view.labels[i] for i in members),
                alt=_alt(f"{title}, by culture", lines),
                lines=lines,
                series=[view.labels[i] for i in members],
                domain=axis_domain(info, lines, marks),
                share=numbers.is_share(info),
                compact=True,
                keys=keys,
            )
        )
    return found


def _culture_line(view: TaskView, subject: Subject, metric: str, members: Sequence[int]) -> Line:
    info = view.info(metric)
    rows = [(k, view.estimate(i, subject, metric)) for k, i in enumerate(members)]
    found = [(k, row) for k, row in rows if row is not None and numbers.known(row["value"])]
    most = max((int(row["n"]) for _, row in found), default=0)
    few, marks = most < FEW_ITEMS, view.marks(subject, metric)
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
        zone=max((mark.value for mark in marks if not mark.ceiling), default=None),
        top=next((mark.value for mark in marks if mark.ceiling), None),
    )


def contrast_charts(view: TaskView, table: pl.DataFrame) -> list[RowChart]:
    """Two variants of each culture joined by a line, their paired difference beside; one chart a model.

    Of the pairs of variants on an axis the first is drawn; the table holds the others. Rows of the axis "asked" are
    grouped by how much text there is in the local language.
    """
    if not table.height:
        return []
    axis, info = table["axis"][0], view.info(view.headline[0])
    subjects = {subject.culture: subject for subject in view.subjects}
    found = []
    for label in table["model"].unique(maintain_order=True):
        rows = table.filter((pl.col("model") == label) & (pl.col("held") == table["held"][0])).to_dicts()
        if not rows:
            continue
        levels: dict[str, list[Line]] = {level: [] for level in LEVELS}
        rows.sort(key=lambda row: (not numbers.known(row["difference"]), -(row["difference"] or 0.0)))
        for row in rows:
            language = contrast_language(view, row) if axis == "asked" else ""
            name = language_name(language) if language else ""
            levels[resource_level(language)].append(_dumbbell(subjects[row["culture"]].label, row, name, info))
        heads = sum(map(bool, levels.values())) > 1
        lines = []
        for level, members in levels.items():
            lines += [Line(LEVELS[level], header=True)] if heads and members else []
            lines += members
        first, second = part_names(rows[0], axis)
        title, whose = f"{view.title_of(view.headline[0])}: {first} and {second}", label or view.labels[0]
        found.append(
            RowChart(
                key=f"{view.slug}-{slug(whose)}-{axis}",
                title=title,
                subject=whose,
                alt=_alt(f"{title}, {whose}. Beside each culture the first minus the second", lines),
                lines=lines,
                series=[first, second],
                domain=axis_domain(info, lines, ()),
                share=numbers.is_share(info),
                compact=True,
            )
        )
    return found


def _dumbbell(label: str, row: Mapping[str, Any], aside: str, info: Info) -> Line:
    few = int(row["n"]) < FEW_ITEMS
    values = [(k, row[name]) for k, name in enumerate(("a_value", "b_value")) if numbers.known(row[name])]
    return Line(
        label,
        [Dot(value, None, None, k, few) for k, value in values],
        strong=numbers.change(row["difference"], info),
        beside=numbers.change_interval(row["low"], row["high"], info),
        muted=few or not is_clear(row),
        aside=aside,
        joined=True,
    )


def map_charts(view: TaskView) -> list[MapChart]:
    """The first headline metric on a map, one for each model, all on one colour scale; [] where few can be placed."""
    from kapwa.report.heat import heat_class, heat_domain

    if not view.headline:
        return []
    metric, info = view.headline[0], view.info(view.headline[0])
    found = []
    for i in range(len(view.runs)):
        rows = [(subject.label, view.estimate(i, subject, metric)) for subject in view.subjects]
        found.append({label: row["value"] for label, row in rows if row is not None and numbers.known(row["value"])})
    placed = [[value for label, value in values.items() if place_of(label) is not None] for values in found]
    if max(map(len, placed), default=0) < LEAST_PLACES:
        return []
    domain = heat_domain([value for values in placed for value in values], info)
    charts = []
    for i, values in enumerate(found):
        told = {label: f"{label} {numbers.amount(value, info, 0)}" for label, value in values.items()}
        spots = [
            Spot(place, heat_class(values[label], domain), text, "" if isinstance(place, str) else text)
            for label, text in told.items()
            if (place := place_of(label)) is not None
        ]
        charts.append(
            MapChart(
                key=f"{view.slug}-{slug(view.labels[i])}-map-{i}",
                title=f"{view.title_of(metric)}, on the map",
                subject=view.labels[i],
                alt=f"World map of {view.title_of(metric)}, {view.labels[i]}. {'; '.join(told.values())}.",
                spots=spots,
                absent=[label for label in values if place_of(label) is None],
                domain=domain,
                share=numbers.is_share(info),
            )
        )
    return [chart for chart in charts if chart.spots]


def _alt(title: str, lines: Sequence[Line], tail: str = "") -> str:
    told = "; ".join(f"{line.label} {line.strong} ({line.beside})" for line in lines if line.strong)
    end = tail if tail or told else "The same numbers stand in the table."
    return ". ".join(part for part in (title, told, end) if part)


def axis_domain(info: Info, lines: Sequence[Line], marks: Sequence[float]) -> tuple[float, float]:
    """0 to 1 for shares; else the data, the marks and zero with a little air."""
    if numbers.is_share(info):
        return (0.0, 1.0)
    ends = (value for line in lines for dot in line.dots for value in (dot.value, dot.low, dot.high))
    seen = [*(value for value in ends if value is not None and numbers.known(value)), *marks, 0.0]
    low, high = min(seen), max(seen)
    if low == high:
        # Nothing but zero: an axis needs a length.
        return (0.0, 1.0)
    air = 0.06 * (high - low)
    return (low - air if low < 0 else 0.0, high + air if high > 0 else 0.0)

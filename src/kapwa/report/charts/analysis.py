"""Charts over concepts, and maps: lexical variance across and within identities, how τ spreads, τ by country."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from kapwa.files import slug
from kapwa.report import wording
from kapwa.report.charts.elements import Box, Histogram, Line, RowChart
from kapwa.report.charts.worldmap import MapChart, Spot, place_of_code
from kapwa.report.view.analysis import AnalysisView, CorpusView, fine, measure_words, span, task_words
from kapwa.report.wording import isolate, label_text
from kapwa.value_types import Row

FEW = 8  # fewer concepts are drawn one by one: a box of five says more than it knows
BINS = 36
STEPS = 4  # colours of the map on each side of zero
Floats = npt.NDArray[np.float64]


def variance_charts(view: AnalysisView) -> list[RowChart]:
    """For each task, variance across and within identities over its concepts, corpus by corpus (Figures 2, 5)."""
    one, many = view.attribute
    charts = []
    for task in view.tasks:
        lines, seen = [], []
        for corpus in view.of_task(task):
            frame = view.table("variance", corpus).filter(estimator="corrected").drop_nulls(["within", "across"])
            if not frame.height:
                continue
            test = view.test(corpus, "paired")
            boxes = [
                box(frame[name].to_numpy(), colour) for name, colour in (("across", "accent"), ("within", "faint"))
            ]
            seen += [end for drawn in boxes for end in drawn.values or (drawn.low, drawn.high)]
            strong = fine(test["estimate"], plus=True) if test else ""
            interval = span(test["low"], test["high"]) if test else ""
            lines.append(Line(corpus.label, strong=strong, beside=interval, boxes=boxes))
        if not lines:
            continue
        title = f"Lexical variance over concepts: {task_words(task)}"
        lines_in_words = "; ".join(f"{line.label} difference {line.strong} ({line.beside})" for line in lines)
        charts.append(
            RowChart(
                key=f"variance-{slug(task)}",
                title=title,
                subject="Beside each row: mean of across − within, with its 95% interval",
                alt=f"{title}, across {many} and within one {one}. {lines_in_words}.",
                lines=lines,
                domain=air(seen),
                share=False,
                keys=[("accent", f"across {many}"), ("faint", f"within one {one} (sampling alone)")],
            )
        )
    return charts


class TauSpread(NamedTuple):
    """τ of every concept of one corpus, with the median of what shuffled names give."""

    corpus: CorpusView
    values: Floats
    floor: tuple[float, float] | None


def tau_charts(view: AnalysisView, estimator: str = "corrected") -> dict[str, list[RowChart]]:
    """By measure, for each values table: how τ spreads over concepts, corpus by corpus (Figure 6)."""
    spreads_of = {
        (values, measure): [
            spread for one in view.corpora if (spread := tau_spread(view, one, values, measure, estimator))
        ]
        for values in view.values
        for measure in view.measures
    }
    # One axis for all, so that charts can be held against each other.
    seen = [
        value for spreads in spreads_of.values() for one in spreads for value in (*one.values, *(one.floor or (0.0,)))
    ]
    domain = air([*map(float, seen), 0.0])
    charts: dict[str, list[RowChart]] = {}
    for (values, measure), spreads in spreads_of.items():
        lines: list[Line] = []
        for task in view.tasks:
            task_lines = [
                _tau_line(view, one, domain, values, measure) for one in spreads if one.corpus.key.task == task
            ]
            lines += [Line(task_words(task).capitalize(), header=True)] if task_lines and len(view.tasks) > 1 else []
            lines += task_lines
        if not lines:
            continue
        title = f"τ of every concept: {measure_words(measure)} against {view.values_words(values)}"
        lines_in_words = "; ".join(
            f"{line.label} mean {line.strong} ({line.beside})" for line in lines if not line.header
        )
        floors = any(one.floor is not None for one in spreads)
        band = [("band", "where 95% of τ fall when names are shuffled")] if floors else []
        charts.setdefault(measure, []).append(
            RowChart(
                key=f"tau-{slug(values)}-{measure}" + ("" if estimator == "corrected" else f"-{estimator}"),
                title=title,
                subject="Beside each row: mean τ with its 95% interval over concepts",
                alt=f"{title}. {lines_in_words}.",
                lines=lines,
                domain=domain,
                share=False,
                keys=[*_keys(lines), *band],
                zero=True,
            )
        )
    return charts


def tau_spread(view: AnalysisView, corpus: CorpusView, values: str, measure: str, estimator: str) -> TauSpread | None:
    """τ of a corpus' concepts with the median of their floors; None where there is none."""
    wanted = {"values": values, "measure": measure, "estimator": estimator}
    frame = view.table("concept_taus", corpus).filter(**wanted).drop_nulls("tau")
    if not frame.height:
        return None
    low, high = (frame.select(pl.col(name).median()).item() for name in ("floor_low", "floor_high"))
    return TauSpread(corpus, frame["tau"].to_numpy(), None if low is None or high is None else (low, high))


def _keys(lines: Sequence[Line]) -> list[tuple[str, str]]:
    """The legend of what is drawn: bars with their mean, a dot for each concept where they are few."""
    drawn = [line.histogram for line in lines if line.histogram]
    dots = [("0", "one concept")] if any(one.values for one in drawn) else []
    return [("bar", "concepts"), ("mean", "mean"), *dots] if any(one.bars for one in drawn) else dots


def _tau_line(view: AnalysisView, one: TauSpread, domain: tuple[float, float], values: str, measure: str) -> Line:
    row = view.correlation(one.corpus, values, measure) if one.floor is not None else None
    mean = float(one.values.mean()) if row is None or row["estimate"] is None else float(row["estimate"])
    if len(one.values) < FEW:
        drawn = Histogram((), mean, one.values.tolist())
    else:
        counts, edges = np.histogram(one.values, BINS, domain)
        bins = zip(edges[:-1], edges[1:], counts / counts.max(), strict=True)
        drawn = Histogram([(float(a), float(b), float(s)) for a, b, s in bins], mean)
    interval = span(row["low"], row["high"]) if row else ""
    return Line(one.corpus.label, strong=fine(mean, plus=True), beside=interval, band=one.floor, histogram=drawn)


def box(values: Floats, colour: str) -> Box:
    """The box of ``values``; dots where they are few."""
    low, first, median, third, high = (float(q) for q in np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95]))
    shown = values.tolist() if len(values) < FEW else ()
    return Box(low, first, median, third, high, colour=colour, values=shown)


def air(seen: Sequence[float]) -> tuple[float, float]:
    """An axis from the smallest to the largest value, with a little room."""
    low, high = min(seen), max(seen)
    room = 0.06 * (high - low) or 0.05
    return low - room, high + room


def tau_maps(view: AnalysisView) -> dict[int, list[MapChart]]:
    """By corpus, mean τ by country for each values table and measure; all on one scale of ochre (below 0) and teal."""
    maps = [
        (corpus, values, measure, rows)
        for corpus in view.corpora
        for values in view.values
        for measure in view.measures
        if (rows := _known_taus(view, corpus, values, measure))
    ]
    taus = [row["tau"] for *_, rows in maps for row in rows]
    step, most = 0.25, max(map(abs, taus), default=0.0)
    step = next((size for size in (0.02, 0.025, 0.05, 0.1, 0.15, 0.2) if STEPS * size >= most), step)
    used = {colour_class(r["tau"], step) for *_, rows in maps for r in rows if place_of_code(r["iso3"]) is not None}
    steps = _scale(used, step)
    charts: dict[int, list[MapChart]] = {}
    for corpus, values, measure, rows in maps:
        ordered = sorted(rows, key=lambda row: -row["tau"])
        spots, absent = [], []
        for row in ordered:
            country = place_of_code(row["iso3"])
            if country is None:
                absent.append(country_words(row))
            else:
                spots.append(Spot(country, colour_class(row["tau"], step), country_tau(row)))
        words = measure_words(measure)
        title = f"{words[:1].upper()}{words[1:]}, {view.values_words(values)}"
        ends = f"highest {country_tau(ordered[0])}, lowest {country_tau(ordered[-1])}"
        charts.setdefault(corpus.number, []).append(
            MapChart(
                key=f"map-{slug(corpus.key.task)}-{slug(corpus.key.corpus)}-{slug(values)}-{measure}",
                title=title,
                subject=corpus.full,
                alt=f"World map of mean τ by country, {title}, {corpus.full}: {len(ordered)} countries, {ends}.",
                spots=spots,
                absent=absent,
                steps=steps,
                heading="Mean τ by country: ",
            )
        )
    return charts


def _known_taus(view: AnalysisView, corpus: CorpusView, values: str, measure: str) -> list[Row]:
    rows = view.rows("anchors", corpus, values=values, measure=measure, estimator="corrected")
    return [row for row in rows if wording.known(row["tau"])]


def country_tau(row: Row) -> str:
    """A country with its τ and interval: "Japan 0.21 (0.14 to 0.28)"."""
    value = f"{country_words(row)} {wording.decimal(row['tau'], 2)}"
    if not (wording.known(row["low"]) and wording.known(row["high"])):
        return value
    return f"{value} ({wording.decimal(row['low'], 2)} to {wording.decimal(row['high'], 2)})"


def country_words(row: Row) -> str:
    """The country of a row, or who was asked about where none is known."""
    return isolate(label_text(row["country"] or row["identity"]))


def colour_class(value: float, step: float) -> str:
    """The class of a value's colour: "a0" to "a3" from zero up, "b0" to "b3" from zero down."""
    step_number = min(STEPS - 1, int(abs(value) / step + 1e-9))
    return f"{'b' if value < 0 else 'a'}{step_number}"


def _scale(used: set[str], step: float) -> list[tuple[str, str]]:
    """The colours from the lowest to the highest that is used, and what each spans."""
    order = [f"b{k}" for k in reversed(range(STEPS))] + [f"a{k}" for k in range(STEPS)]
    steps = [k for k, name in enumerate(order) if name in used]
    labels = []
    digits = 3 if step < 0.05 and not math.isclose(step, 0.02) else 2
    for name in order[steps[0] : steps[-1] + 1] if steps else ():
        k = int(name[1])
        near, far = wording.decimal(k * step, digits), wording.decimal((k + 1) * step, digits)
        if name[0] == "a":
            words = f"{near} to {far}" if k < STEPS - 1 else f"{near} and more"
        else:
            words = f"−{far} to {'−' if k else ''}{near}" if k < STEPS - 1 else f"−{near} and less"
        labels.append((name, words))
    return labels

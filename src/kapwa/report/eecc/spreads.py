"""Charts over concepts: lexical variance across and within identities, and how τ spreads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from kapwa.files import slug
from kapwa.report import numbers
from kapwa.report.eecc.rowplots import Box, Histogram, PictureRow, RowPlot
from kapwa.report.eecc.view import MEASURES, AnalysisView, Corpus, matching, task_words

FEW = 8  # fewer concepts are drawn one by one: a box of five says more than it knows
BINS = 36
SMALL = 0.01
WITHIN, ACROSS = "faint", "accent"


class TauSpread(NamedTuple):
    """τ of every concept of one corpus: against which values, by which measure, how estimated."""

    corpus: Corpus
    values: npt.NDArray[np.float64]
    floor: tuple[float, float] | None

    @property
    def above(self) -> float:
        """The share of concepts whose τ lies above the band of shuffled names."""
        return float((self.values > self.floor[1]).mean()) if self.floor is not None else float("nan")


def variance_plots(view: AnalysisView) -> list[RowPlot]:
    """For each task, variance across and within identities over its concepts, corpus by corpus (Figures 2, 5)."""
    plots = []
    for task in view.tasks:
        rows, seen = [], []
        for corpus in view.of_task(task):
            frame = matching(view.table("variance", corpus), estimator="corrected").drop_nulls(["within", "across"])
            if not frame.height:
                continue
            across, within = frame["across"].to_numpy(), frame["within"].to_numpy()
            seen += _shown(across) + _shown(within)
            rows.append(_variance_row(view, corpus, across, within))
        if rows:
            plots.append(_variance_plot(view, task, rows, seen))
    return plots


def _variance_row(
    view: AnalysisView, corpus: Corpus, across: npt.NDArray[np.float64], within: npt.NDArray[np.float64]
) -> PictureRow:
    test = view.test(corpus, "paired")
    strong = fine(test["estimate"], plus=True) if test else ""
    return PictureRow(
        corpus.label,
        [box(across, ACROSS), box(within, WITHIN)],
        strong,
        span(test["low"], test["high"]) if test else "",
    )


def _variance_plot(view: AnalysisView, task: str, rows: Sequence[PictureRow], seen: Sequence[float]) -> RowPlot:
    title = f"Lexical variance over concepts: {task_words(task)}"
    told = "; ".join(f"{row.label} difference {row.strong} ({row.beside})" for row in rows)
    one, many = view.attribute
    return RowPlot(
        key=f"variance-{slug(task)}",
        title=title,
        subject="Beside each row: mean of across − within, with its 95% interval",
        alt=f"{title}, across {many} and within one {one}. {told}.",
        rows=rows,
        domain=air(seen),
        legend=[("accent", f"across {many}"), ("muted", f"within one {one} (sampling alone)")],
    )


def tau_plots(view: AnalysisView, estimator: str = "corrected") -> list[RowPlot]:
    """For each values table and measure, how τ spreads over concepts, corpus by corpus (Figure 6)."""
    found = {
        (values, measure): [
            spread for one in view.corpora if (spread := tau_spread(view, one, values, measure, estimator))
        ]
        for values in view.values
        for measure in view.measures
    }
    # One axis for all, so that charts can be held against each other.
    seen = [value for spreads in found.values() for one in spreads for value in (*one.values, *(one.floor or (0.0,)))]
    domain = air([*map(float, seen), 0.0])
    return [_tau_plot(view, kind, spreads, domain, estimator) for kind, spreads in found.items() if spreads]


def _tau_plot(
    view: AnalysisView,
    kind: tuple[str, str],
    spreads: Sequence[TauSpread],
    domain: tuple[float, float],
    estimator: str,
) -> RowPlot:
    values, measure = kind
    rows: list[PictureRow] = []
    for task in view.tasks:
        own = [_tau_row(view, one, domain, values, measure) for one in spreads if one.corpus.key.task == task]
        head = [PictureRow(task_words(task).capitalize(), header=True)] if own and len(view.tasks) > 1 else []
        rows += head + own
    title = f"τ of every concept: {MEASURES.get(measure, measure)} against {view.values_words(values)}"
    told = "; ".join(f"{row.label} mean {row.strong} ({row.beside})" for row in rows if not row.header)
    floors = any(one.floor is not None for one in spreads)
    return RowPlot(
        key=f"tau-{slug(values)}-{measure}" + ("" if estimator == "corrected" else f"-{estimator}"),
        title=title,
        subject="Beside each row: mean τ with its 95% interval over concepts",
        alt=f"{title}. {told}.",
        rows=rows,
        domain=domain,
        legend=[
            ("heat", "concepts"),
            ("mean", "mean"),
            *([("band", "where 95% of τ fall when names are shuffled")] if floors else []),
        ],
        zero=True,
        measure=measure,
    )


def tau_spread(view: AnalysisView, corpus: Corpus, values: str, measure: str, estimator: str) -> TauSpread | None:
    """τ of a corpus' concepts with the median of their floors; None where there is none."""
    wanted = {"values": values, "measure": measure, "estimator": estimator}
    frame = matching(view.table("concept_taus", corpus), **wanted).drop_nulls("tau")
    if not frame.height:
        return None
    low, high = (frame.select(pl.col(name).median()).item() for name in ("floor_low", "floor_high"))
    return TauSpread(corpus, frame["tau"].to_numpy(), None if low is None or high is None else (low, high))


def _tau_row(
    view: AnalysisView, spread: TauSpread, domain: tuple[float, float], values: str, measure: str
) -> PictureRow:
    row = view.correlation(spread.corpus, values, measure) if spread.floor is not None else None
    mean = float(spread.values.mean()) if row is None or row["estimate"] is None else float(row["estimate"])
    beside = span(row["low"], row["high"]) if row else ""
    picture = _histogram(spread.values, mean, domain)
    return PictureRow(spread.corpus.label, [picture], fine(mean, plus=True), beside, band=spread.floor)


def _histogram(values: npt.NDArray[np.float64], mean: float, domain: tuple[float, float]) -> Histogram:
    if len(values) < FEW:
        return Histogram((), mean, values.tolist())
    counts, edges = np.histogram(values, BINS, domain)
    shares = counts / counts.max()
    bars = [(float(a), float(b), float(s)) for a, b, s in zip(edges[:-1], edges[1:], shares, strict=True)]
    return Histogram(bars, mean)


def box(values: npt.NDArray[np.float64], colour: str) -> Box:
    """The box of ``values``; dots where they are few."""
    low, first, median, third, high = (float(q) for q in np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95]))
    return Box(low, first, median, third, high, colour, values.tolist() if len(values) < FEW else ())


def _shown(values: npt.NDArray[np.float64]) -> list[float]:
    found = values if len(values) < FEW else np.quantile(values, [0.05, 0.95])
    return [float(value) for value in found]


def span(low: float | None, high: float | None) -> str:
    """An interval, "" where there is none."""
    if low is None or high is None or not (numbers.known(low) and numbers.known(high)):
        return ""
    digits = places(low, high)
    return f"{numbers.decimal(low, digits)} to {numbers.decimal(high, digits)}"


def places(*values: float) -> int:
    """Three decimals; four where all are so small that three would say little."""
    return 3 if max(map(abs, values)) >= SMALL else 4


def fine(value: float | None, *, plus: bool = False) -> str:
    """A value with as many decimals as it needs."""
    return numbers.decimal(value, places(value) if value is not None and numbers.known(value) else 3, plus=plus)


def air(seen: Sequence[float]) -> tuple[float, float]:
    """An axis from the smallest to the largest value, with a little room."""
    low, high = min(seen), max(seen)
    room = 0.06 * (high - low) or 0.05
    return low - room, high + room

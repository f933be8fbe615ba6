"""An analysis for the terminal: what it says in plain words, then two tables with the numbers behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import polars as pl

from kapwa.analysis.result import Analysis
from kapwa.report import wording
from kapwa.report.analysis.sentences import headline, variances
from kapwa.report.analysis.view import AnalysisView, Corpus, Row, fine, span
from kapwa.report.render import new_table, plain
from kapwa.report.wording import NOTES

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table

MOST_ROWS = 44


def render_analysis(analysis: Analysis) -> Group:
    """Return an analysis for the terminal: sentences, a table of variance, a table of correlations, warnings."""
    from rich.console import Group
    from rich.text import Text

    view = AnalysisView(analysis)
    lines: list[RenderableType] = []
    for told in headline(view):
        lines += [Text(plain(told.heading), style="bold")] if told.heading else []
        lines += [*(Text(plain(sentence)) for sentence in told.sentences), Text("")]
    lines.append(_variance_table(view))
    if analysis.correlations.height:
        lines += [Text(""), Text("Do they change as values do?", style="italic"), *_tau_tables(view)]
        partial = analysis.correlations.filter(pl.col("method") == "partial mantel").to_dicts()
        lines += [Text(""), _partial_table(view, partial)] if partial else []
        lines.append(Text(NOTES["analysis-terminal"] + (_least(view, partial) if partial else ""), style="dim"))
    warnings = analysis.notes.filter(pl.col("severity") == "warning")["text"]
    lines += [Text(f"Note: {plain(text)}", style="yellow") for text in warnings[:MOST_ROWS]]
    return Group(*lines)


def _least(view: AnalysisView, partial: Iterable[Row]) -> str:
    """Say what partial tests are, and how small their p can be at all."""
    possible = sorted({least for least in map(view.least_p, partial) if least is not None})
    least = " to ".join(f"{p:.2g}" for p in dict.fromkeys((*possible[:1], *possible[-1:])))
    smallest = f" Its p cannot be less than {least}: so many permutations give no smaller one." if least else ""
    return f" {NOTES['partial']}{smallest}"


def _variance_table(view: AnalysisView) -> Table:
    rows = []
    for corpus in view.corpora:
        test: Row = view.test(corpus, "paired") or {}
        across, within = (wording.decimal(value, 3) for value in variances(view, corpus))
        gap, p = _with_span(test, plus=True), wording.p_value(test.get("p"))
        rows.append([_name(corpus), f"{corpus.row['texts']:,}", within, across, gap, p])
    columns = ["Corpus", "Texts", "Within", "Across", "Across − within (95%)", "p"]
    return _filled(columns, rows, left=1, title="Do texts change? Lexical variance within and across")


def _tau_tables(view: AnalysisView) -> Iterator[RenderableType]:
    """One table a corpus, under its name: a column of names beside these numbers would leave them too little room."""
    left = MOST_ROWS
    for corpus in view.corpora:
        rows = []
        for tau in view.rows("correlations", corpus, topic="all", method="tau"):
            released = view.correlation(corpus, tau["values"], tau["measure"], "tau_reference") or {}
            cells = [view.values_short(tau["values"]), tau["measure"].upper(), _with_span(tau)]
            cells += [span(tau["floor_low"], tau["floor_high"]) or wording.NOTHING, wording.p_value(tau["p_smooth"])]
            rows.append([*cells, wording.decimal(released.get("estimate"), 3)])
        columns = ["Values", "By", "τ (95%)", "Shuffled", "p smooth", "Released"]
        if rows and left > 0:
            yield _filled(columns, rows[:left], left=1, title=_name(corpus))
        left -= len(rows)


def _partial_table(view: AnalysisView, partial: Iterable[Row]) -> Table:
    """A table of its own: beside the others its columns would cut numbers off on a terminal of 80 columns."""
    rows = []
    for row in partial:
        if row["topic"] == "all":
            names = [f"{row['corpus']}, {row['task']}", view.values_short(row["values"]), row["controls"]]
            r, *p = wording.decimal(row["estimate"], 3), *(wording.p_value(row[name]) for name in ("p", "p_smooth"))
            rows.append([*names, row["measure"].upper(), r, *p])
    columns = ["Corpus", "Values", "Held fixed", "By", "Partial r", "p", "p smooth"]
    return _filled(columns, rows, left=3, title="What is left of that when something else is held fixed?")


def _filled(columns: list[str], rows: Iterable[list[str]], *, left: int, title: str) -> Table:
    cells = [[plain(text) for text in row] for row in islice(rows, MOST_ROWS)]
    return new_table(columns, cells, names=columns[:left], title=plain(title))


def _name(corpus: Corpus) -> str:
    return f"{corpus.key.corpus}, {corpus.key.task}"


def _with_span(row: Row, *, plus: bool = False) -> str:
    between = span(row.get("low"), row.get("high"))
    return fine(row.get("estimate"), plus=plus) + (f" ({between})" if between else "")

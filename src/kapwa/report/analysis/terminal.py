"""An analysis for the terminal: what it says in plain words, then two tables with the numbers behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import polars as pl

from kapwa.analysis.result import Analysis
from kapwa.report import numbers
from kapwa.report.analysis.sentences import headline
from kapwa.report.analysis.view import AnalysisView
from kapwa.report.terminal import new_table
from kapwa.report.text import label_text

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table

MOST_ROWS = 44
_ISOLATES = str.maketrans("", "", "\u2066\u2067\u2068\u2069")
Row = dict[str, Any]


def render_analysis(analysis: Analysis) -> Group:
    """Return an analysis for the terminal: sentences, a table of variance, a table of correlations, warnings."""
    from rich.console import Group
    from rich.text import Text

    view = AnalysisView(analysis)
    lines: list[RenderableType] = []
    for told in headline(view):
        lines += [Text(_plain(told.heading), style="bold")] if told.heading else []
        lines += [*(Text(_plain(sentence)) for sentence in told.sentences), Text("")]
    lines.append(_variance_table(analysis))
    if analysis.correlations.height:
        lines += [Text(""), Text("Do they change as values do?", style="italic"), *_tau_tables(view)]
        partial = analysis.correlations.filter(pl.col("method") == "partial mantel").to_dicts()
        lines += [Text(""), _partial_table(view, partial)] if partial else []
        lines.append(Text(_KEY + (_WITHOUT + _least(view, partial) if partial else ""), style="dim"))
    warnings = analysis.notes.filter(pl.col("severity") == "warning")["text"]
    lines += [Text(f"Note: {_plain(text)}", style="yellow") for text in warnings[:MOST_ROWS]]
    return Group(*lines)


_KEY = (
    "τ: do countries nearer in values get more similar texts? 1 always, 0 no more than by chance, −1 the reverse; mean "
    "over concepts and countries. Shuffled: 95% of what τ comes to when values are dealt out at random. Released: the "
    "published script's number, which ranks names by the alphabet."
)
_WITHOUT = " Partial r: Mantel's r over all pairs of countries, once the distances held fixed are taken out."


def _least(view: AnalysisView, partial: Iterable[Row]) -> str:
    """Say how small the p of the partial tests can be at all."""
    found = sorted({least for least in map(view.least_p, partial) if least is not None})
    if not found:
        return ""
    span = f"{found[0]:.2g}" if len(found) == 1 else f"{found[0]:.2g} to {found[-1]:.2g}"
    return f" Its p cannot be less than {span}: so many permutations give no smaller one."


def _variance_table(analysis: Analysis) -> Table:
    keys = ["corpus", "task"]
    corrected = analysis.variance.filter(pl.col("estimator") == "corrected")
    means = corrected.group_by(keys).agg(pl.col("within", "across").mean())
    paired = (pl.col("topic") == "all") & (pl.col("test") == "paired")
    tests = analysis.tests.filter(paired).select(*keys, "estimate", "low", "high", "p").unique(keys)
    joined = analysis.corpora.join(means, on=keys, how="left", maintain_order="left")
    rows = (
        [
            _corpus(row),
            f"{row['texts']:,}",
            numbers.decimal(row["within"], 3),
            numbers.decimal(row["across"], 3),
            _with_span(row["estimate"], row["low"], row["high"], plus=True),
            numbers.p_value(row["p"]),
        ]
        for row in joined.join(tests, on=keys, how="left", maintain_order="left").iter_rows(named=True)
    )
    columns = ["Corpus", "Texts", "Within", "Across", "Across − within (95%)", "p"]
    return _filled(columns, rows, left=1, title="Do texts change? Lexical variance within and across")


def _tau_tables(view: AnalysisView) -> Iterator[RenderableType]:
    """One table a corpus, under its name: a column of names beside these numbers would leave them too little room."""
    rows = view.analysis.correlations.filter(pl.col("topic") == "all")
    keys = ["corpus", "task", "values", "measure"]
    released = rows.filter(pl.col("method") == "tau_reference").select(*keys, reference="estimate")
    joined = rows.filter(pl.col("method") == "tau").join(released, on=keys, how="left", maintain_order="left")
    by_corpus: dict[str, list[list[str]]] = {}
    for row in joined.head(MOST_ROWS).iter_rows(named=True):
        tau, floor = _with_span(row["estimate"], row["low"], row["high"]), _span(row["floor_low"], row["floor_high"])
        cells = [view.values_short(row["values"]), row["measure"].upper(), tau, floor]
        by_corpus.setdefault(_corpus(row), []).append([*cells, numbers.decimal(row["reference"], 3)])
    for name, found in by_corpus.items():
        yield _filled(["Values", "By", "τ (95%)", "Shuffled", "Released"], found, left=1, title=_plain(name))


def _partial_table(view: AnalysisView, partial: Iterable[Row]) -> Table:
    """A table of its own: beside the others its columns would cut numbers off on a terminal of 80 columns."""
    rows = []
    for row in partial:
        if row["topic"] == "all":
            names = [_corpus(row), view.values_short(row["values"]), row["controls"], row["measure"].upper()]
            rows.append([*names, numbers.decimal(row["estimate"], 3), numbers.p_value(row["p"])])
    columns = ["Corpus", "Values", "Held fixed", "By", "Partial r", "p"]
    return _filled(columns, rows, left=3, title="What is left of that when something else is held fixed?")


def _filled(columns: list[str], rows: Iterable[list[str]], *, left: int, title: str) -> Table:
    from rich.text import Text

    table = new_table(columns, names=columns[:left], title=title)
    for cells in islice(rows, MOST_ROWS):
        table.add_row(*(Text(_plain(cell)) for cell in cells))
    return table


def _corpus(row: Row) -> str:
    return f"{row['corpus']}, {row['task']}"


def _with_span(value: float | None, low: float | None, high: float | None, *, plus: bool = False) -> str:
    span = _span(low, high)
    return numbers.decimal(value, 3, plus=plus) + (f" ({span})" if span != numbers.NOTHING else "")


def _span(low: float | None, high: float | None) -> str:
    if not (numbers.known(low) and numbers.known(high)):
        return numbers.NOTHING
    return f"{numbers.decimal(low, 3)} to {numbers.decimal(high, 3)}"


def _plain(text: str) -> str:
    # A terminal may draw the invisible marks that keep names of other scripts apart on a page.
    return label_text(text).translate(_ISOLATES)

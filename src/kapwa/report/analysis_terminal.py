"""An analysis for the terminal: what it says in plain words, then two tables with the numbers behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import polars as pl

from kapwa.report import numbers
from kapwa.report.eecc.contract import AnalysisLike
from kapwa.report.eecc.sentences import headline
from kapwa.report.eecc.view import AnalysisView
from kapwa.report.text import label_text

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table

MOST_ROWS = 44
_ISOLATES = str.maketrans("", "", "\u2066\u2067\u2068\u2069")
Row = dict[str, Any]


def render_analysis(analysis: AnalysisLike) -> Group:
    """Return an analysis for the terminal: sentences, a table of variance, a table of correlations, warnings."""
    from rich.console import Group
    from rich.text import Text

    lines: list[RenderableType] = []
    for told in headline(AnalysisView(analysis)):
        lines += [Text(_plain(told.heading), style="bold")] if told.heading else []
        lines += [Text(_plain(sentence)) for sentence in told.sentences]
        lines.append(Text(""))
    lines.append(_variance_table(analysis))
    if analysis.correlations.height:
        partial = "partial mantel" in analysis.correlations["method"]
        lines += [Text(""), *_correlation_tables(analysis)]
        lines += [Text(""), _partial_table(analysis)] if partial else []
        lines.append(Text(_KEY + (_WITHOUT + _least(analysis) if partial else ""), style="dim"))
    warnings = analysis.notes.filter(pl.col("severity") == "warning")["text"]
    lines += [Text(f"Note: {_plain(text)}", style="yellow") for text in warnings[:MOST_ROWS]]
    return Group(*lines)


_KEY = (
    "τ: do countries nearer in values get more similar texts? 1 always, 0 no more than by chance, −1 the reverse; mean "
    "over concepts and countries. Shuffled: 95% of what τ comes to when values are dealt out at random. Released: the "
    "published script's number, which ranks names by the alphabet."
)
_WITHOUT = " Partial r: Mantel's r over all pairs of countries, once the distances held fixed are taken out."


def _least(analysis: AnalysisLike) -> str:
    """Say how small the p of the partial tests can be at all."""
    view = AnalysisView(analysis)
    rows = analysis.correlations.filter(pl.col("method") == "partial mantel").iter_rows(named=True)
    found = sorted({least for least in map(view.least_p, rows) if least is not None})
    if not found:
        return ""
    span = f"{found[0]:.2g}" if len(found) == 1 else f"{found[0]:.2g} to {found[-1]:.2g}"
    return f" Its p cannot be less than {span}: so many permutations give no smaller one."


def _variance_table(analysis: AnalysisLike) -> Table:
    from rich.text import Text

    columns = ["Texts", "Within", "Across", "Across − within (95%)", "p"]
    table = _new_table(["Corpus", *columns], left=1, title="Do texts change? Lexical variance within and across")
    corrected = analysis.variance.filter(pl.col("estimator") == "corrected")
    means = corrected.group_by("corpus", "task").agg(pl.col("within", "across").mean())
    tests = analysis.tests.filter((pl.col("topic") == "all") & (pl.col("test") == "paired"))
    for corpus in analysis.corpora.head(MOST_ROWS).iter_rows(named=True):
        mean, test = _row_of(means, corpus), _row_of(tests, corpus)
        cells = [
            _corpus(corpus),
            f"{corpus['texts']:,}",
            numbers.decimal(mean.get("within"), 3),
            numbers.decimal(mean.get("across"), 3),
            _with_span(test.get("estimate"), test.get("low"), test.get("high"), plus=True),
            numbers.p_value(test.get("p")),
        ]
        table.add_row(*(Text(_plain(cell)) for cell in cells))
    return table


def _correlation_tables(analysis: AnalysisLike) -> Iterator[RenderableType]:
    """One table a corpus, under its name: a column of names beside these numbers would leave them too little room."""
    from rich.text import Text

    yield Text("Do they change as values do?", style="italic")
    by_corpus: dict[str, list[list[str]]] = {}
    for name, cells in islice(_correlation_rows(analysis), MOST_ROWS):
        by_corpus.setdefault(name, []).append(cells)
    for name, rows in by_corpus.items():
        yield _filled(["Values", "By", "τ (95%)", "Shuffled", "Released"], rows, left=1, title=_plain(name))


def _correlation_rows(analysis: AnalysisLike) -> Iterator[tuple[str, list[str]]]:
    rows = analysis.correlations.filter(pl.col("topic") == "all")
    keys = ["corpus", "task", "values", "measure"]
    released = rows.filter(pl.col("method") == "tau_reference").select(*keys, reference="estimate")
    joined = rows.filter(pl.col("method") == "tau").join(released, on=keys, how="left", maintain_order="left")
    for row in joined.iter_rows(named=True):
        corpus, *names = _subject(analysis, row)
        cells = [
            *names,
            _with_span(row["estimate"], row["low"], row["high"]),
            _span(row["floor_low"], row["floor_high"]),
            numbers.decimal(row["reference"], 3),
        ]
        yield corpus, cells


def _partial_table(analysis: AnalysisLike) -> Table:
    """A table of its own: beside the others its columns would cut numbers off on a terminal of 80 columns."""
    rows = analysis.correlations.filter((pl.col("topic") == "all") & (pl.col("method") == "partial mantel"))
    cells = (
        [
            *_subject(analysis, row)[:2],
            row["controls"],
            row["measure"].upper(),
            numbers.decimal(row["estimate"], 3),
            numbers.p_value(row["p"]),
        ]
        for row in rows.iter_rows(named=True)
    )
    columns = ["Corpus", "Values", "Held fixed", "By", "Partial r", "p"]
    return _filled(columns, cells, left=3, title="What is left of that when something else is held fixed?")


def _subject(analysis: AnalysisLike, row: Row) -> list[str]:
    return [_corpus(row), AnalysisView(analysis).values_short(row["values"]), row["measure"].upper()]


def _filled(columns: list[str], rows: Iterable[list[str]], *, left: int, title: str) -> Table:
    from rich.text import Text

    table = _new_table(columns, left=left, title=title)
    for cells in islice(rows, MOST_ROWS):
        table.add_row(*(Text(_plain(cell)) for cell in cells))
    return table


def _corpus(row: Row) -> str:
    return f"{row['corpus']}, {row['task']}"


def _with_span(value: float | None, low: float | None, high: float | None, *, plus: bool = False) -> str:
    span = _span(low, high)
    return numbers.decimal(value, 3, plus=plus) + (f" ({span})" if span != numbers.NOTHING else "")


def _row_of(frame: pl.DataFrame, corpus: Row) -> Row:
    found = frame.filter((pl.col("corpus") == corpus["corpus"]) & (pl.col("task") == corpus["task"]))
    return found.row(0, named=True) if found.height else {}


def _span(low: float | None, high: float | None) -> str:
    if not (numbers.known(low) and numbers.known(high)):
        return numbers.NOTHING
    return f"{numbers.decimal(low, 3)} to {numbers.decimal(high, 3)}"


def _plain(text: str) -> str:
    # A terminal may draw the invisible marks that keep names of other scripts apart on a page.
    return label_text(text).translate(_ISOLATES)


def _new_table(columns: list[str], *, left: int, title: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="dim", title=title, title_justify="left")
    for place, name in enumerate(columns):
        # Names may break over lines, numbers never.
        text = place < left
        table.add_column(
            name, justify="left" if text else "right", overflow="fold", no_wrap=not text, min_width=8 if text else None
        )
    return table

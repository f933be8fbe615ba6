"""An analysis for the terminal: what it says in plain words, then the page's tables with the numbers behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from kapwa.analysis.result import Analysis
from kapwa.report.sentences.analysis import headline
from kapwa.report.tables.analysis import correlation_table, glance_table, partial_table
from kapwa.report.tables.crossed import factor_table
from kapwa.report.tables.depicted import attributes_table, identities_table
from kapwa.report.tables.forms import plain, terminal_table
from kapwa.report.tables.unmarked import templates_table, unmarked_table
from kapwa.report.view.analysis import AnalysisView, CorpusView

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

MOST_ROWS = 44
# The columns that fit 80 characters.
_OF_GLANCE = ("Corpus", "Across", "Within", "Difference", "p (adjusted)")
_OF_FACTORS = ("Attribute", "Variance", "Share", "Statistic", "p (adjusted)")
_OF_DEPICTED = ("By", "Of one", "Of two", "Points more", "Most often", "Apart", "p (adjusted)")
_OF_CORRELATIONS = ("Corpus", "Values, measure", "τ", "Shuffled names", "τ as released")
_NOTE = (
    "τ: do countries nearer in values get more similar texts? 1 always, 0 no more than by chance, −1 the reverse; mean "
    "over concepts and countries. Shuffled names: 95% of the τ when survey values are permuted. Smooth p: how often "
    "simulated maps with the same spatial smoothness, and the same likeness within regions and languages, give a τ as "
    "far from 0. τ as released: the published script's number, which ranks country names alphabetically."
)


def _depicted(view: AnalysisView, corpus: CorpusView) -> list[RenderableType]:
    """The tables of who is depicted, as far as 80 columns have room."""
    from rich.text import Text

    tables = [table_of(view, corpus) for table_of in (attributes_table, identities_table)]
    heads = (*_OF_DEPICTED, view.attribute[0].capitalize())
    shown = [table.only(*heads) for table in tables if table is not None]
    return [line for table in shown for line in (Text(""), terminal_table(table, MOST_ROWS, title=True))]


def render_analysis(analysis: Analysis) -> Group:
    """Return an analysis for the terminal: sentences, a table of variance, a table of correlations, warnings."""
    from rich.console import Group
    from rich.text import Text

    view = AnalysisView(analysis)
    lines: list[RenderableType] = []
    for line in headline(view):
        lines += [Text(plain(line.heading), style="bold")] if line.heading else []
        lines += [*(Text(plain(sentence)) for sentence in line.sentences), Text("")]
    lines.append(terminal_table(glance_table(view).only(*_OF_GLANCE), MOST_ROWS, title=True))
    for corpus in view.corpora:
        factors = None if view.analysis.factors.is_empty() else factor_table(view, corpus)
        if factors is not None:
            lines += [Text(""), terminal_table(factors.only(*_OF_FACTORS), MOST_ROWS, title=True)]
        for table_of in () if view.analysis.unmarked.is_empty() else (unmarked_table, templates_table):
            if (table := table_of(view, corpus)) is not None:
                lines += [Text(""), terminal_table(table, MOST_ROWS, title=True)]
        if not view.analysis.depicted_tests.is_empty():
            lines += _depicted(view, corpus)
    notes = []
    if (correlations := correlation_table(view)) is not None:
        lines += [Text(""), terminal_table(correlations.only(*_OF_CORRELATIONS), MOST_ROWS, title=True)]
        notes.append(_NOTE)
    if (partial := partial_table(view)) is not None:
        lines += [Text(""), terminal_table(partial, MOST_ROWS, title=True)]
        notes.append(partial.note)
    lines += [Text(plain(" ".join(notes)), style="dim")] if notes else []
    warnings = analysis.notes.filter(pl.col("severity") == "warning")["text"]
    lines += [Text(f"Note: {plain(text)}", style="yellow") for text in warnings[:MOST_ROWS]]
    return Group(*lines)

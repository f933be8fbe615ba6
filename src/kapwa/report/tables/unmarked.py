"""The page's tables of texts without the words that mark an identity."""

from __future__ import annotations

from kapwa.report import wording
from kapwa.report.sentences.unmarked import percent, percent_span
from kapwa.report.tables.columns import count_column, p_column, share_column
from kapwa.report.tables.table import Cell, Column, Table
from kapwa.report.view.analysis import AnalysisView, CorpusView, fine, span
from kapwa.value_types import Row

_BESIDE = {
    "other identities": "a text about another identity",
    "same prompt": "another text of the same prompt",
    "other concepts": "a text about another concept",
}


def unmarked_table(view: AnalysisView, corpus: CorpusView) -> Table | None:
    """The difference between identities with and without words; None where texts were compared as they are only."""
    frame = view.table("unmarked", corpus)

    def difference(row: Row) -> Cell:
        ends = span(row["low"], row["high"]) if wording.known(row["low"]) else ""
        return Cell(fine(row["difference"]), ends, number=True)

    def gone(row: Row) -> Cell:
        return Cell(percent(row["gone"]), percent_span(row["gone_low"], row["gone_high"]), number=True)

    if not frame.height:
        return None
    return Table(
        key=f"unmarked-{corpus.number}",
        caption=f"The difference without words: {corpus.full}",
        frame=frame,
        columns=[
            Column("Left out", lambda row: Cell(str(row["removed"]).capitalize())),
            count_column("Words", "words"),
            share_column("Of all words", "tokens_share"),
            Column("Difference", difference),
            p_column("p", "p"),
            Column("Gone", gone),
            count_column("Concepts", "concepts"),
        ],
        note="Difference: variance across identities less that within one, with its 95% interval over concepts. Gone: "
        "which share of it is gone, with Fieller’s interval. Words: left out of a concept, on average.",
    )


def templates_table(view: AnalysisView, corpus: CorpusView) -> Table | None:
    """How much of a text repeats from others, word by word; None where it was not looked for."""
    frame = view.table("templates", corpus)
    if not frame.height:
        return None
    return Table(
        key=f"templates-{corpus.number}",
        caption=f"What repeats as a template: {corpus.full}",
        frame=frame,
        columns=[
            Column("Repeats from", lambda row: Cell(_BESIDE.get(str(row["beside"]), str(row["beside"])))),
            share_column("Share of a text", "share", ("low", "high")),
            count_column("Concepts", "concepts"),
        ],
        note="Of texts without the markers: the share of words that stand in five in a row which the other text has, "
        "too. A text of the same prompt is the ceiling, one about another concept the floor.",
    )

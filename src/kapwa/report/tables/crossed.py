"""The page's tables of crossed attributes: each term's variance, the effects at two levels, the words of each level."""

from __future__ import annotations

import polars as pl

from kapwa.report import wording
from kapwa.report.sentences.crossed import likeness
from kapwa.report.tables.analysis_lists import MOST_WORDS, words_of
from kapwa.report.tables.columns import count_column, p_column
from kapwa.report.tables.table import NONE, Cell, Column, Table
from kapwa.report.view.analysis import AnalysisView, CorpusView, fine, span
from kapwa.report.wording import isolate, label_text
from kapwa.value_types import Row

_TESTS = {"permutation": "pseudo-F", "t": "t"}


def _text(head: str, name: str) -> Column:
    return Column(head, lambda row: Cell(isolate(label_text(row[name]))))


def _number(head: str, name: str) -> Column:
    return Column(head, lambda row: Cell(fine(row[name]), number=True) if wording.known(row[name]) else NONE)


def _estimate(head: str, name: str) -> Column:
    return Column(head, lambda row: Cell(fine(row[name]), span(row["low"], row["high"]), number=True))


def factor_table(view: AnalysisView, corpus: CorpusView) -> Table | None:
    """The variance that each attribute and combination adds; None where identities are not crossed."""
    frame = view.table("factors", corpus)
    shown = frame.filter(topic="all")

    def statistic(row: Row) -> Cell:
        test = _TESTS.get(row["test"], "")
        return Cell(wording.decimal(row["statistic"], 2), test, number=True) if test else NONE

    def share(row: Row) -> Cell:
        return Cell(f"{wording.decimal(100 * row['share'], 1)}%", number=True) if wording.known(row["share"]) else NONE

    if not shown.height:
        return None
    return Table(
        key=f"factors-{corpus.number}",
        caption=f"What each attribute changes: {corpus.full}",
        frame=frame,
        columns=[
            _text("Attribute", "term"),
            _estimate("Variance", "variance"),
            Column("Share", share),
            _number("Prompts alone", "floor"),
            Column("Statistic", statistic),
            p_column("p (adjusted)", "p_adjusted"),
            p_column("p of spread", "spread_p"),
            count_column("Concepts", "concepts"),
        ],
        shown=shown,
        note="Small: 95% intervals over concepts. Prompts alone: the variance that prompts would give which differ in "
        "no such way. The CSV holds the same by topic.",
    )


def pair_table(view: AnalysisView, corpus: CorpusView) -> Table | None:
    """The effect of an attribute at two levels of another, and the share in common; None without any."""
    frame = view.table("factor_pairs", corpus)

    def alike(row: Row) -> Cell:
        value = likeness(row)
        return NONE if value is None else Cell(wording.decimal(value, 2), number=True)

    if not frame.height:
        return None
    return Table(
        key=f"factor-pairs-{corpus.number}",
        caption=f"Does an attribute change the same at other levels of another? {corpus.full}",
        frame=frame,
        columns=[
            _text("Attribute", "factor"),
            _text("Compared by", "by"),
            _text("First level", "level_a"),
            _text("Second level", "level_b"),
            _number("Effect at the first", "effect_a"),
            _number("At the second", "effect_b"),
            _estimate("In common", "shared"),
            Column("Likeness", alike),
            p_column("p (adjusted)", "p_adjusted"),
        ],
        note="In common: the part of the effect that both levels have, with its 95% interval over concepts. Likeness: "
        "1 where the attribute changes the same at both, 0 where it changes other things.",
    )


def level_words(view: AnalysisView, corpus: CorpusView) -> Table | None:
    """The words that mark each level of each attribute, by log-odds; None where there are none."""
    frame = view.table("factor_words", corpus).filter(pl.col("rank") <= MOST_WORDS)
    rows = [
        (factor, level, words_of([{**row, "method": "logodds"} for row in group.to_dicts()]))
        for (factor, level), group in frame.group_by("factor", "level", maintain_order=True)
    ]
    if not rows:
        return None
    return Table(
        key=f"factor-words-{corpus.number}",
        caption=f"The words that mark each level: {corpus.full}",
        frame=pl.DataFrame(rows, schema=["factor", "level", "words"], orient="row"),
        columns=[
            Column("Level", lambda row: Cell(isolate(label_text(row["level"])), isolate(label_text(row["factor"])))),
            Column("Words by log-odds (z)", lambda row: Cell(row["words"])),
        ],
        note="A star: in more texts than if levels were exchanged among prompts of one concept and about one length.",
    )

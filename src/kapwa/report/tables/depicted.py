"""The page's tables of who is depicted in texts."""

from __future__ import annotations

import polars as pl

from kapwa.report import wording
from kapwa.report.sentences.depicted import WORDS, is_clear
from kapwa.report.tables.analysis_lists import MOST_ROWS
from kapwa.report.tables.columns import count_column, decimal_column, p_column, points_column, share_column
from kapwa.report.tables.table import Cell, Column, Table
from kapwa.report.view.analysis import AnalysisView, CorpusView
from kapwa.report.wording import isolate, label_text
from kapwa.value_types import Row

SHOWN_KINDS = 3


def _attribute_column() -> Column:
    return Column("By", lambda row: Cell(WORDS.get(row["attribute"], row["attribute"]).capitalize()))


def _star(row: Row) -> Cell:
    p = wording.p_value(row["p_adjusted"])
    return Cell(p, number=True, strong=is_clear(row))


def attributes_table(view: AnalysisView, corpus: CorpusView) -> Table | None:
    """The attributes of people that change with the identity; None if nobody was counted."""
    frame = view.table("depicted_tests", corpus)
    if not frame.height:
        return None
    one, many = view.attribute
    return Table(
        key=f"depicted-{corpus.number}",
        caption=f"How often two people are of two kinds: {corpus.full}",
        frame=frame,
        columns=[
            _attribute_column(),
            count_column("Kinds", "kinds"),
            share_column("Of one", "within"),
            share_column("Of two", "between"),
            points_column("Points more", "difference", ("low", "high")),
            p_column("p", "p"),
            Column("p (adjusted)", _star),
            count_column("Concepts", "concepts"),
        ],
        note=f"Two people: of texts on two concepts, as the texts state them. If the {one} made no difference, people "
        f"of two {many} would differ as often as people of one, on average. Intervals: 95%, over concepts. p: {many} "
        "exchanged among the prompts of a concept, all texts of a prompt together; adjusted over attributes (Holm).",
    )


def identities_table(view: AnalysisView, corpus: CorpusView) -> Table | None:
    """For each identity: the most frequent people, their variety, the distance to others; None if nobody was counted.

    Identities stand by attribute, those farthest from the others first.
    """
    frame = view.table("depicted_identities", corpus)
    if not frame.height:
        return None
    one, many = view.attribute
    kinds = view.table("depicted", corpus).group_by("attribute", "identity", maintain_order=True)
    most = kinds.agg(most=pl.concat_str("kind", pl.lit(" "), (100 * pl.col("share")).round(1), pl.lit("%")))
    joined = most.with_columns(pl.col("most").list.head(SHOWN_KINDS).list.join(", "))
    whole = frame.join(joined, on=["attribute", "identity"], how="left", maintain_order="left")
    order = pl.col("attribute").replace_strict({name: index for index, name in enumerate(WORDS)}, default=len(WORDS))
    whole = whole.sort(order, pl.col("apart"), descending=[False, True], nulls_last=True, maintain_order=True)
    return Table(
        key=f"depicted-by-{corpus.number}",
        caption=f"Who is depicted, by {one}: {corpus.full}",
        frame=whole,
        shown=whole.head(MOST_ROWS),
        columns=[
            _attribute_column(),
            Column(one.capitalize(), lambda row: Cell(isolate(label_text(row["identity"])), strong=is_clear(row))),
            Column("Most often", lambda row: Cell(isolate(label_text(row["most"] or wording.NOTHING)))),
            share_column("Texts that say", "stated", ("stated_low", "stated_high")),
            share_column("Spread", "spread", ("spread_low", "spread_high")),
            decimal_column("Kinds in effect", "effective", digits=1),
            points_column("Apart", "apart", ("apart_low", "apart_high")),
            Column("p (adjusted)", _star),
            Column("Distance", _distance),
        ],
        note="Spread: how often two people of two concepts are of two kinds; kinds in effect: so many, equally "
        f"frequent, give this spread. Apart: how much more often people of this {one} and of all other {many} differ "
        "than two of one side; 0 on average by chance. p: of the largest of all, times the attributes tested. "
        f"Distance: which share of people would have to be others to be as for other {many} (total variation), and "
        f"under it what exchanged {many} give. Intervals: 95%, over concepts.",
    )


def _distance(row: Row) -> Cell:
    by_chance = f"by chance {wording.amount(row['floor'], wording.SHARE)}" if wording.known(row["floor"]) else ""
    return Cell(wording.amount(row["distance"], wording.SHARE), by_chance, number=True)

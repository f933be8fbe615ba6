"""An audit of items for readers: sentences, and tables of what should be looked at."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from kapwa.labels.items.audit import ALPHA, ItemAudit
from kapwa.report import wording
from kapwa.report.tables.columns import count_column, decimal_column, p_column, text_column
from kapwa.report.tables.table import Column, PageSection, Table

# So many lines of a table are shown; the CSV has all.
_SHOWN = 12


def items_block(audit: ItemAudit) -> PageSection:
    """Return what a terminal shows of an audit of items (:func:`kapwa.report.tables.forms.render_block`)."""
    tables = [
        _table(
            "items",
            "Items: difficulty and discrimination, the hardest first",
            audit.items.sort("share"),
            [
                text_column("Item", "item_id", "culture"),
                text_column("Answered by", "who", "variant"),
                decimal_column("Right", "share", ("low", "high")),
                decimal_column("Discrimination", "discrimination", ("discrimination_low", "discrimination_high")),
                text_column("", "dead", "twins"),
            ],
        ),
        _table(
            "items-different",
            "Items that work differently (class B and C)",
            _different(audit),
            [
                text_column("Item", "item_id"),
                text_column("Group", "focal", "by"),
                decimal_column("Delta", "delta", ("low", "high")),
                text_column("Class", "size"),
                p_column("p (BH)", "p_bh"),
            ],
        ),
        _table(
            "items-consensus",
            "Do people share one set of answers?",
            audit.consensus,
            [
                text_column("Culture", "culture"),
                count_column("People", "people"),
                count_column("Items", "items"),
                decimal_column("Mean competence", "mean_competence"),
                count_column("below 0", "negative"),
                decimal_column("Ratio", "ratio"),
                text_column("Verdict", "verdict"),
            ],
        ),
        _table(
            "items-errata",
            "Proposed errata: nothing is left out before somebody confirms it",
            audit.errata,
            [
                text_column("Item", "item_id", "culture"),
                text_column("Reason", "reason"),
                text_column("Evidence", "evidence"),
            ],
        ),
    ]
    shown = [table for table in tables if table.frame.height]
    return PageSection(sentences=_sentences(audit), tables=shown, notes=audit.notes)


def _sentences(audit: ItemAudit) -> list[str]:
    sentences = []
    for (who, variant), items in audit.items.group_by("who", "variant", maintain_order=True):
        dead = {name: items.filter(dead=name).height for name in ("nobody right", "all right")}
        named = f" ({variant})" if variant else ""
        sentences.append(
            f"{wording.count(items.height, 'item')}, answered by {who}{named}: {dead['nobody right']} that nobody gets "
            f"right, {dead['all right']} that all get right."
        )
    unique = audit.items.unique("item_id")
    options = unique.filter(pl.col("length").is_not_null())
    for length in ("longest", "shortest"):
        if options.filter(length=length).height:
            sentences.append(
                f"The right option is the {length} of {options.filter(length=length).height} of {options.height} items."
            )
    if audit.errata.height:
        counts = audit.errata["culture"].value_counts(sort=True)
        named = ", ".join(f"{culture or 'no culture'} {n}" for culture, n in counts.iter_rows())
        sentences.append(f"Proposed for people to look at: {wording.count(audit.errata.height, 'item')} ({named}).")
    for row in audit.consensus.filter(verdict="several cultures").iter_rows(named=True):
        sentences.append(
            f"People of {row['culture'] or 'these answers'} answer as several cultures: ask them, and delete nothing."
        )
    return sentences


def _different(audit: ItemAudit) -> pl.DataFrame:
    sure = audit.differential.filter(pl.col("size").is_in(["B", "C"]), pl.col("p_bh") < ALPHA)
    return sure.sort("size", pl.col("delta").abs(), descending=True)


def _table(key: str, caption: str, frame: pl.DataFrame, columns: Sequence[Column]) -> Table:
    more = f"{frame.height - _SHOWN} more: -o FOLDER writes all." if frame.height > _SHOWN else ""
    return Table(key, caption, frame, columns, more, frame.head(_SHOWN))

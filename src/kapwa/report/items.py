"""An audit of items for readers: sentences, and tables of what should be looked at."""

from __future__ import annotations

import polars as pl

from kapwa.judging.items import ALPHA, ItemAudit
from kapwa.report import wording
from kapwa.report.table import Block, Table, columns

# So many lines of a table are shown; the CSV has all.
_SHOWN = 12


def items_block(audit: ItemAudit) -> Block:
    """Return what a terminal shows of an audit of items (:func:`kapwa.report.render.render_block`)."""
    tables = [
        _table("Items: difficulty and discrimination, the hardest first", audit.items.sort("share"), "items"),
        _table("Items that work differently (class B and C)", _different(audit), "items-different"),
        _table("Do people share one set of answers?", audit.consensus, "items-consensus"),
        _table("Proposed errata: nothing is left out before somebody confirms it", audit.errata, "items-errata"),
    ]
    shown = [table for table in tables if table.frame.height]
    return Block(sentences=_sentences(audit), tables=shown, notes=audit.notes)


def _sentences(audit: ItemAudit) -> list[str]:
    said = []
    for (who, variant), items in audit.items.group_by("who", "variant", maintain_order=True):
        dead = {name: items.filter(dead=name).height for name in ("nobody right", "all right")}
        named = f" ({variant})" if variant else ""
        said.append(
            f"{wording.count(items.height, 'item')}, answered by {who}{named}: {dead['nobody right']} that nobody gets "
            f"right, {dead['all right']} that all get right."
        )
    unique = audit.items.unique("item_id")
    options = unique.filter(pl.col("length").is_not_null())
    for length in ("longest", "shortest"):
        if options.filter(length=length).height:
            said.append(
                f"The right option is the {length} of {options.filter(length=length).height} of {options.height} items."
            )
    if audit.errata.height:
        counts = audit.errata["culture"].value_counts(sort=True)
        named = ", ".join(f"{culture or 'no culture'} {n}" for culture, n in counts.iter_rows())
        said.append(f"Proposed for people to look at: {wording.count(audit.errata.height, 'item')} ({named}).")
    for row in audit.consensus.filter(verdict="several cultures").iter_rows(named=True):
        said.append(
            f"People of {row['culture'] or 'these answers'} answer as several cultures: ask them, and delete nothing."
        )
    return said


def _different(audit: ItemAudit) -> pl.DataFrame:
    sure = audit.differential.filter(pl.col("size").is_in(["B", "C"]), pl.col("p_bh") < ALPHA)
    return sure.sort("size", pl.col("delta").abs(), descending=True)


def _table(caption: str, frame: pl.DataFrame, name: str) -> Table:
    more = f"{frame.height - _SHOWN} more: -o FOLDER writes all." if frame.height > _SHOWN else ""
    return Table(name, caption, frame, columns(name), more, frame.head(_SHOWN))

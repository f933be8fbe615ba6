"""What a table of the report is: a frame, which is its CSV, and the columns that readers see of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from kapwa.files import table_rows
from kapwa.report import wording
from kapwa.tables_io import csv_text

Row = Mapping[str, Any]
_KINDS = {"text": pl.String, "number": pl.Float64, "count": pl.Int64}
# The columns of frames, which CSV files have too: the rows of ``frames.csv``.
FRAMES: defaultdict[str, dict[str, Any]] = defaultdict(dict)
for _row in table_rows(Path(__file__).with_name("frames.csv")):
    FRAMES[_row["frame"]][_row["column"]] = _KINDS[_row["kind"]]


class Cell(NamedTuple):
    """One cell: what stands large, what stands small under it, and how; ``bar``: an interval drawn, in [0, 1]."""

    text: str
    small: str = ""
    number: bool = False
    strong: bool = False
    muted: bool = False
    bar: tuple[float, float] | None = None


NONE = Cell(wording.NOTHING, number=True, muted=True)


class Column(NamedTuple):
    """A column that readers see: its head, and what it shows of a row of the frame.

    ``spread``: the column stands once for each value of the table's ``across``, which is then its head; ``none``
    stands where the frame has no row for it. A column that is not spread reads the first of the rows that the table's
    ``by`` puts together, so that it can show only what these share.
    """

    head: str
    cell: Callable[[Row], Cell]
    spread: bool = False
    none: Cell = NONE


@dataclass(frozen=True)
class Table:
    """A table of the page. The first cell of each row is its header.

    Attributes:
        key: Its name in addresses and file names.
        frame: All of it, as the CSV holds it.
        columns: What readers see, of the rows ``shown`` (None: of all).
        by: Rows of ``shown`` that agree in these columns are one row for readers; (): each is one.
        across: A column of ``shown``, and by each of its values, in order, the head that a spread column has there.
    """

    key: str
    caption: str
    frame: pl.DataFrame
    columns: Sequence[Column]
    note: str = ""
    shown: pl.DataFrame | None = None
    by: Sequence[str] = ()
    across: tuple[str, Mapping[Any, str]] = ("", {})

    @property
    def csv(self) -> str:
        """The frame as spreadsheet-safe CSV."""
        return csv_text(self.frame.columns, self.frame.iter_rows())

    @property
    def head(self) -> list[str]:
        """The head of each column."""
        return [
            head for column in self.columns for head in (self.across[1].values() if column.spread else [column.head])
        ]

    @cached_property
    def rows(self) -> list[list[Cell]]:
        """The cells that readers see, row by row."""
        shown, (name, values) = self.frame if self.shown is None else self.shown, self.across
        groups: dict[Any, list[Row]] = {}
        for number, row in enumerate(shown.iter_rows(named=True)):
            groups.setdefault(tuple(row[one] for one in self.by) or number, []).append(row)
        rows = []
        for members in groups.values():
            by_value = {member[name]: member for member in members} if name else {}
            cells = []
            for column in self.columns:
                if column.spread:
                    cells += [column.cell(by_value[value]) if value in by_value else column.none for value in values]
                else:
                    cells.append(column.cell(members[0]))
            rows.append(cells)
        return rows


@dataclass
class Block:
    """What is said of one kind of form, audit or plan: sentences and tables, ``more`` of them folded, then notes.

    ``criteria``: what was asked, each with its question.
    """

    title: str = ""
    sentences: Sequence[str] = ()
    tables: Sequence[Table] = ()
    more: Sequence[Table] = ()
    criteria: Sequence[tuple[str, str]] = ()
    notes: Iterable[str] = ()


def text_column(head: str, name: str, small: str = "") -> Column:
    """A column of text as it stands in the frame; ``small``: the column that stands small under it."""
    return Column(
        head, lambda row: Cell(wording.clean(row[name] or ""), wording.clean(row[small] or "") if small else "")
    )


def count_column(head: str, name: str, few: int = 0) -> Column:
    """A column of whole numbers, grey below ``few``."""
    return Column(
        head,
        lambda row: NONE if row[name] is None else Cell(f"{row[name]:,}", number=True, muted=row[name] < few),
    )


def p_column(head: str, name: str = "p_holm") -> Column:
    """A column of p-values."""
    return Column(head, lambda row: Cell(wording.p_value(row[name]), number=True))


def amount_column(
    head: str, name: str, info: Mapping[str, Any], ends: Sequence[str] = (), *, signed: bool = False
) -> Column:
    """A column of values of one metric; ``info``: how it reads.

    ``ends``: the columns of an interval, which stands small under the value where there is one. ``signed``: the values
    are differences, written with their sign.
    """
    write, between = (wording.change, wording.change_interval) if signed else (wording.amount, wording.interval)

    def cell(row: Row) -> Cell:
        low, high = (row[end] for end in ends) if ends else (None, None)
        small = between(low, high, info) if wording.known(low) and wording.known(high) else ""
        return Cell(write(row[name], info), small, number=True)

    return Column(head, cell)


def decimal_column(head: str, name: str, digits: int = 2, ends: Sequence[str] = ()) -> Column:
    """A column of plain numbers; ``ends``: the columns of an interval, which stands small under the number."""

    def cell(row: Row) -> Cell:
        between = [wording.decimal(row[end], digits) for end in ends if row[end] is not None]
        return Cell(wording.decimal(row[name], digits), " to ".join(between), number=True)

    return Column(head, cell)

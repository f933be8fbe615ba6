"""What a table of the report is: a frame, which is its CSV, and the columns that readers see of it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from kapwa.files import table_rows
from kapwa.report import wording
from kapwa.report.charts import FEW_ITEMS
from kapwa.tables_io import csv_text

Row = Mapping[str, Any]
ReadsAs = Callable[[Row], Mapping[str, Any]]  # how the metric of a row reads
# A scorer's bias in a difference of two runs, and how far a bias moves.
_BIAS = {**wording.SHARE, "span": 2.0}
_KINDS = {"text": pl.String, "number": pl.Float64, "count": pl.Int64}
# The columns of frames, which CSV files have too: the rows of ``frames.csv``.
FRAMES: defaultdict[str, dict[str, Any]] = defaultdict(dict)
for _row in table_rows(Path(__file__).with_name("frames.csv")):
    FRAMES[_row["frame"]][_row["column"]] = _KINDS[_row["kind"]]
COLUMNS: defaultdict[str, list[Mapping[str, str]]] = defaultdict(list)
for _row in table_rows(Path(__file__).with_name("columns.csv")):
    COLUMNS[_row["table"]].append(_row)


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


def columns(table: str, info: ReadsAs = lambda _: {}, **cells: Callable[[Row], Cell]) -> list[Column]:
    """The columns that readers see of a table: its rows in ``columns.csv``.

    The head "*" is that of each value of the table's ``across``. ``cells``: what columns of kinds show that are none of
    :func:`column`. ``info``: see there.
    """
    made = []
    for line in COLUMNS[table]:
        kind, head = line["kind"], line["head"].strip("*")
        shown = Column(head, cells[kind]) if kind in cells else column(head, kind, line["name"], line["under"], info)
        made.append(shown._replace(spread=line["head"] == "*"))
    return made


def column(head: str, kind: str, name: str, under: str = "", info: ReadsAs = lambda _: {}) -> Column:
    """A column that shows one column of the frame, ``name``; ``under``: what stands small under it.

    ``kind``: "text"; "count" (a whole number; ``under``: of how many), "of" (the same in one line), "items" (a count,
    grey where they are few), "p" (a p-value); "decimal", "decimal1" and "decimal3", plain numbers with two decimals,
    one and three; "share", "points" (a difference of shares) and "bias" (of biases); "amount" and "change" (a
    difference) of a metric, of which ``info`` says how a row reads. ``under`` of a number: the two columns of an
    interval, which is left out where it is not known.
    """
    return Column(head, lambda row: _cell(row, kind, name, under.split(), info))


def _cell(row: Row, kind: str, name: str, under: Sequence[str], info: ReadsAs) -> Cell:
    """What a column of a kind shows of a row; see :func:`column`."""
    value, small = row[name], [row[other] for other in under]
    if kind == "text":
        words = [wording.culture_name if one == "culture" else wording.clean for one in (name, *under)]
        first, *others = [write(part or "") for write, part in zip(words, (value, *small), strict=True)]
        return Cell(first, " ".join(others))
    if kind == "count":
        small_words = f"of {small[0]:,}" if small else ""
        return NONE if value is None else Cell(f"{value:,}", small_words, number=True)
    if kind == "items":
        return Cell(f"{value:,}", number=True, muted=value < FEW_ITEMS)
    if kind == "of":
        return Cell(f"{value:,} of {small[0]:,}", number=True)
    if kind == "p":
        return Cell(wording.p_value(value), number=True)
    return _number(kind, value, small, info(row))


def _number(kind: str, value: float | None, ends: Sequence[float | None], info: Mapping[str, Any]) -> Cell:
    """A number, and its interval where both ends are known."""
    known = bool(ends) and all(map(wording.known, ends))
    if kind.startswith("decimal"):
        digits = int(kind.removeprefix("decimal") or 2)
        text, *written = ("∞" if one == math.inf else wording.decimal(one, digits) for one in (value, *ends))
        return Cell(text, " to ".join(written) if known else "", number=True)
    how = {"share": wording.SHARE, "points": wording.SHARE, "bias": _BIAS}.get(kind, info)
    signed = kind in ("points", "bias", "change")
    write, between = (wording.change, wording.change_interval) if signed else (wording.amount, wording.interval)
    return Cell(write(value, how), between(ends[0], ends[1], how) if known else "", number=True)

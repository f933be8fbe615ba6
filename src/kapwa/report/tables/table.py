"""A table of the report: a frame, which is its CSV, and the columns that readers see of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, get_type_hints

import polars as pl

from kapwa.report import wording
from kapwa.tables import csv_text
from kapwa.value_types import Row

_R = TypeVar("_R")
# The types in a frame of the fields of a row (:func:`frame_of`); each may be None.
_TYPES = {str | None: pl.String, float | None: pl.Float64, int | None: pl.Int64}


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

    def only(self, *heads: str) -> Table:
        """The same with those columns alone that have these heads, for a place with little room."""
        return replace(self, columns=[column for column in self.columns if column.head in heads])

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
class PageSection:
    """A section on one kind of form, audit or plan: sentences and tables, ``more`` of them folded, then notes.

    ``criteria``: what was asked, each with its question.
    """

    title: str = ""
    sentences: Sequence[str] = ()
    tables: Sequence[Table] = ()
    more: Sequence[Table] = ()
    criteria: Sequence[tuple[str, str]] = ()
    notes: Iterable[str] = ()


def frame_of(kind: type[_R], rows: Iterable[_R]) -> pl.DataFrame:
    """Return ``rows`` as a frame with a column for each field of their ``kind``, in order; a CSV file has these, too.

    ``kind``: a NamedTuple or dataclass whose fields are texts, numbers or whole numbers, or None.
    """
    schema = {name: _TYPES[declared] for name, declared in get_type_hints(kind).items()}
    return pl.DataFrame([[getattr(row, name) for name in schema] for row in rows], schema=schema, orient="row")

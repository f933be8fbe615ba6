"""The result of reading a table: columns, rows with their numbers in the file, problems and remarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar, cast

from kapwa.errors import DataError

# A cell longer than this is a file with a missing quote, not an answer.
MAX_CELL = 1_000_000
NO_ROWS = "Write rows below its header."
CUT_OFF = "It may be cut off or of another kind: save or copy it again."
_Counted = TypeVar("_Counted", bound=tuple[int, Sized])
Cell = str | tuple[str, ...]


class Most(NamedTuple):
    """The largest number of rows, cells and columns of a table that is read, with its header and its empty cells."""

    rows: int
    cells: int
    columns: int = 16_384  # as many as a spreadsheet has

    def counted(self, path: Path, lines: Iterable[_Counted]) -> Iterator[_Counted]:
        """Yield ``lines`` up to the limits; raise DataError at the first line beyond."""
        rows = cells = 0
        for line in lines:
            rows, cells = rows + 1, cells + len(line[1])
            self.check_columns(path, len(line[1]))
            if rows > self.rows + 1 or cells > self.cells:
                message = f"has more than {self.rows:,} rows or {self.cells:,} cells."
                raise DataError(message, path=path, hint="Split it.")
            yield line

    def check_columns(self, path: Path, columns: int) -> None:
        """Raise DataError where a table has too many ``columns``."""
        if columns > self.columns:
            message = f"has more than {self.columns:,} columns."
            raise DataError(message, path=path, hint="Delete those that are not needed.")


class RowError(DataError):
    """A problem of one row alone; the other rows are read as usual."""


class TextRow(NamedTuple):
    """One record of a table file as texts, and its row as spreadsheets count (the header of most is row 1)."""

    number: int
    cells: dict[str, str]


class Record(NamedTuple):
    """One row: its number in its file, as spreadsheets count (the header being 1), and its cells."""

    row: int
    cells: Mapping[str, Cell]


# Makes records of large tables in half the time of calling the class: record((1, cells)).
record = cast(Callable[[tuple[int, Mapping[str, Cell]]], Record], partial(tuple.__new__, Record))


class Remark(NamedTuple):
    """How something in a file was read that could be read in another way; reading goes on.

    ``severity``: "warning" where the other way would change a number.
    """

    message: str
    row: int | None = None
    severity: Literal["warning", "note"] = "note"


class TextTable(NamedTuple):
    """A file's columns and rows, the problems that kept rows from being read, and remarks on doubtful signs."""

    path: Path
    header: tuple[str, ...]
    records: Sequence[Record]
    problems: Sequence[DataError]
    remarks: Sequence[Remark] = ()

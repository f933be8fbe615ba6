"""What reading filled choice sheets and filled rating sheets shares: files, cells with their place, repeated rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from kapwa.datasets.sheets import sheet_files
from kapwa.errors import DataError
from kapwa.tables_io import Row

Entry = TypeVar("Entry")
# Columns in which people write what they want to tell us; the forms have the first.
REMARKS = ("remark", "remarks", "note", "notes", "comment", "comments")
_NOT_ANSWERS = frozenset({"nan", "na", "n/a", "#n/a", "null", "none"})


class Cell(NamedTuple):
    """One cell that a person filled in, and where it is, for messages."""

    text: str
    path: Path
    row: int
    column: str

    def error(self, message: str, hint: str | None = None) -> DataError:
        """Return the error that says what is wrong with this cell."""
        return DataError(message, path=self.path, row=self.row, column=self.column, hint=hint)

    @property
    def shown(self) -> str:
        """The text, quoted and cut, for a message."""
        return repr(self.text if len(self.text) <= 60 else self.text[:59] + "…")


def cell_of(row: Row, path: Path, column: str, *, filled: bool = False, hint: str | None = None) -> Cell:
    """Return the cell; with ``filled``, raise DataError where it is empty."""
    cell = Cell(row.cells.get(column, "").strip(), path, row.number, column)
    if filled and not cell.text:
        raise cell.error("is empty.", hint)
    return cell


def answer_of(row: Row, path: Path, column: str) -> Cell:
    """Return a cell that holds an answer; refuse "NaN" and its like, which a program wrote where a person gave none."""
    cell = cell_of(row, path, column)
    if cell.text.casefold() in _NOT_ANSWERS:
        raise cell.error(f"{cell.text!r} is not an answer.", "Leave the cell empty instead.")
    return cell


def remark_of(row: Row) -> str:
    """Return what a person wrote beside the answers of a row."""
    remarks = (cell.strip() for name, cell in row.cells.items() if name.casefold() in REMARKS)
    return "; ".join(filter(None, remarks))


def read_filled(
    paths: str | Path | Sequence[str | Path],
    kind: str,
    read_file: Callable[[Path], Iterator[Entry]],
    is_made: Callable[[Entry], bool],
) -> tuple[list[Entry], list[str]]:
    """Read every file that ``paths`` name; a sheet on which nothing is made is passed over with a note.

    Raises DataError where all sheets are empty.
    """
    entries: list[Entry] = []
    notes: list[str] = []
    files = sheet_files(paths, kind)
    for path in files:
        sheet = list(read_file(path))
        if any(is_made(entry) for entry in sheet):
            entries += sheet
        else:
            notes.append(f"{path.name}: nobody has filled it in, so it is ignored.")
    if not entries:
        what = {"choices": "choice", "ratings": "judgement"}[kind]
        raise DataError(f"no {what} is filled in.", path=files[0])
    return entries, notes


def refuse_repeats(entries: Iterable[tuple[Hashable, Cell, str]]) -> None:
    """Raise DataError where two entries have one key; each is a key, its cell and what it says ("p1 judges 'R1'")."""
    first: dict[Hashable, Cell] = {}
    for key, cell, what in entries:
        earlier = first.setdefault(key, cell)
        if earlier is not cell:
            message = f"{what} a second time (first in {earlier.path.name}, row {earlier.row})."
            raise cell.error(message, "Keep one of the two rows.")

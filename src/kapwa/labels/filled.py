"""What all readers of filled sheets share: cells with their place, files that nobody filled in, repeated rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from kapwa.errors import DataError
from kapwa.tables import TextRow, words_for

Entry = TypeVar("Entry")
# Columns in which people write what they want to tell us; the forms have the first.
REMARKS = ("notes", *words_for("notes"))
_NOT_ANSWERS = frozenset({"nan", "na", "n/a", "#n/a", "null", "none"})


class FilledCell(NamedTuple):
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


def cell_of(row: TextRow, path: Path, column: str, *, filled: bool = False, hint: str | None = None) -> FilledCell:
    """Return the cell; with ``filled``, raise DataError where it is empty."""
    cell = FilledCell(row.cells.get(column, "").strip(), path, row.number, column)
    if filled and not cell.text:
        raise cell.error("is empty.", hint)
    return cell


def answer_of(row: TextRow, path: Path, column: str) -> FilledCell:
    """Return a cell that holds an answer; refuse "NaN" and its like, which a program wrote where a person gave none."""
    cell = cell_of(row, path, column)
    if cell.text.casefold() in _NOT_ANSWERS:
        raise cell.error(f"{cell.text!r} is not an answer.", "Leave the cell empty instead.")
    return cell


def remark_of(row: TextRow) -> str:
    """Return what a person wrote beside the answers of a row."""
    remarks = (cell.strip() for name, cell in row.cells.items() if name.casefold() in REMARKS)
    return "; ".join(filter(None, remarks))


def read_filled(
    files: Sequence[Path],
    read_file: Callable[[Path], Iterable[Entry]],
    is_made: Callable[[Entry], bool],
    *,
    unused: Collection[Path] = (),
) -> tuple[list[Entry], list[str]]:
    """Read ``files``; those on which nothing is made are passed over, with a note.

    A sheet is filled in where its CSV or its XLSX is. Where none of the sheets in ``unused`` is filled in, they go
    without a note.
    """
    entries: list[Entry] = []
    filled: set[Path] = set()
    for path in files:
        sheet = list(read_file(path))
        if any(is_made(entry) for entry in sheet):
            entries += sheet
            filled.add(path.with_suffix(""))
    others = {path.with_suffix("") for path in unused}
    empty = {path.with_suffix("") for path in files} - filled
    names = [path.name for path in sorted(empty if others & filled else empty - others)]
    notes = [f"Not filled in: {', '.join(names[:5])}{', …' * (len(names) > 5)}."] if names else []
    return entries, notes


def refuse_repeats(entries: Iterable[tuple[Hashable, FilledCell, str]]) -> None:
    """Raise DataError where two entries have one key; each is a key, its cell and what it says ("p1 judges 'R1'")."""
    first: dict[Hashable, FilledCell] = {}
    for key, cell, what in entries:
        earlier = first.setdefault(key, cell)
        if earlier is not cell:
            message = f"{what} a second time (first in {earlier.path.name}, row {earlier.row})."
            raise cell.error(message, "Keep one of the two rows.")

"""Read a row's cells, noting every problem with its row, column and remedy instead of stopping at the first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeVar

from kapwa.errors import DataError, nearest
from kapwa.suites.reading.card import is_language_tag, tag_hint
from kapwa.suites.reading.tables import Cell, Record, Table

SEPARATOR = ";"
_OTHER_SEPARATORS = (";", "\t", "|", "؛")
TRUE_WORDS, _FALSE_WORDS = ("true", "yes", "1", "x"), ("", "false", "no", "0")


class Home(NamedTuple):
    """Culture and language of rows that do not name their own; "" when nothing says."""

    culture: str
    language: str


# Stands in for what an error already reports, so that it is reported once and not for every row.
UNKNOWN_HOME = Home("unknown", "und")


def split_responses(cell: Cell) -> tuple[str, ...]:
    """Split a cell of responses at ";" (or take a list as it is), strip each, drop the empty ones."""
    pieces = cell.split(SEPARATOR) if isinstance(cell, str) else cell
    return tuple(piece.strip() for piece in pieces if piece.strip())


class RowReader:
    """Reads one row. ``required`` cells must not be empty; ``names`` maps fields to the file's column names."""

    def __init__(
        self, path: Path, record: Record, home: Home, required: Collection[str], names: Mapping[str, str] | None = None
    ) -> None:
        self.path, self.record, self.home, self.required = path, record, home, required
        self.names = names or {}
        self.problems: list[DataError] = []

    @property
    def number(self) -> int:
        """The row's number in its file."""
        return self.record.row

    def problem(self, field: str, message: str, hint: str | None = None) -> None:
        """Note that a cell is not what the form promises."""
        column = self.names.get(field, field)
        self.problems.append(DataError(message, path=self.path, row=self.number, column=column, hint=hint))

    def text(self, field: str) -> str:
        """Return a cell's text, stripped; "" where the column is absent."""
        cell = self.record.cells.get(self.names.get(field, field), "")
        if isinstance(cell, tuple):
            self.problem(field, "is a list, but one text is needed.")
            return ""
        if not cell.strip() and field in self.required:
            self.problem(field, "is empty.", "Every row needs one.")
        return cell.strip()

    def responses(self, field: str) -> tuple[str, ...]:
        """Return a cell's responses; see :func:`split_responses`."""
        found = split_responses(self.record.cells.get(self.names.get(field, field), ""))
        if not found and field in self.required:
            self.problem(field, "is empty.", "Write at least three responses, separated by ';'.")
        return found

    def flag(self, field: str) -> bool:
        """Return whether a cell says yes; empty is no."""
        value = self.text(field).lower()
        if value not in TRUE_WORDS + _FALSE_WORDS:
            self.problem(field, f"{value!r} is neither true nor false.")
        return value in TRUE_WORDS

    def home_of(self, field: Literal["culture", "language"]) -> str:
        """Return the row's own culture or language, else the card's."""
        value = self.text(field) or (self.home.culture if field == "culture" else self.home.language)
        if not value:
            self.problem(field, "is empty, and no card says it.", "Fill it in, or put a card.yaml beside the file.")
        elif field == "language" and not is_language_tag(value):
            self.problem(field, f"{value!r} is not a BCP-47 language tag such as 'fil' or 'ar'.", tag_hint(value))
        return value

    def check_responses(self, best: str, relevant: Sequence[str], irrelevant: Sequence[str]) -> None:
        """Note what makes responses impossible to score."""
        if best and len(relevant) == 1 and best not in relevant:
            sign = "line breaks" if "\n" in relevant[0] else "other signs"
            message = "is not one of the relevant responses: there is only 1 response in 'relevant'."
            self.problem("best", message, f"Separate responses with ';', not with {sign}.")
        elif best and relevant and best not in relevant:
            self.problem("best", "is not one of the relevant responses.", "Copy one of them exactly, to the last sign.")
        for response in dict.fromkeys(relevant):
            if response in irrelevant:
                shown = repr(response if len(response) <= 60 else response[:59] + "…")
                self.problem("irrelevant", f"{shown} is also a relevant response.", "It can be only one of them.")


class _Identified(Protocol):
    @property
    def id(self) -> str: ...


RowT = TypeVar("RowT", bound=_Identified)


def read_rows(
    readers: Sequence[RowReader],
    parse: Callable[[RowReader], RowT],
    variant_of: Callable[[RowT], str] | None = None,
) -> tuple[list[RowT], list[DataError]]:
    """Parse every row; return the sound ones and all problems, ids used twice in one variant among them."""
    rows: list[RowT] = []
    problems: list[DataError] = []
    seen: dict[tuple[str, str], int] = {}
    for reader in readers:
        row = parse(reader)
        first = seen.setdefault((row.id, variant_of(row) if variant_of else ""), reader.number)
        if row.id and first != reader.number:
            reader.problem("id", f"{row.id!r} is already the id of row {first}.", "Give every row its own id.")
        problems += reader.problems
        if not reader.problems:
            rows.append(row)
    return rows, problems


def column_problems(table: Table, required: Sequence[str], known: Sequence[str], form: str) -> list[DataError]:
    """Say which columns are missing, and which are not columns of the form (a misspelt one is both)."""
    if not table.header:
        return []
    if len(table.header) == 1 and (sign := next((sign for sign in _OTHER_SEPARATORS if sign in table.header[0]), "")):
        message = f"holds one column, whose name has {sign!r} in it: its cells seem to be parted by that."
        return [DataError(message, path=table.path, row=1, hint="Save it as 'CSV UTF-8', parted by commas.")]
    missing = [name for name in required if name not in table.header]
    unknown = [name for name in table.header if name not in known]
    # "ID" is the missing "id", and one fault.
    meant = {
        name: name.casefold() for name in unknown if name.casefold() in known and name.casefold() not in table.header
    }
    return [
        DataError("is missing.", path=table.path, row=1, column=name, hint=nearest(name, table.header))
        for name in missing
        if name not in meant.values()
    ] + [
        DataError(
            f"is not a column of {form}.",
            path=table.path,
            row=1,
            column=name,
            hint=f"Did you mean {meant[name]!r}? Names are in small letters."
            if name in meant
            else nearest(name, known),
        )
        for name in unknown
    ]


def settled_home(table: Table, home: Home) -> tuple[Home, list[DataError]]:
    """Return ``home``, or a stand-in and one problem when neither it nor the table's columns say whose data it is."""
    if home.culture or {"culture", "language"} <= set(table.header):
        return home, []
    message = "says neither which culture nor which language it is."
    hint = "Put a card.yaml beside it (the form in docs/reference), or add the columns culture and language."
    return UNKNOWN_HOME, [DataError(message, path=table.path, hint=hint)]

"""Survey tables of cultural values, one row a country and one column a question, read as people write them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kapwa.analysis.values.cells import Commas, commas_of, is_missing
from kapwa.analysis.values.columns import Columns, candidates, cell_text, column_cells, find_columns
from kapwa.errors import DataError
from kapwa.files import read_text, separator_of
from kapwa.suites.eecc.names import Ambiguous, Place, is_code, part_of, resolve
from kapwa.suites.reading.tables import Record, Table, read_records

_CSV = (".csv", ".txt")
_KINDS = (".csv", ".txt", ".tsv", ".tab", ".jsonl", ".ndjson", ".xlsx", ".parquet")


class ValuesRow(NamedTuple):
    """One row: its line in the file, what its labels say, and the place they name.

    ``candidates``: the places an ambiguous label may mean. ``part_of``: the country of which the row seems to be a
    part ("Belgium French"); such a row has no ``place``. ``conflict``: what another column says instead, "" if none.
    """

    number: int
    country: str
    demonym: str
    place: Place | None
    candidates: tuple[Place, ...] = ()
    part_of: Place | None = None
    conflict: str = ""
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class ValuesTable:
    """A survey table: ``matrix`` is float64, rows × questions, NaN where there is no value."""

    name: str
    path: Path
    rows: tuple[ValuesRow, ...]
    questions: tuple[str, ...]
    matrix: NDArray[np.float64]
    columns: Columns


@dataclass(frozen=True, eq=False, slots=True)
class ValuesReading:
    """A table as far as it could be read, every problem that stands in the way, and how its commas were read."""

    path: Path
    table: ValuesTable | None
    problems: tuple[DataError, ...]
    commas: Commas


def read_values(path: str | Path, *, name: str | None = None, country: str | None = None) -> ValuesTable:
    """Read a survey table: CSV (commas or semicolons), TSV, JSON lines, XLSX or Parquet.

    One column at least names the row (country, nationality or ISO code; ``country`` says which where that is
    detected wrongly), the numeric ones are questions. Empty cells, "#NULL!", "NA" and their kind are missing;
    decimal commas are understood. Raises DataError naming file, row and column.
    """
    reading = scan_values(path, name=name, country=country)
    if reading.problems:
        raise reading.problems[0]
    if reading.table is None:
        raise DataError("holds no table.", path=path)
    return reading.table


def scan_values(path: str | Path, *, name: str | None = None, country: str | None = None) -> ValuesReading:
    """Read what can be read of a survey table; problems are returned, not raised."""
    path = Path(path)
    source, semicolons = _records(path)
    if not source.records:
        return ValuesReading(path, None, tuple(source.problems), Commas(decimal=False))
    cells = column_cells(source.records)
    commas = commas_of(chain.from_iterable(cells.values()), semicolons=semicolons)
    try:
        columns = find_columns(path, cells, commas, country)
    except DataError as error:
        return ValuesReading(path, None, (*source.problems, error), commas)
    problems = list(source.problems)
    if not columns.questions:
        hint = "Beside the column of countries there must be one with numbers."
        problems.append(DataError("has no column of numbers.", path=path, row=1, hint=hint))
    matrix = np.full((len(source.records), len(columns.questions)), np.nan)
    for j, question in enumerate(columns.questions):
        for i, cell in _fill(matrix[:, j], cells[question], commas):
            problems.append(_not_a_number(path, source.records[i].row, question, cell))
    rows = _parted([_row(record, columns) for record in source.records])
    table = ValuesTable(name or path.stem, path, rows, columns.questions, matrix, columns)
    return ValuesReading(path, table, tuple(problems), commas)


def _records(path: Path) -> tuple[Table, bool]:
    """Return the file's rows, and whether semicolons part its cells."""
    if not path.is_file() or path.suffix.lower() not in _KINDS:
        try:
            read_text(path)  # says what is wrong with a path that is no readable file
        except DataError as error:
            return Table(path, (), (), [error]), False
        hint = f"Known: {', '.join(_KINDS)}."
        return Table(path, (), (), [DataError("is not a table of a known kind.", path=path, hint=hint)]), False
    if path.suffix.lower() not in _CSV:
        return read_records(path), False
    try:
        by_semicolons = separator_of(read_text(path), path.suffix) == ";"
    except DataError as error:
        return Table(path, (), (), [error]), False
    return read_records(path), by_semicolons


def _fill(values: NDArray[np.float64], cells: Sequence[str], commas: Commas) -> Iterator[tuple[int, str]]:
    """Put a column's numbers into ``values``; yield the position and cell of each that is no number."""
    for i, cell in enumerate(cells):
        if is_missing(cell):
            continue
        value = commas.number(cell)
        if value is None:
            yield i, cell
        else:
            values[i] = value


def _not_a_number(path: Path, row: int, column: str, cell: str) -> DataError:
    hint = "Leave the cell empty where there is no value."
    return DataError(f"{cell!r} is not a number.", path=path, row=row, column=column, hint=hint)


def _row(record: Record, columns: Columns) -> ValuesRow:
    """Read one row's labels. One that says a part in words and the whole in a code has both, see ``_parted``."""
    labels = tuple(cell_text(record, name).strip() for name in columns.labels)
    demonym = cell_text(record, columns.demonym).strip() if columns.demonym else ""
    name = next((label for label in labels if label and not is_code(label)), labels[0])
    found = [resolve(label) for label in labels]
    parts = [part_of(label) for label, one in zip(labels, found, strict=True) if one is None]
    part = next(filter(None, parts), None)
    place, open_to = _settled(found)
    row = ValuesRow(record.row, name, demonym, place, open_to, part, labels=labels)
    if place is None:
        return row
    others = [label for label, other in zip(labels, found, strict=True) if other and place not in candidates(other)]
    return row._replace(conflict=", ".join(others))


def _parted(rows: Sequence[ValuesRow]) -> tuple[ValuesRow, ...]:
    """Settle rows that say a part in words and the whole country in a code ("Belgium French", BEL).

    Where another row is the whole country, such a row is a part; where none is, the words are a longer name for it.
    """
    whole = {row.place for row in rows if row.place and not row.part_of}
    return tuple(_whole_or_part(row, is_known=row.place in whole) if row.part_of else row for row in rows)


def _whole_or_part(row: ValuesRow, *, is_known: bool) -> ValuesRow:
    if row.place and is_known:
        return row._replace(place=None, conflict="")
    return row._replace(part_of=None) if row.place or row.candidates else row


def _settled(found: Sequence[Place | Ambiguous | None]) -> tuple[Place | None, tuple[Place, ...]]:
    """Take the first label that names a place; an ambiguous one is settled by the labels after it, or stays open."""
    known = [candidates(one) for one in found if one is not None]
    if not known:
        return None, ()
    left = known[0]
    for more in known[1:]:
        left = left & more or left
    if len(left) == 1:
        return next(iter(left)), ()
    return None, tuple(sorted(left, key=lambda place: place.iso3))

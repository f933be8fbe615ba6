"""Read a table file into records of text, keeping every row that can be read and every reason why one cannot."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kapwa.errors import DataError
from kapwa.files import MAX_CELL, read_parts, read_table, separator_of
from kapwa.suites.reading.yamlfile import Place, load_yaml

Cell = str | tuple[str, ...]
TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".xlsx", ".parquet", ".yaml", ".yml")
_PEEKED = 65_536


class Record(NamedTuple):
    """One row: its number in its file (the line, the header being 1) and its cells."""

    row: int
    cells: Mapping[str, Cell]


class Table(NamedTuple):
    """A file's columns and rows, and what stopped other rows from being read."""

    path: Path
    header: tuple[str, ...]
    records: Sequence[Record]
    problems: Sequence[DataError]


def read_records(path: Path) -> Table:
    """Read CSV, TSV, JSON lines, XLSX, Parquet or YAML; reasons for failure are returned, never raised.

    A cell is text, or a tuple of texts where the format has lists. Line ends inside cells become LF.
    """
    suffix = path.suffix.lower()
    try:
        if suffix in (".yaml", ".yml"):
            return _yaml_table(path)
        if suffix == ".parquet":
            return _parquet_table(path)
        if suffix in (".jsonl", ".ndjson"):
            return _json_table(path)
        header, rows, problems = read_parts(path)
    except DataError as error:
        return Table(path, (), (), [error])
    if not rows and not problems:
        problems = [DataError("holds no rows.", path=path)]
    records = [Record(row.number, {name: _unix_lines(cell) for name, cell in row.cells.items()}) for row in rows]
    return Table(path, header, records, problems)


def _json_table(path: Path) -> Table:
    rows = read_table(path)
    records = [Record(row.number, {name: _json_cell(cell) for name, cell in row.cells.items()}) for row in rows]
    return Table(path, tuple(dict.fromkeys(name for record in records for name in record.cells)), records, [])


def _unix_lines(cell: str) -> str:
    return cell.replace("\r\n", "\n").replace("\r", "\n")


def _json_cell(cell: str) -> Cell:
    """Give back the list that the table reader wrote as JSON; other cells stay text."""
    if cell.startswith("["):
        try:
            values = json.loads(cell)
        except json.JSONDecodeError:
            return _unix_lines(cell)
        if isinstance(values, list) and all(isinstance(value, str) for value in values):
            return tuple(map(_unix_lines, values))
    return _unix_lines(cell)


def _parquet_table(path: Path) -> Table:
    import polars as pl

    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).split("\n", 1)[0][:200]
        raise DataError(f"cannot be read as Parquet ({reason}).", path=path) from None
    if frame.is_empty():
        raise DataError("holds no rows.", path=path)
    records = [
        Record(number, {name: _parquet_cell(value, path, number, name) for name, value in row.items()})
        for number, row in enumerate(frame.iter_rows(named=True), start=1)
    ]
    return Table(path, tuple(frame.columns), records, [])


def _parquet_cell(value: object, path: Path, row: int, column: str) -> Cell:
    if value is None:
        return ""
    if isinstance(value, str):
        return _unix_lines(value)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(map(_unix_lines, value))
    if isinstance(value, bool | int | float):
        return str(value)
    raise DataError(f"holds {type(value).__name__}, not text.", path=path, row=row, column=column)


def _yaml_table(path: Path) -> Table:
    located = load_yaml(path)
    entries: object = located.value
    place: Place = ()
    if isinstance(entries, dict) and set(entries) == {"situations"}:
        entries, place = entries["situations"], ("situations",)
    if not isinstance(entries, list):
        hint = "Write one '- id: …' block per situation; see the form in docs/reference."
        raise DataError("is not a list of situations.", path=path, row=1, hint=hint)
    if not entries:
        raise DataError("holds no situations.", path=path)
    records, problems = [], []
    for i, entry in enumerate(entries):
        row = located.line((*place, i)) or 1
        if not isinstance(entry, dict):
            problems.append(DataError("is not a situation (expected 'key: value' lines).", path=path, row=row))
            continue
        cells: dict[str, Cell] = {}
        for key, value in entry.items():
            try:
                cells[key] = _yaml_cell(value, path, located.line((*place, i, key)), key)
            except DataError as error:
                problems.append(error)
        records.append(Record(row, cells))
    return Table(path, tuple(dict.fromkeys(name for record in records for name in record.cells)), records, problems)


def _yaml_cell(value: object, path: Path, row: int | None, column: str) -> Cell:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _limited(value, path, row, column)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(_limited(part, path, row, column) for part in value)
    kind = type(next(v for v in value if not isinstance(v, str))).__name__ if isinstance(value, list) else ""
    found = f"a list holding {kind}" if kind else type(value).__name__
    # 0101 unquoted is the number 65 in YAML: ids lose their zeros, so numbers are refused rather than guessed at.
    raise DataError(f"is {found}, not text.", path=path, row=row, column=column, hint="Put the value in quotes.")


def _limited(text: str, path: Path, row: int | None, column: str) -> str:
    if len(text) > MAX_CELL:
        raise DataError(f"is longer than {MAX_CELL} characters.", path=path, row=row, column=column)
    return text


def peek_header(path: Path) -> tuple[str, ...]:
    """Guess a table file's columns without judging it; () when it has none or cannot be read."""
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv", ".tab"):
        return _peek_csv(path)
    if suffix in TABLE_SUFFIXES:
        return read_records(path).header
    return ()


def _peek_csv(path: Path) -> tuple[str, ...]:
    try:
        with path.open("rb") as file:
            raw = file.read(_PEEKED)
    except OSError:
        return ()
    wide = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = raw.decode("utf-16" if wide else "utf-8-sig", errors="replace").replace("\0", "")
    try:
        first = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator_of(text, path.suffix)), [])
    except csv.Error:
        return ()
    return tuple(cell.strip() for cell in first)

"""Read and write users' tables: CSV, TSV, XLSX, JSON lines and Parquet, with exact row numbers and safe cells."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from kapwa.errors import DataError, nearest
from kapwa.files import check_ordinary, read_text, sibling_hint

# A cell longer than this is a file with a missing quote, not an answer.
MAX_CELL = 1_000_000
# How much of a file tells what parts its cells, and above how many lines of title the header is looked for.
_LOOKED_AT = 65_536
_TITLE_LINES = 3
_OTHER_SEPARATORS = (";", "\t", "|", "؛")
_SHOWN = 40
# The number of a row in its file, and its cells.
_Line = tuple[int, list[str]]
_Counted = TypeVar("_Counted", bound=tuple[int, Sized])
Cell = str | tuple[str, ...]
# Spreadsheets set to Chinese, Japanese or Korean take the wide signs for the narrow ones.
_FORMULA = re.compile(r"[=+\-@\t\r＝＋－＠]")
_DISARMED = re.compile(f"'+{_FORMULA.pattern}")
_DANGEROUS = re.compile(f"'*{_FORMULA.pattern}")
NO_ROWS = "Write rows below its header."
CUT_OFF = "It may be cut off or of another kind: save or copy it again."
_ROW = 'A row is an object on one line, or in a list: {"column": "text"}; look for a missing quote or bracket.'
# NaN and Infinity, which Python writes and JSON does not know, are null: a cell of them is empty.
_DECODER = json.JSONDecoder(parse_constant=lambda _name: None)
_HALF = re.compile(r"[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


class Most(NamedTuple):
    """How many rows and cells of a table are read at most, its header and its empty cells among them."""

    rows: int
    cells: int

    def counted(self, path: Path, lines: Iterable[_Counted]) -> Iterator[_Counted]:
        """Yield ``lines`` while there are no more of them than that; raise DataError at the first too many."""
        rows = cells = 0
        for line in lines:
            rows, cells = rows + 1, cells + len(line[1])
            if rows > self.rows + 1 or cells > self.cells:
                message = f"has more than {self.rows:,} rows or {self.cells:,} cells."
                raise DataError(message, path=path, hint="Split it.")
            yield line


class RowError(DataError):
    """What is wrong with one row alone: those around it are read as they stand."""


class Row(NamedTuple):
    """One record of a table file as texts, and its row as spreadsheets count (the header of most is row 1)."""

    number: int
    cells: dict[str, str]


class Record(NamedTuple):
    """One row: its number in its file, as spreadsheets count (the header being 1), and its cells."""

    row: int
    cells: Mapping[str, Cell]


class Table(NamedTuple):
    """A file's columns and rows, and each reason why there is not more of it."""

    path: Path
    header: tuple[str, ...]
    records: Sequence[Record]
    problems: Sequence[DataError]


def read_table(path: Path, *, required: Sequence[str] = ()) -> list[Row]:
    """Read a CSV, TSV, XLSX, JSON or Parquet file as rows of texts.

    Every cell is a text exactly as stored (ids keep leading zeros); missing values are "", lists are written as JSON.
    Rows without a single text are left out, and so are columns without a name after the last named one, if they are
    empty. What parts the cells of a CSV file is found out by :func:`separator_of`. Raises DataError naming file, row
    and column for: no header, missing or repeated columns, ragged rows, values outside the columns, unclosed quotes,
    NUL bytes, oversized cells, broken JSON.
    """
    table = read_parts(path)
    if table.problems:
        raise table.problems[0]
    missing = [name for name in required if name not in table.header]
    if missing and table.header:
        raise DataError(f"column {missing[0]!r} is missing.", path=path, row=1, hint=nearest(missing[0], table.header))
    if not table.records:
        raise DataError("holds no rows.", path=path, hint=NO_ROWS)
    return [
        Row(number, {k: c if isinstance(c, str) else json.dumps(c, ensure_ascii=False) for k, c in cells.items()})
        for number, cells in table.records
    ]


def read_parts(path: Path, most: Most | None = None) -> Table:
    """Read what can be read of a table file, with a problem for each row that cannot; see :func:`read_table`.

    A cell is a text, or a tuple of texts where the format has lists. Raises DataError where the file is not there, is
    not of its format, holds nothing at all, has a title above its header, or, but for Parquet, has more than
    ``most``, which is counted while it is read.
    """
    check_ordinary(path)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _parquet_table(path)
    if suffix in (".json", ".jsonl", ".ndjson"):
        records = list(most.counted(path, _json_records(path)) if most else _json_records(path))
        return Table(path, tuple(dict.fromkeys(name for record in records for name in record.cells)), records, [])
    problems: list[DataError] = []
    if suffix == ".xlsx":
        if not path.exists():
            raise DataError("no such file.", path=path, hint=sibling_hint(path))
        from kapwa.workbooks import fill_merged, sheet_lines

        sheet, merged = sheet_lines(path, partial(most.counted, path) if most else iter)
        problems += fill_merged(path, sheet, merged)
        width = max((len(cells) for _, cells in sheet), default=0)
        lines: Iterator[_Line] = ((n, cells + [""] * (width - len(cells))) for n, cells in sheet)
        separator = ""
    else:
        text = read_text(path)
        for number, line in enumerate(text.split("\n") if "\0" in text else (), start=1):
            if "\0" in line:
                hint = "The file is damaged or not text."
                problems.append(DataError("holds a NUL byte.", path=path, row=number, hint=hint))
        separator = separator_of(text, suffix)
        lines = _csv_lines(path, text.replace("\0", ""), separator, problems)
        lines = most.counted(path, lines) if most else lines
    filled = (line for line in lines if any(cell.strip() for cell in line[1]))
    head = list(islice(filled, _TITLE_LINES + 2))
    if not head:
        raise problems[0] if problems else DataError("is empty.", path=path, hint=CUT_OFF)
    above = _lines_above_header(path, head, problems)
    table = _as_table(path, head[above], chain(head[above + 1 :], filled), separator)
    return table._replace(problems=sorted([*problems, *table.problems], key=lambda problem: problem.row or 0))


def separator_of(text: str, suffix: str) -> str:
    """Return what parts the cells of a CSV or TSV file that begins with ``text``: a tab in a TSV, else a comma.

    A CSV whose first lines hold no two cells by commas, but do by semicolons or tabs, is parted by those:
    spreadsheets write semicolons wherever the comma is the decimal mark.
    """
    if suffix.lower() in (".tsv", ".tab"):
        return "\t"
    begins = {sign: _table_begins(text[:_LOOKED_AT], sign) for sign in (",", ";", "\t")}
    return min(begins, key=lambda sign: begins[sign])


def _table_begins(text: str, separator: str) -> int:
    """At which line that is not empty a table of several columns begins, parted by ``separator``; else far below."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    with contextlib.suppress(csv.Error):
        lines = [cells for cells in islice(reader, _TITLE_LINES + 2) if any(cell.strip() for cell in cells)]
        several = [sum(1 for cell in cells if cell.strip()) > 1 for cells in lines]
        if several and several[0] and all(len(cells) > 1 for cells in lines[1:2]):
            return 0
        for i in range(1, len(lines) - 1):
            # Below a title; but a column of texts may hold the sign here and there.
            if several[i] and len({len(cells) for cells in lines[i:]}) == 1:
                return i
    return len(text) + 1


def _csv_lines(path: Path, text: str, separator: str, problems: list[DataError]) -> Iterator[_Line]:
    """Yield each record with its row as spreadsheets count, up to the first that is no CSV, which is noted."""
    csv.field_size_limit(MAX_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    row = 0
    try:
        for row, cells in enumerate(reader, start=1):
            yield row, cells
    except csv.Error as error:
        hint = "Look for a missing closing quote, an oversized cell, or a truncated file."
        problems.append(DataError(f"is not valid CSV ({error}), from here on.", path=path, row=row + 1, hint=hint))


def _as_table(path: Path, first: _Line, lines: Iterable[_Line], separator: str) -> Table:
    """Take lines that are not empty for a header and rows; ``separator`` is "" for a workbook."""
    line, names = first[0], [cell.strip() for cell in first[1]]
    header = names[: max(i for i, name in enumerate(names, start=1) if name)]
    repeated = [name for i, name in enumerate(header) if name in header[:i]]
    problems = [DataError("appears twice in the header.", path=path, row=line, column=name) for name in repeated]
    records: list[Record] = []
    for number, cells in lines:
        outside = next((i for i in range(len(header), len(cells)) if cells[i].strip()), None)
        if len(cells) != len(names):
            hint = f"Quote cells that contain the separator ({separator!r}) or a line break."
            if any(sign in cell for cell in cells for sign in "“”„"):
                hint += ' In place of the curly quotes (“ ”) that takes straight ones (").'
            message = f"has {len(cells)} cell{'s' * (len(cells) != 1)}, the header has {len(names)}."
            problems.append(RowError(message, path=path, row=number, hint=hint))
        elif outside is not None:
            from openpyxl.utils import get_column_letter  # heavy, and rarely needed

            letters = get_column_letter(outside + 1)
            message = f"{letters}{number} holds a value outside the table's columns."
            hint = "Remove it, or give its column a name in the header."
            problems.append(RowError(message, path=path, row=number, column=letters, hint=hint))
        elif not repeated:  # else no row's cells can be told apart
            records.append(Record(number, dict(zip(header, cells, strict=False))))
    return Table(path, tuple(header), records, problems)


def _lines_above_header(path: Path, lines: Sequence[_Line], problems: list[DataError]) -> int:
    """How many of a table's first ``lines`` are a title, one cell above several, which is noted as a problem.

    Raises DataError saying what parts the cells, where the header is one cell and every line holds the same other sign.
    """
    names = [cell.strip() for cell in lines[0][1] if cell.strip()]
    sign = next(
        (mark for mark in _OTHER_SEPARATORS if all(any(mark in cell for cell in line[1]) for line in lines)), ""
    )
    if len(names) == 1 and sign:
        message = f"holds one column, whose name has {sign!r} in it: its cells seem to be separated by that."
        raise DataError(message, path=path, row=lines[0][0], hint="Save it as 'CSV UTF-8', separated by commas.")
    counts = [sum(1 for cell in cells if cell.strip()) for _, cells in lines[: _TITLE_LINES + 1]]
    below = next((i for i, count in enumerate(counts) if count > 1), 0)
    # A table of one column may have rows with a separator too many; a title's rows all have as many cells.
    even = len({len(cells) for _, cells in lines[below:]}) == 1
    if not below or (len(lines[0][1]) == 1 and not (even and len(lines) > below + 1)):
        return 0
    title, row = names[0], lines[below][0]
    hint = f"Remove {'the rows' if row - lines[0][0] > 1 else f'row {lines[0][0]}'} above it: a table begins with it."
    shown = title if len(title) <= _SHOWN else f"{title[: _SHOWN - 1]}…"
    message = f"holds {shown!r} alone; the header seems to be in row {row}."
    problems.append(DataError(message, path=path, row=lines[0][0], hint=hint))
    return below


def json_in(cell: str) -> Any:
    """Return what a cell's JSON is; raise ValueError or RecursionError for no JSON, and for half of a character."""
    value = _DECODER.decode(cell)
    if "\\u" in cell and _HALF.search(json.dumps(value, ensure_ascii=False)):
        raise ValueError("half of a character")
    return value


def _json_records(path: Path) -> Iterator[Record]:
    """Yield the objects of JSON lines, or of a ``.json`` file that holds a list of them."""
    text = read_text(path)
    listed: list[Any] | None = None
    if path.suffix.lower() == ".json":
        with contextlib.suppress(ValueError, RecursionError):
            whole = _DECODER.decode(text)
            listed = whole if isinstance(whole, list) else None
    for number, line in enumerate(text.split("\n") if listed is None else listed, start=1):
        if listed is None and not line.strip():
            continue
        try:
            record = _DECODER.decode(line) if listed is None else line
        except (ValueError, RecursionError) as error:
            raise DataError(f"is not valid JSON ({why_not_json(error)}).", path=path, row=number, hint=_ROW) from None
        if not isinstance(record, dict):
            raise DataError("is not a JSON object.", path=path, row=number, hint=_ROW)
        cells = {name: json_cell(value) for name, value in record.items()}
        for name, cell in cells.items():
            refuse_half(name, path=path, row=number)
            refuse_half(cell if isinstance(cell, str) else "".join(cell), path=path, row=number, column=name)
        yield Record(number, cells)


def why_not_json(error: ValueError | RecursionError) -> str:
    """Say in a few words what :func:`json.loads` found wrong."""
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    return "nested too deeply" if isinstance(error, RecursionError) else "a number of over 4,300 digits"


def refuse_half(text: str, **place: Any) -> None:
    r"""Raise DataError for a text with half a character, as the escape "\ud83d" alone gives: no file can hold it."""
    half = _HALF.search(text)
    if half:
        message = f"holds half of a character (\\u{ord(half[0]):04x} alone)."
        raise DataError(message, hint="Write the character itself in place of the escape.", **place)


def json_cell(value: Any) -> Cell:
    """Return a value of JSON as a cell: a text, the texts of a list of them, else the text that JSON writes for it."""
    if isinstance(value, str) or value is None:
        return value or ""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(value)
    return json.dumps(value, ensure_ascii=False)


def _parquet_table(path: Path) -> Table:
    import polars as pl

    try:
        frame = pl.read_parquet(path, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).split("\n", 1)[0][:200]
        raise DataError(f"cannot be read as Parquet ({reason}).", path=path, hint=CUT_OFF) from None
    if frame.is_empty():
        raise DataError("holds no rows.", path=path, hint=NO_ROWS)
    records = [
        Record(number, {name: _parquet_cell(value, path, number, name) for name, value in row.items()})
        for number, row in enumerate(frame.iter_rows(named=True), start=1)
    ]
    return Table(path, tuple(frame.columns), records, [])


def _parquet_cell(value: object, path: Path, row: int, column: str) -> Cell:
    if value is None or value != value:  # noqa: PLR0124 - NaN, with which pandas fills empty cells
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(value)
    if isinstance(value, bool | int | float):
        return str(value)
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    hint = "Save the column as texts."
    raise DataError(f"holds {type(value).__name__}, not text.", path=path, row=row, column=column, hint=hint)


def disarm(cell: str) -> str:
    """Put an apostrophe before what a spreadsheet would run as a formula, and before what looks disarmed already."""
    return "'" + cell if _DANGEROUS.match(cell) else cell


def rearm(cell: str) -> str:
    """Undo :func:`disarm` exactly: ``rearm(disarm(text)) == text`` for every text."""
    return cell[1:] if _DISARMED.match(cell) else cell


def printable(text: str) -> str:
    """Return ``text`` as a sheet can hold it: line breaks as LF, characters no file may hold as U+FFFD."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Render a table as spreadsheet-safe CSV: an apostrophe before texts that would run as formulas, None empty.

    Lists and objects become JSON.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    for row in chain([header], rows):
        writer.writerow([_safe_cell(cell) for cell in row])
    return out.getvalue()


def _safe_cell(cell: Any) -> Any:
    if isinstance(cell, list | dict):
        return json.dumps(cell, ensure_ascii=False, default=str)
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Render a table as UTF-8 CSV for people to fill in: with a byte-order mark, every text reversibly disarmed.

    Without the mark spreadsheets garble every script but Latin.
    """
    safe = ([disarm(printable(cell)) if isinstance(cell, str) else cell for cell in row] for row in rows)
    # Disarmed texts start with an apostrophe, so csv_text leaves them alone.
    return ("\ufeff" + csv_text(header, safe)).encode()


def schema_of(columns: str) -> dict[str, Any]:
    """Return the columns of a Polars table, written "name other:whole third:real": texts where no kind stands."""
    import polars as pl

    kinds = {"": pl.String(), "real": pl.Float64(), "whole": pl.Int64()}
    parts = (column.partition(":") for column in columns.split())
    return {name: kinds[kind] for name, _, kind in parts}


def read_sheet(path: Path, *, required: Sequence[str] = ()) -> list[Row]:
    """Read a sheet that people filled in as :func:`read_table` does, with every cell as it was before disarming."""
    rows = read_table(path, required=required)
    return [Row(row.number, {name: rearm(cell) for name, cell in row.cells.items()}) for row in rows]

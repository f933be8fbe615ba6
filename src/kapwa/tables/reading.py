"""Read a table of any kind."""

from __future__ import annotations

import csv
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from kapwa.errors import DataError, nearest
from kapwa.files import check_ordinary, sibling_hint, table_rows
from kapwa.tables.cells import rearm
from kapwa.tables.json_files import json_records
from kapwa.tables.parquet_files import parquet_schema, parquet_table
from kapwa.tables.separated import TITLE_LINES, Line, Noted, first_names, separated_lines
from kapwa.tables.table import CUT_OFF, NO_ROWS, Most, Record, Remark, RowError, TextRow, TextTable, record

log = logging.getLogger(__name__)
_OTHER_SEPARATORS = (";", "\t", "|", "؛")
_SHOWN = 40


def read_table(path: Path, *, required: Sequence[str] = ()) -> list[TextRow]:
    """Read a CSV, TSV, XLSX, ODS, JSON or Parquet file as rows of texts.

    Every cell is a text exactly as stored (ids keep leading zeros); missing values are "", lists are written as JSON.
    Rows without any text are left out, and so are empty columns without a name after the last named one. The separator
    of a CSV file is detected by :func:`separator_of`. Where another way of reading the file would change a number, a
    warning is logged. Raises DataError naming file, row and column for: no header, missing or repeated columns, ragged
    rows, values outside the columns, unclosed quotes, NUL bytes, oversized cells, broken JSON.
    """
    table = read_with_problems(path)
    if table.problems:
        raise table.problems[0]
    missing = [name for name in required if name not in table.header]
    if missing and table.header:
        raise DataError(f"column {missing[0]!r} is missing.", path=path, row=1, hint=nearest(missing[0], table.header))
    if not table.records:
        raise DataError("holds no rows.", path=path, hint=NO_ROWS)
    if table.remarks:
        warn_of(path, table.remarks)
    return [
        TextRow(number, {k: c if isinstance(c, str) else json.dumps(c, ensure_ascii=False) for k, c in cells.items()})
        for number, cells in table.records
    ]


def warn_of(path: Path, remarks: Iterable[Remark]) -> None:
    """Log the remarks on what could be read in another way that would change a number."""
    for remark in remarks:
        if remark.severity == "warning":
            log.warning("%s%s: %s", path, f", row {remark.row}" if remark.row else "", remark.message)


def read_with_problems(path: Path, most: Most | None = None, *, corner: str = "") -> TextTable:
    """Read the rows of a table file that can be read, with a problem for each other row; see :func:`read_table`.

    A cell is a text, or a tuple of texts where the format has lists. Raises DataError where the file is missing, is
    not of its format, is empty, has a title above its header, or (except for Parquet) has more rows, cells or columns
    than ``most``, which are counted while it is read. ``corner``: see :func:`open_table`.
    """
    check_ordinary(path)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return parquet_table(path)
    if suffix in (".yaml", ".yml"):
        from kapwa.tables.yaml_files import yaml_table  # a parser that most tables do not need

        table = yaml_table(path)
        return table._replace(records=list(most.counted(path, table.records))) if most else table
    if suffix in (".json", ".jsonl", ".ndjson"):
        remarks: list[Remark] = []
        rows = json_records(path, remarks)
        records = list(most.counted(path, rows) if most else rows)
        header = tuple(dict.fromkeys(name for record in records for name in record.cells))
        if most:
            most.check_columns(path, len(header))
        return TextTable(path, header, records, [], remarks)
    opened = open_table(path, most, corner=corner)
    records = list(opened.records)
    problems = sorted(opened.noted.problems, key=lambda problem: problem.row or 0)
    return TextTable(path, opened.header, records, problems, opened.noted.remarks)


class OpenTable(NamedTuple):
    """A table whose rows are read one after another; ``noted`` grows while they are."""

    header: tuple[str, ...]
    records: Iterator[Record]
    noted: Noted


def open_table(path: Path, most: Most | None = None, *, corner: str = "") -> OpenTable:
    """Open a CSV, TSV, XLSX or ODS file; of CSV and TSV, no more than one row is in memory at a time.

    ``corner``: the name for a first column without one, as in a square table whose rows and columns are the same
    things; "": such a column is left out like every other without a name. Raises the errors of
    :func:`read_with_problems` that concern the header.
    """
    noted = Noted()
    if path.suffix.lower() in WORKBOOKS:
        separator, lines = "", _sheet_lines(path, most, noted)
    else:
        dialect, lines = separated_lines(path, noted)
        separator = dialect.separator
        lines = most.counted(path, lines) if most else lines
    filled = (line for line in lines if any(map(str.strip, line[1])))
    head = list(islice(filled, TITLE_LINES + 2))
    if not head:
        raise noted.problems[0] if noted.problems else DataError("is empty.", path=path, hint=CUT_OFF)
    above = _lines_above_header(path, head, noted.problems)
    first, names = head[above][0], [cell.strip() for cell in head[above][1]]
    if not names[0] and corner not in names:
        names[0] = corner
    header = tuple(names[: max(i for i, name in enumerate(names, start=1) if name)])
    repeated = [name for i, name in enumerate(header) if name and name in header[:i]]
    own = "Give each column its own name."
    noted.problems += [
        DataError("appears twice in the header.", path=path, row=first, column=name, hint=own) for name in repeated
    ]
    shape = _Shape(path, separator, len(header), len(names), head[above][1])
    rows = _sound_rows(shape, _without_export_rows(chain(head[above + 1 :], lines), noted), noted)
    # Where two columns have the same name, the cells of a row are ambiguous.
    records = (record((number, dict(zip(header, cells, strict=False)))) for number, cells in rows if not repeated)
    return _named_columns(OpenTable(header, records, noted)) if "" in header else OpenTable(header, records, noted)


def _named_columns(table: OpenTable) -> OpenTable:
    """Return a table without nameless columns, such as row numbers that programs write; a remark says so."""
    from openpyxl.utils import get_column_letter  # heavy, and rarely needed

    nameless = [get_column_letter(number) for number, name in enumerate(table.header, start=1) if not name]
    subject, verb = ("columns", "have") if len(nameless) > 1 else ("column", "has")
    table.noted.remarks.append(Remark(f"{subject} {', '.join(nameless)} {verb} no name in the header: not read"))
    records = (Record(row, {name: cell for name, cell in cells.items() if name}) for row, cells in table.records)
    return OpenTable(tuple(filter(None, table.header)), records, table.noted)


def _sheet_lines(path: Path, most: Most | None, noted: Noted) -> Iterator[Line]:
    """Return the lines of a workbook's first sheet, all as wide as the widest."""
    if not path.exists():
        raise DataError("no such file.", path=path, hint=sibling_hint(path))
    from kapwa.tables.workbooks import read_sheet_lines

    sheet = read_sheet_lines(path, partial(most.counted, path) if most else iter)
    noted.problems += sheet.problems
    noted.remarks += sheet.remarks
    width = max((len(cells) for _, cells in sheet.lines), default=0)
    return ((n, cells + [""] * (width - len(cells))) for n, cells in sheet.lines)


class _Shape(NamedTuple):
    """The number of named ``columns``, and of ``cells`` that a row must have; ``separator`` is "" for a workbook.

    ``header``: the cells of the row with the columns' names.
    """

    path: Path
    separator: str
    columns: int
    cells: int
    header: Sequence[str]


def _sound_rows(shape: _Shape, lines: Iterable[Line], noted: Noted) -> Iterator[Line]:
    """Yield the rows with a cell for each column and nothing outside; skip empty rows and record faulty ones."""
    for number, cells in lines:
        if not "".join(cells).strip():
            continue
        if cells == shape.header and len(cells) > 1:
            hint = "Delete the row: a table that was joined from several must have only one header."
            noted.problems.append(RowError("repeats the header.", path=shape.path, row=number, hint=hint))
            continue
        if len(cells) == shape.cells == shape.columns:
            yield number, cells
            continue
        outside = next((i for i in range(shape.columns, len(cells)) if cells[i].strip()), None)
        if len(cells) > shape.cells and outside is None:
            yield number, cells[: shape.cells]  # some programs write separators up to the widest row
        elif len(cells) != shape.cells:
            hint = f"Quote cells that contain the separator ({shape.separator!r}) or a line break."
            if any(sign in cell for cell in cells for sign in "“”„"):
                hint += ' Use straight quotes (") for this, not curly ones (“ ”).'
            message = f"has {len(cells)} cell{'s' * (len(cells) != 1)}, the header has {shape.cells}."
            noted.problems.append(RowError(message, path=shape.path, row=number, hint=hint))
        elif outside is not None:
            from openpyxl.utils import get_column_letter  # heavy, and rarely needed

            letters = get_column_letter(outside + 1)
            message = f"{letters}{number} holds a value outside the table's columns."
            hint = "Remove it, or give its column a name in the header."
            noted.problems.append(RowError(message, path=shape.path, row=number, column=letters, hint=hint))
        else:
            yield number, cells


# Rows below the header that Qualtrics writes: the texts of the questions, and keys for importing the file again.
_IMPORT_KEYS = '{"ImportId":'


def _without_export_rows(lines: Iterator[Line], noted: Noted) -> Iterator[Line]:
    """Return the lines without those in which Qualtrics repeats the header; a remark says so."""
    first = list(islice(lines, 2))
    keys = next((index for index, (_, cells) in enumerate(first) if cells and cells[0].startswith(_IMPORT_KEYS)), None)
    if keys is None:
        return chain(first, lines)
    rows = " and ".join(str(number) for number, _ in first[: keys + 1])
    message = f"row {rows} only describes the columns, as Qualtrics writes it below the header: not read"
    noted.remarks.append(Remark(message))
    return chain(first[keys + 1 :], lines)


def _lines_above_header(path: Path, lines: Sequence[Line], problems: list[DataError]) -> int:
    """Return how many of a table's first ``lines`` are a title (one cell above several), and record that as a problem.

    Raises DataError naming the likely separator, where the header is one cell and every line has the same other sign.
    """
    names = [cell.strip() for cell in lines[0][1] if cell.strip()]
    sign = next(
        (mark for mark in _OTHER_SEPARATORS if all(any(mark in cell for cell in line[1]) for line in lines)), ""
    )
    if len(names) == 1 and sign:
        message = f"holds one column, whose name has {sign!r} in it: its cells seem to be separated by that."
        raise DataError(message, path=path, row=lines[0][0], hint="Save it as 'CSV UTF-8', separated by commas.")
    if _is_comment(lines):
        lines = [(lines[0][0], [", ".join(names)]), *lines[1:]]
        names = [", ".join(names)]
    counts = [sum(1 for cell in cells if cell.strip()) for _, cells in lines[: TITLE_LINES + 1]]
    below = next((i for i, count in enumerate(counts) if count > 1), 0)
    # A table of one column may have rows with one separator too many; below a title, all rows have equally many cells.
    even = len({len(cells) for _, cells in lines[below:]}) == 1
    if not below or (len(lines[0][1]) == 1 and not (even and len(lines) > below + 1)):
        return 0
    title, row = names[0], lines[below][0]
    hint = f"Remove {'the rows' if row - lines[0][0] > 1 else f'row {lines[0][0]}'} above it: a table begins with it."
    shown = title if len(title) <= _SHOWN else f"{title[: _SHOWN - 1]}…"
    message = f"holds {shown!r} alone; the header seems to be in row {row}."
    problems.append(DataError(message, path=path, row=lines[0][0], hint=hint))
    return below


def _is_comment(lines: Sequence[Line]) -> bool:
    """Whether the first line is a program's comment with another width than all other lines: "# made, by R"."""
    widths = {len(cells) for _, cells in lines[1:]}
    return lines[0][1][0].startswith("#") and len(lines) > 2 and len(widths) == 1 and len(lines[0][1]) not in widths


def read_sheet(path: Path, *, required: Sequence[str] = ()) -> list[TextRow]:
    """Read a sheet that people filled in as :func:`read_table` does, with every cell as it was before disarming."""
    rows = read_table(path, required=required)
    return [TextRow(row.number, {name: rearm(cell) for name, cell in row.cells.items()}) for row in rows]


WORKBOOKS = (".xlsx", ".ods")
TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", *WORKBOOKS, ".parquet", ".yaml", ".yml")
_PEEKED = 65_536
_LINE_END = re.compile(r"\r\n?")


class InMemory(NamedTuple):
    """A table to read instead of a file, and the bytes that the file would have."""

    table: TextTable
    content: bytes


# The tables that are read instead of files, by path.
in_memory: ContextVar[Mapping[Path, InMemory]] = ContextVar("in_memory")


@contextmanager
def reading_from_memory(tables: Mapping[Path, InMemory]) -> Iterator[None]:
    """Read these tables instead of the files, which may be empty: people's answers need not be on disk to be read."""
    token = in_memory.set(tables)
    try:
        yield
    finally:
        in_memory.reset(token)


def read_records(path: Path, *, corner: str = "") -> TextTable:
    """Read CSV, TSV, JSON lines, XLSX, ODS, Parquet or YAML; problems are returned, never raised.

    A cell is text, or a tuple of texts where the format has lists. Line ends inside cells become LF.
    ``corner``: see :func:`open_table`.
    """
    stored = in_memory.get({}).get(path)
    if stored:
        return stored.table
    try:
        table = read_with_problems(path, corner=corner)
    except DataError as error:
        return TextTable(path, (), (), [error])
    if not table.records and not table.problems:
        return table._replace(problems=[DataError("holds no rows.", path=path, hint=NO_ROWS)])
    records = list(table.records)
    for index, (row, as_read) in enumerate(records):
        try:
            text = "".join(as_read.values())  # type: ignore[arg-type]
        except TypeError:  # a list among them
            text = "".join(map("".join, as_read.values()))
        if "\r" not in text:
            continue
        cells = dict(as_read)
        for name, cell in as_read.items():
            if isinstance(cell, str):
                cells[name] = _LINE_END.sub("\n", cell)
            else:
                cells[name] = tuple(_LINE_END.sub("\n", text) for text in cell)
        records[index] = Record(row, cells)
    return table._replace(records=records)


@cache
def words_for(column: str) -> tuple[str, ...]:
    """Return other names of a column, in several languages, the likeliest first; () where none is known.

    All such names are in ``columns.csv`` beside this file.
    """
    listed = table_rows(Path(__file__).with_name("columns.csv"))
    return next((tuple(row["words"].split(";")) for row in listed if row["name"] == column), ())


def peek_header(path: Path) -> tuple[str, ...]:
    """Guess a table file's columns without checking the file; () when it has none or cannot be read.

    Raises DataError for a pipe or a device.
    """
    check_ordinary(path)
    if path.suffix.lower() == ".parquet":
        with suppress(DataError):
            return tuple(parquet_schema(path))
    if path.suffix.lower() not in (".csv", ".tsv", ".tab"):
        return read_records(path).header if path.suffix.lower() in TABLE_SUFFIXES else ()
    try:
        with path.open("rb") as file:
            raw = file.read(_PEEKED)
        wide = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
        text = raw.decode("utf-16" if wide else "utf-8", errors="replace").lstrip("\ufeff").replace("\0", "")
        return first_names(text, path.suffix)
    except (OSError, csv.Error):
        return ()

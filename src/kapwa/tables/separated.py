"""CSV and TSV: their separators, whether quotation marks enclose cells, and their lines."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from kapwa.errors import DataError
from kapwa.files import text_lines
from kapwa.tables.cells import DAMAGED
from kapwa.tables.table import MAX_CELL, Remark

# How much of a file is used to detect its separator, and how many lines of title may be above the header.
_LOOKED_AT = 65_536
_LINES_LOOKED_AT = 100
TITLE_LINES = 3
# The number of a row in its file, and its cells.
Line = tuple[int, list[str]]
# A first line that names the separator for spreadsheets.
_NAMED_SEPARATOR = re.compile(r'"?sep=([,;\t|])"?\r?\n', re.IGNORECASE)
_ENCLOSED = re.compile(r'"(?:[^"]|"")*"')
_AS_ENCLOSING = "quotation marks enclose cells and are not read as text"
_AS_TEXT = "quotation marks are read as text, because they do not enclose whole cells: every line is one row"
_JOINED = (
    "quotation marks join {} lines of the file, each as wide as the header, into this row; if these lines are separate "
    'rows, enclose each cell that has a mark in marks, and double the mark: """Yes"", she said"'
)


def separator_of(text: str, suffix: str) -> str:
    """Return the separator of a CSV or TSV file that begins with ``text``: a tab in a TSV, else a comma.

    If commas do not split the first lines of a CSV into two or more cells, or into different numbers of cells, but
    semicolons or tabs do, these are the separator: spreadsheets write semicolons wherever the comma is the decimal
    mark. The same applies to a TSV without tabs. A first line such as "sep=;" takes precedence.
    """
    head = text[:_LOOKED_AT]
    named = _NAMED_SEPARATOR.match(head)
    if named:
        return named[1]
    signs = ("\t", ",", ";") if suffix.lower() in (".tsv", ".tab") else (",", ";", "\t")
    begins = {sign: _table_begins(head, sign) for sign in signs}
    if signs[0] == "\t" and (begins["\t"].line == 0 or "\t" in head):
        return "\t"
    return min(begins, key=lambda sign: begins[sign])


def first_names(text: str, suffix: str) -> tuple[str, ...]:
    """Return the names in the first line of a CSV or TSV file that begins with ``text``; raises csv.Error."""
    named = _NAMED_SEPARATOR.match(text)
    lines = io.StringIO(text[named.end() if named else 0 :], newline="")
    cells = next(csv.reader(lines, delimiter=separator_of(text, suffix)), [])
    return tuple(filter(None, map(str.strip, cells)))


class _Beginning(NamedTuple):
    """The non-empty line at which a table of several columns begins, and evidence against its separator.

    ``uneven``: its lines differ in width. ``prose``: a blank follows every separator in the first line.
    """

    line: int
    uneven: bool
    prose: bool


def _table_begins(text: str, separator: str) -> _Beginning:
    """Return where a table with this ``separator`` begins; a line beyond the text where there is none."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    with contextlib.suppress(csv.Error):
        lines = [cells for cells in islice(reader, TITLE_LINES + 2) if any(cell.strip() for cell in cells)]
        several = [sum(1 for cell in cells if cell.strip()) > 1 for cells in lines]
        if several and several[0] and all(len(cells) > 1 for cells in lines[1:2]):
            prose = all(cell.startswith(" ") for cell in lines[0][1:])
            return _Beginning(0, len({len(cells) for cells in lines}) > 1, prose)
        for i in range(1, len(lines) - 1):
            # Below a title; but texts in a single column may also contain the sign.
            if several[i] and len({len(cells) for cells in lines[i:]}) == 1:
                return _Beginning(i, uneven=False, prose=False)
    return _Beginning(len(text) + 1, uneven=True, prose=True)


class Dialect(NamedTuple):
    """How the lines of a CSV or TSV file are split into cells; ``remark`` is for readers, where it is not obvious."""

    separator: str
    quoting: Literal[0, 3]
    remark: str = ""
    blanks: bool = False  # before marks that enclose: 1, "rice, beans"

    def reading(self) -> dict[str, Any]:
        """Return the arguments of :func:`csv.reader`."""
        return {"delimiter": self.separator, "quoting": self.quoting, "skipinitialspace": self.blanks}


def dialect_of(lines: Callable[[], Iterable[str]], head: str, suffix: str) -> Dialect:
    """Return how the lines of a CSV or TSV file are split into cells.

    ``lines`` restarts at the file's first line, and gives lines without their ends; ``head`` is the beginning of the
    file, or all of it. In a CSV, and in a TSV of a program that quotes, marks enclose cells and are not text. Most TSV
    is written without quoting; then every line is a row, and marks are text. So a TSV is read without quoting where its
    lines are as wide as its header and some mark does not enclose a cell, or where quoting would break more rows than
    it repairs.
    """
    separator = separator_of(head, suffix)
    if separator != "\t":
        return Dialect(separator, csv.QUOTE_MINIMAL, blanks=_blanks_before_marks(head, separator))
    if not any('"' in line for line in lines()):
        return Dialect(separator, csv.QUOTE_MINIMAL)
    width = 0
    uneven = 0
    encloses = True
    for line in lines():
        if not line.strip():
            continue
        cells = line.count(separator) + 1
        width = width or cells
        uneven += cells != width
        if '"' in line:
            encloses = encloses and all(_ENCLOSED.fullmatch(cell) for cell in line.split(separator) if '"' in cell)
    if encloses and not uneven:
        return Dialect(separator, csv.QUOTE_MINIMAL, _AS_ENCLOSING)
    if not uneven or _spoilt_by_quoting(lines(), separator) > uneven:
        return Dialect(separator, csv.QUOTE_NONE, _AS_TEXT)
    return Dialect(separator, csv.QUOTE_MINIMAL)


def _blanks_before_marks(head: str, separator: str) -> bool:
    """Whether rows have equally many cells only if marks also enclose cells after a blank: 1, "rice, beans"."""
    if f'{separator} "' not in head:
        return False
    widths: list[set[int]] = []
    for blanks in (False, True):
        reader = csv.reader(io.StringIO(head, newline=""), delimiter=separator, skipinitialspace=blanks, strict=True)
        try:
            widths.append({len(cells) for cells in islice(reader, head.count("\n")) if cells})
        except csv.Error:
            widths.append(set())
    return len(widths[0]) != 1 and len(widths[1]) == 1


def _spoilt_by_quoting(lines: Iterable[str], separator: str) -> float:
    """Count rows of another width than the header if marks enclose cells; infinite if the lines are not valid CSV."""
    reader = csv.reader((line + "\n" for line in lines), delimiter=separator, strict=True)
    csv.field_size_limit(MAX_CELL)
    try:
        widths = [len(cells) for cells in reader if cells]
    except csv.Error:
        return math.inf
    return sum(width != widths[0] for width in widths)


@dataclass
class Noted:
    """Problems of a table, and remarks on how doubtful signs in it are read, as far as it was read."""

    problems: list[DataError] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)


def separated_lines(path: Path, noted: Noted) -> tuple[Dialect, Iterator[Line]]:
    """Return how the lines of a CSV or TSV file are split into cells, and its records, which are read one by one.

    The number of a record is its row as spreadsheets count. Problems are recorded as soon as they are reached: NUL
    bytes are left out, and after a record that is not valid CSV nothing more is read. A record of several lines that
    would each be a row gets a remark: a quotation mark meant as text may have joined them.
    """
    head = "".join(line for _, line in islice(text_lines(path), _LINES_LOOKED_AT))
    dialect = dialect_of(lambda: (line.rstrip("\r\n") for _, line in text_lines(path)), head, path.suffix)
    if dialect.remark:
        noted.remarks.append(Remark(dialect.remark))
    return dialect, _records(path, dialect, noted)


def _records(path: Path, dialect: Dialect, noted: Noted) -> Iterator[Line]:
    csv.field_size_limit(MAX_CELL)
    physical: list[str] = []  # the lines of the current record

    def passing() -> Iterator[str]:
        for number, line in text_lines(path):
            if "\0" in line:
                noted.problems.append(DataError("holds a NUL byte.", path=path, row=number, hint=DAMAGED))
                line = line.replace("\0", "")  # noqa: PLW2901
            physical.append(line)
            yield line

    reader = csv.reader(passing(), **dialect.reading(), strict=True)
    row = width = 0
    try:
        for row, cells in enumerate(reader, start=1):
            if row == 1 and _NAMED_SEPARATOR.match(physical[0]):
                physical.clear()
                continue
            width = width or len(cells)
            if len(physical) > 1 and 1 < width == len(cells):
                widths = {line.count(dialect.separator) + 1 for line in physical}
                if widths == {width}:
                    noted.remarks.append(Remark(_JOINED.format(len(physical)), row, "warning"))
            physical.clear()
            yield row, cells
    except csv.Error as error:
        hint = "Look for a missing closing quote, an oversized cell, or a truncated file."
        problem = DataError(f"is not valid CSV ({error}), from here on.", path=path, row=row + 1, hint=hint)
        noted.problems.append(problem)

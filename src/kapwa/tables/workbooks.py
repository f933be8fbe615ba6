"""The first sheet of a workbook, XLSX or ODS, as lines of text.

Dates and times are written as people write them, a header of two rows becomes one, merged cells and formula errors are
reported.
"""

from __future__ import annotations

import contextlib
import datetime
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from kapwa.errors import DataError
from kapwa.tables.cells import FORMULA_ERRORS
from kapwa.tables.open_documents import OpenRow, open_document_rows
from kapwa.tables.table import Remark

# The number of a row in its file, and its cells.
Line = tuple[int, list[str]]
# The number of a row, and its values of any kind; and a function that counts rows while they are read.
SheetRow = tuple[int, Sequence[object]]
Counted = Callable[[Iterable[SheetRow]], Iterator[SheetRow]]
# A workbook of a million rows is smaller; a file that unpacks to more is damaged, or meant to fill the memory.
MAX_UNPACKED = 1_000_000_000
# A few bytes can fill every cell up to the last column, XFD; no table that people made is so wide or so large.
MAX_COLUMNS = 1_000
MAX_CELLS = 20_000_000
_MINUTE = datetime.timedelta(minutes=1)
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\b[^>]*?\bref="([A-Z]+[0-9]+:[A-Z]+[0-9]+)"')
_HIDDEN_ROW = re.compile(rb'<(?:\w+:)?row\b(?=[^>]*?\bhidden="(?:1|true)")[^>]*?\br="([0-9]+)"')
_HIDDEN_COLUMNS = re.compile(
    rb'<(?:\w+:)?col\b(?=[^>]*?\bhidden="(?:1|true)")[^>]*?\bmin="([0-9]+)"[^>]*?\bmax="([0-9]+)"'
)
# A cell with a formula and without its result, unless that is the empty text.
_NOT_WORKED_OUT = re.compile(
    rb'<(?:\w+:)?c\b(?![^>]*?\bt="str")[^>]*?\br="([A-Z]+[0-9]+)"[^>]*>\s*<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)'
    rb"\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
# A number that is shown with zeros before it.
_ZEROS = re.compile(r"0{2,}")
_SHOWN_ROWS = 5
_LOOKED_AT = 100
# In a column with so many texts, its name among them, a date was hardly meant to be one.
_TEXTS = 3
_DATE_REMARK = (
    "{cell} holds a date, read as {text}, among texts: spreadsheets make one of 1/2 or 3-4; if a text was meant, "
    "format the column as text and write it again"
)
_PERCENTAGE_REMARK = (
    "{cell} is shown as a percentage, and read as {text}, among texts: format the column as text and write what people "
    "should read"
)
_TITLE_LINES = 4
_LINE_END = re.compile(r"\r\n?")


# LibreOffice's formula errors that other spreadsheets do not have.
_OPEN_ERROR = re.compile(r"Err:5\d\d")


class SheetLines(NamedTuple):
    """The non-empty lines of a sheet, with their cells up to the last filled one.

    ``problems``: cells whose content is not known. ``remarks``: how the sheet was read.
    """

    lines: list[Line]
    problems: list[DataError]
    remarks: list[Remark]


class _Range(NamedTuple):
    """Merged cells: the name of their range, such as "C4:C6", and its corners, all from 1."""

    name: str
    left: int
    top: int
    right: int
    bottom: int

    @property
    def column(self) -> str:
        """The letters of its first column."""
        return self.name.partition(":")[0].rstrip("0123456789")


def read_sheet_lines(path: Path, counted: Counted = iter) -> SheetLines:
    """Read the first sheet of a workbook as lines of text.

    Times are written HH:MM (with seconds only where there are some) and dates YYYY-MM-DD, however the sheet shows them.
    ``counted`` gets each sheet's rows, with all their cells, as they are read, and may raise DataError.
    Raises DataError where the file is not a workbook, or where another sheet than the first has the table.
    """
    from openpyxl.utils import range_boundaries  # heavy, and only this format needs it

    sheet = _first_sheet(path, counted)
    ranges = [_Range(name, *range_boundaries(name)) for name in sheet.marks.merged]
    lines = sheet.lines
    remarks = list(_remarks_on(sheet))
    # A title may be above the header; the caller that looks for the header reports it.
    above = next((i for i, (_, cells) in enumerate(lines[:_TITLE_LINES]) if sum(map(_filled, cells)) > 1), 0)
    head = _head_of_two_rows(lines[above:], ranges)
    if head:
        message = f"rows {head.upper} and {head.lower} are read as one header: {', '.join(head.names)}"
        remarks.append(Remark(message, head.upper))
        lines = [*lines[:above], (head.lower, head.names), *lines[above + 2 :]]
        ranges = [merged for merged in ranges if merged.bottom > head.lower]
    problems = [*_formula_errors(path, lines), *_not_worked_out(path, sheet.marks), *_fill_merged(path, lines, ranges)]
    return SheetLines(lines, problems, remarks)


def _filled(cell: str) -> bool:
    return bool(cell.strip())


class _Head(NamedTuple):
    """The two rows of a header, and the column names from both."""

    upper: int
    lower: int
    names: list[str]


def _head_of_two_rows(lines: Sequence[Line], ranges: Sequence[_Range]) -> _Head | None:
    """Return the header of a sheet whose first row has cells merged over columns that the second row names.

    A column has the name in the second row, or that in the first where the second has none (a cell merged over both).
    If two columns would have the same name, each gets that of its group as a prefix. None without such a header.
    """
    if len(lines) < 2 or lines[1][0] != lines[0][0] + 1:
        return None
    (upper, above), (lower, below) = lines[:2]
    groups = [merged for merged in ranges if merged.top == merged.bottom == upper and merged.left < merged.right]
    width = max(len(above), len(below))
    above = above + [""] * (width - len(above))
    below = below + [""] * (width - len(below))
    if sum(1 for cell in above if cell.strip()) < 2 or sum(1 for cell in below if cell.strip()) < 2:
        return None  # a title is one cell
    if not any(all(cell.strip() for cell in below[merged.left - 1 : merged.right]) for merged in groups):
        return None
    group_of = list(above)
    for merged in groups:
        group_of[merged.left - 1 : merged.right] = [above[merged.left - 1]] * (merged.right - merged.left + 1)
    names = [second.strip() or first.strip() for first, second in zip(group_of, below, strict=True)]
    if len(set(names)) < len(names):
        both = zip(group_of, below, strict=True)
        names = [" ".join(filter(None, (first.strip(), second.strip()))) for first, second in both]
    return _Head(upper, lower, names)


def _formula_errors(path: Path, lines: Iterable[Line]) -> Iterator[DataError]:
    """Report each cell whose formula could not be computed, such as #REF!."""
    from openpyxl.utils import get_column_letter

    for row, cells in lines:
        for number, cell in enumerate(cells, start=1):
            if cell in FORMULA_ERRORS or _OPEN_ERROR.fullmatch(cell):
                letters = get_column_letter(number)
                message = f"{letters}{row} holds the formula error {cell} and no text."
                hint = "Correct the formula or write the text itself, then save the workbook again."
                yield DataError(message, path=path, row=row, column=letters, hint=hint)


def _remarks_on(sheet: _Sheet) -> Iterator[Remark]:
    """Yield remarks on what is not read in a workbook, and on what is read although it is hidden."""
    from openpyxl.utils import get_column_letter

    if sheet.others:
        shown = ", ".join(map(repr, sheet.others))
        message = f"only the first sheet, {sheet.name!r}, is read; {shown} holds a table too"
        yield Remark(message, severity="warning")
    if sheet.hidden:
        yield Remark(f"the first sheet, {sheet.name!r}, is hidden in the workbook, and is read", severity="warning")
    numbers = {number for number, _ in sheet.lines}
    rows = [number for number in sheet.marks.hidden_rows if number in numbers]
    if rows:
        more = f" and {len(rows) - _SHOWN_ROWS} more" if len(rows) > _SHOWN_ROWS else ""
        message = f"hidden rows are read, as all others: {', '.join(map(str, rows[:_SHOWN_ROWS]))}{more}"
        yield Remark(f"{message}; delete them if they do not belong", rows[0], "warning")
    yield from sheet.kinds.remarks()
    width = max((len(cells) for _, cells in sheet.lines), default=0)
    columns = [get_column_letter(number) for number in sheet.marks.hidden_columns if number <= width]
    if columns:
        yield Remark(f"hidden columns are read, as all others: {', '.join(columns)}")


def _not_worked_out(path: Path, marks: _Marks) -> Iterator[DataError]:
    """Report each cell whose formula has no result in the file, as a program wrote it without a spreadsheet."""
    for cell in marks.unknown:
        letters = cell.rstrip("0123456789")
        message = f"{cell} holds a formula whose result is not in the file."
        hint = "Open the workbook in a spreadsheet and save it, or write the text itself."
        yield DataError(message, path=path, row=int(cell[len(letters) :]), column=letters, hint=hint)


def _fill_merged(path: Path, lines: Sequence[Line], ranges: Iterable[_Range]) -> Iterator[DataError]:
    """Give merged cells of one column the text that people see in each, and report where they are: "C4:C6".

    A title or a note that is merged over its own row is not reported here.
    """
    rows = dict(lines)
    for merged in ranges:
        first = rows.get(merged.top, [])
        text = first[merged.left - 1] if len(first) >= merged.left else ""
        alone = merged.top == merged.bottom and sum(1 for cell in first if cell.strip()) == 1
        if not text.strip() or alone:
            continue
        for row in range(merged.top + 1, merged.bottom + 1) if merged.left == merged.right else ():
            cells = rows.get(row)
            if cells is not None:
                cells += [""] * (merged.left - len(cells))
                cells[merged.left - 1] = cells[merged.left - 1] or text
        hint = "Unmerge them, and fill in each cell."
        message = f"the cells {merged.name} are merged: only {merged.name.partition(':')[0]} holds the text."
        yield DataError(message, path=path, row=merged.top, column=merged.column, hint=hint)


class _Marks(NamedTuple):
    """What a sheet's XML says about cells, but openpyxl does not when it reads row by row.

    ``merged``: ranges such as "C4:C6". ``hidden_rows``, ``hidden_columns``: their numbers, from 1. ``unknown``: cells
    with a formula whose result is not in the file.
    """

    merged: list[str]
    hidden_rows: list[int]
    hidden_columns: list[int]
    unknown: list[str]


def _marks_in(path: Path, member: str) -> _Marks:
    """Return the marks of a sheet, which is read in chunks."""
    marks = _Marks([], [], [], [])
    rest = b""
    with zipfile.ZipFile(path) as archive, archive.open(member.lstrip("/")) as file:
        while chunk := file.read(1 << 20):
            text = rest + chunk
            # Neither a cell nor a tag is cut in two.
            end = text.rfind(b"c>") + 2 if b"c>" in text else text.rfind(b">") + 1
            _note_marks(text[:end], marks)
            rest = text[end:]
    _note_marks(rest, marks)
    return marks


def _note_marks(text: bytes, marks: _Marks) -> None:
    marks.merged.extend(hit[1].decode() for hit in _MERGED.finditer(text))
    marks.hidden_rows.extend(int(hit[1]) for hit in _HIDDEN_ROW.finditer(text))
    for hit in _HIDDEN_COLUMNS.finditer(text):
        marks.hidden_columns.extend(range(int(hit[1]), min(int(hit[2]), MAX_COLUMNS) + 1))
    if b"<f" in text or b":f" in text:
        marks.unknown.extend(hit[1].decode() for hit in _NOT_WORKED_OUT.finditer(text))


class _Percentage(NamedTuple):
    """A number that a sheet shows as a percentage."""

    value: float


class _CellKinds:
    """Dates and percentages in a sheet, which a spreadsheet may have made of texts, and how many texts columns hold."""

    def __init__(self) -> None:
        self.texts: dict[int, int] = {}
        self.dates: list[tuple[int, int, str]] = []
        self.percentages: list[tuple[int, int, str]] = []

    def watch(self, rows: Iterable[SheetRow]) -> Iterator[SheetRow]:
        """Yield the rows, with percentages as the numbers that they are."""
        for number, values in rows:
            for column, value in enumerate(values, start=1):
                if isinstance(value, str):
                    self.texts[column] = self.texts.get(column, 0) + bool(value.strip())
                elif isinstance(value, datetime.datetime):
                    self.dates.append((number, column, _cell_text(value)))
                elif isinstance(value, _Percentage):
                    self.percentages.append((number, column, str(value.value)))
            yield number, [value.value if isinstance(value, _Percentage) else value for value in values]

    def remarks(self) -> Iterator[Remark]:
        """Yield a remark on dates that stand among texts, and one on percentages that do."""
        for cells, remark in ((self.dates, _DATE_REMARK), (self.percentages, _PERCENTAGE_REMARK)):
            among = [cell for cell in cells if self.texts.get(cell[1], 0) >= _TEXTS]
            if among:
                row, column, text = among[0]
                more = f" (and {len(among) - 1:,} more)" if len(among) > 1 else ""
                yield Remark(remark.format(cell=f"{_letters(column)}{row}{more}", text=text), row, "warning")


def _letters(column: int) -> str:
    from openpyxl.utils import get_column_letter

    return str(get_column_letter(column))


class _Sheet(NamedTuple):
    """The first sheet of a workbook: its lines and marks, whether it is hidden, and which other sheets hold a table.

    ``kinds``: the kinds of its cells.
    """

    name: str
    lines: list[Line]
    marks: _Marks
    others: list[str]
    kinds: _CellKinds
    hidden: bool = False


def _first_sheet(path: Path, counted: Counted) -> _Sheet:
    """Read a workbook's first sheet; raise DataError where it is not a workbook, or only another sheet has a table."""
    _refuse_what_unpacks_to_too_much(path)
    kind = "ODS" if path.suffix.lower() == ".ods" else "XLSX"
    try:
        sheet = _open_document(path, counted) if kind == "ODS" else _office_document(path, counted)
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 - readers raise many kinds for damaged files
        damaged = isinstance(error, (zipfile.BadZipFile, ElementTree.ParseError))
        why = ": it is not a workbook, or it is damaged" if damaged else f" ({type(error).__name__})"
        hint = f"Open it in a spreadsheet and save it again, as {kind} or as 'CSV UTF-8'."
        raise DataError(f"cannot be read as {kind}{why}.", path=path, hint=hint) from None
    if sheet.others and not _looks_like_table(sheet.lines):
        raise DataError(
            f"only its first sheet is read, and that one, {sheet.name!r}, holds no table.",
            path=path,
            hint=f"Move the sheet {sheet.others[0]!r} to the front, or save it as its own workbook.",
        )
    return sheet


def _refuse_what_unpacks_to_too_much(path: Path) -> None:
    with contextlib.suppress(zipfile.BadZipFile, OSError, ValueError, NotImplementedError):  # the readers' to refuse
        with zipfile.ZipFile(path) as archive:
            # As the file declares them; reading a member ends at its declared size.
            size = sum(member.file_size for member in archive.infolist())
        if size > MAX_UNPACKED:
            message = f"unpacks to {size:,} bytes; at most {MAX_UNPACKED:,} are read."
            hint = "If this is intended, split it, or save its table as CSV."
            raise DataError(message, path=path, hint=hint)


def _office_document(path: Path, counted: Counted) -> _Sheet:
    """Read an XLSX workbook."""
    import openpyxl  # heavy, and only this format needs it

    book = openpyxl.load_workbook(path, read_only=True, data_only=True)

    def rows(sheet: Any) -> Iterable[SheetRow]:
        # Otherwise a formatted empty cell in the last corner, XFD1048576, would make 17 thousand million cells.
        sheet.reset_dimensions()
        return ((number, [_as_shown(cell) for cell in cells]) for number, cells in enumerate(sheet.rows, start=1))

    first, *rest = book.worksheets
    kinds = _CellKinds()
    lines = _lines_of(path, kinds.watch(rows(first)), counted)
    first_rows = partial(_first_rows, counted)
    others = [sheet.title for sheet in rest if _looks_like_table(_lines_of(path, rows(sheet), first_rows))]
    marks = _marks_in(path, first._worksheet_path)
    return _Sheet(first.title, lines, marks, others, kinds, first.sheet_state != "visible")


def _as_shown(cell: Any) -> object:
    """Return a cell's value; a whole number that is shown with zeros before it, such as an id, as the text 007."""
    value = cell.value
    if isinstance(value, int) and not isinstance(value, bool) and _ZEROS.fullmatch(cell.number_format):
        return str(value).zfill(len(cell.number_format))
    if isinstance(value, int | float) and not isinstance(value, bool) and "%" in cell.number_format:
        return _Percentage(value)
    return value


def _open_document(path: Path, counted: Counted) -> _Sheet:
    """Read an ODS workbook."""
    from openpyxl.utils import get_column_letter

    name = ""
    lines: list[Line] = []
    marks = _Marks([], [], [], [])
    others: list[str] = []
    kinds = _CellKinds()

    def rows(of_sheet: Iterable[OpenRow]) -> Iterator[SheetRow]:
        for row in of_sheet:
            for left, right, bottom in row.merged if row.sheet_index == 0 else ():
                marks.merged.append(f"{get_column_letter(left)}{row.number}:{get_column_letter(right)}{bottom}")
            if row.hidden and row.sheet_index == 0:
                marks.hidden_rows.append(row.number)
            if row.number:
                yield row.number, row.values

    for (sheet_index, sheet), of_sheet in groupby(
        open_document_rows(path), key=lambda row: (row.sheet_index, row.sheet)
    ):
        if sheet_index == 0:
            name = sheet
            lines = _lines_of(path, kinds.watch(rows(of_sheet)), counted)
        elif _looks_like_table(_lines_of(path, rows(of_sheet), partial(_first_rows, counted))):
            others.append(sheet)
    return _Sheet(name, lines, marks, others, kinds)


def _first_rows(counted: Counted, rows: Iterable[SheetRow]) -> Iterator[SheetRow]:
    """Yield enough rows to decide whether a sheet has a table."""
    return islice(counted(rows), _LOOKED_AT)


def _lines_of(path: Path, rows: Iterable[SheetRow], counted: Counted) -> list[Line]:
    """Return the non-empty lines of a sheet; raise DataError where it is too wide or too large."""
    lines: list[Line] = []
    width = 0
    for number, values in counted(rows):
        filled = max((i for i, value in enumerate(values, start=1) if value is not None), default=0)
        width = max(width, filled)
        if width > MAX_COLUMNS or width * len(lines) > MAX_CELLS:
            message = f"is too wide or too large: at most {MAX_COLUMNS:,} columns and {MAX_CELLS:,} cells are read."
            hint = "Delete what is far to the right of the table, or save the table alone as 'CSV UTF-8'."
            raise DataError(message, path=path, row=number, hint=hint)
        if filled:
            lines.append((number, [_cell_text(value) for value in values[:filled]]))
    return lines


def _looks_like_table(lines: Iterable[Line]) -> bool:
    """Whether there are two lines of two cells: a column's names and a row."""
    return sum(sum(1 for cell in cells if cell.strip()) > 1 for _, cells in lines) > 1


def _cell_text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime.datetime):
        midnight = cell.time() == datetime.time()
        return cell.date().isoformat() if midnight else f"{cell.date().isoformat()} {_cell_text(cell.time())}"
    if isinstance(cell, datetime.time):
        return cell.isoformat("auto" if cell.second or cell.microsecond else "minutes")
    if isinstance(cell, datetime.timedelta) and not cell % _MINUTE:  # 24:00 and later
        hours, minutes = divmod(cell // _MINUTE, 60)
        return f"{hours:02}:{minutes:02}"
    if not isinstance(cell, str):
        return str(cell)
    # The format writes characters that XML lacks as "_x000D_"; a real underscore before such a text as "_x005F_".
    from openpyxl.utils.escape import unescape

    return _LINE_END.sub("\n", unescape(cell) if "_x" in cell else cell)

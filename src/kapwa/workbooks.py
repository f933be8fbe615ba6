"""Sheets of XLSX workbooks as lines of text: dates and times as people write them, merged cells named."""

from __future__ import annotations

import contextlib
import datetime
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from kapwa.errors import DataError

# The number of a row in its file, and its cells.
Line = tuple[int, list[str]]
# A workbook of a million rows is smaller; what unpacks to more is damaged, or meant to fill the memory.
MAX_UNPACKED = 1_000_000_000
# A few bytes can fill every cell up to the last column, XFD; no table that people made is so wide or so large.
MAX_COLUMNS = 1_000
MAX_CELLS = 20_000_000
_MINUTE = datetime.timedelta(minutes=1)
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\b[^>]*?\bref="([A-Z]+[0-9]+:[A-Z]+[0-9]+)"')
_LONGEST_TAG = 200


def fill_merged(path: Path, lines: Sequence[Line], merged: Iterable[str]) -> Iterator[DataError]:
    """Give merged cells of one column the text that people see in each, and say where they are: "C4:C6".

    A title or a note that is merged over a row of its own is named as what it is.
    """
    from openpyxl.utils import range_boundaries

    rows = dict(lines)
    for place in merged:
        left, top, right, bottom = range_boundaries(place)
        first = rows.get(top, [])
        text = first[left - 1] if len(first) >= left else ""
        if not text.strip() or (top == bottom and sum(1 for cell in first if cell.strip()) == 1):
            continue
        for row in range(top + 1, bottom + 1) if left == right else ():
            cells = rows.get(row)
            if cells is not None:
                cells += [""] * (left - len(cells))
                cells[left - 1] = cells[left - 1] or text
        hint = "Unmerge them, and fill in each cell."
        column = place.partition(":")[0].rstrip("0123456789")
        message = f"the cells {place} are merged: only {place.partition(':')[0]} holds the text."
        yield DataError(message, path=path, row=top, column=column, hint=hint)


def _merged_in(path: Path, member: str) -> list[str]:
    """The merged cells of a sheet ("C4:C6"), which openpyxl does not tell of a workbook that it reads row by row."""
    ranges: list[str] = []
    rest = b""
    with zipfile.ZipFile(path) as archive, archive.open(member.lstrip("/")) as file:
        while part := file.read(1 << 20):
            hits = list(_MERGED.finditer(rest + part))
            ranges += [hit[1].decode() for hit in hits]
            rest = (rest + part)[hits[-1].end() if hits else 0 :][-_LONGEST_TAG:]
    return ranges


def sheet_lines(path: Path, counted: Callable[[Iterable[Any]], Iterator[Any]] = iter) -> tuple[list[Line], list[str]]:
    """Return the lines of the first sheet that hold anything, with their cells up to the last filled one, as text.

    And which of its cells are merged.

    Times are written HH:MM (with seconds only where there are some) and dates YYYY-MM-DD, whatever the sheet shows.
    ``counted`` sees each sheet's rows, with all cells that they have, as they are read, and may raise DataError.
    Raises DataError where the file is no workbook, or where another sheet than the first holds the table.
    """
    import openpyxl  # heavy, and only this format needs it

    with contextlib.suppress(zipfile.BadZipFile, OSError, ValueError, NotImplementedError):  # openpyxl's to refuse
        with zipfile.ZipFile(path) as archive:
            # As the file declares them; reading a member ends at its declared size.
            size = sum(member.file_size for member in archive.infolist())
        if size > MAX_UNPACKED:
            message = f"unpacks to {size:,} bytes; at most {MAX_UNPACKED:,} are read."
            hint = "If this is intended, split it, or save its table as CSV."
            raise DataError(message, path=path, hint=hint)
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        names = [sheet.title for sheet in book.worksheets]
        lines = _lines_of(path, book.worksheets[0], counted)
        merged = _merged_in(path, book.worksheets[0]._worksheet_path)
        others = [
            sheet.title
            for sheet in ([] if _looks_like_table(lines) else book.worksheets[1:])
            if _looks_like_table(_lines_of(path, sheet, counted))
        ]
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 - openpyxl raises many kinds for damaged files
        damaged = isinstance(error, zipfile.BadZipFile)
        why = ": it is not a workbook, or it is damaged" if damaged else f" ({type(error).__name__})"
        hint = "Open it in a spreadsheet and save it again, as XLSX or as 'CSV UTF-8'."
        raise DataError(f"cannot be read as XLSX{why}.", path=path, hint=hint) from None
    if others:
        raise DataError(
            f"only its first sheet is read, and that one, {names[0]!r}, holds no table.",
            path=path,
            hint=f"Move the sheet {others[0]!r} to the front, or save it as a workbook of its own.",
        )
    return lines, merged


def _lines_of(path: Path, sheet: Any, counted: Callable[[Iterable[Any]], Iterator[Any]]) -> list[Line]:
    """Return the lines of a sheet that hold anything; raise DataError for one that is too wide or too large."""
    # Else a formatted empty cell in the last corner, XFD1048576, makes 17 thousand million cells.
    sheet.reset_dimensions()
    lines: list[Line] = []
    width = 0
    for number, values in counted(enumerate(sheet.values, start=1)):
        filled = max((i for i, value in enumerate(values, start=1) if value is not None), default=0)
        width = max(width, filled)
        if width > MAX_COLUMNS or width * len(lines) > MAX_CELLS:
            message = f"is too wide or too large: at most {MAX_COLUMNS:,} columns and {MAX_CELLS:,} cells are read."
            hint = "Delete what stands far to the right of the table, or save the table alone as 'CSV UTF-8'."
            raise DataError(message, path=path, row=number, hint=hint)
        if filled:
            lines.append((number, [_cell_text(value) for value in values[:filled]]))
    return lines


def _looks_like_table(lines: Iterable[Line]) -> bool:
    """Whether there are two lines of two cells: a column's names and a row."""
    return sum(sum(1 for cell in cells if cell.strip()) > 1 for _, cells in lines) > 1


def _cell_text(cell: Any) -> str:
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
    return str(cell)

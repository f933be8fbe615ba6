"""Read the table in a workbook's first sheet as lines of text."""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from kapwa.errors import DataError

_MINUTE = datetime.timedelta(minutes=1)


def sheet_lines(path: Path) -> list[list[str]]:
    """Return the cells of the first sheet, line by line from row 1, as text; empty cells are "".

    Times are written HH:MM (with seconds only where there are some) and dates YYYY-MM-DD, whatever the sheet shows.
    Raises DataError where the file is no workbook, or where another sheet than the first holds the table.
    """
    import openpyxl  # heavy, and only this format needs it

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        names = [sheet.title for sheet in book.worksheets]
        lines = _lines(book.worksheets[0].values)
        others = [] if _is_table(lines) else [s.title for s in book.worksheets[1:] if _is_table(_lines(s.values))]
    except Exception as error:  # noqa: BLE001 - openpyxl raises many kinds for damaged files
        raise _unreadable(path, error) from None
    if others:
        raise DataError(
            f"only its first sheet is read, and that one, {names[0]!r}, holds no table.",
            path=path,
            hint=f"Move the sheet {others[0]!r} to the front, or save it as a workbook of its own.",
        )
    return lines


def _lines(values: Iterable[Sequence[Any]]) -> list[list[str]]:
    return [[_text(cell) for cell in line] for line in values]


def _is_table(lines: Iterable[Sequence[str]]) -> bool:
    """Whether there are two lines of two cells: a column's names and a row."""
    return sum(sum(1 for cell in line if cell.strip()) > 1 for line in lines) > 1


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime.datetime):
        midnight = cell.time() == datetime.time()
        return cell.date().isoformat() if midnight else f"{cell.date().isoformat()} {_text(cell.time())}"
    if isinstance(cell, datetime.time):
        return cell.isoformat("auto" if cell.second or cell.microsecond else "minutes")
    if isinstance(cell, datetime.timedelta) and not cell % _MINUTE:  # 24:00 and later
        hours, minutes = divmod(cell // _MINUTE, 60)
        return f"{hours:02}:{minutes:02}"
    return str(cell)


def _unreadable(path: Path, error: Exception) -> DataError:
    if isinstance(error, zipfile.BadZipFile):
        message = "cannot be read as XLSX: it is no workbook, or damaged."
    else:
        message = f"cannot be read as XLSX ({type(error).__name__})."
    return DataError(message, path=path, hint="Open it in a spreadsheet and save it anew, as XLSX or as 'CSV UTF-8'.")

"""Sheets that people fill in: written as CSV and XLSX, read back to exactly what was written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kapwa.build.cells import disarm, printable, rearm
from kapwa.build.workbooks import Sheet, xlsx_bytes
from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import Row, csv_text, read_table, replacing

FORMATS = ("csv", "xlsx")
# The longest text one XLSX cell holds; openpyxl cuts longer ones without a word.
MAX_XLSX_CELL = 32_767

_KINDS = ("choices", "ratings")
_READABLE = (".csv", ".tsv", ".xlsx", ".jsonl")


def render(sheet: Sheet, formats: Sequence[str] = FORMATS) -> dict[str, bytes]:
    """Return the sheet's files by name, ``<name>.csv`` and ``<name>.xlsx``.

    CSV starts with a byte-order mark, without which spreadsheets garble every script but Latin.
    Raises UsageError for an unknown format, or a text longer than a spreadsheet cell.
    """
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise UsageError(f"There is no form format {unknown[0]!r}.", hint=nearest(unknown[0], FORMATS))
    rows = [[printable(cell) for cell in row] for row in sheet.rows]
    files: dict[str, bytes] = {}
    if "csv" in formats:
        files[f"{sheet.name}.csv"] = csv_bytes([column.name for column in sheet.columns], rows)
    if "xlsx" in formats:
        _refuse_long_cells(sheet, rows)
        files[f"{sheet.name}.xlsx"] = xlsx_bytes(sheet, rows)
    return files


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Render a table as UTF-8 CSV with a byte-order mark, every text disarmed."""
    # Already disarmed texts start with an apostrophe, so csv_text leaves them alone.
    return ("\ufeff" + csv_text(header, ([_safe(cell) for cell in row] for row in rows))).encode()


def _safe(cell: Any) -> Any:
    return disarm(printable(cell)) if isinstance(cell, str) else cell


def _refuse_long_cells(sheet: Sheet, rows: Sequence[Sequence[str]]) -> None:
    for number, row in enumerate(rows, start=2):
        for column, cell in zip(sheet.columns, row, strict=True):
            if len(cell) >= MAX_XLSX_CELL:
                raise UsageError(
                    f"Row {number} of {sheet.name}.xlsx: column {column.name!r} has {len(cell):,} characters; "
                    f"a spreadsheet cell holds {MAX_XLSX_CELL:,}.",
                    hint="Ask for CSV only, or leave this text out.",
                )


def write_files(files: Mapping[str, bytes], out: Path) -> list[Path]:
    """Write the files into ``out``, each whole or not at all, and return their paths.

    Refuses before writing anything when one of them exists: it may hold somebody's answers.
    """
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file, but forms are written into a folder.")
    taken = [name for name in files if (out / name).exists()]
    if taken:
        raise UsageError(
            f"{out / taken[0]} exists already and may hold answers.", hint="Name another folder with --out."
        )
    for name, content in files.items():
        with replacing(out / name) as temporary:
            temporary.write_bytes(content)
    return [out / name for name in files]


def read_sheet(path: Path, *, required: Sequence[str] = ()) -> list[Row]:
    """Read a filled sheet (CSV, TSV, JSON lines, XLSX) with every cell as it was before disarming.

    Raises DataError as :func:`kapwa.files.read_table` does.
    """
    rows = read_table(path, required=required)
    return [Row(row.number, {name: rearm(cell) for name, cell in row.cells.items()}) for row in rows]


def header_of(rows: Sequence[Row]) -> list[str]:
    """Return every column name of the rows, in the order they first appear."""
    return list(dict.fromkeys(name for row in rows for name in row.cells))


def refuse_not_a_number(cell: str, *, path: Path, row: int, column: str) -> None:
    """Raise DataError for "NaN" and its like, which a program wrote where a person gave no answer."""
    if cell.casefold() in ("nan", "na", "n/a", "#n/a", "null", "none"):
        raise DataError(
            f"{cell!r} is not an answer.", path=path, row=row, column=column, hint="Leave the cell empty instead."
        )


def sheet_files(paths: str | Path | Sequence[str | Path], kind: str) -> list[Path]:
    """Return the filled sheets that ``paths`` name; of a folder, all but keys and the forms of another kind.

    A sheet somebody renamed is still read, and a stray file fails loudly instead of being left out.
    """
    given = [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]
    found: list[Path] = []
    for path in given:
        if not path.is_dir():
            found.append(path)
            continue
        others = tuple(other for other in _KINDS if other != kind)
        inside = (
            p for p in sorted(path.iterdir()) if p.suffix.lower() in _READABLE and not p.name.startswith((".", "~$"))
        )
        sheets = [p for p in inside if not p.stem.endswith("-key") and not p.name.startswith(others)]
        if not sheets:
            raise DataError("holds no filled sheets.", path=path, hint=f"They are CSV or XLSX, as {kind}-p1.csv.")
        found += sheets
    if not found:
        raise UsageError(f"No file of {kind} was given.")
    return found


def short_names(form_ids: Iterable[str], kind: str) -> dict[str, str]:
    """Call the form ``<kind>-1-0a1b2c3d-p2`` just ``p2`` where no other form read has a ``p2``."""
    ends = {name: re.sub(rf"^{kind}-\d+-[0-9a-f]{{8}}-(?=p\d+$)", "", name) for name in form_ids}
    taken = Counter(ends.values())
    return {name: end if taken[end] == 1 else name for name, end in ends.items()}

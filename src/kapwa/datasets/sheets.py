"""Sheets that people fill in: formatted as workbooks that are pleasant to use, and written as CSV and XLSX."""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import filling
from kapwa.tables import WORKBOOKS, TextRow, csv_bytes, disarm, printable

_MAX_PROMPT = 255  # characters in the tooltip of a validated cell
_LINE = 15.0  # points
_MAX_HEIGHT = 409.0  # points; a spreadsheet allows no more
_INSTRUCTION_WIDTH = 100  # characters


class SheetColumn(NamedTuple):
    """One column of a sheet.

    ``width`` is in characters. A column with ``allowed`` is filled in by a person: ``allowed`` gives the
    permitted answers, one tuple for each row, () where any text is permitted; ``tip`` (title, text) is shown beside the
    cell. ``only_shown``: its texts are not read back, so a text longer than a spreadsheet cell is cut, with a remark.
    """

    name: str
    width: int = 14
    allowed: Sequence[tuple[str, ...]] = ()
    tip: tuple[str, str] = ("", "")
    only_shown: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table for a person to fill in, with a page of instructions (Markdown) beside it."""

    name: str
    columns: Sequence[SheetColumn]
    rows: Sequence[Sequence[str]]
    instructions: str


def xlsx_bytes(sheet: Sheet, rows: Sequence[Sequence[str]]) -> bytes:
    """Return the workbook: the form with validated answer cells, and a page of instructions.

    ``rows``: the sheet's rows as printable text. Raises UsageError for one longer than a spreadsheet cell.
    """
    import openpyxl

    book = openpyxl.Workbook()
    page = book.active
    page.title = "form"
    page.freeze_panes = "A2"
    from_right = right_to_left(cell for row in rows for cell in row)
    page.sheet_view.rightToLeft = from_right
    _head(page, sheet.columns, horizontal="right" if from_right else "left")
    for number, row in enumerate(rows, start=2):
        _body_row(page, number, row, sheet)
    for index, column in enumerate(sheet.columns, start=1):
        if column.allowed:
            _validate(page, index, column)
    _print_setup(page, landscape=True)
    _instruction_page(book.create_sheet("instructions"), sheet.instructions)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _head(page: Any, columns: Sequence[SheetColumn], *, horizontal: str) -> None:
    from openpyxl.styles import Alignment, Font, PatternFill
    from openpyxl.utils import get_column_letter

    for index, column in enumerate(columns, start=1):
        page.column_dimensions[get_column_letter(index)].width = column.width
        cell = page.cell(row=1, column=index, value=column.name)
        cell.font = Font(name="Calibri", bold=True, color="FFFFFF")
        cell.fill = PatternFill("solid", fgColor="37474F")
        cell.alignment = Alignment(vertical="center", horizontal=horizontal)
    page.row_dimensions[1].height = 20


def _body_row(page: Any, number: int, row: Sequence[str], sheet: Sheet) -> None:
    from openpyxl.styles import Alignment, Border, PatternFill, Side

    line = Side(style="thin", color="CFD8DC")
    rule, box = Border(bottom=line), Border(left=line, right=line, bottom=line)
    answer = PatternFill("solid", fgColor="FFF8E1")
    for index, (text, column) in enumerate(zip(row, sheet.columns, strict=True), start=1):
        shown = text
        if len(text) >= MAX_XLSX_CELL:
            limit = f"has {len(text):,} characters; a spreadsheet cell holds {MAX_XLSX_CELL:,}."
            if not column.only_shown:
                location = f"Row {number} of {sheet.name}.xlsx: column {column.name!r}"
                raise UsageError(f"{location} {limit}", hint="Shorten this text, or leave its row out.")
            note = f"… [Cut here: this text {limit[:-1]}. {sheet.name}.csv has all of it.]"
            shown = text[: MAX_XLSX_CELL - 1 - len(note)] + note
        cell = page.cell(row=number, column=index)
        _set_text(cell, shown)
        order = 2 if right_to_left([text]) else 1
        cell.alignment = Alignment(wrap_text=True, vertical="top", readingOrder=order)
        cell.border = box if column.allowed else rule
        if column.allowed:
            cell.fill = answer
    # Without a height, spreadsheets show the first line of a wrapped cell and hide the rest.
    lines = max(_lines(text, column.width) for text, column in zip(row, sheet.columns, strict=True))
    page.row_dimensions[number].height = min(_LINE * (lines + 0.4), _MAX_HEIGHT)


def _lines(text: str, width: int) -> int:
    """Estimate the lines a wrapped text takes; wide (East Asian) characters count twice, marks not at all."""
    room = max(width - 2, 1)
    return sum(max(1, math.ceil(sum(map(_columns, line)) / room)) for line in text.split("\n"))


def _columns(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 2.0
    # Ethiopic syllables are wider than Latin letters.
    return 1.5 if "\u1200" <= character <= "\u139f" else 1.0


def _set_text(cell: Any, text: str) -> None:
    if text:
        cell.value = disarm(text)
        cell.data_type = "s"  # a text even where openpyxl would take it for an error value or a formula
    cell.number_format = "@"  # so that a spreadsheet keeps leading zeros when the cell is edited


def _validate(page: Any, index: int, column: SheetColumn) -> None:
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    by_list: dict[tuple[str, ...], Any] = {}
    for number, allowed in enumerate(column.allowed, start=2):
        if not allowed:
            continue
        if allowed not in by_list:
            title, text = column.tip
            # A warning, not a stop: the reader also takes yes and no in other languages.
            rule = DataValidation("list", formula1=f'"{",".join(allowed)}"', allow_blank=True, errorStyle="warning")
            rule.showErrorMessage = True
            rule.errorTitle, rule.error = "Check this answer", f"Expected one of: {', '.join(allowed)}."
            rule.showInputMessage = bool(text)
            rule.promptTitle, rule.prompt = title[:32] or None, text[:_MAX_PROMPT] or None
            page.add_data_validation(rule)
            by_list[allowed] = rule
        by_list[allowed].add(f"{get_column_letter(index)}{number}")


def _print_setup(page: Any, *, landscape: bool) -> None:
    page.page_setup.orientation = "landscape" if landscape else "portrait"
    page.page_setup.fitToWidth, page.page_setup.fitToHeight = 1, 0
    page.sheet_properties.pageSetUpPr.fitToPage = True
    page.page_margins.left = page.page_margins.right = 0.4
    page.page_margins.top = page.page_margins.bottom = 0.5
    if landscape:
        page.print_title_rows = "1:1"


def _instruction_page(page: Any, markdown: str) -> None:
    from openpyxl.styles import Alignment, Font

    page.column_dimensions["A"].width = _INSTRUCTION_WIDTH
    for number, (text, is_title) in enumerate(_paragraphs(markdown), start=1):
        cell = page.cell(row=number, column=1)
        _set_text(cell, text)
        cell.alignment = Alignment(wrap_text=True, vertical="top")
        cell.font = Font(name="Calibri", bold=is_title, size=14 if is_title else 11)
        page.row_dimensions[number].height = _LINE * (_lines(text, _INSTRUCTION_WIDTH) + 0.5)
    _print_setup(page, landscape=False)


def _paragraphs(markdown: str) -> list[tuple[str, bool]]:
    """Split the instructions into lines of a page, each with a flag for titles, and remove Markdown signs."""
    paragraphs: list[tuple[str, bool]] = []
    follows = False  # a line of a paragraph or of a list's entry that has begun
    for line in markdown.splitlines():
        text = line.replace("**", "").replace("`", "").strip()
        if text.startswith("#"):
            paragraphs.append((text.lstrip("# "), True))
        elif text.startswith("- ") or (text and not follows):
            paragraphs.append((f"• {text[2:]}" if text.startswith("- ") else text, False))
        elif text:
            paragraphs[-1] = (f"{paragraphs[-1][0]} {text}", False)
        follows = bool(text) and not text.startswith("#")
    return paragraphs


def right_to_left(texts: Iterable[str]) -> bool:
    """Return whether most letters of ``texts`` belong to a script written from right to left."""
    balance = 0
    for character in chain.from_iterable(texts):
        direction = unicodedata.bidirectional(character)
        balance += (direction in ("R", "AL")) - (direction == "L")
    return balance > 0


FORMATS = ("csv", "xlsx")
# The longest text of an XLSX cell; openpyxl cuts longer ones without a warning.
MAX_XLSX_CELL = 32_767

# For each kind of sheet, the prefixes of the files of other kinds.
_OTHERS = {"choices": ("ratings", "errors"), "ratings": ("choices",), "forms": (), "verdicts": ()}
# The file beside the sheets of a recorded draw that says how it was drawn.
DRAW = "draw.json"
_READABLE = (".csv", ".tsv", *WORKBOOKS, ".jsonl")


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
        files[f"{sheet.name}.xlsx"] = xlsx_bytes(sheet, rows)
    return files


def write_files(files: Mapping[str, bytes], out: Path) -> list[Path]:
    """Write the files into ``out``, all of them or none, and return their paths.

    Refuses before writing anything when one of them exists: it may hold somebody's answers.
    """
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file, but forms are written into a folder.")
    existing = next((out / name for name in files if (out / name).exists()), None)
    if existing:
        raise UsageError(f"{existing} already exists and may hold answers.", hint="Name another folder with --out.")
    with filling(out) as fresh:
        for name, content in files.items():
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            (fresh / name).write_bytes(content)
    return [out / name for name in files]


def header_of(rows: Sequence[TextRow]) -> list[str]:
    """Return every column name of the rows, in the order they first appear."""
    return list(dict.fromkeys(name for row in rows for name in row.cells))


def sheet_files(paths: str | Path | Sequence[str | Path], kind: str, *, keys: bool | None = False) -> list[Path]:
    """Return the filled sheets (or the ``keys``) that ``paths`` name; of folders, all but forms of another kind.

    ``kind``: "choices", "ratings", or "forms" for both; ``keys`` None: sheets and keys.

    A renamed sheet is still read, and an unrelated file causes an error instead of being skipped.
    """
    what, example = ("key", f"{kind}-key.csv") if keys else ("filled sheets", f"{kind}-p1.csv")
    files: list[Path] = []
    for path in [Path(paths)] if isinstance(paths, str | Path) else map(Path, paths):
        sheets = _sheets_within(path, kind, keys=keys) if path.is_dir() else [path]
        if not sheets:
            raise DataError(f"holds no {what}.", path=path, hint=f"They are CSV or XLSX, as {example}.")
        files += sheets
    if not files:
        raise UsageError(f"No file of {kind} was given.")
    return files


def _sheets_within(folder: Path, kind: str, *, keys: bool | None) -> list[Path]:
    """Return the sheets in a folder, without hidden files and the spreadsheets' own temporary files."""
    sheets = []
    for file in sorted(folder.rglob("*")):
        hidden = any(component.startswith((".", "~$")) for component in file.relative_to(folder).parts)
        wanted = file.suffix.lower() in _READABLE and keys in (None, file.stem.endswith("-key"))
        if wanted and not hidden and not file.name.startswith(_OTHERS[kind]):
            sheets.append(file)
    return sheets


def short_names(form_ids: Iterable[str], kind: str) -> dict[str, str]:
    """Call the form ``<kind>-1-0a1b2c3d-p2`` just ``p2`` where no other form read has a ``p2``."""
    ends = {name: re.sub(rf"^{kind}-\d+-[0-9a-f]{{8}}-(?=p\d+$)", "", name) for name in form_ids}
    counts = Counter(ends.values())
    return {name: end if counts[end] == 1 else name for name, end in ends.items()}


def shuffled(names: Sequence[str], *salt: str | int) -> list[int]:
    """Return the indices of ``names`` in an order that depends on ``salt`` and the names alone.

    Sorting by a hash makes each order equally likely, and gives the same one on every machine and Python version;
    the order of two names does not change when a third is added. Repeated names are numbered.
    """
    seen: Counter[str] = Counter()
    keys = []
    for name in names:
        salted = json.dumps([*salt, name, seen[name]], ensure_ascii=True)
        keys.append(hashlib.blake2b(salted.encode(), digest_size=16).digest())
        seen[name] += 1
    return sorted(range(len(names)), key=keys.__getitem__)

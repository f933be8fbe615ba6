"""Reading users' tables with exact row numbers, and writing files whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import os
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from kapwa.errors import DataError, UsageError, nearest
from kapwa.workbook import sheet_lines

# A cell longer than this is a file with a missing quote, not an answer.
MAX_CELL = 1_000_000
# A workbook of a million rows is smaller; what unpacks to more is damaged, or meant to fill the memory.
MAX_UNPACKED = 1_000_000_000
# How much of a file tells what parts its cells, and above how many lines of title the header is looked for.
_LOOKED_AT = 65_536
_TITLE_LINES = 3
_SHOWN = 40
# The number of a line in its file, and its cells.
_Line = tuple[int, list[str]]


def slug(text: str, *, keep: str = "", longest: int = 80, empty: str = "x") -> str:
    """Return ``text`` as part of a file name: letters and digits of any script and ``keep``, joined by hyphens."""
    words = "".join(c if c.isalnum() or c in keep or unicodedata.category(c)[0] == "M" else " " for c in text.lower())
    return "-".join(words.split())[:longest].strip(f"-{keep}") or empty


class Row(NamedTuple):
    """One record of a table file and the line it starts on (from 1, the header included)."""

    number: int
    cells: dict[str, str]


def read_text(path: Path) -> str:
    """Read UTF-8 text (a byte-order mark is dropped); say where the first bad byte is."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise DataError("no such file.", path=path, hint=_sibling_hint(path)) from None
    except IsADirectoryError:
        raise DataError("is a folder, but a file is needed.", path=path) from None
    except PermissionError:
        raise DataError("cannot be read: permission denied.", path=path) from None
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError("is UTF-16, not UTF-8.", path=path, hint="Save it as 'CSV UTF-8' and try again.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise DataError(
            f"byte 0x{raw[error.start]:02x} is not UTF-8.",
            path=path,
            row=line,
            hint="Save the file as UTF-8 (in a spreadsheet: 'CSV UTF-8') and try again.",
        ) from None


class TableParts(NamedTuple):
    """What could be read of a table file: its columns and rows, and each reason why there is not more of it."""

    header: tuple[str, ...]
    rows: list[Row]
    problems: list[DataError]


def read_table(path: Path, *, required: Sequence[str] = ()) -> list[Row]:
    """Read a CSV, TSV, JSON-lines or XLSX file as rows of strings.

    Every cell is a string exactly as stored (ids keep leading zeros); missing JSON values become "". Rows without a
    single text are left out, and so are columns without a name after the last named one, if they are empty.
    What parts the cells of a CSV file is found out by :func:`separator_of`. Raises DataError naming file, row and
    column for: no header, missing or repeated columns, ragged rows, values outside the columns, unclosed quotes, NUL
    bytes, oversized cells, broken JSON.
    """
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        rows = list(_json_rows(path))
        header = sorted({name for row in rows for name in row.cells})
    else:
        parts = read_parts(path)
        if parts.problems:
            raise parts.problems[0]
        header, rows = list(parts.header), parts.rows
    missing = [name for name in required if name not in header]
    if missing and (rows or header):
        raise DataError(f"column {missing[0]!r} is missing.", path=path, row=1, hint=nearest(missing[0], header))
    if not rows:
        raise DataError("holds no rows.", path=path)
    return rows


def read_parts(path: Path) -> TableParts:
    """Read what can be read of a CSV, TSV or XLSX file, with a problem for each row that cannot; see `read_table`.

    Raises DataError where the file is not there, is no text or no workbook, holds nothing at all, or has a title above
    its header.
    """
    problems: list[DataError] = []
    if path.suffix.lower() == ".xlsx":
        if not path.exists():
            raise DataError("no such file.", path=path, hint=_sibling_hint(path))
        check_unpacked(path)
        sheet = sheet_lines(path)
        width = max(map(len, sheet), default=0)
        lines: Iterator[_Line] = ((n, cells + [""] * (width - len(cells))) for n, cells in enumerate(sheet, start=1))
        separator = ""
    else:
        text = read_text(path)
        problems += _nul_bytes(path, text)
        separator = separator_of(text, path.suffix)
        lines = _csv_lines(path, text.replace("\0", ""), separator, problems)
    filled = (line for line in lines if any(cell.strip() for cell in line[1]))
    head = list(islice(filled, _TITLE_LINES + 2))
    if not head:
        raise problems[0] if problems else DataError("is empty.", path=path)
    misplaced = _misplaced_header(path, head)
    if misplaced is not None:
        raise misplaced
    parts = _as_table(path, head[0], chain(head[1:], filled), separator)
    return parts._replace(problems=[*problems, *parts.problems])


def _nul_bytes(path: Path, text: str) -> Iterator[DataError]:
    if "\0" in text:
        for number, line in enumerate(text.split("\n"), start=1):
            if "\0" in line:
                hint = "The file is damaged or not text."
                yield DataError("holds a NUL byte.", path=path, row=number, hint=hint)


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
    """Yield each record with the line it starts on, up to the first that is no CSV, which is noted."""
    csv.field_size_limit(MAX_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    start = 1
    try:
        for cells in reader:
            line, start = start, reader.line_num + 1
            yield line, cells
    except csv.Error as error:
        hint = "Look for a missing closing quote, an oversized cell, or a truncated file."
        problems.append(DataError(f"is not valid CSV ({error}), from here on.", path=path, row=start, hint=hint))


def _as_table(path: Path, first: _Line, lines: Iterable[_Line], separator: str) -> TableParts:
    """Take lines that are not empty for a header and rows; ``separator`` is "" for a workbook."""
    line, names = first[0], [cell.strip() for cell in first[1]]
    header = names[: max(i for i, name in enumerate(names, start=1) if name)]
    repeated = [name for i, name in enumerate(header) if name in header[:i]]
    problems = [DataError("appears twice in the header.", path=path, row=line, column=name) for name in repeated]
    rows: list[Row] = []
    for number, cells in lines:
        problem = _misfit(path, number, cells, names, len(header), separator)
        if problem is not None:
            problems.append(problem)
        elif not repeated:  # else no row's cells can be told apart
            rows.append(Row(number, dict(zip(header, cells, strict=False))))
    return TableParts(tuple(header), rows, problems)


def _misplaced_header(path: Path, lines: Sequence[_Line]) -> DataError | None:
    """Say where the columns' names are when the first of a table's ``lines`` is a title: one cell above several."""
    counts = [sum(1 for cell in cells if cell.strip()) for _, cells in lines[: _TITLE_LINES + 1]]
    below = next((i for i, count in enumerate(counts) if count > 1), 0)
    # A table of one column may have rows with a separator too many; a title's rows are all alike.
    alike = len({len(cells) for _, cells in lines[below:]}) == 1
    if not below or (len(lines[0][1]) == 1 and not (alike and len(lines) > below + 1)):
        return None
    title, row = next(cell.strip() for cell in lines[0][1] if cell.strip()), lines[below][0]
    hint = f"Remove {'the rows' if row - lines[0][0] > 1 else f'row {lines[0][0]}'} above it: a table begins with it."
    shown = title if len(title) <= _SHOWN else f"{title[: _SHOWN - 1]}…"
    message = f"holds {shown!r} alone; the header seems to be in row {row}."
    return DataError(message, path=path, row=lines[0][0], hint=hint)


def _misfit(
    path: Path, number: int, cells: Sequence[str], names: Sequence[str], width: int, separator: str
) -> DataError | None:
    """Say why a line is no row of the table: too many or too few cells, or a value where no column is."""
    if len(cells) != len(names):
        hint = f"Quote cells that contain the separator ({separator!r}) or a line break."
        return DataError(f"has {len(cells)} cells, the header has {len(names)}.", path=path, row=number, hint=hint)
    outside = next((i for i in range(width, len(cells)) if cells[i].strip()), None)
    if outside is None:
        return None
    letters = _column_letters(outside)
    message = f"{letters}{number} holds a value outside the table's columns."
    return DataError(
        message, path=path, row=number, column=letters, hint="Remove it, or give its column a name in the header."
    )


def _column_letters(index: int) -> str:
    """What a spreadsheet calls the column of ``index`` (from 0): A, B, …, Z, AA, …."""
    letters = ""
    while index >= 0:
        index, rest = index // 26 - 1, index % 26
        letters = chr(ord("A") + rest) + letters
    return letters


def _json_rows(path: Path) -> Iterator[Row]:
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
            raise DataError(f"is not valid JSON ({reason}).", path=path, row=number) from None
        if not isinstance(record, dict):
            raise DataError("is not a JSON object.", path=path, row=number)
        yield Row(number, {str(k): v if isinstance(v, str) else _cell(v) for k, v in record.items()})


def _cell(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def check_unpacked(path: Path) -> None:
    """Refuse a zip file, such as a workbook, that unpacks to over :data:`MAX_UNPACKED` bytes.

    Sizes are those the file declares; reading a member ends at its declared size. Raises DataError; a file that is no
    zip file passes, and is its reader's to refuse.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return
    if size > MAX_UNPACKED:
        raise DataError(
            f"unpacks to {size:,} bytes; at most {MAX_UNPACKED:,} are read.",
            path=path,
            hint="If it is what it should be, split it, or save its table as CSV.",
        )


def _sibling_hint(path: Path) -> str | None:
    with contextlib.suppress(OSError):
        names = [p.name for p in path.parent.iterdir()]
        return nearest(path.name, names) if names else None
    return None


def may_write(*places: Path) -> bool:
    """Say whether all of ``places`` that exist can be written, by the rights this process has now."""
    effective = os.access in os.supports_effective_ids
    return all(os.access(place, os.W_OK, effective_ids=effective) for place in places if place.exists())


def in_the_way(folder: Path) -> str | None:
    """Say why nothing can be written in ``folder``, which need not be there yet; None where nothing plainly forbids it.

    Nothing is made. What only the attempt can show, such as a full disk, is not looked for.
    """
    there = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    if not there.is_dir():
        return f"{there} is a file, not a folder"
    return None if may_write(there) else f"{there} is read-only"


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success fsync it and rename it over ``path``.

    On any error the temporary file is removed and ``path`` is left as it was. Raises UsageError where ``path`` is a
    folder.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder, and a file is to be written.", hint="Name a file.")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        # Whoever asked for the file never heard of the temporary one.
        error.filename = str(path)
        raise
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as readable JSON with sorted keys, whole or not at all."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False) + "\n")


def spreadsheet_safe(cell: str) -> str:
    """Disarm a cell that a spreadsheet would run as a formula, by putting an apostrophe before it."""
    return "'" + cell if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Render a table as spreadsheet-safe CSV (strings disarmed, numbers left alone, None empty)."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(header)
    for row in rows:
        writer.writerow([spreadsheet_safe(c) if isinstance(c, str) else "" if c is None else c for c in row])
    return out.getvalue()


def digest(parts: Mapping[str, bytes]) -> str:
    """Hash named byte strings, in name order: 16 hex digits of BLAKE2b."""
    state = hashlib.blake2b(digest_size=8)
    for name in sorted(parts):
        state.update(name.encode() + b"\0" + len(parts[name]).to_bytes(8, "big") + parts[name])
    return state.hexdigest()

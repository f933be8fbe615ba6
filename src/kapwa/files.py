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
from pathlib import Path
from typing import Any, NamedTuple

from kapwa.errors import DataError, UsageError, nearest

# A cell longer than this is a file with a missing quote, not an answer.
MAX_CELL = 1_000_000
# A workbook of a million rows is smaller; what unpacks to more is damaged, or meant to fill the memory.
MAX_UNPACKED = 1_000_000_000


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


def read_table(path: Path, *, required: Sequence[str] = (), delimiter: str | None = None) -> list[Row]:
    """Read a CSV, TSV, JSON-lines or XLSX file as rows of strings.

    Every cell is a string exactly as stored (ids keep leading zeros); missing JSON values become "".
    Raises DataError naming file, row and column for: no header, missing or repeated columns, ragged
    rows, unclosed quotes, NUL bytes, oversized cells, broken JSON.
    """
    suffix = path.suffix.lower()
    if suffix in (".jsonl", ".ndjson"):
        rows = list(_json_rows(path))
        header = sorted({name for row in rows for name in row.cells})
    elif suffix == ".xlsx":
        header, rows = _xlsx_rows(path)
    else:
        header, rows = _csv_rows(path, delimiter or ("\t" if suffix in (".tsv", ".tab") else ","))
    missing = [name for name in required if name not in header]
    if missing and (rows or header):
        raise DataError(f"column {missing[0]!r} is missing.", path=path, row=1, hint=nearest(missing[0], header))
    if not rows:
        raise DataError("holds no rows.", path=path)
    return rows


def _csv_rows(path: Path, delimiter: str) -> tuple[list[str], list[Row]]:
    text = read_text(path)
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise DataError("holds a NUL byte.", path=path, row=line, hint="The file is damaged or not text.")
    csv.field_size_limit(MAX_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[Row] = []
    header: list[str] = []
    start = 1
    try:
        for cells in reader:
            line, start = start, reader.line_num + 1
            if not cells:
                continue
            if not header:
                header = _checked_header([cell.strip() for cell in cells], path, line)
                continue
            if len(cells) != len(header):
                raise DataError(
                    f"has {len(cells)} cells, the header has {len(header)}.",
                    path=path,
                    row=line,
                    hint="Quote cells that contain the separator or a line break.",
                )
            rows.append(Row(line, dict(zip(header, cells, strict=True))))
    except csv.Error as error:
        raise DataError(
            f"is not valid CSV ({error}).",
            path=path,
            row=start,
            hint="Look for a missing closing quote, or a truncated file.",
        ) from None
    if not header:
        raise DataError("is empty.", path=path)
    return header, rows


def _checked_header(header: list[str], path: Path, line: int) -> list[str]:
    for i, name in enumerate(header):
        if name in header[:i]:
            raise DataError("appears twice in the header.", path=path, row=line, column=name)
    return header


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


def _xlsx_rows(path: Path) -> tuple[list[str], list[Row]]:
    import openpyxl  # heavy, and only this format needs it

    if not path.exists():
        raise DataError("no such file.", path=path, hint=_sibling_hint(path))
    check_unpacked(path)
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        lines = [["" if cell is None else str(cell) for cell in line] for line in book.worksheets[0].values]
    except Exception as error:  # noqa: BLE001 - openpyxl raises many kinds for damaged files
        raise DataError(f"cannot be read as XLSX ({type(error).__name__}).", path=path) from None
    if not lines:
        raise DataError("is empty.", path=path)
    header = _checked_header([cell.strip() for cell in lines[0]], path, 1)
    rows = [Row(i, dict(zip(header, line, strict=False))) for i, line in enumerate(lines[1:], start=2) if any(line)]
    return header, rows


def check_unpacked(path: Path, most: int | None = None) -> None:
    """Refuse a zip file (a workbook, a log) that unpacks to over ``most`` bytes (None: :data:`MAX_UNPACKED`).

    Sizes are those the file declares; reading a member ends at its declared size. Raises DataError; a file that is no
    zip file passes, and is its reader's to refuse.
    """
    limit = MAX_UNPACKED if most is None else most
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return
    if size > limit:
        raise DataError(
            f"unpacks to {size:,} bytes; at most {limit:,} are read.",
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

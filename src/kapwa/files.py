"""Read users' texts, and write files whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import glob
import hashlib
import io
import json
import math
import os
import re
import shutil
import tempfile
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from kapwa.errors import DataError, UsageError, nearest

_STALE = 60.0  # seconds
_LOOKED_AT = 100  # bytes
_BLOCK = 1 << 20  # bytes of a file that are read at once
_MARK = "\ufeff"  # before UTF-8; programs that join files write several


def slug(text: str, *, keep: str = "", longest: int = 80, empty: str = "x") -> str:
    """Return ``text`` as part of a file name: letters and digits of any script and ``keep``, joined by hyphens."""
    words = "".join(c if c.isalnum() or c in keep or unicodedata.category(c)[0] == "M" else " " for c in text.lower())
    return "-".join(words.split())[:longest].strip(f"-{keep}") or empty


@contextlib.contextmanager
def _open_binary(path: Path) -> Iterator[BinaryIO]:
    """Open a user's file; raise DataError where there is none or it cannot be read."""
    check_ordinary(path)
    try:
        with path.open("rb") as file:
            yield file
    except FileNotFoundError:
        raise DataError("no such file.", path=path, hint=sibling_hint(path)) from None
    except IsADirectoryError:
        raise DataError("is a folder, but a file is needed.", path=path, hint="Name a file.") from None
    except PermissionError:
        raise DataError("cannot be read: permission denied.", path=path) from None


# How files of other kinds begin, whatever their names say: what they are, and what to do.
_OTHER_KINDS: tuple[tuple[bytes, str, str], ...] = (
    (b"PK\x03\x04", "a ZIP archive or a workbook", "Unpack it, or name a workbook .xlsx or .ods."),
    (b"\x1f\x8b", "compressed (gzip)", "Unpack it (gunzip), and name what comes out."),
    (b"PAR1", "a Parquet table", "Name it .parquet."),
    (b"%PDF-", "a PDF", "Save its table as 'CSV UTF-8'."),
    (b"\xd0\xcf\x11\xe0", "an old workbook (XLS)", "Open it in a spreadsheet, and save it as XLSX."),
    (
        b"version https://git-lfs.github.com/spec/",
        "a note of Git LFS on where the file lies, not the file itself",
        "Fetch the file: git lfs pull.",
    ),
    (b"<!doctype html", "a web page, perhaps one that asks to sign in", "Download the file itself."),
    (b"<html", "a web page, perhaps one that asks to sign in", "Download the file itself."),
)


def refuse_other_kinds(beginning: bytes, path: Path) -> None:
    """Raise DataError where a file that should hold a table's text begins as one of another kind does."""
    begins = beginning.lstrip().lower()
    for mark, kind, hint in _OTHER_KINDS:
        if begins.startswith(mark.lower()):
            raise DataError(f"is {kind}.", path=path, hint=hint)


def _refuse_other_encodings(raw: bytes, path: Path) -> None:
    beginning = raw[:_LOOKED_AT]
    refuse_other_kinds(beginning, path)
    # Of text in Latin letters every other byte is zero, which UTF-8 has nowhere.
    unmarked = 4 * max(beginning[::2].count(0), beginning[1::2].count(0)) > len(beginning) > 3
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")) or unmarked:
        raise DataError("is UTF-16, not UTF-8.", path=path, hint="Save it as 'CSV UTF-8' and try again.")


def _not_utf8(error: UnicodeDecodeError, path: Path, row: int) -> DataError:
    message = f"byte 0x{error.object[error.start]:02x} is not UTF-8."
    hint = "Save the file as UTF-8 (in a spreadsheet: 'CSV UTF-8') and try again."
    return DataError(message, path=path, row=row, hint=hint)


def read_text(path: Path) -> str:
    """Read UTF-8 text (a byte-order mark is dropped); say where the first bad byte is."""
    with _open_binary(path) as file:
        raw = file.read()
    _refuse_other_encodings(raw, path)
    try:
        return raw.decode().lstrip(_MARK)
    except UnicodeDecodeError as error:
        raise _not_utf8(error, path, raw[: error.start].count(b"\n") + 1) from None


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each line of UTF-8 text, with its end and its number from 1; a file of any size is read in little memory.

    A carriage return alone ends a line, too. Raises what :func:`read_text` does, when the line is reached.
    """
    with _open_binary(path) as file:
        number = 0
        while block := file.readlines(_BLOCK):
            if number == 0:
                _refuse_other_encodings(block[0], path)
            yield from _decoded_lines(block, number, path)
            number += len(block)


def _decoded_lines(block: Sequence[bytes], before: int, path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a part of a file that comes after ``before`` lines, with their numbers."""
    lines: list[str] = []
    bad: DataError | None = None
    for raw in block:
        try:
            lines.append(raw.decode())
        except UnicodeDecodeError as error:
            bad = _not_utf8(error, path, before + len(lines) + 1)
            break
    if before == 0 and lines:
        lines[0] = lines[0].lstrip(_MARK)
    numbered = enumerate(lines, start=before + 1)
    if b"\r" not in b"".join(block):
        yield from numbered
    else:
        for number, line in numbered:
            if "\r" in line[:-2] or line.endswith("\r"):
                yield from ((number, part) for part in io.StringIO(line, newline=""))
            else:
                yield number, line
    if bad is not None:
        raise bad


def table_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV table that ships with Kapwa."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def check_ordinary(path: Path) -> None:
    """Raise DataError for a pipe or a device, which may never end; a file that is not there passes."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise DataError(
            "is a pipe or a device, not a file.", path=path, hint="Save what it gives as a file, and name that."
        )


def sibling_hint(path: Path) -> str | None:
    """Return the names that are near a file's, for one that is not there."""
    with contextlib.suppress(OSError):
        names = [p.name for p in path.parent.iterdir()]
        return nearest(path.name, names) if names else None
    return None


def may_write(*paths: Path) -> bool:
    """Say whether all of ``paths`` that exist can be written, by the rights this process has now."""
    effective = os.access in os.supports_effective_ids
    return all(os.access(path, os.W_OK, effective_ids=effective) for path in paths if path.exists())


def in_the_way(folder: Path) -> str | None:
    """Say why nothing can be written in ``folder``, which need not be there yet; None where nothing plainly forbids it.

    Nothing is made. What only the attempt can show, such as a full disk, is not looked for.
    """
    nearest_parent = next(parent for parent in (folder, *folder.absolute().parents) if os.path.lexists(parent))
    if not nearest_parent.is_dir():
        return f"{nearest_parent} is a file, not a folder"
    return None if may_write(nearest_parent) else f"{nearest_parent} is read-only"


def _clear_killed(folder: Path, name: str) -> None:
    """Remove what writers of ``name`` that were killed left in ``folder``; the last minute's may still be written."""
    for left in folder.glob(f".{glob.escape(name)}.*.part*"):
        with contextlib.suppress(OSError):  # another process was quicker
            # A killed command may have set a folder aside there, which nobody has but here.
            if time.time() - left.stat().st_mtime > _STALE and not (left / "old").exists():
                shutil.rmtree(left) if left.is_dir() else left.unlink()


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success fsync it and rename it over ``path``.

    On any error the temporary file is removed and ``path`` is left as it was. Raises UsageError where ``path`` is a
    folder, a pipe or a device: the rename would take its place.
    """
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a pipe or a device"
        raise UsageError(f"{path} is {kind}, but a file is needed.", hint="Name a file.")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        error.filename = str(path)  # whoever asked for it never heard of the temporary one
        raise
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
        _clear_killed(path.parent, path.name)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def filling(folder: Path, *, anew: bool = False) -> Iterator[Path]:
    """Yield an empty folder; on success the files put into it come to stand in ``folder``.

    Where ``folder`` is there already, its other files stay, or with ``anew`` it is replaced as a whole. On any error
    it is left as it was.
    """
    # Within a folder that stays: it may be a disk of its own, such as a volume of a container.
    destination = folder if folder.is_dir() and not anew else folder.parent
    try:
        destination.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=destination))
    except OSError as error:
        error.filename = str(folder)
        raise
    fresh, earlier = temporary / "new", temporary / "old"
    try:
        fresh.mkdir()
        yield fresh
        files = [file for file in fresh.rglob("*") if file.is_file()]
        for file in files:
            with file.open("rb+") as written:
                os.fsync(written.fileno())
        if anew and folder.exists():
            folder.rename(earlier)
        if not folder.exists():
            fresh.rename(folder)
        else:  # a key first: sheets without their key are of no use
            for file in sorted(files, key=lambda file: not file.stem.endswith("-key")):
                target = folder / file.relative_to(fresh)
                target.parent.mkdir(parents=True, exist_ok=True)
                file.replace(target)
        _clear_killed(destination, folder.name)
    finally:
        if earlier.exists() and not folder.exists():
            earlier.rename(folder)
        shutil.rmtree(temporary, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def write_json(path: Path, value: object, *, sort: bool = True) -> None:
    """Write ``value`` as readable JSON with sorted keys (or in their order), whole or not at all."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, sort_keys=sort, allow_nan=False) + "\n")


def jsonable(value: object, home: re.Pattern[str] | None = None) -> Any:
    """Return ``value`` as JSON knows it: mappings to dicts, sequences to lists; the user's ``home`` folder as "~".

    Sets are sorted; NaN and infinities become None; anything else becomes its text.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if home is None:
        folder = os.path.expanduser("~")
        home = re.compile(rf"{re.escape(folder)}(?=[/\\]|$)" if len(folder) > 1 else "(?!)")
    if isinstance(value, Mapping):
        return {home.sub("~", str(key)): jsonable(item, home) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if isinstance(value, list | tuple):
        return [jsonable(item, home) for item in value]
    return home.sub("~", str(value))


def digest(contents: Mapping[str, bytes]) -> str:
    """Hash named byte strings, in name order: 16 hex digits of BLAKE2b."""
    state = hashlib.blake2b(digest_size=8)
    for name in sorted(contents):
        state.update(name.encode() + b"\0" + len(contents[name]).to_bytes(8, "big") + contents[name])
    return state.hexdigest()

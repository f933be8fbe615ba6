"""The one gate of all that somebody brings: kind, bytes, rows, columns, cells, tables, before anybody else has to wait.

A file is read here, outside of the writer's lock, and only as far as the limits go; so are lines that somebody pastes.
"""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _

from kapwa.errors import DataError
from kapwa.files import sibling_hint
from kapwa.tables import WORKBOOKS, Most, read_with_problems

# Not Parquet, of which a small file unpacks to any size.
TABLES = (".csv", ".tsv", *WORKBOOKS)
QUESTIONS = (".csv", ".tsv", ".jsonl", *WORKBOOKS)
ITEMS = (*QUESTIONS, ".zip")
PACKS = (*QUESTIONS, ".yaml")  # what an archive holds of a release
WORK = (*TABLES, ".json")
MOST_BYTES = 5_000_000
MOST_ARCHIVED = 15_000_000  # a whole project, which whoever runs the studio brings back
_MOST_UNPACKED = 20_000_000
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unpack slowly, or into much memory
MOST = Most(rows=2_000, cells=100_000, columns=500)
MOST_TABLES = 50  # in an archive, or sent together
MOST_RECORDS = 200  # that a phone sends at once, and that are taken in while others wait


class Size(NamedTuple):
    """How many rows and columns tables have together."""

    rows: int = 0
    columns: int = 0

    def with_another(self, path: Path, other: Size) -> Size:
        """Return the size with another table; raise DataError, naming the file ``path``, where both are too large."""
        both = Size(self.rows + other.rows, self.columns + other.columns)
        if both.rows > MOST.rows or both.columns > MOST.columns:
            message = f"has more than {MOST.rows:,} rows or {MOST.columns:,} columns in its tables."
            raise DataError(message, path=path, hint="Split it.")
        return both


@contextmanager
def brought(
    sent: Sequence[UploadedFile[bytes]], kinds: Sequence[str], *, unpack: bool = False, most: int = MOST_BYTES
) -> Iterator[Path]:
    """Keep what was sent for a while: a file, or the folder of several, with ``unpack`` also of an archive.

    Raises DataError where the gate refuses one.
    """
    with tempfile.TemporaryDirectory(prefix="kapwa-studio-") as place:
        _count_tables(len(sent), sent[0].name or "")
        size = Size()
        for file in sent:
            path = Path(place) / (Path(file.name or "").name[-60:] or "file")
            if path.exists():
                message = _("Two of the files have the same name: %s.") % path.name
                raise DataError(message, path=path.name, hint=_("Rename one of them."))
            try:
                path.write_bytes(file.read(most + 1))  # one byte more tells that it is too large
                size = size.with_another(path, admit(path, kinds, most))
                if unpack and path.suffix.lower() == ".zip":
                    _unpack(path, Path(place), size)
            except DataError as error:
                error.path = path.name
                raise
        inside = list(Path(place).iterdir())
        try:
            yield inside[0] if len(inside) == 1 else Path(place)
        except DataError as error:
            error.path = Path(error.path or "").name
            raise


def _unpack(path: Path, place: Path, size: Size) -> None:
    """Unpack the tables and cards of an archive, and remove it; ``size``: of what was sent beside it."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if Path(member.filename).suffix.lower() in PACKS]
            _count_tables(len(members), path.name)
            _refuse_packed(path, archive)
            for member in members:
                size = size.with_another(path, admit(Path(archive.extract(member, place)), PACKS))
    except (OSError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error):
        raise DataError("cannot be unpacked.", path=path, hint="Pack it as ZIP anew, without a password.") from None
    path.unlink()


def admit(path: Path, kinds: Sequence[str], most: int = MOST_BYTES) -> Size:
    """Return the size of a file's table; raise DataError for one of no kind of ``kinds``, or that is too large.

    What is wrong with its rows is said where they are taken in.
    """
    if not path.is_file():
        raise DataError("no such file.", path=path, hint=sibling_hint(path))
    suffix = path.suffix.lower()
    if suffix not in kinds:
        message = _("The studio cannot read files of the kind “%(kind)s”.") % {"kind": suffix}
        raise DataError(message, path=path, hint=_("Choose a file of one of these kinds: %s.") % ", ".join(kinds))
    if path.stat().st_size > most:
        raise DataError(_("is too large."), path=path, hint=_("Split it."))
    if suffix in WORKBOOKS and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            _refuse_packed(path, archive)
    if suffix not in QUESTIONS:
        return Size()
    table = read_with_problems(path, MOST)
    return Size(len(table.records), len(table.header))


def _count_tables(tables: int, name: str) -> None:
    if tables > MOST_TABLES:
        message = _("has more than %(most)s tables.") % {"most": MOST_TABLES}
        raise DataError(message, path=name, hint=_("Split it."))


def _refuse_packed(path: Path, archive: zipfile.ZipFile) -> None:
    """Raise DataError for an archive that unpacks to too much, or is packed so that it takes long or much memory."""
    members = archive.infolist()
    if sum(member.file_size for member in members) > _MOST_UNPACKED:
        raise DataError(_("is too large."), path=path, hint=_("Split it."))
    refuse_strange_packing(path, archive)


def refuse_strange_packing(path: Path, archive: zipfile.ZipFile) -> None:
    """Raise DataError for an archive whose files are packed in another way than all programs pack them."""
    if any(member.compress_type not in _PACKINGS for member in archive.infolist()):
        raise DataError("cannot be unpacked.", path=path, hint="Pack it as ZIP anew, without a password.")


def pasted_lines(text: str) -> list[str]:
    """Return the lines that somebody pasted and that say something; raise DataError where there are too many."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) > MOST.rows:
        message = _("There are more than %(most)s lines.") % {"most": f"{MOST.rows:,}"}
        raise DataError(message, hint=_("Send less at once."))
    return lines

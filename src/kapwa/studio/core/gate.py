"""The one gate of every file that somebody brings: kind, bytes, rows and cells, before anybody else has to wait.

A file is read here, outside of the writer's lock, and only as far as the limits go.
"""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _

from kapwa.errors import DataError
from kapwa.files import sibling_hint
from kapwa.tables_io import Most, read_parts

# Not Parquet, of which a small file unpacks to any size.
TABLES = (".csv", ".tsv", ".xlsx")
QUESTIONS = (".csv", ".tsv", ".jsonl", ".xlsx")
ITEMS = (*QUESTIONS, ".zip")
PACKS = (*QUESTIONS, ".yaml")  # what an archive holds of a release
WORK = (*TABLES, ".json")
MOST_BYTES = 5_000_000
MOST_ARCHIVED = 15_000_000  # a whole project, which whoever runs the studio brings back
_MOST_UNPACKED = 20_000_000
MOST = Most(rows=2_000, cells=100_000)
MOST_RECORDS = 200  # that a phone sends at once, and that are taken in while others wait


@contextmanager
def brought(
    sent: Sequence[UploadedFile[bytes]], kinds: Sequence[str], *, unpack: bool = False, most: int = MOST_BYTES
) -> Iterator[Path]:
    """Keep what was sent for a while: a file, or the folder of several, with ``unpack`` also of an archive.

    Raises DataError where the gate refuses one.
    """
    with tempfile.TemporaryDirectory(prefix="kapwa-studio-") as place:
        for file in sent:
            path = Path(place) / (Path(file.name or "").name[-60:] or "file")
            if path.exists():
                message = _("Two of the files have the same name: %s.") % path.name
                raise DataError(message, path=path.name, hint=_("Rename one of them."))
            try:
                path.write_bytes(file.read(most + 1))  # one byte more tells that it is too large
                admit(path, kinds, most)
                if unpack and path.suffix.lower() == ".zip":
                    _unpack(path, Path(place))
            except DataError as error:
                error.path = path.name
                raise
        inside = list(Path(place).iterdir())
        try:
            yield inside[0] if len(inside) == 1 else Path(place)
        except DataError as error:
            error.path = Path(error.path or "").name
            raise


def _unpack(path: Path, place: Path) -> None:
    """Unpack the tables and cards of an archive, and remove it."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if Path(member.filename).suffix.lower() in PACKS]
            if sum(member.file_size for member in members) > _MOST_UNPACKED:
                raise DataError(_("is too large."), path=path, hint=_("Split it."))
            for member in members:
                admit(Path(archive.extract(member, place)), PACKS)  # a workbook is an archive, too
    except (OSError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error):
        raise DataError("cannot be unpacked.", path=path, hint="Pack it as ZIP anew, without a password.") from None
    path.unlink()


def admit(path: Path, kinds: Sequence[str], most: int = MOST_BYTES) -> None:
    """Raise DataError for a file of no kind of ``kinds``, or one with more bytes, rows or cells than are read.

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
    if suffix == ".xlsx" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > _MOST_UNPACKED:
                raise DataError(_("is too large."), path=path, hint=_("Split it."))
    if suffix in QUESTIONS:
        read_parts(path, MOST)

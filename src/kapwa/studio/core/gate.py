"""The one gate of every file that somebody brings: kind, bytes, rows and cells, before anybody else has to wait.

A file is read here, outside of the writer's lock, and only as far as the limits go.
"""

from __future__ import annotations

import tempfile
import zipfile
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
WORK = (*TABLES, ".json")
MOST_BYTES = 5_000_000
MOST_ARCHIVED = 15_000_000  # a whole project, which whoever runs the studio brings back
_MOST_UNPACKED = 20_000_000
MOST = Most(rows=2_000, cells=100_000)
MOST_RECORDS = 200  # that a phone sends at once, and that are taken in while others wait


@contextmanager
def brought(
    sent: UploadedFile[bytes] | bytes, kinds: Sequence[str], *, name: str, most: int = MOST_BYTES
) -> Iterator[Path]:
    """Keep what was sent in a file called ``name`` for a while; raise DataError where the gate refuses it."""
    with tempfile.TemporaryDirectory(prefix="kapwa-studio-") as place:
        path = Path(place) / (Path(name).name[-60:] or "file")
        try:
            # One byte more tells that it is too large.
            path.write_bytes(sent if isinstance(sent, bytes) else sent.read(most + 1))
            admit(path, kinds, most)
            yield path
        except DataError as error:
            error.path = path.name
            raise


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

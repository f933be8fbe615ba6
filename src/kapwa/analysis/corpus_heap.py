"""Texts in a temporary file, each found again at its place: for sources that cannot be read from the middle.

The file lies in the system's folder for such things (``TMPDIR``) and takes as much room as the texts; it goes when
the last corpus that uses it goes, and at the latest when the process ends.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from kapwa.errors import RunError

_LENGTH = 4


class TextHeap:
    """Append texts, then read them by place. A copy in another process reads only; the first one cleans up."""

    def __init__(self) -> None:
        try:
            folder = Path(tempfile.mkdtemp(prefix="kapwa-texts-"))
        except OSError as error:
            raise _no_room(error) from error
        self.path = folder / "texts"
        self._end = 0
        self._file: BinaryIO | None = self.path.open("wb", buffering=1 << 20)
        weakref.finalize(self, _remove, folder, os.getpid())

    def __getstate__(self) -> dict[str, object]:
        self.close()
        return {"path": self.path, "_end": self._end, "_file": None}

    def append(self, text: str) -> int:
        """Store ``text`` and return its place; raise RunError when the disk is full."""
        assert self._file is not None, "closed for writing"
        raw = text.encode()
        place = self._end
        try:
            self._file.write(len(raw).to_bytes(_LENGTH, "little") + raw)
        except OSError as error:
            raise _no_room(error) from error
        self._end += _LENGTH + len(raw)
        return place

    def close(self) -> None:
        """End writing; reading may begin."""
        if self._file is not None:
            file, self._file = self._file, None
            try:
                file.close()
            except OSError as error:
                raise _no_room(error) from error

    def texts(self, places: Sequence[int]) -> list[str]:
        """Return the texts at ``places``, in their order."""
        self.close()
        found = []
        with self.path.open("rb") as file:
            for place in places:
                file.seek(place)
                length = int.from_bytes(file.read(_LENGTH), "little")
                found.append(file.read(length).decode())
        return found


def _remove(folder: Path, owner: int) -> None:
    # A forked worker inherits this; only the process that made the folder may take it away.
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _no_room(error: OSError) -> RunError:
    return RunError(
        f"Texts cannot be laid out in {tempfile.gettempdir()}: {error.strerror or error}.",
        hint="They need as much free space as they have; name another folder in the variable TMPDIR.",
    )

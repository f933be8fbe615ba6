"""Texts in a temporary file, each found again at its place: for sources that cannot be read from the middle.

The file lies in the system's folder for such things (``TMPDIR``) and takes as much room as the texts; it goes when
the last corpus that uses it goes, and at the latest when the process ends. What a killed process left is taken away
by the next one that lays out texts: a folder in use is locked.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from kapwa.errors import RunError

_LENGTH = 4
_PREFIX = "kapwa-texts-"
_MOMENT = 60.0


class TextHeap:
    """Append texts, then read them by place. A copy in another process reads only; the first one cleans up."""

    def __init__(self) -> None:
        _sweep()
        try:
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
            lock = _locked(folder)
            self.path = folder / "texts"
            self._end = 0
            self._file: BinaryIO | None = self.path.open("wb", buffering=1 << 20)
        except OSError as error:
            raise _no_room(error) from error
        weakref.finalize(self, _remove, folder, lock, os.getpid())

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
        """Return the texts at ``places``, in their order; raise RunError where somebody took the file away."""
        self.close()
        found = []
        try:
            opened = self.path.open("rb")
        except FileNotFoundError:
            raise RunError(f"{self.path} was taken away while it was in use.", hint="Run again.") from None
        with opened as file:
            for place in places:
                file.seek(place)
                length = int.from_bytes(file.read(_LENGTH), "little")
                found.append(file.read(length).decode())
        return found


def _remove(folder: Path, lock: int, owner: int) -> None:
    # A forked worker inherits this; only the process that made the folder may take it away. The worker's copy of the
    # lock is closed and not undone: undoing it would undo the first process's too.
    os.close(lock)
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _locked(folder: Path) -> int:
    """Lock ``folder`` until the returned handle is closed, however the process ends; OSError where another has it."""
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise
    return handle


def _sweep() -> None:
    """Take away folders that nobody holds: their process was killed."""
    if sys.platform == "win32":  # no lock of a kind there that a killed process lets go of
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's, or in use
            # A folder is a moment older than its lock.
            if time.time() - folder.stat().st_mtime > _MOMENT:
                _remove(folder, _locked(folder), os.getpid())


def _no_room(error: OSError) -> RunError:
    return RunError(
        f"Texts cannot be laid out in {tempfile.gettempdir()}: {error.strerror or error}.",
        hint="They need as much free space as they have; name another folder in the variable TMPDIR.",
    )

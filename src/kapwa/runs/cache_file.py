"""The file of a cache of answers: how it is made, told from other files, opened, and how its faults are named."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path

from filelock import FileLock, Timeout

from kapwa.errors import RunError
from kapwa.files import may_write, replacing
from kapwa.runs.sqlite_form import SqliteForm, connect

FILE = "answers.sqlite"
FORMAT = 1
_LOCK = ".lock"
# Writers of a cache hold it for milliseconds; one that waits this long is stuck.
PATIENCE = 30.0

_SCHEMA = (
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE models(id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, name TEXT NOT NULL, "
    "revision TEXT NOT NULL, fingerprint TEXT NOT NULL)",
    "CREATE TABLE answers(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, model INTEGER NOT NULL, "
    "added INTEGER NOT NULL, payload BLOB NOT NULL, sum INTEGER NOT NULL)",
)


def open_file(folder: Path, *, create: bool) -> tuple[sqlite3.Connection, bool]:
    """Return a connection to the cache in ``folder``, and whether it can only be read.

    With ``create``, a new or empty folder becomes a cache. Raises RunError for a folder that is no cache, a damaged
    file, one of a newer Kapwa, and what the system refuses.
    """
    with explained(folder):
        if not (folder / FILE).exists():
            if not create:
                raise _no_cache(folder)
            _create(folder)
        _CACHE.check_header(folder / FILE)
        read_only = not may_write(folder, folder / FILE)
        settings = ["query_only = ON"] if read_only else ["synchronous = NORMAL", "cache_size = -65536"]
        connection = connect(folder / FILE, patience=PATIENCE, settings=settings, read_only=read_only)
        try:
            _check_content(folder, connection)
        except BaseException:
            connection.close()
            raise
    return connection, read_only


def check_cache(folder: Path) -> None:
    """Raise RunError, as :func:`open_file` does, where ``folder`` is no cache and cannot become one; make nothing."""
    with explained(folder):
        there = (folder / FILE).exists()
        if not there:
            _refuse_strangers(folder)
    if there:
        open_file(folder, create=False)[0].close()


def _create(folder: Path) -> None:
    """Make a cache in a new or empty folder; of several processes one makes it, the others find it."""
    _refuse_strangers(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / _LOCK, timeout=PATIENCE):
            for part in folder.glob(f".{FILE}.*.part"):
                part.unlink()  # of a process killed here; under the lock nobody else is writing any
            if not (folder / FILE).exists():
                _write_empty(folder / FILE)
    except Timeout:
        raise RunError(f"{folder} is being made a cache by another process, which does not end.") from None


def _refuse_strangers(folder: Path) -> None:
    if folder.is_dir():
        strangers = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
        if [name for name in strangers if name != FILE]:
            raise _no_cache(folder, strangers)
    elif folder.exists():
        raise RunError(f"{folder} is a file; a cache is a folder.", hint=_CHOOSE)


def _no_cache(folder: Path, strangers: Sequence[str] = ()) -> RunError:
    if not folder.exists():
        return RunError(f"There is no folder {folder}.", hint=_MADE)
    holds = f" It holds {', '.join(strangers[:3])}." if strangers else ""
    return RunError(f"{folder} is no cache of answers.{holds}", hint=_CHOOSE if strangers else _MADE)


_MADE = "A cache is made by: kapwa run ... --cache FOLDER"
_CHOOSE = "Name a new or empty folder, or one that is a cache already."


def _write_empty(path: Path) -> None:
    # Made whole under another name first: a file of this name is always a cache, whenever we are killed.
    with replacing(path) as temporary, closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
        marks = (("application_id", _CACHE.application), ("user_version", FORMAT))
        for name, value in (("page_size", 8192), ("auto_vacuum", "INCREMENTAL"), *marks):
            connection.execute(f"PRAGMA {name} = {value}")
        for statement in _SCHEMA:
            connection.execute(statement)
        values = [("id", uuid.uuid4().hex), ("created", str(int(time.time())))]
        connection.executemany("INSERT INTO meta VALUES (?, ?)", values)
        connection.execute("PRAGMA journal_mode = WAL")


def _check_content(folder: Path, connection: sqlite3.Connection) -> None:
    _CACHE.check_tables(folder / FILE, connection)
    if connection.execute("SELECT 1 FROM meta WHERE name = 'id'").fetchone() is None:
        raise damaged(folder, "it does not say which cache it is")


def damaged(folder: Path, reason: str) -> RunError:
    """Return the error for a cache that cannot be trusted as a whole."""
    return _CACHE.damaged(folder / FILE, reason)


def explained(folder: Path) -> AbstractContextManager[None]:
    """Turn what SQLite and the system say into a RunError with a remedy."""
    return _CACHE.explained(folder / FILE)


_LOCAL = "Keep a cache on a local disk, in a folder you may write; or run without --cache."
_CACHE = SqliteForm(
    word="cache",
    application=0x4B434143,  # "KCAC"
    version=FORMAT,
    tables=_SCHEMA,
    title=lambda path: f"The cache {path.parent}",
    remedy=lambda _: (
        "Kapwa leaves it as it is. Delete the folder (answers are then asked again), or run without --cache."
    ),
    foreign=_CHOOSE,
    faults={
        sqlite3.SQLITE_FULL: (
            "cannot grow: the disk is full.",
            "Free some space, or take answers out of it with: kapwa cache prune",
        ),
        sqlite3.SQLITE_BUSY: (f"was held by another process for {PATIENCE:.0f} seconds.", _LOCAL),
        sqlite3.SQLITE_READONLY: ("cannot be written: it is read-only.", _LOCAL),
    },
    otherwise=("cannot be read or written ({error}).", _LOCAL),
    refused="Check the folder's permissions and the disk's space, or run without --cache.",
)

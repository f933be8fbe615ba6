"""The file of a cache of answers: how it is made, told from other files, opened, and how its faults are named."""

from __future__ import annotations

import os
import sqlite3
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from kapwa.errors import RunError
from kapwa.files import replacing

FILE = "answers.sqlite"
FORMAT = 1
_APPLICATION = 0x4B434143  # "KCAC" in the header: SQLite's own field for whose file this is
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
        _check_header(folder / FILE)
        read_only = not _may_write(folder)
        connection = _connect(folder / FILE, read_only=read_only)
        try:
            _check_schema(folder, connection)
        except BaseException:
            connection.close()
            raise
    return connection, read_only


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
        for name, value in (("page_size", 8192), ("auto_vacuum", "INCREMENTAL"), ("application_id", _APPLICATION)):
            connection.execute(f"PRAGMA {name} = {value}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        for statement in _SCHEMA:
            connection.execute(statement)
        values = [("id", uuid.uuid4().hex), ("created", str(int(time.time())))]
        connection.executemany("INSERT INTO meta VALUES (?, ?)", values)
        connection.execute("PRAGMA journal_mode = WAL")


def _check_header(path: Path) -> None:
    """Refuse what is no cache before SQLite opens (and might change) it."""
    with path.open("rb") as file:
        header = file.read(100)
    if not header.startswith(b"SQLite format 3\0") or len(header) < 100:
        raise damaged(path.parent, "its file does not begin as a cache does")
    if int.from_bytes(header[68:72], "big") != _APPLICATION:
        raise RunError(f"{path} is a database of another program.", hint=_CHOOSE)
    version = int.from_bytes(header[60:64], "big")
    if version > FORMAT:
        raise RunError(
            f"{path.parent} has cache format {version}; this Kapwa reads up to {FORMAT}.",
            hint="Upgrade: pip install -U kapwa",
        )


def _may_write(folder: Path) -> bool:
    effective = os.access in os.supports_effective_ids
    return all(os.access(place, os.W_OK, effective_ids=effective) for place in (folder, folder / FILE))


def _connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    address, settings = str(path), ["synchronous = NORMAL", "cache_size = -65536"]
    if read_only:
        log = path.with_name(f"{path.name}-wal")
        # Without a log nobody is writing, and SQLite need not make files of its own beside the answers. Should
        # somebody begin to, what is read half-written fails its checksum.
        still = not log.exists() or log.stat().st_size == 0
        address = f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' if still else ''}"
        settings = ["query_only = ON"]
    connection = sqlite3.connect(
        address, uri=read_only, isolation_level=None, check_same_thread=False, timeout=PATIENCE
    )
    # The file may come from somebody else: no function of ours runs from its schema, no cell is trusted to fit.
    for setting in ("trusted_schema = OFF", "cell_size_check = ON", *settings):
        connection.execute(f"PRAGMA {setting}")
    return connection


def _check_schema(folder: Path, connection: sqlite3.Connection) -> None:
    # Triggers and views would run where we only read and write rows.
    own = "SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
    if {row[0] for row in connection.execute(own)} != set(_SCHEMA):
        raise damaged(folder, "its tables are not those of a cache")
    if connection.execute("SELECT 1 FROM meta WHERE name = 'id'").fetchone() is None:
        raise damaged(folder, "it does not say which cache it is")


def damaged(folder: Path, reason: str) -> RunError:
    """Return the error for a cache that cannot be trusted as a whole."""
    return RunError(
        f"The cache {folder} is damaged: {reason}.",
        hint="Kapwa leaves it as it is. Delete the folder (answers are then asked again), or run without --cache.",
    )


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn what SQLite and the system say into a RunError with a remedy."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(folder, error) from error
    except OSError as error:
        raise RunError(
            f"The cache {folder} cannot be used: {error.strerror or error}.",
            hint="Check the folder's permissions and the disk's space, or run without --cache.",
        ) from error


_LOCAL = "Keep a cache on a local disk, in a folder you may write; or run without --cache."
# By the low byte of SQLite's result code, which is the primary one.
_SAID: Mapping[int, tuple[str, str]] = {
    sqlite3.SQLITE_FULL: (
        "cannot grow: the disk is full.",
        "Free some space, or take answers out of it with: kapwa cache prune",
    ),
    sqlite3.SQLITE_BUSY: (f"was held by another process for {PATIENCE:.0f} seconds.", _LOCAL),
    sqlite3.SQLITE_READONLY: ("cannot be written: it is read-only.", _LOCAL),
}


def _translated(folder: Path, error: sqlite3.Error) -> RunError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return damaged(folder, str(error))
    said, hint = _SAID.get(code, (f"cannot be read or written ({error}).", _LOCAL))
    return RunError(f"The cache {folder} {said}", hint=hint)

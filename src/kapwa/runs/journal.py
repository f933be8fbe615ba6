"""The journal: every answer, durable before it counts.

One SQLite file (write-ahead log, ``synchronous=FULL``): what :meth:`Journal.commit` returned from
survives ``kill -9`` and, as far as SQLite and the disk keep their promises, a power cut. Every row
carries a checksum, so a damaged answer is reported and never judged. A damaged or foreign file is
left exactly as it is.
"""

from __future__ import annotations

import itertools
import shlex
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from kapwa.errors import RunError
from kapwa.files import may_write, replacing
from kapwa.records import Response
from kapwa.runs.codec import decode, encode
from kapwa.runs.journal_log import lost_transactions
from kapwa.runs.sessions import Session, SessionLog, parsed
from kapwa.runs.sqlite_form import SqliteForm, connect, has_log, log_of, transaction

FORMAT = 1
PAGE = 4096
# A journal saved from a damaged one that no longer said whose it was: the run that opens it may have it, because
# each answer's key is a hash of what was asked of which model.
UNNAMED = "unnamed"
_CHUNK = 500
_YEAR_3000 = 32_503_680_000

# Rows are appended; only the small index of 16-byte keys is written at random places.
TABLES = (
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE sessions(id INTEGER PRIMARY KEY, started REAL NOT NULL, ended REAL NOT NULL)",
    "CREATE TABLE responses( id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, failed INTEGER NOT NULL, "
    "payload TEXT NOT NULL, sum INTEGER NOT NULL )",
)
# Made when first needed: which answers came out of a shared cache, and out of which. Older versions pass over it.
ORIGINS = "CREATE TABLE origins(key BLOB PRIMARY KEY, cache TEXT NOT NULL) WITHOUT ROWID"

# An error never replaces an answer; anything may replace an error.
UPSERT = """
INSERT INTO responses(key, failed, payload, sum) VALUES (?, ?, ?, ?)
ON CONFLICT(key) DO UPDATE SET failed = excluded.failed, payload = excluded.payload, sum = excluded.sum
WHERE responses.failed = 1 OR excluded.failed = 0
"""


class Counts(NamedTuple):
    """How many requests have an answer, and how many only an error."""

    answered: int
    failed: int


class Journal:
    """The answers of one run; safe to use from several threads of the one process that holds it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._lock = threading.RLock()
        self._sessions = SessionLog(connection)
        self._origins: bool | None = None  # whether the table is there; unknown until asked

    @classmethod
    def open(cls, path: Path, *, identity: str) -> Self:
        """Open the journal at ``path``, or make it; ``identity`` names the run it belongs to.

        Raises RunError for a file that is not a journal, is damaged, belongs to another run or a newer
        Kapwa, or cannot be written; the file is then left as it is.
        """
        with FORM.explained(path):
            _check_writable(path)
            if path.exists() and path.stat().st_size > 0:
                FORM.check_header(path)
                check_log(path)
            else:
                _check_no_orphan(path)
                _create(path, identity)
            connection = connect(path, patience=1.0, settings=_SETTINGS)
            try:
                _check_content(path, connection, identity)
            except BaseException:
                connection.close()
                raise
        return cls(path, connection)

    @classmethod
    def reading(cls, path: Path) -> Self:
        """Open the journal at ``path`` only to read: nothing is written, so that a read-only folder will do.

        Raises RunError for one that is missing, is no journal, or is in use.
        """
        with FORM.explained(path):
            if not path.is_file():
                raise RunError(f"{path} is missing, and with it the run's answers.", hint="Copy the whole run folder.")
            FORM.check_header(path)
            check_readable(path)
            return cls(path, connect(path, patience=1.0, read_only=True))

    @property
    def identity(self) -> str:
        """The identity of the run that the journal belongs to; raise RunError where it does not say."""
        with self._lock, FORM.explained(self.path):
            row = self._connection.execute("SELECT value FROM meta WHERE name = 'identity'").fetchone()
        if row is not None and row[0] == UNNAMED:
            raise RunError(f"{self.path} was saved from one that lost its run's name.", hint=_RENAME)
        if row is None:
            raise FORM.damaged(self.path, "it does not say which run it belongs to")
        return str(row[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Fold the write-ahead log into the file and close it."""
        with self._lock:
            self._connection.close()

    def commit(self, responses: Iterable[Response], *, origin: str | None = None) -> None:
        """Store ``responses`` in one transaction: all of them, or (on any error) none.

        ``origin`` names the shared cache they were taken from; None: the model was asked.
        An error never replaces an earlier answer. Raises RunError when the disk is full, read-only or fails.
        """
        rows = [_row(response) for response in responses]
        if not rows:
            return
        with self._lock, FORM.explained(self.path):
            with transaction(self._connection):
                self._connection.executemany(UPSERT, rows)
                self._note_origin([row[0] for row in rows], origin)
                touched = self._sessions.touch(answered=not all(row[1] for row in rows))
            self._sessions.settle(touched)

    def tell(self, circumstances: Mapping[str, Any]) -> None:
        """Have what this process computes its answers with (plain values) kept beside them, from the next commit on."""
        with self._lock:
            self._sessions.tell(circumstances)

    def _note_origin(self, keys: Sequence[bytes], origin: str | None) -> None:
        if origin is not None:
            if not self._has_origins():
                self._connection.execute(ORIGINS)
                self._origins = None  # not before this transaction is committed
            self._connection.executemany("REPLACE INTO origins VALUES (?, ?)", [(key, origin) for key in keys])
        elif self._has_origins():
            # Asked anew after all, say in other batches.
            self._connection.executemany("DELETE FROM origins WHERE key = ?", [(key,) for key in keys])

    def _has_origins(self) -> bool:
        if self._origins is None:
            query = "SELECT count(*) FROM sqlite_master WHERE name = 'origins'"
            self._origins = bool(self._connection.execute(query).fetchone()[0])
        return self._origins

    def origins(self) -> dict[str, int]:
        """Count the answers taken from each shared cache, by the name they were committed with."""
        with self._lock, FORM.explained(self.path):
            if not self._has_origins():
                return {}
            query = "SELECT cache, count(*) FROM origins GROUP BY cache ORDER BY cache"
            return {str(name): int(n) for name, n in self._connection.execute(query)}

    def missing(self, keys: Iterable[str]) -> Iterator[str]:
        """Yield, in order, the keys that have no answer (an error is none); memory stays bounded."""
        for chunk in _chunks(keys):
            answered = {row[0] for row in self._select("key, failed", chunk) if not row[1]}
            yield from (key for key in chunk if bytes.fromhex(key) not in answered)

    def read(self, keys: Iterable[str]) -> Iterator[Response]:
        """Yield the stored response of each key, in order, repeats included; memory stays bounded.

        Raises RunError for a key that was never answered and for a row whose checksum or content is wrong.
        """
        for chunk in _chunks(keys):
            found = {row[0]: row for row in self._select("key, failed, payload, sum", chunk)}
            for key in chunk:
                row = found.get(bytes.fromhex(key))
                if row is None:
                    raise RunError(f"{self.path} holds no answer to the request {key}.", hint=_RESUME)
                yield self._decoded(key, row)

    def _decoded(self, key: str, row: tuple[bytes, int, str, int]) -> Response:
        stored, failed, payload, checksum = row
        try:
            if not is_whole(stored, failed, payload, checksum):
                raise ValueError("has a wrong checksum")
            return decode(key, payload)
        except ValueError as error:
            raise FORM.damaged(self.path, f"the answer {key} {error}") from None

    def _select(self, columns: str, chunk: Sequence[str]) -> list[Any]:
        marks = ",".join("?" * len(chunk))
        query = f"SELECT {columns} FROM responses WHERE key IN ({marks})"  # noqa: S608 - columns are ours
        with self._lock, FORM.explained(self.path):
            return self._connection.execute(query, [bytes.fromhex(key) for key in chunk]).fetchall()

    def counts(self) -> Counts:
        """Count answers and errors."""
        with self._lock, FORM.explained(self.path):
            query = "SELECT count(*), coalesce(sum(failed), 0) FROM responses"
            total, failed = self._connection.execute(query).fetchone()
        return Counts(int(total) - int(failed), int(failed))

    def errors(self) -> Iterator[str]:
        """Yield the error of each failed request, in the order they were first stored; memory stays bounded."""
        query = "SELECT key, failed, payload, sum FROM responses WHERE failed = 1 ORDER BY id"
        with self._lock, FORM.explained(self.path):
            for row in self._connection.execute(query):
                yield self._decoded(row[0].hex(), row).error or ""

    def sessions(self) -> list[Session]:
        """Return when answers were committed, one entry for each process that committed any."""
        with self._lock, FORM.explained(self.path):
            return [self._session_of(*row) for row in self._sessions.rows()]

    def _session_of(self, started: Any, ended: Any, record: object) -> Session:
        # Times carry no checksum; what no clock says would only fail later, and say less.
        if not is_session(started, ended):
            raise FORM.damaged(self.path, "it holds times that are none")
        return Session(float(started), float(ended), *parsed(record))


def _row(response: Response) -> tuple[bytes, int, str, int]:
    key, failed, payload = bytes.fromhex(response.request_key), int(response.failed), encode(response)
    return key, failed, payload, _checksum(key, failed, payload)


def _checksum(key: bytes, failed: int, payload: str) -> int:
    return zlib.crc32(payload.encode(), zlib.crc32(key, failed))


def is_whole(key: object, failed: object, payload: object, checksum: object) -> bool:
    """Say whether a row is as it was written; damage may have left values of any type."""
    if not isinstance(key, bytes) or failed not in (0, 1) or not isinstance(payload, str):
        return False
    return _checksum(key, 1 if failed else 0, payload) == checksum


def is_session(started: object, ended: object) -> bool:
    """Say whether two values can be the Unix seconds between which answers were committed."""
    return isinstance(started, int | float) and isinstance(ended, int | float) and 0 <= started <= ended < _YEAR_3000


def _chunks(keys: Iterable[str]) -> Iterator[list[str]]:
    source = iter(keys)
    while chunk := list(itertools.islice(source, _CHUNK)):
        yield chunk


def _create(path: Path, identity: str) -> None:
    # Made whole under another name first: a file of this name is always a journal, whenever we are killed.
    with replacing(path) as temporary:
        create(temporary, identity)


def create(path: Path, identity: str) -> None:
    """Make an empty journal of the run ``identity`` out of the empty file ``path``."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # Keys come in no order, so each new row touches a page of their index: small pages are less to write.
        connection.execute(f"PRAGMA page_size = {PAGE}")
        connection.execute(f"PRAGMA application_id = {FORM.application}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("BEGIN")
        for statement in TABLES:
            connection.execute(statement)
        connection.execute("INSERT INTO meta VALUES ('identity', ?)", (identity,))
        connection.execute("COMMIT")


def _check_writable(path: Path) -> None:
    for place in (path.parent, path):
        if not may_write(place):
            raise RunError(f"{place} cannot be written: it is read-only.", hint=_ELSEWHERE)


def _check_no_orphan(path: Path) -> None:
    # SQLite would replay a log left by another file into the new one, and so destroy both.
    if has_log(path):
        raise FORM.damaged(path, f"it is gone or empty, but its log {log_of(path).name} is there")


def check_log(path: Path) -> None:
    """Refuse a log whose damage would make SQLite drop confirmed answers without a word."""
    if has_log(path):
        lost = lost_transactions(log_of(path))
        if lost:
            raise FORM.damaged(path, f"its log {log_of(path).name} is, and answers in it would be lost")


def check_readable(path: Path) -> None:
    """Refuse a journal whose run was killed, or goes on, in a folder where SQLite cannot read its log."""
    if has_log(path) and not may_write(path.parent):
        # SQLite makes a file beside a log to read it.
        raise RunError(
            f"{path} has answers in {log_of(path).name} still, and to read these its folder must be writable.",
            hint="Copy the whole run folder to a place where you may write.",
        )


_SETTINGS = (
    # Exclusive: the run lock lets one process in anyway, and so no shared memory is needed (network file systems).
    "locking_mode = EXCLUSIVE",
    "journal_mode = WAL",
    "synchronous = FULL",
    "fullfsync = ON",  # macOS: a plain fsync does not reach the disk
    "checkpoint_fullfsync = ON",
    # Room for the index of millions of keys (256 MB), and pages of it written many at a time (128 MB of log).
    "wal_autocheckpoint = 32000",
    "cache_size = -262144",
)


def check_structure(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a file whose pages or tables are not as they should be; reads the whole file."""
    problems = [str(row[0]) for row in connection.execute("PRAGMA quick_check(1)")]
    if problems != ["ok"]:
        raise FORM.damaged(path, " ".join(problems[0].split()) if problems else "it cannot be checked")
    FORM.check_tables(path, connection)


def _check_content(path: Path, connection: sqlite3.Connection, identity: str) -> None:
    check_structure(path, connection)
    row = connection.execute("SELECT value FROM meta WHERE name = 'identity'").fetchone()
    if row is None:
        raise FORM.damaged(path, "it does not say which run it belongs to")
    if row[0] == UNNAMED:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'identity'", (identity,))
    elif row[0] != identity:
        raise RunError(
            f"{path} belongs to another run (another task, data, selection or model).",
            hint="Choose another folder, or leave the folder's name to Kapwa with --out.",
        )


_RENAME = "Run again with the same command, which gives it its name."
_RESUME = "Run again with the same command to ask what is missing."


_ELSEWHERE = "Choose a writable folder with --out."
_READ_ONLY = ("cannot be written ({error}).", _ELSEWHERE)
_IN_USE = ("is in use by another program.", "Close that program and run again.")
_KEPT = "Every answer committed before is kept."
FORM = SqliteForm(
    word="journal",
    application=0x4B415057,  # "KAPW"
    version=FORMAT,
    tables=TABLES,
    later=(ORIGINS,),
    title=str,
    remedy=lambda path: (
        f"Save every answer that can be read with: kapwa doctor {shlex.quote(str(path.parent))} --salvage. "
        "Then run again with the same command, which asks for the rest."
    ),
    foreign="Choose another folder with --out.",
    faults={
        sqlite3.SQLITE_FULL: (f"cannot grow: the disk is full. {_KEPT}", f"Free some space. {_RESUME}"),
        sqlite3.SQLITE_READONLY: _READ_ONLY,
        sqlite3.SQLITE_CANTOPEN: _READ_ONLY,
        sqlite3.SQLITE_PERM: _READ_ONLY,
        sqlite3.SQLITE_BUSY: _IN_USE,
        sqlite3.SQLITE_LOCKED: _IN_USE,
    },
    otherwise=(f"cannot be read or written ({{error}}). {_KEPT}", f"Check the disk. {_RESUME}"),
    refused="Check the folder's permissions and space.",
)

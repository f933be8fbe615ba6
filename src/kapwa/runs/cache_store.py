"""A folder of answers that several runs share: one SQLite file, safe for several processes of one machine.

Why SQLite with a write-ahead log, and not one append-only file a process: a key is found on disk in an instant among
millions (append-only files would all be read and indexed at every start), readers never wait for a writer, and rows
can be taken out while others read. The price: the log's shared memory works on one machine only, so a cache does not
belong on a network file system (docs/how-to/share-answers-between-runs.md says what to do there).

The file holds answers under hashes of what was asked, not the questions. Each row carries a checksum; a row that fails
it is no answer. Durability is not promised, nor needed: what a power cut takes is asked again.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from kapwa.errors import RunError
from kapwa.runs.cache_file import explained, open_file
from kapwa.runs.sqlite_form import transaction

# Rows taken out in one transaction: other processes write in between.
_AT_ONCE = 2000
_ROW = 64  # about what a row takes besides its payload: its key twice, and numbers
_CHUNK = 500
_INSERT = "INSERT OR IGNORE INTO answers(key, model, added, payload, sum) VALUES (?, ?, ?, ?, ?)"


class CachedModel(NamedTuple):
    """What a cache holds of one model: ``added_first`` and ``added_last`` are Unix seconds."""

    name: str
    revision: str
    fingerprint: Mapping[str, Any]
    answers: int
    bytes: int
    added_first: int
    added_last: int


class Pruned(NamedTuple):
    """What pruning took away, and how large the file is now."""

    answers: int
    bytes_before: int
    bytes_after: int


class CacheStore:
    """The answers in one folder. One object serves the threads of one process."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, *, read_only: bool) -> None:
        self.folder, self.read_only = folder, read_only
        self._connection = connection
        self._lock = threading.RLock()

    @classmethod
    def open(cls, folder: str | Path, *, create: bool = True) -> Self:
        """Open the cache in ``folder``; with ``create``, make one in a new or empty folder.

        A cache that cannot be written (a read-only folder or disk) is opened for reading. Raises RunError for a
        folder that is no cache, a damaged file, one of a newer Kapwa, and what the system refuses.
        """
        place = Path(folder)
        connection, read_only = open_file(place, create=create)
        return cls(place, connection, read_only=read_only)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @property
    def id(self) -> str:
        """The cache's own name, given when it was made: 32 hex digits."""
        return str(self._rows("SELECT value FROM meta WHERE name = 'id'")[0][0])

    @property
    def size(self) -> int:
        """Bytes in use in the file; what its log holds is counted once it is folded in."""
        pages, free, width = (
            self._rows(f"PRAGMA {name}")[0][0] for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * width)

    def model(self, digest: str, name: str, revision: str, fingerprint: str) -> int:
        """Return the number answers of a model go under; it is entered when new. 0 in a cache opened for reading."""
        if self.read_only:
            return 0
        with self._writing():
            values = (digest, name, revision, fingerprint)
            self._connection.execute(
                "INSERT OR IGNORE INTO models(digest, name, revision, fingerprint) VALUES (?, ?, ?, ?)", values
            )
            found = self._connection.execute("SELECT id FROM models WHERE digest = ?", (digest,)).fetchone()
        return int(found[0])

    def read(self, keys: Sequence[bytes]) -> dict[bytes, str | None]:
        """Return the payload of each key that the cache holds; None for a damaged one."""
        found: dict[bytes, str | None] = {}
        for chunk in _chunks(keys):
            marks = ",".join("?" * len(chunk))
            query = f"SELECT key, payload, sum FROM answers WHERE key IN ({marks})"  # noqa: S608 - only marks
            for key, payload, checksum in self._rows(query, chunk):
                found[key] = _sound(key, payload, checksum)
        return found

    def add(self, model: int, rows: Iterable[tuple[bytes, str]]) -> int:
        """Store payloads under their keys; return how many were new. The first answer to a question stays."""
        now = int(time.time())
        values = [(key, model, now, data, _checksum(key, data)) for key, text in rows for data in (text.encode(),)]
        with self._writing():
            return self._connection.executemany(_INSERT, values).rowcount

    def drop(self, keys: Sequence[bytes]) -> None:
        """Take out damaged rows, so that a new answer can take their place."""
        with self._writing():
            self._connection.executemany("DELETE FROM answers WHERE key = ?", [(key,) for key in keys])

    def contents(self) -> list[CachedModel]:
        """Return what the cache holds, the model with the most bytes first; reads the whole file."""
        rows = self._rows(
            "SELECT m.name, m.revision, m.fingerprint, count(*), sum(length(a.payload)), min(a.added), "
            "max(a.added) FROM answers a JOIN models m ON m.id = a.model GROUP BY m.id ORDER BY 5 DESC, 1, 2, 3"
        )
        return [CachedModel(name, revision, _mapping(text), *numbers) for name, revision, text, *numbers in rows]

    def prune(self, *, before: float | None = None, model: str | None = None, most_bytes: int | None = None) -> Pruned:
        """Take answers out, the oldest first.

        ``before``: only those added before this time (Unix seconds). ``model``: only those of models of this name, or
        name@revision. ``most_bytes``: no more than until the file is this small. Raises RunError for a cache that
        cannot be written; answers taken out until then stay out.
        """
        if self.read_only:
            raise RunError(f"The cache {self.folder} cannot be written, so nothing can be taken out of it.")
        where, values = _condition(before, model)
        start, gone = self.size, 0
        while taken := self._take_out(where, values, None if most_bytes is None else self.size - most_bytes):
            gone += taken
        self._give_back()
        return Pruned(gone, start, self.size)

    def _take_out(self, where: str, values: Sequence[Any], excess: int | None) -> int:
        """Take out the oldest, at most a few thousand at once (others write in between), or as many as weigh enough."""
        oldest = f"SELECT id, length(payload) + {_ROW} FROM answers WHERE {where} ORDER BY id LIMIT {_AT_ONCE}"  # noqa: S608
        if excess is not None and excess <= 0:
            return 0
        with self._writing():
            rows = self._connection.execute(oldest, values).fetchall()
            if excess is not None:
                sizes = itertools.accumulate(size for _, size in rows)
                rows = rows[: next((i for i, total in enumerate(sizes, start=1) if total >= excess), len(rows))]
            self._connection.executemany("DELETE FROM answers WHERE id = ?", [(row[0],) for row in rows])
        return len(rows)

    def _give_back(self) -> None:
        """Hand the room of what went back to the disk, as far as other processes let it."""
        with self._writing():
            self._connection.execute("DELETE FROM models WHERE id NOT IN (SELECT DISTINCT model FROM answers)")
        with self._lock, explained(self.folder):
            # Frees a page a step and returns no row, so that execute() would stop after the first.
            self._connection.executescript("PRAGMA incremental_vacuum;")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock, explained(self.folder), transaction(self._connection):
            yield

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._lock, explained(self.folder):
            return self._connection.execute(query, values).fetchall()


def _condition(before: float | None, model: str | None) -> tuple[str, list[Any]]:
    parts: list[str] = []
    values: list[Any] = []
    if before is not None:
        parts.append("added < ?")
        values.append(before)
    if model is not None:
        parts.append("model IN (SELECT id FROM models WHERE name = ? OR name || '@' || revision = ?)")
        values += [model, model]
    return " AND ".join(parts) or "1", values


def _chunks(keys: Iterable[bytes]) -> Iterator[list[bytes]]:
    source = iter(keys)
    while chunk := list(itertools.islice(source, _CHUNK)):
        yield chunk


def _checksum(key: bytes, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(key))


def _sound(key: bytes, payload: Any, checksum: Any) -> str | None:
    if not isinstance(payload, bytes) or _checksum(key, payload) != checksum:
        return None
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return None


def _mapping(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}

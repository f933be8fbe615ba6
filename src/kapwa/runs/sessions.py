"""The sessions of a journal: when processes asked, and what each computed its answers with.

A session's times are a row of a table of their own. What it computed with is a row of ``meta``, which has been there
from the first: older versions of Kapwa pass over names they do not know.
"""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

NAME = "session "  # and its number: its record's name in ``meta``
_QUERY = "SELECT started, ended, value FROM sessions LEFT JOIN meta ON name = ? || sessions.id ORDER BY sessions.id"


class Session(NamedTuple):
    """When a process asked: Unix seconds of its start and of its last commit.

    ``answered``: whether anything it committed was an answer, and not an error. ``circumstances``: what it computed
    with; None where that is unknown, because an older Kapwa wrote the journal, or because the record was damaged.
    """

    started: float
    ended: float
    answered: bool = True
    circumstances: Mapping[str, Any] | None = None


class Touched(NamedTuple):
    """What was written of a session: its number, whether it has answered anything, and what it computed with."""

    number: int
    answered: bool
    record: str | None


class SessionLog:
    """The sessions of one journal, and the one of this process; its caller holds the lock and the transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._opened = time.time()
        self._told: str | None = None
        self._last: Touched | None = None

    def tell(self, circumstances: Mapping[str, Any]) -> None:
        """Have this session's ``circumstances``, plain values, kept with what it commits from now on."""
        self._told = json.dumps(circumstances, sort_keys=True)

    def touch(self, *, answered: bool) -> Touched:
        """Write that this session commits now; the caller hands what this returns to :meth:`settle` once it is durable.

        ``answered``: whether an answer, and not only errors, is committed.
        """
        now, last = time.time(), self._last
        if last is None:
            insert = "INSERT INTO sessions(started, ended) VALUES (?, ?)"
            number = int(self._connection.execute(insert, (self._opened, now)).lastrowid or 0)
        else:
            number = last.number
            self._connection.execute("UPDATE sessions SET ended = ? WHERE id = ?", (now, number))
        answered = answered or (last is not None and last.answered)
        record = None if self._told is None else _recorded(answered, self._told)
        if record is not None and (last is None or record != last.record):
            self._connection.execute("REPLACE INTO meta VALUES (?, ?)", (f"{NAME}{number}", record))
        return Touched(number, answered, record)

    def settle(self, touched: Touched) -> None:
        """Count as written what :meth:`touch` returned."""
        self._last = touched

    def rows(self) -> list[tuple[Any, Any, Any]]:
        """Return start, end and record of every session, oldest first, as they stand in the file."""
        return self._connection.execute(_QUERY, (NAME,)).fetchall()


def _recorded(answered: bool, told: str) -> str:
    record = f"{int(answered)} {told}"
    return f"{_checksum(record)} {record}"


def _checksum(record: str) -> str:
    return f"{zlib.crc32(record.encode('utf-8', 'surrogatepass')):08x}"


def parsed(record: object) -> tuple[bool, Mapping[str, Any] | None]:
    """Return whether a session answered anything, and its circumstances; a missing or damaged record tells nothing."""
    if not isinstance(record, str):
        return True, None
    checksum, _, rest = record.partition(" ")
    if checksum != _checksum(rest):
        return True, None
    answered, _, told = rest.partition(" ")
    try:
        found = json.loads(told)
    except (ValueError, RecursionError):
        found = None
    return answered == "1", found if isinstance(found, dict) else None

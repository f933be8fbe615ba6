"""Answers to requests in one SQLite file: the journal of a run, a cache that runs share, the replies of a judge.

A write-ahead log with ``synchronous=FULL``: what :meth:`AnswerStore.commit` returned from survives ``kill -9`` and, as
far as SQLite and the disk keep their promises, a power cut. Every row carries a checksum, so that a damaged answer is
never judged. A damaged or foreign file is left as it is.
"""

from __future__ import annotations

import itertools
import json
import shlex
import sqlite3
import threading
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from kapwa.errors import RunError
from kapwa.files import check_ordinary, may_write, replacing
from kapwa.models.gate import gate, is_within_thought, opening_share
from kapwa.records import Boundary, ContinuationScore, Response, Usage
from kapwa.runs.costs import Spent
from kapwa.runs.schema import SESSION, Session
from kapwa.value_types import JsonMapping, JsonObject

JOURNAL = "journal.sqlite"
FORMAT = 2
APPLICATION = 0x4B415057  # "KAPW", in a field of SQLite's header that is left to programs
_TABLES = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions(id INTEGER PRIMARY KEY, started REAL NOT NULL, ended REAL NOT NULL, record TEXT);
CREATE TABLE responses(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, failed INTEGER NOT NULL, payload TEXT NOT NULL,
    sum INTEGER NOT NULL, session INTEGER);
"""
# An error never replaces an answer; anything may replace an error.
INSERT = """
INSERT INTO responses(key, failed, payload, sum, session) VALUES (?, ?, ?, ?, ?)
ON CONFLICT(key) DO UPDATE
SET failed = excluded.failed, payload = excluded.payload, sum = excluded.sum, session = excluded.session
WHERE responses.failed = 1 OR excluded.failed = 0
"""
_SETTINGS = {
    "own": (
        # Exclusive: the run's lock lets one process in anyway, so no shared memory is needed (network file systems).
        "locking_mode = EXCLUSIVE",
        "synchronous = FULL",
        "fullfsync = ON",  # macOS: a plain fsync does not reach the disk
        "checkpoint_fullfsync = ON",
        # Room for the index of millions of keys (256 MB), and pages of it written many at a time (128 MB of log).
        "wal_autocheckpoint = 32000",
        "cache_size = -262144",
        "journal_mode = WAL",
    ),
    # What a power cut takes from a cache is asked again.
    "share": ("synchronous = NORMAL", "cache_size = -65536", "journal_mode = WAL"),
    "read": (),
}
_CHUNK = 500
_KEPT = "Every answer committed before is kept."
_RESUME = "Run again with the same command to ask what is missing."
# By SQLite's primary result code: what is said and what to do. Any code that is not here means damage.
FAULTS = {
    sqlite3.SQLITE_FULL: (f"cannot grow: the disk is full. {_KEPT}", f"Free some space. {_RESUME}"),
    sqlite3.SQLITE_IOERR: (f"cannot be read or written ({{error}}). {_KEPT}", f"Check the disk. {_RESUME}"),
    **dict.fromkeys(
        (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
        ("cannot be written ({error}).", "Choose a writable folder."),
    ),
    **dict.fromkeys(
        (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED),
        ("is in use by another program.", "Wait until that program ends, or close it, and run again."),
    ),
}
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_COUNTS = attrgetter("logprob_sum", "n_tokens", "n_bytes", "n_chars")
_TOKENS = attrgetter("prompt_tokens", "completion_tokens", "thinking_tokens", "cached_tokens")
_BOUNDARIES: tuple[Boundary, ...] = ("clean", "merged")


class AnswerCounts(NamedTuple):
    """How many requests have an answer, and how many only an error."""

    answered: int
    failed: int


class AnswerStore(AbstractContextManager["AnswerStore"]):
    """The answers in the file ``path`` (None: in memory); safe to use from several threads of a process.

    ``mode``: "own" for a file that one process holds at a time, "share" for one that several processes of a machine
    write to (a cache), "read" to change nothing (a read-only folder will do). ``identity`` names what a file belongs
    to; None opens any, and gives a new file a name of its own. ``remedy`` says what to do about a damaged file that is
    no journal.

    A file that does not say what it belongs to ("") is given to the run that opens it: each answer's key is a hash of
    what was asked of which model. Raises RunError for a file that is no store, is damaged, belongs to another run or a
    newer Kapwa, or cannot be written.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        identity: str | None = None,
        mode: Literal["own", "share", "read"] = "own",
        remedy: str = "Delete it; its answers are then asked for again.",
    ) -> None:
        self.path, self._remedy = path, remedy
        self._lock = threading.RLock()
        self._opened = time.time()
        self._sessions: dict[str, int] = {}
        self._learnt = ""
        with self.explained():
            address = ":memory:" if path is None else self._checked_address(path, mode, identity)
            patience = 30.0 if mode == "share" else 1.0
            self._connection = sqlite3.connect(
                address, uri=mode == "read", isolation_level=None, check_same_thread=False, timeout=patience
            )
        try:
            self._prepare(mode, identity)
        except BaseException:
            self._connection.close()
            raise

    def _checked_address(self, path: Path, mode: Literal["own", "share", "read"], identity: str | None) -> str:
        """Return what SQLite is to open; refuse what is no store before SQLite sees (and might change) it."""
        check_ordinary(path)
        log = path.with_name(f"{path.name}-wal")
        if mode != "read":
            for path_to_check in (path.parent, path):
                if not may_write(path_to_check):
                    raise RunError(
                        f"{path_to_check} cannot be written: it is read-only.", hint="Choose a writable folder."
                    )
            if not path.exists() or path.stat().st_size == 0:
                if log.exists() and log.stat().st_size > 0:
                    # SQLite would replay a log left by another file into the new one, and so destroy both.
                    raise self.damaged(f"it is gone or empty, but its log {log.name} is there")
                create(path, identity or uuid.uuid4().hex)
        elif not path.is_file():
            raise RunError(f"{path} is missing, and with it the answers.", hint="Copy the whole run folder.")
        with path.open("rb") as file:
            header = file.read(100)
        if not header.startswith(b"SQLite format 3\0") or len(header) < 100:
            raise self.damaged("it does not begin as a SQLite database does")
        if int.from_bytes(header[68:72], "big") != APPLICATION:
            what = f"{path} is a database of another program, or of an older Kapwa."
            raise RunError(what, hint="Choose another folder.")
        version = int.from_bytes(header[60:64], "big")
        if version != FORMAT:
            what = f"{path} was written by {'a newer' if version > FORMAT else 'an older'} Kapwa (format {version})."
            raise RunError(f"{what} This one reads format {FORMAT}.", hint="Open it with the Kapwa that wrote it.")
        if mode != "read":
            return str(path)
        # Without a log nobody is writing, and SQLite need not make files of its own beside the answers.
        immutable = "" if log.exists() and log.stat().st_size > 0 else "&immutable=1"
        if not immutable and not may_write(path.parent) and not path.with_name(f"{path.name}-shm").exists():
            what = f"{path} has answers in {log.name} still, and to read these its folder must be writable."
            raise RunError(what, hint="Copy the whole run folder to a place where you may write.")
        return f"{path.resolve().as_uri()}?mode=ro{immutable}"

    def _prepare(self, mode: str, identity: str | None) -> None:
        """Set SQLite up; refuse a damaged file, one with more in it than tables, and one of another run."""
        with self.explained():
            # The file may come from somebody else: no function runs from its schema.
            for setting in ("trusted_schema = OFF", "cell_size_check = ON", *_SETTINGS[mode]):
                self._connection.execute(f"PRAGMA {setting}")
            if self.path is None:
                self._connection.executescript(_TABLES)
            if mode == "own":
                self.check()
            # A file may come from somebody else: triggers and views would run where rows are only read and written.
            if self.rows("SELECT 1 FROM sqlite_master WHERE type NOT IN ('table', 'index')"):
                raise self.damaged("its tables are not those of Kapwa")
            names = self.rows("SELECT value FROM meta WHERE name = 'identity'")
            self.identity = str(names[0][0]) if names else ""
            if identity is None or mode == "read" or self.identity == identity:
                return
            if self.identity:
                raise RunError(
                    f"{self.path} belongs to another run (another task, data, selection or model).",
                    hint="Choose another folder, or leave the folder's name to Kapwa with --out.",
                )
            self.rows("REPLACE INTO meta VALUES ('identity', ?)", (identity,))
            self.identity = identity

    def check(self) -> None:
        """Raise RunError where SQLite finds the file damaged."""
        problem = self.rows("PRAGMA quick_check(1)")[0][0]
        if problem != "ok":
            raise self.damaged(" ".join(str(problem).split()))

    def close(self, *_: object) -> None:
        """Fold the write-ahead log into the file and close it."""
        with self._lock:
            self._connection.close()

    __exit__ = close

    def commit(self, responses: Iterable[Response], record: Mapping[str, object] | None = None) -> None:
        """Store ``responses`` in one transaction: all of them, or (on any error) none.

        ``record``: plain values that say where they came from. An error never replaces an earlier answer. Raises
        RunError when the disk is full, read-only or fails.
        """
        rows = [encode(response) for response in responses]
        if not rows:
            return
        text = json.dumps(record or {}, sort_keys=True)
        with self.transaction():
            now, session = time.time(), self._sessions.get(text)
            if session is None:
                # The first answers of each kind (asked for, or taken from a cache) were waited for since the opening.
                kind = set(record or {})
                started = now if any(kind == set(json.loads(other)) for other in self._sessions) else self._opened
                insert = "INSERT INTO sessions(started, ended, record) VALUES (?, ?, ?)"
                session = int(self._connection.execute(insert, (started, now, text)).lastrowid or 0)
            else:
                self._connection.execute("UPDATE sessions SET ended = ? WHERE id = ?", (now, session))
            self._connection.executemany(INSERT, [(*row, session) for row in rows])
        self._sessions[text] = session  # not before it is durable

    @property
    def learnt(self) -> JsonMapping:
        """What the model's answers taught of how to ask it (:meth:`learn`); {}: nothing that can be read."""
        stored = self.rows("SELECT value FROM meta WHERE name = 'learnt'")
        try:
            learnt = json.loads(stored[0][0]) if stored else {}
        except (TypeError, ValueError):
            return {}
        return learnt if isinstance(learnt, dict) else {}

    def learn(self, learnt: Mapping[str, object]) -> None:
        """Keep what the model's answers taught of how to ask it, where that is more than is kept."""
        text = json.dumps(learnt, sort_keys=True, default=str) if learnt else ""
        if text and text != self._learnt:
            self.rows("REPLACE INTO meta VALUES ('learnt', ?)", (text,))
            self._learnt = text

    def missing(self, keys: Iterable[str]) -> Iterator[str]:
        """Yield, in order, the keys that have no answer (an error is none); memory stays bounded."""
        for chunk, rows in self._lookup("key, failed", keys):
            yield from (key for key in chunk if key not in rows or rows[key][1])

    def unknown(self, keys: Iterable[str]) -> Iterator[str]:
        """Yield the keys that have neither an answer nor an error."""
        for chunk, rows in self._lookup("key", keys):
            yield from (key for key in chunk if key not in rows)

    def read_gated(self, keys: Iterable[str]) -> Iterator[Response]:
        """Yield the response of each key after the gate: thought parted from text, and with its state.

        In order, repeats included; see :meth:`read_raw` for the errors.
        """
        for response in self.read_raw(keys):
            answer = gate(response)
            if is_within_thought(answer, self.opening_share):
                answer = gate(response, starts_in_thought=True)
            yield answer

    def read_raw(self, keys: Iterable[str]) -> Iterator[Response]:
        """Yield the response of each key as the model gave it, in order, repeats included; memory stays bounded.

        Raises RunError for a key that was never answered and for a damaged row.
        """
        for chunk, rows in self._lookup("key, failed, payload, sum", keys):
            for key in chunk:
                if key not in rows:
                    raise RunError(f"{self.path} holds no answer to the request {key}.", hint=_RESUME)
                response = decode(*rows[key])
                if response is None:
                    raise self.damaged(f"the answer {key} has a wrong checksum")
                yield response

    def find(self, keys: Iterable[str]) -> dict[str, Response | None]:
        """Return the answers, as they came, to those of ``keys`` that have one; None for a damaged row."""
        lookups = self._lookup("key, failed, payload, sum", keys)
        return {key: decode(*row) for _, rows in lookups for key, row in rows.items() if not row[1]}

    @cached_property
    def opening_share(self) -> float:
        """How many of the answers close a thought that the prompt opened (0 to 1); a thousand of them tell."""
        rows = self.rows("SELECT key, failed, payload, sum FROM responses WHERE NOT failed ORDER BY id LIMIT 1000")
        return opening_share(response for row in rows if (response := decode(*row)) is not None)

    def _lookup(self, columns: str, keys: Iterable[str]) -> Iterator[tuple[list[str], JsonObject]]:
        source = iter(keys)
        while chunk := list(itertools.islice(source, _CHUNK)):
            marks = ",".join("?" * len(chunk))
            query = f"SELECT {columns} FROM responses WHERE key IN ({marks})"  # noqa: S608 - columns are ours
            yield chunk, {row[0].hex(): row for row in self.rows(query, [bytes.fromhex(key) for key in chunk])}

    def counts(self) -> AnswerCounts:
        """Count answers and errors."""
        # Counted, not summed: a damaged row may hold any number.
        kinds = "count(*) FILTER (WHERE NOT failed), count(*) FILTER (WHERE failed)"
        return AnswerCounts(*self.rows(f"SELECT {kinds} FROM responses")[0])  # noqa: S608

    def spent(self) -> Spent:
        """Return the tokens of all answers that were asked for.

        What was taken from a cache cost nothing, nor did the beginning of a text that another run had begun.
        """
        cached = [str(session.number) for session in self.sessions() if "cache" in session.record]
        read, written, thought, cached_tokens = (
            f"coalesce(json_extract(payload, '$.usage[{i}]'), 0)" for i in range(4)
        )
        begun = "coalesce(json_extract(payload, '$.begun'), 0)"
        sums_of = (read, f"{written} - {begun}", f"max({thought} - {begun}, 0)", cached_tokens)
        sums = ", ".join(f"coalesce(sum({expression}), 0)" for expression in sums_of)
        sums += ", count(*) FILTER (WHERE json_extract(payload, '$.usage') IS NULL)"
        condition = f"NOT failed AND coalesce(session, -1) NOT IN ({','.join(cached)})"
        counts = self.rows(f"SELECT count(*), {sums} FROM responses WHERE {condition}")[0]  # noqa: S608
        return Spent(*map(int, counts))

    def errors(self) -> list[tuple[str, int]]:
        """Return the reasons of failed requests and how many failed so, the commonest first."""
        query = "SELECT key, failed, payload, sum, count(*) FROM responses WHERE failed GROUP BY payload"
        decoded = ((decode(*row), n) for *row, n in self.rows(query))
        reasons = [(response.error if response and response.error else "(damaged)", n) for response, n in decoded]
        return sorted(reasons, key=lambda pair: (-pair[1], pair[0]))

    def sessions(self) -> list[Session]:
        """Return which processes committed answers, the oldest first."""
        per_session = "SELECT session, count(*) AS n, sum(length(payload)) AS size FROM responses WHERE NOT failed"
        query = "SELECT id, started, ended, record, coalesce(n, 0), coalesce(size, 0) FROM sessions LEFT JOIN "
        query += f"({per_session} GROUP BY session) ON session = id ORDER BY id"
        sessions = []
        for number, started, ended, record, n, size in self.rows(query):
            try:
                sessions.append(SESSION.validate_python((number, started, ended, record or "{}", n, size)))
            except ValidationError:
                changed = self.path.stat().st_mtime if self.path else self._opened
                sessions.append(Session(number, changed, changed, {}, n, size, damaged=True))
        return sessions

    def rows(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """Return what ``query`` finds."""
        with self._lock, self.explained():
            return self._connection.execute(query, values).fetchall()

    def walk(self, query: str) -> Iterator[Any]:
        """Yield what ``query`` finds, row by row; memory stays bounded."""
        with self._lock, self.explained():
            yield from self._connection.execute(query)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all that is done within, or nothing: also where an interrupt comes while it begins."""
        with self._lock, self.explained():
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                # A full disk makes SQLite roll back by itself.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def shrink(self) -> None:
        """Hand the room of deleted rows back to the disk, as far as other processes let it."""
        with self._lock, self.explained():
            # The pragma frees a page a step and returns no row: execute() would stop after the first.
            self._connection.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);")

    def damaged(self, reason: str) -> RunError:
        """Return the error for a file that cannot be trusted as a whole."""
        remedy = self._remedy
        if self.path is not None and self.path.name == JOURNAL:
            command = f"kapwa doctor {shlex.quote(str(self.path.parent))} --salvage"
            remedy = f"Save every answer that can be read with: {command}. {_RESUME}"
        return RunError(f"{self.path} is damaged: {reason}.", hint=remedy)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what SQLite and the system say into a RunError with a remedy."""
        try:
            yield
        except sqlite3.Error as error:
            # Python's own complaint, of text that is no UTF-8, has no code; the low byte is the primary one.
            fault = FAULTS.get((getattr(error, "sqlite_errorcode", None) or 0) & 0xFF)
            if fault is None:
                raise self.damaged(str(error)) from error
            raise RunError(f"{self.path} {fault[0].format(error=error)}", hint=fault[1]) from error
        except OSError as error:
            hint = "Check the folder's permissions and the disk's space."
            raise RunError(f"{self.path} cannot be used: {error.strerror or error}.", hint=hint) from error


def create(path: Path, identity: str) -> None:
    """Make an empty store; whole under another name first, so that a file of this name is always a store."""
    with replacing(path) as temporary, closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
        # Incremental: so that pruning a cache gives room back to the disk.
        for setting in ("auto_vacuum = INCREMENTAL", f"application_id = {APPLICATION}", f"user_version = {FORMAT}"):
            connection.execute(f"PRAGMA {setting}")
        connection.executescript(_TABLES)
        connection.execute("INSERT INTO meta VALUES ('identity', ?)", (identity,))


def encode(response: Response) -> tuple[bytes, int, str, int]:
    """Return the row of ``response``: key, whether it failed, the rest as compact JSON, a checksum.

    Floats keep every bit. Lone surrogates, which no UTF-8 file can hold, become U+FFFD. Raises ValueError for a
    response after the gate: what the model gave would be lost.
    """
    if response.state is not None:
        raise ValueError("A journal keeps responses as the model gave them, not as the gate read them.")
    fields: JsonObject = {"text": response.text, "finish": response.finish_reason, "error": response.error}
    if response.logprobs is not None:
        fields["logprobs"] = [
            [*_COUNTS(score), _BOUNDARIES.index(score.boundary), score.logprob_sum_reference, score.token_logprobs]
            for score in response.logprobs
        ]
    if response.usage is not None:
        counts = [*_TOKENS(response.usage)]
        while counts[-1] is None:
            counts.pop()
        fields["usage"] = counts
    if response.thought is not None:
        fields["thought"] = response.thought
    if response.thought_opened:
        fields["opened"] = True
    if response.tokens is not None:
        fields["tokens"] = response.tokens
    if response.begun:
        fields["begun"] = response.begun
    payload = _ENCODE({name: value for name, value in fields.items() if value is not None})
    if not payload.isascii():
        payload = payload.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    key, failed = bytes.fromhex(response.request_key), int(response.failed)
    return key, failed, payload, zlib.crc32(payload.encode(), zlib.crc32(key, failed))


def decode(key: Any, failed: Any, payload: Any, stored: Any) -> Response | None:
    """Return the response of a row; None where it is not as it was written."""
    try:
        if zlib.crc32(payload.encode(), zlib.crc32(key, failed)) != stored:
            return None
        fields = json.loads(payload)
        scores = fields.get("logprobs")
        if scores is not None:
            scores = tuple(
                ContinuationScore(
                    logprob_sum=a,
                    n_tokens=b,
                    n_bytes=c,
                    n_chars=d,
                    boundary=_BOUNDARIES[e],
                    logprob_sum_reference=f,
                    token_logprobs=tuple(g),
                )
                for a, b, c, d, e, f, g in scores
            )
        return Response(
            key.hex(),
            text=fields.get("text"),
            logprobs=scores,
            finish_reason=fields.get("finish"),
            usage=Usage(*fields["usage"]) if "usage" in fields else None,
            error=fields.get("error"),
            thought=fields.get("thought"),
            thought_opened=fields.get("opened", False),
            tokens=tuple(fields["tokens"]) if "tokens" in fields else None,
            begun=fields.get("begun", 0),
        )
    except (TypeError, ValueError, AttributeError, LookupError):
        return None

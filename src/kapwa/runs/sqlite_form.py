"""What the journal and the cache have in common: SQLite files told from others, opened with care, faults named."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kapwa.errors import RunError

_HEADER = 100
_MAGIC = b"SQLite format 3\0"
_NO_TEXT = "it holds text that is none"
# Primary result codes that a sound file of ours never gives.
_DAMAGE = frozenset(
    {
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_TOOBIG,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteForm:
    """One kind of SQLite file: what marks it, and what is said when one of them cannot be used.

    ``application`` and ``version`` stand in fields of the header that SQLite leaves to programs. ``tables``: the
    statements that make its tables; ``later``: those of tables it may have besides. ``title`` and ``remedy`` get the
    file's path. ``faults``: by SQLite's primary result code, what is said and what to do; ``otherwise`` of any other
    code. ``refused``: what to do where the system refuses a file.
    """

    word: str
    application: int
    version: int
    tables: Sequence[str]
    later: Sequence[str] = ()
    title: Callable[[Path], str]
    remedy: Callable[[Path], str]
    foreign: str
    faults: Mapping[int, tuple[str, str]]
    otherwise: tuple[str, str]
    refused: str

    def damaged(self, path: Path, reason: str) -> RunError:
        """Return the error for a file that cannot be trusted as a whole."""
        return RunError(f"{self.title(path)} is damaged: {reason}.", hint=self.remedy(path))

    def check_header(self, path: Path) -> None:
        """Refuse what is no file of this kind before SQLite opens (and might change) it."""
        with path.open("rb") as file:
            header = file.read(_HEADER)
        if not header.startswith(_MAGIC) or len(header) < _HEADER:
            raise self.damaged(path, f"it does not begin as a {self.word} does")
        if int.from_bytes(header[68:72], "big") != self.application:
            raise RunError(f"{path} is a database of another program.", hint=self.foreign)
        version = int.from_bytes(header[60:64], "big")
        if version > self.version:
            raise RunError(
                f"{self.title(path)} has {self.word} format {version}; this Kapwa reads up to {self.version}.",
                hint="Upgrade: pip install -U kapwa",
            )

    def check_tables(self, path: Path, connection: sqlite3.Connection) -> None:
        """Refuse other tables than ours: triggers and views would run where rows are only read and written."""
        # What SQLite makes by itself has no statement; names say nothing, for anybody may choose them.
        query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
        found = {_one_line(row[0]) for row in connection.execute(query)}
        own, later = ({_one_line(sql) for sql in part} for part in (self.tables, self.later))
        if not own <= found <= own | later:
            raise self.damaged(path, f"its tables are not those of a {self.word}")

    @contextmanager
    def explained(self, path: Path) -> Iterator[None]:
        """Turn what SQLite and the system say into a RunError with a remedy."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._translated(path, error) from error
        except UnicodeDecodeError as error:  # SQLite's message quotes the damaged place
            raise self.damaged(path, _NO_TEXT) from error
        except OSError as error:
            what = f"{self.title(path)} cannot be used: {error.strerror or error}."
            raise RunError(what, hint=self.refused) from error

    def _translated(self, path: Path, error: sqlite3.Error) -> RunError:
        code = getattr(error, "sqlite_errorcode", None)  # none: Python's own complaint, of text that is no UTF-8
        if isinstance(error, sqlite3.OperationalError) and code is None:
            return self.damaged(path, _NO_TEXT)
        primary = (code or 0) & 0xFF  # the low byte is the primary result code
        if primary in _DAMAGE:
            return self.damaged(path, str(error))
        said, hint = self.faults.get(primary, self.otherwise)
        return RunError(f"{self.title(path)} {said.format(error=error)}", hint=hint)


def _one_line(sql: object) -> str:
    return " ".join(str(sql).split())


def has_log(path: Path) -> bool:
    """Say whether a log with something in it lies beside the file ``path``."""
    log = log_of(path)
    return log.exists() and log.stat().st_size > 0


def log_of(path: Path) -> Path:
    """Return where SQLite keeps the write-ahead log of the file ``path``."""
    return path.with_name(f"{path.name}-wal")


def connect(
    path: Path, *, patience: float, settings: Sequence[str] = (), read_only: bool = False
) -> sqlite3.Connection:
    """Open ``path`` for the threads of this process; ``settings`` are pragmas, ``patience`` seconds to wait for others.

    ``read_only``: nothing is written, so that a read-only folder will do.
    """
    # Without a log nobody is writing, and SQLite need not make files of its own beside the answers. Should somebody
    # begin to, what is read half-written fails its checksum.
    address = f"{path.resolve().as_uri()}?mode=ro{'' if has_log(path) else '&immutable=1'}" if read_only else str(path)
    connection = sqlite3.connect(
        address, uri=read_only, isolation_level=None, check_same_thread=False, timeout=patience
    )
    try:
        # The file may come from somebody else: no function of ours runs from its schema, no cell is trusted to fit.
        for setting in ("trusted_schema = OFF", "cell_size_check = ON", *settings):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all that is done within, or nothing: also where an interrupt comes while it begins."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk makes SQLite roll back by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise

"""Look at a run's journal without changing it, and save what can be read of a damaged one."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from kapwa.errors import RunError
from kapwa.files import may_write, replacing
from kapwa.runs import journal as journals
from kapwa.runs.journal_pages import Found, opened
from kapwa.runs.lock import run_lock
from kapwa.runs.sessions import NAME as SESSION
from kapwa.runs.sqlite_form import connect, log_of

JOURNAL = "journal.sqlite"
_TOGETHER = 1000
_KEY = 16


class Examined(NamedTuple):
    """What a journal holds: whole answers and errors, rows with a wrong checksum; ``damage``: why it cannot be used."""

    answers: int
    errors: int
    spoilt: int
    damage: str | None


class Salvaged(NamedTuple):
    """What was saved; ``lost``: rows that were there and could not be read, as far as that can be told.

    ``kept``: where the damaged journal lies now.
    """

    answers: int
    errors: int
    lost: int
    kept: Path


def examine(folder: Path) -> Examined:
    """Hold every row of the journal in ``folder`` against its checksum; nothing is changed.

    A read-only folder will do. Raises RunError where there is no journal, or one that is in use.
    """
    path = _journal(folder)
    journals.check_readable(path)
    # Where nothing can be written there can be no lock, and nobody to be kept out.
    with run_lock(folder) if may_write(folder) else nullcontext():
        try:
            with journals.FORM.explained(path):
                journals.FORM.check_header(path)
                journals.check_log(path)
                return _read_through(path)
        except RunError as error:
            return Examined(0, 0, 0, error.message)


def _read_through(path: Path) -> Examined:
    with closing(connect(path, patience=1.0, read_only=True)) as connection:
        journals.check_structure(path, connection)
        _check_rest(path, connection)
        answers = errors = spoilt = 0
        for row in connection.execute("SELECT key, failed, payload, sum FROM responses"):
            if not journals.is_whole(*row):
                spoilt += 1
            elif row[1]:
                errors += 1
            else:
                answers += 1
    damage = f"{path} is damaged: {spoilt} of its rows have a wrong checksum." if spoilt else None
    return Examined(answers, errors, spoilt, damage)


def _check_rest(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse what a run would: a journal that does not say whose it is, or with times that are none."""
    if connection.execute("SELECT value FROM meta WHERE name = 'identity'").fetchone() is None:
        raise journals.FORM.damaged(path, "it does not say which run it belongs to")
    if not all(journals.is_session(*row) for row in connection.execute("SELECT started, ended FROM sessions")):
        raise journals.FORM.damaged(path, "it holds times that are none")


def salvage(folder: Path) -> Salvaged:
    """Put a new journal with every answer that can be read in the place of the one in ``folder``, which is kept.

    Each row is held against its checksum; where a page is damaged, the rows of the others are still found. Raises
    RunError where there is no journal, one that is in use, nothing readable, or no room.
    """
    path = _journal(folder)
    if not may_write(folder, path):
        raise RunError(f"{folder} cannot be written: it is read-only.", hint="Make it writable, or work on a copy.")
    with run_lock(folder), journals.FORM.explained(path):
        kept = _free_name(path)
        with _put_back(path, kept), replacing(path) as fresh:
            saved = _copy(path, fresh)
            if not saved.answers + saved.errors:
                hint = "Move the run's folder away to ask everything anew."
                raise RunError(f"There is nothing to save in {path}: no answer in it can be read.", hint=hint)
            if log_of(path).exists():
                log_of(path).replace(log_of(kept))
            path.replace(kept)
    return saved._replace(kept=kept)


@contextmanager
def _put_back(path: Path, kept: Path) -> Iterator[None]:
    """Give the damaged journal its name again where the new one does not get it: a run would begin from nothing."""
    try:
        yield
    except BaseException:
        for there, here in ((kept, path), (log_of(kept), log_of(path))):
            if there.exists() and not here.exists():
                there.replace(here)
        raise


def _journal(folder: Path) -> Path:
    path = folder / JOURNAL
    if not path.is_file():
        raise RunError(f"{folder} holds no {JOURNAL}.", hint="Name a run's folder, such as one in runs/.")
    return path


def _free_name(path: Path) -> Path:
    names = (path.with_name(f"{path.stem}.damaged{n or ''}{path.suffix}") for n in itertools.count())
    return next(name for name in names if not name.exists() and not log_of(name).exists())


def _copy(damaged: Path, fresh: Path) -> Salvaged:
    journals.create(fresh, journals.UNNAMED)
    with (
        opened(damaged, log_of(damaged), journals.PAGE) as pages,
        closing(sqlite3.connect(fresh, isolation_level=None)) as connection,
    ):
        connection.execute("PRAGMA journal_mode = OFF")  # whatever happens, the damaged file is still there
        connection.execute("PRAGMA cache_size = -262144")
        connection.execute("CREATE TEMP TABLE seen(key BLOB PRIMARY KEY) WITHOUT ROWID")
        connection.execute(journals.ORIGINS)
        rows = pages.rows()
        while chunk := list(itertools.islice(rows, _TOGETHER)):
            connection.execute("BEGIN")
            for statement, values in _statements(chunk):
                connection.executemany(statement, values)
            connection.execute("COMMIT")
        return _settle(connection, damaged)


def _statements(found: Iterable[Found]) -> Iterator[tuple[str, list[Any]]]:
    """Sort rows by what they are, which only their shape tells."""
    rows: dict[str, list[Any]] = {}
    for number, values, newest in found:
        match values:
            case (None, bytes(key), int(failed), str(payload), int(checksum)):
                if len(key) == _KEY and journals.is_whole(key, failed, payload, checksum):
                    rows.setdefault(journals.UPSERT, []).append((key, failed, payload, checksum))
            case (None, int() | float() as started, int() | float() as ended):
                if newest and journals.is_session(started, ended):
                    rows.setdefault("REPLACE INTO sessions VALUES (?, ?, ?)", []).append((number, started, ended))
            case (bytes(key), int()):  # the index of keys: what there was
                if len(key) == _KEY:
                    rows.setdefault("INSERT OR IGNORE INTO seen VALUES (?)", []).append((key,))
            case (bytes(key), str(cache)):
                if newest and len(key) == _KEY:
                    rows.setdefault("REPLACE INTO origins VALUES (?, ?)", []).append((key, cache))
            case (str(name), str(record)) if name.startswith(SESSION):
                if newest:
                    rows.setdefault("REPLACE INTO meta VALUES (?, ?)", []).append((name, record))
            case ("identity", str(identity)):
                rows.setdefault("UPDATE meta SET value = ? WHERE name = 'identity'", []).append((identity,))
    yield from rows.items()


def _settle(connection: sqlite3.Connection, damaged: Path) -> Salvaged:
    """Drop what belongs to no saved answer, and count."""
    connection.execute("DELETE FROM origins WHERE key NOT IN (SELECT key FROM responses)")
    if not connection.execute("SELECT EXISTS (SELECT 1 FROM origins)").fetchone()[0]:
        connection.execute("DROP TABLE origins")
    total, errors = connection.execute("SELECT count(*), coalesce(sum(failed), 0) FROM responses").fetchone()
    lost = connection.execute("SELECT count(*) FROM seen WHERE key NOT IN (SELECT key FROM responses)").fetchone()[0]
    return Salvaged(total - errors, errors, lost, damaged)

"""Look at a run's journal without changing it, and save what can be read of a damaged one."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from kapwa.errors import RunError
from kapwa.files import may_write, replacing
from kapwa.runs.result_folder import run_lock
from kapwa.runs.schema import SESSION
from kapwa.runs.store import FAULTS, INSERT, JOURNAL, AnswerStore, create, decode

_TOGETHER = 500
_SMALLEST_ROW = 40  # bytes


class Examined(NamedTuple):
    """What a journal holds: whole answers and errors, rows with a wrong checksum; ``damage``: why it cannot be used."""

    answers: int
    errors: int
    damaged: int
    damage: str | None


class Salvaged(NamedTuple):
    """What was saved of a damaged journal, and where that lies now."""

    answers: int
    errors: int
    kept: Path


def examine(folder: Path) -> Examined:
    """Hold every row of the journal in ``folder`` against its checksum; nothing is changed.

    A read-only folder will do. Raises RunError where there is no journal, or one that is in use.
    """
    path = _journal(folder)
    n: Counter[str] = Counter()
    # Where nothing can be written there can be no lock, and nobody to be kept out.
    with run_lock(folder) if may_write(folder) else nullcontext():
        try:
            with AnswerStore(path, mode="read") as store:
                store.check()
                for row in store.walk("SELECT key, failed, payload, sum FROM responses"):
                    response = decode(*row)
                    n["damaged" if response is None else "errors" if response.failed else "answers"] += 1
                sessions = sum(session.damaged for session in store.sessions())
        except RunError as error:
            return Examined(0, 0, 0, error.message)
    damage = None
    if n["damaged"]:
        damage = f"{path} is damaged: {n['damaged']} of its rows have a wrong checksum."
    elif sessions:
        damage = f"{path} is damaged: {sessions} of the rows that say when and where answers were computed."
    return Examined(n["answers"], n["errors"], n["damaged"], damage)


def salvage(folder: Path) -> Salvaged:
    """Put a new journal with every answer that SQL can read in the place of the one in ``folder``, which is kept.

    It is kept as it was found, with its log: SQLite would drop whatever follows a damaged place in that. Killed midway,
    salvage leaves the old journal or the new one. Raises RunError where there is no journal, one that is in use,
    nothing readable, or no room.
    """
    path = _journal(folder)
    if not may_write(folder, path):
        raise RunError(f"{folder} cannot be written: it is read-only.", hint="Make it writable, or work on a copy.")
    names = (path.with_name(f"{path.stem}.damaged{n or ''}{path.suffix}") for n in itertools.count())
    free_name = next(name for name in names if not name.exists())
    nothing = RunError(
        f"There is nothing to save in {path}: no answer in it can be read.",
        hint="Move the run's folder away to ask everything again.",
    )
    try:
        with run_lock(folder), ExitStack() as undo:
            for suffix in ("-wal", ""):
                source, target = Path(f"{path}{suffix}"), Path(f"{free_name}{suffix}")
                if source.exists():
                    with replacing(target) as temporary:
                        shutil.copyfile(source, temporary)
                    undo.callback(target.unlink)
            with replacing(path) as fresh:
                with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as old:
                    answers, errors = _copy(old, path, fresh)
                if not answers + errors:
                    raise nothing
                undo.pop_all()  # from here on, what was set aside may be all there is
                with closing(sqlite3.connect(path, isolation_level=None)) as old:
                    # Folds the log into the file, so that none of the old file's is left beside the new one.
                    old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        if (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF in FAULTS:
            hint = "Make room on the disk and try again: the journal is as it was."
            raise RunError(f"{folder} cannot be written: {error}.", hint=hint) from error
        raise nothing from error
    except OSError as error:
        raise RunError(f"{folder} cannot be written: {error.strerror or error}.") from error
    return Salvaged(answers, errors, free_name)


def _journal(folder: Path) -> Path:
    path = folder / JOURNAL
    if not path.is_file():
        raise RunError(f"{folder} holds no {JOURNAL}.", hint="Name a run's folder, such as one in runs/.")
    return path


def _copy(old: sqlite3.Connection, path: Path, fresh: Path) -> tuple[int, int]:
    """Copy what can be read of ``old``, the journal at ``path``; return how many answers and errors."""
    identity = ""
    with suppress(sqlite3.Error):
        for (name,) in old.execute("SELECT value FROM meta WHERE name = 'identity'"):
            identity = str(name)
    fresh.unlink()
    create(fresh, identity)
    with closing(sqlite3.connect(fresh, isolation_level=None)) as new:
        new.execute("BEGIN")
        new.executemany("INSERT INTO sessions VALUES (?, ?, ?, ?)", _sessions(old))
        new.executemany(INSERT, (row for row in _rows(old, path) if decode(*row[:4])))
        # Answers of a session that is lost stay apart from those of sessions to come; who gave them is unknown.
        first = "coalesce((SELECT min(id) FROM sessions), 1)"
        new.execute(f"UPDATE responses SET session = {first} WHERE typeof(session) <> 'integer'")  # noqa: S608
        lost = "SELECT DISTINCT session, :modified, :modified, NULL FROM responses"
        new.execute(f"INSERT OR IGNORE INTO sessions {lost}", {"modified": path.stat().st_mtime})
        new.execute("COMMIT")
        total, errors = new.execute("SELECT count(*), coalesce(sum(failed), 0) FROM responses").fetchone()
    return total - errors, errors


def _sessions(old: sqlite3.Connection) -> list[Any]:
    """Return the rows of all sessions that are as Kapwa writes them."""
    sound = []
    with suppress(sqlite3.Error, UnicodeDecodeError):
        for row in old.execute("SELECT id, started, ended, record FROM sessions"):
            with suppress(ValidationError):
                SESSION.validate_python((*row[:3], row[3] or "{}", 0, 0))
                sound.append(row)
    return sound


def _rows(old: sqlite3.Connection, path: Path) -> Iterator[Any]:
    """Yield every row that SQL can read: many at a time, and where that fails one by one."""
    query = "SELECT key, failed, payload, sum, session FROM responses WHERE id BETWEEN ? AND ?"
    most = path.stat().st_size // _SMALLEST_ROW  # rows are numbered without gaps
    for first in range(1, most + 1, _TOGETHER):
        try:
            yield from old.execute(query, (first, first + _TOGETHER - 1)).fetchall()
        except (sqlite3.Error, UnicodeDecodeError):
            for number in range(first, first + _TOGETHER):
                with suppress(sqlite3.Error, UnicodeDecodeError):
                    yield from old.execute(query, (number, number)).fetchall()

"""The answers of a finished run, with what was asked: read from its journal, without the model or its data.

A journal knows answers by their requests' keys. The requests follow from the items and options, so they are made
again; the run's identity, which the journal keeps, proves that they are the very same.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kapwa.errors import RunError
from kapwa.records import Answer, Response
from kapwa.runs.directory import Run
from kapwa.runs.journal import Journal, _check_header, _explained
from kapwa.runs.redact import HIDDEN
from kapwa.runs.requests import RequestBook
from kapwa.runs.runner import JOURNAL
from kapwa.runs.stored import StoredAnswers
from kapwa.suites.base import Task


class RunAnswers:
    """Every answer of ``run`` to the requests of ``task``, which is the run's own, made again from its tables.

    ``keys``: 16 bytes for each request, in order. Raises RunError for a journal that is missing, damaged, in use, or
    was made from other requests.
    """

    def __init__(self, run: Run, task: Task) -> None:
        self.path = run.path / JOURNAL
        self._book = _book_of(run, task, _identity(self.path))
        self.keys = b"".join(bytes.fromhex(request.key) for request in self._book)

    def __iter__(self) -> Iterator[Answer]:
        """Yield every request with its response, in order, some hundreds read at a time."""
        with reading(self.path) as journal:
            yield from StoredAnswers(self._book, journal)


def read_answers(path: Path, keys: Sequence[str]) -> list[Response]:
    """Return the responses that the journal at ``path`` holds to ``keys``, in their order."""
    with reading(path) as journal:
        return list(journal.read(keys))


@contextmanager
def reading(path: Path) -> Iterator[Journal]:
    """Open a journal to read only: nothing is written, so that a read-only folder will do.

    Raises RunError for one that is missing, no journal, damaged or in use.
    """
    with _explained(path):
        if not path.is_file():
            raise RunError(f"{path} is missing, and with it the run's answers.", hint="Copy the whole run folder.")
        _check_header(path)
        log = path.with_name(f"{path.name}-wal")
        # Without a log nobody is writing, and SQLite need not make files of its own beside the journal.
        still = not log.exists() or log.stat().st_size == 0
        address = f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' if still else ''}"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=1.0)
    journal = Journal(path, connection)
    try:
        yield journal
    finally:
        journal.close()


def _identity(path: Path) -> str:
    with reading(path) as journal, _explained(path):
        row = journal._connection.execute("SELECT value FROM meta WHERE name = 'identity'").fetchone()
    if row is None:
        raise RunError(f"{path} does not say which run it belongs to.", hint="Restore it from a backup.")
    return str(row[0])


def _book_of(run: Run, task: Task, identity: str) -> RequestBook:
    items = task.items()
    for fingerprint in _fingerprints(run.manifest["model"]["fingerprint"]):
        book = RequestBook(task, items, fingerprint)
        if book.identity() == identity:
            return book
    raise RunError(
        f"{run.path} holds answers to other requests than its tables tell.",
        hint="Its items or options were changed, it was asked by another version of Kapwa, or the model's name held "
        "a folder of another user's home, which a run folder does not keep.",
    )


def _fingerprints(recorded: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the fingerprint as recorded, then with this user's home where it was shortened to "~"."""
    yield recorded
    home = str(Path.home())
    spelt = {
        name: value.replace("~", home, 1) if isinstance(value, str) and HIDDEN not in value else value
        for name, value in recorded.items()
    }
    if spelt != dict(recorded):
        yield spelt

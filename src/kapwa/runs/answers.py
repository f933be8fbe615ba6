"""The answers of a finished run, with what was asked: read from its journal, without the model or its data.

A journal knows answers by their requests' keys. The requests follow from the items and options, so they are made
again; the run's identity, which the journal keeps, proves that they are the very same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kapwa.errors import RunError
from kapwa.records import Answer, Response
from kapwa.runs.directory import Run
from kapwa.runs.journal import Journal
from kapwa.runs.redact import HIDDEN
from kapwa.runs.requests import RequestBook
from kapwa.runs.runner import JOURNAL
from kapwa.runs.stored import StoredAnswers
from kapwa.suites.base import Task


class RunAnswers:
    """Every answer of ``run`` to the requests of ``task``, which is the run's own, made again from its tables.

    Raises RunError for a journal that is missing, damaged, in use, or was made from other requests.
    """

    def __init__(self, run: Run, task: Task) -> None:
        self.path = run.path / JOURNAL
        with Journal.reading(self.path) as journal:
            self._book = _book_of(run, task, journal.identity)

    def __iter__(self) -> Iterator[Answer]:
        """Yield every request with its response, in order, some hundreds read at a time."""
        with Journal.reading(self.path) as journal:
            yield from StoredAnswers(self._book, journal)


def read_answers(path: Path, keys: Sequence[str]) -> list[Response]:
    """Return the responses that the journal at ``path`` holds to ``keys``, in their order."""
    with Journal.reading(path) as journal:
        return list(journal.read(keys))


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

"""What the tests of asking share: a run's book, journal and meter, without the rest of a run."""

from __future__ import annotations

from pathlib import Path

from tiny_suite import TinyModel, TinyTask

from kapwa.records import Response
from kapwa.runs.asking import ask_missing
from kapwa.runs.journal import Journal
from kapwa.runs.progress import Meter, Snapshot
from kapwa.runs.requests import RequestBook


class Bench:
    """A journal, a book of requests and a meter, ready to ask."""

    def __init__(self, path: Path, task: TinyTask, model: TinyModel) -> None:
        self.model = model
        self.book = RequestBook(task, task.items(), model.fingerprint)
        self.journal = Journal.open(path / "journal.sqlite", identity=self.book.identity())
        self.seen: list[Snapshot] = []

    def ask(self) -> Snapshot:
        ask_missing(self.book, self.model, self.journal, Meter(self.seen.append, "x", total=self.book.distinct_total))
        return self.seen[-1]

    def stored(self) -> dict[str, Response]:
        return {r.request_key: r for r in self.journal.read(self.book.distinct_keys())}

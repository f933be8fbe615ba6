"""What the tests of asking share: a run's requests, journal and meter, without the rest of a run."""

from pathlib import Path

from tiny_suite import TinyModel, TinyTask

from kapwa.records import Response
from kapwa.runs.asking import ask
from kapwa.runs.progress import Meter, Snapshot
from kapwa.runs.requests import requests_of
from kapwa.runs.store import AnswerStore


class Bench:
    """A journal, the requests of a task and a meter, ready to ask."""

    def __init__(self, path: Path, task: TinyTask, model: TinyModel) -> None:
        self.model = model
        self.index = requests_of(task, task.items(), model.fingerprint)
        self.keys = [request.key for request in self.index.distinct()]
        self.journal = AnswerStore(path / "journal.sqlite", identity=self.index.identity)
        self.seen: list[Snapshot] = []

    def ask(self) -> Snapshot:
        ask(self.index, self.model, self.journal, meter=Meter(self.seen.append, "x", self.index.distinct_total))
        return self.seen[-1]

    def stored(self) -> dict[str, Response]:
        return {r.request_key: r for r in self.journal.read_raw(self.keys)}

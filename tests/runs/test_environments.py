"""A run remembers what each of its sessions computed with, and says where that was not the same."""

import contextlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tiny_suite import TinyModel, TinyTask, run_task

from kapwa.parallel.base import DistributedModel
from kapwa.report.sentences.notes import methods
from kapwa.report.view.tasks import arrange
from kapwa.runs.asking import RunInterrupted
from kapwa.runs.doctor import examine, salvage
from kapwa.runs.finished_run import Run
from kapwa.runs.progress import Snapshot
from kapwa.runs.schema import differences

TASK = TinyTask(n=24, shared=False)
HERE = {"kapwa": "1", "device": "cpu", "torch": "2.0", "batch_tokens": 4096, "processor": "A"}


@dataclass
class Somewhere(TinyModel):
    """A local model that says what it computes with."""

    atomic_batches: bool = True
    changed: dict[str, Any] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, Any]:
        return {**HERE, **self.changed}


def stopped(out: Path, model: TinyModel, *, at: int = 9) -> Path:
    """Begin a run, stop it when so many answers are there, and return its folder."""

    def stop(snapshot: Snapshot) -> None:
        if snapshot.done >= at:
            raise KeyboardInterrupt

    with pytest.raises(RunInterrupted):
        run_task(TASK, model, out=out, progress=stop)
    (folder,) = out.iterdir()
    return folder


def finished(out: Path, model: TinyModel) -> Run:
    return Run(run_task(TASK, model, out=out, progress=False))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"device": "NVIDIA H200"}, "device (cpu; NVIDIA H200)"),
        ({"torch": "2.1", "batch_tokens": 8192}, "batch_tokens (4096; 8192), torch (2.0; 2.1)"),
        ({"processor": "A; B"}, "processor (A; B)"),
    ],
)
def test_a_run_finished_elsewhere_goes_on_and_says_that_it_makes_no_promise(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, changed: dict[str, Any], said: str
) -> None:
    folder = stopped(tmp_path, Somewhere())
    assert not caplog.records
    run = finished(tmp_path, Somewhere(changed=changed))
    assert run.path == folder
    assert run.complete
    (record,) = caplog.records
    assert f"were computed in another environment: {said}." in record.getMessage()
    assert "answer everything again in another folder (--out)" in record.getMessage()
    reason = f"its answers were computed in different environments: {said}"
    assert run.manifest["repeatable"] == f"no promise: {reason}"
    assert run.manifest["notes"] == [f"The run cannot be repeated byte for byte: {reason}."]
    assert [one["environment"] for one in run.manifest["environments"]] == [HERE, {**HERE, **changed}]
    asked, *_, note = methods(arrange([run])[0])["asked"]
    assert "byte for byte" not in asked
    assert f"cannot be repeated byte for byte: {reason}." in note


def test_a_failed_item_asked_again_elsewhere_counts_too(tmp_path: Path) -> None:
    cured = tmp_path / "cured"
    run_task(TASK, Somewhere(fails="of 3?", cured=str(cured)), out=tmp_path / "runs", progress=False)
    cured.write_text("")
    run = finished(tmp_path / "runs", Somewhere(changed={"device": "B"}))
    assert run.manifest["counts"]["failed"] == 0
    assert run.manifest["repeatable"].endswith("device (cpu; B)")


def test_a_session_that_only_failed_computed_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run_task(TASK, Somewhere(fails="what of", changed={"device": "small"}), out=tmp_path, progress=False)
    run = finished(tmp_path, Somewhere(changed={"device": "large"}))
    assert run.complete
    assert run.manifest["repeatable"] == "bytes"
    assert run.manifest["sessions"] == 2
    assert not caplog.records


def test_a_run_resumed_as_it_was_begun_promises_what_it_did(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing to ask on another machine changes no answer."""
    stopped(tmp_path, Somewhere(), at=5)
    stopped(tmp_path, Somewhere(), at=15)
    run = finished(tmp_path, Somewhere())
    assert "repeat it byte for byte" in methods(arrange([run])[0])["asked"][0]
    again = finished(tmp_path, Somewhere(changed={"device": "B"}))
    assert again.manifest["repeatable"] == "bytes"
    assert again.manifest["notes"] == []
    assert len(again.manifest["environments"]) == 3
    assert not caplog.records


def test_a_third_environment_is_told_of_and_a_known_one_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    said = []
    for i, device in enumerate("ABAC", start=1):
        caplog.clear()
        stopped(tmp_path, Somewhere(changed={"device": device}), at=5 * i)
        said.append([record.getMessage() for record in caplog.records])
    assert [len(messages) for messages in said] == [0, 1, 0, 1]
    assert "device (A; B; C)" in said[3][0]


def test_replicas_on_two_kinds_of_processor_break_the_promise_by_themselves(tmp_path: Path) -> None:
    class Growing(Somewhere, DistributedModel):
        def window(self, total: int) -> int:
            return total

        def run_batches(self, kind: str, batches: Any) -> Any:
            for batch in batches:
                yield batch, list(self.generate(batch))
                self.changed = {"processor": "A; B"}  # a machine joined

    run = finished(tmp_path, Growing())
    assert run.manifest["repeatable"].endswith("different environments: processor (A; B)")


def test_served_models_promise_nothing_and_are_compared_with_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run_task(TASK, Somewhere(atomic_batches=False, fails="of 3?"), out=tmp_path, progress=False)
    run = finished(tmp_path, Somewhere(atomic_batches=False, changed={"device": "B"}))
    assert run.manifest["repeatable"] == "no promise"
    assert run.manifest["notes"] == []
    assert not caplog.records


def test_answers_whose_session_is_lost_are_not_credited_to_the_next_one(tmp_path: Path) -> None:
    folder = stopped(tmp_path, Somewhere())
    with contextlib.closing(sqlite3.connect(folder / "journal.sqlite", isolation_level=None)) as base:
        base.execute("DELETE FROM sessions")
    salvage(folder)
    run = finished(tmp_path, Somewhere())
    assert [one["environment"] for one in run.manifest["environments"]] == [None, HERE]
    assert "device (unknown; cpu)" in run.manifest["repeatable"]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([], None),
        ([{"a": 1}, {"a": 1}], None),
        ([{"a": 1}, {"a": 2}, {"a": 1}], "a (1; 2)"),
        ([{"a": 1, "b": "x"}, {"a": 1}], "b (x; unknown)"),
        ([{"a": "x; y"}], "a (x; y)"),
    ],
)
def test_differences(found: Sequence[dict[str, Any]], said: str | None) -> None:
    assert differences(found) == said


DAMAGED_SESSIONS = [
    "record = 'x'",
    "record = '[]'",
    "record = '{\"environment\": 3}'",
    'record = \'{"model": {"id": 1}}\'',
    "record = '{\"cache\": []}'",
    "record = '{\"a\": ' || replace(hex(zeroblob(200000)), '00', '[')",
    "started = 'yesterday'",
    "ended = 1e300",
    "ended = -1e300",
]


@pytest.mark.parametrize("damage", DAMAGED_SESSIONS)
def test_a_damaged_session_costs_no_answer_and_is_reported(tmp_path: Path, damage: str) -> None:
    folder = stopped(tmp_path, Somewhere())
    with contextlib.closing(sqlite3.connect(folder / "journal.sqlite", isolation_level=None)) as base:
        answers = base.execute("SELECT count(*) FROM responses WHERE NOT failed").fetchone()[0]
        base.execute(f"UPDATE sessions SET {damage}")
    examined = examine(folder)
    assert examined.answers == answers > 0
    assert "rows that say when and where answers were computed" in str(examined.damage)
    run = finished(tmp_path, Somewhere())
    assert run.complete
    assert "device (unknown; cpu)" in run.manifest["repeatable"] or "unknown" in run.manifest["repeatable"]
    assert salvage(folder).answers == run.manifest["counts"]["unique"]
    assert examine(folder).damage is None

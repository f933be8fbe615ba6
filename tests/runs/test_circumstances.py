"""What a run remembers of what computed its answers: each session's, and what is said where they differ."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_suite import TinyModel, TinyTask

from kapwa.models import circumstances as listed
from kapwa.models.circumstances import NAMES, TOLD, circumstances, told
from kapwa.report.notes import methods
from kapwa.report.view import arrange
from kapwa.runs.alike import differences, why_no_promise
from kapwa.runs.directory import Run
from kapwa.runs.journal import Journal
from kapwa.runs.progress import Snapshot
from kapwa.runs.runner import RunInterrupted, run_task
from kapwa.runs.salvage import salvage
from kapwa.runs.sessions import Session, parsed

TASK = TinyTask(n=24, shared=False)
THERE = {"device": "cpu", "threads": 4, "torch": "2.0", "transformers": "5.0", "batch_tokens": 4096, "backend": "tiny"}


@dataclass
class Somewhere(TinyModel):
    """A local model that tells where it computes."""

    atomic_batches: bool = True
    told: dict[str, Any] = field(default_factory=dict)

    @property
    def description(self) -> dict[str, Any]:
        return {**super().description, **THERE, **self.told}


def stopped(out: Path, model: TinyModel, *, at: int = 9) -> Path:
    """Begin a run, stop it when so many answers are there, and return its folder."""

    def stop(snapshot: Snapshot) -> None:
        if snapshot.done >= at:
            raise KeyboardInterrupt

    with pytest.raises(RunInterrupted):
        run_task(TASK, model, out=out, progress=stop)
    (folder,) = out.iterdir()
    return folder


def gone_on(out: Path, model: TinyModel) -> Run:
    return Run(run_task(TASK, model, out=out, progress=False))


def texts(run: Run) -> list[str]:
    return run.table("answers")["text"].to_list()


# -- a run that is finished otherwise than it was begun -------------------------------------------

OTHERWISE = {
    "device": ({"device": "NVIDIA H200"}, "device (cpu; NVIDIA H200)", "the device cpu"),
    "threads": ({"threads": 5}, "number of threads (4; 5)", "OMP_NUM_THREADS=4 (on Ray, --cpus-per-replica 4)"),
    "torch": ({"torch": "2.1"}, "version of torch (2.0; 2.1)", "torch==2.0"),
    "batch_tokens": ({"batch_tokens": 8192}, "batch size (4096; 8192)", "--batch-tokens 4096"),
    "processors": (
        {"engine": {"name": "ray", "processors": ["another kind"]}},
        "kind of processor (this kind; another kind)",
        "a machine with the processor this kind",
    ),
}


@pytest.mark.parametrize(("changed", "said", "remedy"), OTHERWISE.values(), ids=OTHERWISE)
def test_a_run_finished_elsewhere_goes_on_and_says_that_it_makes_no_promise(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, Any],
    said: str,
    remedy: str,
) -> None:
    monkeypatch.setattr(listed, "processor", lambda: "this kind")
    folder = stopped(tmp_path, Somewhere())
    assert not caplog.records
    run = gone_on(tmp_path, Somewhere(told=changed))
    assert run.path == folder
    assert run.complete
    (record,) = caplog.records
    assert f"The earlier answers in {folder} were not computed as those to come: {said}." in record.getMessage()
    assert f"run again with {remedy}; or answer everything anew in another folder (--out)" in record.getMessage()
    reason = f"not all answers were computed alike: {said}"
    assert run.manifest["repeatable"] == f"no promise: {reason}"
    assert run.manifest["notes"] == [f"The run cannot be repeated byte for byte: {reason}."]
    first, second = (session["with"] for session in run.manifest["circumstances"])
    assert {name: first[name] for name in THERE} == THERE
    assert told(second) == {**THERE, **{name: value for name, value in changed.items() if name in TOLD}}


def test_other_batches_are_noticed_whatever_the_model_says_of_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    small, large = (Run(run_task(TASK, TinyModel(atomic_batches=True, batch=n), out=tmp_path / f"of{n}",
                                 progress=False)) for n in (3, 8))  # fmt: skip
    stopped(tmp_path / "mixed", TinyModel(atomic_batches=True, batch=3))
    mixed = gone_on(tmp_path / "mixed", TinyModel(atomic_batches=True, batch=8))
    assert set(texts(mixed)) <= {*texts(small), *texts(large)}
    assert texts(mixed) not in (texts(small), texts(large))
    assert mixed.manifest["repeatable"] == "no promise: not all answers were computed alike: batches (generate)"
    assert "run again with the settings of batches it was begun with" in caplog.text
    assert small.manifest["repeatable"] == large.manifest["repeatable"] == "bytes"


def test_a_failed_item_asked_again_elsewhere_counts_too(tmp_path: Path) -> None:
    cured = tmp_path / "cured"
    here = Somewhere(fails="of 3?", cured=str(cured))
    assert run_task(TASK, here, out=tmp_path / "runs", progress=False).exists()
    cured.write_text("")
    run = gone_on(tmp_path / "runs", Somewhere(told={"device": "B"}))
    assert run.manifest["counts"]["failed"] == 0
    assert [session["with"]["device"] for session in run.manifest["circumstances"]] == ["cpu", "B"]
    assert run.manifest["repeatable"].endswith("device (cpu; B)")


def test_a_session_that_only_failed_computed_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run_task(TASK, Somewhere(fails="what of", told={"device": "small"}), out=tmp_path, progress=False)
    run = gone_on(tmp_path, Somewhere(told={"device": "large"}))
    assert run.complete
    assert run.manifest["repeatable"] == "bytes"
    assert run.manifest["sessions"] == 2
    assert not caplog.records


def test_a_run_resumed_as_it_was_begun_promises_what_it_did(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Another engine, and nothing to ask on another machine, change no answer."""
    stopped(tmp_path, Somewhere(), at=5)
    stopped(tmp_path, Somewhere(), at=15)
    same = {"engine": {"name": "ray", "replicas": 3, "processors": [listed.processor()]}}
    assert gone_on(tmp_path, Somewhere(told=same)).manifest["repeatable"] == "bytes"
    again = gone_on(tmp_path, Somewhere(told={"device": "B"}))
    assert again.manifest["repeatable"] == "bytes"
    assert again.manifest["notes"] == []
    assert [session["with"]["engine"] for session in again.manifest["circumstances"]] == ["local", "local", "ray"]
    assert not caplog.records


def test_a_third_way_is_told_of_and_a_known_one_is_not(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ways = [{"device": "A"}, {"device": "B"}, {"device": "A"}, {"device": "C"}]
    said = []
    for i, way in enumerate(ways, start=1):
        caplog.clear()
        stopped(tmp_path, Somewhere(told=way), at=5 * i)
        said.append([record.getMessage() for record in caplog.records])
    assert [len(messages) for messages in said] == [0, 1, 0, 1]
    assert "device (A; B; C)" in said[3][0]
    # What was begun in two ways cannot be gone on with in one.
    assert "To avoid that, answer everything anew in another folder (--out)." in said[3][0]


def test_replicas_on_two_kinds_of_processor_break_the_promise_by_themselves(tmp_path: Path) -> None:
    engine = {"name": "ray", "processors": ["A"]}

    class Growing(Somewhere):
        def _all(self, batch: Sequence[Any]) -> Any:
            engine["processors"] = ["A", "B"]  # a machine joined
            return super()._all(batch)

        def window(self, total: int) -> int:
            return total

        def answer_all(self, kind: str, batches: Any) -> Any:
            return ((batch, list(self.generate(batch))) for batch in batches)

    run = gone_on(tmp_path, Growing(told={"engine": engine}))
    assert run.manifest["repeatable"] == "no promise: not all answers were computed alike: kind of processor (A; B)"
    assert run.manifest["circumstances"][0]["with"]["processors"] == ["A", "B"]


def test_served_models_promise_nothing_and_are_compared_with_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run_task(TASK, Somewhere(atomic_batches=False, fails="of 3?"), out=tmp_path, progress=False)
    run = gone_on(tmp_path, Somewhere(atomic_batches=False, told={"device": "B"}))
    assert run.manifest["repeatable"] == "no promise"
    assert [session["with"]["device"] for session in run.manifest["circumstances"]] == ["cpu", "B"]
    assert run.manifest["notes"] == []
    assert not caplog.records


def test_the_report_says_it(tmp_path: Path) -> None:
    stopped(tmp_path, Somewhere())
    alike = methods(arrange([gone_on(tmp_path, Somewhere())])[0]).asked
    assert "repeat it byte for byte" in alike[0]
    stopped(tmp_path / "mixed", Somewhere())
    asked, note = methods(arrange([gone_on(tmp_path / "mixed", Somewhere(told={"threads": 9}))])[0]).asked
    assert "byte for byte" not in asked
    assert "cannot be repeated byte for byte: not all answers were computed alike: number of threads (4; 9)." in note


def test_what_to_run_with_leaves_out_batches_that_follow_from_the_rest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stopped(tmp_path, Somewhere())
    gone_on(tmp_path, Somewhere(batch=8, told={"batch_tokens": 9, "threads": 1}))
    assert "batch size (4096; 9) and batches (generate)" in caplog.text
    assert "(on Ray, --cpus-per-replica 4) and --batch-tokens 4096; or answer" in caplog.text


# -- the record in the journal --------------------------------------------------------------------


def sql(folder: Path, statement: str) -> list[Any]:
    with contextlib.closing(sqlite3.connect(folder / "journal.sqlite", isolation_level=None)) as base:
        return base.execute(statement).fetchall()


def test_a_journal_without_records_is_gone_on_with_as_unknown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """So older versions wrote them, and so a salvaged one may be."""
    folder = stopped(tmp_path, Somewhere())
    sql(folder, "DELETE FROM meta WHERE name LIKE 'session %'")
    run = gone_on(tmp_path, Somewhere())
    reason = "what 1 of its 2 sessions computed with is unknown"
    assert run.manifest["repeatable"] == f"no promise: {reason}"
    assert run.manifest["circumstances"][0]["with"] is None
    assert "There is no record of what the earlier answers" in caplog.text
    assert len(caplog.records) == 1


def test_a_whole_run_of_an_older_version_promises_what_it_did(tmp_path: Path) -> None:
    folder = run_task(TASK, Somewhere(), out=tmp_path, progress=False)
    sql(folder, "DELETE FROM meta WHERE name LIKE 'session %'")
    run = gone_on(tmp_path, Somewhere(told={"device": "B"}))
    assert run.manifest["repeatable"] == "bytes"
    assert [session["with"] for session in run.manifest["circumstances"]] == [None]


def test_a_salvaged_run_is_finished(tmp_path: Path) -> None:
    folder = stopped(tmp_path, Somewhere())
    path = folder / "journal.sqlite"
    whole = path.read_bytes()
    path.write_bytes(whole[:4096].replace(b"CREATE TABLE", b"CREATE TALBE") + whole[4096:])
    saved = salvage(folder)
    assert (saved.answers, saved.lost) == (9, 0)
    run = gone_on(tmp_path, Somewhere())
    assert run.complete
    assert len(run.manifest["circumstances"]) == 2


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0), st.integers(1, 255))
def test_a_damaged_record_is_unknown_and_never_another(at: int, bits: int) -> None:
    record = RECORD.encode()
    at %= len(record)
    damaged = record[:at] + bytes([record[at] ^ bits]) + record[at + 1 :]
    assert parsed(damaged.decode("utf-8", "replace")) == (True, None)
    assert parsed(RECORD) == (False, {"device": "cpu", "threads": 2})


RECORD = "9eb075bc 0 " + json.dumps({"device": "cpu", "threads": 2})


@pytest.mark.parametrize("record", [None, 3, b"x", "", "x", "00000000 "], ids=["none", "int", "bytes", "", "x", "zero"])
def test_what_is_no_record_is_unknown(record: object) -> None:
    assert parsed(record)[1] is None


def test_a_record_is_written_with_the_first_answers_and_again_only_when_it_changes(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "journal.sqlite", identity="a" * 32) as journal:
        written: list[str] = []
        journal._connection.set_trace_callback(lambda said: written.append(said) if "REPLACE INTO meta" in said else 0)
        model = TinyModel()
        task = TinyTask(n=6, shared=False)
        responses = [model.answer(request, []) for request in _bound(task, model)]
        journal.tell({"device": "A"})
        assert journal.sessions() == []
        for response in responses[:3]:
            journal.commit([response])
        assert len(written) == 1
        journal.tell({"device": "B"})
        assert [session.circumstances for session in journal.sessions()] == [{"device": "A"}]
        journal.commit(responses[3:])
        assert len(written) == 2
        assert [session.circumstances for session in journal.sessions()] == [{"device": "B"}]


def _bound(task: TinyTask, model: TinyModel) -> list[Any]:
    from kapwa.runs.requests import RequestBook

    return list(RequestBook(task, task.items(), model.fingerprint).distinct())


# -- comparing ------------------------------------------------------------------------------------

VALUES = st.fixed_dictionaries(
    {"threads": st.integers(1, 2), "processors": st.lists(st.sampled_from("AB"), min_size=1, max_size=2, unique=True)},
    optional={"device": st.sampled_from(["cpu", "cuda"]), "engine": st.sampled_from(["local", "ray"])},
)


@given(st.lists(VALUES, max_size=4))
def test_what_differs_does_not_hang_on_the_order_nor_on_the_engine(found: list[dict[str, Any]]) -> None:
    names = {one.name for one in differences(found)}
    assert names == {one.name for one in differences(reversed(found))}
    assert names == {one.name for one in differences([{**one, "engine": "x"} for one in found])}
    assert names <= set(NAMES)
    alike = len({json.dumps([one.get("threads"), one.get("device")]) for one in found}) <= 1
    kinds = {kind for one in found for kind in one["processors"]}
    assert (not names) == (alike and len(kinds) <= 1)


def test_plans_are_compared_by_kind_and_only_where_there_were_any() -> None:
    asked = [{"plans": {"score": "a"}}, {"plans": {"score": "a", "generate": "b"}}, {}]
    assert differences(asked) == []
    assert [one.name for one in differences([*asked, {"plans": {"generate": "c"}}])] == ["plan of generate"]


def test_a_single_session_that_nobody_knows_of_is_alike_in_itself() -> None:
    unknown = Session(1.0, 2.0)
    assert why_no_promise([]) is None
    assert why_no_promise([unknown]) is None
    assert why_no_promise([unknown, Session(3.0, 4.0, answered=False)]) is None
    assert why_no_promise([unknown, unknown]) == "what 2 of its 2 sessions computed with is unknown"


def test_what_a_model_does_not_tell_is_left_out() -> None:
    found = circumstances(TinyModel())
    assert set(found) == {"engine", "kapwa", "processors"}
    assert found["processors"] == [listed.processor()] != [""]

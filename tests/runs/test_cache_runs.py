"""Runs that share a cache of answers: what is taken, what is not, and that no table changes."""

import contextlib
import json
import os
import signal
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from test_environments import Somewhere
from test_kill import asked, finish, start, tables
from tiny_suite import TinyModel, TinyTask, run_task

from kapwa.errors import RunError
from kapwa.models.base import ModelOptions
from kapwa.models.replay import load
from kapwa.parallel.base import DistributedModel
from kapwa.records import Item, Params, Request, Response
from kapwa.runs.cache import contents, open_cache
from kapwa.runs.finished_run import Run
from kapwa.runs.store import AnswerStore

BOTH = ("score", "generate")


class Bench:
    """Runs of one task in folders of their own, with one cache."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "team"
        self.n = 0

    def run(self, task: TinyTask, model: TinyModel, *, cache: bool = True) -> Run:
        self.n += 1
        kept = self.cache if cache else None
        return Run(run_task(task, model, out=self.folder / f"run{self.n}", progress=False, cache=kept))

    def held(self) -> int:
        with open_cache(self.cache)[0] as store:
            return sum(one.answers for one in contents(store))

    def sql(self, statement: str, *values: Any) -> list[Any]:
        with contextlib.closing(sqlite3.connect(self.cache / "answers.sqlite", isolation_level=None)) as base:
            return base.execute(statement, values).fetchall()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def logged(model: TinyModel, path: Path) -> TinyModel:
    return replace(model, log=str(path))


@pytest.mark.parametrize("atomic", [False, True])
def test_a_second_run_asks_nothing_and_gives_the_same_bytes(bench: Bench, atomic: bool, tmp_path: Path) -> None:
    task, model = TinyTask(n=30, kinds=BOTH, variants=("full", "partial")), TinyModel(atomic_batches=atomic)
    plain = bench.run(task, model, cache=False)
    first = bench.run(task, model)
    log = tmp_path / "log"
    second = bench.run(task, logged(model, log))
    assert asked(log) == []
    assert tables(plain.path) == tables(first.path) == tables(second.path)
    assert plain.path.name == first.path.name == second.path.name
    assert bench.held() == 60
    (told,) = second.manifest["cache"]["from"]
    with open_cache(bench.cache)[0] as store:
        assert told == {"name": "team", "id": store.identity, "answers": 60}
    assert second.manifest["cache"]["answers"] == 60
    assert second.manifest["notes"] == ["60 of 60 answers were not asked for but taken from the cache team."]
    assert first.manifest["cache"]["answers"] == 0
    assert first.manifest["notes"] == []
    assert "cache" not in plain.manifest


def test_a_larger_selection_asks_only_what_is_new(bench: Bench, tmp_path: Path) -> None:
    bench.run(TinyTask(n=10, shared=False), TinyModel())
    log = tmp_path / "log"
    run = bench.run(TinyTask(n=25, shared=False), logged(TinyModel(), log))
    assert len(asked(log)) == 15
    assert run.manifest["cache"]["answers"] == 10
    assert run.manifest["counts"]["answered"] == 25
    assert bench.held() == 25


@pytest.mark.parametrize(
    "other", [TinyModel(revision="r2"), TinyModel(id="test/other"), pytest.param("atomic", id="batched")]
)
def test_another_model_revision_or_way_of_answering_does_not_hit(bench: Bench, tmp_path: Path, other: Any) -> None:
    task, log = TinyTask(n=12), tmp_path / "log"
    bench.run(task, TinyModel())
    run = bench.run(task, logged(TinyModel(atomic_batches=True) if other == "atomic" else other, log))
    assert len(asked(log)) == 6
    assert run.manifest["cache"]["answers"] == 0
    assert bench.held() == 12


@dataclass(frozen=True)
class Sampled(TinyTask):
    """Two draws of each question."""

    temperature: float = 0.7

    def requests(self, items: Sequence[Item]) -> Iterator[Request]:
        for i, request in enumerate(super().requests(items)):
            yield replace(request, params=Params(temperature=self.temperature, seed=4), sample=i % 2)


class Drawing(TinyModel):
    """Never says the same twice."""

    def answer(self, request: Request, batch: Sequence[Request]) -> Response:
        return Response(request.key, text=f"draw {os.urandom(8).hex()}")


def test_sampled_answers_are_shared_each_under_its_number(bench: Bench) -> None:
    task = Sampled(n=8)
    first, second = (bench.run(task, Drawing()) for _ in range(2))
    assert first.table("answers").equals(second.table("answers"))
    assert first.table("answers")["text"].n_unique() == 8
    warmer = bench.run(Sampled(n=8, temperature=0.8), Drawing())
    assert warmer.manifest["cache"]["answers"] == 0


def test_a_batch_is_taken_whole_or_not_at_all(bench: Bench, tmp_path: Path) -> None:
    """An answer depends on its company here, so a batch with one answer missing is asked again as a whole."""
    task, model = TinyTask(n=12, shared=False), TinyModel(atomic_batches=True)
    plain = bench.run(task, model, cache=False)
    bench.run(task, model)
    bench.sql("DELETE FROM responses WHERE id = 5")
    log = tmp_path / "log"
    run = bench.run(task, logged(model, log))
    assert len(asked(log)) == 3
    assert run.manifest["cache"]["answers"] == 9
    assert tables(run.path) == tables(plain.path)
    assert bench.held() == 12


def test_other_batches_are_other_answers(bench: Bench, tmp_path: Path) -> None:
    """The first nine questions alone fall into other batches than among twelve."""
    model = TinyModel(atomic_batches=True)
    bench.run(TinyTask(n=12, shared=False), model)
    log = tmp_path / "log"
    small = bench.run(TinyTask(n=9, shared=False), logged(model, log))
    alone = bench.run(TinyTask(n=9, shared=False), model, cache=False)
    assert asked(log), "some batch differs"
    assert tables(small.path) == tables(alone.path)


@pytest.mark.parametrize("changed", [{"device": "A100"}, {"torch": "2.1"}, {"processor": "B"}, {"kapwa": "99"}])
def test_texts_computed_in_another_environment_are_not_taken(
    bench: Bench, tmp_path: Path, changed: dict[str, Any]
) -> None:
    task, log = TinyTask(n=6), tmp_path / "log"
    bench.run(task, Somewhere())
    assert bench.run(task, Somewhere()).manifest["cache"]["answers"] == 3
    bench.run(task, Somewhere(changed=changed, log=str(log)))
    assert len(asked(log)) == 3
    assert bench.run(task, Somewhere(changed=changed)).manifest["cache"]["answers"] == 3


def test_a_replica_on_another_processor_that_came_late_keys_what_follows(bench: Bench) -> None:
    class Growing(Somewhere, DistributedModel):
        window = None

        def run_batches(self, kind: str, batches: Any) -> Any:
            for batch in batches:
                self.changed = {"processor": "A; B"}
                yield batch, list(self.generate(batch))

    task = TinyTask(n=6, shared=False)
    bench.run(task, Growing())
    assert bench.run(task, Somewhere()).manifest["cache"]["answers"] == 0
    assert bench.run(task, Somewhere(changed={"processor": "A; B"})).manifest["cache"]["answers"] == 6


def test_a_batch_with_a_failed_item_is_not_kept(bench: Bench) -> None:
    bench.run(TinyTask(n=12, shared=False), TinyModel(atomic_batches=True, fails="of 3?"))
    assert bench.held() == 9


def test_failed_items_are_not_kept_and_asked_again_by_the_next_run(bench: Bench, tmp_path: Path) -> None:
    task = TinyTask(n=8, shared=False)
    assert bench.run(task, TinyModel(fails="of 3?")).failed == 1
    assert bench.held() == 7
    log = tmp_path / "log"
    healed = bench.run(task, logged(TinyModel(), log))
    assert (healed.complete, len(asked(log)), bench.held()) == (True, 1, 8)


def test_a_model_without_a_revision_is_not_cached_and_the_run_says_so(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        run = bench.run(TinyTask(n=4), TinyModel(revision=""))
        assert run.manifest["cache"]["answers"] == 0
        (said,) = run.manifest["notes"]
        assert "names no revision" in said
        assert "--revision" in said
    assert "names no revision" in caplog.text
    assert bench.held() == 0


def test_recorded_answers_are_not_cached(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps({"item_id": f"{i:03}", "text": "x"}) + "\n" for i in range(4)))
    run = bench.run(TinyTask(n=4), load(str(file), ModelOptions()))
    assert run.complete
    assert "recorded already" in run.manifest["notes"][0]
    assert bench.held() == 0


def test_a_fingerprint_that_changes_while_asking_ends_the_keeping(bench: Bench) -> None:
    class Updated(TinyModel):
        @property
        def fingerprint(self) -> Mapping[str, Any]:
            return {**super().fingerprint, "version": len(self.calls)}

    run = bench.run(TinyTask(n=6), Updated())
    assert run.complete
    assert "fingerprint changed" in run.manifest["notes"][0]
    assert bench.held() == 0


DAMAGE = {
    "a flipped letter": "UPDATE responses SET payload = replace(payload, 'sagot', 'sagod') WHERE id = 2",
    "another type": "UPDATE responses SET payload = 'x' WHERE id = 2",
    "a wrong sum": "UPDATE responses SET sum = sum + 1 WHERE id = 2",
    "a text for a sum": "UPDATE responses SET sum = 'x' WHERE id = 2",
    "another's answer": "UPDATE responses SET payload = (SELECT payload FROM responses WHERE id = 3) WHERE id = 2",
}


@pytest.mark.parametrize(("damage", "atomic"), [*((damage, False) for damage in DAMAGE), ("a wrong sum", True)])
def test_a_damaged_answer_is_asked_again_with_a_warning_and_replaced(
    bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str, atomic: bool
) -> None:
    task, model, log = TinyTask(n=6, shared=False), TinyModel(atomic_batches=atomic), tmp_path / "log"
    plain = bench.run(task, model)
    bench.sql(DAMAGE[damage])
    run = bench.run(task, logged(model, log))
    assert len(asked(log)) == (3 if atomic else 1)
    assert "damaged" in caplog.text
    assert "The cache team holds damaged answers; they are asked for again." in run.manifest["notes"]
    assert tables(run.path) == tables(plain.path)
    caplog.clear()
    assert bench.run(task, model).manifest["cache"]["answers"] == 6
    assert not caplog.text


def test_a_cache_that_breaks_while_asking_is_left_alone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bench.run(TinyTask(n=4), TinyModel())

    def broken(self: AnswerStore, keys: object) -> None:
        raise RunError("The cache team is damaged: database disk image is malformed.")

    monkeypatch.setattr(AnswerStore, "find", broken)
    run = bench.run(TinyTask(n=6), TinyModel())
    assert run.complete
    assert run.manifest["cache"]["answers"] == 0
    assert "The run continues without it." in run.manifest["notes"][0]
    assert caplog.text.count("continues without it") == 1


def test_a_full_disk_ends_the_keeping_and_not_the_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def small(folder: Path, *, create: bool = True) -> tuple[AnswerStore, bool]:
        store, read_only = open_cache(folder, create=create)
        store.rows("PRAGMA max_page_count = 12")
        return store, read_only

    monkeypatch.setattr("kapwa.runs.cache.open_cache", small)
    run = bench.run(TinyTask(n=800, shared=False), TinyModel())
    assert run.complete
    (note,) = run.manifest["notes"]
    assert "the disk is full" in note
    assert "are not added to the cache" in note
    assert run.manifest["counts"]["answered"] == 800
    monkeypatch.undo()
    assert 0 <= bench.held() < 800


def test_a_read_only_cache_is_used_and_not_written_and_the_run_says_so(
    bench: Bench, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    bench.run(TinyTask(n=8, shared=False), TinyModel())
    before = (bench.cache / "answers.sqlite").read_bytes()
    tmp_path.chmod(0o777)
    bench.cache.chmod(0o555)
    (bench.cache / "answers.sqlite").chmod(0o444)
    request.getfixturevalue("nobody")
    run = bench.run(TinyTask(n=12, shared=False), TinyModel())
    assert run.manifest["cache"]["answers"] == 8
    assert run.complete
    assert "cannot be written: answers are taken from it, none are added" in run.manifest["notes"][0]
    assert sorted(path.name for path in bench.cache.iterdir()) == [".lock", "answers.sqlite"]
    assert (bench.cache / "answers.sqlite").read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_processes_at_once_share_one_cache_made_by_either(tmp_path: Path) -> None:
    common = {"n": 60, "shared": False, "delay": 0.002, "cache": str(tmp_path / "team")}
    processes = [start({**common, "out": str(tmp_path / f"run{i}")}) for i in range(3)]
    for process in processes:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert "Warning" not in err
        assert "WARNING" not in err
    folders = [next((tmp_path / f"run{i}").iterdir()) for i in range(3)]
    assert tables(folders[0]) == tables(folders[1]) == tables(folders[2])
    log = tmp_path / "log"
    last = finish({**common, "out": str(tmp_path / "last"), "log": str(log)})
    assert asked(log) == []
    assert tables(last) == tables(folders[0])
    with open_cache(tmp_path / "team")[0] as store:
        assert sum(one.answers for one in contents(store)) == 60


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize("atomic", [False, True])
def test_a_killed_writer_leaves_a_sound_cache_and_its_own_run_resumes(tmp_path: Path, atomic: bool) -> None:
    cache = tmp_path / "team"
    common = {"n": 90, "shared": False, "cache": str(cache), "atomic_batches": atomic}
    plain = run_task(TinyTask(n=90, shared=False), TinyModel(atomic_batches=atomic), out=tmp_path / "p", progress=False)
    begun = tmp_path / "begun"
    first = start({**common, "delay": 0.05, "out": str(tmp_path / "first"), "log": str(begun)})
    deadline = time.monotonic() + 300
    while len(asked(begun)) < 30:  # the first ones are durable by then
        assert time.monotonic() < deadline
        time.sleep(0.005)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    log, again = tmp_path / "log", tmp_path / "again"
    second = finish({**common, "out": str(tmp_path / "second"), "log": str(log)})
    taken = Run(second).manifest["cache"]["answers"]
    assert 0 < taken < 90
    assert len(asked(log)) == 90 - taken
    resumed = finish({**common, "out": str(tmp_path / "first"), "log": str(again)})
    assert asked(again) == []
    assert tables(resumed) == tables(second) == tables(plain)


def test_a_resumed_run_still_says_what_came_from_the_cache(bench: Bench, tmp_path: Path) -> None:
    bench.run(TinyTask(n=6, shared=False), TinyModel())
    task, folder = TinyTask(n=10, shared=False), tmp_path / "here"
    first = Run(run_task(task, TinyModel(fails="of 8?"), path=folder, progress=False, cache=bench.cache))
    assert (first.manifest["cache"]["answers"], first.failed) == (6, 1)
    again = Run(run_task(task, TinyModel(), path=folder, progress=False))
    assert (again.manifest["cache"], again.failed) == (first.manifest["cache"], 0)
    assert again.manifest["notes"] == ["6 of 10 answers were not asked for but taken from the cache team."]


def test_a_resumed_run_adds_what_the_cache_lacks(bench: Bench, tmp_path: Path) -> None:
    """As after a kill between the journal's commit and the cache's."""
    task, folder = TinyTask(n=10, shared=False), tmp_path / "here"
    run_task(task, TinyModel(fails="of 8?"), path=folder, progress=False)
    run_task(task, TinyModel(), path=folder, progress=False, cache=bench.cache)
    assert bench.held() == 10
    log = tmp_path / "log"
    other = bench.run(task, logged(TinyModel(), log))
    assert (asked(log), other.manifest["cache"]["answers"]) == ([], 10)

"""Inspect's logs are read a few samples at a time, to the same runs as logs that are held whole."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import inspect_ai.log
import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from polars.testing import assert_frame_equal

from kapwa import api
from kapwa.errors import DataError
from kapwa.exchange import inspect_own, inspect_read
from kapwa.exchange.inspectai.tasks import blend_saq
from kapwa.runs.directory import Run

ITEMS = 12
EPOCHS = 2


@scorer(metrics=[accuracy()])
def marked() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=float(len(str(state.sample_id)) % 2), explanation="x" * 50)

    return score


@solver
def echo() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("mockllm/model", f"{state.sample_id}: {state.epoch}")
        return state

    return solve


def logged(task: Task, folder: Path, **options: Any) -> Path:
    settings: dict[str, Any] = {"model": "mockllm/model", "display": "none", "log_dir": str(folder)}
    (log,) = eval(task, **{**settings, **options})
    return Path(log.location.removeprefix("file://"))


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of somebody's task, asked twice of twelve items whose ids are numbers."""
    dataset = MemoryDataset([Sample(id=n, input=f"Q {n}?", target="yes") for n in range(1, ITEMS + 1)])
    return logged(
        Task(dataset=dataset, solver=echo(), scorer=marked()), tmp_path_factory.mktemp("foreign"), epochs=EPOCHS
    )


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of Kapwa's task inside Inspect, with answers that no model gave."""
    task = blend_saq(limit=6, country="Mexico")
    task.solver = echo()
    return logged(task, tmp_path_factory.mktemp("ran"))


@pytest.fixture(scope="module")
def own(foreign: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of Kapwa's, of a run of several items and draws."""
    folder = tmp_path_factory.mktemp("own")
    (first,) = api.import_result(foreign, "inspect", out=folder / "runs")
    (path,) = api.export_run(first, folder / "logs", "inspect")
    return path


@pytest.fixture(params=["foreign", "ran", "own"])
def log(request: pytest.FixtureRequest) -> Path:
    """Each kind of log."""
    return request.getfixturevalue(request.param)


def run_of(path: Path, out: Path) -> Run:
    (folder,) = api.import_result(path, "inspect", out=out)
    return Run(folder)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """What each reading of samples asked for, and how many samples of earlier ones were still held then."""
    read = inspect_ai.log.read_eval_log_samples_by_id
    readings: list[tuple[int, int]] = []
    alive: list[weakref.ref[Any]] = []

    def reading(file: Any, wanted: Any, **options: Any) -> Any:
        readings.append((len(wanted), sum(1 for one in alive if one() is not None)))
        found = read(file, wanted, **options)
        alive.extend(map(weakref.ref, found))
        return found

    whole = inspect_ai.log.read_eval_log

    def header(*args: Any, **options: Any) -> EvalLog:
        assert options["header_only"]
        return whole(*args, **options)

    monkeypatch.setattr(inspect_ai.log, "read_eval_log_samples_by_id", reading)
    monkeypatch.setattr(inspect_ai.log, "read_eval_log", header)
    return readings


def test_few_samples_are_held_at_once_and_the_run_is_the_same(
    log: Path, tmp_path: Path, watched: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = run_of(log, tmp_path / "at_once")
    total = at_once.manifest["counts"]["requests"]
    watched.clear()
    monkeypatch.setattr(inspect_read, "_HELD", 3)
    monkeypatch.setattr(inspect_own, "_HELD", 5)
    run = run_of(log, tmp_path / "few")
    # The last of a reading may be in use while the next begins; one is looked at first to tell whose task it is.
    assert max(held for _, held in watched) <= 4
    assert max(asked for asked, _ in watched) == 3
    assert sum(asked for asked, _ in watched) in (total, total + 1)
    assert run.tables == at_once.tables
    for table in run.tables:
        assert_frame_equal(run.table(table), at_once.table(table), check_exact=True)
    assert run.manifest == at_once.manifest


def test_large_samples_are_read_one_by_one(
    log: Path, tmp_path: Path, watched: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect_read, "_HELD_BYTES", 1)
    run_of(log, tmp_path)
    assert {asked for asked, _ in watched} == {1}


def test_both_forms_of_a_log_become_one_run(log: Path, tmp_path: Path) -> None:
    written = tmp_path / f"{log.stem}.json"
    write_eval_log(read_eval_log(log), written)
    a, b = run_of(log, tmp_path / "a"), run_of(written, tmp_path / "b")
    assert a.tables == b.tables
    for table in a.tables:
        assert_frame_equal(a.table(table), b.table(table), check_exact=True)


def test_items_come_in_inspects_order(foreign: Path, tmp_path: Path) -> None:
    run = run_of(foreign, tmp_path)
    assert run.items["item_id"].to_list() == [str(n) for n in range(1, ITEMS + 1)]
    assert run.answers["sample"].to_list() == [0] * ITEMS + [1] * ITEMS


def rewritten(source: Path, target: Path, change: Callable[[str, bytes], list[tuple[str, bytes]]]) -> Path:
    """A copy of a log, each member what ``change`` makes of it."""
    with ZipFile(source) as old, ZipFile(target, "w") as new:
        for name in dict.fromkeys(old.namelist()):
            for told in change(name, old.read(name)):
                new.writestr(*told)
    return target


def is_one(name: str) -> bool:
    return name.startswith("samples/") and name.endswith("_epoch_1.json")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda name, data: [(name, data[:40] if is_one(name) else data)], "is not an Inspect log, or a damaged one"),
        (lambda name, data: [(name, b"{}" if is_one(name) else data)], "is not an Inspect log, or a damaged one"),
        (lambda name, data: [] if is_one(name) else [(name, data)], r"holds (no|\d+ of the \d+) samples"),
        (lambda name, data: [] if name.startswith("samples/") else [(name, data)], "holds no samples"),
        (
            lambda name, data: [(name, data), ("samples/again_epoch_1.json", data)] if is_one(name) else [(name, data)],
            r"holds the sample .+, epoch 1, twice",
        ),
    ],
    ids=["cut", "empty", "fewer", "none", "twice"],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_damage_in_the_midst_is_told_and_nothing_is_written(
    log: Path, tmp_path: Path, change: Callable[[str, bytes], list[tuple[str, bytes]]], told: str
) -> None:
    path = rewritten(log, tmp_path / "changed.eval", change)
    with pytest.raises(DataError, match=told) as raised:
        run_of(path, tmp_path / "runs")
    assert raised.value.hint
    assert not (tmp_path / "runs").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_a_sample_that_was_logged_again_the_later_counts(foreign: Path, tmp_path: Path) -> None:
    def again(name: str, data: bytes) -> list[tuple[str, bytes]]:
        if name != "samples/3_epoch_1.json":
            return [(name, data)]
        earlier = json.loads(data)
        earlier["output"]["choices"][0]["message"]["content"] = "an earlier answer"
        return [(name, json.dumps(earlier).encode()), (name, data)]

    run = run_of(rewritten(foreign, tmp_path / "again.eval", again), tmp_path / "runs")
    assert run.answers.filter(item_id="3", sample=0)["text"].to_list() == ["3: 1"]
    assert run.answers.height == ITEMS * EPOCHS


def test_a_sample_of_kapwas_that_does_not_name_its_item_is_told(ran: Path, tmp_path: Path) -> None:
    def nameless(name: str, data: bytes) -> list[tuple[str, bytes]]:
        told = json.loads(data)
        if name.startswith("samples/") and "k02" in name:
            del told["metadata"]["kapwa"]
        return [(name, json.dumps(told).encode())]

    run = run_of(rewritten(ran, tmp_path / "changed.eval", nameless), tmp_path / "runs")
    assert run.manifest["task"].startswith("inspect/")
    assert any("its metadata do not name the item" in note for note in run.manifest["notes"])


def test_json_that_is_too_much_to_hold_is_refused(
    foreign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = tmp_path / "log.json"
    write_eval_log(read_eval_log(foreign), written)
    monkeypatch.setattr(inspect_read, "MOST_UNPACKED", 1000)
    with pytest.raises(DataError, match=r"bytes of JSON, which are read whole; at most 1,000") as raised:
        run_of(written, tmp_path / "runs")
    assert "inspect log convert" in str(raised.value.hint)

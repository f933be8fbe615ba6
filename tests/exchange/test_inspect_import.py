"""Imports of Inspect logs: of other people's tasks, of Kapwa's own inside Inspect, and of what is no finished log."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import polars as pl
import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, accuracy, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

import kapwa
from kapwa import api
from kapwa.cli.main import app
from kapwa.errors import DataError, UsageError
from kapwa.exchange import inspect_read
from kapwa.exchange.inspectai.tasks import kalahi_open
from kapwa.report.page import build_report
from kapwa.runs.directory import Run

LETTERS = {"a": "C", "b": "I", "c": "P", "d": "N"}


@scorer(metrics=[accuracy(), stderr()])
def letters() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=LETTERS[str(state.sample_id)], answer="x")

    return score


@scorer(metrics={"length": [mean()], "share": [mean()]})
def numbers() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        if state.sample_id == "d":
            return Score(value={"length": math.nan, "share": math.nan}, reason="no_response")
        return Score(value={"length": 10 * state.epoch, "share": 0.25})

    return score


@scorer(metrics=[mean()])
def colours() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value="blue")

    return score


@scorer(metrics=[accuracy()])
def right() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=float(target.text in state.output.completion))

    return score


@solver
def says(breaks: str = "") -> Solver:
    """Say a text without asking a model; fail for the sample ``breaks``."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.sample_id == breaks:
            raise RuntimeError("no answer came")
        state.output = ModelOutput.from_content("mockllm/model", f"I say yes, {state.epoch}")
        return state

    return solve


def samples(**metadata: Any) -> MemoryDataset:
    return MemoryDataset([Sample(id=name, input=f"Q {name}?", target="yes", metadata=metadata) for name in "abcd"])


@pytest.fixture
def evaluated(tmp_path: Path) -> Callable[..., Path]:
    """Run a task in the real Inspect and return its log's path."""

    def run(task: Task, **options: Any) -> Path:
        settings: dict[str, Any] = {"model": "mockllm/model", "display": "none", "log_dir": str(tmp_path / "logs")}
        (log,) = eval(task, **{**settings, **options})
        return Path(log.location.removeprefix("file://"))

    return run


def run_of(path: Path, tmp_path: Path, **options: Any) -> Run:
    (folder,) = api.import_result(path, "inspect", out=tmp_path / "runs", **options)
    return Run(folder)


def overall(run: Run) -> dict[str, dict[str, Any]]:
    return {row["metric"]: row for row in run.estimates.filter(pl.col("group") == "all").iter_rows(named=True)}


@pytest.mark.parametrize("form", ["eval", "json"])
def test_a_log_becomes_a_run(evaluated: Callable[..., Path], tmp_path: Path, form: str) -> None:
    path = evaluated(
        Task(dataset=samples(culture="Filipino", topic="food"), solver=says(), scorer=right()), log_format=form
    )
    assert path.suffix == f".{form}"
    run = run_of(path, tmp_path, language="fil")
    found = overall(run)["right"]
    assert (found["value"], found["n"], found["right"], found["wrong"]) == (1.0, 4, 4, 0)
    assert (found["culture"], found["language"]) == ("Filipino", "fil")
    assert run.manifest["groups"] == ["topic"]
    assert run.manifest["metrics"]["right"]["binary"]
    assert run.items.select("item_id", "prompt", "target").row(0) == ("a", "Q a?", "yes")
    assert run.answers["text"].to_list() == ["I say yes, 1"] * 4
    assert any("sampled by itself" in note for note in run.manifest["notes"])
    assert not any("culture" in note for note in run.manifest["notes"])
    assert build_report([run], tmp_path / "report.html").stat().st_size > 1000


def test_letters_numbers_nan_epochs_and_several_scorers(evaluated: Callable[..., Path], tmp_path: Path) -> None:
    task = Task(dataset=samples(), solver=says(), scorer=[letters(), numbers(), colours()])
    run = run_of(evaluated(task, epochs=2), tmp_path)
    found = overall(run)
    assert set(found) == {"letters", "length", "share"}
    # C, I, P and N count 1, 0, one half and 0, as Inspect counts them; N is no answer rather than a wrong one.
    letters_ = found["letters"]
    assert (letters_["value"], letters_["n"], letters_["refused"]) == (0.375, 4, 2)
    assert not run.manifest["metrics"]["letters"]["binary"]
    # An item's value is the mean of its epochs; what is not a number is in no mean, and told.
    assert (found["length"]["value"], found["length"]["n"], found["length"]["empty"]) == (15.0, 3, 2)
    assert found["share"]["value"] == 0.25
    assert run.scores["sample"].unique().sort().to_list() == [0, 1]
    assert run.answers.height == 8
    assert any(
        "colours is not taken over: it has a value that is no number ('blue')" in n for n in run.manifest["notes"]
    )


def test_keys_of_two_scorers_stay_apart(evaluated: Callable[..., Path], tmp_path: Path) -> None:
    path = evaluated(Task(dataset=samples(), solver=says(), scorer=[letters(), numbers()]))
    log = read_eval_log(path)
    for sample in log.samples or []:
        sample.scores["other"] = Score(value={"length": 1, "letters": True})
        sample.scores["list"] = Score(value=[1, 2.5])
    write_eval_log(log, path)
    found = overall(run_of(path, tmp_path))
    assert set(found) == {"letters", "share", "numbers.length", "other.length", "other.letters", "list.0", "list.1"}
    assert (found["list.1"]["value"], found["other.letters"]["right"]) == (2.5, 4)


def test_a_sample_that_failed_is_a_failed_item(evaluated: Callable[..., Path], tmp_path: Path) -> None:
    run = run_of(evaluated(Task(dataset=samples(), solver=says("c"), scorer=right()), fail_on_error=False), tmp_path)
    assert (run.failed, run.complete) == (1, False)
    assert run.manifest["failures"] == [{"reason": "RuntimeError('no answer came')", "count": 1}]
    found = overall(run)["right"]
    assert (found["n"], found["right"], found["failed"]) == (3, 3, 1)
    assert run.answers.filter(item_id="c").select("text", "error").row(0) == (None, "RuntimeError('no answer came')")


def test_other_reducers_and_means_that_differ_are_told(evaluated: Callable[..., Path], tmp_path: Path) -> None:
    path = evaluated(Task(dataset=samples(), solver=says(), scorer=[letters(), right()]))
    log = read_eval_log(path)
    log.results.scores[0].metrics["accuracy"].value = 0.9
    write_eval_log(log, path)
    run = run_of(path, tmp_path)
    assert set(overall(run)) == {"right"}
    assert any("the log's own mean 0.9 is not that of its samples, 0.375" in note for note in run.manifest["notes"])
    log.results.scores[0].reducer = "max"
    write_eval_log(log, path)
    run = run_of(path, tmp_path)
    assert set(overall(run)) == {"letters", "right"}
    assert any("reduce epochs by max" in note for note in run.manifest["notes"])


def test_two_models_compare_item_by_item(evaluated: Callable[..., Path], tmp_path: Path) -> None:
    task = Task(dataset=samples(), solver=says(), scorer=right())
    first = run_of(evaluated(task), tmp_path / "a")
    log = read_eval_log(evaluated(task))
    log.eval.model = "mockllm/other"
    log.samples[0].scores["right"].value = 0.0
    log.results.scores[0].metrics["accuracy"].value = 0.75
    write_eval_log(log, tmp_path / "other.eval")
    table = api.compare(first, run_of(tmp_path / "other.eval", tmp_path / "b"))
    assert table.filter(pl.col("metric") == "right").select("difference", "n").row(0) == (0.25, 4)


def test_an_import_exports_to_what_was_imported(evaluated: Callable[..., Path], tmp_path: Path) -> None:
    path = evaluated(Task(dataset=samples(culture="Irish"), solver=says("b"), scorer=right()), fail_on_error=False)
    (again,) = api.export_run(run_of(path, tmp_path), tmp_path / "out", "inspect")
    first, second = read_eval_log(path), read_eval_log(again)
    assert second.eval.model == first.eval.model
    assert second.eval.task == f"inspect/{first.eval.task}"
    for a, b in zip(first.samples or [], second.samples or [], strict=True):
        assert (a.id, a.epoch, a.target) == (b.id, b.epoch, b.target)
        assert [message.text for message in b.input] == [a.input]
        assert (a.error is None, a.error and a.error.message) == (b.error is None, b.error and b.error.message)
        assert a.output.completion == b.output.completion
        assert b.metadata["culture"] == "Irish"
        if a.scores:
            assert b.scores["kapwa"].value == {"right": a.scores["right"].value}
    assert second.results.scores[0].metrics["mean"].value == first.results.scores[0].metrics["accuracy"].value


@pytest.fixture
def own_log(evaluated: Callable[..., Path], tmp_path: Path) -> tuple[Path, Path]:
    """A log of kapwa/kalahi_open on a copy of a sample pack, with answers that no model gave; and the copy."""
    data = tmp_path / "pack"
    source = kapwa.load_task("kalahi/open", data="sample:filipino").data.path
    assert source is not None
    data.mkdir()
    for file in source.iterdir() if source.is_dir() else [source]:
        (data / file.name).write_bytes(file.read_bytes())
    task = kalahi_open(data=str(data), limit=3, metrics=["chrf"])
    task.solver = answers_best()
    return evaluated(task), data


@solver
def answers_best() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("mockllm/model", state.target.text[:40])
        return state

    return solve


def test_kapwas_tasks_are_judged_again(own_log: tuple[Path, Path], tmp_path: Path) -> None:
    path, data = own_log
    log = read_eval_log(path)
    for sample in log.samples or []:
        sample.scores["kalahi_open"].value["chrf_acc"] = 0.0  # judged anew, so this does not matter
    write_eval_log(log, path)
    run = run_of(path, tmp_path)
    assert run.manifest["task"] == "kalahi/open"
    task = kapwa.load_task("kalahi/open", data=data, limit=3, metrics=["chrf"])
    rows = [(one.metadata["item_id"], one.metadata["variant"], one.output.completion) for one in log.samples or []]
    said = pl.DataFrame(rows, schema=["item_id", "variant", "text"], orient="row")
    expected = api.score_responses(task, said)
    keys = ["item_id", "variant", "metric"]
    assert_frame_equal(run.scores.sort(keys), expected.scores.sort(keys), check_exact=True)
    same = [name for name in run.estimates.columns if name != "signature"]
    assert_frame_equal(run.estimates.select(same), expected.estimates.select(same), check_exact=True)
    assert_frame_equal(run.items, expected.items)
    assert_frame_equal(run.floors, expected.floors)
    judged, solver = run.manifest["notes"]
    assert judged == "Asked by Inspect; Kapwa's own task judged the answers again."
    assert solver.endswith('settings of its own: solver "answers_best".')
    assert overall(run)["chrf_acc"]["value"] == 1.0


def test_without_its_data_the_logs_scores_are_taken(own_log: tuple[Path, Path], tmp_path: Path) -> None:
    path, data = own_log
    for file in data.iterdir():
        file.unlink()
    log = read_eval_log(path)
    # Another process has not opened the task yet.
    from kapwa.exchange.inspectai import opened

    opened._opened.clear()
    run = run_of(path, tmp_path)
    assert run.manifest["task"].startswith("inspect/")
    assert any("did not judge the answers again" in note for note in run.manifest["notes"])
    found = {row["item_id"]: row["value"] for row in run.scores.filter(metric="chrf_acc").iter_rows(named=True)}
    told = {one.metadata["item_id"]: one.scores["kalahi_open"].value["chrf_acc"] for one in log.samples or []}
    assert found == told
    assert set(run.items["variant"]) == {"full"}


def _status(log: EvalLog) -> None:
    log.status = "error"


def _started(log: EvalLog) -> None:
    log.status = "started"


def _no_samples(log: EvalLog) -> None:
    log.samples = []


def _fewer(log: EvalLog) -> None:
    log.samples = (log.samples or [])[:2]


def _unscored(log: EvalLog) -> None:
    for sample in log.samples or []:
        sample.scores = None


def _newer(log: EvalLog) -> None:
    log.version = 3


def _texts(log: EvalLog) -> None:
    for sample in log.samples or []:
        sample.scores = {"right": Score(value="blue")}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_status, r"did not finish \(status 'error'\)(.|\n)*eval-retry \S*changed.json"),
        (_started, r"did not finish \(status 'started'\)"),
        (_no_samples, "holds no samples"),
        (_fewer, "holds 2 of the 4 samples"),
        (_unscored, "holds no scores(.|\n)*inspect score"),
        (_newer, "damaged one .*version 3 of log format"),
        (_texts, "no metric that is a mean(.|\n)*no number"),
    ],
)
def test_what_cannot_become_a_run_is_refused(
    evaluated: Callable[..., Path], tmp_path: Path, change: Callable[[EvalLog], None], told: str
) -> None:
    path = evaluated(Task(dataset=samples(), solver=says(), scorer=right()))
    log = read_eval_log(path)
    change(log)
    path = tmp_path / "changed.json"
    write_eval_log(log, path)
    with pytest.raises(DataError, match=told):
        run_of(path, tmp_path)
    assert not (tmp_path / "runs").exists()


def test_a_sample_that_is_there_twice_is_refused(evaluated: Callable[..., Path], tmp_path: Path) -> None:
    path = evaluated(Task(dataset=samples(), solver=says(), scorer=right()), log_format="json")
    told = json.loads(path.read_text("utf-8"))
    told["samples"].append(told["samples"][0])
    path.write_text(json.dumps(told), "utf-8")
    with pytest.raises(DataError, match="holds the sample 'a', epoch 1, twice"):
        run_of(path, tmp_path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_newer_form_of_log_is_refused(evaluated: Callable[..., Path], tmp_path: Path) -> None:
    path = evaluated(Task(dataset=samples(), solver=says(), scorer=right()))
    with ZipFile(path, "a") as archive:
        header = {**json.loads(archive.read("header.json")), "version": 3}
        archive.writestr("header.json", json.dumps(header))
    with pytest.raises(DataError, match="has log format 3"):
        run_of(path, tmp_path)


def test_a_log_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(
    evaluated: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = evaluated(Task(dataset=samples(), solver=says(), scorer=right()))
    monkeypatch.setattr(inspect_read, "MOST_UNPACKED", 1000)
    monkeypatch.setattr("inspect_ai.log.read_eval_log", None)
    with pytest.raises(DataError, match=r"unpacks to [0-9,]+ bytes; at most 1,000 are read"):
        run_of(path, tmp_path)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("cut", [0, 3, 400, -30, None])
def test_what_is_no_log_is_refused(evaluated: Callable[..., Path], tmp_path: Path, cut: int | None) -> None:
    path = evaluated(Task(dataset=samples(), solver=says(), scorer=right()))
    path.write_bytes(b'{"results": {}}' if cut is None else path.read_bytes()[:cut])
    with pytest.raises(DataError, match="is not an Inspect log, or a damaged one"):
        run_of(path, tmp_path)


def test_folders_and_missing_files(evaluated: Callable[..., Path], tmp_path: Path) -> None:
    task = Task(dataset=samples(), solver=says(), scorer=right())
    path = evaluated(task)
    assert run_of(path.parent, tmp_path).manifest["task"].startswith("inspect/")
    evaluated(task)
    with pytest.raises(DataError, match=r"holds 2 Inspect logs(.|\n)*Name one of them"):
        run_of(path.parent, tmp_path)
    with pytest.raises(DataError, match="holds no Inspect log"):
        run_of(tmp_path / "runs", tmp_path)
    with pytest.raises(DataError, match=r"cannot be read: No such file(.|\n)*Name a log"):
        run_of(tmp_path / "none.eval", tmp_path)
    with pytest.raises(UsageError, match="Did you mean 'inspect'"):
        api.import_result(path, "inspct", out=tmp_path)


def test_the_command_line_imports_and_tells(evaluated: Callable[..., Path], tmp_path: Path) -> None:
    path = evaluated(Task(dataset=samples(), solver=says(), scorer=right()))
    asked = ["import", str(path), "--format", "inspect", "-o", str(tmp_path / "runs"), "--json"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.stderr
    (folder,) = json.loads(done.stdout)["runs"]
    assert Run(folder).complete
    assert "does not tell the culture and language" in done.stderr

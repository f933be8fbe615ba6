"""Logs of Kapwa's tasks that Inspect asked otherwise than Kapwa asks: the run says so, in a note and its signature."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import inspect_ai
import pytest
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.model import ChatMessageUser, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import chain, system_message
from polars.testing import assert_frame_equal

from kapwa import api
from kapwa.exchange.inspectai import tasks
from kapwa.runs.directory import Run

SAQ: dict[str, Any] = {"country": "Mexico", "variant": "local/inst-4", "limit": 3}
JUDGED = "Asked by Inspect; Kapwa's own task judged the answers again."
STORIES: dict[str, Any] = {"limit": 1, "nationalities": "Filipino", "samples": 3}


def rice(*_: Any) -> ModelOutput:
    output = ModelOutput.from_content("model", "rice")
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it would be counted online
    return output


def logged(task: Any, folder: Path, **settings: Any) -> Path:
    model = get_model("mockllm/model", custom_outputs=rice)
    (log,) = inspect_ai.eval(task, model=model, log_dir=str(folder / "logs"), display="none", **settings)
    assert log.status == "success", log.error
    return Path(log.location.removeprefix("file://"))


def run_of(path: Path, folder: Path) -> Run:
    (made,) = api.import_result(path, "inspect", out=folder / "runs")
    return Run(made)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run of a log that was asked as Kapwa asks."""
    folder = tmp_path_factory.mktemp("usual")
    return run_of(logged(tasks.blend_saq(**SAQ), folder, max_connections=2, max_retries=3, timeout=9), folder)


def test_settings_of_fetching_are_not_what_is_asked(usual: Run) -> None:
    assert usual.manifest["notes"] == [JUDGED]
    assert usual.manifest["options"]["max_new_tokens"] == 128
    assert "asked_with" not in usual.manifest["options"]


@pytest.mark.parametrize(
    ("settings", "told", "signed"),
    [
        ({"max_tokens": 7}, "max_tokens 7", "max_new_tokens=7"),
        ({"temperature": 1.5}, "temperature 1.5", "asked_with=temperature=1.5"),
        ({"system_message": "Be brief."}, 'system_message "Be brief."', "asked_with=system_message=Be%20;brief."),
        ({"seed": 4, "top_p": 0.5}, "seed 4", "asked_with=seed=4+top_p=0.5"),
    ],
    ids=["tokens", "temperature", "system", "several"],
)
def test_settings_of_inspects_own_are_told_and_signed(
    usual: Run, tmp_path: Path, settings: dict[str, Any], told: str, signed: str
) -> None:
    run = run_of(logged(tasks.blend_saq(**SAQ), tmp_path, **settings), tmp_path)
    (note,) = run.manifest["notes"][1:]
    assert note.startswith("Inspect asked with settings of its own: ")
    assert told in note
    assert signed in run.manifest["signature"]
    assert signed in run.estimates["signature"][0]
    assert all(signed in one for one in run.manifest["signatures"].values())
    assert run.manifest["task"] == usual.manifest["task"]
    assert_frame_equal(run.scores, usual.scores)


def test_what_a_models_own_settings_say_counts_where_the_task_is_silent(usual: Run, tmp_path: Path) -> None:
    def silent(log: EvalLog) -> None:
        log.eval.model_generate_config.top_p = 0.9
        log.eval.model_generate_config.max_tokens = 5  # the task's own stands above it

    run = run_of(changed(logged(tasks.blend_saq(**SAQ), tmp_path), silent), tmp_path)
    assert run.manifest["options"]["asked_with"] == ["top_p=0.9"]
    assert run.manifest["options"]["max_new_tokens"] == 128


def test_another_solver_and_its_messages_are_told_and_signed(tmp_path: Path) -> None:
    task = tasks.blend_saq(**SAQ)
    task.solver = chain(system_message("You are a farmer. " * 9), task.solver)
    run = run_of(logged(task, tmp_path), tmp_path)
    notes = run.manifest["notes"]
    assert 'solver "system_message + kapwa/ask"' in notes[1]
    assert notes[2] == "3 samples were asked with other messages beside those of Kapwa."
    messages, solver = run.manifest["options"]["asked_with"]
    assert messages.startswith("messages=")
    assert solver == "solver=system_message + kapwa/ask"
    other = tasks.blend_saq(**SAQ)
    other.solver = chain(system_message("You are a fisher. " * 9), other.solver)
    again = run_of(logged(other, tmp_path / "b"), tmp_path / "b")
    assert again.manifest["signature"] != run.manifest["signature"]


def changed(path: Path, change: Callable[[EvalLog], None]) -> Path:
    log = read_eval_log(path)
    change(log)
    write_eval_log(log, path)
    return path


def test_other_words_are_not_judged_again(tmp_path: Path) -> None:
    def other(log: EvalLog) -> None:
        (log.samples or [])[1].input = [ChatMessageUser(content="What is your favourite colour?")]

    run = run_of(changed(logged(tasks.blend_saq(**SAQ), tmp_path), other), tmp_path)
    assert run.manifest["task"].startswith("inspect/")
    assert any("was asked in other words than Kapwa's now" in note for note in run.manifest["notes"])


def test_seeds_of_each_sample_are_kapwas_own(tmp_path: Path) -> None:
    run = run_of(logged(tasks.eecc_stories(**STORIES), tmp_path), tmp_path)
    assert run.manifest["notes"] == [JUDGED]
    again = run_of(logged(tasks.eecc_stories(**STORIES), tmp_path / "b", temperature=0.9, seed=3), tmp_path / "b")
    assert again.manifest["options"]["temperature"] == 0.9
    assert "asked_with" not in again.manifest["options"]


def test_failed_answers_are_counted_as_requests(tmp_path: Path) -> None:
    def failed(log: EvalLog) -> None:
        told = json.loads((log.samples or [])[0].model_dump_json())
        told["error"] = {"message": "it broke", "traceback": "", "traceback_ansi": ""}
        (log.samples or [])[0] = type((log.samples or [])[0]).model_validate(told)

    path = logged(tasks.eecc_stories(limit=2, nationalities="Filipino,Irish", samples=3), tmp_path)
    run = run_of(changed(path, failed), tmp_path)
    counts = run.manifest["counts"]
    assert counts["requests"] == counts["items"] * 3
    assert (counts["failed"], counts["answered"]) == (3, counts["requests"] - 3)
    assert run.manifest["failures"] == [{"reason": "it broke", "count": 3}]
    assert run.manifest["status"] == "failed_items"

"""Kapwa's tasks in the real Inspect, and logs of what came of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import inspect_ai
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model

from kapwa.exchange.inspect_tasks import SCORERS, TASKS

tasks, scorers = SimpleNamespace(**TASKS), SimpleNamespace(**SCORERS)


def output_of(text: str) -> ModelOutput:
    output = ModelOutput.from_content("model", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it would be counted online
    return output


def evaluated(task: Any, model: Model | str, folder: Path, *, status: str = "success", **settings: Any) -> EvalLog:
    (log,) = inspect_ai.eval(task, model=model, log_dir=str(folder), display="none", **settings)
    assert log.status == status, log.error
    return read_eval_log(log.location)


def logged(task: Any, folder: Path, **settings: Any) -> Path:
    """Ask a model that says "rice" to everything; return the log's path."""
    model = get_model("mockllm/model", custom_outputs=lambda *_: output_of("rice"))
    log = evaluated(task, model, folder / "logs", **settings)
    return Path(log.location.removeprefix("file://"))

"""Copies of lm-eval's files in which something is changed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kapwa import import_result
from kapwa.runs.finished_run import Run

Edit = Callable[[list[dict[str, Any]], dict[str, Any]], object]


def edited(source: Path, folder: Path, change: Edit, task: str = "") -> Path:
    """Copy ``source`` to ``folder``; ``change`` gets the samples (those of ``task``) and the results."""
    shutil.copytree(source, folder)
    (results,), (samples,) = folder.glob("results_*.json"), folder.glob(f"samples_{task}*.jsonl")
    told = json.loads(results.read_text("utf-8"))
    lines = [json.loads(line) for line in samples.read_text("utf-8").splitlines()]
    change(lines, told)
    results.write_text(json.dumps(told), "utf-8")
    samples.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return folder


def run_with(source: Path, tmp_path: Path, change: Edit, task: str = "", **options: Any) -> Run:
    """The run of ``task`` (where there are several) that an import makes of the edited copy."""
    paths = import_result(edited(source, tmp_path / "lm", change, task), out=tmp_path / "runs", **options)
    (run,) = (run for run in map(Run, paths) if task in run.manifest["task"])
    return run

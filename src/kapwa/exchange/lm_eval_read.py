"""Read what lm-eval wrote: the results JSON, and the samples of each task beside it.

Fields as in lm-eval 0.4.13, ``loggers/evaluation_tracker.py``, ``evaluator.py`` and ``result_schema.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kapwa.errors import DataError
from kapwa.exchange.writing import without_keys
from kapwa.files import read_text

TYPES = ("generate_until", "multiple_choice")
_RESULTS = re.compile(r".*_(\d{4}-\d\d-\d\dT[\d.-]+|undated)\.json")
_TOGETHER = "Keep its files together, as they were named: samples are found by the date in the name."
_NAME = "Name lm-eval's results_<date>.json"
_CUT = "Copy the file again as lm-eval wrote it, or run lm-eval again with --log_samples."
_AGAIN = "Run lm-eval again with --log_samples, to its end."
_SECTIONS = ("results", "configs", "config", "versions", "n-shot", "n-samples", "higher_is_better", "group_subtasks")
_NESTED = ("results", "configs", "higher_is_better")
_NEEDED = {"doc_id": int, "doc": dict, "arguments": dict, "resps": list, "filter": str, "metrics": list}


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of a samples file, with the line's number."""

    row: int
    record: Mapping[str, Any]

    @property
    def asked(self) -> list[tuple[str, Any]]:
        """Each prompt with what followed it: a continuation to score, or the settings of generation."""
        return [(_prompt(pair.get("arg_0", "")), pair.get("arg_1")) for pair in self.record["arguments"].values()]


@dataclass(frozen=True, slots=True)
class TaskSamples:
    """One task: its name, the file of its samples, and these."""

    name: str
    path: Path
    samples: Sequence[Sample]

    def documents(self) -> Iterator[Sample]:
        """Yield one sample for each document: a task with several filters repeats prompts and responses."""
        seen = set()
        for sample in self.samples:
            if sample.record["doc_id"] not in seen:
                seen.add(sample.record["doc_id"])
                yield sample


def _prompt(told: Any) -> str:
    """Return a prompt as text: that of a chat server is its turns as JSON, which lm-eval logs in a list."""
    if isinstance(told, list) and len(told) == 1 and isinstance(told[0], str):
        return told[0]
    return told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)


def read_results(path: Path) -> tuple[Path, dict[str, Any]]:
    """Return the results JSON at ``path``, or the only one in the folder ``path``, and its path.

    Raises DataError for a folder with none or several, and for a file that is not lm-eval's.
    """
    file = _only_results(path) if path.is_dir() else path
    try:
        text = without_keys(read_text(file))
    except DataError as error:
        error.hint = error.hint or f"{_NAME}, or the folder that holds it."
        raise
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise DataError(
            "is not valid JSON.", path=file, hint=f"{_NAME}; a copy may be cut, so copy it again."
        ) from None
    if not isinstance(value, dict) or not isinstance(value.get("results"), dict):
        raise DataError("is not a results file of lm-eval: it has no 'results'.", path=file, hint=f"{_NAME}.")
    if not value["results"]:
        raise DataError("holds the results of no task: its 'results' are empty.", path=file, hint=_AGAIN)
    for name in _SECTIONS:
        inner = value.get(name) or {}
        inside = inner.values() if isinstance(inner, dict) and name in _NESTED else ()
        if not isinstance(inner, dict) or not all(isinstance(one, dict) for one in inside):
            raise DataError("is of another type than lm-eval writes.", path=file, column=name, hint=f"{_NAME}.")
    return file, value


def _only_results(folder: Path) -> Path:
    found = sorted(folder.rglob("results_*.json"))
    if len(found) != 1:
        told = f"holds {len(found)} results files" if found else "holds no results_….json"
        shown = ", ".join(str(path.relative_to(folder)) for path in found[:3])
        raise DataError(f"{told}.", path=folder, hint=f"Name one of them: {shown}" if found else f"{_NAME}.")
    return found[0]


def read_tasks(file: Path, results: Mapping[str, Any]) -> list[TaskSamples]:
    """Return the samples of every task in ``results``, which lie beside ``file``.

    Groups of tasks have no samples of their own. Raises DataError for a task without samples, and of another type.
    """
    names = [name for name in results["results"] if name not in _groups(results)]
    return [_read_task(file, name, results) for name in names]


def _groups(results: Mapping[str, Any]) -> set[str]:
    return {name for name, members in (results.get("group_subtasks") or {}).items() if members}


def _read_task(file: Path, name: str, results: Mapping[str, Any]) -> TaskSamples:
    kind = (results.get("configs") or {}).get(name, {}).get("output_type", TYPES[0])
    if kind not in TYPES:
        raise DataError(f"the task {name} is of the type {kind}.", path=file, hint=f"Kapwa reads: {', '.join(TYPES)}.")
    path = _samples_path(file, name)
    samples: list[Sample] = []
    seen: dict[tuple[int, str], int] = {}
    for number, line in enumerate(without_keys(read_text(path)).split("\n"), start=1):
        if not line.strip():
            continue
        sample = Sample(number, _record(line, path, number))
        key = sample.record["doc_id"], sample.record["filter"]
        if key in seen:
            raise DataError(
                f"answers document {key[0]} again (as row {seen[key]} does).", path=path, row=number, hint=_AGAIN
            )
        seen[key] = number
        samples.append(sample)
    if not samples:
        raise DataError("is empty.", path=path, hint=_AGAIN)
    task = TaskSamples(name, path, samples)
    _check_whole(task, (results.get("n-samples") or {}).get(name))
    return task


def _check_whole(task: TaskSamples, told: Any) -> None:
    """Raise DataError where a samples file lacks documents that the results are of."""
    counted = told.get("effective") if isinstance(told, Mapping) else None
    found = sum(1 for _ in task.documents())
    if isinstance(counted, int) and found < counted:
        message = f"holds {found} of the {counted} documents that lm-eval's results are of."
        raise DataError(message, path=task.path, hint=_CUT)


def _samples_path(file: Path, name: str) -> Path:
    """The samples written with ``file``: lm-eval gives both the same moment."""
    moment = _RESULTS.fullmatch(file.name)
    if moment is None:
        raise DataError("is not named as lm-eval names results (results_<date>.json).", path=file, hint=_TOGETHER)
    path = file.parent / f"samples_{name}_{moment[1]}.jsonl"
    if path.parent != file.parent or not path.exists():
        raise DataError(
            f"there are no samples of the task {name} (no {path.name} beside it).",
            path=file,
            hint=f"Run lm-eval with --log_samples. {_TOGETHER}",
        )
    return path


def _record(line: str, path: Path, row: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise DataError("is not valid JSON.", path=path, row=row, hint=_CUT) from None
    if not isinstance(record, dict):
        raise DataError("is not a JSON object.", path=path, row=row, hint=_CUT)
    for name, kind in _NEEDED.items():
        if not isinstance(record.get(name), kind):
            raise DataError(
                "is missing or of another type than lm-eval writes.", path=path, row=row, column=name, hint=_CUT
            )
    pairs, metrics = record["arguments"].values(), record["metrics"]
    if not all(isinstance(pair, dict) for pair in pairs) or not all(isinstance(name, str) for name in metrics):
        raise DataError("has arguments or metrics of another type than lm-eval writes.", path=path, row=row, hint=_CUT)
    return record


def logprob(given: Any, path: Path, row: int) -> float:
    """Return the log-probability in a response to a continuation, which lm-eval writes as text."""
    try:
        return float(given[0][0])
    except (TypeError, ValueError, IndexError, KeyError):
        raise DataError("holds no log-probability.", path=path, row=row, column="resps", hint=_CUT) from None

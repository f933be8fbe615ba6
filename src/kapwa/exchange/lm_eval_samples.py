"""Read lm-eval's results and the samples beside them, as its version 0.4.13 writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from kapwa.errors import DataError
from kapwa.files import read_text
from kapwa.tables import refuse_half
from kapwa.value_types import Json, JsonMapping, JsonObject

_RESULTS = re.compile(r".*_(\d{4}-\d\d-\d\dT[\d.-]+|undated)\.json")
_TOGETHER = "Keep its files together, with their names: samples are found by the date in the name."
_NAME = "Name lm-eval's results_<date>.json"
_COPY_AGAIN = "Copy the file again as lm-eval wrote it, or run lm-eval again with --log_samples."


class Sample(BaseModel):
    """One line of a samples file; ``row`` is the line's number. The values of its metrics are further fields."""

    model_config = ConfigDict(extra="allow", strict=True)

    row: int
    doc_id: int
    doc: JsonObject
    arguments: dict[str, JsonObject]
    resps: list[Json]
    filter: str
    metrics: list[str]
    target: Json = None
    doc_hash: str | None = None

    @property
    def requests(self) -> list[tuple[str, Json]]:
        """Each prompt with what followed it: a continuation to score, or the settings of generation."""
        return [(_prompt(pair.get("arg_0", "")), pair.get("arg_1")) for pair in self.arguments.values()]

    @property
    def item_key(self) -> tuple[Json, Json]:
        """Id and variant of the item, where the sample is of one of Kapwa's tasks."""
        return self.doc["item_id"], self.doc["variant"]

    @property
    def title(self) -> str:
        """The name of a sample of Kapwa's tasks in messages."""
        return f"the item {self.item_key[0]!r}, variant {self.item_key[1]!r} (row {self.row} of the samples),"

    def value(self, metric: str) -> Json:
        """Return the value of a metric unchanged; None where there is none."""
        return (self.model_extra or {}).get(metric) if metric in self.metrics else None


def _prompt(logged: object) -> str:
    """Return a prompt as text; for a chat server, this is the JSON of its turns, which lm-eval logs in a list."""
    if isinstance(logged, list) and len(logged) == 1 and isinstance(logged[0], str):
        return logged[0]
    return logged if isinstance(logged, str) else json.dumps(logged, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class TaskSamples:
    """One task: its name, its samples, and their file."""

    name: str
    path: Path
    samples: Sequence[Sample]

    def documents(self) -> list[Sample]:
        """Return one sample for each document: a task with several filters repeats prompts and responses."""
        return list({sample.doc_id: sample for sample in reversed(self.samples)}.values())[::-1]


def read_results(file: Path) -> JsonObject:
    """Return the results JSON in ``file``."""
    try:
        results = _parsed(read_text(file), path=file)
    except DataError as error:
        error.hint = error.hint or f"{_NAME}, or the folder that holds it."
        raise
    except (ValueError, RecursionError):
        hint = f"{_NAME}; a copy may be cut, so copy it again."
        raise DataError("is not valid JSON.", path=file, hint=hint) from None
    if not isinstance(results, dict) or not isinstance(results.get("results"), dict):
        raise DataError("is not a results file of lm-eval: it has no 'results'.", path=file, hint=f"{_NAME}.")
    if "kapwa" in results:
        hint = "Use the run's own folder: kapwa report RUN. To send a run on, send that folder."
        raise DataError("is an export of a Kapwa run, not lm-eval's own results.", path=file, hint=hint)
    if not results["results"]:
        raise DataError("holds the results of no task: its 'results' are empty.", path=file, hint=_COPY_AGAIN)
    return results


def _parsed(text: str, **cell: object) -> Json:
    """Return the value of a JSON text; raise DataError for half a character, which no file of a run could store."""
    value = json.loads(text)
    if "\\u" in text:
        refuse_half(json.dumps(value, ensure_ascii=False), **cell)
    return value


def read_samples(file: Path, name: str, results: JsonMapping) -> TaskSamples:
    """Return the samples of a task from the file beside ``file`` whose name has the same time."""
    date = _RESULTS.fullmatch(file.name)
    if date is None:
        raise DataError("is not named as lm-eval names results (results_<date>.json).", path=file, hint=_TOGETHER)
    path = file.parent / f"samples_{name}_{date[1]}.jsonl"
    if path.parent != file.parent or not path.exists():
        hint = f"Run lm-eval with --log_samples. {_TOGETHER}"
        raise DataError(f"there are no samples of the task {name} (no {path.name} beside it).", path=file, hint=hint)
    lines = enumerate(read_text(path).split("\n"), start=1)
    samples = TaskSamples(name, path, [_sample(line, path, row) for row, line in lines if line.strip()])
    expected = ((results.get("n-samples") or {}).get(name) or {}).get("effective")
    count = len(samples.documents())
    if not count or (isinstance(expected, int) and count < expected):
        holds = f"{count} of the {expected} documents that lm-eval's results are of" if count else "no samples"
        raise DataError(f"holds {holds}.", path=path, hint=_COPY_AGAIN)
    return samples


def _sample(line: str, path: Path, row: int) -> Sample:
    try:
        return Sample.model_validate({**_parsed(line, path=path, row=row), "row": row})
    except ValidationError as error:
        column = ".".join(map(str, error.errors()[0]["loc"]))
        why = "is missing or of another type than lm-eval writes."
    except TypeError:
        column, why = None, "is not a JSON object."
    except (ValueError, RecursionError):
        column, why = None, "is not valid JSON."
    raise DataError(why, path=path, row=row, column=column, hint=_COPY_AGAIN)

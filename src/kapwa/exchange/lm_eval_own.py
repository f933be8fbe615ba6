"""The run behind a Kapwa export in lm-eval's form: the same scores, items, answers and floors again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from kapwa.errors import DataError
from kapwa.exchange.lm_eval_read import Sample, TaskSamples, logprob
from kapwa.exchange.own import check_metrics, own_manifest
from kapwa.exchange.terms import SCORES
from kapwa.exchange.writing import Imported

_ABOUT = ("item_id", "variant", "culture", "language", "category", "topic", "cluster")
_TEXT = {"text": pl.String}  # also where no item was answered
_NOTE = "Imported from an export in lm-eval's form: its tables are those the export holds, not all of the first run."


def own_run(file: Path, results: Mapping[str, Any], tasks: Sequence[TaskSamples]) -> Imported:
    """Return the run that was exported. Raises DataError where what Kapwa wrote into the files was damaged."""
    known, floors = own_manifest(results["kapwa"], file, _NOTE)
    samples = [(task, sample) for task in tasks for sample in task.samples]
    rows = [row for task, sample in samples for row in _rows(task, sample)]
    try:
        items = pl.DataFrame([sample.record["doc"] for _, sample in samples], infer_schema_length=None, strict=False)
        scores = pl.DataFrame(rows, schema=SCORES, orient="row")
        tables = _tables(samples)
    except (AttributeError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
        raise DataError(
            "has samples that are not as Kapwa wrote them.", path=file, column="kapwa", hint="Export the run again."
        ) from None
    check_metrics(known, scores, file)
    return Imported(known, scores, items, tables, floors)


def _rows(task: TaskSamples, sample: Sample) -> Iterator[list[Any]]:
    try:
        own = sample.record["kapwa"]
        about = {name: own[name] for name in _ABOUT}
        for draw, metric, value, outcome in own["scores"]:
            yield [{**about, "sample": draw, "metric": metric, "value": value, "outcome": outcome}[c] for c in SCORES]
    except (KeyError, TypeError, ValueError):
        raise DataError("is not as Kapwa wrote it.", path=task.path, row=sample.row, column="kapwa") from None


def _tables(samples: Sequence[tuple[TaskSamples, Sample]]) -> dict[str, pl.DataFrame]:
    """Return the continuations or the answers, with the columns that an export keeps."""
    answers: list[dict[str, Any]] = []
    scored: list[dict[str, Any]] = []
    for task, sample in samples:
        key = {name: sample.record["kapwa"][name] for name in ("item_id", "variant", "culture")}
        for index, ((_, follows), given) in enumerate(zip(sample.asked, sample.record["resps"], strict=False)):
            if isinstance(follows, str):
                scored.append(
                    {**key, "index": index, "text": follows, "logprob_sum": logprob(given, task.path, sample.row)}
                )
            else:
                missing = sample.record["kapwa"].get("missing", ())
                texts = (None if draw in missing else text for draw, text in enumerate(given))
                answers += [{**key, "sample": draw, "text": text} for draw, text in enumerate(texts)]
    return {
        n: pl.DataFrame(rows, infer_schema_length=None, schema_overrides=_TEXT)
        for n, rows in _named(answers, scored)
        if rows
    }


def _named(answers: list[dict[str, Any]], scored: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    yield "answers", answers
    yield "continuations", scored

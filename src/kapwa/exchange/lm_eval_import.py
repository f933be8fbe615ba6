"""lm-eval's results and samples as runs, which report and compare like Kapwa's own.

Samples of Kapwa's own tasks are judged again (:mod:`kapwa.exchange.lm_eval_answers`). For other tasks nothing is
invented: lm-eval has no cultures, languages of its texts, categories or sampled units, so these are "unknown", "und"
(undetermined), null and the item itself, unless the user gives them; a note says so. Only metrics whose aggregate is
the mean of their items are imported. Fields are as in lm-eval 0.4.13, ``loggers/evaluation_tracker.py``,
``evaluator.py`` and ``result_schema.py``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import polars as pl

from kapwa.errors import DataError
from kapwa.exchange import base
from kapwa.exchange.lm_eval_answers import judge_again
from kapwa.exchange.lm_eval_samples import Sample, TaskSamples, read_results, read_samples
from kapwa.models.gate import gated
from kapwa.records import Response
from kapwa.value_types import Cells, Json, JsonMapping, JsonObject, Untyped

# Right or wrong by definition in lm-eval (api/metrics.py), its tasks and Kapwa's; others are averaged as numbers.
_BINARY = re.compile(r"(.+_)?(acc|accuracy)(_.+)?|exact_match|mc1(_.+)?")
# Shares by definition, right or wrong or fractional: no true value lies below 0 or above 1.
_SHARE = re.compile(rf"{_BINARY.pattern}|(.+_)?(em|f1|recall|precision|mc2|mc3)(_.+)?")
_CLOSE = 1e-9
_SUITE = "lm-eval"  # of runs with lm-eval's own scores
_CELLS = dict.fromkeys(("text", "state", "thought"), pl.String)
_LOADERS = (None, "", "arrow", "csv", "json", "parquet", "text")  # of local files: these are not names of datasets
_TYPES = ("generate_until", "multiple_choice")


def import_lm_eval(path: Path, out: Path, defaults: base.ItemDefaults, *, overwrite: bool = False) -> list[Path]:
    """Import every task of the results in the file ``path`` as a run in ``out``; return the folders."""
    results = read_results(path)
    imported = list(_imported(path, results, defaults))
    if all(run.manifest["suite"] != _SUITE for run in imported):
        defaults.refuse(path)
    return [base.write_run(run, out, overwrite=overwrite) for run in imported]


def _imported(file: Path, results: JsonMapping, defaults: base.ItemDefaults) -> Iterator[base.ImportedRun]:
    groups = {name for name, members in (results.get("group_subtasks") or {}).items() if members}
    for name in results["results"]:
        if name in groups:
            continue  # its samples are those of its members
        samples = read_samples(file, name, results)
        config = (results.get("configs") or {}).get(name, {})
        why_not_judged: list[str] = []
        if "kapwa" in (config.get("metadata") or {}):
            try:
                yield judge_again(results, samples, _origin(results, samples))
                continue
            except DataError as error:
                why = "Kapwa's task did not judge the answers again, so scores are lm-eval's"
                why_not_judged.append(f"{why}: {error.summary}")
        yield _foreign(results, samples, defaults, why_not_judged)


def _origin(results: JsonMapping, samples: TaskSamples) -> JsonObject:
    """Return the sections of a manifest on the model, its settings, and the time.

    lm-eval's ``model_args`` are left out, since they often have keys.
    """
    config = results.get("config") or {}
    name = str(results.get("model_name") or config.get("model") or base.UNKNOWN)
    fingerprint = {
        "id": name,
        "backend": config.get("model"),
        "dtype": config.get("model_dtype"),
        "template": results.get("chat_template_sha"),
    }
    versions = {"lm_eval": results.get("lm_eval_version"), "transformers": results.get("transformers_version")}
    began, seconds = results.get("date"), results.get("total_evaluation_time_seconds")
    return {
        "model": {
            "id": name,
            "revision": config.get("model_sha") or config.get("model_revision") or None,
            "fingerprint": {key: value for key, value in fingerprint.items() if value},
            "description": {"parameters": config.get("model_num_parameters")},
        },
        "versions": {"kapwa": version("kapwa"), **{key: str(value) for key, value in versions.items() if value}},
        "started": datetime.fromtimestamp(float(began), tz=UTC).isoformat(timespec="seconds") if began else None,
        "finished": None,
        "seconds": round(float(seconds), 3) if seconds else None,
        "sessions": None,
        "imported": {"from": "lm_eval", "version": results.get("lm_eval_version"), "file": samples.path.name},
    }


def _foreign(
    results: JsonMapping, samples: TaskSamples, defaults: base.ItemDefaults, why_not_judged: Sequence[str]
) -> base.ImportedRun:
    """Return the run of a task that is not Kapwa's, or whose answers could not be judged again."""
    name = samples.name
    config = (results.get("configs") or {}).get(name, {})
    kind = config.get("output_type", _TYPES[0])
    if kind not in _TYPES:
        hint = f"Kapwa reads: {', '.join(_TYPES)}."
        raise DataError(f"the task {name} is of the type {kind}.", path=samples.path, hint=hint)
    metrics, left_out = _metrics(results, samples)
    if not metrics:
        raise DataError("has no metric that is a mean over its items.", path=samples.path, hint="; ".join(left_out))
    shots = (results.get("n-shot") or {}).get(name)
    documents, data = samples.documents(), config.get("dataset_path")
    usual = {"variant": base.UNKNOWN if shots is None else f"{shots}-shot", **base.UNKNOWN_FIELDS}
    about = {
        sample.doc_id: {**usual, **defaults.of(f"row {sample.row} of {samples.path.name}", sample.doc)}
        for sample in documents
    }
    tables = _tables(documents, about)
    known = {
        "suite": _SUITE,
        "task": f"{_SUITE}/{name}",
        "task_version": (results.get("versions") or {}).get(name),
        "limit": (results.get("config") or {}).get("limit"),
        "data": str(name if data in _LOADERS else data),
        "metrics": metrics,
        "notes": [*why_not_judged, *left_out],
        **_origin(results, samples),
    }
    return base.foreign_run(
        known,
        list(_score_rows(samples, metrics, about)),
        tables.pop("items"),
        tables,
        questions=(json.dumps([sample.doc_id, sample.doc_hash or sample.doc, sample.target]) for sample in documents),
        requests=[json.dumps(pair, sort_keys=True) for sample in documents for pair in sample.requests],
    )


def _metric_name(metric: str, kind: str) -> str:
    return metric if kind == "none" else f"{metric},{kind}"


def _metrics(results: JsonMapping, samples: TaskSamples) -> tuple[dict[str, JsonObject], list[str]]:
    """Return the metrics that are means of their items, and why others are not.

    A metric's name suggests its kind of values; but one task's accuracy is fractional, another's f1 in per cent, so the
    values are checked too.
    """
    values_of: dict[tuple[str, str], list[Untyped]] = {}
    for sample in samples.samples:
        for metric in sample.metrics:
            values_of.setdefault((metric, sample.filter), []).append(sample.value(metric))
    better = (results.get("higher_is_better") or {}).get(samples.name, {})
    numeric: dict[str, JsonObject] = {}
    left_out: list[str] = []
    for (metric, kind), values in values_of.items():
        name = _metric_name(metric, kind)
        why = _why_not(values, results["results"][samples.name].get(f"{metric},{kind}"))
        if why:
            left_out.append(f"The metric {name} is not imported: {why}.")
            continue
        share = _SHARE.fullmatch(name) is not None and min(values) >= 0.0 and max(values) <= 1.0
        binary = share and _BINARY.fullmatch(name) is not None and set(values) <= {0.0, 1.0}
        numeric[name] = base.foreign_metric(name, "lm-eval", binary=binary, share=share, better=better.get(metric))
    return numeric, left_out


def _why_not(values: Sequence[Json], stated: Untyped) -> str:
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in values):
        return "it has no number for each item"
    if not isinstance(stated, int | float):
        return "lm-eval's results have no aggregate of it"
    mean = math.fsum(values) / len(values)
    if abs(mean - stated) > _CLOSE * max(1.0, abs(stated)):
        return f"lm-eval's aggregate {stated:g} is not the mean of its items, {mean:g}"
    return ""


def _score_rows(
    samples: TaskSamples, metrics: Mapping[str, Mapping[str, object]], about: Mapping[int, Mapping[str, str]]
) -> Iterator[Cells]:
    for sample in samples.samples:
        item_id = str(sample.doc_id)
        for metric in sample.metrics:
            name = _metric_name(metric, sample.filter)
            if name in metrics:
                value = float(sample.value(metric))
                outcome = base.foreign_outcome(value, binary=bool(metrics[name]["binary"]))
                same = {"item_id": item_id, "cluster": item_id, "sample": 0}
                judged = {"value": value, "outcome": outcome, "state": "unknown"}  # lm-eval keeps no reason of the end
                yield {**about[sample.doc_id], **same, "metric": name, **judged}


def _target(sample: Sample) -> str | None:
    """The expected answer: lm-eval writes the index of the right choice where there are choices."""
    target = sample.target
    choices = [follows for _, follows in sample.requests if isinstance(follows, str)]
    choice_of = {str(number): choice.strip() for number, choice in enumerate(choices)}
    if isinstance(target, str) and target in choice_of:
        return choice_of[target]
    return None if target is None else str(target)


def _tables(documents: Sequence[Sample], about: Mapping[int, Mapping[str, str]]) -> dict[str, pl.DataFrame]:
    """Return the items, and the model's texts or the log-probabilities of given texts."""
    items: list[Cells] = []
    answers: list[Cells] = []
    scored: list[Cells] = []
    for sample in documents:
        name, requests = str(sample.doc_id), sample.requests
        prompt = requests[0][0] if requests else None
        document = about[sample.doc_id]
        items.append({**document, "item_id": name, "cluster": name, "prompt": prompt, "target": _target(sample)})
        key = {"item_id": name, "variant": document["variant"], "culture": document["culture"]}
        for index, ((_, follows), response) in enumerate(zip(requests, sample.resps, strict=False)):
            if isinstance(follows, str):
                scored.append({**key, "index": index, "text": follows, "logprob_sum": float(response[0][0])})
            else:
                texts = response if isinstance(response, list) else [response]
                answers += [{**key, "sample": draw, "text": str(text)} for draw, text in enumerate(texts)]
    # lm-eval does not log how a text ended, and logs a thought that was cut off as the answer.
    read = gated([Response("", text=row["text"]) for row in answers])
    answers = [
        {**row, "text": answer.text, "state": answer.state, "thought": answer.thought}
        for row, answer in zip(answers, read, strict=True)
    ]
    columns = ("item_id", "variant", "culture", "language", "cluster", "prompt", "target")
    tables = {"answers": answers, "continuations": scored}
    return {
        "items": pl.DataFrame(items, schema=dict.fromkeys(columns, pl.String)),
        **{
            name: pl.DataFrame(rows, schema_overrides=_CELLS if name == "answers" else None, infer_schema_length=None)
            for name, rows in tables.items()
            if rows
        },
    }

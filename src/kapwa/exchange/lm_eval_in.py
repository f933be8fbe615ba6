"""lm-eval's results and samples as runs, which report and compare like Kapwa's own.

Nothing is invented: lm-eval knows no cultures, languages of its texts, categories or sampled units, so these are
"unknown", "und" (undetermined), null and the item itself, unless the user says better; a note says so. Only metrics
whose aggregate is the mean of its items are taken over. An export of Kapwa's own becomes the run it was made from.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from kapwa.errors import DataError
from kapwa.exchange.lm_eval_about import model_of, times_of, versions_of
from kapwa.exchange.lm_eval_own import own_run
from kapwa.exchange.lm_eval_ran import is_ran, ran_run
from kapwa.exchange.lm_eval_read import Sample, TaskSamples, logprob, read_results, read_tasks
from kapwa.exchange.own import refuse_told
from kapwa.exchange.terms import SCORES, UNDETERMINED, UNKNOWN, About
from kapwa.exchange.writing import Imported, finished, write_run

# Right or wrong by definition in lm-eval (api/metrics.py), its tasks and Kapwa's; others are averaged as numbers.
_BINARY = re.compile(r"(.+_)?(acc|accuracy)(_.+)?|exact_match|mc1(_.+)?")
# Shares by definition, right or wrong or in parts: no true value lies below 0 or above 1.
_SHARE = re.compile(rf"{_BINARY.pattern}|(.+_)?(em|f1|recall|precision|mc2|mc3)(_.+)?")
_CLOSE = 1e-9
_LOADERS = (None, "", "arrow", "csv", "json", "parquet", "text")  # of local files: no name of a dataset
_TEXTS = ("item_id", "variant", "culture")


def import_lm_eval(path: Path, out: Path, *, about: About, overwrite: bool = False) -> list[Path]:
    """Make a run in ``out`` of every task of the results at ``path`` (a file or its folder); return the folders."""
    return [write_run(one, out, overwrite=overwrite) for one in _imported(path, about)]


def _imported(path: Path, about: About) -> list[Imported]:
    file, results = read_results(path)
    if "kapwa" in results:
        refuse_told(about.told, file)
        return [own_run(file, results, read_tasks(file, results))]
    found, told_by_user = [], False
    for task in read_tasks(file, results):
        judged = _judged(results, task)
        told_by_user |= not isinstance(judged, Imported)
        found.append(judged if isinstance(judged, Imported) else _foreign(results, task, about, judged))
    if not told_by_user:
        refuse_told(about.told, file)
    return found


def _judged(results: Mapping[str, Any], task: TaskSamples) -> Imported | list[str]:
    """Return the run of a task of Kapwa's, judged again; where there is none, the notes that say why."""
    if not is_ran(results, task):
        return []
    try:
        return ran_run(results, task)
    except DataError as error:
        return [f"Kapwa's task did not judge the answers again, so scores are lm-eval's: {error.message}"]


def _foreign(results: Mapping[str, Any], task: TaskSamples, about: About, why: Sequence[str]) -> Imported:
    config = results.get("config") or {}
    kept, left = _metrics(results, task)
    if not kept:
        raise DataError("has no metric that is a mean over its items.", path=task.path, hint="; ".join(left))
    shots = (results.get("n-shot") or {}).get(task.name)
    variant = UNKNOWN if shots is None else f"{shots}-shot"
    scores = pl.DataFrame(list(_score_rows(task, kept, about, variant)), schema=SCORES, orient="row")
    tables = _texts(task, about, variant)
    asked = [json.dumps(pair, sort_keys=True) for sample in task.documents() for pair in sample.asked]
    items = scores["item_id"].n_unique()
    notes = [*_notes(about), *why, *left]
    data = (results.get("configs") or {}).get(task.name, {}).get("dataset_path")
    manifest = {
        "task": f"lm-eval/{task.name}",
        "suite": "lm-eval",
        "options": {"task_version": (results.get("versions") or {}).get(task.name)},
        "selection": {"variants": [variant], "items": {variant: items}, "limit": config.get("limit"), "where": {}},
        "headline": list(kept)[:1],
        "groups": [],
        "metrics": {name: _info(name, kept[name], results, task) for name in kept},
        "data": {
            "name": str(task.name if data in _LOADERS else data),
            "digest": _digest(task),
            "card": {"limits": notes},
            "illustrative": False,
        },
        "model": model_of(results),
        "repeatable": "no promise",
        "versions": versions_of(results),
        "machine": {},
        "seed": 0,
        "counts": {
            "items": items,
            "requests": len(asked),
            "unique": len(set(asked)),
            "answered": len(asked),
            "failed": 0,
        },
        "failures": [],
        **times_of(results),
        "notes": notes,
        "imported": {"from": "lm_eval", "version": results.get("lm_eval_version"), "file": task.path.name},
    }
    return Imported(finished(manifest), scores, _items(task, about, variant), tables, ())


def _metric_name(metric: str, kind: str) -> str:
    return metric if kind == "none" else f"{metric},{kind}"


class _Kind(NamedTuple):
    """What a metric's items are: right or wrong; from 0 to 1."""

    binary: bool
    share: bool


def _kind(metric: str, values: Sequence[float]) -> _Kind:
    """Tell by a metric's name, held against its values: one task's accuracy is in parts, another's f1 in per cent."""
    share = _SHARE.fullmatch(metric) is not None and min(values) >= 0.0 and max(values) <= 1.0
    return _Kind(share and _BINARY.fullmatch(metric) is not None and set(values) <= {0.0, 1.0}, share)


def _metrics(results: Mapping[str, Any], task: TaskSamples) -> tuple[dict[str, _Kind], list[str]]:
    """Return the metrics that are means of their items, and of which kind each is; and why others are not."""
    values: dict[tuple[str, str], list[Any]] = {}
    for sample in task.samples:
        for metric in sample.record["metrics"]:
            values.setdefault((metric, sample.record["filter"]), []).append(sample.record.get(metric))
    kept: dict[str, _Kind] = {}
    left: list[str] = []
    for (metric, kind), found in values.items():
        name = _metric_name(metric, kind)
        told = results["results"][task.name].get(f"{metric},{kind}")
        why = _why_not(found, told)
        if why:
            left.append(f"The metric {name} is not taken over: {why}.")
        else:
            kept[name] = _kind(metric, [float(value) for value in found])
    return kept, left


def _why_not(values: Sequence[Any], told: Any) -> str:
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in values):
        return "it has no number for each item"
    if not isinstance(told, int | float):
        return "lm-eval's results have no aggregate of it"
    mean = math.fsum(values) / len(values)
    if abs(mean - told) > _CLOSE * max(1.0, abs(told)):
        return f"lm-eval's aggregate {told:g} is not the mean of its items, {mean:g}"
    return ""


def _score_rows(task: TaskSamples, kept: Mapping[str, _Kind], about: About, variant: str) -> Iterator[list[Any]]:
    for sample in task.samples:
        item_id = str(sample.record["doc_id"])
        for metric in sample.record["metrics"]:
            name = _metric_name(metric, sample.record["filter"])
            if name not in kept:
                continue
            value = float(sample.record[metric])
            outcome = ("right" if value else "wrong") if kept[name].binary else "scored"
            yield [item_id, variant, about.culture, about.language, None, None, item_id, 0, name, value, outcome]


def _info(name: str, kind: _Kind, results: Mapping[str, Any], task: TaskSamples) -> dict[str, Any]:
    better = (results.get("higher_is_better") or {}).get(task.name, {}).get(name.partition(",")[0])
    ends = (0.0, 1.0) if kind.share else (None, None)
    return {
        "name": name,
        "title": name,
        "low": ends[0],
        "high": ends[1],
        "binary": kind.binary,
        "reference": False,
        "source": "lm-eval",
        "unit": "",
        "phrase": "",
        "higher_is_better": better if isinstance(better, bool) else None,
    }


def _digest(task: TaskSamples) -> str:
    """Hash documents and targets, not prompts: two models asked the same documents compare, as pairs."""
    told = sorted(
        json.dumps([s.record["doc_id"], s.record.get("doc_hash") or s.record["doc"], s.record.get("target")])
        for s in task.documents()
    )
    return hashlib.blake2b("\n".join(told).encode(), digest_size=8).hexdigest()


def _notes(about: About) -> list[str]:
    notes = ["Imported from lm-eval, which asked the model and judged its answers; Kapwa made the intervals."]
    unknown = [word for word, value in (("culture", about.culture), ("language", about.language)) if value in _UNTOLD]
    if unknown:
        notes.append(f"lm-eval does not tell the {' and '.join(unknown)} of its items.")
    notes.append("Each item counts as sampled by itself: lm-eval does not tell which of them belong together.")
    return notes


_UNTOLD = (UNKNOWN, UNDETERMINED)


def _items(task: TaskSamples, about: About, variant: str) -> pl.DataFrame:
    rows = [
        {
            "item_id": str(sample.record["doc_id"]),
            "variant": variant,
            "culture": about.culture,
            "language": about.language,
            "cluster": str(sample.record["doc_id"]),
            "prompt": sample.asked[0][0] if sample.asked else None,
            "target": _target(sample),
        }
        for sample in task.documents()
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(rows[0], pl.String))


def _target(sample: Sample) -> str | None:
    """What was expected: lm-eval writes the place of the right choice where there are choices."""
    told = sample.record.get("target")
    choices = [follows for _, follows in sample.asked if isinstance(follows, str)]
    if choices and isinstance(told, str) and told.isdecimal() and int(told) < len(choices):
        return choices[int(told)].strip()
    return None if told is None else str(told)


def _texts(task: TaskSamples, about: About, variant: str) -> dict[str, pl.DataFrame]:
    """What the model wrote, or the log-probabilities of what it was given."""
    answers: list[list[Any]] = []
    scored: list[list[Any]] = []
    for sample in task.documents():
        key = [str(sample.record["doc_id"]), variant, about.culture]
        for index, (asked, given) in enumerate(zip(sample.asked, sample.record["resps"], strict=False)):
            if isinstance(asked[1], str):
                scored.append([*key, index, asked[1], logprob(given, task.path, sample.row)])
            else:
                texts = given if isinstance(given, list) else [given]
                answers += [[*key, draw, str(text)] for draw, text in enumerate(texts)]
    base = dict.fromkeys(_TEXTS, pl.String)
    shapes = {
        "answers": (answers, {**base, "sample": pl.Int64, "text": pl.String}),
        "continuations": (scored, {**base, "index": pl.Int64, "text": pl.String, "logprob_sum": pl.Float64}),
    }
    return {name: pl.DataFrame(rows, schema=shape, orient="row") for name, (rows, shape) in shapes.items() if rows}

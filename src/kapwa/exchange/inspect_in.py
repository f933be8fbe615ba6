"""Inspect logs as runs, which report and compare like Kapwa's own.

An export of Kapwa's becomes the run it was made from. A log of one of Kapwa's tasks is judged again by that task, where
its data are at hand. Of any other log nothing is invented: what its samples' metadata do not tell (culture, language,
sampled unit) is "unknown", "und" and the sample itself, unless the user says better; notes say so.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from kapwa.errors import DataError
from kapwa.exchange.inspect_about import asked
from kapwa.exchange.inspect_own import is_own, own_run
from kapwa.exchange.inspect_ran import is_ran, ran_run
from kapwa.exchange.inspect_read import InspectLog, read_log
from kapwa.exchange.inspect_taken import Taken, in_order, taken
from kapwa.exchange.inspect_values import Measured, Metric, is_accuracy, metrics_of, why_not
from kapwa.exchange.own import refuse_told
from kapwa.exchange.source import without_keys_in
from kapwa.exchange.terms import SCORES, UNDETERMINED, UNKNOWN, About
from kapwa.exchange.writing import Imported, finished, write_run
from kapwa.runs.redact import api_keys

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

_TOLD = ("category", "topic")
_TEXTS = ("item_id", "variant", "culture")


def import_inspect(path: Path, out: Path, *, about: About, overwrite: bool = False) -> list[Path]:
    """Make a run in ``out`` of the log at ``path`` (a file, or a folder that holds one); return its folder."""
    return [write_run(_keyless(_imported(read_log(path), about)), out, overwrite=overwrite)]


def _imported(log: InspectLog, about: About) -> Imported:
    if is_own(log.header):
        refuse_told(about.told, log.file)
        return own_run(log)
    why = []
    if is_ran(log.first()):
        try:
            judged = ran_run(log)
        except DataError as error:
            why.append(f"Kapwa's task did not judge the answers again, so scores are the log's: {error.message}")
        else:
            refuse_told(about.told, log.file)
            return judged
    return _foreign(log, about, why)


def _keyless(imported: Imported) -> Imported:
    """Hide what is a key here: servers echo keys in texts and errors."""
    keys = api_keys()
    return Imported(
        without_keys_in(imported.manifest, keys),
        without_keys_in(imported.scores, keys),
        without_keys_in(imported.items, keys),
        {name: without_keys_in(table, keys) for name, table in imported.tables.items()},
        imported.floors,
    )


def _foreign(read: InspectLog, about: About, notes: Sequence[str]) -> Imported:
    samples = in_order(map(taken, read.samples()))
    log = read.header
    metrics, left = _chosen(read.file, log, samples)
    infos = {metric.name: _info(log, metric, samples) for metric in metrics}
    rows = (row for sample in samples for row in _score_rows(sample, metrics, infos, about))
    scores = pl.DataFrame(rows, schema=dict(SCORES), orient="row")
    items = pl.DataFrame(list(_items(samples, about)), schema=dict.fromkeys(_ITEM, pl.String))
    answers = pl.DataFrame(
        [_answer(sample, about) for sample in samples],
        schema={**dict.fromkeys(_TEXTS, pl.String), "sample": pl.Int64, "text": pl.String, "error": pl.String},
    )
    told = [*_notes(samples, about, log), *notes, *left]
    return Imported(finished(_manifest(read, samples, infos, items, told)), scores, items, {"answers": answers}, ())


def _chosen(file: Path, log: EvalLog, samples: Sequence[Taken]) -> tuple[list[Metric], list[str]]:
    metrics, left = [], []
    for metric in metrics_of(samples):
        why = why_not(log, metric, samples)
        if why:
            left.append(f"The metric {metric.name} is not taken over: {why}.")
        else:
            metrics.append(metric)
    if not metrics:
        raise DataError("has no metric that is a mean over its samples.", path=file, hint="; ".join(left))
    return metrics, left


def _about(sample: Taken, about: About) -> dict[str, Any]:
    """Say whose a sample is: what the user says, then what its metadata tell."""
    told = sample.told
    return {
        # Samples of Kapwa's tasks are called after item and variant; others' metadata may say "item_id" of anything.
        "item_id": told.get("item_id", str(sample.id)) if sample.kapwas else str(sample.id),
        "variant": told.get("variant", UNKNOWN),
        "culture": about.culture if about.culture != UNKNOWN else told.get("culture", UNKNOWN),
        "language": about.language if about.language != UNDETERMINED else told.get("language", UNDETERMINED),
        **{name: told.get(name) for name in _TOLD},
        "cluster": told.get("cluster", str(sample.id)),
    }


def _score_rows(
    sample: Taken, metrics: Sequence[Metric], infos: Mapping[str, Mapping[str, Any]], about: About
) -> Iterator[list[Any]]:
    told = {**_about(sample, about), "sample": sample.epoch - 1}
    for metric in metrics:
        read = metric.read(sample)
        if read is None and not sample.error:
            continue  # a scorer that passed this sample over
        failed = Measured(None, False, "failed")
        value, _, outcome = read or failed
        if not infos[metric.name]["binary"] and outcome in ("right", "wrong"):
            outcome = "scored"
        row = {**told, "metric": metric.name, "value": value, "outcome": outcome}
        yield [row[name] for name in SCORES]


def _info(log: EvalLog, metric: Metric, samples: Sequence[Taken]) -> dict[str, Any]:
    read = [one for sample in samples if (one := metric.read(sample)) is not None and one.value is not None]
    ones = all(one.value in (0.0, 1.0) for one in read)
    binary = ones and (all(one.verdict for one in read) or is_accuracy(log, metric))
    return {
        "name": metric.name,
        "title": metric.name,
        "low": 0.0 if binary else None,
        "high": 1.0 if binary else None,
        "binary": binary,
        "reference": False,
        "source": "Inspect",
        "unit": "",
        "phrase": "",
        "higher_is_better": True if binary else None,
    }


_ITEM = ("item_id", "variant", "culture", "language", "category", "topic", "cluster", "prompt", "target")


def _items(samples: Sequence[Taken], about: About) -> Iterator[dict[str, Any]]:
    seen = set()
    for sample in samples:
        if str(sample.id) not in seen:
            seen.add(str(sample.id))
            target = sample.target if isinstance(sample.target, str) else "\n".join(sample.target)
            yield {**_about(sample, about), "prompt": sample.prompt, "target": target or None}


def _answer(sample: Taken, about: About) -> dict[str, Any]:
    told = _about(sample, about)
    texts = {name: told[name] for name in _TEXTS}
    return {**texts, "sample": sample.epoch - 1, "text": sample.text, "error": sample.error}


def _notes(samples: Sequence[Taken], about: About, log: EvalLog) -> list[str]:
    notes = ["Imported from Inspect, which asked the model and judged its answers; Kapwa made the intervals."]
    unknown = [
        name
        for name, word in (("culture", UNKNOWN), ("language", UNDETERMINED))
        if any(_about(sample, about)[name] == word for sample in samples)
    ]
    if unknown:
        notes.append(f"The log does not tell the {' and '.join(unknown)} of its items.")
    if not all("cluster" in sample.told for sample in samples):
        notes.append("Each item counts as sampled by itself: the log does not tell which of them belong together.")
    reducers = sorted({score.reducer for score in log.results.scores if score.reducer} if log.results else ())
    if reducers and reducers != ["mean"]:
        notes.append(f"The log's results reduce epochs by {', '.join(reducers)}; here an item's value is their mean.")
    return notes


def _manifest(
    read: InspectLog, samples: Sequence[Taken], infos: Mapping[str, Any], items: pl.DataFrame, notes: Sequence[str]
) -> dict[str, Any]:
    log = read.header
    errors = Counter(sample.error for sample in samples if sample.error is not None)
    names = {str(sample.id) for sample in samples}
    counts = dict(items.group_by("variant", maintain_order=True).len().iter_rows())
    groups = [name for name in _TOLD if items[name].null_count() == 0]
    return {
        "task": f"inspect/{log.eval.task}",
        "suite": "inspect",
        "options": {"task_version": log.eval.task_version or None},
        "selection": {"variants": list(counts), "items": counts, "limit": None, "where": {}},
        "headline": list(infos)[:1],
        "groups": groups,
        "metrics": dict(infos),
        "data": {
            "name": str(log.eval.dataset.name or log.eval.task),
            "digest": _digest(samples),
            "card": {"limits": list(notes)},
            "illustrative": False,
        },
        **asked(read, items=len(names), requests=len(samples), errors=errors),
        "notes": list(notes),
    }


def _digest(samples: Sequence[Taken]) -> str:
    """Hash questions and targets: two models asked the same samples compare, as pairs."""
    told = sorted({json.dumps([str(one.id), one.prompt, one.target], ensure_ascii=False) for one in samples})
    return hashlib.blake2b("\n".join(told).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

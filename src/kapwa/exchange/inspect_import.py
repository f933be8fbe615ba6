"""Inspect logs as runs, which report and compare like Kapwa's own.

A log of one of Kapwa's tasks is judged again by that task (:mod:`kapwa.exchange.inspect_answers`), if its data are
available. For any other log nothing is invented: what its samples' metadata do not have (culture, language, sampled
unit) is "unknown", "und" and the sample itself, unless the user gives it; notes say so.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from kapwa.errors import DataError
from kapwa.exchange import base
from kapwa.exchange.inspect_answers import is_kapwa_task, judge_again
from kapwa.exchange.inspect_logs import InspectLog, read_log
from kapwa.models.gate import gate
from kapwa.models.inspect import responses_of
from kapwa.records import Outcome, Request, Response
from kapwa.stats.states import state_of
from kapwa.suites.items import ABOUT_ANSWER, about_answer
from kapwa.value_types import Cells, Json, JsonObject, Row, Untyped

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample, EvalScore

_KNOWN = ("item_id", "variant", "culture", "language", "category", "topic", "cluster")
ValueKey = tuple[str, str | int | None]
Value = tuple[float | None, Outcome]
_RIGHT: Value = (1.0, "right")
_WRONG: Value = (0.0, "wrong")
# Inspect's letters and words, and their values in its metrics (inspect_ai.scorer.value_to_float).
_WORDS: Mapping[str, Value] = {
    **{"C": _RIGHT, "I": _WRONG, "P": (0.5, "scored"), "N": (0.0, "refused")},
    **{"yes": _RIGHT, "true": _RIGHT, "no": _WRONG, "false": _WRONG},
}
_REASONS: Mapping[str, Outcome] = {"refusal": "refused", "no_response": "empty"}
_ANSWER = ("item_id", "variant", "culture", "sample", "text", *ABOUT_ANSWER)
_CLOSE = 1e-9


def import_inspect(path: Path, out: Path, defaults: base.ItemDefaults, *, overwrite: bool = False) -> list[Path]:
    """Import the log at ``path`` as a run in ``out``; return its folder."""
    log = read_log(path)
    notes = []
    if is_kapwa_task(next(log.samples())):
        try:
            imported = judge_again(log)
        except DataError as error:
            notes.append(f"Kapwa's task did not judge the answers again, so scores are the log's: {error.summary}")
        else:
            defaults.refuse(log.file)
            return [base.write_run(imported, out, overwrite=overwrite)]
    return [base.write_run(_foreign(log, defaults, notes), out, overwrite=overwrite)]


class _Sample(NamedTuple):
    """The data of a sample that a run needs, so that the sample itself can be freed.

    ``row``: its columns of items and answers. ``values``: the values of scorers, by scorer and, where it gave several,
    by key or index: a number with its outcome ("scored" if it is not a verdict), or a text, if it is not a number.
    """

    id: int | str
    epoch: int
    row: Row
    values: Mapping[ValueKey, Value | str]


def _read_sample(sample: EvalSample, defaults: base.ItemDefaults) -> _Sample:
    name, error = str(sample.id), sample.error.message if sample.error else None
    tells = {key: value for key in _KNOWN if isinstance(value := sample.metadata.get(key), str) and value}
    prompts = [sample.input] if isinstance(sample.input, str) else [message.text for message in sample.input]
    target = sample.target if isinstance(sample.target, str) else "\n".join(sample.target)
    answer = _answer_of(sample)
    row = {
        **{"variant": base.UNKNOWN, "category": None, "topic": None, "cluster": name, **base.UNKNOWN_FIELDS},
        **tells,
        # The user's options override the metadata.
        **defaults.of(f"the sample {name!r}", sample.metadata),
        # Ids of samples of Kapwa's tasks have item and variant; in other metadata, "item_id" may mean anything.
        "item_id": tells.get("item_id", name) if is_kapwa_task(sample) else name,
        "prompt": "\n\n".join(prompts),
        "target": target or None,
        "sample": sample.epoch - 1,
        "text": answer.text,
        **about_answer(answer),
        "error": error,
    }
    values: dict[ValueKey, Value | str] = {}
    for scorer, score in (sample.scores or {}).items():
        missing = _REASONS.get(str(score.reason), "unparsed")
        by_key: Mapping[Untyped, Untyped] = {None: score.value}
        if isinstance(score.value, Mapping | list):
            by_key = dict(score.value) if isinstance(score.value, Mapping) else dict(enumerate(score.value))
        values |= {(scorer, key): _value(value, missing) for key, value in by_key.items()}
    return _Sample(sample.id, sample.epoch, row, values)


def _answer_of(sample: EvalSample) -> Response:
    """Return the answer in a sample, after the gate."""
    if sample.output.empty or not sample.output.choices:
        error = sample.error.message if sample.error else None
        return gate(Response("", error=error) if error is not None else Response("", text=sample.output.completion))
    return gate(responses_of([Request("", "", "generate", ())], sample.output)[0])


def _value(value: Json, missing: Outcome) -> Value | str:
    """Read a value as Inspect's metrics do; return a text that is not a number unchanged."""
    if isinstance(value, bool):
        return _RIGHT if value else _WRONG
    if isinstance(value, str) and (word := value if value in _WORDS else value.lower()) in _WORDS:
        return _WORDS[word]
    try:
        number = math.nan if value is None else float(value)
    except ValueError:
        return str(value)
    return (number, "scored") if math.isfinite(number) else (None, missing)


def _foreign(log: InspectLog, defaults: base.ItemDefaults, why_not_judged: Sequence[str]) -> base.ImportedRun:
    """Return the run of the log's own scores."""
    # As Inspect orders samples: epoch by epoch, numbers as numbers (inspect_ai.log).
    samples = sorted(
        (_read_sample(sample, defaults) for sample in log.samples()),
        key=lambda read: (read.epoch, read.id if isinstance(read.id, str) else str(read.id).zfill(20)),
    )
    metrics, left_out = _metrics(log, samples)
    rows = [sample.row for sample in samples]
    first = {str(sample.id): sample.row for sample in reversed(samples)}
    columns = {name: pl.Int64 if name == "sample" else pl.String for name in _ANSWER}
    evaluation = log.header.eval
    about = {
        "suite": "inspect",
        "task": f"inspect/{evaluation.task}",
        "task_version": evaluation.task_version or None,
        "data": str(evaluation.dataset.name or evaluation.task),
        "metrics": {name: info for name, (_, info) in metrics.items()},
        "notes": [*_reducers(log.header), *why_not_judged, *left_out],
        **log.origin(),
    }
    return base.foreign_run(
        about,
        [row for sample in samples for row in _score_rows(sample, metrics)],
        pl.DataFrame([*first.values()][::-1], schema=dict.fromkeys((*_KNOWN, "prompt", "target"), pl.String)),
        {"answers": pl.DataFrame(rows, schema=columns)},
        questions=(
            json.dumps([str(sample.id), sample.row["prompt"], sample.row["target"] or ""], ensure_ascii=False)
            for sample in samples
        ),
        requests=[(sample.id, sample.epoch) for sample in samples],
        errors=[row["error"] for row in rows if row["error"] is not None],
    )


def _metrics(log: InspectLog, samples: Sequence[_Sample]) -> tuple[dict[str, tuple[ValueKey, JsonObject]], list[str]]:
    """Return the metrics that are means over the samples (with their key and description), and why others are not.

    A key that two scorers use gets the scorer's name as a prefix.
    """
    value_keys = list(dict.fromkeys(value_key for sample in samples for value_key in sample.values))
    keys = Counter(key for _, key in value_keys)
    scorers = {scorer for scorer, _ in value_keys}
    results = log.header.results.scores if log.header.results else []
    numeric, left_out = {}, []
    for scorer, key in value_keys:
        stated_name = scorer if key is None else str(key)
        unique = key is None or (isinstance(key, str) and keys[key] == 1 and key not in scorers)
        name = stated_name if unique else f"{scorer}.{key}"
        stated = [score for score in results if score.scorer == scorer and score.name == stated_name]
        values = [(sample.id, sample.values[scorer, key]) for sample in samples if (scorer, key) in sample.values]
        why = _why_not(stated, values)
        if why:
            left_out.append(f"The metric {name} is not imported: {why}.")
            continue
        known = [value for _, value in values if value[0] is not None]
        # The log's results call the share of ones an accuracy.
        verdicts = all(value[1] != "scored" for value in known) or any("accuracy" in score.metrics for score in stated)
        binary = verdicts and all(value[0] in (0.0, 1.0) for value in known)
        info = base.foreign_metric(name, "Inspect", binary=binary, share=binary, better=True if binary else None)
        numeric[name] = (scorer, key), info
    if not numeric:
        hint = "; ".join(left_out) or f"Score it: inspect score {log.file.name} --scorer …"
        raise DataError("has no metric that is a mean over its samples.", path=log.file, hint=hint)
    return numeric, left_out


def _why_not(results: Sequence[EvalScore], values: Sequence[tuple[int | str, Value | str]]) -> str:
    """Return why a metric is not imported: it is not a number, or Inspect's mean is not its samples'. "" if it is."""
    by_item: dict[int | str, list[float]] = {}
    for item, value in values:
        if isinstance(value, str):
            return f"it has a value that is not a number ({value[:40]!r})"
        if value[0] is not None:
            by_item.setdefault(item, []).append(value[0])
    if not by_item:
        return "it has no number"
    mean = math.fsum(math.fsum(numbers) / len(numbers) for numbers in by_item.values()) / len(by_item)
    for score in results:
        for name, stated in score.metrics.items() if score.reducer in (None, "mean") else ():
            # Metrics of packages carry their name: "kapwa/mean".
            is_mean = name.rpartition("/")[2] in ("accuracy", "mean") and stated.group is None
            if is_mean and math.isfinite(stated.value):
                differs = abs(mean - stated.value) > _CLOSE * max(1.0, abs(stated.value))
                return f"the log's own mean {stated.value:g} is not that of its samples, {mean:g}" if differs else ""
    return ""


def _score_rows(sample: _Sample, metrics: Mapping[str, tuple[ValueKey, JsonObject]]) -> Iterator[Cells]:
    for name, (value_key, info) in metrics.items():
        value = sample.values.get(value_key, (None, "failed") if sample.row["error"] else "")
        if isinstance(value, str):
            continue  # a scorer skipped this sample
        number, outcome = value
        if outcome in ("right", "wrong", "scored") and number is not None:
            outcome = base.foreign_outcome(number, binary=info["binary"])
        # The log's scorer judged what it got; if there was an answer, its state is that in the log.
        state = sample.row["state"] if number is not None else state_of(outcome)
        yield {**sample.row, "metric": name, "value": number, "outcome": outcome, "state": state}


def _reducers(header: EvalLog) -> list[str]:
    names = sorted({score.reducer for score in header.results.scores if score.reducer} if header.results else ())
    if names in ([], ["mean"]):
        return []
    return [f"The log's results reduce epochs by {', '.join(names)}; here an item's value is their mean."]

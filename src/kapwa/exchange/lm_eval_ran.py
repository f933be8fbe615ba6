"""Samples of Kapwa's own tasks inside lm-eval (``--tasks kapwa_…``): their answers, judged again by Kapwa's task.

Items are recognised by the ids in their documents, which must be, word for word, those of the data that are here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import polars as pl

from kapwa.errors import DataError
from kapwa.exchange.lm_eval_about import model_of, times_of, versions_of
from kapwa.exchange.lm_eval_again import disagreements
from kapwa.exchange.lm_eval_read import Sample, TaskSamples, logprob
from kapwa.exchange.lmeval.answers import can_be_had, generation_settings, likelihood_arguments, responses_of
from kapwa.exchange.lmeval.settings import task_of
from kapwa.exchange.otherwise import differing, note, with_options
from kapwa.exchange.terms import reading_samples
from kapwa.exchange.writing import Imported, finished
from kapwa.models.base import Model
from kapwa.records import Answer, Item, Request
from kapwa.runs.manifest import describe
from kapwa.suites.base import Judged, Task

_NOTE = "Asked by lm-eval; Kapwa's own task judged the answers again."
_LEFT_OUT = (
    "lm-eval tells no token counts and scores no closing tokens: metrics per token, and as released, are not here."
)
# What lm-eval does not tell of a continuation: its tokens, and whether one of them spans prompt and text.
_UNTOLD = ("n_tokens", "boundary")


class _Matched(NamedTuple):
    """One document of lm-eval's with the item it is, and what Kapwa asks about that."""

    sample: Sample
    item: Item
    requests: Sequence[Request]


def is_ran(results: Mapping[str, Any], task: TaskSamples) -> bool:
    """Whether ``task`` is one of Kapwa's, by the settings that lm-eval wrote down."""
    own = _metadata(results, task).get("kapwa")
    return isinstance(own, Mapping) and isinstance(own.get("task"), str)


def ran_run(results: Mapping[str, Any], task: TaskSamples) -> Imported:
    """Return the run of Kapwa's task with the answers that lm-eval logged.

    Raises DataError where the task's data are not at hand, are other data than lm-eval asked about, or the samples are
    not as Kapwa's tasks make them.
    """
    with reading_samples():
        opened = _opened(results, task)
        matched = _matched(opened, task)
        answers = [answer for one in matched for answer in _answers(task, one)]
        kept = [one.item for one in matched]
        judged = _known(opened, opened.score(kept, answers))
        table, floors = opened.item_table(kept), opened.floors(kept)
    version = _metadata(results, task)["kapwa"].get("version")
    notes = [*_notes(results, opened, matched), *disagreements(results, task, judged.scores, version)]
    manifest = _manifest(results, task, opened, matched, notes)
    manifest["counts"] = _counts(matched, answers)
    metrics = manifest["metrics"]
    return Imported(
        finished(manifest), judged.scores, table, judged.tables, [one for one in floors if one.metric in metrics]
    )


def _metadata(results: Mapping[str, Any], task: TaskSamples) -> Mapping[str, Any]:
    told = (results.get("configs") or {}).get(task.name, {}).get("metadata")
    return told if isinstance(told, Mapping) else {}


def _opened(results: Mapping[str, Any], task: TaskSamples) -> Task:
    """Open Kapwa's task as it was opened inside lm-eval; raise DataError where its data are others now."""
    metadata = _metadata(results, task)
    opened = task_of(str(results["configs"][task.name].get("task", task.name)), metadata)
    then = metadata["kapwa"].get("digest", opened.data.digest)
    if then != opened.data.digest:
        raise DataError(
            f"{opened.name}: the data are not those that lm-eval asked about "
            f"(digest {opened.data.digest[:6]}, was {str(then)[:6]})."
        )
    return opened


def _matched(opened: Task, task: TaskSamples) -> list[_Matched]:
    """Return the documents in the order of the data."""
    items = opened.items()
    rows = opened.item_table(items).to_dicts()
    known = {(item.id, item.variant): (place, row) for place, (item, row) in enumerate(zip(items, rows, strict=True))}
    found: dict[int, Sample] = {}
    for sample in task.documents():
        doc = sample.record["doc"]
        place, row = known.get((doc.get("item_id"), doc.get("variant")), (-1, {}))
        other = _other(doc, row)
        if other is not None:
            raise DataError(f"{opened.name}: {_named(sample)} is not in the data, or otherwise (see its {other!r}).")
        if place in found:
            raise DataError(f"{opened.name}: {_named(sample)} is there twice.")
        found[place] = sample
    return [_Matched(found[place], items[place], list(opened.requests([items[place]]))) for place in sorted(found)]


def _named(sample: Sample) -> str:
    doc = sample.record["doc"]
    return f"the item {doc.get('item_id')!r}, variant {doc.get('variant')!r} (row {sample.row} of the samples),"


def _other(doc: Mapping[str, Any], row: Mapping[str, Any]) -> str | None:
    """Return a column in which a document is not the item of that id; None where all are equal."""
    if not row:
        return "item_id"
    here = json.loads(json.dumps(row, default=str))
    return next((name for name in {**here, **doc} if here.get(name) != doc.get(name)), None)


def _answers(task: TaskSamples, one: _Matched) -> Iterator[Answer]:
    """Yield what was answered about one item; each repeat of a text is a further draw.

    Repeats of a likelihood are one number: the first is taken, as lm-eval does.
    """
    sample, requests = one.sample, one.requests
    given = sample.record["resps"]
    _check_asked(sample, requests)
    if len(given) != len(sample.asked):
        raise DataError(f"{_named(sample)} holds {len(given)} answers to {len(sample.asked)} questions.")
    if requests[0].kind == "score":
        found: Sequence[Sequence[Any]] = [[(logprob(told, task.path, sample.row), False) for told in given]]
    else:
        found = list(zip(*(told if isinstance(told, list) else [told] for told in given), strict=True))
    if not found:
        raise DataError(f"{_named(sample)} holds no answer.")
    for draw, results in enumerate(found):
        for request, response in zip(requests, responses_of(requests, results), strict=True):
            yield Answer(replace(request, sample=draw * len(requests) + request.sample), response)


def _check_asked(sample: Sample, requests: Sequence[Request]) -> None:
    """Raise DataError where the model was asked something else than Kapwa asks now: other words or other texts."""
    asked, place = sample.asked, 0
    for request in requests:
        prompt = asked[place][0]
        if not _holds(prompt, request.messages[-1].content):
            raise DataError(f"{_named(sample)} was asked in other words than Kapwa's now.")
        if request.kind == "generate":
            place += 1
            continue
        expected = likelihood_arguments(prompt, request.continuations)
        if list(asked[place : place + len(expected)]) != expected:
            raise DataError(f"{_named(sample)} was asked with other texts to score than Kapwa's now.")
        place += len(expected)
    if place != len(asked):
        raise DataError(f"{_named(sample)} holds {len(asked)} questions; Kapwa asks {place}.")


def _holds(prompt: str, content: str) -> bool:
    """Whether a rendered prompt holds a message: less white space at its ends, or as JSON for chat servers."""
    bare = content.strip()
    return bare in prompt or json.dumps(bare, ensure_ascii=False)[1:-1] in prompt


def _known(opened: Task, judged: Judged) -> Judged:
    """Leave out what lm-eval's numbers do not give."""
    if "score" not in opened.needs:
        return judged
    kept = [name for name in opened.metrics if can_be_had(name, opened)]
    tables = {
        name: table.with_columns(pl.lit(None, table.schema[one]).alias(one) for one in _UNTOLD if one in table.columns)
        for name, table in judged.tables.items()
    }
    return Judged(judged.scores.filter(pl.col("metric").is_in(kept)), tables)


def _manifest(
    results: Mapping[str, Any], task: TaskSamples, opened: Task, matched: Sequence[_Matched], notes: Sequence[str]
) -> dict[str, Any]:
    model = model_of(results)
    asked = _settings(matched)
    if asked:
        model["description"]["generation"] = asked
    described = describe(
        opened, cast("Model", SimpleNamespace(**model, atomic_batches=False)), [one.item for one in matched], seed=0
    )
    return {
        **described,
        "options": with_options(described["options"], _otherwise(results, matched)),
        "metrics": {name: info for name, info in described["metrics"].items() if can_be_had(name, opened)},
        "versions": versions_of(results),
        "machine": {},
        "status": "complete",
        "failures": [],
        **times_of(results),
        "notes": list(notes),
        "imported": {"from": "lm_eval", "version": results.get("lm_eval_version"), "file": task.path.name},
    }


def _counts(matched: Sequence[_Matched], answers: Sequence[Answer]) -> dict[str, int]:
    n = len(answers)
    return {"items": len(matched), "requests": n, "unique": n, "answered": n, "failed": 0}


def _settings(matched: Sequence[_Matched]) -> dict[str, Any]:
    """Return the settings with which texts were asked for, which are one for all of a task; none for likelihoods."""
    told = matched[0].sample.asked[0][1]
    return dict(told) if isinstance(told, Mapping) else {}


def _otherwise(results: Mapping[str, Any], matched: Sequence[_Matched]) -> dict[str, Any]:
    """Return what lm-eval asked with where that is not what Kapwa's tasks ask with."""
    asked = _settings(matched)
    usual = generation_settings(matched[0].requests[0].params) if asked else {}
    told = results.get("system_instruction")
    return differing({**asked, **({"system_message": str(told)} if told else {})}, usual)


def _notes(results: Mapping[str, Any], opened: Task, matched: Sequence[_Matched]) -> Iterator[str]:
    yield _NOTE
    if "score" in opened.needs:
        yield _LEFT_OUT
    yield from note("lm-eval", _otherwise(results, matched))
    draws = {len(one.sample.record["resps"][0]) for one in matched} if _settings(matched) else {1}
    if max(draws) > 1:
        yield f"Each item was asked {max(draws)} times: its value is the mean, where lm-eval's is the first answer's."

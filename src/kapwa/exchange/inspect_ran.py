"""Logs of Kapwa's own tasks inside Inspect (``inspect eval kapwa/…``): their answers, judged again by Kapwa's task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from kapwa.errors import DataError
from kapwa.exchange.inspect_about import asked
from kapwa.exchange.inspect_otherwise import Otherwise
from kapwa.exchange.inspect_read import InspectLog
from kapwa.exchange.inspect_samples import SCORER
from kapwa.exchange.otherwise import with_options
from kapwa.exchange.terms import reading_samples
from kapwa.exchange.writing import Imported, finished
from kapwa.models.base import Model
from kapwa.records import Answer, Item, Response
from kapwa.runs.manifest import describe

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

    from kapwa.exchange.inspectai.opened import OpenedTask

_NOTE = "Asked by Inspect; Kapwa's own task judged the answers again."


def is_ran(sample: EvalSample) -> bool:
    """Whether a sample is of one of Kapwa's tasks."""
    return isinstance(sample.metadata.get(SCORER), Mapping)


def ran_run(log: InspectLog) -> Imported:
    """Return the run of Kapwa's task with the log's answers.

    Raises DataError where the task's data are not at hand, are other data than the log's, or the answers are damaged.
    """
    otherwise = Otherwise()
    with reading_samples():
        opened, chosen, answers = _read(log, otherwise)
        kept = [item for key, item in opened.items.items() if key in chosen]
        judged = opened.task.score(kept, _in_order(kept, answers))
        other = otherwise.settings(log.header, opened.requests(kept[0]))
    errors = Counter(answer.response.error for answer in answers if answer.response.error is not None)
    about = asked(log, items=len(kept), requests=len(answers), errors=errors)
    model = cast("Model", SimpleNamespace(**about.pop("model"), atomic_batches=False))
    described = describe(opened.task, model, kept, seed=0)
    manifest = {
        **described,
        **about,
        "options": with_options(described["options"], other),
        "notes": [_NOTE, *otherwise.notes(other)],
    }
    task = opened.task
    return Imported(finished(manifest), judged.scores, task.item_table(kept), judged.tables, task.floors(kept))


def _read(log: InspectLog, otherwise: Otherwise) -> tuple[OpenedTask, set[tuple[str, str]], list[Answer]]:
    """Return the task, which items of it the log holds, and their answers; a sample is let go when it is read."""
    from kapwa.exchange.inspectai.opened import find

    opened: OpenedTask | None = None
    chosen: set[tuple[str, str]] = set()
    answers: list[Answer] = []
    for sample in log.samples():
        found = find(sample.metadata)
        if opened not in (None, found.opened):
            raise DataError("its samples are of several tasks.")
        opened = found.opened
        chosen.add((found.item.id, found.item.variant))
        otherwise.look(sample, opened.requests(found.item))
        answers += _answers(opened, found.item, sample)
    if opened is None:
        raise DataError("holds no samples.")
    return opened, chosen, answers


def _answers(opened: OpenedTask, item: Item, sample: EvalSample) -> Iterator[Answer]:
    """Yield what a sample answered; each epoch is a further set of draws."""
    from kapwa.exchange.inspectai.exchanged import answers_of

    requests = opened.requests(item)
    if sample.error is not None:
        error = sample.error.message
        given = [Answer(request, Response(request.key, error=error)) for request in requests]
    else:
        given = answers_of(requests, sample.output)
    if len(given) != len(requests):
        raise DataError(f"the sample {sample.id!r} holds {len(given)} answers to {len(requests)} requests.")
    for request, response in given:
        later = (sample.epoch - 1) * len(requests) + request.sample
        yield Answer(replace(request, sample=later), response)


def _in_order(items: Sequence[Item], answers: Sequence[Answer]) -> list[Answer]:
    place = {(item.id, item.variant): i for i, item in enumerate(items)}
    return sorted(answers, key=lambda one: (place[one.request.item_id, one.request.variant], one.request.sample))

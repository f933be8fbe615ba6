"""A few items as a model would be asked them, and how a right and an empty reply are judged: a look before a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, islice, zip_longest
from typing import NamedTuple

import polars as pl

from kapwa.datasets.conversations import transcript
from kapwa.models.gate import gate
from kapwa.records import Answer, ContinuationScore, Item, Request, Response
from kapwa.suites.base import Task
from kapwa.suites.items import grouped

NO_REPLY = ""
# Log-probabilities of a continuation that is the right one, and of another.
_LIKELY, _UNLIKELY = -1.0, -9.0


class Trial(NamedTuple):
    """An item as it is asked: its prompts, the texts whose likelihood is measured, and how replies to it are judged.

    ``right``: a right reply to each prompt (of likelihoods the likeliest text), as far as the suite can give one.
    ``judged``: the task's first headline metric of these replies; ``judged_empty``: of an empty reply, None where
    likelihoods are measured. Both None where one item by itself has no score.
    """

    item: Item
    prompts: tuple[str, ...]
    continuations: tuple[tuple[str, ...], ...]
    right: tuple[str, ...]
    judged: float | None
    judged_empty: float | None


def try_items(task: Task, example_answers: Callable[[Item], Sequence[str]] | None, count: int = 10) -> list[Trial]:
    """Return ``count`` items of a task, of each culture in turn, as they are asked and judged; no model is asked.

    ``example_answers``: right replies to each prompt of an item, see :class:`kapwa.suites.base.Suite`; None where the
    suite knows of none.
    """
    by_culture = grouped(task.items(), lambda item: item.culture).values()
    in_turn = filter(None, chain.from_iterable(zip_longest(*by_culture)))
    return [_trial(task, item, example_answers) for item in islice(in_turn, count)]


def _trial(task: Task, item: Item, example_answers: Callable[[Item], Sequence[str]] | None) -> Trial:
    requests = list(task.requests([item]))
    right = tuple(example_answers(item)) if example_answers else ()
    texts = any(request.kind == "generate" for request in requests)
    known = len(right) == len(requests)
    return Trial(
        item,
        tuple(transcript(request.messages) for request in requests),
        tuple(request.continuations for request in requests),
        right if known else (),
        _judged(task, item, [_answer(*pair) for pair in zip(requests, right, strict=True)]) if known else None,
        _judged(task, item, [_answer(request, NO_REPLY) for request in requests]) if texts and known else None,
    )


def _answer(request: Request, reply: str) -> Answer:
    if request.kind == "generate":
        return Answer(request, gate(Response(request.key, text=reply, finish_reason="stop")))
    scores = tuple(
        ContinuationScore(_LIKELY if text == reply else _UNLIKELY, 1, len(text.encode()), len(text))
        for text in request.continuations
    )
    return Answer(request, gate(Response(request.key, logprobs=scores)))


def _judged(task: Task, item: Item, answers: Sequence[Answer]) -> float | None:
    scores = task.judge([item], answers).scores.filter(pl.col("metric") == task.headline[0])
    values = scores["value"].drop_nulls()
    return None if values.is_empty() else float(values[0])

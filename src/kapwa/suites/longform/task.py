"""``longform/criteria``: ask each question and keep the answer; verdicts on its criteria are its score.

The score of an answer is HealthBench's (Arora et al. 2025, section 3): the points of the criteria met over all positive
points. Here it is kept from 0 to 1 answer by answer, where HealthBench clips the mean alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from kapwa.errors import check_whole
from kapwa.languages.identify import differs, identify
from kapwa.languages.phrases import is_refusal
from kapwa.metrics.base import is_blank
from kapwa.records import Answer, Item, Response
from kapwa.suites.base import Judged, Selection, Task, metrics_of
from kapwa.suites.items import greedy_requests, item_columns, pair_answers, score_frame, score_row, select
from kapwa.suites.longform import VARIANT
from kapwa.suites.longform.data import read_questions
from kapwa.suites.longform.form import question_table

MET, WORDS = "criteria_met", "words"
METRICS = metrics_of("longform/criteria")
ANSWER_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("item_id", "variant", "culture", "text", "finish_reason", "error"), pl.String),
    **dict.fromkeys(("sample", WORDS), pl.Int64),
}


@dataclass(frozen=True, slots=True)
class LongOptions:
    """Options of the task: ``max_new_tokens`` of an answer. Raises UsageError for a number out of range."""

    max_new_tokens: int = 512

    def __post_init__(self) -> None:
        check_whole("max_new_tokens", self.max_new_tokens)


def judge(items: Sequence[Item], answers: Collection[Answer]) -> Judged:
    """Describe answers by what needs no verdict; ``criteria_met`` is null, for people or a judging model say it.

    Tables: ``answers``, a row an answer, with its words, for judges favour long ones. Raises UsageError for answers to
    unknown items and for two answers to one request.
    """
    replies = list(pair_answers(items, answers))
    rows = [_answer_row(*reply) for reply in replies]
    scores = score_frame(row for reply in replies for row in _score_rows(*reply))
    return Judged(scores, {"answers": pl.DataFrame(rows, schema=ANSWER_SCHEMA)})


def _text(response: Response | None) -> str | None:
    """The text of an answer, "" where the model said nothing; None where it failed or was never asked."""
    return None if response is None or response.failed else response.text or ""


def _answer_row(item: Item, sample: int, response: Response | None) -> dict[str, Any]:
    text, columns = _text(response), item_columns(item)
    return {
        **{name: columns[name] for name in ("item_id", "variant", "culture")},
        "sample": sample,
        "text": text,
        WORDS: None if text is None else len(text.split()),
        "finish_reason": response.finish_reason if response else None,
        "error": response.error if response else "no answer was given",
    }


def _score_rows(item: Item, sample: int, response: Response | None) -> Iterator[dict[str, Any]]:
    text = _text(response)
    values: dict[str, float | None] = {}
    if response is not None and text is not None:
        other = differs(item.language, identify(text))
        values = {
            WORDS: float(len(text.split())),
            "truncated": {"length": 1.0, "stop": 0.0}.get(response.finish_reason or ""),
            "empty": float(is_blank(text)),
            "refused": float(is_refusal(text)),
            "other_language": None if other is None else float(other),
        }
    for metric in METRICS:
        yield score_row(item, metric, values.get(metric), "failed" if text is None else "scored", sample)


def open_longform_task(name: str, data: str | Path | None, selection: Selection, options: Mapping[str, Any]) -> Task:
    """Return ``longform/criteria`` over the chosen questions of ``data``."""
    settings = LongOptions(**options)
    questions, source = read_questions(data)
    return Task(
        name=name,
        data=source,
        selection=selection,
        selected=select(questions, selection, known=(VARIANT,), default=(VARIANT,)),
        needs=frozenset({"generate"}),
        headline=(MET, WORDS),
        groups=("topic",),
        metrics=METRICS,
        options={"max_new_tokens": settings.max_new_tokens},
        requests=partial(greedy_requests, max_new_tokens=settings.max_new_tokens),
        score=judge,
        floors=lambda _items: [],  # nobody has said yet what an answer by a trick would meet
        item_table=question_table,
    )

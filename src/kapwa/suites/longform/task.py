"""``longform/criteria``: ask each question and keep the answer; verdicts on its criteria are its score.

The score of an answer is HealthBench's (Arora et al. 2025, section 3): the points of the criteria met over all positive
points. Here it is kept from 0 to 1 answer by answer, where HealthBench clips the mean alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from kapwa.errors import check_whole
from kapwa.records import Answer, Item, Outcome
from kapwa.suites.base import Judged, Selection, Task, metrics_of
from kapwa.suites.items import (
    ABOUT_ANSWER,
    CASE_SCHEMA,
    about_answer,
    greedy_requests,
    item_columns,
    lost_outcome,
    pair_answers,
    score_frame,
    score_row,
    select,
    text_facts,
)
from kapwa.suites.longform.data import read_questions
from kapwa.suites.longform.form import question_table
from kapwa.suites.longform.variants import VARIANT
from kapwa.value_types import Cells, JsonMapping, Schema

MET, WORDS = "criteria_met", "words"
_MINUS = "\u2212"
METRICS = metrics_of("longform/criteria")
ANSWER_SCHEMA: Schema = {
    **dict.fromkeys(("item_id", "variant", "culture", "text"), pl.String),
    **ABOUT_ANSWER,
    **dict.fromkeys(("sample", WORDS), pl.Int64),
}


def judge(items: Sequence[Item], answers: Collection[Answer]) -> Judged:
    """Describe answers by what needs no verdict; ``criteria_met`` is null, for people or a judging model say it.

    Tables: ``answers``, a row an answer, with its words, for judges favour long ones; ``cases``, a row a question, with
    its criteria. Raises UsageError for answers to unknown items and for two answers to one request.
    """
    rows, scores = [], []
    for item, sample, response in pair_answers(items, answers):
        answered = None if response is None or response.unanswered else response
        text = None if answered is None else answered.text or ""
        facts = {} if answered is None else text_facts(answered.text or "", item, answered)
        columns = {**item_columns(item), "sample": sample, "text": text, WORDS: facts.get(WORDS)}
        columns |= about_answer(response)
        rows.append({name: columns[name] for name in ANSWER_SCHEMA})
        outcome: Outcome = "scored" if answered else lost_outcome(response)
        scores += [score_row(item, metric, facts.get(metric), outcome, sample) for metric in METRICS]
    tables = {
        "answers": pl.DataFrame(rows, schema=ANSWER_SCHEMA),
        "cases": pl.DataFrame(list(map(_case, items)), CASE_SCHEMA),
    }
    return Judged(score_frame(scores), tables)


def _case(item: Item) -> Cells:
    """A question and its criteria as readers see them, each with its points; no answer is right or wrong by itself."""
    shown = item_columns(item) | {"metric": MET, "prompt": item.fields["prompt"]}
    texts = {"expected": item.fields["criteria"]}
    if item.fields["criteria_en"] != item.fields["criteria"]:
        texts["expected_gloss"] = item.fields["criteria_en"]
    for name, criteria in texts.items():
        weighted = zip(item.fields["weights"], criteria, strict=True)
        shown[name] = "\n".join(f"{weight:+g}: ".replace("-", _MINUS) + criterion for weight, criterion in weighted)
    return shown | {"prompt_gloss": item.fields["gloss"]}


def open_longform_task(name: str, data: str | Path | None, selection: Selection, options: JsonMapping) -> Task:
    """Return ``longform/criteria`` over the chosen questions of ``data``."""
    max_new_tokens = options.get("max_new_tokens", 512)
    check_whole("max_new_tokens", max_new_tokens)
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
        options={"max_new_tokens": max_new_tokens},
        requests=partial(greedy_requests, max_new_tokens=max_new_tokens),
        score=judge,
        floors=lambda _items: [],  # it is not known which criteria the answer of a trick would meet
        item_table=question_table,
    )

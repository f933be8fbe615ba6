"""Judge log-probabilities of multiple-choice options: of their texts after the question, and of their letters."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from kapwa.metrics.likelihood import NORMS, Vector, normalised
from kapwa.records import Answer, Item, Outcome
from kapwa.suites.base import Judged
from kapwa.suites.blend.mcq import answers_by_item, case_of, option_of
from kapwa.suites.rows import case_frame, score_frame, score_row

OPTION_SCHEMA: dict[str, Any] = {
    "item_id": pl.String,
    "variant": pl.String,
    "culture": pl.String,
    "letter": pl.String,
    "right": pl.Boolean,
    "option": pl.String,
    "option_culture": pl.String,
    "logprob_text": pl.Float64,
    "n_tokens": pl.Int64,
    "n_bytes": pl.Int64,
    "n_chars": pl.Int64,
    "logprob_letter": pl.Float64,
}


class _Scored(NamedTuple):
    """The log-probabilities of an item's option texts and letters; None where that request failed."""

    item: Item
    texts: Answer | None
    letters: Answer | None

    @property
    def place(self) -> int:
        return int(self.item.fields["letters"].index(self.item.fields["answer"]))


def judge_likelihood(items: Sequence[Item], answers: Collection[Answer]) -> Judged:
    """Judge log-probabilities: one row per item and metric of :data:`kapwa.suites.blend.mcq.LIKELIHOOD_METRICS`.

    The right option must be strictly likelier than every other: a tie is 0, with the outcome "tie". Where a request
    failed or is missing, its metrics are null. Tables: ``options`` (each option's log-probabilities), ``cases``.
    Raises UsageError for answers to unknown items.
    """
    by_item = answers_by_item(items, answers)
    scored = [_scored(item, by_item[item.id, item.variant]) for item in items]
    rows = [row for one in scored for row in _likelihood_rows(one)]
    options = [row for one in scored for row in _option_rows(one)]
    cases = [_likelihood_case(one) for one in scored if one.texts is not None]
    return Judged(
        score_frame(rows),
        {
            "options": pl.DataFrame(options, schema=OPTION_SCHEMA),
            "cases": case_frame(sorted(cases, key=lambda row: row["margin"])),
        },
    )


def _scored(item: Item, answers: Sequence[Answer]) -> _Scored:
    given = {answer.request.continuations: answer for answer in answers if not answer.response.failed}
    return _Scored(item, given.get(tuple(item.fields["options"])), given.get(tuple(item.fields["letters"])))


def _likelihood_rows(scored: _Scored) -> Iterator[dict[str, Any]]:
    for norm in NORMS:
        name = "mcq_text" if norm == "byte" else f"mcq_text_{norm}"
        yield _strictly_best(scored, name, scored.texts and _values(scored.texts, norm))
    # Letters are one character each: nothing is to be normalised.
    yield _strictly_best(scored, "mcq_letter", scored.letters and _values(scored.letters, "sum"))


def _values(answer: Answer, norm: Literal["byte", "char", "token", "sum"]) -> Vector:
    assert answer.response.logprobs is not None
    return normalised(answer.response.logprobs, norm)


def _strictly_best(scored: _Scored, metric: str, values: Vector | None) -> dict[str, Any]:
    if values is None:
        return score_row(scored.item, metric, None, "failed")
    margin = _margin(values, scored.place)
    outcome: Outcome = "tie" if margin == 0 else "right" if margin > 0 else "wrong"
    return score_row(scored.item, metric, float(margin > 0), outcome)


def _margin(values: Vector, place: int) -> float:
    return float(values[place] - np.delete(values, place).max())


def _option_rows(scored: _Scored) -> Iterator[dict[str, Any]]:
    if scored.texts is None and scored.letters is None:
        return
    item = scored.item
    texts = scored.texts.response.logprobs if scored.texts else None
    letters = scored.letters.response.logprobs if scored.letters else None
    for place, letter in enumerate(item.fields["letters"]):
        text, culture = option_of(item, letter)
        yield {
            "item_id": item.id,
            "variant": item.variant,
            "culture": item.culture,
            "letter": letter,
            "right": letter == item.fields["answer"],
            "option": text,
            "option_culture": culture,
            "logprob_text": texts[place].logprob_sum if texts else None,
            "n_tokens": texts[place].n_tokens if texts else None,
            "n_bytes": texts[place].n_bytes if texts else None,
            "n_chars": texts[place].n_chars if texts else None,
            "logprob_letter": letters[place].logprob_sum if letters else None,
        }


def _likelihood_case(scored: _Scored) -> dict[str, Any]:
    assert scored.texts is not None
    values = _values(scored.texts, "byte")
    likeliest = scored.item.fields["options"][int(values.argmax())]
    return case_of(scored.item, "mcq_text", _margin(values, scored.place), likeliest)

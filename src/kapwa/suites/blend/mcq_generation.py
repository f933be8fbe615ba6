"""Judge the replies to multiple-choice questions: which option each chooses, and whose answer that is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from kapwa.errors import UsageError
from kapwa.languages.refusals import is_refusal
from kapwa.records import Answer, Item, Outcome, Response
from kapwa.suites.base import Judged
from kapwa.suites.blend.analysis import choice_confusion
from kapwa.suites.blend.letter_reference import reference_choice
from kapwa.suites.blend.letters import Reading, read_choice
from kapwa.suites.blend.mcq import GENERATE_METRICS, answers_by_item, case_of, option_of
from kapwa.suites.rows import case_frame, score_frame, score_row

ANSWER_SCHEMA: dict[str, Any] = {
    "item_id": pl.String,
    "variant": pl.String,
    "culture": pl.String,
    "sample": pl.Int64,
    "text": pl.String,
    "finish_reason": pl.String,
    "letter": pl.String,
    "read_as": pl.String,
    "letter_reference": pl.String,
    "right_letter": pl.String,
    "chosen": pl.String,
    "chosen_culture": pl.String,
    "outcome": pl.String,
    "error": pl.String,
}


class _Reply(NamedTuple):
    """One reply to an item; ``text`` is None when there is none."""

    item: Item
    sample: int
    response: Response | None
    text: str | None
    reading: Reading
    reference: str

    @property
    def right(self) -> bool:
        return bool(self.reading.letter == self.item.fields["answer"])

    @property
    def outcome(self) -> Outcome:
        if self.text is None:
            return "failed"
        if self.reading.letter is not None:
            return "right" if self.right else "wrong"
        return "empty" if not self.text.strip() else "refused" if is_refusal(self.text) else "unparsed"


def judge_generate(items: Sequence[Item], answers: Collection[Answer]) -> Judged:
    """Judge replies: one row per item, sample and metric of :data:`GENERATE_METRICS`.

    A reply that names no one option has outcome "unparsed" (or "refused", "empty"): it is 0 in ``mcq_acc``, so that
    silence earns nothing, and null in ``mcq_acc_parsed``. Failed and missing replies have null values. Tables:
    ``answers`` (what each reply was read as, and whose answer was chosen), ``cases`` (one row an item, wrong first),
    ``confusion`` (whose answers are chosen where the choice is wrong).
    Raises UsageError for answers to unknown items and for two answers to one request.
    """
    replies = list(_replies(items, answers))
    rows = [row for reply in replies for row in _generate_rows(reply)]
    read = pl.DataFrame([_answer_row(reply) for reply in replies], schema=ANSWER_SCHEMA)
    tables = {
        "answers": read,
        "cases": case_frame(_reply_cases(replies)),
        "confusion": choice_confusion(items, read),
    }
    return Judged(score_frame(rows), tables)


def _replies(items: Sequence[Item], answers: Collection[Answer]) -> Iterator[_Reply]:
    by_item = answers_by_item(items, answers)
    for item in items:
        samples: dict[int, Response] = {}
        for request, response in by_item[item.id, item.variant]:
            if request.sample in samples:
                raise UsageError(
                    f"There are two answers to item {item.id!r}, sample {request.sample}.", hint="Remove one of them."
                )
            samples[request.sample] = response
        if not samples:
            yield _reply(item, 0, None)
        for sample in sorted(samples):
            yield _reply(item, sample, samples[sample])


def _reply(item: Item, sample: int, response: Response | None) -> _Reply:
    if response is None or response.failed:
        return _Reply(item, sample, response, None, Reading(None, "none"), "")
    text, options = response.text or "", item.fields["options"]
    reference = reference_choice(text, options, item.fields["prompt"])
    return _Reply(item, sample, response, text, read_choice(text, options), reference)


def _generate_rows(reply: _Reply) -> Iterator[dict[str, Any]]:
    item, outcome, sample = reply.item, reply.outcome, reply.sample
    if outcome == "failed":
        yield from (score_row(item, name, None, "failed", sample) for name in GENERATE_METRICS)
        return
    value = float(reply.right)
    yield score_row(item, "mcq_acc", value, outcome, sample)
    yield score_row(item, "mcq_acc_parsed", None if reply.reading.letter is None else value, outcome, sample)
    released = reply.reference == item.fields["answer"]
    yield score_row(item, "mcq_acc_reference", float(released), "right" if released else "wrong", sample)


def _answer_row(reply: _Reply) -> dict[str, Any]:
    item, response = reply.item, reply.response
    chosen, culture = option_of(item, reply.reading.letter)
    return {
        "item_id": item.id,
        "variant": item.variant,
        "culture": item.culture,
        "sample": reply.sample,
        "text": reply.text,
        "finish_reason": response.finish_reason if response else None,
        "letter": reply.reading.letter,
        "read_as": reply.reading.how if reply.text is not None else None,
        # The released code keeps a whole reply in which it finds no capital letter.
        "letter_reference": reply.reference if len(reply.reference) == 1 else None,
        "right_letter": item.fields["answer"],
        "chosen": chosen,
        "chosen_culture": culture,
        "outcome": reply.outcome,
        "error": response.error if response else "no answer was given",
    }


def _reply_cases(replies: Sequence[_Reply]) -> list[dict[str, Any]]:
    """One row per item: a wrong reply where there is one; wrong, then unread, then right."""
    margins: dict[Outcome, float] = {"wrong": -1.0, "right": 1.0}
    worst: dict[str, tuple[float, _Reply]] = {}
    for reply in replies:
        margin = margins.get(reply.outcome, 0.0)
        if reply.text is not None and (reply.item.id not in worst or margin < worst[reply.item.id][0]):
            worst[reply.item.id] = (margin, reply)
    ordered = sorted(worst.values(), key=lambda pair: pair[0])
    return [
        case_of(reply.item, "mcq_acc", margin, option_of(reply.item, reply.reading.letter)[0] or reply.text)
        for margin, reply in ordered
    ]

"""``kalahi/open``: is a free answer closer to relevant than to irrelevant responses?

Source: Kalahi section 4.2 (largest similarity to a relevant response minus largest to an irrelevant one).
The paper's tables give the share of items whose difference is positive: here ``<metric>_acc``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple

import polars as pl

from kapwa.datasets.findings import DataSource
from kapwa.languages.identify import differs, identify
from kapwa.languages.phrases import is_refusal
from kapwa.metrics.base import Metric, is_blank, load_metric
from kapwa.records import Answer, Item, Outcome, Response
from kapwa.suites.base import Judged, MetricInfo, Selection, Task, metrics_of
from kapwa.suites.items import (
    ABOUT_ANSWER,
    about_answer,
    accuracy,
    greedy_requests,
    lost_outcome,
    pair_answers,
    score_frame,
    score_row,
    worst_first,
)
from kapwa.suites.kalahi.closeness import Closeness, cached_floors, closeness, trial
from kapwa.suites.kalahi.form import GROUPS, situation_case, situation_table
from kapwa.suites.shared_settings import OPEN_METRICS
from kapwa.suites.similarity import SimilarityOptions
from kapwa.value_types import Cells, Schema

# Margins, closest responses and the headline are taken from this one, so it is always computed.
HEADLINE_METRIC = "chrfpp"
OPEN_HEADLINE = (f"{HEADLINE_METRIC}_acc", f"{HEADLINE_METRIC}_diff")
# What the paper calls by the name on the left, the released code computes as the metric on the right.
REFERENCE_METRICS = {
    **{name: f"{name}_reference" for name in ("bleu", "meteor", "rouge1", "rouge2", "rougeL")},
    "chrfpp": "chrf",
}
_CODE = "the released Kalahi code"
_PAPER = "Kalahi §4.2"
_CLOSER = "wrote an answer closer to a relevant than to an irrelevant response in {value} of {items}, by {short}"

LANGUAGE, REFUSED, EMPTY = "answered_other_language", "refused", "empty"


@dataclass(frozen=True, slots=True)
class OpenOptions(SimilarityOptions):
    """Options of ``kalahi/open``: similarities (chrF++ is always among them), and ``max_new_tokens`` of an answer."""

    max_new_tokens: int = 256

    default_metrics: ClassVar[tuple[str, ...]] = OPEN_METRICS
    always: ClassVar[str] = HEADLINE_METRIC
    twins: ClassVar[Mapping[str, str]] = REFERENCE_METRICS
    whole: ClassVar[tuple[str, ...]] = ("max_new_tokens",)


def open_metrics(options: OpenOptions) -> Mapping[str, MetricInfo]:
    """Return how every metric of ``kalahi/open`` reads, in the order reports show them."""
    infos = [info for metric in options.similarities() for info in _similarity_infos(metric)]
    return {info.name: info for info in infos} | metrics_of("kalahi/open")


def _similarity_infos(metric: Metric) -> Iterator[MetricInfo]:
    name, title, low, high = metric.name, metric.title, metric.low, metric.high
    widest = None if low is None or high is None else high - low
    lowest = None if widest is None else -widest
    info = partial(MetricInfo, source=f"{_PAPER}; {metric.source}", higher_is_better=True)
    closer = f"{title}: answers closer to a relevant response"
    acc = info(f"{name}_acc", closer, 0.0, 1.0, binary=True, phrase=_CLOSER, margin=title)
    yield acc
    yield info(f"{name}_diff", f"{title}: relevant minus irrelevant", lowest, widest)
    yield info(f"{name}_relevant", f"{title} to the closest relevant response", low, high)
    yield info(f"{name}_irrelevant", f"{title} to the closest irrelevant response", low, high, higher_is_better=False)
    if name in REFERENCE_METRICS:
        twin = load_metric(REFERENCE_METRICS[name]).title
        released = twin if "as released" in twin else f"{title} as released ({twin})"
        yield replace(acc, name=f"{name}_acc_reference", title=released, reference=True, source=_CODE)


ANSWER_SCHEMA: Schema = {
    **dict.fromkeys(("item_id", "variant", "culture"), pl.String),
    "sample": pl.Int64,
    **dict.fromkeys(("text", "language_asked", "language_answered"), pl.String),
    "language_confidence": pl.Float64,
    **dict.fromkeys(("other_language", "refused", "empty", "truncated"), pl.Boolean),
    **dict.fromkeys(("closest_relevant", "closest_irrelevant"), pl.String),
    **ABOUT_ANSWER,
}


class _OpenReply(NamedTuple):
    """One answer of an item; all that describes its text is None where the model gave none (failed, or never asked)."""

    item: Item
    sample: int
    response: Response | None
    text: str | None = None
    language: str | None = None
    confidence: float | None = None
    other_language: bool | None = None
    refused: bool | None = None
    empty: bool | None = None


def judge_open(items: Sequence[Item], answers: Collection[Answer], options: OpenOptions | None = None) -> Judged:
    """Judge free answers; one score row per item, sample and metric of :func:`open_metrics`.

    Values: ``_relevant`` and ``_irrelevant`` are largest similarities, ``_diff`` their difference,
    ``_acc`` 1 where it is positive and 0 elsewhere (outcome "tie" where it is 0). Empty answers resemble
    nothing (all 0, outcome "empty"); refusals keep their values (outcome "refused"); failed and missing
    answers have null values (outcome "failed"). ``answered_other_language`` is null where undecidable.
    Rows follow the items' order, whatever the answers' order. Tables: ``answers`` (one row per answer),
    ``cases`` (the worst answer of each item by chrF++ margin, worst first), ``signatures``.
    Raises UsageError for answers to unknown items and for two answers to one request.
    """
    settings = OpenOptions() if options is None else options
    replies = [_reply(*pair) for pair in pair_answers(items, answers)]
    near = _closenesses(replies, settings)
    metrics = tuple(open_metrics(settings))
    rows = (row for i, reply in enumerate(replies) for row in _score_rows(reply, near[i], settings, metrics))
    headline = [by_metric.get(HEADLINE_METRIC) for by_metric in near]
    cases = (
        situation_case(reply.item, OPEN_HEADLINE[0], by_metric.margin, reply.text)
        for reply, by_metric in zip(replies, headline, strict=True)
        if by_metric is not None
    )
    tables = {
        "answers": pl.DataFrame(list(map(_answer_row, replies, headline)), schema=ANSWER_SCHEMA),
        "cases": worst_first(cases),
        "signatures": pl.DataFrame(list(settings.signatures().items()), schema=("metric", "signature"), orient="row"),
    }
    return Judged(score_frame(rows), tables)


def _reply(item: Item, sample: int, response: Response | None) -> _OpenReply:
    if response is None or response.unanswered:
        return _OpenReply(item, sample, response)
    text = response.text or ""
    language = identify(text)
    other_language = differs(item.language, language)
    declined = response.state == "declined"
    return _OpenReply(
        item=item,
        sample=sample,
        response=response,
        text=text,
        language=language.language,
        confidence=language.confidence,
        other_language=other_language,
        refused=declined or is_refusal(text),
        empty=not declined and is_blank(text),
    )


def _closenesses(replies: Sequence[_OpenReply], options: OpenOptions) -> list[dict[str, Closeness]]:
    """Return the closeness of each reply by metric; {} for one that is not there."""
    # What the server calls a refusal resembles nothing, as an empty answer does: whatever it says, it counts 0.
    trials = [
        trial(reply.item, "" if reply.response and reply.response.state == "declined" else reply.text)
        for reply in replies
        if reply.text is not None
    ]
    by_metric = {name: closeness(metric, trials) for name, metric in options.computed().items()}
    each = zip(*by_metric.values(), strict=True)
    return [{} if reply.text is None else dict(zip(by_metric, next(each), strict=True)) for reply in replies]


def _score_rows(
    reply: _OpenReply, near: Mapping[str, Closeness], options: OpenOptions, metrics: Sequence[str]
) -> Iterator[Cells]:
    row = partial(score_row, reply.item, sample=reply.sample)
    if reply.text is None:
        yield from (row(metric, None, lost_outcome(reply.response)) for metric in metrics)
        return
    # The outcome that takes the place of a metric's own.
    special: Outcome | None = "empty" if reply.empty else "refused" if reply.refused else None
    for metric in options.metrics or ():
        value, outcome = accuracy(near[metric].margin)
        yield row(f"{metric}_acc", value, special or outcome)
        yield row(f"{metric}_diff", near[metric].margin, special or "scored")
        yield row(f"{metric}_relevant", near[metric].relevant.value, special or "scored")
        yield row(f"{metric}_irrelevant", near[metric].irrelevant.value, special or "scored")
        if metric in REFERENCE_METRICS:
            value, outcome = accuracy(near[REFERENCE_METRICS[metric]].margin)
            yield row(f"{metric}_acc_reference", value, special or outcome)
    if reply.other_language is None:
        yield row(LANGUAGE, None, "empty" if reply.empty else "unparsed")
    else:
        yield row(LANGUAGE, float(reply.other_language), "scored")
    yield row(REFUSED, float(bool(reply.refused)), "scored")
    yield row(EMPTY, float(bool(reply.empty)), "scored")


def _answer_row(reply: _OpenReply, near: Closeness | None) -> Cells:
    response, fields = reply.response, reply.item.fields
    return {
        "item_id": reply.item.id,
        "variant": reply.item.variant,
        "culture": reply.item.culture,
        "sample": reply.sample,
        "text": reply.text,
        "language_asked": reply.item.language,
        "language_answered": reply.language,
        "language_confidence": reply.confidence,
        "other_language": reply.other_language,
        "refused": reply.refused,
        "empty": reply.empty,
        "truncated": response.state == "unfinished" if response and response.state != "unknown" else None,
        # An answer without any overlap is close to nothing: naming the first response would mislead.
        "closest_relevant": fields["relevant"][near.relevant.place] if near and near.relevant.value else None,
        "closest_irrelevant": fields["irrelevant"][near.irrelevant.place] if near and near.irrelevant.value else None,
        **about_answer(response),
    }


def open_task(data: DataSource, selection: Selection, items: Sequence[Item], options: OpenOptions) -> Task:
    """Return ``kalahi/open``: is a free answer closer to relevant responses than to irrelevant ones?"""
    return Task(
        name="kalahi/open",
        data=data,
        selection=selection,
        selected=items,
        needs=frozenset({"generate"}),
        headline=OPEN_HEADLINE,
        groups=GROUPS,
        metrics=open_metrics(options),
        options={**options.as_dict(), **options.encoders()},
        requests=partial(greedy_requests, max_new_tokens=options.max_new_tokens),
        score=partial(judge_open, options=options),
        floors=partial(cached_floors, options=options),
        item_table=situation_table,
    )

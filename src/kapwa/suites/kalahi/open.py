"""``kalahi/open``: is a free answer closer to relevant than to irrelevant responses?

Source: Kalahi section 4.2 (largest similarity to a relevant response minus largest to an irrelevant one).
The paper's tables give the share of items whose difference is positive: here ``<metric>_acc``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import polars as pl

from kapwa.datasets.findings import DataSource
from kapwa.errors import check_whole
from kapwa.languages.identify import Identification, differs, identify
from kapwa.languages.phrases import is_refusal
from kapwa.metrics.base import Metric, is_blank, load_metric
from kapwa.records import Answer, Item, Outcome, Response
from kapwa.suites.asking import SteppedTask
from kapwa.suites.base import Judged, MetricInfo, Selection, metrics_of
from kapwa.suites.items import greedy_requests, item_columns, pair_answers, score_frame, score_row, worst_first
from kapwa.suites.kalahi.closeness import Closeness, accuracy, closeness, open_floors, trial
from kapwa.suites.kalahi.form import GROUPS, situation_table
from kapwa.suites.similarity import MODEL_FREE, SimilarityOptions

# Margins, closest responses and the headline are taken from this one, so it is always computed.
HEADLINE_METRIC = "chrfpp"
OPEN_HEADLINE = (f"{HEADLINE_METRIC}_acc", f"{HEADLINE_METRIC}_diff")
# What the paper calls by the name on the left, the released code computes as the metric on the right.
REFERENCE_METRICS = {"rougeL": "rougeL_reference", "chrfpp": "chrf"}
_CODE = "the released Kalahi code"
_PAPER = "Kalahi §4.2"
_CLOSER = "wrote an answer closer to a relevant than to an irrelevant response in {value} of {items}, by {short}"

LANGUAGE, REFUSED, EMPTY = "answered_other_language", "refused", "empty"


@dataclass(frozen=True, slots=True)
class OpenOptions(SimilarityOptions):
    """Options of ``kalahi/open``: similarities (chrF++ is always among them), and ``max_new_tokens`` of an answer."""

    max_new_tokens: int = 256

    default_metrics: ClassVar[tuple[str, ...]] = MODEL_FREE
    always: ClassVar[str] = HEADLINE_METRIC
    twins: ClassVar[Mapping[str, str]] = REFERENCE_METRICS

    def __post_init__(self) -> None:
        SimilarityOptions.__post_init__(self)  # super() does not find its class in one with slots
        check_whole("max_new_tokens", self.max_new_tokens)


def open_metrics(options: OpenOptions) -> Mapping[str, MetricInfo]:
    """Return how every metric of ``kalahi/open`` reads, in the order reports show them."""
    infos = [info for metric in options.similarities() for info in _similarity_infos(metric)]
    return {info.name: info for info in infos} | metrics_of("kalahi/open")


def _similarity_infos(metric: Metric) -> Iterator[MetricInfo]:
    name, title, low, high = metric.name, metric.title, metric.low, metric.high
    widest = None if low is None or high is None else high - low
    lowest = None if widest is None else -widest
    acc = MetricInfo(
        f"{name}_acc",
        f"{title}: answers closer to a relevant response",
        0.0,
        1.0,
        binary=True,
        source=f"{_PAPER}; {metric.source}",
        phrase=_CLOSER,
        higher_is_better=True,
        margin=title,
    )
    yield acc
    for part, words, ends, better in (
        ("diff", ": relevant minus irrelevant", (lowest, widest), True),
        ("relevant", " to the closest relevant response", (low, high), True),
        ("irrelevant", " to the closest irrelevant response", (low, high), False),
    ):
        yield MetricInfo(f"{name}_{part}", f"{title}{words}", *ends, source=acc.source, higher_is_better=better)
    if name in REFERENCE_METRICS:
        twin = load_metric(REFERENCE_METRICS[name]).title
        own = f"{title} as released ({twin})"
        yield replace(acc, name=f"{name}_acc_reference", title=own, reference=True, source=_CODE)


ANSWER_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("item_id", "variant", "culture"), pl.String),
    "sample": pl.Int64,
    **dict.fromkeys(("text", "finish_reason", "language_asked", "language_answered"), pl.String),
    "language_confidence": pl.Float64,
    **dict.fromkeys(("other_language", "refused", "empty", "truncated"), pl.Boolean),
    **dict.fromkeys(("closest_relevant", "closest_irrelevant", "error"), pl.String),
}


class _Given(NamedTuple):
    """One answer of an item; ``text`` is None when the model gave none (failed, or never asked)."""

    item: Item
    sample: int
    response: Response | None
    text: str | None
    refused: bool
    found: Identification

    @property
    def empty(self) -> bool:
        return self.text is not None and is_blank(self.text)

    @property
    def special(self) -> Outcome | None:
        """The outcome that takes the place of a metric's own."""
        if self.text is None:
            return "failed"
        return "empty" if self.empty else "refused" if self.refused else None

    @property
    def other_language(self) -> bool | None:
        return differs(self.item.language, self.found)


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
    given = [_given(*pair) for pair in pair_answers(items, answers)]
    near = _closenesses(given, settings)
    rows = (
        row for i, one in enumerate(given) for row in _score_rows(one, {m: c[i] for m, c in near.items()}, settings)
    )
    margins = near[HEADLINE_METRIC]
    cases = (_case(one, found.margin) for one, found in zip(given, margins, strict=True) if found is not None)
    signatures = pl.DataFrame(
        list(settings.signatures().items()), schema={"metric": pl.String, "signature": pl.String}, orient="row"
    )
    return Judged(
        score_frame(rows),
        {
            "answers": pl.DataFrame(list(map(_answer_row, given, margins)), schema=ANSWER_SCHEMA),
            "cases": worst_first(cases),
            "signatures": signatures,
        },
    )


def _given(item: Item, sample: int, response: Response | None) -> _Given:
    if response is None or response.failed:
        return _Given(item, sample, response, None, refused=False, found=Identification(None, 0.0))
    # A filtered answer may come without text and without an error: the model said nothing.
    text = response.text or ""
    return _Given(item, sample, response, text, is_refusal(text), identify(text))


def _closenesses(given: Sequence[_Given], options: OpenOptions) -> dict[str, list[Closeness | None]]:
    """Return closeness by metric, beside ``given``; None for answers that are not there."""
    trials = [trial(one.item, one.text) for one in given if one.text is not None]
    near: dict[str, list[Closeness | None]] = {}
    for name, metric in options.computed().items():
        found = iter(closeness(metric, trials))
        near[name] = [None if one.text is None else next(found) for one in given]
    return near


def _score_rows(one: _Given, near: Mapping[str, Closeness | None], options: OpenOptions) -> Iterator[dict[str, Any]]:
    def row(metric: str, value: float | None, outcome: Outcome) -> dict[str, Any]:
        return score_row(one.item, metric, value, outcome, one.sample)

    for metric in options.metrics or ():
        found = near[metric]
        yield row(f"{metric}_acc", *_accuracy(found, one.special))
        values = (None,) * 3 if found is None else (found.margin, found.relevant.value, found.irrelevant.value)
        for part, value in zip(("diff", "relevant", "irrelevant"), values, strict=True):
            yield row(f"{metric}_{part}", value, one.special or "scored")
        if metric in REFERENCE_METRICS:
            yield row(f"{metric}_acc_reference", *_accuracy(near[REFERENCE_METRICS[metric]], one.special))
    for metric, holds in ((LANGUAGE, one.other_language), (REFUSED, one.refused), (EMPTY, one.empty)):
        yield row(metric, *_share(one, holds))


def _accuracy(found: Closeness | None, special: Outcome | None) -> tuple[float | None, Outcome]:
    if found is None:
        return None, "failed"
    value, outcome = accuracy(found.margin)
    return value, special or outcome


def _share(one: _Given, holds: bool | None) -> tuple[float | None, Outcome]:
    """Value and outcome of a yes-or-no property of an answer; ``holds`` None where it cannot be told."""
    if one.text is None:
        return None, "failed"
    if holds is None:
        return None, "empty" if one.empty else "unparsed"
    return float(holds), "scored"


def _answer_row(one: _Given, near: Closeness | None) -> dict[str, Any]:
    response, fields = one.response, one.item.fields
    return {
        "item_id": one.item.id,
        "variant": one.item.variant,
        "culture": one.item.culture,
        "sample": one.sample,
        "text": one.text,
        "finish_reason": response.finish_reason if response else None,
        "language_asked": one.item.language,
        "language_answered": one.found.language,
        "language_confidence": one.found.confidence if one.text is not None else None,
        "other_language": one.other_language,
        "refused": one.refused if one.text is not None else None,
        "empty": one.empty if one.text is not None else None,
        "truncated": response.finish_reason == "length" if response and response.finish_reason else None,
        # An answer without any overlap is close to nothing: naming the first response would mislead.
        "closest_relevant": fields["relevant"][near.relevant.place] if near and near.relevant.value else None,
        "closest_irrelevant": fields["irrelevant"][near.irrelevant.place] if near and near.irrelevant.value else None,
        "error": response.error if response else "no answer was given",
    }


def _case(one: _Given, margin: float) -> dict[str, Any]:
    fields, gloss = one.item.fields, one.item.fields["gloss"]
    return {
        **item_columns(one.item),
        "metric": f"{HEADLINE_METRIC}_acc",
        "margin": margin,
        "prompt": fields["prompt"],
        "prompt_gloss": gloss.get("prompt"),
        "expected": fields["best"],
        "expected_gloss": gloss.get("best"),
        "got": one.text,
    }


def open_task(data: DataSource, selection: Selection, items: Sequence[Item], options: OpenOptions) -> SteppedTask:
    """Return ``kalahi/open``: is a free answer closer to relevant responses than to irrelevant ones?"""
    return SteppedTask(
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
        floors=partial(open_floors, options=options),
        item_table=situation_table,
    )

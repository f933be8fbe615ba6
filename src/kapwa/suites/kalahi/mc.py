"""Judge ``kalahi/mc``: which response does the model find likeliest after the situation?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from kapwa.metrics.likelihood import NORMS, Vector, mc1, mc1_shared, mc2, mc2_reference, mc3, normalised
from kapwa.records import Answer, ContinuationScore, Item, Message, Outcome, Params, Request
from kapwa.suites.base import Judged, MetricInfo
from kapwa.suites.kalahi.data import reference_response
from kapwa.suites.rows import case_frame, score_frame, score_row

_PAPER = "Kalahi §4.2 and appendix F"
_CODE = "the released Kalahi code"
_NORM_WORDS = {"byte": "UTF-8 byte", "char": "character", "token": "token", "sum": ""}


# How the metrics read in a sentence, by the letters and digit they begin with.
_PHRASES = {
    "mc1": "chose the best answer in {value} of {items}",
    "mc2": "gave {value} of its probability to relevant answers, over {items}",
    "mc3": "ranked {value} of the relevant answers above every irrelevant one, over {items}",
}


def _info(name: str, title: str, *, binary: bool = False, reference: bool = False) -> tuple[str, MetricInfo]:
    low, high = (1 / (1 + np.e), np.e / (1 + np.e)) if name == "mc2_reference" else (0.0, 1.0)
    return name, MetricInfo(
        name,
        title,
        float(low),
        float(high),
        binary=binary,
        reference=reference,
        source=_CODE if reference else _PAPER,
        phrase=_PHRASES[name[:3]],
        higher_is_better=True,
    )


def _metric_table() -> dict[str, MetricInfo]:
    rows = []
    for norm in NORMS:
        suffix = "" if norm == "byte" else f"_{norm}"
        per = f"per {_NORM_WORDS[norm]}" if norm != "sum" else "summed"
        rows += [
            _info(f"mc1{suffix}", f"MC1: best beats every irrelevant response ({per})", binary=True),
            _info(f"mc2{suffix}", f"MC2: probability mass on relevant responses ({per})"),
            _info(f"mc3{suffix}", f"MC3: relevant responses that beat every irrelevant one ({per})"),
        ]
    rows += [
        _info("mc1_shared", "MC1 with ties shared (per UTF-8 byte)"),
        _info("mc1_reference", "MC1 as released (closing tokens scored)", binary=True, reference=True),
        _info("mc2_reference", "MC2 as released (exponential taken twice)", reference=True),
        _info("mc3_reference", "MC3 as released (closing tokens scored)", reference=True),
    ]
    return dict(rows)


MC_METRICS: Mapping[str, MetricInfo] = _metric_table()
MC_HEADLINE = ("mc1", "mc2")


def mc_requests(items: Sequence[Item]) -> Iterator[Request]:
    """Yield one scoring request per item: all its responses after its prompt.

    The released loader adds a final period where one is missing; such a twin is scored beside the
    response as written, so that plain and reference values come from one pass.
    """
    for item in items:
        yield Request(
            item_id=item.id,
            variant=item.variant,
            kind="score",
            messages=(Message("user", item.fields["prompt"]),),
            continuations=tuple(dict.fromkeys(_scored_texts(item))),
            params=Params(closing=True),
        )


def _responses(item: Item) -> tuple[str, ...]:
    return (*item.fields["relevant"], *item.fields["irrelevant"])


def _scored_texts(item: Item) -> Iterator[str]:
    yield from _responses(item)
    yield from map(reference_response, _responses(item))


class _Scored(NamedTuple):
    """The responses of one item with their scores; ``plain`` as written, ``reference`` as released."""

    item: Item
    texts: tuple[str, ...]
    plain: list[ContinuationScore]
    reference: list[ContinuationScore]

    @property
    def n_relevant(self) -> int:
        return len(self.item.fields["relevant"])

    @property
    def best(self) -> int:
        return self.texts.index(self.item.fields["best"])


def _scored(item: Item, answer: Answer) -> _Scored:
    assert answer.response.logprobs is not None
    by_text = dict(zip(answer.request.continuations, answer.response.logprobs, strict=True))
    texts = _responses(item)
    return _Scored(item, texts, [by_text[t] for t in texts], [by_text[reference_response(t)] for t in texts])


def judge_mc(items: Sequence[Item], answers: Collection[Answer]) -> Judged:
    """Turn log-probabilities into MC1, MC2 and MC3 rows, a continuation table and the report's cases.

    Items without an answer, or with a failed one, get a null value and the outcome "failed".
    """
    given = {(a.request.item_id, a.request.variant): a for a in answers if not a.response.failed}
    scores: list[dict[str, Any]] = []
    continuations: list[dict[str, Any]] = []
    cases: list[dict[str, Any]] = []
    for item in items:
        answer = given.get((item.id, item.variant))
        if answer is None:
            scores += [score_row(item, name, None, "failed") for name in MC_METRICS]
            continue
        scored = _scored(item, answer)
        scores += _score_rows(scored)
        continuations += _continuation_rows(scored)
        cases.append(_case(scored))
    return Judged(
        score_frame(scores),
        {
            "continuations": pl.DataFrame(continuations, schema=_CONTINUATION_SCHEMA),
            "cases": case_frame(cases),
        },
    )


def _score_rows(scored: _Scored) -> list[dict[str, Any]]:
    rows = []
    for norm in NORMS:
        suffix = "" if norm == "byte" else f"_{norm}"
        relevant, irrelevant, best = _split(scored, normalised(scored.plain, norm))
        rows.append(_binary_row(scored.item, f"mc1{suffix}", *mc1(best, irrelevant)))
        rows.append(score_row(scored.item, f"mc2{suffix}", mc2(relevant, irrelevant), "scored"))
        rows.append(score_row(scored.item, f"mc3{suffix}", mc3(relevant, irrelevant), "scored"))
        if norm == "byte":
            rows.append(score_row(scored.item, "mc1_shared", mc1_shared(best, irrelevant), "scored"))
    return rows + _reference_rows(scored)


def _reference_rows(scored: _Scored) -> list[dict[str, Any]]:
    """Rows of the released code's values; none when the model could not score the closing tokens."""
    sums = [s.logprob_sum_reference for s in scored.reference]
    if None in sums:
        return []
    # The closing tokens count in the sum, the text's bytes alone in the divisor: as the released code has it.
    values = np.array(sums, dtype=np.float64) / np.array([s.n_bytes for s in scored.reference])
    relevant, irrelevant, best = _split(scored, values)
    return [
        _binary_row(scored.item, "mc1_reference", *mc1(best, irrelevant)),
        score_row(scored.item, "mc2_reference", mc2_reference(relevant, irrelevant), "scored"),
        score_row(scored.item, "mc3_reference", mc3(relevant, irrelevant), "scored"),
    ]


def _split(scored: _Scored, values: Vector) -> tuple[Vector, Vector, float]:
    return values[: scored.n_relevant], values[scored.n_relevant :], float(values[scored.best])


def _binary_row(item: Item, metric: str, value: float, tied: bool) -> dict[str, Any]:
    outcome: Outcome = "tie" if tied else "right" if value else "wrong"
    return score_row(item, metric, value, outcome)


def _continuation_rows(scored: _Scored) -> Iterator[dict[str, Any]]:
    for i, text in enumerate(scored.texts):
        plain, reference = scored.plain[i], scored.reference[i]
        group = "best" if i == scored.best else "relevant" if i < scored.n_relevant else "irrelevant"
        yield {
            "item_id": scored.item.id,
            "variant": scored.item.variant,
            "culture": scored.item.culture,
            "index": i,
            "group": group,
            "text": text,
            "logprob_sum": plain.logprob_sum,
            "logprob_sum_reference": reference.logprob_sum_reference,
            "n_tokens": plain.n_tokens,
            "n_bytes": plain.n_bytes,
            "n_chars": plain.n_chars,
            "n_bytes_reference": reference.n_bytes,
            "boundary": plain.boundary,
        }


def _case(scored: _Scored) -> dict[str, Any]:
    """What the model preferred among best and irrelevant responses, for the report's list of failures."""
    item, values = scored.item, normalised(scored.plain, "byte")
    _, irrelevant, best = _split(scored, values)
    rival = int(irrelevant.argmax())
    margin = best - float(irrelevant[rival])
    gloss = item.fields["gloss"]
    rival_gloss = dict(enumerate(gloss.get("irrelevant", ()))).get(rival)
    return {
        "item_id": item.id,
        "variant": item.variant,
        "culture": item.culture,
        "metric": "mc1",
        "margin": margin,
        "prompt": item.fields["prompt"],
        "prompt_gloss": gloss.get("prompt"),
        "expected": item.fields["best"],
        "expected_gloss": gloss.get("best"),
        "got": item.fields["best"] if margin > 0 else item.fields["irrelevant"][rival],
        "got_gloss": gloss.get("best") if margin > 0 else rival_gloss,
    }


_CONTINUATION_SCHEMA: dict[str, Any] = {
    "item_id": pl.String,
    "variant": pl.String,
    "culture": pl.String,
    "index": pl.Int64,
    "group": pl.String,
    "text": pl.String,
    "logprob_sum": pl.Float64,
    "logprob_sum_reference": pl.Float64,
    "n_tokens": pl.Int64,
    "n_bytes": pl.Int64,
    "n_chars": pl.Int64,
    "n_bytes_reference": pl.Int64,
    "boundary": pl.String,
}

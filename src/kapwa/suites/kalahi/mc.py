"""Judge ``kalahi/mc``: which response does the model find likeliest after the situation?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from kapwa.metrics.likelihood import NORMS, Vector, mc1, mc2, mc2_reference, mc3, normalised
from kapwa.records import Answer, Capability, ContinuationScore, Item, Message, Params, Request
from kapwa.suites.base import Judged, MetricInfo, metrics_of
from kapwa.suites.items import case_frame, case_row, score_frame, score_row
from kapwa.suites.kalahi.floors import floors
from kapwa.suites.kalahi.form import SituationTask, reference_response

# The ends of metrics' names, by what they divide log-probabilities by.
_SUFFIXES = {norm: "" if norm == "byte" else f"_{norm}" for norm in NORMS}
MC_METRICS = metrics_of("kalahi/mc")
MC_HEADLINE = ("mc1", "mc2")


def mc_requests(items: Sequence[Item]) -> Iterator[Request]:
    """Yield one scoring request per item: all its responses after its prompt.

    The released loader adds a final period where one is missing; such a twin is scored beside the
    response as written, so that plain and reference values come from one pass.
    """
    for item in items:
        texts = (*item.fields["relevant"], *item.fields["irrelevant"])
        yield Request(
            item_id=item.id,
            variant=item.variant,
            kind="score",
            messages=(Message("user", item.fields["prompt"]),),
            continuations=tuple(dict.fromkeys((*texts, *map(reference_response, texts)))),
            params=Params(closing=True),
        )


class _Scored(NamedTuple):
    """The responses of one item with their scores; ``plain`` as written, ``reference`` as released.

    The first ``n_relevant`` of ``texts`` are relevant; ``best`` is the place of the best one.
    """

    item: Item
    texts: tuple[str, ...]
    plain: list[ContinuationScore]
    reference: list[ContinuationScore]
    n_relevant: int
    best: int

    def split(self, values: Vector) -> tuple[Vector, Vector, float]:
        """Split values beside ``texts`` into those of relevant and irrelevant responses, and that of the best."""
        return values[: self.n_relevant], values[self.n_relevant :], float(values[self.best])


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
        assert answer.response.logprobs is not None
        by_text = dict(zip(answer.request.continuations, answer.response.logprobs, strict=True))
        relevant = item.fields["relevant"]
        texts = (*relevant, *item.fields["irrelevant"])
        reference = [by_text[reference_response(text)] for text in texts]
        best = texts.index(item.fields["best"])
        scored = _Scored(item, texts, [by_text[text] for text in texts], reference, len(relevant), best)
        scores += _score_rows(scored)
        continuations += _continuation_rows(scored)
        cases.append(_case(scored))
    return Judged(
        score_frame(scores),
        {"continuations": pl.DataFrame(continuations, schema=_CONTINUATION_SCHEMA), "cases": case_frame(cases)},
    )


def _score_rows(scored: _Scored) -> Iterator[dict[str, Any]]:
    item = scored.item
    values = {suffix: normalised(scored.plain, norm) for norm, suffix in _SUFFIXES.items()}
    sums = [one.logprob_sum_reference for one in scored.reference]
    if None not in sums:  # else the model could not score the closing tokens
        # They count in the sum, the text's bytes alone in the divisor: as the released code has it.
        n_bytes = np.array([one.n_bytes for one in scored.reference])
        values["_reference"] = np.array(sums, dtype=np.float64) / n_bytes
    for suffix, of_texts in values.items():
        relevant, irrelevant, best = scored.split(of_texts)
        value, shared = mc1(best, irrelevant)
        yield score_row(item, f"mc1{suffix}", value, "right" if value else "tie" if shared else "wrong")
        mass = mc2_reference if suffix == "_reference" else mc2
        yield score_row(item, f"mc2{suffix}", mass(relevant, irrelevant), "scored")
        yield score_row(item, f"mc3{suffix}", mc3(relevant, irrelevant), "scored")
        if not suffix:
            yield score_row(item, "mc1_shared", shared, "scored")


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
    _, irrelevant, best = scored.split(values)
    rival = int(irrelevant.argmax())
    margin = best - float(irrelevant[rival])
    gloss = item.fields["gloss"]
    rival_gloss = dict(enumerate(gloss.get("irrelevant", ()))).get(rival)
    return case_row(
        item,
        "mc1",
        margin,
        prompt=item.fields["prompt"],
        prompt_gloss=gloss.get("prompt"),
        expected=item.fields["best"],
        expected_gloss=gloss.get("best"),
        got=item.fields["best"] if margin > 0 else item.fields["irrelevant"][rival],
        got_gloss=gloss.get("best") if margin > 0 else rival_gloss,
    )


_CONTINUATION_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("item_id", "variant", "culture"), pl.String),
    "index": pl.Int64,
    **dict.fromkeys(("group", "text"), pl.String),
    **dict.fromkeys(("logprob_sum", "logprob_sum_reference"), pl.Float64),
    **dict.fromkeys(("n_tokens", "n_bytes", "n_chars", "n_bytes_reference"), pl.Int64),
    "boundary": pl.String,
}


@dataclass(frozen=True, slots=True)
class ChoiceTask(SituationTask):
    """``kalahi/mc``: is the best response the likeliest? (Kalahi section 4.2, multiple choice)."""

    name: ClassVar[str] = "kalahi/mc"
    needs: ClassVar[frozenset[Capability]] = frozenset({"score"})
    headline: ClassVar[tuple[str, ...]] = MC_HEADLINE
    metrics: ClassVar[Mapping[str, MetricInfo]] = MC_METRICS
    # Nothing can be set: every normalisation comes from one pass.
    options: ClassVar[Mapping[str, Any]] = {}
    requests = staticmethod(mc_requests)
    score = staticmethod(judge_mc)
    floors = staticmethod(floors)

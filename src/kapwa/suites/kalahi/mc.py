"""Judge ``kalahi/mc``: which response does the model find likeliest after the situation?

Beside it what takes no cultural knowledge (chance, and tricks such as "choose the longest") and what people score.
Length is counted in characters (Unicode code points) and must be strictly greater (or smaller) than that of
every irrelevant response: these rules give the published facts of the released full prompts exactly
(longest 0.413333, shortest 0.113333; bytes give the same, for those texts are ASCII; words do not).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
import polars as pl

from kapwa.files import table_rows
from kapwa.metrics.likelihood import NORMS, mc1, mc2, mc2_reference, mc3, normalised
from kapwa.records import Answer, ContinuationScore, Floor, Item, Message, Params, Request
from kapwa.suites.base import Judged, Task, metrics_of
from kapwa.suites.items import CASE_SCHEMA, by_culture, item_columns, score_frame, score_row, unknown_item
from kapwa.suites.kalahi.form import GROUPS, reference_response, situation_case, situation_table
from kapwa.suites.kalahi.variants import VARIANTS
from kapwa.value_types import Cells, Schema

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


class _ScoredResponses(NamedTuple):
    """The responses of one item with their scores; ``plain`` as written, ``reference`` as released.

    The first ``n`` are relevant; ``best`` is the place of the best one.
    """

    item: Item
    plain: list[ContinuationScore]
    reference: list[ContinuationScore]
    n: int
    best: int


def judge_mc(items: Sequence[Item], answers: Collection[Answer]) -> Judged:
    """Turn log-probabilities into MC1, MC2 and MC3 rows, a continuation table and the report's cases.

    Items without an answer, or with a failed one, get a null value and the outcome "failed". Raises UsageError for an
    answer to an item that is not judged.
    """
    judged = {(item.id, item.variant) for item in items}
    answer_of: dict[tuple[str, str], Answer] = {}
    for answer in answers:
        key = answer.request.item_id, answer.request.variant
        if key not in judged:
            raise unknown_item(answer.request)
        if not answer.response.unanswered:
            answer_of[key] = answer
    scores: list[Cells] = []
    continuations: list[Cells] = []
    cases: list[Cells] = []
    for item in items:
        answered = answer_of.get((item.id, item.variant))
        if answered is None:
            scores += [score_row(item, name, None, "failed") for name in MC_METRICS]
            continue
        assert answered.response.logprobs is not None
        by_text = dict(zip(answered.request.continuations, answered.response.logprobs, strict=True))
        relevant = item.fields["relevant"]
        texts = (*relevant, *item.fields["irrelevant"])
        reference = [by_text[reference_response(text)] for text in texts]
        best = texts.index(item.fields["best"])
        scored = _ScoredResponses(item, [by_text[text] for text in texts], reference, len(relevant), best)
        scores += _score_rows(scored)
        continuations += [
            {
                **item_columns(item),
                "index": i,
                "group": "best" if i == best else "relevant" if i < len(relevant) else "irrelevant",
                "text": text,
                **{name: getattr(by_text[text], name) for name in _MEASURED},
                "logprob_sum_reference": released.logprob_sum_reference,
                "n_bytes_reference": released.n_bytes,
            }
            for i, (text, released) in enumerate(zip(texts, reference, strict=True))
        ]
        cases.append(_case(scored))
    tables = {
        "continuations": pl.DataFrame(continuations, schema=_CONTINUATION_SCHEMA),
        "cases": pl.DataFrame(cases, schema=CASE_SCHEMA),
    }
    return Judged(score_frame(scores), tables)


def _score_rows(scored: _ScoredResponses) -> Iterator[Cells]:
    item = scored.item
    values = {suffix: normalised(scored.plain, norm) for norm, suffix in _SUFFIXES.items()}
    sums = [score.logprob_sum_reference for score in scored.reference]
    if None not in sums:  # else the model could not score the closing tokens
        # They count in the sum, the text's bytes alone in the divisor: as the released code has it.
        n_bytes = np.array([score.n_bytes for score in scored.reference])
        values["_reference"] = np.array(sums, dtype=np.float64) / n_bytes
    for suffix, of_texts in values.items():
        relevant, irrelevant = of_texts[: scored.n], of_texts[scored.n :]
        value, shared = mc1(float(of_texts[scored.best]), irrelevant)
        yield score_row(item, f"mc1{suffix}", value, "right" if value else "tie" if shared else "wrong")
        mass = mc2_reference if suffix == "_reference" else mc2
        yield score_row(item, f"mc2{suffix}", mass(relevant, irrelevant), "scored")
        yield score_row(item, f"mc3{suffix}", mc3(relevant, irrelevant), "scored")
        if not suffix:
            yield score_row(item, "mc1_shared", shared, "scored")


def _case(scored: _ScoredResponses) -> Cells:
    """What the model preferred among best and irrelevant responses, for the report's list of failures."""
    item, values = scored.item, normalised(scored.plain, "byte")
    irrelevant = values[scored.n :]
    rival = int(irrelevant.argmax())
    margin = float(values[scored.best]) - float(irrelevant[rival])
    if margin > 0:
        return situation_case(item, "mc1", margin, item.fields["best"], item.fields["gloss"].get("best"))
    gloss = dict(enumerate(item.fields["gloss"].get("irrelevant", ()))).get(rival)
    return situation_case(item, "mc1", margin, item.fields["irrelevant"][rival], gloss)


_MEASURED = ("logprob_sum", "n_tokens", "n_bytes", "n_chars", "boundary")
_CONTINUATION_SCHEMA: Schema = {
    **dict.fromkeys(("item_id", "variant", "culture"), pl.String),
    "index": pl.Int64,
    **dict.fromkeys(("group", "text"), pl.String),
    **dict.fromkeys(("logprob_sum", "logprob_sum_reference"), pl.Float64),
    **dict.fromkeys(("n_tokens", "n_bytes", "n_chars", "n_bytes_reference"), pl.Int64),
    "boundary": pl.String,
}


# --- what takes no cultural knowledge -----------------------------------------------------------------------

_FLOOR_METRICS = (
    "mc1_shared",
    *(f"{family}{suffix}" for family in ("mc1", "mc2", "mc3") for suffix in (*_SUFFIXES.values(), "_reference")),
)
# People were asked the released full prompts, to choose among the best and the irrelevant responses. The implied share
# is (111 · 3 + 31 · 2 + 8) / 450.
_PEOPLE_ANSWERED = 150
# Interval: Wilson's over prompts as for any score, the 3 choices of a prompt being as alike as the published table of
# 111, 31 and 8 prompts shows (an effective size of 392 choices). It is about other prompts, not other people.
_PEOPLE = table_rows(Path(__file__).with_name("people.csv"))


def chance_mc1(item: Item) -> float:
    """MC1 of a blind choice among the best and the irrelevant responses: 1 / (1 + irrelevant)."""
    return 1.0 / (1 + len(item.fields["irrelevant"]))


def by_length(item: Item, sign: int, family: str = "mc1") -> float:
    """Return what choosing the longest (``sign`` 1) or the shortest (-1) response scores.

    MC3 is the share of relevant responses ahead of every irrelevant one; in ``mc1_shared`` ties are split evenly.
    """
    lengths = [sign * len(response) for response in item.fields["irrelevant"]]
    if family == "mc3":
        return fmean(sign * len(response) > max(lengths) for response in item.fields["relevant"])
    best = sign * len(item.fields["best"])
    if family == "mc1_shared" and best >= max(lengths):
        return 1.0 / (1 + lengths.count(best))
    return float(best > max(lengths))


def first_is_best(item: Item) -> bool:
    """Whether the best response comes first of the best and the irrelevant ones, in the order of a hash.

    The hash is of item and response, so the order is the same on every machine, and for every variant.
    """
    responses = (item.fields["best"], *item.fields["irrelevant"])
    hashes = [hashlib.blake2b(f"0\0{item.id}\0{text}".encode(), digest_size=16).digest() for text in responses]
    return hashes[0] == min(hashes)


def _tricks(metric: str) -> Mapping[str, Callable[[Item], float]]:
    """Return what takes no cultural knowledge, by name, with what it scores on an item by ``metric``."""
    if metric.startswith("mc2"):
        # MC2 of a model without preference: the share of the responses that are relevant.
        return {
            "no preference": lambda item: (
                len(item.fields["relevant"]) / len((*item.fields["relevant"], *item.fields["irrelevant"]))
            )
        }
    family = "mc1_shared" if metric == "mc1_shared" else metric[:3]
    tricks: dict[str, Callable[[Item], float]] = {
        # Every relevant response comes first among itself and the irrelevant ones as often as the best does.
        "chance": chance_mc1,
        "longest": partial(by_length, sign=1, family=family),
        "shortest": partial(by_length, sign=-1, family=family),
    }
    return tricks if family == "mc3" else {**tricks, "first position": first_is_best}


def floors(items: Sequence[Item]) -> list[Floor]:
    """Return the floors of every metric and variant present, and the ceiling where people's score is known.

    Over all items ``note`` is ""; where there are several cultures, each has its own floors too, with its name
    as ``note``. Values are means over items, in [0, 1]. The ceilings (kind "ceiling") are those of the released
    Filipino full prompts and are given for MC1 only when items are exactly those: people's share of 150 prompts says
    nothing of seven of them.
    """
    rows: list[Floor] = []
    for variant in VARIANTS:
        present = [item for item in items if item.variant == variant]
        for culture, group in by_culture(present).items():
            for metric in _FLOOR_METRICS:
                for name, trick in _tricks(metric).items():
                    each = [float(trick(item)) for item in group]
                    # Guessing is known; what another trick scores depends, as a model's score does, on the items asked.
                    by_item = None if name in ("chance", "no preference") else each
                    rows.append(Floor(metric, variant, name, fmean(each), note=culture, by_item=by_item))
        if variant == "full" and sum("release" in item.fields for item in present) == len(present) == _PEOPLE_ANSWERED:
            rows += [
                Floor(
                    metric=metric,
                    variant=variant,
                    name=name,
                    value=float(value),
                    kind="ceiling",
                    note=source,
                    low=float(low),
                    high=float(high),
                )
                for metric in _FLOOR_METRICS
                if metric.startswith("mc1")
                for name, value, source, low, high in map(dict.values, _PEOPLE)
            ]
    return rows


# Nothing can be set: every normalisation comes from one pass. To be given: data, selection and the selected items.
mc_task = partial(
    Task,
    name="kalahi/mc",
    needs=frozenset({"score"}),
    headline=MC_HEADLINE,
    groups=GROUPS,
    metrics=MC_METRICS,
    options={},
    requests=mc_requests,
    score=judge_mc,
    floors=floors,
    item_table=situation_table,
)

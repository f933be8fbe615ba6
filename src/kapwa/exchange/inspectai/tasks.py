"""Kapwa's tasks as Inspect's: ``inspect eval kapwa/blend_saq -T country=Mexico --model …``.

A sample is one item in one variant. Its input is Kapwa's prompt, its metadata say whose it is, and what generation is
asked for is what Kapwa's requests say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, GenerateConfig
from inspect_ai.model._model import active_model
from inspect_ai.scorer import Scorer

from kapwa.errors import UsageError, nearest
from kapwa.exchange.inspectai import scorers
from kapwa.exchange.inspectai.opened import METADATA, OpenedTask, open_new, plainly
from kapwa.exchange.inspectai.solver import ask, check_scores
from kapwa.exchange.terms import TARGETS
from kapwa.models.inspect import chat
from kapwa.records import Item, Request

Names = str | Sequence[str] | None
Where = dict[str, Any] | None


@task
def kalahi_mc(
    *,
    data: str | None = None,
    variant: Names = None,
    limit: int | None = None,
    where: Where = None,
    country: Names = None,
    **unknown: Any,
) -> Task:
    """Multiple choice by likelihood: is the best response the likeliest? For kapwa/… models alone."""
    chosen = {"data": data, "variant": variant, "limit": limit, "where": where, "country": country}
    return _task("kalahi/mc", chosen, scorers.kalahi_mc(), unknown)


@task
def kalahi_open(  # noqa: PLR0913 - Inspect takes its -T options from the parameters
    *,
    data: str | None = None,
    variant: Names = None,
    limit: int | None = None,
    where: Where = None,
    country: Names = None,
    metrics: Names = None,
    bertscore_model: str | None = None,
    bleurt_model: str | None = None,
    max_new_tokens: int | None = None,
    **unknown: Any,
) -> Task:
    """Open generation: is the answer closer to relevant than to irrelevant responses?"""
    chosen = {"data": data, "variant": variant, "limit": limit, "where": where, "country": country}
    named = [metrics] if isinstance(metrics, str) else metrics
    own = {"metrics": named, "bertscore_model": bertscore_model, "bleurt_model": bleurt_model}
    return _task("kalahi/open", {**chosen, **own, "max_new_tokens": max_new_tokens}, scorers.kalahi_open(), unknown)


@task
def blend_saq(  # noqa: PLR0913 - Inspect takes its -T options from the parameters
    *,
    data: str | None = None,
    variant: Names = None,
    limit: int | None = None,
    where: Where = None,
    country: Names = None,
    language: Names = None,
    prompt: Names = None,
    max_answers: int | None = None,
    max_new_tokens: int | None = None,
    **unknown: Any,
) -> Task:
    """Short answers: does the reply give an answer that people there gave?"""
    chosen = {"data": data, "variant": variant, "limit": limit, "where": where, "country": country}
    asked = {"language": language, "prompt": prompt}
    own = {"max_answers": max_answers, "max_new_tokens": max_new_tokens}
    return _task("blend/saq", {**chosen, **asked, **own}, scorers.blend_saq(), unknown)


@task
def blend_mcq(
    *,
    data: str | None = None,
    limit: int | None = None,
    where: Where = None,
    country: Names = None,
    how: str | None = None,
    max_new_tokens: int | None = None,
    **unknown: Any,
) -> Task:
    """Which of four countries' answers is this one's? By the letter written (how=generate) or by likelihood."""
    chosen = {"data": data, "limit": limit, "where": where, "country": country}
    return _task("blend/mcq", {**chosen, "how": how, "max_new_tokens": max_new_tokens}, scorers.blend_mcq(), unknown)


@task
def eecc_qa(  # noqa: PLR0913 - Inspect takes its -T options from the parameters
    *,
    data: str | None = None,
    variant: Names = None,
    limit: int | None = None,
    concepts: Names = None,
    nationalities: Names = None,
    samples: int | None = None,
    temperature: float | None = None,
    seed: int | None = None,
    max_new_tokens: int | None = None,
    **unknown: Any,
) -> Task:
    """Explanations of a concept for readers of several nationalities, several texts each."""
    chosen = {"data": data, "variant": variant, "limit": limit, "concepts": concepts, "nationalities": nationalities}
    own = {"samples": samples, "temperature": temperature, "seed": seed, "max_new_tokens": max_new_tokens}
    return _task("eecc/qa", {**chosen, **own}, scorers.eecc_qa(), unknown)


@task
def eecc_stories(  # noqa: PLR0913 - Inspect takes its -T options from the parameters
    *,
    data: str | None = None,
    variant: Names = None,
    limit: int | None = None,
    concepts: Names = None,
    nationalities: Names = None,
    samples: int | None = None,
    temperature: float | None = None,
    seed: int | None = None,
    max_new_tokens: int | None = None,
    **unknown: Any,
) -> Task:
    """Stories about a concept for readers of several nationalities, several texts each."""
    chosen = {"data": data, "variant": variant, "limit": limit, "concepts": concepts, "nationalities": nationalities}
    own = {"samples": samples, "temperature": temperature, "seed": seed, "max_new_tokens": max_new_tokens}
    return _task("eecc/stories", {**chosen, **own}, scorers.eecc_stories(), unknown)


def _task(name: str, arguments: dict[str, Any], scorer: Scorer, unknown: dict[str, Any]) -> Task:
    with plainly():
        for option in unknown:
            raise UsageError(f"{name} has no option {option!r} here.", hint=nearest(option, arguments))
        opened = open_new(name, arguments)
        if not opened.items:
            raise UsageError(f"{name} has no items to ask about.", hint="Loosen where or variant.")
        model = active_model()
        if model is not None and "score" in opened.task.needs:
            check_scores(model, name)  # as soon as it can be known, rather than at the first sample
    own = opened.task
    rows = own.item_table(list(opened.items.values())).to_dicts()
    samples = [_sample(opened, item, row) for item, row in zip(opened.items.values(), rows, strict=True)]
    about = {"name": own.data.name, "digest": own.data.digest, "illustrative": own.data.illustrative}
    return Task(
        dataset=MemoryDataset(samples, name=own.name),
        solver=ask(),
        scorer=scorer,
        config=_config(opened),
        metadata={METADATA: {"task": own.name, "options": dict(own.options), "data": about}},
    )


def _config(opened: OpenedTask) -> GenerateConfig:
    """Return what Kapwa's requests ask for; the same for all of a task, but for the seed of each sample."""
    item = next(iter(opened.items.values()), None)
    asked = [request for request in (opened.requests(item) if item else []) if request.kind == "generate"]
    return request_config(asked[0]) if asked else GenerateConfig()


def request_config(request: Request) -> GenerateConfig:
    """Return a request's settings as Inspect's, without its seed."""
    params = request.params
    return GenerateConfig(
        max_tokens=params.max_new_tokens,
        temperature=params.temperature,
        top_p=params.top_p,
        stop_seqs=list(params.stop) or None,
    )


def _sample(opened: OpenedTask, item: Item, row: dict[str, Any]) -> Sample:
    request = opened.requests(item)[0]
    messages: list[ChatMessage] = chat(request.messages)
    target = next((row[name] for name in TARGETS if row.get(name)), "")
    names = ("item_id", "variant", "culture", "language", "category", "topic", "cluster")
    # No choices: Inspect's viewer would show them as part of what the model was asked.
    return Sample(
        id=f"{item.id}/{item.variant}",
        input=messages,
        target=[str(part) for part in target] if isinstance(target, list) else str(target),
        metadata={**{name: row[name] for name in names}, METADATA: opened.place(item)},
    )

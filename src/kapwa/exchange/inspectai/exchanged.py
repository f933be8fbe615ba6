"""Answers on their way through Inspect's outputs, and so through its logs: put in, and taken out again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kapwa.errors import DataError
from kapwa.exchange.inspectai.opened import METADATA
from kapwa.models.inspect import responses_of
from kapwa.records import Answer, ContinuationScore, Request, Response

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

_FIELDS = ("logprob_sum", "n_tokens", "n_bytes", "n_chars", "boundary", "logprob_sum_reference")
# Inspect's words for why a text ended.
REASONS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter", "refusal": "content_filter"}


def output_of(model: str, request: Request, response: Response) -> ModelOutput:
    """Return Kapwa's response as Inspect's output; log-probabilities go into its metadata, the likeliest into its text.

    Raises RuntimeError for a response that is an error: Inspect records it as the sample's.
    """
    from inspect_ai.model import ContentText, ModelOutput, ModelUsage

    if response.error is not None:
        raise RuntimeError(response.error)
    scored = response.logprobs is not None
    text = _likeliest(request, response) if scored else response.text or ""
    content: Any = [ContentText(text=text, refusal=True)] if response.finish_reason == "refusal" else text
    reason: Any = "stop" if scored else REASONS.get(response.finish_reason or "", "unknown")
    output = ModelOutput.from_content(model, content, stop_reason=reason)
    if scored:
        output.metadata = {METADATA: {"scores": [_plain(request, response)]}}
    if response.usage is not None:
        read, written = response.usage.prompt_tokens, response.usage.completion_tokens
        output.usage = ModelUsage(input_tokens=read, output_tokens=written, total_tokens=read + written)
    return output


def joined(outputs: Sequence[ModelOutput]) -> ModelOutput:
    """Return one output that holds the answers of several, in their order."""
    first, *others = outputs
    if not others:
        return first
    whole = first.model_copy()
    whole.choices = [choice for output in outputs for choice in output.choices[:1]]
    usages = [output.usage for output in outputs if output.usage is not None]
    for usage in usages[1:]:
        usages[0] = usages[0] + usage
    whole.usage = usages[0] if usages else None
    scores = [score for output in outputs for score in _kept(output)]
    whole.metadata = {METADATA: {"scores": scores}} if scores else first.metadata
    return whole


def answers_of(requests: Sequence[Request], output: ModelOutput | None) -> list[Answer]:
    """Return the answers that ``output`` holds to ``requests``: a text for each, or log-probabilities.

    Raises DataError for log-probabilities that are not those of the continuations asked for.
    """
    if output is None:
        return []
    if requests[0].kind == "generate":
        return list(map(Answer, requests, responses_of(requests, output)))
    return [Answer(request, _scored(request, kept)) for request, kept in zip(requests, _kept(output), strict=False)]


def _kept(output: ModelOutput) -> list[Mapping[str, Any]]:
    own = (output.metadata or {}).get(METADATA)
    return list(own.get("scores", ())) if isinstance(own, Mapping) else []


def _plain(request: Request, response: Response) -> dict[str, Any]:
    rows = [{name: getattr(score, name) for name in _FIELDS} for score in response.logprobs or ()]
    return {"continuations": list(request.continuations), "logprobs": rows}


def _scored(request: Request, kept: Mapping[str, Any]) -> Response:
    if list(kept.get("continuations", ())) != list(request.continuations):
        raise DataError(
            f"the log-probabilities kept for {request.item_id!r} are of other continuations than the item's.",
            hint="Score with the data that the log was made from.",
        )
    scores = tuple(ContinuationScore(**{name: row[name] for name in _FIELDS}) for row in kept["logprobs"])
    return Response(request.key, logprobs=scores)


def _likeliest(request: Request, response: Response) -> str:
    """The continuation with the highest log-probability per byte: for people who look at a log."""
    scores = response.logprobs or ()
    best = max(range(len(scores)), key=lambda i: scores[i].logprob_sum / max(1, scores[i].n_bytes))
    return request.continuations[best]

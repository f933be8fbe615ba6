"""Kapwa's requests as lm-eval's arguments, and lm-eval's results as Kapwa's responses; lm-eval itself is not needed.

The task inside lm-eval judges by this, and so does an import of what lm-eval wrote: there is one way to read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kapwa.errors import ModelError
from kapwa.records import ContinuationScore, Params, Request, Response
from kapwa.suites import base

Loglikelihood = tuple[float, bool]


def can_be_had(metric: str, task: base.Task) -> bool:
    """Whether lm-eval's likelihoods give the metric: not per token, nor with closing tokens."""
    return "score" not in task.needs or not metric.endswith(("_token", "_reference"))


def generation_settings(params: Params) -> dict[str, Any]:
    """Return lm-eval's settings for a text that Kapwa asks for."""
    # No stop texts: lm-eval adds the model's own end token, which is where Kapwa's replies end.
    return {"until": [], "do_sample": False, "max_gen_toks": params.max_new_tokens}


def likelihood_arguments(prompt: str, continuations: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs to score: each continuation after the prompt, then the white space that ends the prompt.

    A prompt that does not end in white space has no such last pair.
    """
    bare = prompt.rstrip()
    space = prompt[len(bare) :]
    pairs = [(prompt, text) for text in continuations]
    return [*pairs, (bare, space)] if bare and space else pairs


def continuation_sums(results: Sequence[Loglikelihood], n: int) -> list[float]:
    """Return the log-probabilities of ``n`` continuations; a further result is that of the white space before them.

    lm-eval scores that white space with each continuation, Kapwa with none.
    """
    space = results[n][0] if len(results) > n else 0.0
    return [float(value) - float(space) for value, _ in results[:n]]


def responses_of(requests: Sequence[Request], results: Sequence[Any]) -> list[Response]:
    """Return the responses to the requests about one item: ``results`` are texts, or what each pair's likelihood is.

    Raises ModelError for a number of likelihoods that cannot be theirs.
    """
    if requests[0].kind == "generate":
        return [Response(request.key, text=text) for request, text in zip(requests, results, strict=True)]
    asked = sum(len(request.continuations) for request in requests)
    spaces = len(results) - asked
    if spaces not in (0, len(requests)):
        raise ModelError(
            f"{len(results)} likelihoods came back for {asked} continuations.",
            hint="The chat template ends some prompts in white space and others not; this cannot be scored.",
        )
    responses, place = [], 0
    for request in requests:
        n = len(request.continuations)
        width = n + (1 if spaces else 0)
        sums = continuation_sums(results[place : place + width], n)
        scores = tuple(map(_score, request.continuations, sums))
        responses.append(Response(request.key, logprobs=scores))
        place += width
    return responses


def _score(text: str, logprob: float) -> ContinuationScore:
    # lm-eval tells no token count; what is divided by it is not reported (can_be_had).
    return ContinuationScore(logprob, n_tokens=1, n_bytes=len(text.encode()), n_chars=len(text))

"""Scoring over HTTP: only where a server proves that it returns the log-probability of every prompt token.

Three ways are known, tried in this order:

- ``prompt_logprobs`` of vLLM's ``/v1/completions``: one entry a prompt token, each naming its token id;
- SGLang's ``/generate`` with ``logprob_start_len``: (log-probability, token id, text) from there on;
- ``echo`` with ``logprobs`` of the older OpenAI completions: token strings, plain template only.

llama.cpp's server accepts ``echo`` and ignores it, which the probe notices and reports.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kapwa.models.served_chat import plain_prompt
from kapwa.models.served_client import Client
from kapwa.models.served_fault import CallError
from kapwa.models.served_tokens import ServerTokenizer, echoed, sglang_logprobs, vllm_logprobs
from kapwa.records import Boundary, ContinuationScore, Message, Request

# More than one script, so that a server that counts characters or bytes instead of tokens is found out.
PROBE = "Magandang umaga, ñandú 谢谢 สวัสดี"
TokenLogprobs = Callable[[Client, str, Sequence[int], int], Awaitable[tuple[float, ...]]]
WAYS: tuple[tuple[str, TokenLogprobs], ...] = (
    ("vLLM prompt_logprobs", vllm_logprobs),
    ("SGLang /generate", sglang_logprobs),
)


@dataclass(frozen=True, slots=True)
class TokenScorer:
    """Scores by token ids, so that what was scored is exactly what was counted."""

    client: Client
    model: str
    tokenizer: ServerTokenizer
    method: str
    logprobs: TokenLogprobs
    plain: bool

    async def score(self, request: Request) -> tuple[ContinuationScore, ...]:
        """Score every continuation of a request; raise CallError where one cannot be scored."""
        if self.plain:
            text = plain_prompt(request.messages)
            prompt = await self.tokenizer.encode(text, special=True)
        else:
            text, prompt = await self.tokenizer.rendered(request.messages)
        return tuple([await self._one(request, i, text, prompt) for i in range(len(request.continuations))])

    async def _one(self, request: Request, i: int, text: str, prompt: tuple[int, ...]) -> ContinuationScore:
        continuation = request.continuations[i]
        joint = await self.tokenizer.encode(text + continuation, special=self.plain)
        start = checked_start(prompt, joint, i)
        reference = None
        if request.params.closing and not self.plain:  # a plain text has no closing tokens that HTTP would tell
            whole = await self.tokenizer.chat(request.messages, continuation)
            if len(whole) <= len(prompt):
                raise CallError(f"the template renders continuation {i + 1} away, so it cannot be scored")
            first = min(start, len(prompt))
            values = await self.logprobs(self.client, self.model, whole, first)
            reference = sum(values[len(prompt) - first :])
            if whole[: len(joint)] == joint:  # one pass holds both numbers
                own = values[start - first : len(joint) - first]
                return continuation_score(continuation, own, start == len(prompt), reference)
        own = await self.logprobs(self.client, self.model, joint, start)
        return continuation_score(continuation, own, start == len(prompt), reference)


@dataclass(frozen=True, slots=True)
class EchoScorer:
    """Scores by echoed token strings; plain template only, because a server takes the text as it is."""

    client: Client
    model: str
    method: str = "completions echo"

    async def score(self, request: Request) -> tuple[ContinuationScore, ...]:
        """Score every continuation of a request; raise CallError where one cannot be scored."""
        text = plain_prompt(request.messages)
        prompt, _ = await echoed(self.client, self.model, text)
        scores = []
        for i, continuation in enumerate(request.continuations):
            joint, values = await echoed(self.client, self.model, text + continuation)
            start = checked_start(prompt, joint, i)
            scores.append(continuation_score(continuation, values[start - 1 :], start == len(prompt), None))
        return tuple(scores)


def checked_start(prompt: Sequence[object], joint: Sequence[object], i: int) -> int:
    """Return the first scored token: where the joint encoding leaves the prompt's. Raise CallError for none."""
    start = 0
    for a, b in zip(prompt, joint, strict=False):
        if a != b:
            break
        start += 1
    if start == len(joint):
        raise CallError(f"continuation {i + 1} adds no token to the prompt, so it has no probability")
    if start == 0:
        raise CallError("the first scored token has no token before it; the server adds no start token")
    return start


def continuation_score(text: str, logprobs: Sequence[float], clean: bool, reference: float | None) -> ContinuationScore:
    """Gather one continuation's sum and counts."""
    boundary: Boundary = "clean" if clean else "merged"
    return ContinuationScore(
        logprob_sum=sum(logprobs),
        n_tokens=len(logprobs),
        n_bytes=len(text.encode("utf-8", "surrogatepass")),
        n_chars=len(text),
        boundary=boundary,
        logprob_sum_reference=reference,
        token_logprobs=tuple(logprobs),
    )


async def find_scorer(
    client: Client, model: str, *, plain: bool, template_arguments: Mapping[str, Any]
) -> tuple[TokenScorer | EchoScorer | None, str]:
    """Probe the server; return a scorer that proved itself, or None and the reasons why there is none."""
    tokenizer = ServerTokenizer(client, model, template_arguments)
    reasons = []
    try:
        ids = await tokenizer.encode(PROBE, special=plain)
        if not plain:
            await tokenizer.rendered([Message("user", PROBE)])
    except CallError as fault:
        reasons.append(f"token ids: {fault.message}")
    else:
        for method, logprobs in WAYS:
            try:
                await logprobs(client, model, ids, 1)
                return TokenScorer(client, model, tokenizer, method, logprobs, plain), ""
            except CallError as fault:
                reasons.append(f"{method}: {fault.message}")
    try:
        await echoed(client, model, PROBE)
    except CallError as fault:
        reasons.append(f"echo: {fault.message}")
    else:
        if plain:
            return EchoScorer(client, model), ""
        reasons.append("echo: works, but only with the plain template (--template plain)")
    return None, "the server does not prove that it returns log-probabilities of a prompt: " + "; ".join(reasons)

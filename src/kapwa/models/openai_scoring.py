"""Scoring over HTTP: only where a server proves that it returns the log-probability of every prompt token.

Three ways are known, tried in this order:

- ``prompt_logprobs`` of vLLM's ``/v1/completions``: one entry a prompt token, each naming its token id;
- SGLang's ``/generate`` with ``logprob_start_len``: (log-probability, token id, text) from there on;
- ``echo`` with ``logprobs`` of the older OpenAI completions: token strings, plain template only.

llama.cpp's server accepts ``echo`` and ignores it, which the probe notices and reports. Replies are read strictly: a
log-probability that is missing, or belongs to another token, is a CallError.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from kapwa.models.encoding import common_prefix, continuation_score
from kapwa.models.openai_chat import plain_prompt
from kapwa.models.openai_client import CallError, Client
from kapwa.models.template_thinking import closing_of
from kapwa.models.thinking import prompt_opens
from kapwa.records import Boundary, ContinuationScore, Message, Request
from kapwa.value_types import Json, JsonMapping, JsonObject

# More than one script, so that a server that counts characters or bytes instead of tokens is found out.
PROBE = "Magandang umaga, ñandú 谢谢 สวัสดี"
# What switches thinking off in the templates that have a switch; others take no notice.
SILENT = {"enable_thinking": False, "thinking": False}
Scorer = Callable[[Request], Awaitable[tuple[ContinuationScore, ...]]]
TokenLogprobs = Callable[[Client, str, Sequence[int], int], Awaitable[tuple[float, ...]]]


@dataclass(frozen=True, slots=True)
class TokenScorer:
    """Scores by token ids, so that what was scored is exactly what was counted.

    The ids come from ``/tokenize`` and ``/detokenize`` as vLLM and SGLang serve them, beside (not under) ``/v1``.
    """

    client: Client
    model: str
    plain: bool
    template_arguments: JsonMapping
    logprobs: TokenLogprobs
    closing: str = ""  # closes, empty, the thought that the prompt opens

    async def score(self, request: Request) -> tuple[ContinuationScore, ...]:
        """Score every continuation of a request; raise CallError where one cannot be scored."""
        text, prompt = await self.rendered(request.messages)
        return tuple([await self._score_text(request, i, text, prompt) for i in range(len(request.continuations))])

    async def _score_text(self, request: Request, i: int, text: str, prompt: tuple[int, ...]) -> ContinuationScore:
        continuation = request.continuations[i]
        joint = await self.encode(text + continuation)
        start, boundary = _first_scored(prompt, joint, i)
        reference = None
        # HTTP does not tell the closing tokens of a plain text, nor of one after a thought that was closed here.
        if request.params.closing and not self.plain and not self.closing:
            whole = await self._chat_ids(request.messages, continuation)
            if len(whole) <= len(prompt):
                raise CallError(f"the template renders continuation {i + 1} away, so it cannot be scored")
            first = min(start, len(prompt))
            values = await self.logprobs(self.client, self.model, whole, first)
            reference = sum(values[len(prompt) - first :])
            if whole[: len(joint)] == joint:  # one pass holds both numbers
                return continuation_score(continuation, values[start - first : len(joint) - first], boundary, reference)
        logprobs = await self.logprobs(self.client, self.model, joint, start)
        return continuation_score(continuation, logprobs, boundary, reference)

    async def rendered(self, messages: Sequence[Message]) -> tuple[str, tuple[int, ...]]:
        """Return the rendered prompt as text and ids; raise CallError unless the one encodes to the other."""
        if self.plain:
            text = plain_prompt(messages)
            return text, await self.encode(text)
        ids = await self._chat_ids(messages)
        body = {"model": self.model, "tokens": list(ids), "skip_special_tokens": False}
        text = await self.client.call(f"{self.client.root}/detokenize", lambda: body, decoded_text)
        if await self.encode(text) != ids:
            raise CallError("its /detokenize and /tokenize are not inverse on the chat-rendered prompt")
        if self.closing:
            text += self.closing
            ids = await self.encode(text)
        return text, ids

    async def without_thought(self) -> tuple[TokenScorer, str]:
        """Return the scorer that leaves out any thought before a given text, and how; "" where there is none.

        Raises CallError where a prompt opens a thought that cannot be closed.
        """
        probe = [Message("user", PROBE)]
        text, ids = await self.rendered(probe)
        if self.plain:
            return self, ""
        silent = replace(self, template_arguments={**SILENT, **self.template_arguments})
        silent_text, silent_ids = await silent.rendered(probe)
        if silent_ids != ids:
            text, words, scorer = silent_text, "off, by the template's switch", silent
        else:
            words, scorer = "", self
        if not prompt_opens(text):
            return scorer, words
        closing = closing_of(text)
        if not closing:
            raise CallError("its chat template opens a thought before every answer, and nothing is known to close it")
        return replace(scorer, closing=closing), "off, an empty thought"

    async def encode(self, text: str) -> tuple[int, ...]:
        """Return the token ids of ``text``; before a plain one the server puts its BOS."""
        return await self._ids({"prompt": text, "add_special_tokens": self.plain})

    async def _chat_ids(self, messages: Sequence[Message], answer: str | None = None) -> tuple[int, ...]:
        """Return the ids of the chat-rendered messages: up to the answer, or with ``answer`` and what closes it."""
        turns = [{"role": message.role, "content": message.content} for message in messages]
        if answer is not None:
            turns.append({"role": "assistant", "content": answer})
        body: JsonObject = {"messages": turns, "add_generation_prompt": answer is None}
        if self.template_arguments:
            body["chat_template_kwargs"] = dict(self.template_arguments)
        return await self._ids(body)

    async def _ids(self, body: Mapping[str, object]) -> tuple[int, ...]:
        return await self.client.call(f"{self.client.root}/tokenize", lambda: {"model": self.model, **body}, token_ids)


async def score_by_echo(client: Client, model: str, request: Request) -> tuple[ContinuationScore, ...]:
    """Score every continuation by echoed token strings: the plain template only, as a server takes text as it is."""
    text = plain_prompt(request.messages)
    prompt, _ = await echoed(client, model, text)
    scores = []
    for i, continuation in enumerate(request.continuations):
        joint, values = await echoed(client, model, text + continuation)
        start, boundary = _first_scored(prompt, joint, i)
        scores.append(continuation_score(continuation, values[start - 1 :], boundary, None))
    return tuple(scores)


async def find_scorer(
    client: Client, model: str, *, plain: bool, template_arguments: Mapping[str, object]
) -> tuple[Scorer | None, str, str]:
    """Probe the server; return a function that scores and the name of its way, or None and why there is none.

    The last part says how thoughts are left out, where the model's template knows of any.
    """
    reasons = []
    try:
        candidate = TokenScorer(client, model, plain, template_arguments, vllm_logprobs)
        scorer, silent = await candidate.without_thought()
        _, ids = await scorer.rendered([Message("user", PROBE)])
    except CallError as fault:
        reasons.append(f"token ids: {fault.message}")
    else:
        for way, logprobs in (("vLLM prompt_logprobs", vllm_logprobs), ("SGLang /generate", sglang_logprobs)):
            try:
                await logprobs(client, model, ids, 1)
                return replace(scorer, logprobs=logprobs).score, way, silent
            except CallError as fault:
                reasons.append(f"{way}: {fault.message}")
    try:
        await echoed(client, model, PROBE)
    except CallError as fault:
        reasons.append(f"echo: {fault.message}")
    else:
        if plain:
            return partial(score_by_echo, client, model), "completions echo", ""
        reasons.append("echo: works, but only with the plain template (--template plain)")
    why = "the server does not prove that it returns log-probabilities of a prompt: " + "; ".join(reasons)
    return None, why, ""


async def vllm_logprobs(client: Client, model: str, ids: Sequence[int], start: int) -> tuple[float, ...]:
    """Log-probabilities of ``ids[start:]``, each given all tokens before it, from vLLM's ``prompt_logprobs``."""
    body = {"model": model, "prompt": list(ids), "max_tokens": 1, "temperature": 0, "prompt_logprobs": 0}

    def parse(reply: object) -> tuple[float, ...]:
        entries = _first_choice(reply).get("prompt_logprobs")
        if not isinstance(entries, list):
            raise CallError("it ignores prompt_logprobs")
        _same_count(len(entries), len(ids))
        _first_has_none(entries[0])
        values = []
        for entry, token in zip(entries[start:], ids[start:], strict=True):
            scored = _mapping(entry).get(str(token))
            if not isinstance(scored, dict):
                raise CallError("its log-probabilities belong to other tokens than were sent")
            values.append(_finite(scored.get("logprob")))
        return tuple(values)

    return await client.call("/completions", lambda: body, parse)


async def sglang_logprobs(
    client: Client,
    model: str,  # noqa: ARG001 - an SGLang server holds one model; all ways share one signature
    ids: Sequence[int],
    start: int,
) -> tuple[float, ...]:
    """Log-probabilities of ``ids[start:]`` from SGLang's ``/generate``.

    The position ``logprob_start_len`` itself comes back without a value, so one token more is asked
    for; asking for the whole prompt would switch the server's prefix cache off.
    """
    body = {
        "input_ids": list(ids),
        "sampling_params": {"max_new_tokens": 1, "temperature": 0},
        "return_logprob": True,
        "logprob_start_len": start - 1,
    }

    def parse(reply: object) -> tuple[float, ...]:
        entries = _mapping(_mapping(reply).get("meta_info")).get("input_token_logprobs")
        if not isinstance(entries, list):
            raise CallError("it returns no input_token_logprobs")
        _same_count(len(entries), len(ids) - start + 1)
        if start == 1:
            _first_has_none(entries[0][0] if isinstance(entries[0], list) and entries[0] else None)
        values = []
        for entry, token in zip(entries[1:], ids[start:], strict=True):
            if not isinstance(entry, list) or len(entry) < 2 or entry[1] != token:
                raise CallError("its log-probabilities belong to other tokens than were sent")
            values.append(_finite(entry[0]))
        return tuple(values)

    return await client.call(f"{client.root}/generate", lambda: body, parse)


async def echoed(client: Client, model: str, text: str) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Token strings of ``text``, and the log-probability of each but the first, from ``echo`` with ``logprobs``."""
    body = {"model": model, "prompt": text, "max_tokens": 1, "temperature": 0, "echo": True, "logprobs": 1}

    def parse(reply: Json) -> tuple[tuple[str, ...], tuple[float, ...]]:
        choice = _first_choice(reply)
        if not str(choice.get("text", "")).startswith(text):
            raise CallError("it ignores echo (llama.cpp does) and returns log-probabilities of new tokens only")
        logprobs, usage = _mapping(choice.get("logprobs")), _mapping(reply.get("usage"))
        tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
        n, new = usage.get("prompt_tokens"), usage.get("completion_tokens") or 0
        if not isinstance(n, int) or not isinstance(new, int) or n < 1:
            raise CallError("it echoes the prompt without its token count")
        if not isinstance(tokens, list) or not isinstance(values, list):
            raise CallError("it echoes the prompt without its log-probabilities")
        # Counted from the end: the new tokens are the last ones, whatever offsets the server reports.
        _same_count(len(tokens), n + new)
        _same_count(len(values), len(tokens))
        _first_has_none(values[0])
        return tuple(str(token) for token in tokens[:n]), tuple(_finite(value) for value in values[1:n])

    return await client.call("/completions", lambda: body, parse)


def token_ids(reply: object) -> tuple[int, ...]:
    """Read the reply of ``/tokenize``."""
    tokens = _mapping(reply).get("tokens")
    if not isinstance(tokens, list) or not tokens or not all(isinstance(token, int) for token in tokens):
        raise CallError("its /tokenize returns no token ids for this input")
    return tuple(tokens)


def decoded_text(reply: object) -> str:
    """Read the reply of ``/detokenize``."""
    text = _mapping(reply).get("prompt") or _mapping(reply).get("text")
    if not isinstance(text, str):
        raise CallError("its /detokenize returns no text")
    return text


def _mapping(value: object) -> JsonMapping:
    return value if isinstance(value, dict) else {}


def _first_choice(reply: object) -> JsonMapping:
    choices = _mapping(reply).get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise CallError("the answer holds no choices", retry=True)
    choice: JsonMapping = choices[0]
    return choice


def _first_scored(prompt: Sequence[Json], joint: Sequence[Json], i: int) -> tuple[int, Boundary]:
    """Return the first scored token, where the joint encoding leaves the prompt's; raise CallError for none."""
    start = common_prefix(prompt, joint)
    if start == len(joint):
        raise CallError(f"continuation {i + 1} adds no token to the prompt, so it has no probability")
    if start == 0:
        raise CallError("the first scored token has no token before it; the server adds no start token")
    return start, "clean" if start == len(prompt) else "merged"


def _finite(value: object) -> float:
    """Return ``value`` as a log-probability; raise CallError unless it is a number of at most 0 and no huge one."""
    # Bounds instead of math.isfinite, which no integer of hundreds of digits survives.
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1e9 < value <= 1e-6:
        # Of anything but a number, which may quote what was sent, only the kind is said.
        shown = f"{value:.6g}" if isinstance(value, float) else f"a value of type {type(value).__name__}"
        raise CallError(f"it returned {shown} where a log-probability belongs")
    return float(value)


def _first_has_none(value: object) -> None:
    """Raise CallError where the first token of a prompt has a log-probability: nothing stands before it."""
    if value is not None and value != {}:
        raise CallError("it gives the first token of a prompt a log-probability, so its values are shifted by one")


def _same_count(count: int, wanted: int) -> None:
    if count != wanted:
        raise CallError(f"it returned {count} prompt log-probabilities for {wanted} tokens")

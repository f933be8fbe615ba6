"""A server's own tokenizer, and its log-probabilities of given tokens, read strictly: a missing one is a CallError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kapwa.models.served_client import Client
from kapwa.models.served_fault import CallError
from kapwa.records import Message

_MOST = 2**53  # beyond it a float, which speeds and tables are made of, cannot tell counts apart


@dataclass(frozen=True, slots=True)
class ServerTokenizer:
    """``/tokenize`` and ``/detokenize`` as vLLM and SGLang serve them, beside (not under) ``/v1``."""

    client: Client
    model: str
    template_arguments: Mapping[str, Any] = field(default_factory=dict)

    async def encode(self, text: str, *, special: bool) -> tuple[int, ...]:
        """Return the token ids of ``text``; ``special`` lets the server put its BOS before them."""
        return await self._ids({"prompt": text, "add_special_tokens": special})

    async def chat(self, messages: Sequence[Message], answer: str | None = None) -> tuple[int, ...]:
        """Return the ids of the chat-rendered messages: up to the answer, or with ``answer`` and what closes it."""
        turns = [{"role": message.role, "content": message.content} for message in messages]
        if answer is not None:
            turns.append({"role": "assistant", "content": answer})
        body: dict[str, Any] = {"messages": turns, "add_generation_prompt": answer is None}
        if self.template_arguments:
            body["chat_template_kwargs"] = dict(self.template_arguments)
        return await self._ids(body)

    async def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ``ids``, special tokens included."""
        body = {"model": self.model, "tokens": list(ids), "skip_special_tokens": False}
        return await self.client.call(f"{self.client.root}/detokenize", body, _decoded_text)

    async def rendered(self, messages: Sequence[Message]) -> tuple[str, tuple[int, ...]]:
        """Return the chat-rendered prompt as text and ids; raise CallError unless the one encodes to the other."""
        ids = await self.chat(messages)
        text = await self.decode(ids)
        if await self.encode(text, special=False) != ids:
            raise CallError("its /detokenize and /tokenize are not inverse on the chat-rendered prompt")
        return text, ids

    async def _ids(self, body: Mapping[str, Any]) -> tuple[int, ...]:
        return await self.client.call(f"{self.client.root}/tokenize", {"model": self.model, **body}, _token_ids)


async def vllm_logprobs(client: Client, model: str, ids: Sequence[int], start: int) -> tuple[float, ...]:
    """Log-probabilities of ``ids[start:]``, each given all tokens before it, from vLLM's ``prompt_logprobs``."""
    body = {"model": model, "prompt": list(ids), "max_tokens": 1, "temperature": 0, "prompt_logprobs": 0}

    def parse(reply: Any) -> tuple[float, ...]:
        entries = first_choice(reply).get("prompt_logprobs")
        if not isinstance(entries, list):
            raise CallError("it ignores prompt_logprobs")
        _same_count(len(entries), len(ids))
        return tuple(_named(entry, token) for entry, token in zip(entries[start:], ids[start:], strict=True))

    return await client.call("/completions", body, parse)


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

    def parse(reply: Any) -> tuple[float, ...]:
        meta = reply.get("meta_info") if isinstance(reply, dict) else None
        entries = meta.get("input_token_logprobs") if isinstance(meta, dict) else None
        if not isinstance(entries, list):
            raise CallError("it returns no input_token_logprobs")
        _same_count(len(entries), len(ids) - start + 1)
        values = []
        for entry, token in zip(entries[1:], ids[start:], strict=True):
            if not isinstance(entry, list) or len(entry) < 2 or entry[1] != token:
                raise CallError("its log-probabilities belong to other tokens than were sent")
            values.append(finite(entry[0]))
        return tuple(values)

    return await client.call(f"{client.root}/generate", body, parse)


async def echoed(client: Client, model: str, text: str) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Token strings of ``text``, and the log-probability of each but the first, from ``echo`` with ``logprobs``."""
    body = {"model": model, "prompt": text, "max_tokens": 1, "temperature": 0, "echo": True, "logprobs": 1}

    def parse(reply: Any) -> tuple[tuple[str, ...], tuple[float, ...]]:
        choice = first_choice(reply)
        if not str(choice.get("text", "")).startswith(text):
            raise CallError("it ignores echo (llama.cpp does) and returns log-probabilities of new tokens only")
        logprobs = choice.get("logprobs")
        logprobs = logprobs if isinstance(logprobs, dict) else {}
        tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
        usage = reply.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        n, new = usage.get("prompt_tokens"), usage.get("completion_tokens") or 0
        if not isinstance(n, int) or not isinstance(new, int) or n < 1:
            raise CallError("it echoes the prompt without its token count")
        if not isinstance(tokens, list) or not isinstance(values, list):
            raise CallError("it echoes the prompt without its log-probabilities")
        # Counted from the end: the new tokens are the last ones, whatever offsets the server reports.
        _same_count(len(tokens), n + new)
        _same_count(len(values), len(tokens))
        return tuple(str(token) for token in tokens[:n]), tuple(finite(value) for value in values[1:n])

    return await client.call("/completions", body, parse)


def first_choice(reply: Any) -> Mapping[str, Any]:
    """Return the first choice of a completion; raise CallError where there is none."""
    choices = reply.get("choices") if isinstance(reply, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise CallError("the answer holds no choices", retry=True)
    choice: Mapping[str, Any] = choices[0]
    return choice


def counted(value: Any) -> int:
    """Return a server's count of tokens; 0 (unknown) for what is no whole number of at least 0 and at most 2**53."""
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST
    return value if known else 0


def finite(value: Any) -> float:
    """Return ``value`` as a log-probability; raise CallError unless it is a number of at most 0 and no huge one."""
    # Bounds instead of math.isfinite, which no integer of hundreds of digits survives.
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1e9 < value <= 1e-6:
        raise CallError(f"it returned {str(value)[:30]!r} where a log-probability belongs")
    return float(value)


def _same_count(got: int, wanted: int) -> None:
    if got != wanted:
        raise CallError(f"it returned {got} prompt log-probabilities for {wanted} tokens")


def _named(entry: Any, token: int) -> float:
    found = entry.get(str(token)) if isinstance(entry, dict) else None
    if not isinstance(found, dict):
        raise CallError("its log-probabilities belong to other tokens than were sent")
    return finite(found.get("logprob"))


def _token_ids(reply: Any) -> tuple[int, ...]:
    tokens = reply.get("tokens") if isinstance(reply, dict) else None
    if not isinstance(tokens, list) or not tokens or not all(isinstance(token, int) for token in tokens):
        raise CallError("its /tokenize returns no token ids for this input")
    return tuple(tokens)


def _decoded_text(reply: Any) -> str:
    text = (reply.get("prompt") or reply.get("text")) if isinstance(reply, dict) else None
    if not isinstance(text, str):
        raise CallError("its /detokenize returns no text")
    return text

"""Batched generation from a local model: left-padded, truly greedy unless a temperature is asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from kapwa.models.network import Network
from kapwa.records import Params, Request, Response, Usage


@dataclass(frozen=True, slots=True)
class Job:
    """One prompt to continue: its request, its tokens, and how many new tokens fit."""

    request: Request
    tokens: tuple[int, ...]
    room: int

    @property
    def new_tokens(self) -> int:
        """Tokens that may be generated: what is asked, or what the context leaves."""
        return min(self.request.params.max_new_tokens, self.room)

    @property
    def settings(self) -> Hashable:
        """What jobs must share to be generated in one batch."""
        params = self.request.params
        return (self.new_tokens, params.temperature, params.top_p, params.stop, params.seed)


def batches(jobs: Sequence[Job], *, batch_tokens: int, padding: bool) -> list[list[int]]:
    """Plan batches of indices, longest prompts first, that hold at most ``batch_tokens`` padded tokens.

    A deterministic function of its arguments. Jobs in a batch share their settings; without ``padding``
    (architectures that cannot skip padded positions) also their length. One job may exceed the
    limit, alone. Jobs of equal length keep their order, so samples of one prompt stay together.
    """
    lengths, keys = [len(job.tokens) for job in jobs], [job.settings for job in jobs]
    rank = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    planned: list[list[int]] = []
    for i in sorted(range(len(jobs)), key=lambda i: (rank[keys[i]], -lengths[i], i)):
        head = planned[-1][0] if planned else None
        if (
            head is not None
            and keys[head] == keys[i]
            and (padding or lengths[head] == lengths[i])
            and (len(planned[-1]) + 1) * (lengths[head] + jobs[head].new_tokens) <= batch_tokens
        ):
            planned[-1].append(i)
        else:
            planned.append([i])
    return planned


def generate(network: Network, tokenizer: Any, stop_ids: Sequence[int], jobs: Sequence[Job]) -> list[Response]:
    """Generate one batch of jobs that share their ``settings``; responses in the jobs' order.

    Texts end before a stop string or stop token (``finish_reason="stop"``) or at the limit
    (``"length"``); special tokens are removed. Sampling is seeded from the keys of the whole batch and
    ``Params.seed``, so the same batch gives the same texts.
    """
    import torch

    params = jobs[0].request.params
    width = max(len(job.tokens) for job in jobs)
    pad = stop_ids[0] if stop_ids else 0
    ids = torch.full((len(jobs), width), pad, dtype=torch.long)
    seen = torch.zeros_like(ids)
    for i, job in enumerate(jobs):
        ids[i, width - len(job.tokens) :] = torch.tensor(job.tokens)
        seen[i, width - len(job.tokens) :] = 1
    stopping = _StopStrings(tokenizer, params.stop, width)
    with torch.random.fork_rng():
        torch.manual_seed(_seed(jobs))
        out = network.model.generate(
            input_ids=ids.to(network.device),
            attention_mask=seen.to(network.device),
            generation_config=_settings(params, jobs[0].new_tokens, stop_ids, pad),
            stopping_criteria=[stopping] if params.stop else None,
        )
    rows: list[list[int]] = out[:, width:].tolist()
    return [_response(job, row, tokenizer, frozenset(stop_ids)) for job, row in zip(jobs, rows, strict=True)]


def _settings(params: Params, new_tokens: int, stop_ids: Sequence[int], pad: int) -> Any:
    """Return generation settings with every default of the model neutralised."""
    from transformers import GenerationConfig

    sampled = params.temperature > 0
    chosen: dict[str, Any] = {"do_sample": sampled, "num_beams": 1, "max_new_tokens": new_tokens, "use_cache": True}
    if sampled:
        # top_k=0 switches off the library's default cut at the 50 likeliest tokens.
        chosen |= {"temperature": params.temperature, "top_p": params.top_p or 1.0, "top_k": 0}
    config: Any = GenerationConfig  # untyped in the library
    return config(eos_token_id=list(stop_ids) or None, pad_token_id=pad, **chosen)


def _seed(jobs: Sequence[Job]) -> int:
    parts = [str(jobs[0].request.params.seed)]
    parts += [f"{job.request.key}:{job.request.sample}:{','.join(map(str, job.tokens))}" for job in jobs]
    digest = hashlib.blake2b("\n".join(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


class _StopStrings:
    """Tells ``generate`` which rows hold a stop string.

    Only the last tokens are decoded: a token is at least one byte of text, so a stop string of n bytes
    that ends in the newest token lies within the last n tokens.
    """

    def __init__(self, tokenizer: Any, stop: Sequence[str], width: int) -> None:
        self.tokenizer, self.stop, self.width = tokenizer, stop, width
        self.tail = max((len(text.encode("utf-8", "surrogatepass")) for text in stop), default=0) + 1

    def __call__(self, input_ids: Any, _scores: Any, **_: Any) -> Any:
        import torch

        tails = input_ids[:, max(self.width, input_ids.shape[1] - self.tail) :].tolist()
        texts = self.tokenizer.batch_decode(tails, skip_special_tokens=False)
        stopped = [any(stop in text for stop in self.stop) for text in texts]
        return torch.tensor(stopped, device=input_ids.device)


def _response(job: Job, row: list[int], tokenizer: Any, stop_ids: frozenset[int]) -> Response:
    length = next((i for i, token in enumerate(row) if token in stop_ids), len(row))
    text: str = tokenizer.decode(row[:length], skip_special_tokens=True)
    cuts = [text.index(stop) for stop in job.request.params.stop if stop in text]
    stopped = length < len(row) or bool(cuts)
    return Response(
        request_key=job.request.key,
        text=text[: min(cuts)] if cuts else text,
        finish_reason="stop" if stopped else "length",
        usage=Usage(prompt_tokens=len(job.tokens), completion_tokens=length),
    )

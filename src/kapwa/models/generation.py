"""Batched generation from a local model: left-padded, truly greedy unless a temperature is asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from kapwa.models.network import Network
from kapwa.models.stop_strings import cut_at
from kapwa.models.thinking import goes_on, opening_of, parts_within_turn, split_thought
from kapwa.models.thinking_settings import NO_THINKING, LocalThinking
from kapwa.records import Request, Response, Usage
from kapwa.value_types import Keywords, Untyped

_PROMPT_END = 24  # tokens at the end of a prompt among which a mark stands that opens a thought


@dataclass(frozen=True, slots=True)
class Job:
    """One prompt to continue: its request, its tokens, how many tokens fit after it, whether it ends within a thought.

    ``begun``: tokens of the text that are there already, since it met a smaller limit.
    """

    request: Request
    tokens: tuple[int, ...]
    room: int
    thought_opened: bool = False
    thinking: LocalThinking = NO_THINKING
    begun: tuple[int, ...] = ()

    @property
    def limit(self) -> int:
        """Tokens that the text may have: what is asked and what a thought may take, or what the context leaves."""
        return min(self.request.params.max_new_tokens + self.thinking.room, self.room)

    @property
    def new_tokens(self) -> int:
        """Tokens that may be generated."""
        return self.limit - len(self.begun)

    @property
    def continues(self) -> bool:
        """Whether the text, cut off at its limit, would be the beginning of a longer one: its thought is greedy."""
        return self.thinking.room > 0 and self.thinking.sampling_of(self.request.params).temperature == 0

    @property
    def settings(self) -> Hashable:
        """What jobs must share to be generated in one batch."""
        params = self.request.params
        sampling = self.thinking.sampling_of(params)
        return (self.new_tokens, sampling, params.stop, params.seed)


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


def generate(network: Network, tokenizer: Untyped, stop_ids: Sequence[int], jobs: Sequence[Job]) -> list[Response]:
    """Generate one batch of jobs that share their ``settings``; responses in the jobs' order.

    Texts end before a stop string or stop token (``finish_reason="stop"``) or at the limit
    (``"length"``); stop strings in a thought end nothing, nor does a stop token that only parts the thought from
    its answer; special tokens are removed, but from a text in which they mark a thought. Sampling is seeded
    from the keys of the whole batch and ``Params.seed``, so the same batch gives the same texts. A text that was begun
    goes on after its tokens.
    """
    import torch

    params = jobs[0].request.params
    ends = _Ends.of(tokenizer, stop_ids, jobs)
    if jobs[0].new_tokens < 1:  # of texts that were begun, there is no room for more
        return [_response(job, list(job.begun), tokenizer, len(job.begun)) for job in jobs]
    width = max(len(job.tokens) + len(job.begun) for job in jobs)
    starts = [width - len(job.begun) for job in jobs]
    pad = stop_ids[0] if stop_ids else 0
    ids = torch.full((len(jobs), width), pad, dtype=torch.long)
    seen = torch.zeros_like(ids)
    for i, job in enumerate(jobs):
        ids[i, starts[i] - len(job.tokens) :] = torch.tensor(job.tokens + job.begun)
        seen[i, starts[i] - len(job.tokens) :] = 1
    stopping: list[Untyped] = []
    if params.stop:
        stopping.append(_StopStrings(tokenizer, params.stop, starts, [job.thought_opened for job in jobs]))
    if ends.parting:
        stopping.append(_StopTokens(ends, starts))
    with torch.random.fork_rng():
        torch.manual_seed(_seed(jobs))
        out = network.model.generate(
            input_ids=ids.to(network.device),
            attention_mask=seen.to(network.device),
            generation_config=_settings(jobs[0], sorted(ends.always), pad),
            stopping_criteria=stopping or None,
        )
    rows: list[list[int]] = [row[start:].tolist() for row, start in zip(out, starts, strict=True)]
    return [
        _response(job, row, tokenizer, ends.length(index, row))
        for index, (job, row) in enumerate(zip(jobs, rows, strict=True))
    ]


def _settings(job: Job, stop_ids: Sequence[int], pad: int) -> Untyped:
    """Return generation settings with every default of the model neutralised that was not taken on purpose."""
    from transformers import GenerationConfig

    sampling = job.thinking.sampling_of(job.request.params)
    sampled = sampling.temperature > 0
    chosen: Keywords = {"do_sample": sampled, "num_beams": 1, "use_cache": True}
    chosen["max_new_tokens"] = job.new_tokens
    if sampled:
        # top_k=0 switches off the library's default cut at the 50 likeliest tokens.
        chosen |= {"temperature": sampling.temperature, "top_p": sampling.top_p or 1.0, "top_k": sampling.top_k}
    config: Untyped = GenerationConfig  # untyped in the library
    return config(eos_token_id=list(stop_ids) or None, pad_token_id=pad, **chosen)


def _seed(jobs: Sequence[Job]) -> int:
    inputs = [str(jobs[0].request.params.seed)]
    inputs += [f"{job.request.key}:{job.request.sample}:{','.join(map(str, job.tokens))}" for job in jobs]
    digest = hashlib.blake2b("\n".join(inputs).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


@dataclass(frozen=True, slots=True)
class _Ends:
    """Tokens that end a text: ``always``, or (``parting``) unless they only part a thought from its answer.

    ``opening_marks``: of each job the mark with which its prompt opens a thought; "" where it opens none.
    """

    tokenizer: Untyped
    always: frozenset[int]
    parting: Mapping[int, str]
    opening_marks: Sequence[str]

    @classmethod
    def of(cls, tokenizer: Untyped, stop_ids: Sequence[int], jobs: Sequence[Job]) -> _Ends:
        """Look up which stop tokens may stand within a turn."""
        named = zip(stop_ids, tokenizer.convert_ids_to_tokens(list(stop_ids)), strict=True)
        parting = {token: name for token, name in named if parts_within_turn(str(name))}
        ends = [job.tokens[-_PROMPT_END:] if parting and job.thought_opened else () for job in jobs]
        opening_marks = [opening_of(tokenizer.decode(list(tokens), skip_special_tokens=False)) for tokens in ends]
        return cls(tokenizer, frozenset(stop_ids) - parting.keys(), parting, opening_marks)

    def length(self, job: int, row: Sequence[int]) -> int:
        """Return how many tokens of a job's row stand before the one that ends it; all where none does."""
        for index, token in enumerate(row):
            if token in self.always or (token in self.parting and not self._goes_on(job, row[:index], token)):
                return index
        return len(row)

    def _goes_on(self, job: int, before: Sequence[int], token: int) -> bool:
        text = self.tokenizer.decode(list(before), skip_special_tokens=False)
        return goes_on(self.opening_marks[job] + text, self.parting[token])


class _StopTokens:
    """Tells ``generate`` which rows a token has just ended that elsewhere only ends a thought."""

    def __init__(self, ends: _Ends, starts: Sequence[int]) -> None:
        self.ends, self.starts = ends, starts

    def __call__(self, input_ids: Untyped, _scores: Untyped, **_: Untyped) -> Untyped:
        import torch

        last = input_ids[:, -1].tolist()
        ended = [
            token in self.ends.parting
            and self.ends.length(job, (row := input_ids[job, self.starts[job] :].tolist())) < len(row)
            for job, token in enumerate(last)
        ]
        return torch.tensor(ended, device=input_ids.device)


class _StopStrings:
    """Tells ``generate`` which rows hold a stop string.

    Only the last tokens are decoded: a token is at least one byte of text, so a stop string of n bytes
    that ends in the newest token lies within the last n tokens.
    """

    def __init__(
        self, tokenizer: Untyped, stop: Sequence[str], starts: Sequence[int], starts_in_thought: Sequence[bool]
    ) -> None:
        self.tokenizer, self.stop, self.starts, self.starts_in_thought = tokenizer, stop, starts, starts_in_thought
        self.tail = max((len(text.encode("utf-8", "surrogatepass")) for text in stop), default=0) + 1

    def __call__(self, input_ids: Untyped, _scores: Untyped, **_: Untyped) -> Untyped:
        import torch

        tails = input_ids[:, max(min(self.starts), input_ids.shape[1] - self.tail) :].tolist()
        texts = self.tokenizer.batch_decode(tails, skip_special_tokens=False)
        stopped = [
            any(stop in text for stop in self.stop)
            and self._in_answer(input_ids[i, self.starts[i] :].tolist(), starts_in_thought=self.starts_in_thought[i])
            for i, text in enumerate(texts)
        ]
        return torch.tensor(stopped, device=input_ids.device)

    def _in_answer(self, ids: list[int], *, starts_in_thought: bool) -> bool:
        """Whether a stop string that a row holds is in its answer, and not in a thought before it."""
        return (
            cut_at(
                _decoded(ids, self.tokenizer, starts_in_thought=starts_in_thought),
                self.stop,
                starts_in_thought=starts_in_thought,
            )
            is not None
        )


def _response(job: Job, row: list[int], tokenizer: Untyped, length: int) -> Response:
    """Return what a row of tokens says, of which the first ``length`` stand before the one that ends it."""
    text = _decoded(row[:length], tokenizer, starts_in_thought=job.thought_opened)
    cut = cut_at(text, job.request.params.stop, starts_in_thought=job.thought_opened)
    stopped = length < len(row) or cut is not None
    return Response(
        request_key=job.request.key,
        text=text if cut is None else cut,
        finish_reason="stop" if stopped else "length",
        usage=Usage(prompt_tokens=len(job.tokens), completion_tokens=length),
        thought_opened=job.thought_opened,
        tokens=tuple(row[:length]) if job.continues and not stopped else None,
        begun=len(job.begun),
    )


def _decoded(tokens: list[int], tokenizer: Untyped, *, starts_in_thought: bool) -> str:
    """Return the text of tokens without the special ones, unless these part a thought from the answer."""
    text: str = tokenizer.decode(tokens, skip_special_tokens=True)
    if not set(tokens).isdisjoint(tokenizer.all_special_ids):
        whole: str = tokenizer.decode(tokens, skip_special_tokens=False)
        if (
            split_thought(whole, starts_in_thought=starts_in_thought)[1:]
            != split_thought(text, starts_in_thought=starts_in_thought)[1:]
        ):
            return whole
    return text

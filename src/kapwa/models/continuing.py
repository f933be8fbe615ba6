"""Going on with an answer that met its limit, instead of asking for it again: greedy answers of served models.

A completions server takes prompt and text in one. A chat server takes the text as the last turn, to be continued
(``continue_final_message`` of vLLM and SGLang); but templates may close that turn, drop its thought, or put an empty
one before it. So it is trusted only after it was shown: a short answer, cut and continued, must be the longer answer,
and its prompt must count the tokens of both parts and no more. A thought that the server parted from the text cannot
be continued, for nobody says by which marks it was parted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace

from kapwa.models.gate import ending_of
from kapwa.models.openai_client import CallError
from kapwa.models.refusals import too_long
from kapwa.records import Message, Request, Response, Usage
from kapwa.value_types import JsonMapping, JsonObject

_OWNERS = frozenset(("vllm", "sglang"))
_PROBE = Request("", "", "generate", (Message("user", "What do people drink in the morning, and why?"),))
_CUT = 24  # tokens of the probe's parts
_HALF_A_CHARACTER = "\ufffd"


@dataclass(slots=True)
class Continuing:
    """Whether one server continues answers. ``may``: it is of a kind that can; ``shown``: it was seen to, or not to.

    ``shown`` is None until something is to be continued. ``times``: answers that were continued within this run.
    """

    may: bool = False
    shown: bool | None = None
    times: int = 0
    learnt: bool = False
    _trying: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    @classmethod
    def of(cls, owners: Iterable[str], *, plain: bool) -> Continuing:
        """Return what is known before anything was asked; ``owners``: what the server's list of models names."""
        return cls(may=plain or not _OWNERS.isdisjoint(owner.lower() for owner in owners), shown=plain or None)

    def fits(self, cut: Response, room: int) -> bool:
        """Whether an answer was cut off at less than ``room`` tokens, whole in its text and characters."""
        ended = ending_of(cut.finish_reason) == "length" and cut.thought is None
        text, length = cut.text or "", _written(cut)
        return self.may and ended and text != "" and not text.endswith(_HALF_A_CHARACTER) and 0 < length < room

    async def is_shown(self, ask: Callable[[Request, int], Awaitable[Response]]) -> bool:
        """Whether the server continues an answer as it would have gone on; three short calls tell, once.

        ``ask`` asks greedily for at most so many tokens.
        """
        async with self._trying:
            if self.shown is None:
                self.shown, self.learnt = await _tried(ask), True
            return self.shown

    def refused(self, fault: CallError) -> bool:
        """Whether a fault is a refusal to continue; unless the text was only too long, none is continued any more."""
        if fault.fatal or fault.filtered or fault.status not in (400, 404, 422):
            return False
        if not too_long(fault):
            self.shown, self.learnt = False, True
        return True

    def recall(self, shown: bool | None, times: int) -> None:
        """Take what an earlier process learnt."""
        if shown is not None:
            self.shown, self.learnt = shown, True
        self.times += times

    def sentences(self) -> list[str]:
        """Say in a sentence how many answers were continued."""
        what = "answers that met their limit were continued from their text"
        return [f"{self.times} {what}, with room for the thought."] if self.times else []


async def _tried(ask: Callable[[Request, int], Awaitable[Response]]) -> bool:
    try:
        first = await ask(_PROBE, _CUT)
        if not Continuing(may=True).fits(first, 2 * _CUT):
            return False
        rest, longer = await ask(replace(_PROBE, begun=first), _CUT), await ask(_PROBE, 2 * _CUT)
    except CallError:
        return False
    read = [usage.prompt_tokens for usage in (first.usage or Usage(), rest.usage or Usage())]
    return read[1] == read[0] + _written(first) and f"{first.text}{rest.text}" == longer.text


def _written(response: Response) -> int:
    """Return how many tokens an answer has; 0 where the server does not tell."""
    return 0 if response.usage is None else response.usage.completion_tokens


def begun_with(body: JsonMapping, begun: Response, length_key: str) -> JsonObject:
    """Return the request that continues ``begun``, where ``body`` asks for the whole answer.

    ``length_key``: which of its settings is the limit; what is there already is taken off it.
    """
    sent = dict(body)
    if length_key in sent:
        sent[length_key] -= _written(begun)
    if "prompt" in sent:
        sent["prompt"] += begun.text
        return sent
    turns = [*sent["messages"], {"role": "assistant", "content": begun.text}]
    return sent | {"messages": turns, "add_generation_prompt": False, "continue_final_message": True}


def joined(begun: Response, rest: Response, *, paid: bool) -> Response:
    """Return the whole answer; ``paid``: its beginning was asked for in this run, else it was in another one."""
    text = f"{begun.text}{rest.text or ''}"
    before, after = begun.usage, rest.usage
    if before is None or after is None:
        return replace(rest, text=text, usage=None)
    known = before.thinking_tokens is not None and after.thinking_tokens is not None
    usage = Usage(
        after.prompt_tokens + (before.prompt_tokens if paid else 0),
        before.completion_tokens + after.completion_tokens,
        (before.thinking_tokens or 0) + (after.thinking_tokens or 0) if known else None,
        after.cached_tokens,
    )
    return replace(rest, text=text, usage=usage, begun=0 if paid else _written(begun))

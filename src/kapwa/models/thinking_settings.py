"""How a model is asked to think, and what room its thoughts have beside the answer.

``--max-new-tokens`` bounds the answer. What a model thinks before it has a budget of its own, since a thought that
fills the answer's room leaves no answer. Where a server takes such a budget, it is sent; else the sum of both is the
limit of the whole text. Whether a model thinks is read from its chat template, or from a server's first answers.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kapwa.errors import UsageError
from kapwa.models.base import ModelOptions
from kapwa.models.gate import gate
from kapwa.models.thinking_servers import EFFORT, OPENAI, THINKING_SERVERS, TOKENS, ThinkingServer
from kapwa.records import Params, Response
from kapwa.value_types import Json, JsonMapping, JsonObject

BUDGET = 8192
EFFORTS = ("low", "medium", "high")
MODES = ("off", "on", *EFFORTS)
_SMALLEST_ROOM = 64


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user says of thinking.

    ``mode``: "off", "on", "low", "medium", "high"; None: the model's own. ``tokens``: the budget of a thought; None:
    :data:`BUDGET` where the model thinks. ``exact``: whether ``tokens`` was given as ``--thinking TOKENS``, which asks
    for the server's own budget, too. ``greedy``: whether the user asked for temperature 0.
    """

    mode: str | None = None
    tokens: int | None = None
    exact: bool = False
    greedy: bool = False

    @property
    def budget(self) -> int:
        """Tokens that a thought may take."""
        return BUDGET if self.tokens is None else self.tokens

    @property
    def likely(self) -> bool | None:
        """Whether the user says that the model thinks; None: nothing is said."""
        if self.mode == "off":
            return False
        return True if self.mode or self.tokens else None

    def identity(self) -> JsonObject:
        """Return what of it changes answers, for a fingerprint; nothing where the user says nothing."""
        fields = {"thinking": self.mode, "thinking_tokens": self.tokens, "sampling": "greedy" if self.greedy else None}
        return {name: value for name, value in fields.items() if value is not None}


def wish_of(options: ModelOptions) -> Wish:
    """Read ``thinking``, ``thinking_tokens`` and ``sampling``; raise UsageError for what makes no sense."""
    mode = options.thinking.strip().lower() if options.thinking is not None else None
    tokens, greedy = options.thinking_tokens, options.sampling == "asked"
    if tokens is not None and tokens < 0:
        raise UsageError(f"thinking_tokens is {tokens}; it must be at least 0.")
    if mode is None:
        return Wish(None, tokens, greedy=greedy)
    if mode.isascii() and mode.isdigit() and int(mode):
        if tokens not in (None, int(mode)):
            raise UsageError(
                f"--thinking {mode} and --thinking-tokens {tokens} name two budgets.", hint="Leave one of them out."
            )
        return Wish("on", int(mode), exact=True, greedy=greedy)
    if mode not in MODES:
        hint = "Write off, on, low, medium, high, or how many tokens a thought may take."
        raise UsageError(f"--thinking cannot be {options.thinking!r}.", hint=hint)
    if mode == "off" and tokens:
        raise UsageError("--thinking-tokens gives room for thoughts, but --thinking is off.", hint="Leave one out.")
    return Wish(mode, tokens, greedy=greedy)


def request_settings(wish: Wish, base_url: str, owners: Sequence[str]) -> JsonMapping:
    """Return what of a request's JSON makes an OpenAI-like server think as ``wish`` says; {}: nothing is said.

    ``owners``: what the server's list of models names as ``owned_by``, which tells vLLM, SGLang, llama.cpp and Ollama;
    other servers are known by their address, and any that is not known is asked as OpenAI is.
    """
    if wish.mode is None:
        return {}
    server = _server(base_url, owners)
    form = {"off": server.off, "on": server.on}.get(wish.mode, server.effort)
    if wish.exact and server.budget is not None:
        form = server.budget
    settings = {name: _filled(value, wish) for name, value in form.items()}
    if wish.exact and server.is_template:
        settings["thinking_token_budget"] = wish.budget  # of vLLM; a server that knows it not says so, or ignores it
    return settings


def _filled(value: Json, wish: Wish) -> Json:
    """Return a value of a request with what is wished in place of :data:`EFFORT` and :data:`TOKENS`."""
    if isinstance(value, dict):
        return {name: _filled(inner, wish) for name, inner in value.items()}
    return {EFFORT: wish.mode, TOKENS: wish.budget}.get(value, value)


def _server(base_url: str, owners: Sequence[str]) -> ThinkingServer:
    host = (urllib.parse.urlsplit(base_url).hostname or "").lower()
    owned_by = {owner.lower() for owner in owners}
    for server in THINKING_SERVERS:
        if server.owners & owned_by or any(host == end or host.endswith(f".{end}") for end in server.hosts):
            return server
    return OPENAI


def shows_thought(response: Response) -> bool:
    """Whether a model thought before this answer: a thought came, was counted, or used up the answer's room."""
    usage = response.usage
    if response.thought or (usage is not None and usage.thinking_tokens):
        return True
    answer = gate(response)
    return bool(answer.thought) or (not response.text and answer.state == "unfinished")


class Sampling(NamedTuple):
    """How tokens are drawn; ``top_k`` 0: from all of them."""

    temperature: float
    top_p: float | None = None
    top_k: int = 0


@dataclass(frozen=True, slots=True)
class LocalThinking:
    """How local weights are asked: ``room`` for a thought, and the sampling that their makers recommend for it."""

    room: int = 0
    recommended: Sampling | None = None

    def sampling_of(self, params: Params) -> Sampling:
        """Return how a request's tokens are drawn: as it asks, or as is recommended where it asks greedily."""
        if self.recommended is not None and params.temperature == 0:
            return self.recommended
        return Sampling(params.temperature, params.top_p)


NO_THINKING = LocalThinking()


def recommended_sampling(defaults: JsonMapping) -> Sampling | None:
    """Return the sampling that a model's generation settings recommend; None where they recommend none."""
    temperature, top_p, top_k = (defaults.get(name) for name in ("temperature", "top_p", "top_k"))
    if not isinstance(temperature, int | float) or not temperature > 0:
        return None
    return Sampling(float(temperature), top_p if isinstance(top_p, float) else None, int(top_k or 0))


@dataclass(slots=True)
class ServedThinking:
    """What is known of a served model's thinking: what was asked, and what its answers show.

    ``thinks``: None until an answer shows it. ``room``: the budget that is sent; smaller than asked where the server
    has no more.
    """

    wish: Wish = field(default_factory=Wish)
    thinks: bool | None = None
    room: int = BUDGET
    shown: bool = False

    def __post_init__(self) -> None:
        self.thinks, self.room = self.wish.likely or None, self.wish.budget

    def fit(self, params: Params) -> tuple[int, float | None, float | None]:
        """Return the limit, temperature and top_p to send; None leaves them to the server."""
        if not self.thinks:
            return params.max_new_tokens, params.temperature, params.top_p
        own_sampling = self.own_sampling(params)
        return params.max_new_tokens + self.room, None if own_sampling else params.temperature, params.top_p

    def own_sampling(self, params: Params) -> bool:
        """Whether the model's recommended sampling is taken: it thinks, and nobody asked for greedy answers."""
        return bool(self.thinks) and params.temperature == 0 and not self.wish.greedy

    def learns(self, responses: Sequence[Response], *, with_room: bool) -> bool:
        """Take note of what answers show; whether they are to be asked again, with room for thoughts."""
        if not any(map(shows_thought, responses)):
            return False
        self.thinks = self.shown = True
        return not with_room and self.room > 0

    def shrink(self, sent: int) -> bool:
        """Halve the room after a server refused ``sent`` tokens of it; whether there is any left to give up."""
        if not self.thinks or self.room <= _SMALLEST_ROOM:
            return False
        if sent <= self.room:  # else another request has halved it meanwhile
            self.room //= 2
        return True

    def manifest_record(self, sent: Mapping[str, object]) -> JsonObject:
        """Return what the manifest says: what was asked, what was found, and how the budget was sent."""
        wished = self.wish.mode or "the model's own"
        if not self.thinks:
            return {"asked": wished, "found": "no thoughts"} if self.thinks is not None or self.wish.mode else {}
        found = "thoughts" if self.shown else "none yet"
        record: JsonObject = {"asked": wished, "found": found, "budget": self.room}
        own_budget = self.wish.exact and any(str(self.wish.budget) in json.dumps(value) for value in sent.values())
        record["budget_sent"] = "the server's own thinking budget and the sum" if own_budget else "the sum"
        if self.room < self.wish.budget:
            record["budget_asked"] = self.wish.budget
        return record

    def sentences(self, *, greedy_asked: bool) -> list[str]:
        """Say in sentences what readers of the run should know; ``greedy_asked``: whether the task asks greedily."""
        if not self.thinks:
            return []
        if self.wish.mode == "off":
            return ["Thinking: off was asked, but the model thinks all the same; its thoughts got room of their own."]
        how = f"thinking {self.wish.mode}" if self.wish.mode else "the model's own setting"
        lines = [f"Thinking: {how}; {self.room:,} tokens beside the answer's."]
        if self.room < self.wish.budget:
            lines[0] = f"{lines[0][:-1]}; the server has no room for {self.wish.budget:,}."
        if greedy_asked and not self.wish.greedy:
            lines.append("Sampling: the server's own, since greedy answers make models that think repeat themselves.")
        return lines

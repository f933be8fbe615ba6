"""Requests as OpenAI-style JSON, answers as Response records, and how one server's wishes are learnt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kapwa.models.served_client import Client, of_openai
from kapwa.models.served_fault import CallError
from kapwa.models.served_tokens import counted
from kapwa.models.templates import PLAIN_TEMPLATE, Template
from kapwa.records import Message, Request, Response, Usage

GROUP = 32  # samples asked for in one call; few servers take more
REFUSED_NAME = re.compile(
    r"unsupported|not supported|unrecogni[sz]ed|unknown|unexpected|instead|extra inputs|not permitted|not allowed", re.I
)


@dataclass(slots=True)
class Dialect:
    """What one server accepts; learnt from its answers. ``body`` is the user's own addition to each call."""

    model: str
    base_url: str
    plain: bool = False
    body: Mapping[str, Any] = field(default_factory=dict)
    groups: bool = True
    length_key: str = ""
    learnt: bool = False

    def __post_init__(self) -> None:
        # OpenAI's newer models refuse max_tokens; many other servers know nothing else.
        self.length_key = "max_completion_tokens" if of_openai(self.base_url) and not self.plain else "max_tokens"

    @property
    def path(self) -> str:
        """The endpoint that generates."""
        return "/completions" if self.plain else "/chat/completions"

    def request_body(self, request: Request, n: int) -> dict[str, Any]:
        """Return the JSON that asks for ``n`` answers to ``request``, from sample ``request.sample`` on."""
        params = request.params
        body: dict[str, Any] = {"model": self.model, "temperature": params.temperature}
        if self.plain:
            body["prompt"] = plain_prompt(request.messages)
        else:
            body["messages"] = [{"role": m.role, "content": m.content} for m in request.messages]
        body[self.length_key] = params.max_new_tokens
        if params.top_p is not None:
            body["top_p"] = params.top_p
        if params.stop:
            body["stop"] = list(params.stop)
        if params.seed is not None:
            # With one seed for all, samples asked one by one would be copies of each other.
            body["seed"] = params.seed + request.sample
        if n > 1:
            body["n"] = n
        body.update(self.body)
        return {name: value for name, value in body.items() if value is not None}

    def learns(self, fault: CallError, sent: Mapping[str, Any]) -> bool:
        """Whether ``fault`` taught something, so that the same request is worth sending once more."""
        if fault.status not in (400, 422):
            return False
        used = next((key for key in ("max_tokens", "max_completion_tokens") if key in sent), None)
        if used is None or self.plain:
            return False
        if used != self.length_key:
            return True  # learnt meanwhile, from another request
        blamed = used in (fault.param or fault.message) and REFUSED_NAME.search(f"{fault.message} {fault.code}")
        if not blamed or self.learnt:
            return False
        self.learnt = True
        self.length_key = "max_tokens" if used == "max_completion_tokens" else "max_completion_tokens"
        return True


def plain_prompt(messages: Sequence[Message]) -> str:
    """Render messages for a base model exactly as local models do: each content and a newline."""
    return Template("plain", None, PLAIN_TEMPLATE).prompt(messages)


def grouped(requests: Iterable[Request], dialect: Dialect) -> Iterator[tuple[Request, ...]]:
    """Gather neighbours that differ only in ``sample`` and may be answered by one call with ``n``.

    Greedy requests stay single: servers refuse ``n`` there, and the answers would be copies.
    """
    group: list[Request] = []
    for request in requests:
        if group and not (len(group) < GROUP and dialect.groups and _joins(request, group[-1])):
            yield tuple(group)
            group = []
        group.append(request)
    if group:
        yield tuple(group)


def _joins(request: Request, last: Request) -> bool:
    return (
        request.sample == last.sample + 1
        and request.params.temperature > 0
        and request.params == last.params
        and request.messages == last.messages
    )


async def answer(
    client: Client, dialect: Dialect, group: Sequence[Request], give: Callable[[Sequence[Response]], None]
) -> None:
    """Ask for every sample of a group; give one response for each as it comes, an error where none could be had.

    Raises ModelError when every other request would fail in the same way.
    """
    done = 0
    together = True
    while done < len(group):
        rest = group[done:] if done else group
        n = len(rest) if together and dialect.groups else 1
        try:
            answers = await _ask(client, dialect, rest[:n])
        except CallError as fault:
            if n > 1 and fault.status in (400, 422):
                together = False  # perhaps the prompt is at fault, perhaps n; a single call tells which
                continue
            answers = [_failed(request, fault) for request in rest[:n]]
        else:
            # One answer where n were asked for, or where n was refused: this server knows no n.
            dialect.groups = dialect.groups and together and len(answers) == n
        give(answers)
        done += len(answers)


async def _ask(client: Client, dialect: Dialect, group: Sequence[Request]) -> list[Response]:
    while True:
        body = dialect.request_body(group[0], len(group))
        try:
            return await client.call(dialect.path, body, partial(_answers, group, client))
        except CallError as fault:
            if fault.fatal or _blames_a_setting(fault, body):
                raise client.trouble(fault) from None
            if not dialect.learns(fault, body):
                raise


def _failed(request: Request, fault: CallError) -> Response:
    if "content_filter" in fault.code or "content_policy" in fault.code:
        return Response(request.key, text="", finish_reason="content_filter")
    return Response(request.key, error=fault.message)


def _blames_a_setting(fault: CallError, body: Mapping[str, Any]) -> bool:
    return fault.status in (400, 422) and fault.param in {"model", "temperature", "top_p", "seed"} & set(body)


def _answers(group: Sequence[Request], client: Client, reply: Any) -> list[Response]:
    """Return an answer for each choice of ``reply``, in the group's order; as many as there are of both."""
    choices = reply.get("choices") if isinstance(reply, dict) else None
    if not isinstance(choices, list) or not choices:
        # Some gateways report a failure with status 200.
        problem = reply.get("error") if isinstance(reply, dict) else None
        said = client.quoted(str(problem.get("message") if isinstance(problem, dict) else problem))
        raise CallError(f"the answer holds no choices{f' ({said})' if problem else ''}", retry=True)
    if not all(isinstance(choice, dict) for choice in choices):
        raise CallError("the answer's choices are malformed", retry=True)
    choices = sorted(choices, key=lambda choice: choice["index"] if isinstance(choice.get("index"), int) else 0)
    shares = _shares(reply.get("usage"), len(choices))
    return [_one(r.key, choice, usage) for r, choice, usage in zip(group, choices, shares, strict=False)]


def _one(key: str, choice: Mapping[str, Any], usage: Usage | None) -> Response:
    reason = choice.get("finish_reason")
    reason = reason if isinstance(reason, str) else None
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    text = _content(choice["text"] if "text" in choice else message.get("content"))
    if reason == "content_filter":
        return Response(key, text="", finish_reason=reason, usage=usage)
    if not text and isinstance(message.get("refusal"), str) and message["refusal"]:
        return Response(key, text=message["refusal"], finish_reason="refusal", usage=usage)
    if text is None and reason == "length":
        text = ""  # a reasoning model that spent every token on reasoning
    if text is None:
        raise CallError(f"the answer holds no text (finish_reason {reason!r})", retry=True)
    return Response(key, text=text, finish_reason=reason, usage=usage)


def _content(content: Any) -> str | None:
    if isinstance(content, list):  # some servers answer in parts; reasoning parts are not the answer
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        content = "".join(text for text in texts if isinstance(text, str)) if texts else None
    return content if isinstance(content, str) else None


def _shares(usage: Any, n: int) -> list[Usage | None]:
    # The server counts a call; shared out so that summing over responses gives the call's own count.
    if not isinstance(usage, dict):
        return [None] * n
    read, written = counted(usage.get("prompt_tokens")), counted(usage.get("completion_tokens"))
    first = Usage(read, written // n + written % n)
    return [first, *[Usage(0, written // n)] * (n - 1)]

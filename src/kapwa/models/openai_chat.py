"""Requests as OpenAI-style JSON, answers as Response records, and how one server's wishes are learnt."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from kapwa.models.background import Give
from kapwa.models.base import sample_seed
from kapwa.models.openai_client import CallError, Client, hide, of_openai
from kapwa.models.templates import PLAIN_TEMPLATE, Template
from kapwa.records import Media, Message, Request, Response, Usage

LENGTHS = ("max_tokens", "max_completion_tokens")
GROUP = 32  # samples asked for in one call; few servers take more
_SETTINGS = {"model", "temperature", "top_p", "seed"}  # what a server refuses of these, it refuses of every request
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
            body["messages"] = [{"role": m.role, "content": content_of(m)} for m in request.messages]
        body |= {
            self.length_key: params.max_new_tokens,
            "top_p": params.top_p,
            "stop": list(params.stop) or None,
            "seed": sample_seed(request),
            "n": n if n > 1 else None,
        }
        body.update(self.body)
        return {name: value for name, value in body.items() if value is not None}

    def learns(self, fault: CallError, sent: Mapping[str, Any]) -> bool:
        """Whether ``fault`` taught something, so that the same request is worth sending once more."""
        if fault.status not in (400, 422):
            return False
        used = next((key for key in LENGTHS if key in sent), "")
        if not used or self.plain:
            return False
        if used != self.length_key:
            return True  # learnt meanwhile, from another request
        blamed = used in (fault.param or fault.message) and REFUSED_NAME.search(f"{fault.message} {fault.code}")
        if not blamed or self.learnt:
            return False
        self.learnt, self.length_key = True, LENGTHS[1 - LENGTHS.index(used)]
        return True


def content_of(message: Message) -> str | list[dict[str, Any]]:
    """Return a message's text; where media come with it, a list of parts, the text last."""
    return [*map(_part, message.media), {"type": "text", "text": message.content}] if message.media else message.content


def _part(media: Media) -> dict[str, Any]:
    kind, _, form = media.type.partition("/")
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": f"data:{media.type};base64,{media.encoded()}"}}
    return {"type": "input_audio", "input_audio": {"data": media.encoded(), "format": form}}


def plain_prompt(messages: Sequence[Message]) -> str:
    """Render messages for a base model exactly as local models do: each content and a newline."""
    return Template("plain", None, PLAIN_TEMPLATE).prompt(messages)


class Sampler(Protocol):
    """A server as far as samples go. ``groups``: whether one call may ask for several; its answers may tell it not."""

    groups: bool


def grouped(requests: Iterable[Request], server: Sampler) -> Iterator[tuple[Request, ...]]:
    """Gather neighbours that differ only in ``sample`` and may be answered by one call.

    Greedy requests stay single: servers refuse ``n`` there, and the answers would be copies.
    """
    group: list[Request] = []
    for request in requests:
        if group and not (len(group) < GROUP and server.groups and _joins(request, group[-1])):
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
    server: Sampler,
    ask: Callable[[Sequence[Request]], Awaitable[list[Response]]],
    group: Sequence[Request],
    give: Give[Response],
) -> None:
    """Ask for every sample of a group; give one response for each as it comes, an error where none could be had.

    ``ask`` makes one call and raises CallError where that fails, or ModelError where every other call would fail alike.
    """
    done, together = 0, True
    while done < len(group):
        rest = group[done:] if together and server.groups else group[done : done + 1]
        try:
            answers = await ask(rest)
        except CallError as fault:
            if len(rest) > 1 and fault.status in (400, 422):
                together = False  # perhaps the prompt is at fault, perhaps n; a single call tells which
                continue
            filtered = "content_filter" in fault.code or "content_policy" in fault.code
            answers = [
                Response(request.key, text="", finish_reason="content_filter")
                if filtered
                else Response(request.key, error=fault.message)
                for request in rest
            ]
        else:
            # One answer where several were asked for, or where n was refused: this server knows no n.
            server.groups = server.groups and together and len(answers) == len(rest)
        give(answers)
        done += len(answers)


async def ask(client: Client, dialect: Dialect, group: Sequence[Request]) -> list[Response]:
    """Ask for the samples of ``group`` in one call, in the words that this server knows."""
    while True:
        body = dialect.request_body(group[0], len(group))
        try:
            return await client.call(dialect.path, body, partial(_answers, group, client))
        except CallError as fault:
            blames_a_setting = fault.status in (400, 422) and fault.param in _SETTINGS & set(body)
            if fault.fatal or blames_a_setting:
                raise client.trouble(fault, dialect.model) from None
            if not dialect.learns(fault, body):
                raise


def _answers(group: Sequence[Request], client: Client, reply: Any) -> list[Response]:
    """Return an answer for each choice of ``reply``, in the group's order; as many as there are of both."""
    choices = reply.get("choices") if isinstance(reply, dict) else None
    if not isinstance(choices, list) or not choices:
        # Some gateways report a failure with status 200.
        problem = reply.get("error") if isinstance(reply, dict) else None
        shown = client.quoted(str(problem.get("message") if isinstance(problem, dict) else problem))
        raise CallError(f"the answer holds no choices{f' ({shown})' if problem else ''}", retry=True)
    if not all(isinstance(choice, dict) for choice in choices):
        raise CallError("the answer's choices are malformed", retry=True)
    choices = sorted(choices, key=lambda choice: choice["index"] if isinstance(choice.get("index"), int) else 0)
    used = reply.get("usage")
    shares: list[Usage | None] = [None] * len(choices)
    if isinstance(used, dict):
        read, written = counted(used.get("prompt_tokens")), counted(used.get("completion_tokens"))
        shares = shared_usage(read, written, len(choices))
    return [
        _response_of(r.key, choice, usage, client.text_secrets)
        for r, choice, usage in zip(group, choices, shares, strict=False)
    ]


def _response_of(key: str, choice: Mapping[str, Any], usage: Usage | None, secrets: Sequence[str]) -> Response:
    reason = choice.get("finish_reason")
    reason = hide(reason, secrets) if isinstance(reason, str) else None
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    text = _content(choice["text"] if "text" in choice else message.get("content"))
    if reason == "content_filter":
        text = ""
    elif not text and isinstance(message.get("refusal"), str) and message["refusal"]:
        text, reason = message["refusal"], "refusal"
    elif text is None and reason == "length":
        text = ""  # a reasoning model that spent every token on reasoning
    if text is None:
        raise CallError(f"the answer holds no text (finish_reason {reason!r})", retry=True)
    return Response(key, text=hide(text, secrets), finish_reason=reason, usage=usage)


def _content(content: Any) -> str | None:
    if isinstance(content, list):  # some servers answer in parts; reasoning parts are not the answer
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        content = "".join(text for text in texts if isinstance(text, str)) if texts else None
    return content if isinstance(content, str) else None


def shared_usage(read: int, written: int, n: int) -> list[Usage | None]:
    """Share a call's count of tokens out among its ``n`` answers, so that their sum is the call's own count."""
    each, rest = divmod(written, n)
    return [Usage(read, each + rest), *[Usage(0, each)] * (n - 1)]


def counted(value: Any) -> int:
    """Return a server's count of tokens; 0 (unknown) for what is no whole number of at least 0 and at most 2**53."""
    # Beyond 2**53 a float, which tables are made of, cannot tell counts apart.
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 2**53
    return value if known else 0

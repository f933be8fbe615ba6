"""Requests as OpenAI-style JSON, answers as Response records, and how one server's wishes are learnt."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from kapwa.models.background import Give
from kapwa.models.base import sample_seed
from kapwa.models.continuing import Continuing, begun_with, joined
from kapwa.models.gate import ending_of, is_filter, thinking_is_off, usage_of
from kapwa.models.learnt import Learnt, learnt_of, recall
from kapwa.models.openai_client import CallError, Client, hide, of_openai
from kapwa.models.refusals import LENGTHS, SYSTEM, Refusals, merged_system, setting_of, too_long
from kapwa.models.stop_strings import stopped
from kapwa.models.templates import PLAIN_TEMPLATE, ChatTemplate
from kapwa.models.thinking_settings import ServedThinking
from kapwa.records import Media, Message, Request, Response, Usage
from kapwa.value_types import Cells, Json, JsonMapping, JsonObject

# Where servers put a thought: in a field of the message, or as parts of its content.
_THOUGHT_FIELDS = ("reasoning_content", "reasoning", "thinking", "thought")
_THOUGHT_PARTS = ("thinking", "reasoning", "thought", "reasoning.text", "reasoning.summary")
_TEXT_PARTS = ("text", "output_text")
_READ_FOR_FILTERS = 20_000  # characters of a reply without answers
GROUP = 32  # samples asked for in one call; few servers take more
_BY_NAME = ("model", "temperature", "top_p", "seed")  # what a server refuses of these, it refuses of every request
REFUSED_NAME = re.compile(
    r"unsupported|not supported|unrecogni[sz]ed|unknown|unexpected|instead|extra inputs|not permitted|not allowed", re.I
)
_MOST_NAMES = 20
# What may follow a model's name in the name of one of its snapshots: a date or a number such as 0613. A shorter number
# names another model: gpt-4.1 is not gpt-4.
_DATED = re.compile(r"(?:-\d{3,}[\d-]*)?")
_MERGED = "chat_template_kwargs"  # of which the user's own settings are a part


@dataclass(slots=True)
class ServerDialect:
    """What one server accepts; learnt from its answers. ``body`` is the user's own addition to each call.

    ``thinking``: what is known of the model's thoughts; ``thinking_settings``: what is sent about them. ``refusals``:
    settings that are left out. ``continuing``: whether it goes on with a text that met its limit. ``answered_as``: the
    models that its answers name.
    """

    model: str
    base_url: str
    plain: bool = False
    body: JsonMapping = field(default_factory=dict)
    thinking: ServedThinking = field(default_factory=ServedThinking)
    thinking_settings: JsonMapping = field(default_factory=dict)
    refusals: Refusals = field(default_factory=Refusals)
    continuing: Continuing = field(default_factory=Continuing)
    groups: bool = True
    length_key: str = ""
    learnt: bool = False
    greedy_asked: bool = False
    answered_as: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        # OpenAI's newer models refuse max_tokens; many other servers know nothing else.
        self.length_key = "max_completion_tokens" if of_openai(self.base_url) and not self.plain else "max_tokens"

    @property
    def path(self) -> str:
        """The endpoint that generates."""
        return "/completions" if self.plain else "/chat/completions"

    def request_body(self, request: Request, n: int, tried: Mapping[str, object] | None = None) -> JsonObject:
        """Return the JSON that asks for ``n`` answers to ``request``, from sample ``request.sample`` on.

        ``tried``: settings left out of this call, besides those that the server is known to refuse.
        """
        params = request.params
        left_out = {**self.refusals.learnt, **(tried or {})}
        length, temperature, top_p = self.thinking.fit(params)
        self.greedy_asked |= params.temperature == 0
        body: JsonObject = {"model": self.model, "temperature": temperature}
        if self.plain:
            body["prompt"] = plain_prompt(request.messages)
        else:
            messages = merged_system(request.messages) if SYSTEM in left_out else request.messages
            body["messages"] = [{"role": m.role, "content": content_of(m)} for m in messages]
            body |= self.thinking_settings
        body |= {
            self.length_key: length,
            "top_p": top_p,
            # Servers look for them in thoughts, too; then they are looked for in the answer (see :func:`ask`).
            "stop": None if self.thinking.thinks else list(params.stop) or None,
            "seed": sample_seed(request),
            "n": n if n > 1 else None,
        }
        for name, value in self.body.items():
            if name == _MERGED and name in body and isinstance(value, Mapping):
                body[name] = {**body[name], **value}
            else:
                body[name] = value
        if "length" in left_out:
            body.pop(self.length_key)
        if "stream" in left_out:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
            left_out.pop("stream")
        return {name: value for name, value in body.items() if value is not None and setting_of(name) not in left_out}

    def learns(self, fault: CallError, sent: JsonMapping, request: Request, tried: JsonObject) -> bool:
        """Whether ``fault`` taught something, so that the same request is worth sending once more.

        What is left out of the next try goes into ``tried``.
        """
        if fault.status not in (400, 422):
            return False
        used = next((key for key in LENGTHS if key in sent), "")
        if used and used != self.length_key:
            return True  # learnt meanwhile, from another request
        words = f"{fault.message} {fault.code}"
        if used and not self.plain and used in (fault.param or fault.message) and REFUSED_NAME.search(words):
            if self.learnt:
                tried["length"] = sent[used]
            self.learnt, self.length_key = True, LENGTHS[1 - LENGTHS.index(used)]
            return True
        if used and too_long(fault) and self.thinking.shrink(sent[used] - request.params.max_new_tokens):
            return True
        blamed = self.refusals.blamed(fault, sent, request.messages)
        if blamed is None or blamed in tried:
            return False
        names = (name for name in sent if setting_of(name) == blamed)
        value = sent.get(next(names, ""), "")
        tried[blamed] = self.thinking.wish.mode if blamed == "thinking" else value
        return True

    def insists(self, fault: CallError, sent: Mapping[str, object], tried: Mapping[str, object]) -> bool:
        """Whether every request would be refused as this one was: for the model's name, or a setting left out."""
        if fault.status not in (400, 422) or not fault.param:
            return False
        if setting_of(fault.param) in {**self.refusals.learnt, **tried}:
            name = fault.param
            fault.hint = (
                f"The server refuses {name} though it was not sent. If --extra body sets it, leave it out there: "
                f"--extra 'body={{\"{name}\": null}}'."
            )
            return True
        return fault.param in _BY_NAME and fault.param in sent

    def is_greedy(self, request: Request, tried: JsonMapping) -> bool:
        """Whether the answer is drawn greedily, with room for a thought, too."""
        return self.request_body(request, 1, tried).get("temperature") == 0

    def is_final(self, request: Request, responses: Sequence[Response], tried: JsonMapping) -> bool:
        """Whether an answer that was asked without room for its thought is the one that a larger limit gives.

        It is where it was drawn greedily and ended by itself; a stop string may have ended it within the thought.
        """
        ended = len(responses) == 1 and ending_of(responses[0].finish_reason) == "stop" and not request.params.stop
        return ended and self.is_greedy(request, tried)

    async def beginning(self, client: Client, request: Request, cut: Response, tried: JsonMapping) -> Response | None:
        """Return ``cut`` where this server can continue it as one longer answer would have gone on, else None."""
        room = self.request_body(request, 1, tried).get(self.length_key, 0)
        if not self.is_greedy(request, tried) or not self.continuing.fits(cut, room):
            return None
        return cut if await self.continuing.is_shown(partial(self._short_answer, client)) else None

    async def _short_answer(self, client: Client, request: Request, limit: int) -> Response:
        """Return a short answer of at most ``limit`` tokens that is asked for only to see how the server continues."""
        body = self.request_body(request, 1) | {self.length_key: limit, "temperature": 0}
        if request.begun is not None:
            body = begun_with(body, request.begun, "")
        return (await client.call(self.path, lambda: body, lambda reply: _answers([request], client, reply)))[0]

    def hear(self, reply: object, client: Client) -> None:
        """Note which model an answer names: a router may have sent the call to another one than was asked."""
        name = reply.get("model") if isinstance(reply, dict) and reply.get("choices") else None
        if isinstance(name, str) and name.strip() and len(self.answered_as) < _MOST_NAMES:
            self.answered_as.add(client.quoted(name.strip()))

    def manifest_record(self) -> JsonObject:
        """Return what was learnt, for the manifest."""
        thinking = self.thinking.manifest_record(self.thinking_settings)
        record: JsonObject = {"thinking_found": thinking} if thinking else {}
        if self.refusals.learnt:
            record["settings_refused"] = dict(self.refusals.learnt)
        if self.answered_as:
            record["answered_as"] = sorted(self.answered_as)
        return record

    def learnt_so_far(self) -> Learnt:
        """Return what a resumed run need not find out again."""
        known = learnt_of(self.model, self.base_url, self.thinking, self.refusals, groups=self.groups)
        continuing = self.continuing
        return replace(
            known,
            length_key=self.length_key if self.learnt else "",
            continues=continuing.shown if continuing.learnt else None,
            continued=continuing.times,
            answered_as=tuple(sorted(self.answered_as)),
        )

    def recall(self, learnt: Learnt) -> None:
        """Take what an earlier process learnt of this server."""
        recall(learnt, self.thinking, self.refusals)
        self.groups = self.groups and learnt.groups
        self.answered_as |= set(learnt.answered_as)
        self.continuing.recall(learnt.continues, learnt.continued)
        if learnt.length_key in LENGTHS:
            self.learnt, self.length_key = True, learnt.length_key

    def notes(self) -> list[str]:
        """Return in sentences what was learnt, for readers of a run."""
        return [
            *self.thinking.sentences(greedy_asked=self.greedy_asked),
            *self.continuing.sentences(),
            *self.refusals.sentences(),
            *_of_others(self.model, self.answered_as),
        ]


def _of_others(asked: str, named: Iterable[str]) -> Iterator[str]:
    """Yield a sentence where answers name another model than was asked, or several."""
    names = sorted(named)
    others = [name for name in names if not _is_same_model(asked, name)]
    if others or len(names) > 1:
        yield (
            f"Answered by: {', '.join(names)}, as the server says; asked was {asked}. "
            "If a router chose among models, these scores are of all of them together."
        )


def _is_same_model(asked: str, named: str) -> bool:
    """Whether two names are of one model: one may hold a folder or an owner, the other a date or a file's ending."""
    short, long = sorted((_name_of(asked), _name_of(named)), key=len)
    return long.startswith(short) and _DATED.fullmatch(long[len(short) :]) is not None


def _name_of(name: str) -> str:
    bare = re.split(r"[/\\]", name.strip().lower().rstrip("/\\"))[-1]
    return re.sub(r"[^a-z0-9.]+", "-", re.sub(r"(?:[-:@]latest|:free|\.gguf)$", "", bare))


def content_of(message: Message) -> str | list[Cells]:
    """Return a message's text; where media come with it, a list of parts, the text last."""
    return (
        [*map(_media_content, message.media), {"type": "text", "text": message.content}]
        if message.media
        else message.content
    )


def _media_content(media: Media) -> JsonObject:
    kind, _, form = media.type.partition("/")
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": f"data:{media.type};base64,{media.encoded()}"}}
    return {"type": "input_audio", "input_audio": {"data": media.encoded(), "format": form}}


def plain_prompt(messages: Sequence[Message]) -> str:
    """Render messages for a base model exactly as local models do: each content and a newline."""
    return ChatTemplate("plain", None, PLAIN_TEMPLATE).prompt(messages)


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
            if len(rest) > 1 and fault.status in (400, 422) and not fault.filtered:
                together = False  # perhaps the prompt is at fault, perhaps n; a single call tells which
                continue
            answers = [
                Response(request.key, text="", finish_reason="content_filter")
                if fault.filtered
                else Response(request.key, error=fault.message)
                for request in rest
            ]
        else:
            # One answer where several were asked for, or where n was refused: this server knows no n.
            server.groups = server.groups and together and len(answers) == len(rest)
        give(answers)
        done += len(answers)


async def ask(client: Client, dialect: ServerDialect, group: Sequence[Request]) -> list[Response]:
    """Ask for the samples of ``group`` in one call, in the words that this server knows."""
    request = group[0]
    tried: JsonObject = {}
    discarded: list[Response] = []
    body: JsonObject = {}
    with_room = False
    begun: Response | None = None
    if request.begun is not None:
        dialect.thinking.thinks = dialect.thinking.shown = True
        begun = await dialect.beginning(client, request, request.begun, tried)

    def compose() -> JsonObject:
        nonlocal body, with_room
        with_room = bool(dialect.thinking.thinks)
        body = dialect.request_body(request, len(group), tried)
        if begun is not None:
            body = begun_with(body, begun, dialect.length_key)
        return body

    def parse(reply: object) -> list[Response]:
        dialect.hear(reply, client)
        return _answers(group, client, reply, thinks=not thinking_is_off(body))

    while True:
        try:
            responses = await client.call(dialect.path, compose, parse)
        except CallError as fault:
            if begun is not None and dialect.continuing.refused(fault):
                discarded += [begun] if begun is not request.begun else []
                begun = None
                client.retries += 1
                continue
            if not (fault.fatal or fault.filtered) and dialect.learns(fault, body, request, tried):
                client.retries += 1
                continue
            if fault.fatal or (not fault.filtered and dialect.insists(fault, body, tried)):
                raise client.trouble(fault, dialect.model) from None
            raise
        dialect.refusals.learn(tried)
        if begun is not None:
            responses = [joined(begun, responses[0], paid=begun is not request.begun)]
            dialect.continuing.times += begun is not request.begun
        # Asked without room for a thought, a model that thinks is asked again, whether its answer was cut or not:
        # to draw only the long ones again would make answers shorter than the model gives them. A greedy answer stands
        # if it came to its end, and is continued if it was cut off and the server can.
        if not dialect.thinking.learns(responses, with_room=with_room) or dialect.is_final(request, responses, tried):
            stops = request.params.stop if with_room else ()
            responses = _with_tokens_of(discarded, responses)
            return [stopped(response, stops) for response in responses] if stops else responses
        client.retries += 1
        begun = await dialect.beginning(client, request, responses[0], tried) if len(group) == 1 else None
        discarded += responses if begun is None else []


def _with_tokens_of(discarded: Sequence[Response], responses: list[Response]) -> list[Response]:
    """Add to the first of ``responses`` what was paid for answers in whose place these stand."""
    paid = [response.usage for response in discarded if response.usage is not None]
    used = responses[0].usage
    if not paid or used is None:
        return responses
    read = used.prompt_tokens + sum(usage.prompt_tokens for usage in paid)
    written = used.completion_tokens + sum(usage.completion_tokens for usage in paid)
    return [replace(responses[0], usage=replace(used, prompt_tokens=read, completion_tokens=written)), *responses[1:]]


def _answers(group: Sequence[Request], client: Client, reply: Json, *, thinks: bool = True) -> list[Response]:
    """Return an answer for each choice of ``reply``, in the group's order; as many as there are of both."""
    choices = reply.get("choices") if isinstance(reply, dict) else None
    if not isinstance(choices, list) or not choices:
        # Some gateways report a failure with status 200.
        problem = reply.get("error") if isinstance(reply, dict) else None
        shown = client.quoted(str(problem.get("message") if isinstance(problem, dict) else problem))
        filtered = is_filter(json.dumps(reply, ensure_ascii=False)[:_READ_FOR_FILTERS])
        message = f"the answer holds no choices{f' ({shown})' if problem else ''}"
        raise CallError(message, retry=not filtered, filtered=filtered)
    if not all(isinstance(choice, dict) for choice in choices):
        raise CallError("the answer's choices are malformed", retry=True)
    choices = sorted(choices, key=lambda choice: choice["index"] if isinstance(choice.get("index"), int) else 0)
    used = reply.get("usage")
    shares = shared_usage(_usage(used) if isinstance(used, dict) else None, len(choices))
    return [
        _response_of(r.key, choice, usage, client.text_secrets, thinks=thinks)
        for r, choice, usage in zip(group, choices, shares, strict=False)
    ]


def _response_of(
    key: str, choice: Mapping[str, object], usage: Usage | None, secrets: Sequence[str], *, thinks: bool
) -> Response:
    """Return an answer as it came; ``thinks``: nothing in the request switched thinking off."""
    reason = choice.get("finish_reason")
    reason = hide(reason, secrets) if isinstance(reason, str) else None
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    if ending_of(reason) == "error" or isinstance(choice.get("error"), dict):
        problem = choice.get("error")
        shown = f" ({problem.get('message')})" if isinstance(problem, dict) else ""
        filtered = is_filter(shown)
        ended = hide(f"the server ended the answer with an error{shown}", secrets)[:300]
        raise CallError(ended, retry=not filtered, filtered=filtered)
    content = choice["text"] if "text" in choice else message.get("content")
    if content is not None and not isinstance(content, str | list):
        raise CallError(f"the answer's content is of another kind than a text ({_kind(content)})", retry=True)
    text, thought = _content(content), _thought(message, content)
    refusal = message.get("refusal") or _refusal(content)
    if not text and isinstance(refusal, str) and refusal:
        text, reason = refusal, "declined"
    if text is None and thought is not None and not thinks:
        text, thought = thought, None  # a server that parts thoughts filed the answer under them
    if text is None and thought is None:
        if not message and "text" not in choice:
            raise CallError(f"the answer holds no message (finish_reason {reason!r})", retry=True)
        text = ""  # null content without a thought says as much as ""
    text, thought = (None if value is None else hide(value, secrets) for value in (text, thought))
    return Response(key, text=text, thought=thought, finish_reason=reason, usage=usage)


def _content(content: object) -> str | None:
    """Return the text of a message; some servers answer in parts, of which thoughts are no text."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    texts = [
        piece.get("text") if isinstance(piece, dict) else piece
        for piece in content
        if isinstance(piece, str) or (isinstance(piece, dict) and piece.get("type") in _TEXT_PARTS)
    ]
    return "".join(text for text in texts if isinstance(text, str)) if texts else None


def _refusal(content: object) -> str | None:
    """Return the words of a refusal that stands among the parts of a message."""
    parts = content if isinstance(content, list) else ()
    refusals = (piece.get("refusal") for piece in parts if isinstance(piece, dict) and piece.get("type") == "refusal")
    return next((refusal for refusal in refusals if isinstance(refusal, str)), None)


def _kind(value: object) -> str:
    return {bool: "true or false", int: "a number", float: "a number", dict: "an object"}.get(type(value), "unknown")


def _thought(message: Mapping[str, object], content: object) -> str | None:
    """Return what a server parted from the answer as a thought, in a field of its own or as parts of the content."""
    fields = [value for name in _THOUGHT_FIELDS if isinstance(value := message.get(name), str)]
    texts = fields[:1] or [*_content_texts(message.get("reasoning_details")), *_content_texts(content, thoughts=True)]
    return "\n".join(texts) if any(map(str.strip, texts)) else None


def _content_texts(content: object, *, thoughts: bool = False) -> Iterator[str]:
    """Yield the texts of a list of typed parts, however nested; ``thoughts``: of those alone that are called so."""
    for piece in content if isinstance(content, list) else ():
        if not isinstance(piece, dict) or (thoughts and piece.get("type") not in _THOUGHT_PARTS):
            continue
        for value in (piece.get(name) for name in ("text", "thinking", "summary", "reasoning", "content")):
            if isinstance(value, str):
                yield value
            else:
                yield from _content_texts(value)


def _usage(used: Mapping[str, object]) -> Usage | None:
    """Return a server's counts of a call; what it does not tell of thoughts and of its cache stays unknown."""
    details = {
        name: value if isinstance(value, dict) else {}
        for name in ("completion_tokens_details", "prompt_tokens_details")
        for value in (used.get(name),)
    }
    thought = details["completion_tokens_details"].get("reasoning_tokens", used.get("reasoning_tokens"))
    cached = details["prompt_tokens_details"].get("cached_tokens", used.get("prompt_cache_hit_tokens"))
    return usage_of(used.get("prompt_tokens"), used.get("completion_tokens"), thought, cached)


def shared_usage(used: Usage | None, n: int) -> list[Usage | None]:
    """Share a call's counts of tokens out among its ``n`` answers, so that their sums are the call's own counts."""
    if used is None:
        return [None] * n
    written, rest = divmod(used.completion_tokens, n)
    thought, more = divmod(used.thinking_tokens or 0, n)
    known = used.thinking_tokens is not None
    first = replace(used, completion_tokens=written + rest, thinking_tokens=thought + more if known else None)
    return [first, *[Usage(0, written, thought if known else None)] * (n - 1)]

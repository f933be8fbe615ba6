"""From messages to the exact text a local model reads: its chat template, or a documented plain one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal, cast

from kapwa.errors import ModelError
from kapwa.records import Message
from kapwa.value_types import JsonMapping, Untyped

TemplateKind = Literal["chat", "plain"]

# Some chat templates print today's date. A fixed one makes the same request the same prompt for ever.
DEFAULT_DATE = "2025-01-01"
PLAIN_TEMPLATE = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"


class EncodingError(Exception):
    """A request that cannot be turned into tokens, for example because the template refuses it; the text says why."""


@dataclass(frozen=True, slots=True)
class ScoredForm:
    """How a template that knows of thoughts is rendered where given texts are scored (:mod:`.template_thinking`).

    ``arguments``: of the template; ``suffix``: what ends the prompt, such as an empty thought; ``tail``: what closes an
    answer; ``words``: all this for a signature.
    """

    arguments: JsonMapping
    suffix: str
    tail: str
    words: str


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """Renders conversations. ``chat`` is the tokenizer's own template; ``plain`` serves base models.

    The plain prompt is each message's content followed by a newline, in order, roles unsaid. The plain
    whole conversation is that prompt, the answer, and (added by the encoder) the end-of-text token. ``suffix`` ends
    every prompt; ``scored``: how prompts are rendered that given texts follow, None where that is no other way.
    """

    kind: TemplateKind
    tokenizer: Untyped
    source: str
    date: str = DEFAULT_DATE
    arguments: JsonMapping = field(default_factory=dict)
    suffix: str = ""
    scored: ScoredForm | None = None

    @property
    def digest(self) -> str:
        """16 hex digits of BLAKE2b over the template's text, date and arguments."""
        inputs = [self.kind, self.source, self.date, *(f"{k}={self.arguments[k]!r}" for k in sorted(self.arguments))]
        inputs += [self.suffix] if self.suffix else []
        return hashlib.blake2b("\0".join(inputs).encode(), digest_size=8).hexdigest()

    def prompt(self, messages: Sequence[Message]) -> str:
        """Return the text up to where the assistant's answer starts; raise EncodingError if refused."""
        if self.kind == "plain":
            return "".join(message.content + "\n" for message in messages)
        return self._render(messages, answer_follows=True) + self.suffix

    def scored_prompt(self, messages: Sequence[Message]) -> str:
        """Return the text up to where a given answer starts, any thought before it left out."""
        if self.scored is None:
            return self.prompt(messages)
        silent = replace(self, arguments={**self.arguments, **self.scored.arguments}, suffix="", scored=None)
        return silent.prompt(messages) + self.scored.suffix

    def scored_conversation(self, messages: Sequence[Message], answer: str) -> str:
        """Return the whole text that is scored: it begins with :meth:`scored_prompt`."""
        if self.scored is None:
            return self.conversation(messages, answer)
        return self.scored_prompt(messages) + answer + self.scored.tail

    def conversation(self, messages: Sequence[Message], answer: str) -> str:
        """Return the whole text, ``answer`` and the template's closing tokens included."""
        if self.kind == "plain":
            return self.prompt(messages) + answer
        return self._render([*messages, Message("assistant", answer)], answer_follows=False)

    def _render(self, messages: Sequence[Message], *, answer_follows: bool) -> str:
        day = date.fromisoformat(self.date)
        try:
            text = self.tokenizer.apply_chat_template(
                [{"role": message.role, "content": message.content} for message in messages],
                chat_template=_with_fixed_date(self.source, day),
                tokenize=False,
                add_generation_prompt=answer_follows,
                date_string=day.strftime("%d %b %Y"),
                **self.arguments,
            )
        except Exception as error:  # a template is a program; it may raise anything
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise EncodingError(f"the chat template refuses this conversation ({reason})") from error
        return cast(str, text)


def choose(tokenizer: Untyped, wanted: str, extra: JsonMapping) -> ChatTemplate:
    """Return the template ``wanted`` (``auto`` is ``chat`` where the tokenizer has one).

    ``extra`` may hold ``date`` (ISO, what a template that prints the date is told) and
    ``template_arguments`` (passed to the chat template, e.g. ``{"enable_thinking": False}``).
    Raises ModelError for ``chat`` without a chat template, or a date that is none.
    """
    has_chat = bool(getattr(tokenizer, "chat_template", None))
    if wanted == "chat" and not has_chat:
        raise ModelError(
            "The model's tokenizer has no chat template.",
            hint="It is probably a base model: use the plain template (template='plain').",
        )
    day = str(extra.get("date", DEFAULT_DATE))
    try:
        date.fromisoformat(day)
    except ValueError:
        raise ModelError(f"The template date {day!r} is not a date.", hint="Write it as YYYY-MM-DD.") from None
    if wanted == "plain" or not has_chat:
        return ChatTemplate("plain", tokenizer, PLAIN_TEMPLATE)
    arguments = dict(extra.get("template_arguments", {}))
    return ChatTemplate("chat", tokenizer, tokenizer.get_chat_template(), day, arguments)


def _with_fixed_date(source: str, day: date) -> str:
    """Return the template with its ``strftime_now`` function replaced by one that knows only ``day``.

    The library hands templates strings only, never functions, so the replacement is a Jinja macro.
    """
    if "strftime_now" not in source:
        return source
    written = {f"%{code}": day.strftime(f"%{code}") for code in "aAbBdmyYHIMSpjcxX"}
    written |= {"%-d": str(day.day), "%-m": str(day.month)}
    steps = "".join(f" | replace({code!r}, {text!r})" for code, text in written.items())
    # The empty expression keeps the first line break of the template from being taken for the macro's.
    return "{% macro strftime_now(format) %}{{ format" + steps + " }}{% endmacro %}{{ '' }}" + source

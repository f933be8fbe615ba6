"""What a server refuses of the settings of a request: learnt from its errors, left out from then on, and told.

Servers differ in what they take: newer models of OpenAI refuse a temperature, Gemma's template a system message, some
proxies ``seed``. Each says so in its own words; ``refused_settings.csv`` has an example of each. A setting that a
server refuses is left out of the same request at once; it counts as learnt when that request then gets through, so that
an error which only happens to name a setting changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kapwa.files import table_rows
from kapwa.models.openai_client import CallError
from kapwa.records import Message
from kapwa.value_types import JsonMapping, JsonObject

_ROWS = tuple(table_rows(Path(__file__).with_name("refused_settings.csv")))
_NAMES = {name: row["setting"] for row in _ROWS for name in row["sent_as"].split()}
_PATTERNS = {row["setting"]: re.compile(rf"(?<!\w)(?:{row['pattern']})(?!\w)", re.IGNORECASE) for row in _ROWS}
# Words with which servers refuse a setting or a value of it.
_REFUSED = re.compile(
    r"unsupported|unrecogni[sz]ed|unknown|unexpected|invalid|illegal|forbidden|deprecated|removed|obsolete|restricted"
    r"|not (?:\w+ ){0,2}(?:support|permit|allow|accept|enabl|implement|available|valid|recogni[sz]e|configurable)"
    r"|n't (?:\w+ )?(?:support|accept|allow|permit|recogni[sz]e)|extra (?:inputs|fields)|fixed|disabled|incompatible"
    r"|only (?:the )?(?:default|supports?|accepts?|allows?|works?|one|1\b)|mutually exclusive|refused?|reject|required"
    r"|must (?:be|not)|should (?:be|not)|has to be|needs? to be|can(?:not|'t)|please use",
    re.IGNORECASE,
)
_STREAM_ONLY = re.compile(
    r"(?:only|must|required?|needs?|should|please|has to|set|enable)\W[^.]{0,60}stream|stream(?:ing)?[^.]{0,40}"
    r"(?:required|must|only|mandatory|=\s*true|to true|is needed)|non-?stream",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"(?:too (?:large|long|big|many|high)|exceed|maximum|at most|up to|less than|smaller than|greater than|range|limit"
    r"|between|context)",
    re.IGNORECASE,
)
LENGTHS = ("max_tokens", "max_completion_tokens")
SYSTEM = "system"


@dataclass(slots=True)
class Refusals:
    """Settings that a server refuses; ``learnt``: each with the value that was asked first."""

    learnt: JsonObject = field(default_factory=dict)

    def blamed(self, fault: CallError, sent: JsonMapping, messages: Sequence[Message]) -> str | None:
        """Return which of the settings ``sent`` a fault blames, by Kapwa's name; None for none of them.

        ``messages``: what was asked; an error that quotes it blames nothing with that.
        """
        if fault.status not in (400, 422):
            return None
        present = {_NAMES[name] for name in sent if name in _NAMES}
        turns = sent.get("messages") or ()
        if any(turn.get("role") == SYSTEM for turn in turns if isinstance(turn, Mapping)):
            present.add(SYSTEM)
        named = setting_of(fault.param)
        if named in present:
            return named
        text = without_quotes(fault.message, messages)
        if _STREAM_ONLY.search(text) and not sent.get("stream"):
            return "stream"
        # An error says why in the sentence that names the setting, or in the next one.
        sentences = re.split(r"(?<=[.!?;])\s+|\n", text)
        for index, sentence in enumerate(sentences):
            words = " ".join(sentences[index : index + 2])
            if not _REFUSED.search(f"{words} {fault.code}"):
                continue
            spans = [(match.start(), name) for name in present if (match := _PATTERNS[name].search(sentence))]
            if spans:
                return min(spans)[1]
        return None

    def learn(self, tried: Mapping[str, object]) -> None:
        """Take note that requests without the settings ``tried`` got through; the first values asked stay."""
        for name, value in tried.items():
            self.learnt.setdefault(name, value)

    def sentences(self) -> list[str]:
        """Say in sentences what was left out: "temperature: the server's own; 0 was asked."."""
        return [_remark(name, value) for name, value in sorted(self.learnt.items())]


def setting_of(name: str) -> str:
    """Return Kapwa's name of a setting that a request's JSON, or a server's error, names ``name``."""
    return _NAMES.get(name.rpartition(".")[2], name)


def _remark(name: str, value: object) -> str:
    if name == SYSTEM:
        return "system message: put before the first question, since the server refuses the role."
    if name == "stream":
        return "answers were streamed: the server gives none in one piece."
    if name == "n":
        return "n: samples were asked for one by one, since the server gives one answer a request."
    if name == "length":
        return f"length: no limit was sent, since the server refuses one; {value} tokens were asked."
    shown = f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else repr(value)
    return f"{name}: the server's own; {shown} was asked."


def too_long(fault: CallError) -> bool:
    """Whether a fault says that the limit on an answer's length is larger than the server can give."""
    if fault.status not in (400, 422):
        return False
    about = fault.param in LENGTHS or any(name in fault.message for name in (*LENGTHS, "maximum context length"))
    return about and _TOO_LONG.search(fault.message) is not None


def without_quotes(text: str, messages: Iterable[Message]) -> str:
    """Return what a server said without the lines of ``messages`` that it quotes."""
    lines = {line.strip() for message in messages for line in message.content.splitlines()}
    for line in sorted((line for line in lines if len(line) > 8), key=len, reverse=True):
        text = text.replace(line, " ")
    return text


def merged_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return ``messages`` with what system messages say put before the first turn of the user."""
    system = [message.content for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    first = next((index for index, message in enumerate(others) if message.role == "user"), None)
    if not system or first is None:
        return tuple(messages)
    turn = others[first]
    others[first] = Message("user", "\n\n".join([*system, turn.content]), turn.media)
    return tuple(others)

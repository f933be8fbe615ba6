"""Answers that a server streams: server-sent events of an OpenAI-compatible server, put together to one reply."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from kapwa.value_types import Cells, Json, JsonMapping, JsonObject

EVENT_STREAM = "text/event-stream"
_DONE = "[DONE]"


class StreamError(Exception):
    """A stream that holds no whole answer; the text says why."""


def assembled(raw: bytes) -> JsonObject:
    """Return the reply that the events in ``raw`` amount to, as a server that does not stream would give it.

    Texts of a choice are joined in their order; of all else the last value stays. Raises StreamError for an error that
    the server streams, for what is no JSON, and for a stream that ends before any choice says why it ended.
    """
    reply: JsonObject = {}
    choices: dict[int, JsonObject] = {}
    done = False
    for data in _events(raw):
        if data == _DONE:
            done = True
            continue
        event = _parsed(data)
        if event.get("error"):
            error = event["error"]
            raise StreamError(
                f"the server streamed an error: {error.get('message') if isinstance(error, dict) else error}"
            )
        for number, choice in enumerate(_list(event.get("choices"))):
            index = choice.get("index", number)
            _add(choices.setdefault(index if isinstance(index, int) else number, {}), choice)
        reply |= {name: value for name, value in event.items() if name != "choices" and value is not None}
    if not done and not any(choice.get("finish_reason") for choice in choices.values()):
        raise StreamError("the stream was cut before the answer was complete")
    reply["choices"] = [choices[index] for index in sorted(choices)]
    return reply


def _events(raw: bytes) -> Iterator[str]:
    """Yield the data of each event; an event of several lines is one text."""
    for event in raw.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in event.split("\n") if line.startswith("data:")]
        if lines:
            yield "\n".join(lines).strip()


def _parsed(data: str) -> JsonMapping:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        raise StreamError("the stream holds an event that is not valid JSON") from None
    return event if isinstance(event, dict) else {}


def _list(value: object) -> list[Cells]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _add(whole: JsonObject, delta: Mapping[str, object]) -> None:
    """Add what an event says of a choice to what is known of it."""
    for name, value in delta.items():
        if name in ("delta", "message"):
            message = whole.setdefault("message", {})
            for key, piece in value.items() if isinstance(value, dict) else ():
                _join(message, key, piece)
        elif name == "text":
            _join(whole, name, value)
        elif value is not None:
            whole[name] = value


def _join(message: JsonObject, key: str, piece: Json) -> None:
    """Join a text, or a list of parts, to what came of it before; of all else, such as a role, the last stays."""
    before = message.get(key)
    joins = key not in ("role", "type", "id") and type(before) is type(piece) and isinstance(piece, str | list)
    if joins:
        message[key] = before + piece
    elif piece is not None or key not in message:
        message[key] = piece

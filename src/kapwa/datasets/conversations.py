"""Conversations that stand before an item's question: a column of any form, and how people read one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, WithJsonSchema

from kapwa.datasets.rows import cell_error
from kapwa.languages.codes import NO_TAG, is_language_tag, tag_hint
from kapwa.records import Message

_EXAMPLE = 'Such as [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}].'
_SPEAKERS = {"system": "System", "user": "User", "assistant": "Assistant"}


@dataclass(frozen=True, slots=True)
class Turn(Message):
    """One turn of an item's conversation: words of the data, which no wording of a run changes.

    ``language``: its BCP-47 code, "" where it is the item's.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    language: str = ""


def _turns(cell: Any) -> tuple[Turn, ...]:
    """Read a cell as turns that a question of the user can follow."""
    if isinstance(cell, str) and not cell.strip():
        return ()
    adapter = TypeAdapter(tuple[Turn, ...])
    try:
        turns = adapter.validate_json(cell) if isinstance(cell, str) else adapter.validate_python(cell)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place, *key = first["loc"] or ("",)
        named = "".join((f"turn {place + 1}: " if isinstance(place, int) else "", *(f"{part!r}: " for part in key)))
        raise cell_error(f"is no list of turns ({named}{first['msg']}).", _EXAMPLE) from None
    for number, turn in enumerate(turns, start=1):
        if not turn.content.strip():
            raise cell_error(f"turn {number} is empty.", "Write what was said, or leave the turn out.")
        if turn.language and not is_language_tag(turn.language):
            raise cell_error(f"turn {number}: {NO_TAG.format(turn.language)}", tag_hint(turn.language))
    _check_order([turn.role for turn in turns])
    return turns


def _check_order(roles: Sequence[str]) -> None:
    """Refuse roles that no conversation has, and a last turn of the user, whose question comes next."""
    for number, role in enumerate(roles, start=1):
        if role == "system" and number > 1:
            raise cell_error(f"turn {number} is the system's, and only the first can be.")
        if number > 1 and role == roles[number - 2]:
            hint = "Turns of user and assistant alternate: join the two, or add what was said between them."
            raise cell_error(f"turns {number - 1} and {number} are both the {role}'s.", hint)
    if roles and roles[-1] == "user":
        hint = "End with an answer of the assistant; a last turn of the user is the question itself."
        raise cell_error("ends with a turn of the user, and the question after it is the user's, too.", hint)


_STRING = {"type": "string"}
_TURN = {
    "type": "object",
    "properties": {"role": {"enum": [*_SPEAKERS]}, "content": _STRING, "language": _STRING},
    "required": ["role", "content"],
    "additionalProperties": False,
}
Turns = Annotated[
    tuple[Turn, ...],
    BeforeValidator(_turns),
    WithJsonSchema({"anyOf": [{"type": ["string", "null"]}, {"type": "array", "items": _TURN}]}),
    Field(description="The conversation before the question: a JSON list of turns (role, content, language)."),
]


def in_conversation(fields: Mapping[str, Any], question: str) -> str:
    """Return a question as people read it after its conversation; ``fields``: an item's, or a row of a run's items."""
    turns = fields.get("messages") or ()
    if isinstance(turns, str):
        turns = [Message(turn["role"], turn["content"]) for turn in json.loads(turns)]
    return transcript((*turns, Message("user", question)))


def transcript(messages: Sequence[Message]) -> str:
    """Write messages as people read them; one alone without its speaker."""
    return messages[0].content if len(messages) == 1 else "\n\n".join(_spoken(messages))


def _spoken(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        yield f"{_SPEAKERS[message.role]}: {message.content}"

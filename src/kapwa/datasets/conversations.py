"""Conversations before an item's question, with pictures and recordings: read columns of any form, and show them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, ValidationInfo

from kapwa.datasets.card import Tag
from kapwa.datasets.rows import Filled, RowModel, cell_error
from kapwa.languages.codes import NO_TAG
from kapwa.records import MEDIA_TYPES, Item, Media, Message, Role
from kapwa.tables.wrong_values import wrong_value

LARGEST = 20_000_000  # bytes of a file; few servers accept larger ones
# The folder with the files, where a table's rows are read from another location than the user's.
MEDIA_FOLDER: ContextVar[Path | None] = ContextVar("MEDIA_FOLDER", default=None)


@dataclass(frozen=True, slots=True)
class Turn(Message):
    """One turn of an item's conversation; ``language`` is its BCP-47 code, "" where it is the item's."""

    language: str = ""


class NamedFile(BaseModel):
    """A picture or recording as tables name it."""

    model_config = ConfigDict(extra="forbid")

    path: Filled
    alt: Filled
    sha256: str | None = None
    licence: str | None = None


class WrittenTurn(BaseModel):
    """A turn as tables hold it."""

    model_config = ConfigDict(extra="forbid")

    role: Role
    content: str
    language: Tag | None = None
    media: tuple[NamedFile, ...] | None = None


_Entry = TypeVar("_Entry", bound=BaseModel)
_EXAMPLES = {
    "turn": 'Such as [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}].',
    "file": 'Such as [{"path": "images/bread.png", "alt": "A round flat loaf"}].',
}


def _listed(cell: object, kind: type[_Entry], what: str) -> tuple[_Entry, ...]:
    """Read a cell as a JSON list of ``kind``, which messages call ``what``."""
    if isinstance(cell, str) and not cell.strip():
        return ()
    adapter: TypeAdapter[tuple[_Entry, ...]] = TypeAdapter(tuple[kind, ...])  # type: ignore[valid-type]
    try:
        return adapter.validate_json(cell) if isinstance(cell, str) else adapter.validate_python(cell)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        index, *keys = first["loc"] or ("",)
        named = "".join((f"{what} {index + 1}: " if isinstance(index, int) else "", *(f"{key!r}: " for key in keys)))
        why = NO_TAG.format(first["input"]) if first["type"] == "string_pattern_mismatch" else wrong_value(first)
        raise cell_error(f"is no JSON list of {what}s: {named}{why}", _EXAMPLES[what]) from None


def _turns(cell: object, row: ValidationInfo) -> tuple[Turn, ...]:
    """Read a cell as turns that a question of the user can follow."""
    entries = _listed(cell, WrittenTurn, "turn")
    before = ""
    for number, entry in enumerate(entries, start=1):
        if not (entry.content.strip() or entry.media):
            raise cell_error(f"turn {number} is empty.", "Write what was said, or leave the turn out.")
        if entry.role == "system" and number > 1:
            raise cell_error(f"turn {number} is the system's, and only the first can be.", "Leave it out.")
        if entry.role == before:
            hint = "Turns of user and assistant alternate: join the two, or add what was said between them."
            raise cell_error(f"turns {number - 1} and {number} are both the {before}'s.", hint)
        before = entry.role
    if before == "user":
        hint = "End with an answer of the assistant; a last turn of the user is the question itself."
        raise cell_error("ends with a turn of the user, and the question after it is the user's, too.", hint)
    named = [(entry, _at_hand(entry.media or (), row)) for entry in entries]
    return tuple(Turn(entry.role, entry.content, media, entry.language or "") for entry, media in named)


def _media(cell: object, row: ValidationInfo) -> tuple[Media, ...]:
    """Read a cell as the files that go with the question itself."""
    return _at_hand(_listed(cell, NamedFile, "file"), row)


def _at_hand(files: Sequence[NamedFile], row: ValidationInfo) -> tuple[Media, ...]:
    """Return media with the paths of their files; refuse files that are not in the data's folder under their names."""
    folder = (MEDIA_FOLDER.get() or row.data["origin"].path.parent).resolve()
    return tuple(_sound_file(file, folder) for file in files)


def _sound_file(media: NamedFile, folder: Path) -> Media:
    try:
        file = (folder / media.path).resolve()
        size = file.stat().st_size if file.is_file() else None
    except (OSError, ValueError):  # a name too long, or with a NUL
        size = None
    if size is None:
        message = f"there is no file {media.path!r} in the folder of the data."
        raise cell_error(message, "Write its path from the folder of the table on.")
    if not file.is_relative_to(folder):
        raise cell_error(f"{media.path!r} does not lie in the folder of the data.", "Copy the file there.")
    if Path(media.path).suffix.lower() not in MEDIA_TYPES:
        raise cell_error(f"{media.path!r} is of an unknown kind.", f"Available: {', '.join(MEDIA_TYPES)}.")
    if size > LARGEST:
        raise cell_error(f"{media.path!r} has {size:,} bytes; at most {LARGEST:,} are sent.", "Save a smaller copy.")
    with file.open("rb") as opened:
        sha256 = hashlib.file_digest(opened, "sha256").hexdigest()
    if media.sha256 and media.sha256.lower() != sha256:
        message = f"{media.path!r} is another file than its SHA-256 names: it has {sha256}."
        raise cell_error(message, "Copy the right file there, or correct its SHA-256.")
    return Media(media.path, media.alt, sha256, media.licence or "", str(file))


class Conversed(RowModel):
    """A row whose question may have a conversation before it, and pictures and recordings with it."""

    messages: Annotated[
        tuple[Turn, ...], BeforeValidator(_turns, json_schema_input_type=str | tuple[WrittenTurn, ...] | None)
    ] = Field((), description="The conversation before the question: a JSON list of turns.")
    media: Annotated[
        tuple[Media, ...], BeforeValidator(_media, json_schema_input_type=str | tuple[NamedFile, ...] | None)
    ] = Field((), description="Pictures and recordings that go with the question: a JSON list of files.")


def in_conversation(item: Item, question: str) -> str:
    """Return an item's question as people read it after its conversation.

    In the items of a finished run, prompts already have this form, and the conversation before them is JSON text.
    """
    if any(isinstance(item.fields.get(name), str) for name in ("messages", "media")):
        return question
    return transcript((*item.fields.get("messages", ()), Message("user", question, item.fields.get("media", ()))))


def transcript(messages: Sequence[Message]) -> str:
    """Write messages as people read them; a single message is written without its speaker."""
    if len(messages) == 1:
        return shown(messages[0])
    return "\n\n".join(f"{message.role.title()}: {shown(message)}" for message in messages)


def shown(message: Message) -> str:
    """Return a message's text, after descriptions of its pictures and recordings."""
    files = [f"[{media.type.partition('/')[0]}: {media.alt} ({media.path})]" for media in message.media]
    return "\n".join([*files, message.content])

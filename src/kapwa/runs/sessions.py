"""Who committed the answers of a store: the rows of its table ``sessions``, and the types that readers rely on."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from pydantic import Field, Json, TypeAdapter
from typing_extensions import TypedDict


class ModelRecord(TypedDict):
    """Of which model a cache keeps answers."""

    id: str
    revision: str
    fingerprint: dict[str, Any]


class SessionRecord(TypedDict, total=False):
    """Where answers came from: what computed them, the cache they were taken from, of which model a cache has them."""

    environment: dict[str, Any]
    cache: dict[str, str]
    model: ModelRecord


# Up to the year 9999: what a date can say.
Seconds = Annotated[float, Field(ge=0, le=253_402_300_799, allow_inf_nan=False)]


class Session(NamedTuple):
    """A process that committed answers of one origin, the ``record`` (empty where that is not known).

    ``started``, ``ended``: Unix seconds. ``answers``: those of it that are in the store, ``bytes``: their size.
    ``damaged``: the row was not as any Kapwa writes it; then its record is empty, and its times are the file's.
    """

    number: int
    started: Seconds
    ended: Seconds
    record: Json[SessionRecord]
    answers: int
    bytes: int
    damaged: bool = False


# Reads a row: its columns, then the counts; raises pydantic's ValidationError for one that no Kapwa wrote.
SESSION = TypeAdapter(Session)

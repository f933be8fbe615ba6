"""The kinds of events: what each does to the current tables, and what an erasure takes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from django.utils.translation import gettext as _

from kapwa.errors import KapwaError
from kapwa.files import table_rows
from kapwa.studio.core.tables import Current, Event
from kapwa.value_types import JsonObject

Row = TypeVar("Row", bound=Current)
Apply = Callable[..., None]  # called with an event, and ``live``; raises RefusedError where it cannot happen


class RefusedError(KapwaError):
    """An event that cannot happen in this state."""


class Kind(NamedTuple):
    """A kind of event, and what an erasure takes of it; what names an emptied event in its body is emptied, too.

    ``counted``: whether the body gets a number, by "project" or by "subject".
    ``stays``: it holds no text and is about others' work, so that its author alone is emptied.
    ``remarks``: fields of a body in which people say something of others' words; one that quotes a sentence that was
    removed is emptied.
    ``left``: what is left of a body beside the events that are left; None: all of it.
    ``repeats``: a machine may repeat in it what people wrote: models' answers, and texts drawn from runs.
    ``nameless``: no page and no archive of a page says who did it, nor when; so it is of all that is done at desks.
    """

    apply: Apply
    counted: str = ""
    stays: bool = False
    remarks: tuple[str, ...] = ()
    left: Callable[[Event, Sequence[Event]], JsonObject] | None = None
    repeats: bool = False
    nameless: bool = False


KINDS: dict[str, Kind] = {}
# What pages call each kind, in English.
ACTS = {row["kind"]: row["text"] for row in table_rows(Path(__file__).with_name("acts.csv"))}


def kind(*names: str, **rules: Any) -> Callable[[Apply], Apply]:
    """Register the function that applies events of these kinds; ``rules`` are the other fields of :class:`Kind`."""

    def register(apply: Apply) -> Apply:
        KINDS.update(dict.fromkeys(names, Kind(apply, **rules)))
        return apply

    return register


def common(event: Event) -> JsonObject:
    """Return what every current row has from its event: its id, project and place in the log."""
    return {"id": str(event.uuid), "project_id": event.project_id, "seq": event.seq}


def without_reason_of_nobody(event: Event, others: Sequence[Event]) -> JsonObject:
    """Return a body without its ``reason`` where whoever gave it withdrew their words; what they decided stays."""
    return event.body if event.actor or "reason" not in event.body else event.body | {"reason": ""}


def refuse_without_reason(event: Event, against: Mapping[str, object] | None, message: str, *, hint: str) -> None:
    """Refuse a decision against most people that holds no reason, or not what these said.

    ``against``: what they say now, None where the decision does not go against it. ``message`` may name its fields.
    """
    if against and not (event.body.get("reason") and event.body.get("against") == against):
        raise RefusedError(message % against, hint=hint)


def row_or_refused(table: type[Row], event: Event, gone: str, *, hint: str = "", **where: object) -> Row:
    """Return the row of ``table`` that an event is about; raise RefusedError, saying ``gone``, where there is none.

    ``where``: what else must be true of it.
    """
    row = table.objects.filter(project_id=event.project_id, id=event.subject, **where).first()
    if row is None:
        raise RefusedError(gone, hint=hint or _("Go back to the list."))
    return row

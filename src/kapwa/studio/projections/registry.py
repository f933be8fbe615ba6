"""The kinds of events: what each does to the current tables, and what an erasure takes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from kapwa.errors import KapwaError
from kapwa.studio.models import Event


class RefusedError(KapwaError):
    """An event that cannot happen in this state."""


class Apply(Protocol):
    """Applies an event to the current tables."""

    def __call__(self, event: Event, *, live: bool) -> None:
        """Apply ``event``; raise RefusedError where it cannot happen."""


class Kind(NamedTuple):
    """A kind of event. ``kept``: what stays of a body at an erasure; ``counted``: by "project", by "subject", or "".

    ``stays``: it holds no text and is about others' work, so at an erasure its author alone is emptied.
    ``begins``: it begins a thing (a situation, a question), whose id is the event's; where its author removes it, what
    others did with it goes, too: events with it as their subject, or naming it in one of the fields ``rests_on``.
    ``remarks``: fields of a body in which people say something of others' words; one that quotes a sentence that was
    removed is emptied.
    ``left``: what is left of a body once the tables are made of what others contributed; None: all of it.
    ``repeats``: its ``texts`` may repeat what people wrote, as runs do; at an erasure those that do are emptied.
    """

    apply: Apply
    kept: tuple[str, ...] = ()
    counted: str = ""
    stays: bool = False
    begins: bool = False
    rests_on: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    left: Callable[[Event], dict[str, Any]] | None = None
    repeats: bool = False


KINDS: dict[str, Kind] = {}


def kind(name: str, **rules: Any) -> Callable[[Apply], Apply]:
    """Register the function that applies events of a kind; ``rules`` are the other fields of :class:`Kind`."""

    def register(apply: Apply) -> Apply:
        KINDS[name] = Kind(apply, **rules)
        return apply

    return register


def common(event: Event) -> dict[str, Any]:
    """Return what every current row has from its event: its id, project and place in the log."""
    return {"id": str(event.uuid), "project_id": event.project_id, "seq": event.seq}

"""Desks: work that one person does alone, item by item, such as answering questions or rating texts.

A desk says what work there is as data (:class:`Task`): what is shown, and which fields are filled in. The page in the
browser, the queue of a phone without a network, printable sheets, tables and forms for other collectors are all made
from that, and all that is filled in anywhere comes back through :func:`deliver`.
"""

from __future__ import annotations

import uuid as uuids
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.studio.events import record
from kapwa.studio.fields import tidy
from kapwa.studio.models import Event, Membership, Project


@dataclass(frozen=True, slots=True)
class Option:
    """Something to choose: ``value`` is stored, ``text`` is read; ``language`` "" for a text of the interface."""

    value: str
    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """One thing to fill in.

    ``kind``: "text" (a line), "long" (lines), "choice" (one of ``options``), "many" (any of them). ``language``: of
    what is typed, "" where nothing is. ``only_with``: values of the task's button with which the field counts, () for
    all; with others what stands in it is not sent.
    """

    name: str
    label: str
    kind: str
    options: tuple[Option, ...] = ()
    required: bool = False
    language: str = ""
    only_with: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """A text that the person reads: ``label`` is the interface's, ``text`` somebody's, in ``language``."""

    label: str
    text: str
    language: str


@dataclass(frozen=True, slots=True)
class Task:
    """One item of work. ``subject``: what it is about; ``seen``: the revision or order shown, sent back as it is.

    ``buttons``: the ways to finish, such as "answer", "don't know"; the one pressed is sent as the value ``button``.
    """

    desk: str
    subject: str
    seen: str
    shown: tuple[Shown, ...]
    fields: tuple[Field, ...]
    buttons: tuple[Option, ...]


class Desk(Protocol):
    """A kind of work. One object a desk, put into :data:`DESKS` under its ``name`` by the module that defines it."""

    name: str
    kind: str  # of the event that is recorded
    roles: frozenset[str]

    def title(self) -> str:
        """Return what the interface calls the work, in its present language."""

    def offered(self, project: Project) -> bool:
        """Whether the project has such work at all."""

    def draw(self, member: Membership, count: int) -> Sequence[Task]:
        """Return up to ``count`` tasks that the member has not done, and lease them; the same ones while leased."""

    def find(self, member: Membership, subject: str, seen: str) -> Task | None:
        """Return a task as it was shown, also where its text has changed since; None where there never was one."""

    def left(self, member: Membership) -> int:
        """Return how many tasks wait for the member."""

    def body(self, member: Membership, task: Task, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the event's body for what was filled in, checked by :func:`checked` already."""


DESKS: dict[str, Desk] = {}


class FieldError(UsageError):
    """Something filled in wrongly; ``field`` names it, "" for the button."""

    def __init__(self, field: str, message: str, *, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.field = field


def offered(member: Membership) -> list[Desk]:
    """Return the desks at which a member may work, by name."""
    found = (desk for _, desk in sorted(DESKS.items()) if not desk.roles.isdisjoint(member.roles))
    return [desk for desk in found if desk.offered(member.project)]


def desk_of(member: Membership, name: str) -> Desk:
    """Return the desk ``name``; raise UsageError where it is not offered to the member."""
    for desk in offered(member):
        if desk.name == name:
            return desk
    raise UsageError(_("This work is not offered to you here."), hint=_("Go back to the start page."))


def task_of(member: Membership, desk: Desk, subject: str, seen: str) -> Task:
    """Return a task as it was shown; raise UsageError where there never was one."""
    task = desk.find(member, subject, seen)
    if task is None:
        raise UsageError(_("There is no such task."), hint=_("Open the list of tasks again."))
    return task


def deliver(
    project: Project,
    member: Membership,
    desk: str,
    *,
    subject: str,
    seen: str,
    values: Mapping[str, Any],
    uuid: uuids.UUID | None = None,
    device_time: datetime | None = None,
) -> Event:
    """Record what a member filled in for a task; in a transaction, within ``events.writing``.

    Sent again with the same ``uuid`` it counts once. Raises UsageError for a desk or task that is none or is not the
    member's, FieldError for what is filled in wrongly; ConflictError and RefusedError as ``events.record`` does.
    """
    found = desk_of(member, desk)
    task = task_of(member, found, subject, seen)
    body = found.body(member, task, checked(task, values))
    return record(
        project,
        found.kind,
        body,
        actor=member.author,
        uuid=uuid,
        subject=subject,
        device_time=device_time,
    )


def checked(task: Task, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a task's fields and its ``button``, tidied.

    A field of kind "many" has a list of values, the others a text, "" where nothing was filled in. Raises FieldError
    for the first that is filled in wrongly.
    """
    button = str(values.get("button", ""))
    if task.buttons and button not in {one.value for one in task.buttons}:
        raise FieldError("", _("It is not said how the task was finished."), hint=_("Press one of its buttons."))
    found: dict[str, Any] = {"button": button}
    for field in task.fields:
        counts = not field.only_with or button in field.only_with
        given = values.get(field.name) if counts else None
        chosen = given if isinstance(given, (list, tuple)) else [] if given is None else [given]
        texts = _tidied(field, chosen)
        wrong = [text for text in texts if text not in {one.value for one in field.options}]
        if field.kind in ("choice", "many") and wrong:
            message = _("“%(text)s” is not one of the choices.") % {"text": wrong[0]}
            raise FieldError(field.name, f"{field.label}: {message}", hint=_("Choose again."))
        if counts and field.required and not texts:
            message = f"{field.label}: {_('nothing is filled in.')}"
            raise FieldError(field.name, message, hint=_("Fill it in, or finish another way."))
        found[field.name] = list(dict.fromkeys(texts)) if field.kind == "many" else (texts[0] if texts else "")
    return found


def _tidied(field: Field, chosen: Sequence[Any]) -> list[str]:
    try:
        return [text for text in (tidy(str(one)) for one in chosen) if text]
    except UsageError as error:
        raise FieldError(field.name, f"{field.label}: {error.summary}", hint=error.hint or "") from None


def device_time(text: str) -> datetime | None:
    """Return when a device says that something was filled in; None where it says nothing that can be read."""
    try:
        found = parse_datetime(text)
        return found.astimezone(UTC) if found is not None and found.tzinfo is not None else None
    except (ValueError, OverflowError):  # the last hour of the year 9999 is none in UTC
        return None

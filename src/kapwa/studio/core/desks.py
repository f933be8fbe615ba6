"""Desks: work that one person does alone, item by item, such as answering questions or rating texts.

A desk says what work there is as data (:class:`DeskTask`): what is shown, and which fields are filled in. The page in
the browser, the queue of a phone without a network, printable sheets, tables and forms for other collectors are all
made from that, and all that is filled in anywhere comes back through :func:`filled_in`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.studio.core.assigning import finish
from kapwa.studio.core.kinds import KINDS
from kapwa.studio.core.languages import language
from kapwa.studio.core.log import record
from kapwa.studio.core.reading import once_a_page
from kapwa.studio.core.tables import Event, Membership, Project
from kapwa.studio.core.text import LONGEST, tidy
from kapwa.value_types import JsonObject

BUTTON = "button"


@dataclass(frozen=True, slots=True)
class Option:
    """Something to choose: ``value`` is stored, ``text`` is read; ``language`` "" for a text of the interface."""

    value: str
    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """One thing to fill in.

    ``kind``: "text" (a line), "long" (lines) or "choice" (one of ``options``). ``language``: of what is typed, "" where
    nothing is. ``longest``: in characters. ``only_with``: values of the task's button with which the field counts, ()
    for all; with others what stands in it is not sent.
    """

    name: str
    label: str
    kind: str
    options: tuple[Option, ...] = ()
    required: bool = False
    language: str = ""
    longest: int = LONGEST
    only_with: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """A text that the person reads: ``label`` is the interface's, ``text`` somebody's, in ``language``."""

    label: str
    text: str
    language: str


@dataclass(frozen=True, slots=True)
class DeskTask:
    """One item of work. ``subject``: what it is about; ``seen``: the revision or order shown, sent back as it is.

    ``buttons``: the ways to finish, such as "answer", "don't know"; the one pressed is sent as the value ``button``.
    ``lease``: what is leased for it, where that is not the subject.
    """

    desk: str
    subject: str
    seen: str
    shown: tuple[Shown, ...]
    fields: tuple[Field, ...]
    buttons: tuple[Option, ...]
    lease: str = ""

    @property
    def asked(self) -> tuple[Field, ...]:
        """All that is said of the task: how it was finished, as a choice, and its fields."""
        return (Field(BUTTON, _("How you finish the task"), "choice", self.buttons, required=True), *self.fields)

    @property
    def by_choice(self) -> bool:
        """Whether all that must be filled in is chosen, so that the last choice finishes the task."""
        needed = [field for field in self.fields if field.required]
        return bool(needed) and all(field.options for field in needed)


class Work(NamedTuple):
    """Tasks for a member, and how many wait for them in all."""

    tasks: list[DeskTask]
    left: int


class Desk(Protocol):
    """A kind of work. One object a desk, put into :data:`DESKS` under its ``name`` by the module that defines it.

    That module is imported by the ``form.py`` of its form, or named in ``studio/apps.py``; ``kind`` is registered with
    :func:`kapwa.studio.core.kinds.kind`. CONTRIBUTING.md has the steps.
    """

    name: str
    kind: str  # of the event that is recorded
    roles: frozenset[str]

    def title(self) -> str:
        """Return what the interface calls the work, in its present language."""

    def offered(self, project: Project) -> bool:
        """Whether the project has such work at all, by its form (``form_of``) or by what is in it, never by a name."""

    def draw(self, member: Membership, count: int) -> Work:
        """Return up to ``count`` tasks that the member has not done, and lease them; the same ones while leased.

        ``assigning.assign`` chooses and leases; ``left`` counts the same with ``assigning.waiting``.
        """

    def find(self, member: Membership, subject: str, seen: str) -> DeskTask | None:
        """Return a task as it was shown, also where its text has changed since; None where there never was one."""

    def left(self, member: Membership) -> int:
        """Return how many tasks wait for the member."""

    def body(self, member: Membership, task: DeskTask, values: Mapping[str, str]) -> JsonObject:
        """Return the event's body for what was filled in, checked by :func:`checked` already."""

    def said(self, event: Event) -> tuple[str, dict[str, str]]:
        """Return what a member saw and filled in, of the event that :meth:`body` made, so that they can correct it."""

    def done(self, member: Membership) -> QuerySet[Event]:
        """Return the events by which a member did tasks, of :func:`done_by`, where other desks record the kind, too."""

    def languages_open(self, member: Membership) -> list[str]:
        """Return languages in which work waits that the member could do, beside those in which they are asked."""

    def languages_asked(self, member: Membership) -> list[str]:
        """Return the languages in which the member is asked; [] where they cannot choose."""


DESKS: dict[str, Desk] = {}


def done_by(member: Membership, kind: str) -> QuerySet[Event]:
    """Return the events of a kind that a member's tasks were done by, the newest first."""
    theirs = Event.objects.filter(project=member.project, actor=member.author, kind=kind, erased=False)
    return theirs.order_by("-seq")


def nameless_kinds() -> set[str]:
    """Return the kinds of events of which no page says who did them: all that desks record, and what declares it."""
    return {desk.kind for desk in DESKS.values()} | {kind for kind, rules in KINDS.items() if rules.nameless}


class FieldError(UsageError):
    """Something filled in wrongly; ``field`` names it."""

    def __init__(self, field: str, message: str, *, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.field = field


def offered(member: Membership) -> list[Desk]:
    """Return the desks at which a member may work, by name."""
    desks = (desk for _, desk in sorted(DESKS.items()) if not desk.roles.isdisjoint(member.roles))
    return [desk for desk in desks if desk.offered(member.project)]


@once_a_page
def waiting(member: Membership) -> list[tuple[Desk, int]]:
    """Return the desks that are offered to a member, each with how many tasks wait."""
    return [(desk, desk.left(member)) for desk in offered(member)]


def work_in_another(tag: str) -> str:
    """Return the sentence that offers work in a language in which a member is not asked."""
    return f"{_('There is work in another language, if you speak it:')} \u2068{language(tag).name}\u2069"


def desk_of(member: Membership, name: str) -> Desk:
    """Return the desk ``name``; raise UsageError where it is not offered to the member."""
    for desk in offered(member):
        if desk.name == name:
            return desk
    raise UsageError(_("This work is not open to you."), hint=_("Go back to the start page."))


def task_of(member: Membership, desk: str, subject: str, seen: str) -> DeskTask:
    """Return a task as it was shown; raise UsageError for one that there never was, or not for the member."""
    task = desk_of(member, desk).find(member, subject, seen)
    if task is None:
        raise UsageError(_("There is no such task."), hint=_("Open the list of tasks again."))
    return task


def filled_in(member: Membership, task: DeskTask, values: Mapping[str, str]) -> tuple[str, JsonObject]:
    """Return kind and body of the event that says what a member filled in; raise FieldError for what is wrong in it."""
    desk = DESKS[task.desk]
    return desk.kind, desk.body(member, task, checked(task, values))


def deliver(member: Membership, task: DeskTask, values: Mapping[str, str], **more: Any) -> Event:
    """Record what a member filled in for a task; in a transaction, within ``log.single_writer``.

    ``more``: the event's ``uuid``, with which it counts once however often it is sent, and ``device_time``. Raises what
    :func:`filled_in` and ``events.record`` do.
    """
    kind, body = filled_in(member, task, values)
    event = record(member.project, kind, body, actor=member.author, subject=task.subject, **more)
    finish(member, task.desk, task.lease or task.subject)
    return event


def checked(task: DeskTask, values: Mapping[str, str]) -> dict[str, str]:
    """Return what was filled in, tidied, "" where nothing was; raise FieldError for the first field that is wrong."""
    filled: dict[str, str] = {}
    for field in task.asked:
        counts = not field.only_with or filled[BUTTON] in field.only_with
        filled[field.name] = _checked(field, values.get(field.name, "")) if counts else ""
    return filled


def _checked(field: Field, typed: str) -> str:
    """Return what was typed, or the value that was chosen; on sheets people choose by numbers from 1."""
    choices = {str(place): option.value for place, option in enumerate(field.options, start=1)}
    choices |= {option.value: option.value for option in field.options}
    try:
        text = tidy(typed, field.longest)
        if field.required and not text:
            raise UsageError(_("this field is empty."), hint=_("Fill it in, or choose another way to finish."))
        if not choices or not text:
            return text
        number = text.removesuffix(".0")  # spreadsheets make numbers of what is typed
        text = str(int(number)) if number.isdecimal() else text  # in any script's digits
        if text not in choices:
            raise UsageError(_("“%(text)s” is not one of the choices.") % {"text": text}, hint=_("Choose again."))
        return choices[text]
    except UsageError as error:
        raise FieldError(field.name, f"{field.label}: {error.summary}", hint=error.hint or "") from None

"""The desks in the browser: one task after another, made from what a desk says of its work; see ``desks.py``."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from kapwa.errors import KapwaError, UsageError
from kapwa.studio.assigning import take_along
from kapwa.studio.desks import Desk, Field, FieldError, Task, deliver, desk_of, device_time, offered, task_of
from kapwa.studio.events import ConflictError, writing
from kapwa.studio.models import Membership
from kapwa.studio.projections import RefusedError
from kapwa.studio.roles import EVERYONE
from kapwa.studio.security import Visit, page
from kapwa.studio.views.common import own_number, show

FIELD = "field_"  # before the names of a task's fields, so that none is taken for a field of the form's own


class Filled(NamedTuple):
    """A field of a form: what was typed in it, and what is wrong with that."""

    field: Field
    typed: list[str]
    wrong: KapwaError | None

    @property
    def text(self) -> str:
        """What was typed in a field of one text."""
        return self.typed[0] if self.typed else ""


@page("work/", read=EVERYONE)
def work(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List the work that is offered to the member, with how much of it waits."""
    return show(request, visit, "work", desks=waiting(visit.member), odk=find_spec("pyxform") is not None)


def waiting(member: Membership) -> list[tuple[Desk, int]]:
    """Return the desks that are offered to a member, each with how many tasks wait."""
    return [(desk, desk.left(member)) for desk in offered(member)]


@page("work/<slug:desk>/", read=EVERYONE, write=EVERYONE)
def work_desk(request: HttpRequest, visit: Visit, desk: str) -> HttpResponse:
    """Show a task and take what was filled in; where something is wrong, say where, and keep what was typed."""
    found = desk_of(visit.member, desk)
    if request.method != "POST":
        tasks = draw(found, visit.member, 1)
        return _form(request, visit, found, tasks[0] if tasks else None)
    subject, seen = request.POST.get("subject", ""), request.POST.get("seen", "")
    task = task_of(visit.member, found, subject, seen)
    values: dict[str, Any] = {field.name: request.POST.getlist(FIELD + field.name) for field in task.fields}
    try:
        with transaction.atomic():
            deliver(
                visit.project,
                visit.member,
                desk,
                subject=subject,
                seen=seen,
                values=values | {"button": request.POST.get("button", "")},
                uuid=own_number(request),
                device_time=device_time(request.POST.get("device_time", "")),
            )
    except (UsageError, RefusedError, ConflictError) as error:
        return _form(request, visit, found, task, values, error)
    return redirect(reverse("work_desk", args=[visit.project.slug, desk]) + "?kept=1")


def draw(desk: Desk, member: Membership, count: int, *, along: bool = False) -> list[Task]:
    """Return up to ``count`` tasks for the member, leased to them; ``along``: for as long as work without a network."""
    with writing(), transaction.atomic():
        tasks = list(desk.draw(member, count))
        if along:
            take_along(member, desk.name)
    return tasks


def _form(
    request: HttpRequest,
    visit: Visit,
    desk: Desk,
    task: Task | None,
    values: Mapping[str, list[str]] | None = None,
    error: KapwaError | None = None,
) -> HttpResponse:
    at = error.field if isinstance(error, FieldError) else ""
    fields = task.fields if task else ()
    return show(
        request,
        visit,
        "work_desk",
        200 if error is None else 400 if isinstance(error, UsageError) else 409,
        desk=desk,
        task=task,
        form_uuid=uuids.uuid4(),
        fields=[Filled(one, (values or {}).get(one.name, []), error if at == one.name else None) for one in fields],
        # A button that does without a required field must not be held up by the browser for it.
        lax={
            button.value
            for button in (task.buttons if task else ())
            if any(one.required and one.only_with and button.value not in one.only_with for one in fields)
        },
        error=error if error is not None and not at else None,
        left=desk.left(visit.member),
        kept="kept" in request.GET,
    )

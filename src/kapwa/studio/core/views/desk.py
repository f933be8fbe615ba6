"""Work at desks: task after task in the browser, taken along on paper, in files and on phones, and brought back."""

from __future__ import annotations

import json
import uuid as uuids
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any

from django.db import transaction
from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.gzip import gzip_page

from kapwa.errors import DataError, UsageError
from kapwa.studio.core.assigning import give_back, take_along
from kapwa.studio.core.desks import DESKS, Desk, Task, Work, deliver, desk_of, task_of, waiting
from kapwa.studio.core.gate import MOST_RECORDS, WORK, brought
from kapwa.studio.core.guide import guide
from kapwa.studio.core.intake import device_of, read_sent, take, take_in, token_of
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.languages import language
from kapwa.studio.core.log import ConflictError, single_writer
from kapwa.studio.core.roles import COORDINATORS, EVERYONE, MODERATORS
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.sheets import workbook, xlsform
from kapwa.studio.core.tables import Event, Lease, Membership
from kapwa.studio.core.views.common import XLSX, as_file, form_number, show, whole

FIELD = "field_"  # before the names of a task's fields on the page, so that none is taken for another field of the form
MOST_TASKS, ALONG = 50, 20  # that are taken along at once, and how many where nobody says


@page("work/", read=EVERYONE, write=EVERYONE)
def work(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List the work that is offered, and the tasks kept for the visitor, or for anybody; take these back."""
    leases = Lease.objects.filter(project=visit.project, done=False, until__gt=timezone.now())
    if not visit.may(COORDINATORS):
        leases = leases.filter(author=visit.member.author)
    if request.method == "POST":
        leases.filter(author=request.POST.get("author", ""), desk=request.POST.get("desk", "")).delete()
        return redirect("work", project=visit.project.slug)
    rows = leases.values("desk", "author").annotate(n=Count("pk"), until=Max("until")).order_by("desk", "-n")
    kept = [(DESKS[row["desk"]].title(), row) for row in rows if row["desk"] in DESKS]
    return show(visit, "work", desks=waiting(visit.member), odk=find_spec("pyxform") is not None, kept=kept)


@page("work/<slug:desk>/", read=EVERYONE, write=EVERYONE)
def work_desk(request: HttpRequest, visit: Visit, desk: str) -> HttpResponse:
    """Show a task and take what was filled in; where something is wrong, say where, and keep what was typed."""
    chosen, error = desk_of(visit.member, desk), None
    typed = {name.removeprefix(FIELD): text for name, text in request.POST.items()}
    if request.method == "POST":
        task = task_of(visit.member, desk, typed.get("subject", ""), typed.get("seen", ""))
        try:
            with transaction.atomic():
                deliver(visit.member, task, typed, uuid=form_number(request))
            kept = task.subject if task.by_choice else "1"
            return redirect(f"{visit.link('work_desk', desk)}?kept={kept}#task")
        except (UsageError, RefusedError, ConflictError) as wrong:
            error, drawn = wrong, Work([task], chosen.left(visit.member))
    else:
        drawn = _again(visit, chosen, typed) or _draw(chosen, visit.member, 1)
    shown = next(iter(drawn.tasks), None)
    return show(
        visit,
        "work_desk",
        200 if error is None else 400 if isinstance(error, UsageError) else 409,
        desk=chosen,
        task=shown,
        form_uuid=uuids.uuid4(),
        fields=[(field, typed.get(field.name, "")) for field in (shown.fields if shown else ())],
        error=error,
        left=drawn.left,
        kept=request.GET.get("kept"),
        help=[f"studio/help/{desk}.html", "studio/help/none.html"],
        todos=[] if shown else [step for step in guide(visit).todos if step.link != request.path],
    )


def _again(visit: Visit, desk: Desk, typed: dict[str, str]) -> Work | None:
    """Return a task that the visitor did, to be done anew, with what they said put into ``typed``; None without one."""
    subject = visit.request.GET.get("again")
    if not subject:
        return None
    about = {"kind": desk.kind, "subject": subject, "actor": visit.member.author}
    done = Event.objects.filter(project=visit.project, erased=False, **about).last()
    # Only judgements, which are choices, say what was seen.
    task = desk.find(visit.member, done.subject, done.body.get("seen", "")) if done else None
    if done is None or task is None:
        return None
    typed |= {**done.body["values"], "remark": done.body["remark"]}
    return Work([task], desk.left(visit.member))


def _draw(desk: Desk, member: Membership, count: int, along: str | None = None) -> Work:
    """Return up to ``count`` tasks for the member, leased to them.

    ``along``: the device that takes them along without a network, "" for paper and files; None for a page.
    """
    with single_writer(), transaction.atomic():
        drawn = desk.draw(member, count)
        if along is not None:
            take_along(member, desk.name, along)
    return drawn


@page("work/<slug:desk>/sheet/", read=EVERYONE)
def work_sheet(request: HttpRequest, visit: Visit, desk: str) -> HttpResponse:
    """Show tasks as a page to print and fill in by hand."""
    chosen, tasks = _along(request, visit, desk)
    return show(visit, "work_sheet", desk=chosen, tasks=tasks, today=timezone.now().date())


@page("work/<slug:desk>/table/", read=EVERYONE)
def work_table(request: HttpRequest, visit: Visit, desk: str) -> HttpResponse:
    """Give tasks as a workbook to fill in."""
    return as_file(workbook(visit.member, *_along(request, visit, desk)), f"{visit.project.slug}-{desk}.xlsx", XLSX)


@page("work/<slug:desk>/odk/", read=EVERYONE)
def work_odk(request: HttpRequest, visit: Visit, desk: str) -> HttpResponse:
    """Give tasks as a form for ODK Collect."""
    return as_file(xlsform(visit.member, *_along(request, visit, desk)), f"{visit.project.slug}-{desk}-odk.xlsx", XLSX)


def _along(request: HttpRequest, visit: Visit, desk: str) -> tuple[Desk, list[Task]]:
    chosen = desk_of(visit.member, desk)
    tasks = _draw(chosen, visit.member, max(1, whole(request.GET.get("n"), ALONG, MOST_TASKS)), "").tasks
    if not tasks:
        raise UsageError(_("There are no tasks for you now."), hint=_("Come back later."))
    return chosen, tasks


@page("bring/", read=EVERYONE, write=EVERYONE, hold_write_lock=False)
def bring_work(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Take in a file that was filled in elsewhere; a scribe or coordinator brings those of others, too."""
    others, result, wrong = visit.may(MODERATORS), None, None
    if request.method == "POST":
        sent = request.FILES.get("file")
        if sent is None:
            raise UsageError(_("No file was sent."), hint=_("Choose one."))
        only = None if others else visit.member
        try:
            with brought([sent], WORK) as path:
                result = take_in(visit.project, path, only=only, by=visit.member.author)
        except DataError as error:
            wrong = error
    return show(visit, "bring", 400 if wrong else 200, taken=result, wrong=wrong, others=others)


def _json(value: Any) -> HttpResponse:
    content = json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")  # nothing that could be taken for a page
    return HttpResponse(content, content_type="application/json")


@page("sync/", read=EVERYONE, write=EVERYONE, hold_write_lock=False, api=True)
def sync(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Say who is here and what work there is; posted to, take records, each answered for alone."""
    token = token_of(visit.member.person_id)
    if request.method == "POST":
        sent = read_sent(request.body)
        if len(sent.records) > MOST_RECORDS:
            raise UsageError(f"More than {MOST_RECORDS} records came at once.", hint="Send fewer records at once.")
        with single_writer(), transaction.atomic():
            answers = [take({token: visit.member}, filled) for filled in sent.records]
            if sent.held is not None:
                give_back(device_of(request), visit.project, sent.held)
        return _json({"records": answers})
    desks = [{"name": desk.name, "title": desk.title(), "left": left} for desk, left in waiting(visit.member)]
    return _json({"person": token, "csrf": get_token(request), "desks": desks})


@page("work/<slug:desk>/batch/", read=EVERYONE, api=True)
@gzip_page
def batch(request: HttpRequest, visit: Visit, desk: str) -> HttpResponse:
    """Give tasks to take along on a phone, leased to the member."""
    chosen = desk_of(visit.member, desk)
    tasks = [asdict(task) for task in _draw(chosen, visit.member, MOST_TASKS, device_of(request)).tasks]
    directions = {tag: language(tag).direction for tag in visit.project.languages}
    return _json({"desk": desk, "title": chosen.title(), "directions": directions, "tasks": tasks})


@page("phone/", read=EVERYONE)
def phone(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the page that browsers keep to work without a network; nothing in it is about the person who asks."""
    return render(request, "studio/phone.html", {"project": visit.project})


@page("phone/manifest.json", read=EVERYONE)
def manifest(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Say how the page is installed as an application."""
    content_type = "application/manifest+json"
    return render(request, "studio/manifest.json", {"project": visit.project}, content_type=content_type)

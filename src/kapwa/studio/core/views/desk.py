"""Work at desks: task after task in the browser, taken along on paper, in files and on phones, and brought back."""

from __future__ import annotations

import json
import uuid as uuids
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from importlib.util import find_spec
from typing import NamedTuple
from urllib.parse import urlencode

from django import forms
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _n
from django.views.decorators.gzip import gzip_page

from kapwa.errors import DataError, UsageError
from kapwa.studio.core.assigning import AT_HAND, give_back, leases_of, take_along
from kapwa.studio.core.desks import (
    BUTTON,
    DESKS,
    Desk,
    DeskTask,
    Work,
    deliver,
    desk_of,
    offered,
    task_of,
    waiting,
    work_in_another,
)
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.gate import MOST_RECORDS, WORK, brought
from kapwa.studio.core.guide import guide
from kapwa.studio.core.intake import device_of, read_sent, take, take_in, token_of
from kapwa.studio.core.kinds import ACTS, RefusedError
from kapwa.studio.core.languages import language
from kapwa.studio.core.log import ConflictError, single_writer
from kapwa.studio.core.posted import PageForm, SetText, damaged, form_number, posted, posted_files
from kapwa.studio.core.roles import COORDINATORS, EVERYONE, MODERATORS
from kapwa.studio.core.security import SAFE, Visit, page
from kapwa.studio.core.sheets import workbook, xlsform
from kapwa.studio.core.tables import Event, Lease, Membership, change
from kapwa.studio.core.views.common import XLSX, act, as_file, show, whole
from kapwa.studio.core.views.fields import told
from kapwa.studio.core.views.listing import SHOWN, page_of
from kapwa.value_types import Keywords

FIELD = "field_"  # before the names of a task's fields on the page, so that none is taken for another field of the form
MOST_TASKS, ALONG = 50, 20  # that are taken along at once, and how many where nobody says


class GiveBackForm(PageForm):
    """Whose tasks of which desk are given back."""

    whose = forms.ChoiceField(required=False, choices=[("mine", ""), ("others", "")])
    desk = SetText(max_length=100)


@page("work/", read=EVERYONE, write=EVERYONE)
def work(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List the work that is offered, and the tasks kept for the visitor; take these back. Or drafts, or what is done.

    Coordinators take back what others took along, of all of them together: who has tasks now, and how many, beside
    what is answered meanwhile, would tell whose answers are whose.
    """
    if request.method == "POST":
        form = GiveBackForm(posted(request))
        if not form.is_valid():
            raise damaged()
        others = visit.may(COORDINATORS) and form.cleaned_data["whose"] == "others"
        _kept_tasks(visit, others=others).filter(desk=form.cleaned_data["desk"]).delete()
        return redirect("work", project=visit.project.slug)
    if (queue := request.GET.get("show", "")) in ("drafts", "done"):
        every = [item for item in form_of(visit.project).own(visit) if item.draft == (queue == "drafts")]
        done = [*_done(visit), *_decided(visit)] if queue == "done" else []
        done.sort(key=lambda task: task.day, reverse=True)
        shown = {"items": page_of(every, request.GET), "done": done[:SHOWN], "more": len(done) - SHOWN}
        return show(visit, "work_own", queue=queue, **shown)
    about: Keywords = {
        "todos": guide(visit).todos,
        "desks": waiting(visit.member),
        "odk": find_spec("pyxform") is not None,
    }
    return show(visit, "work", **about, kept=_kept(visit))


class DoneTask(NamedTuple):
    """What somebody did: at which desk or on which item, what they said or did, on which day, and its page.

    ``correct``: whether they correct it there, as it is a task of a desk.
    """

    title: str
    text: str
    day: datetime
    link: str
    correct: bool = False


def _done(visit: Visit) -> list[DoneTask]:
    """Return the tasks that the visitor did, each once, as they did it last."""
    tasks = []
    for desk in offered(visit.member):
        last: dict[str, Event] = {}
        for event in desk.done(visit.member):
            last.setdefault(event.subject, event)
        for event in last.values():
            said = [text for name, text in desk.said(event)[1].items() if text and name != BUTTON]
            link = f"{visit.link('work_desk', desk.name)}?{urlencode({'again': event.subject})}"
            tasks.append(DoneTask(desk.title(), " · ".join(said), event.server_time, link, correct=True))
    return tasks


def _decided(visit: Visit) -> list[DoneTask]:
    """Return what the visitor decided on items, such as by votes, each act on an item once, as they did it last."""
    form = form_of(visit.project)
    theirs = Event.objects.filter(project=visit.project, actor=visit.member.author, kind__in=form.decided, erased=False)
    last = {(event.subject, event.kind): event for event in theirs.defer("body").order_by("seq")}
    items = form.named(visit, {subject for subject, _kind in last})
    return [
        DoneTask(items[subject].title, _(ACTS[kind]), event.server_time, items[subject].link)
        for (subject, kind), event in last.items()
        if subject in items
    ]


def _kept_tasks(visit: Visit, *, others: bool) -> QuerySet[Lease]:
    """Return what is kept for the visitor, or what ``others`` took along."""
    now, leases = timezone.now(), Lease.objects.filter(project=visit.project, done=False)
    if others:
        return leases.exclude(author=visit.member.author).filter(until__gt=now + AT_HAND)
    return leases.filter(author=visit.member.author, until__gt=now)


def _kept(visit: Visit) -> list[tuple[str, str, str, int]]:
    """Return for whom tasks are kept, "mine" or, to coordinators, "others", with each desk's name, title and number."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in leases_of(visit.project, visit.member.author):
        counts["mine", row.desk] += row.own
        counts["others", row.desk] += row.along if visit.may(COORDINATORS) else 0
    return [(whose, desk, DESKS[desk].title(), n) for (whose, desk), n in sorted(counts.items()) if n and desk in DESKS]


class SeenForm(PageForm):
    """Which task a page showed, and in which state."""

    subject = SetText(max_length=200, required=False)
    seen = SetText(max_length=1000, required=False)


class TaskForm(PageForm):
    """What is filled in of a task, under names of its own; :mod:`kapwa.studio.core.desks` checks it for every way."""

    def __init__(self, task: DeskTask, posted: QueryDict | None) -> None:
        super().__init__(posted)
        for field in task.asked:
            self.fields[field.name] = forms.CharField(required=False, strip=False)

    def add_prefix(self, field_name: str) -> str:
        """Return the name of a field on the page, which is taken for none of the page's own."""
        return field_name if field_name == BUTTON else f"{FIELD}{field_name}"

    @property
    def typed(self) -> dict[str, str]:
        """What is filled in, by field; raises UsageError for what no database holds."""
        if not self.is_valid():
            raise UsageError(_("The text contains characters that cannot be saved."), hint=_("Remove them."))
        return self.cleaned_data


@page("work/<slug:desk>/", read=EVERYONE, write=EVERYONE)
def work_desk(request: HttpRequest, visit: Visit, desk: str) -> HttpResponse:
    """Show a task and take what was filled in; where something is wrong, say where, and keep what was typed."""
    chosen, error, typed = desk_of(visit.member, desk), None, dict[str, str]()
    seen = SeenForm(posted(request))
    if seen.is_valid():
        task = task_of(visit.member, desk, **seen.cleaned_data)
        typed = TaskForm(task, posted(request)).typed
        try:
            with transaction.atomic():
                deliver(visit.member, task, typed, uuid=form_number(request))
            return redirect(f"{visit.link('work_desk', desk)}?kept={task.subject}#task")
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
        before=next((one.text for one in shown.buttons if one.value == typed.get(BUTTON)), "") if shown else "",
        others=[] if shown else [language(tag) for tag in chosen.languages_open(visit.member)],
        help=[f"studio/help/{desk}.html", "studio/help/none.html"],
    )


def _again(visit: Visit, desk: Desk, typed: dict[str, str]) -> Work | None:
    """Return a task that the visitor did, to be done anew, with what they said put into ``typed``; None without one."""
    subject = visit.request.GET.get("again")
    if not subject:
        return None
    about = {"kind": desk.kind, "subject": subject, "actor": visit.member.author}
    done = Event.objects.filter(project=visit.project, erased=False, **about).last()
    if done is None:
        return None
    seen, values = desk.said(done)
    if (task := desk.find(visit.member, done.subject, seen)) is None:
        return None
    typed |= values
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


class AlsoForm(PageForm):
    """Another language in which somebody can be asked."""

    language = forms.ChoiceField()

    def __init__(self, languages: Iterable[str], posted: QueryDict | None) -> None:
        super().__init__(posted)
        self.fields["language"].choices = [(tag, tag) for tag in languages]


@page("work/<slug:desk>/also/", write=EVERYONE)
def work_also(request: HttpRequest, visit: Visit, desk: str) -> HttpResponse:
    """Let somebody be asked in another language of the project, too."""
    member, chosen = visit.member, desk_of(visit.member, desk)
    form = AlsoForm(chosen.languages_open(member), posted(request))
    if form.is_valid():
        change(member, languages=[*chosen.languages_asked(member), form.cleaned_data["language"]])
        act(visit, "member.changed", {}, subject=member.author)
    return redirect("work_desk", project=visit.project.slug, desk=desk)


@page("work/<slug:desk>/sheet/", read=EVERYONE)
def work_sheet(request: HttpRequest, visit: Visit, desk: str) -> HttpResponse:
    """Show tasks as a page to print and fill in by hand."""
    chosen, tasks = _along(request, visit, desk)
    return show(visit, "work_sheet", desk=chosen, tasks=tasks, today=timezone.now().date())


@page("work/<slug:desk>/table/", read=EVERYONE)
def work_table(request: HttpRequest, visit: Visit, desk: str) -> HttpResponse:
    """Give tasks as a workbook to fill in."""
    return as_file(workbook(visit.member, *_along(request, visit, desk)), f"{visit.project.slug}-{desk}.xlsx", XLSX)


@page("work/<slug:desk>/odk/", read=EVERYONE, long=SAFE)
def work_odk(request: HttpRequest, visit: Visit, desk: str) -> HttpResponse:
    """Give tasks as a form for ODK Collect."""
    return as_file(xlsform(visit.member, *_along(request, visit, desk)), f"{visit.project.slug}-{desk}-odk.xlsx", XLSX)


def _along(request: HttpRequest, visit: Visit, desk: str) -> tuple[Desk, list[DeskTask]]:
    chosen = desk_of(visit.member, desk)
    tasks = _draw(chosen, visit.member, max(1, whole(request.GET.get("n"), ALONG, MOST_TASKS)), "").tasks
    if not tasks:
        raise UsageError(_("There are no tasks for you now."), hint=_("Come back later."))
    return chosen, tasks


class BringForm(PageForm):
    """A file that was filled in elsewhere."""

    file = forms.FileField(
        allow_empty_file=True, error_messages={"required": told(_n("No file was sent."), _n("Choose one."))}
    )


@page("bring/", read=EVERYONE, write=EVERYONE, hold_write_lock=False, long=("POST",))
def bring_work(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Take in a file that was filled in elsewhere; a scribe or coordinator brings those of others, too."""
    others, result, wrong = visit.may(MODERATORS), None, None
    form = BringForm(posted(request), posted_files(request))
    if form.is_valid():
        only = None if others else visit.member
        try:
            with brought([form.cleaned_data["file"]], WORK) as path:
                result = take_in(visit.project, path, only=only, by=visit.member.author)
        except DataError as error:
            wrong = error
    status = 400 if wrong or form.errors else 200
    return show(visit, "bring", status, taken=result, wrong=wrong, others=others, sent=form)


def _json(value: object) -> HttpResponse:
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
    offered_here = waiting(visit.member)
    desks = [{"name": desk.name, "title": desk.title(), "left": left} for desk, left in offered_here]
    others = {tag for desk, left in offered_here if not left for tag in desk.languages_open(visit.member)}
    also = " ".join(work_in_another(tag) for tag in visit.project.languages if tag in others)
    return _json({"person": token, "csrf": get_token(request), "desks": desks, "also": also})


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

"""Joining by a link for many: asking by it without a visit, and a coordinator's page of links and requests."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urljoin

from django import forms
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext_noop as _n

from kapwa.studio.core import consent as texts
from kapwa.studio.core import joining
from kapwa.studio.core.interface import SOURCE
from kapwa.studio.core.inviting import too_many_invited
from kapwa.studio.core.members import hashed
from kapwa.studio.core.posted import PageForm, SetText, posted, pressed
from kapwa.studio.core.roles import COORDINATORS
from kapwa.studio.core.security import Visit, page, public_page
from kapwa.studio.core.tables import GroupLink, Membership, Person, Project
from kapwa.studio.core.views.common import CodeShown, act, address_for_others, picture_of, show
from kapwa.studio.core.views.fields import TypedField
from kapwa.value_types import Keywords

# In the session: the link by which somebody asks; the hash of the code of who asked.
ASKING, ASKED = "asking", "asked"
MOST_SLIPS, SLIPS = 60, 12
_DAYS = {1: _n("one day"), 7: _n("a week"), 30: _n("30 days")}


class AskForm(PageForm):
    """What a coordinator reads of who asks to join, and that the asker wants that."""

    pseudonym = TypedField(80, line=True)
    agree = forms.BooleanField()


@public_page("ask/<str:code>/")
def arrive_to_ask(request: HttpRequest, code: str) -> HttpResponse:
    """Offer to ask by the code of a link for many."""
    return render(request, "studio/arrive.html", {"code": code, "many": True})


@public_page("ask/", posts=True)
def ask_to_join(request: HttpRequest) -> HttpResponse:
    """Take a name from who asks to join; then say how it stands with the request, and let in who may come in."""
    if ASKED in request.session:
        return _standing(request)
    link = joining.opened(request.session.get(ASKING))
    if link is None:
        return redirect("enter")
    here = request.user if isinstance(request.user, Person) else None
    if here and Membership.objects.filter(project=link.project, person=here, left=None).exists():
        del request.session[ASKING]
        return redirect("home", project=link.project.slug)
    form = AskForm(posted(request))
    if not form.is_valid():
        consents = texts.newest(link.project)
        own = texts.for_reader(consents, request.LANGUAGE_CODE, link.project.language, SOURCE)
        shown = {"link": link, "form": form, "texts": own, "here": here}
        return render(request, "studio/ask_to_join.html", shown, status=400 if form.errors else 200)
    address = request.META.get("REMOTE_ADDR", "")
    code = joining.ask(link, form.cleaned_data["pseudonym"], here, address)
    del request.session[ASKING]
    if here:
        return render(request, "studio/asked_to_join.html", {"state": "waits"})
    request.session[ASKED] = hashed(code)
    return render(request, "studio/asked_to_join.html", {"state": "waits", "code": code})


def _standing(request: HttpRequest) -> HttpResponse:
    """Say whether a request waits, or was taken or declined; who was let in comes in by a press."""
    access = request.session[ASKED]
    person = Person.objects.filter(access=access).first()
    if person is not None and request.method == "POST":
        del request.session[ASKED]
        login(request, person)
        return redirect("start")
    state = "in" if person else "waits" if joining.request_of(access) else "gone"
    if state == "gone":
        del request.session[ASKED]
    return render(request, "studio/asked_to_join.html", {"state": state})


class LinkForm(PageForm):
    """What people who ask by a link may become, and for how long it works."""

    roles = forms.MultipleChoiceField(choices=[(role, role) for role in joining.ROLES_OFFERED])
    days = forms.TypedChoiceField(choices=_DAYS.items(), coerce=int)


class RequestsForm(PageForm):
    """Who of those who ask is meant."""

    asked = forms.MultipleChoiceField()

    def __init__(self, project: Project, posted: QueryDict | None) -> None:
        super().__init__(posted)
        self.rows = {str(row.pk): row for row in joining.waiting_requests(project)}
        self.fields["asked"].choices = [(key, row.pseudonym) for key, row in self.rows.items()]


class CloseForm(PageForm):
    """Which link is closed."""

    link = SetText(max_length=200)


class LinkShown(NamedTuple):
    """A link for many, and its code as a slip shows it."""

    row: GroupLink
    slip: CodeShown


def _shown(request: HttpRequest, link: GroupLink, project: Project) -> LinkShown:
    code = joining.code_of(link)
    address = urljoin(address_for_others(request), reverse("arrive_to_ask", args=[code]))
    return LinkShown(link, CodeShown(code, address, picture_of(address), project.title, link.roles))


@page("people/link/", read=COORDINATORS, write=COORDINATORS)
def group_links(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the links for many and who asks to join; make a link, close one, let people in or decline."""
    project, action, done = visit.project, pressed(request, "open", "close", "admit", "decline"), False
    made = LinkForm(posted(request) if action == "open" else None)
    asked = RequestsForm(project, posted(request) if action in ("admit", "decline") else None)
    closed = CloseForm(posted(request) if action == "close" else None)
    if made.is_valid():
        about = made.cleaned_data
        joining.open_link(project, about["roles"], about["days"])
        act(visit, "member.link-opened", about)
        done = True
    elif closed.is_valid():
        joining.close(get_object_or_404(joining.open_links(project), seed=closed.cleaned_data["link"]))
        act(visit, "member.link-closed", {})
        done = True
    elif asked.is_valid():
        _decide(visit, asked, admits=action == "admit")
        done = True
    if done:
        return redirect("group_links", project=project.slug)
    rows = [_shown(request, link, project) for link in joining.open_links(project)]
    shown: Keywords = {"links": rows, "waiting": list(asked.rows.values()), "made": made, "asked": asked}
    shown["too_many_invited"] = too_many_invited(project)
    shown |= {"offered": joining.ROLES_OFFERED, "days": _DAYS}
    return show(visit, "group_links", 400 if request.method == "POST" else 200, **shown)


def _decide(visit: Visit, asked: RequestsForm, *, admits: bool) -> None:
    """Let those in who are chosen, or decline; of who is declined nothing is kept."""
    chosen = [asked.rows[key] for key in asked.cleaned_data["asked"]]
    if not admits:
        for row in chosen:
            row.delete()
        act(visit, "member.declined", {"count": len(chosen)})
    for row in chosen if admits else ():
        member = joining.admit(row)
        act(visit, "member.admitted", {"roles": row.link.roles}, subject=member.author)


@page("people/link/<str:link>/slips/", read=COORDINATORS)
def link_slips(request: HttpRequest, visit: Visit, link: str) -> HttpResponse:
    """Show a link for many as slips to print and cut apart."""
    row = get_object_or_404(joining.open_links(visit.project), seed=link)
    return show(visit, "link_slips", made=_shown(request, row, visit.project), slips=range(_slips(request)))


def _slips(request: HttpRequest) -> int:
    wanted = request.GET.get("n", "")
    return max(1, min(MOST_SLIPS, int(wanted))) if wanted.isdecimal() and len(wanted) < 4 else SLIPS

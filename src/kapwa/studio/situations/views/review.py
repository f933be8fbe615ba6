"""Focus-group review: read, vote blind, reveal, discuss, change for a reason, accept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from django import forms
from django.db.models import QuerySet
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _n

from kapwa.errors import UsageError
from kapwa.studio.core.posted import PageForm, SetNumber, posted
from kapwa.studio.core.roles import MODERATORS, READERS, REVIEWERS, WRITERS
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import Event, Membership, Project
from kapwa.studio.core.text import Pieces, pieces
from kapwa.studio.core.views.commenting import CommentForm, comment_said, comments_shown
from kapwa.studio.core.views.common import act, as_file, show, take_publication
from kapwa.studio.core.views.fields import OneOfField, ReasonForm, RetireForm, TypedField, checked, told
from kapwa.studio.situations.events import CHOICES, IN_REVIEW, against_votes, too_few_accept, votes_of
from kapwa.studio.situations.fields import SLOTS, Fields, changes
from kapwa.studio.situations.tables import Revision, Situation, Vote
from kapwa.studio.situations.views.overview import waiting_votes
from kapwa.studio.situations.views.writing import (
    reading,
    refuse_others,
    situation_or_404,
    tells_best,
    to_next_draft,
)
from kapwa.value_types import JsonObject


@page("situations/<int:number>/", read=READERS)
def situation(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Show a situation: how it reads, its votes once revealed, the discussion, and how it came to be."""
    return _page(visit, situation_or_404(visit, number))


def _page(visit: Visit, row: Situation, **refused: PageForm) -> HttpResponse:
    """Show a situation's page, with the form of it that was refused, by the name that its template has for it."""
    is_author = visit.member.author in row.authors
    hidden = row.state == IN_REVIEW and not row.revealed
    may_vote = hidden and visit.may(REVIEWERS) and not is_author
    mine = Vote.objects.filter(situation=row.id, round=row.round, author=visit.member.author).first()
    now = model_to_dict(mine, fields=("best", "remark")) if mine else {}
    best_shown = tells_best(visit, row)
    log = Event.objects.filter(project=visit.project, subject=row.id, erased=False).order_by("seq")
    votes = Vote.objects.filter(situation=row.id)
    return show(
        visit,
        "situation",
        400 if refused else 200,
        situation=row,
        mine=mine,
        may_vote=may_vote,
        is_author=is_author,
        best_shown=best_shown,
        owns=is_author or visit.may(MODERATORS),
        hidden=hidden,
        # Before the reveal a page tells how many voted, and nothing of what.
        votes=votes.filter(round__lt=row.round) if hidden else votes,
        voted=len(votes_of(row)),
        against=against_votes(row) if row.revealed else None,
        too_few=too_few_accept(row, visit.project.quorum) if row.state == IN_REVIEW and row.revealed else "",
        decision=log.filter(kind=f"situation.{row.state}").last(),  # who decided on the present state, and why
        history=_history(Revision.objects.filter(situation=row.id), with_best=best_shown),
        **comments_shown(visit, row.id, "discuss", row.number),
        **reading(visit, row.fields),
        **{"ballot": VoteForm(None, initial=now), **refused},
    )


def _history(revisions: Iterable[Revision], *, with_best: bool) -> list[tuple[Revision, list[tuple[str, Pieces]]]]:
    """Return the revisions, newest first, each with what it changed."""
    entries: list[tuple[Revision, list[tuple[str, Pieces]]]] = []
    before: Fields = {}
    for revision in revisions:
        differing = changes(before, revision.fields) if before else {}
        names = [name for name in differing if with_best or name != "best"]
        shown = [(name, pieces(before.get(name, ""), differing[name])) for name in names]
        entries.insert(0, (revision, shown))
        before = revision.fields
    return entries


def _happens(visit: Visit, row: Situation, kind: str, body: Mapping[str, object]) -> HttpResponse:
    """Record what happens to a situation, and show it."""
    act(visit, f"situation.{kind}", body, subject=row.id)
    return redirect("situation", project=visit.project.slug, number=row.number)


def _onward(visit: Visit, rows: Iterable[Situation]) -> HttpResponse:
    """Go to the first of ``rows``, or where there is none home, which says what the visitor can do next."""
    return redirect(next((visit.link("situation", row.number) for row in rows), visit.link("home")))


@page("situations/<int:number>/submit/", write=WRITERS)
def submit_situation(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Send a draft to review, if nothing is missing from it."""
    row = situation_or_404(visit, number)
    refuse_others(visit, row)
    take_publication(visit)
    _happens(visit, row, "submitted", {})
    return to_next_draft(visit)


@page("situations/<int:number>/delete/", write=WRITERS)
def delete_situation(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Delete a draft that was never in review."""
    row = situation_or_404(visit, number)
    refuse_others(visit, row)
    act(visit, "situation.deleted", {}, subject=row.id)
    return redirect("situations", project=visit.project.slug)


@page("situations/<int:number>/return/", write=WRITERS)
def return_situation(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Take a situation out of review, back to a draft."""
    row = situation_or_404(visit, number)
    refuse_others(visit, row)
    return _happens(visit, row, "returned", {})


class VoteForm(PageForm):
    """What somebody says of the text of a round: whether it stays, which response is the best, and why."""

    round = SetNumber(required=False)
    choice = OneOfField(
        [(choice, "") for choice in CHOICES],
        told(_n("The vote is not complete."), _n("Choose whether to accept, change or reject it.")),
    )
    best = forms.ChoiceField(required=False, choices=[("", ""), *((str(slot), "") for slot in range(1, SLOTS + 1))])
    remark = TypedField(required=False)


@page("situations/<int:number>/vote/", write=REVIEWERS)
def vote(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Vote on the text that was seen; nobody else sees it before the reveal."""
    row, form = situation_or_404(visit, number), VoteForm(posted(request))
    if not form.is_valid():
        return _page(visit, row, ballot=form)
    _happens(visit, row, "voted", form.cleaned_data)
    return _onward(visit, waiting_votes(visit))


@page("situations/<int:number>/reveal/", write=MODERATORS)
def reveal(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Show everybody the votes of this round."""
    return _happens(visit, situation_or_404(visit, number), "revealed", {})


@page("situations/<int:number>/discuss/", write=READERS)
def discuss(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Say something, or keep a dissent."""
    row, form = situation_or_404(visit, number), CommentForm(posted(request))
    if not form.is_valid():
        return _page(visit, row, comment=form)
    language = row.fields.get("language") or visit.project.language
    return _happens(visit, row, "discussed", comment_said(visit, form, language, "situation"))


@page("situations/<int:number>/accept/", write=MODERATORS)
def accept(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Accept a situation whose votes allow it; against what most people chose as the best only for a reason."""
    row = situation_or_404(visit, number)
    body: JsonObject = {"quorum": visit.project.quorum}
    if against := against_votes(row):
        form = ReasonForm(posted(request))
        if not form.is_valid():
            return _page(visit, row, accepting=form)
        body |= {"against": against._asdict(), **form.cleaned_data}
    _happens(visit, row, "accepted", body)
    in_review = Situation.objects.filter(project=visit.project, state=IN_REVIEW)
    return _onward(visit, in_review.order_by("-revealed", "number"))


@page("situations/<int:number>/reject/", write=MODERATORS)
def reject(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Reject a situation on which people voted, for a reason."""
    row, form = situation_or_404(visit, number), ReasonForm(posted(request))
    if not form.is_valid():
        return _page(visit, row, rejecting=form)
    return _happens(visit, row, "rejected", form.cleaned_data)


@page("situations/<int:number>/retire/", write=MODERATORS)
def retire(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Take an accepted situation out of use for a reason, or back into it."""
    row, form = situation_or_404(visit, number), RetireForm(posted(request))
    if not form.is_valid():
        return _page(visit, row, retiring=form)
    return _happens(visit, row, "retired", form.body)


class SessionForm(PageForm):
    """A meeting of a focus group: what it is called, who is there, and when."""

    title = TypedField(200)
    attendees = forms.MultipleChoiceField()
    starts = forms.CharField(required=False, max_length=40)

    def __init__(self, members: Iterable[Membership], posted: QueryDict | None) -> None:
        super().__init__(posted)
        self.fields["attendees"].choices = [(member.author, member.pseudonym) for member in members]

    def clean_starts(self) -> str:
        """Return a day and time as a form posts it, "" for none."""
        return checked(_checked_time, self.cleaned_data["starts"])


@page("sessions/", read=READERS, write=MODERATORS)
def sessions(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List meetings of focus groups, and begin one."""
    members = Membership.objects.filter(project=visit.project, left=None).order_by("pseudonym")
    form = SessionForm(members, posted(request))
    if form.is_valid():
        act(visit, "session.opened", form.cleaned_data | {"scribe": visit.member.author})
        return redirect("sessions", project=visit.project.slug)
    opened = _opened(visit.project)
    waiting = Situation.objects.filter(project=visit.project, state=IN_REVIEW).order_by("number")
    shown = {"sessions": opened, "members": members, "waiting": waiting, "meeting": form}
    return show(visit, "sessions", 400 if form.errors else 200, **shown)


def _opened(project: Project) -> QuerySet[Event]:
    return Event.objects.filter(project=project, kind="session.opened", erased=False).order_by("-seq")


def _checked_time(typed: str) -> str:
    """Return a day and time as a form posts it, "" for none; raise UsageError for what is neither."""
    try:
        return datetime.fromisoformat(typed).isoformat(timespec="minutes")[:16] if typed else ""
    except ValueError:
        raise UsageError(_("“%(text)s” is not a date.") % {"text": typed[:40]}, hint=_("Choose again.")) from None


@page("sessions/calendar.ics", read=READERS)
def session_calendar(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Give the sessions that have a time as a file for calendars."""
    address = request.build_absolute_uri(reverse("sessions", args=[visit.project.slug]))
    content = render_to_string("studio/calendar.ics", {"sessions": _opened(visit.project), "address": address})
    return as_file(content, f"{visit.project.slug}.ics", "text/calendar; charset=utf-8")

"""Focus-group review: read, vote blind, reveal, discuss, change for a reason, accept."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.studio.checks import check_fields
from kapwa.studio.fields import FIELDS, GLOSS, SLOTS, prompts, tidy
from kapwa.studio.languages import language
from kapwa.studio.models import Membership, Remark, Revision, Session, Situation, Vote
from kapwa.studio.projections.situations import ACCEPTED, CHOICES, IN_REVIEW, votes_of
from kapwa.studio.roles import MODERATORS, READERS, REVIEWERS
from kapwa.studio.security import Visit, page
from kapwa.studio.views.common import act, show, situation_or_404
from kapwa.suites.kalahi import VARIANTS


class Change(NamedTuple):
    """One field of a revision: pieces of text with "same", "gone" or "new"."""

    field: str
    pieces: list[tuple[str, str]]


@page("situations/<int:number>/", read=READERS)
def situation(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Show a situation: how it reads, its votes once revealed, the discussion, and how it came to be."""
    found = situation_or_404(visit, number)
    own = visit.member.author
    revisions = list(Revision.objects.filter(situation=found.id).order_by("number"))
    shown = found.revealed or found.state != IN_REVIEW
    mine = Vote.objects.filter(situation=found.id, round=found.round, author=own).first()
    may_vote = visit.may(REVIEWERS) and own not in found.authors and found.state == IN_REVIEW and not found.revealed
    votes = Vote.objects.filter(situation=found.id).order_by("seq")
    texts = prompts(found.fields)
    # Who is yet to vote is not told which response its writer takes for the best.
    best_shown = not may_vote or mine is not None
    return show(
        request,
        visit,
        "situation",
        situation=found,
        own=language(found.fields.get("language") or visit.project.language),
        gloss=language(visit.project.gloss),
        previews=[(variant, texts[variant]) for variant in VARIANTS],
        parts=[
            (name, found.fields[name], found.fields.get(name + GLOSS, "")) for name in _PARTS if found.fields.get(name)
        ],
        groups=[(group, _filled(found, group)) for group in ("relevant", "irrelevant")],
        findings=check_fields(found.fields) if found.state != "frozen" else [],
        mine=mine,
        may_vote=may_vote,
        is_author=own in found.authors,
        best_shown=best_shown,
        may_return=found.state in (IN_REVIEW, ACCEPTED) and (own == found.author or visit.may(MODERATORS)),
        # Before the reveal a page tells how many voted, and nothing of what.
        votes=[vote for vote in votes if vote.round < found.round or shown],
        voted=len(votes_of(found)),
        remarks=Remark.objects.filter(situation=found.id),
        history=_history(revisions, FIELDS if best_shown else [name for name in FIELDS if name != "best"]),
        variations=Situation.objects.filter(project=visit.project, cluster=found.cluster).order_by("number"),
        choices=CHOICES,
    )


_PARTS = ("user", "context", "personal_situation", "instruction")


def _filled(found: Situation, group: str) -> list[tuple[str, str, str]]:
    """Return (number, text, gloss) of a group's filled responses."""
    names = [(str(slot), f"{group}_{slot}") for slot in range(1, SLOTS + 1)]
    return [
        (slot, found.fields[name], found.fields.get(name + GLOSS, "")) for slot, name in names if found.fields.get(name)
    ]


def _history(revisions: list[Revision], fields: Iterable[str]) -> list[tuple[Revision, list[Change]]]:
    """Return the revisions, newest first, each with what it changed of ``fields``."""
    found = []
    for place, one in enumerate(revisions):
        before: dict[str, Any] = revisions[place - 1].fields if place else {}
        names = [name for name in fields if before.get(name, "") != one.fields.get(name, "")] if place else []
        found.append((one, [Change(name, pieces(before.get(name, ""), one.fields.get(name, ""))) for name in names]))
    return found[::-1]


def pieces(before: str, after: str) -> list[tuple[str, str]]:
    """Return how ``after`` came of ``before``, word by word."""
    old, new = before.split(), after.split()
    found = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            found.append(("same", " ".join(old[a:b])))
        else:
            found += [(name, " ".join(words)) for name, words in (("gone", old[a:b]), ("new", new[c:d])) if words]
    return found


@page("situations/<int:number>/vote/", write=REVIEWERS)
def vote(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Vote on the text that was seen; nobody else sees it before the reveal."""
    found = situation_or_404(visit, number)
    choice, best, round_ = (request.POST.get(name, "") for name in ("choice", "best", "round"))
    if choice not in CHOICES or not round_.isdecimal() or len(round_) > 9 or best not in ("", *"123456"):
        raise UsageError(_("The vote is not whole."), hint=_("Choose whether it is accepted, changed or rejected."))
    body = {"round": int(round_), "choice": choice, "best": best, "remark": tidy(request.POST.get("remark", ""))}
    act(request, visit, "situation.voted", body, subject=found.id)
    return redirect("situation", project=visit.project.slug, number=number)


@page("situations/<int:number>/reveal/", write=MODERATORS)
def reveal(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Show everybody the votes of this round."""
    act(request, visit, "situation.revealed", {}, subject=situation_or_404(visit, number).id)
    return redirect("situation", project=visit.project.slug, number=number)


@page("situations/<int:number>/discuss/", write=READERS)
def discuss(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Say something, or keep a dissent."""
    found = situation_or_404(visit, number)
    text = tidy(request.POST.get("text", ""))
    if not text:
        raise UsageError(_("Nothing was written."), hint=_("Write what you think, then send it."))
    body = {
        "text": text,
        "language": found.fields.get("language") or visit.project.language,
        "dissent": request.POST.get("dissent") == "yes",
    }
    act(request, visit, "situation.discussed", body, subject=found.id)
    return redirect("situation", project=visit.project.slug, number=number)


@page("situations/<int:number>/accept/", write=MODERATORS)
def accept(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Accept a situation whose votes allow it."""
    found = situation_or_404(visit, number)
    act(request, visit, "situation.accepted", {"quorum": visit.project.quorum}, subject=found.id)
    return redirect("situation", project=visit.project.slug, number=number)


@page("sessions/", read=READERS, write=MODERATORS)
def sessions(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List meetings of focus groups, and begin one."""
    if request.method == "POST":
        here = set(request.POST.getlist("attendees")[:200])
        known = [one.author for one in _members(visit) if one.author in here]
        title = tidy(request.POST.get("title", ""), 200)
        if not title or not known:
            raise UsageError(_("A session has a title and people who are there."), hint=_("Go back and say both."))
        body = {"title": title, "attendees": known, "scribe": visit.member.author}
        act(request, visit, "session.opened", body)
        return redirect("sessions", project=visit.project.slug)
    found = Session.objects.filter(project=visit.project).order_by("-seq")
    waiting = Situation.objects.filter(project=visit.project, state=IN_REVIEW).order_by("number")
    return show(request, visit, "sessions", sessions=found, members=_members(visit), waiting=waiting)


def _members(visit: Visit) -> list[Membership]:
    return list(Membership.objects.filter(project=visit.project, left=None).order_by("pseudonym"))


@page("sessions/<str:session>/close/", write=MODERATORS)
def close_session(request: HttpRequest, visit: Visit, session: str) -> HttpResponse:
    """End a meeting."""
    act(request, visit, "session.closed", {}, subject=session[:36])
    return redirect("sessions", project=visit.project.slug)

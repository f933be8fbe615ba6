"""The writing desk: situations, their variations, what checks say of them, and how each variant reads."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kapwa.studio.asking import ask
from kapwa.studio.checks import check_fields
from kapwa.studio.events import writing
from kapwa.studio.fields import FIELDS, GLOSS, SLOTS, Fields, changes, prompts, read_fields, tidy
from kapwa.studio.languages import language
from kapwa.studio.models import Elicited, Project, Revision, Situation, Topic
from kapwa.studio.projections import RefusedError
from kapwa.studio.projections.situations import DRAFT, IN_REVIEW, REASONS, votes_of
from kapwa.studio.roles import READERS, WRITERS
from kapwa.studio.security import Visit, page
from kapwa.studio.views.common import act, show, situation_or_404
from kapwa.suites.kalahi import VARIANTS
from kapwa.suites.kalahi.form import CATEGORIES, TOPICS

PARTS_ASKED = {
    "user": gettext_lazy("Who asks?"),
    "context": gettext_lazy("What is the situation, and what do they want?"),
    "personal_situation": gettext_lazy("What is special to this person?"),
    "instruction": gettext_lazy("What do they ask?"),
}


@page("situations/", read=READERS)
def situations(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List the situations, by state if asked."""
    found = Situation.objects.filter(project=visit.project).order_by("number")
    state = request.GET.get("state", "")
    return show(request, visit, "situations", situations=found.filter(state=state) if state else found, state=state)


@page("situations/new/", read=WRITERS, write=WRITERS)
def new_situation(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Begin a situation: of nothing, of an answer to the questionnaire, or as a variation of another."""
    origin = _origin(request, visit)
    if request.method == "POST":
        fields = read_fields(request.POST)
        body: dict[str, Any] = {"changes": changes(origin.fields if origin else {}, fields)}
        if origin:
            body |= {"origin": origin.id, "base": origin.revision}
        if request.POST.get("elicited"):
            body["elicited"] = request.POST["elicited"][:36]
        event = act(request, visit, "situation.drafted", body)
        return redirect("situation", project=visit.project.slug, number=event.body["number"])
    elicited = Elicited.objects.filter(project=visit.project, id=request.GET.get("elicited", "")).first()
    fields = dict(origin.fields) if origin else {"language": visit.project.language}
    if origin:
        fields.pop("best", None)  # which response is best is what a variation is about
    if elicited:
        fields |= {"language": elicited.language, "topic": elicited.topic, "context": elicited.text}
    return _desk(request, visit, fields, origin=origin, elicited=elicited)


def _origin(request: HttpRequest, visit: Visit) -> Situation | None:
    number = request.POST.get("origin") or request.GET.get("origin") or ""
    return situation_or_404(visit, int(number)) if number.isdecimal() and len(number) < 9 else None


@page("situations/<int:number>/edit/", read=WRITERS, write=WRITERS)
def edit_situation(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Change a situation; after the draft for one of the four reasons."""
    found = situation_or_404(visit, number)
    if found.state == DRAFT and visit.member.author != found.author and not visit.may({"coordinator", "scribe"}):
        raise RefusedError(_("This is somebody else's draft."), hint=_("You can review it once it is sent to review."))
    if request.method == "POST":
        base = request.POST.get("base", "")
        earlier = Revision.objects.filter(id=f"{found.id}:{base}").first()
        if earlier is None:
            raise RefusedError(_("The form does not say which text it changes."), hint=_("Open the situation again."))
        fields = read_fields(request.POST)
        body = {"changes": changes(earlier.fields, fields), "base": int(base)}
        if found.state != DRAFT:  # it is not sent to review again, so it must be whole now
            _check_whole(fields)
            body |= {"reason": request.POST.get("reason", ""), "note": tidy(request.POST.get("note", ""))}
        act(request, visit, "situation.revised", body, subject=found.id, parent=found.seq)
        return redirect("situation", project=visit.project.slug, number=number)
    return _desk(request, visit, found.fields, situation=found)


def _desk(
    request: HttpRequest,
    visit: Visit,
    fields: dict[str, str],
    *,
    situation: Situation | None = None,
    origin: Situation | None = None,
    elicited: Elicited | None = None,
) -> HttpResponse:
    tag = fields.get("language") or visit.project.language
    cluster = situation.cluster if situation else origin.cluster if origin else ""
    return show(
        request,
        visit,
        "desk",
        situation=situation,
        origin=origin,
        elicited=elicited,
        fields=fields,
        gloss=language(visit.project.gloss) if visit.project.gloss != tag else None,
        parts=[
            (name, label, fields.get(name, ""), fields.get(name + GLOSS, "")) for name, label in PARTS_ASKED.items()
        ],
        groups=[(group, label, _slots(fields, group)) for group, label in _GROUPS],
        languages=[language(one) for one in dict.fromkeys([*visit.project.languages, tag])],
        topics=_topics(visit.project, fields.get("topic", "")),
        categories=dict.fromkeys([*CATEGORIES, *([fields["category"]] if fields.get("category") else [])]),
        reasons=REASONS if situation and situation.state != DRAFT else (),
        variations=Situation.objects.filter(project=visit.project, cluster=cluster).order_by("number")
        if cluster
        else (),
        **_told(visit, fields, situation, cluster),
    )


_GROUPS = (
    ("relevant", gettext_lazy("What an average person here would do.")),
    ("irrelevant", gettext_lazy("What sounds reasonable, but one would not do here.")),
)


def _slots(fields: dict[str, str], group: str) -> list[tuple[str, str, str, str]]:
    """Return (number, field, text, gloss) of the slots that are filled, and of empty ones to write in."""
    names = [(str(slot), f"{group}_{slot}") for slot in range(1, SLOTS + 1)]
    return [(slot, name, fields.get(name, ""), fields.get(name + GLOSS, "")) for slot, name in names]


def _topics(project: Project, own: str) -> list[str]:
    named = Topic.objects.filter(project=project, retired=False).values_list("name", flat=True)
    return list(dict.fromkeys([*(named or TOPICS), *([own] if own else [])]))


def _told(visit: Visit, fields: dict[str, str], situation: Situation | None, cluster: str) -> dict[str, Any]:
    """Return what the checks say and how the three variants read."""
    others = Situation.objects.filter(project=visit.project).exclude(cluster=cluster)
    if situation is not None:
        others = others.exclude(id=situation.id)
    texts = prompts(fields)
    return {
        "findings": check_fields(fields, {str(one.number): one.fields for one in others}),
        "previews": [(variant, texts[variant]) for variant in VARIANTS],
        "own": language(fields.get("language") or visit.project.language),
    }


@page("check/", write=WRITERS)
def check_writing(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Say what the checks find in a text that is not saved; nothing is recorded."""
    fields = read_fields({name: request.POST.get(name, "") for name in FIELDS})
    number = request.POST.get("number", "")
    found = situation_or_404(visit, int(number)) if number.isdecimal() and len(number) < 9 else None
    origin = _origin(request, visit)
    cluster = found.cluster if found else origin.cluster if origin else ""
    return render(request, "studio/told.html", _told(visit, fields, found, cluster))


def _check_whole(fields: Fields) -> None:
    missing = [said.message for said in check_fields(fields) if said.severity == "error"]
    if missing:
        raise RefusedError(
            _("It is not finished: %(missing)s.") % {"missing": "; ".join(missing)},
            hint=_("Finish it at the writing desk."),
        )


@page("situations/<int:number>/ask/", write=WRITERS, alone=False)
def ask_model(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Ask the model about the text as it is now; what it said is kept with the situation."""
    found = situation_or_404(visit, number)
    _check_whole(found.fields)
    body = {**ask(found.fields), "revision": found.revision}
    with writing(), transaction.atomic():
        act(request, visit, "situation.asked", body, subject=found.id)
    return redirect("situation", project=visit.project.slug, number=number)


@page("situations/<int:number>/submit/", write=WRITERS)
def submit_situation(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Send a draft to review, if nothing is missing from it."""
    found = situation_or_404(visit, number)
    if visit.member.author not in found.authors and not visit.may({"coordinator", "scribe"}):
        raise RefusedError(_("This is somebody else's draft."))
    _check_whole(found.fields)
    act(request, visit, "situation.submitted", {}, subject=found.id)
    return redirect("situation", project=visit.project.slug, number=number)


@page("situations/<int:number>/return/", write=WRITERS)
def return_situation(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Take a situation out of review, back to a draft."""
    found = situation_or_404(visit, number)
    if visit.member.author != found.author and not visit.may({"coordinator", "scribe"}):
        raise RefusedError(_("This is somebody else's situation."))
    if found.state == IN_REVIEW and not found.revealed and votes_of(found):
        raise RefusedError(_("People are voting on this text."), hint=_("Reveal the votes first."))
    act(request, visit, "situation.returned", {}, subject=found.id)
    return redirect("situation", project=visit.project.slug, number=number)

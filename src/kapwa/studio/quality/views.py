"""Pages about the quality of answers: signals by person's number, setting answers aside, and check questions."""

from __future__ import annotations

from collections.abc import Collection

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.labels.open_answers import agreement_of
from kapwa.studio.core.aside import REASONS, Aside, set_aside
from kapwa.studio.core.desks import DESKS, Desk
from kapwa.studio.core.roles import COORDINATORS, MODERATORS
from kapwa.studio.core.security import SAFE, Visit, page
from kapwa.studio.core.tables import Membership, Project
from kapwa.studio.core.text import key_of, tidy, tidy_line
from kapwa.studio.core.views.common import act, named_agreement, show, whole
from kapwa.studio.core.views.project import note_changes, settings_of
from kapwa.studio.quality.material import Material, material
from kapwa.studio.quality.signals import Signals, signals_of
from kapwa.studio.questions.events import askable
from kapwa.studio.questions.tables import Question
from kapwa.value_types import Cells


def _desk_or_404(project: Project, name: str) -> Desk:
    if name not in DESKS or not DESKS[name].offered(project):
        raise Http404
    return DESKS[name]


def _people(project: Project, desk: str) -> tuple[Material, list[Signals]]:
    made = material(project, desk)
    return made, signals_of(project, made)


def _agreement(made: Material, without: Collection[str]) -> list[Cells]:
    """Return how far people agree, without some of them."""
    left = {item: {who: by[who] for who in by if who not in without} for item, by in made.answers.items()}
    left = {item: by for item, by in left.items() if by}
    return named_agreement(agreement_of(left).agreement.to_dicts()) if left else []


@page("quality/<slug:kind>/", read=MODERATORS, long=SAFE)
def quality(request: HttpRequest, visit: Visit, kind: str) -> HttpResponse:
    """Show everybody's signals at a desk, by number; and how far people agree with and without what is set aside."""
    desk = _desk_or_404(visit.project, kind)
    made, people = _people(visit.project, kind)
    asked = {row.who: row for row in Aside.objects.filter(project=visit.project, desk=kind)}
    rows = [(person, asked.get(person.author)) for person in people]
    aside = set_aside(visit.project, kind)
    figures = {"all": _agreement(made, ()), "without": aside and _agreement(made, aside)}
    return show(visit, "quality", desk=desk, rows=rows, agreement=figures)


@page("quality/<slug:kind>/<slug:code>/", read=MODERATORS, write=MODERATORS, long=SAFE)
def person_quality(request: HttpRequest, visit: Visit, kind: str, code: str) -> HttpResponse:
    """Show one person's signals and answers; ask to set these aside, agree to that as a second person, or end it."""
    desk = _desk_or_404(visit.project, kind)
    authors = Membership.objects.filter(project=visit.project).values_list("author", flat=True)
    author = next((author for author in authors if key_of(visit.project, author) == code), "")
    if request.method == "POST" and author:
        act(visit, *_posted(request, kind), subject=author)
        return redirect("person_quality", project=visit.project.slug, kind=kind, code=code)
    made, people = _people(visit.project, kind)
    person = next((person for person in people if person.author == author), None)
    if person is None:
        raise UsageError(_("There is no such member."))
    figures = {"all": _agreement(made, ()), "without": _agreement(made, {author})}
    aside = Aside.objects.filter(project=visit.project, desk=kind, who=author).first()
    about = {"person": person, "aside": aside, "reasons": REASONS, "rows": made.rows[author]}
    about["reason"] = REASONS[aside.reason] if aside else ""
    return show(visit, "person_quality", desk=desk, agreement=figures, **about)


def _posted(request: HttpRequest, desk: str) -> tuple[str, dict[str, str]]:
    """Return the kind and body of the event that a posted form asks for; the button that was pressed says which."""
    action, reason = request.POST.get("action"), request.POST.get("reason", "")
    if action in ("agreed", "ended"):
        return f"work.aside-{action}", {"aside": request.POST.get("aside", "")[:36]}
    if reason not in REASONS:
        raise UsageError(_("The reason is missing."), hint=_("Choose one."))
    return "work.aside-asked", {"desk": desk, "reason": reason, "note": tidy(request.POST.get("note", ""), 2000)}


@page("checks/", read=COORDINATORS, write=COORDINATORS)
def checks(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List check questions; make one, change its known answers, and say how many questions people are asked twice."""
    project, asked = visit.project, askable(visit.project, *visit.project.languages)
    if request.method == "POST":
        if "repeats_each" in request.POST:
            before = settings_of(project)
            project.repeats_each = whole(request.POST["repeats_each"], 0, 20)
            note_changes(visit, before)
        else:
            wording = asked.filter(id=request.POST.get("wording", "")).first()
            if wording is None:
                raise UsageError(_("This question no longer exists."))
            lines = [tidy_line(line, 200) for line in tidy(request.POST.get("accepted", "")).split("\n")]
            body = {"language": wording.language, "accepted": list(filter(None, lines))}
            act(visit, "question.checked", body, subject=wording.question_id)
        return redirect("checks", project=project.slug)
    known = Question.objects.filter(project=project).exclude(accepted={}).order_by("number")
    return show(visit, "checks", asked=asked, known=known)

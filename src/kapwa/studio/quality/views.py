"""Pages about the quality of answers: signals by person's number, setting answers aside, and check questions."""

from __future__ import annotations

from collections.abc import Collection

from django import forms
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _n

from kapwa.errors import UsageError
from kapwa.labels.open_answers import agreement_of
from kapwa.studio.core.aside import REASONS, Aside, asides_of, set_aside
from kapwa.studio.core.desks import DESKS, Desk
from kapwa.studio.core.posted import PageForm, SetText, posted, pressed
from kapwa.studio.core.roles import COORDINATORS, MODERATORS
from kapwa.studio.core.security import SAFE, Visit, page
from kapwa.studio.core.tables import ID, Membership, Project
from kapwa.studio.core.text import key_of, tidy_line
from kapwa.studio.core.views.common import act, named_agreement, show
from kapwa.studio.core.views.fields import OneOfField, TypedField, checked, told
from kapwa.studio.core.views.project import note_changes, settings_of
from kapwa.studio.quality.material import Material, material
from kapwa.studio.quality.signals import Signals, signals_of
from kapwa.studio.questions.events import askable
from kapwa.studio.questions.tables import Question, Wording
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
    asked = {row.who: row for row in asides_of(visit.project) if row.desk == kind}
    rows = [(person, asked.get(person.author)) for person in people]
    aside = set_aside(visit.project, kind)
    figures = {"all": _agreement(made, ()), "without": aside and _agreement(made, aside)}
    return show(visit, "quality", desk=desk, rows=rows, agreement=figures)


class AsideForm(PageForm):
    """Why somebody's answers are to be set aside; or that a second person agrees to it, or ends it."""

    aside = SetText(max_length=ID, required=False)
    reason = OneOfField(REASONS.items(), told(_n("The reason is missing."), _n("Choose one.")))
    note = TypedField(2000, required=False)

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(posted(request))
        self.answer = pressed(request, "agreed", "ended")
        self.fields["reason"].required = not self.answer

    def event(self, desk: str) -> tuple[str, dict[str, str]]:
        """Return the kind and body of the event."""
        made = self.cleaned_data
        if self.answer:
            return f"work.aside-{self.answer}", {"aside": made["aside"]}
        return "work.aside-asked", {"desk": desk, "reason": made["reason"], "note": made["note"]}


@page("quality/<slug:kind>/<slug:code>/", read=MODERATORS, write=MODERATORS, long=SAFE)
def person_quality(request: HttpRequest, visit: Visit, kind: str, code: str) -> HttpResponse:
    """Show one person's signals and answers; ask to set these aside, agree to that as a second person, or end it."""
    desk = _desk_or_404(visit.project, kind)
    authors = Membership.objects.filter(project=visit.project).values_list("author", flat=True)
    author = next((author for author in authors if key_of(visit.project, author) == code), "")
    form = AsideForm(request)
    if form.is_valid() and author:
        act(visit, *form.event(kind), subject=author)
        return redirect("person_quality", project=visit.project.slug, kind=kind, code=code)
    made, people = _people(visit.project, kind)
    person = next((person for person in people if person.author == author), None)
    if person is None:
        raise UsageError(_("There is no such member."))
    figures = {"all": _agreement(made, ()), "without": _agreement(made, {author})}
    aside = Aside.objects.filter(project=visit.project, desk=kind, who=author).first()
    about = {"person": person, "aside": aside, "reasons": REASONS, "rows": made.rows[author]}
    about |= {"reason": REASONS[aside.reason] if aside else "", "asking": form}
    return show(visit, "person_quality", 400 if form.errors else 200, desk=desk, agreement=figures, **about)


class CheckForm(PageForm):
    """The known answers of a check question, one a line; none makes it an ordinary question again."""

    wording = forms.ModelChoiceField(None)
    accepted = TypedField(required=False)

    def __init__(self, asked: QuerySet[Wording], posted: QueryDict | None) -> None:
        super().__init__(posted)
        self.fields["wording"].queryset = asked

    def clean_accepted(self) -> list[str]:
        """Return the answers."""
        lines = [checked(tidy_line, line, 200) for line in self.cleaned_data["accepted"].split("\n")]
        return list(filter(None, lines))


class RepeatsForm(PageForm):
    """How many questions each person is asked a second time."""

    repeats_each = forms.IntegerField(min_value=0, max_value=20)


@page("checks/", read=COORDINATORS, write=COORDINATORS)
def checks(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List check questions; make one, change its known answers, and say how many questions people are asked twice."""
    project, asked = visit.project, askable(visit.project, *visit.project.languages)
    action = pressed(request, "check", "repeats")
    check = CheckForm(asked, posted(request) if action == "check" else None)
    twice = RepeatsForm(
        posted(request) if action == "repeats" else None, initial={"repeats_each": project.repeats_each}
    )
    if check.is_valid():
        wording = check.cleaned_data["wording"]
        body = {"language": wording.language, "accepted": check.cleaned_data["accepted"]}
        act(visit, "question.checked", body, subject=wording.question_id)
        return redirect("checks", project=project.slug)
    if twice.is_valid():
        before = settings_of(project)
        project.repeats_each = twice.cleaned_data["repeats_each"]
        note_changes(visit, before)
        return redirect("checks", project=project.slug)
    known = Question.objects.filter(project=project).exclude(accepted={}).order_by("number")
    status = 400 if check.errors or twice.errors else 200
    return show(visit, "checks", status, asked=asked, known=known, check=check, twice=twice)

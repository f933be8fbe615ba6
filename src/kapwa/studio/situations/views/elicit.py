"""What people tell when the questionnaire asks, of which situations are made."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from kapwa.studio.core.languages import language
from kapwa.studio.core.posted import PageForm, posted
from kapwa.studio.core.roles import COORDINATORS, WRITERS
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import Project, Topic
from kapwa.studio.core.views.common import act, show
from kapwa.studio.core.views.fields import LanguageField, TypedField
from kapwa.studio.situations.questionnaire import questions_of
from kapwa.studio.situations.tables import Elicited, Situation


class ElicitForm(PageForm):
    """An answer to one of the questions, in a language, perhaps on a topic."""

    question = forms.ChoiceField()
    text = TypedField()
    language = LanguageField(required=False)
    topic = TypedField(200, required=False)

    def __init__(self, project: Project, asked: Mapping[str, str], posted: Mapping[str, str] | None) -> None:
        super().__init__(posted)
        self.main = project.language
        self.fields["question"].choices = asked.items()

    def clean_language(self) -> str:
        """Return the tag of the answer's language."""
        return str(self.cleaned_data["language"] or self.main)


@page("elicit/", read=WRITERS, write=WRITERS)
def elicit(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Ask the questions, take an answer, and show one's own answers; coordinators see everybody's."""
    questions = questions_of(visit.project)
    asked = {question.key: question.text for question in questions}
    form = ElicitForm(visit.project, asked, posted(request))
    if form.is_valid():
        act(visit, "elicited.answered", form.cleaned_data, once=True)
        return redirect("elicit", project=visit.project.slug)
    answers = Elicited.objects.filter(project=visit.project)
    if not visit.may(COORDINATORS):
        answers = answers.filter(author=visit.member.author)
    made = Situation.objects.filter(project=visit.project)
    return show(
        visit,
        "elicit",
        400 if form.errors else 200,
        written=form,
        questions=questions,
        answers=[(row, asked.get(row.question, row.question), made.filter(elicited=row.id)) for row in answers],
        languages=[language(tag) for tag in visit.project.languages],
        topics=Topic.objects.filter(project=visit.project, retired=False).values_list("name", flat=True),
    )

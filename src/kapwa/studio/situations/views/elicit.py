"""What people tell when the questionnaire asks, of which situations are made."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.studio.core.languages import checked_tag, language
from kapwa.studio.core.roles import COORDINATORS, WRITERS
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import Topic
from kapwa.studio.core.text import tidy
from kapwa.studio.core.views.common import act, show
from kapwa.studio.situations.questionnaire import questions_of
from kapwa.studio.situations.tables import Elicited, Situation


@page("elicit/", read=WRITERS, write=WRITERS)
def elicit(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Ask the questions, take an answer, and show one's own answers; coordinators see everybody's."""
    questions = questions_of(visit.project)
    asked = {question.key: question.text for question in questions}
    if request.method == "POST":
        key, text = request.POST.get("question", ""), tidy(request.POST.get("text", ""))
        if key not in asked or not text:
            raise UsageError(_("Choose a question and write an answer."), hint=_("Go back; what you wrote is below."))
        tag = checked_tag(request.POST.get("language") or visit.project.language)
        body = {"question": key, "text": text, "language": tag, "topic": tidy(request.POST.get("topic", ""), 200)}
        act(visit, "elicited.answered", body)
        return redirect("elicit", project=visit.project.slug)
    answers = Elicited.objects.filter(project=visit.project)
    if not visit.may(COORDINATORS):
        answers = answers.filter(author=visit.member.author)
    made = Situation.objects.filter(project=visit.project)
    return show(
        visit,
        "elicit",
        questions=questions,
        answers=[(row, asked.get(row.question, row.question), made.filter(elicited=row.id)) for row in answers],
        languages=[language(tag) for tag in visit.project.languages],
        topics=Topic.objects.filter(project=visit.project, retired=False).values_list("name", flat=True),
    )

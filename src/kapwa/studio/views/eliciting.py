"""The questionnaire: what people tell, each answer a possible beginning of a situation."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.studio.fields import tidy
from kapwa.studio.languages import checked_tag, language
from kapwa.studio.models import Elicited, Situation, Topic
from kapwa.studio.questions import questions_of
from kapwa.studio.roles import COORDINATORS, WRITERS
from kapwa.studio.security import Visit, page
from kapwa.studio.views.common import act, show


@page("elicit/", read=WRITERS, write=WRITERS)
def elicit(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Ask the questions, take an answer, and show one's own answers; coordinators see everybody's."""
    questions = questions_of(visit.project)
    if request.method == "POST":
        key, text = request.POST.get("question", ""), tidy(request.POST.get("text", ""))
        if key not in {one.key for one in questions} or not text:
            raise UsageError(_("Choose a question and write an answer."), hint=_("Go back; what you wrote is below."))
        body = {
            "question": key,
            "text": text,
            "language": checked_tag(request.POST.get("language") or visit.project.language),
            "topic": tidy(request.POST.get("topic", ""), 200),
        }
        act(request, visit, "elicited.answered", body)
        return redirect("elicit", project=visit.project.slug)
    found = Elicited.objects.filter(project=visit.project)
    if not visit.may(COORDINATORS):
        found = found.filter(author=visit.member.author)
    drafts: dict[str, list[int]] = {}
    for number, source in Situation.objects.filter(project=visit.project).values_list("number", "elicited"):
        drafts.setdefault(source, []).append(number)
    asked = {one.key: one.text for one in questions}
    answers = [(one, asked.get(one.question, one.question), drafts.get(one.id, [])) for one in found]
    kinds: dict[str, list[object]] = {}
    for one in questions:
        kinds.setdefault(one.kind, []).append(one)
    return show(
        request,
        visit,
        "elicit",
        kinds=kinds,
        answers=answers,
        languages=[language(tag) for tag in visit.project.languages],
        topics=Topic.objects.filter(project=visit.project, retired=False).values_list("name", flat=True),
    )

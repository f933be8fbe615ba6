"""What people tell when the questionnaire asks, of which situations are made."""

from __future__ import annotations

from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _n

from kapwa.errors import UsageError
from kapwa.studio.core.languages import checked_tag, language
from kapwa.studio.core.roles import COORDINATORS, WRITERS
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import Project, Topic
from kapwa.studio.core.text import tidy
from kapwa.studio.core.views.common import act, show
from kapwa.studio.situations.tables import Elicited, Situation


class Question(NamedTuple):
    """A question: its key in the log, which kind it is, and what it asks."""

    key: str
    kind: str
    text: str


# Of Kalahi's appendix A; the words are ours, and a project may put its own in their place.
OPENING, FOLLOW_UP, ACTION = _n("To begin with"), _n("To go on"), _n("What one would do")


_QUESTIONS = (
    ("experience", OPENING, _n("What have you lived through that only somebody of your community would know?")),
    ("differences", OPENING, _n("When you were among other people, what was done differently from what you know?")),
    ("likes", OPENING, _n("Name three things you like about being {culture}, and three that you do not.")),
    ("behaviour", OPENING, _n("By which acts, words or feelings would you know at once that somebody is {culture}?")),
    ("meaning", OPENING, _n("What does being {culture} mean to you?")),
    ("agree", FOLLOW_UP, _n("Are people of some places or families more likely to do this? Which, and why?")),
    ("relevant", FOLLOW_UP, _n("Does this matter in your own community today? Why, or why not?")),
    ("hallmark", FOLLOW_UP, _n("Would others know somebody by it, or do outsiders only believe so?")),
    ("elder", ACTION, _n("An elder you respect says something wrong. How would you tell them, or would you not?")),
    ("travel", ACTION, _n("You travel on a crowded bus or boat. What do you take care of?")),
    ("avoid", ACTION, _n("Which places near you would you not go to, and when? What do you do instead?")),
    ("ill", ACTION, _n("You have a cold, a sore throat or a broken arm. What do you do first, and whom do you ask?")),
)


def questions_of(project: Project, *, ours: bool = False) -> list[Question]:
    """Return the questions in the project's own words, else (with ``ours`` all of them) in those of the interface."""
    own = {} if ours else project.questions
    asked = {key: own.get(key) or _(text).format(culture=project.culture) for key, _kind, text in _QUESTIONS}
    return [Question(key, _(kind), asked[key]) for key, kind, _text in _QUESTIONS]


@page("elicit/", read=WRITERS, write=WRITERS)
def elicit(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Ask the questions, take an answer, and show one's own answers; coordinators see everybody's."""
    questions = questions_of(visit.project)
    asked = {one.key: one.text for one in questions}
    if request.method == "POST":
        key, text = request.POST.get("question", ""), tidy(request.POST.get("text", ""))
        if key not in asked or not text:
            raise UsageError(_("Choose a question and write an answer."), hint=_("Go back; what you wrote is below."))
        tag = checked_tag(request.POST.get("language") or visit.project.language)
        body = {"question": key, "text": text, "language": tag, "topic": tidy(request.POST.get("topic", ""), 200)}
        act(request, visit, "elicited.answered", body)
        return redirect("elicit", project=visit.project.slug)
    found = Elicited.objects.filter(project=visit.project)
    if not visit.may(COORDINATORS):
        found = found.filter(author=visit.member.author)
    made = Situation.objects.filter(project=visit.project)
    return show(
        request,
        visit,
        "elicit",
        questions=questions,
        answers=[(one, asked.get(one.question, one.question), made.filter(elicited=one.id)) for one in found],
        languages=[language(tag) for tag in visit.project.languages],
        topics=Topic.objects.filter(project=visit.project, retired=False).values_list("name", flat=True),
    )

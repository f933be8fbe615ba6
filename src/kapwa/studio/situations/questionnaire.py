"""The questionnaire by which people come to situations, of Kalahi's appendix A."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _n

from kapwa.studio.core.tables import Project


class Question(NamedTuple):
    """A question: its key in the log, which kind it is, and what it asks."""

    key: str
    kind: str
    text: str


# Of Kalahi's appendix A; the words are ours, and a project may put its own in their place.
OPENING, FOLLOW_UP, ACTION = _n("Opening question"), _n("Follow-up question"), _n("What you would do")


_QUESTIONS = (
    ("experience", OPENING, _n("What have you lived through that only somebody of your community would know?")),
    ("differences", OPENING, _n("When you were among people from elsewhere, what did they do differently?")),
    ("likes", OPENING, _n("Name three things you like about being {culture}, and three that you do not.")),
    ("behaviour", OPENING, _n("Which acts, words or feelings show you at once that somebody is {culture}?")),
    ("meaning", OPENING, _n("What does being {culture} mean to you?")),
    ("agree", FOLLOW_UP, _n("Are people from some places or families more likely to do this? Which, and why?")),
    ("relevant", FOLLOW_UP, _n("Does this matter in your own community today? Why, or why not?")),
    ("hallmark", FOLLOW_UP, _n("Could others recognise somebody by this, or do only outsiders believe so?")),
    ("elder", ACTION, _n("An elder you respect says something wrong. How would you tell them, or would you not?")),
    ("travel", ACTION, _n("You travel on a crowded bus or boat. What are you careful about?")),
    ("avoid", ACTION, _n("Which places near you would you not go to, and when? What do you do instead?")),
    ("ill", ACTION, _n("You have a cold, a sore throat or a broken arm. What do you do first, and whom do you ask?")),
)


def questions_of(project: Project, *, ours: bool = False) -> list[Question]:
    """Return the questions in the project's own words, else (with ``ours`` all of them) in those of the interface."""
    own = {} if ours else project.questions
    asked = {key: own.get(key) or _(text).format(culture=project.culture) for key, _kind, text in _QUESTIONS}
    return [Question(key, _(kind), asked[key]) for key, kind, _text in _QUESTIONS]

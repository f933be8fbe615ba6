"""The questionnaire of Kalahi's appendix A: five openings, three follow-ups, four about what one would do.

The words are ours, with the culture's name put in; a project may put its own in their place.
"""

from __future__ import annotations

from typing import NamedTuple

from django.utils.translation import gettext_lazy as _

from kapwa.studio.models import Project


class Question(NamedTuple):
    """A question: its key in the log, which kind it is, and what it asks."""

    key: str
    kind: str
    text: str


OPENING, FOLLOW_UP = _("To begin with"), _("To go on")
ACTION = _("What one would do")
_QUESTIONS = (
    Question(
        "experience",
        OPENING,
        _("What have you lived through that only somebody of your community would know?"),
    ),
    Question(
        "differences",
        OPENING,
        _("When you were among other people, what was done differently from what you know?"),
    ),
    Question("likes", OPENING, _("Name three things you like about being {culture}, and three that you do not.")),
    Question(
        "behaviour",
        OPENING,
        _("By which acts, words or feelings would you know at once that somebody is {culture}?"),
    ),
    Question("meaning", OPENING, _("What does being {culture} mean to you?")),
    Question(
        "agree",
        FOLLOW_UP,
        _("Are people of some places or families more likely to do this? Which, and why?"),
    ),
    Question("relevant", FOLLOW_UP, _("Does this matter in your own community today? Why, or why not?")),
    Question("hallmark", FOLLOW_UP, _("Would others know somebody by it, or do outsiders only believe so?")),
    Question(
        "elder",
        ACTION,
        _("An elder you respect says something wrong. How would you tell them, or would you not?"),
    ),
    Question("travel", ACTION, _("You travel on a crowded bus or boat. What do you take care of?")),
    Question("avoid", ACTION, _("Which places near you would you not go to, and when? What do you do instead?")),
    Question(
        "ill",
        ACTION,
        _("You have a cold, a sore throat or a broken arm. What do you do first, and whom do you ask?"),
    ),
)


def questions_of(project: Project, *, ours: bool = False) -> list[Question]:
    """Return the questions in the project's own words, else (with ``ours`` all of them) in those of the interface."""
    own = {} if ours else project.questions
    return [one._replace(text=own.get(one.key) or str(one.text).format(culture=project.culture)) for one in _QUESTIONS]

"""The questionnaire by which people come to situations, of Kalahi's appendix A (``questionnaire.csv``).

Its words are ours, and a project may put its own in their place.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from django.utils.translation import gettext as _

from kapwa.files import table_rows
from kapwa.studio.core.tables import Project

FILE = Path(__file__).with_name("questionnaire.csv")
_ROWS = [(row["key"], row["kind"], row["question"]) for row in table_rows(FILE)]


class FeedbackQuestion(NamedTuple):
    """A question: its key in the log, which kind it is, and what it asks."""

    key: str
    kind: str
    text: str


def questions_of(project: Project, *, ours: bool = False) -> list[FeedbackQuestion]:
    """Return the questions in the project's own words, else (with ``ours`` all of them) in those of the interface."""
    wordings = {} if ours else project.questions
    questions = []
    for key, kind, question in _ROWS:
        text = wordings.get(key) or _(question).format(culture=project.culture)
        questions.append(FeedbackQuestion(key, _(kind), text))
    return questions

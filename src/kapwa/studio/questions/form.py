"""Projects of everyday questions (BLEnD): people word, agree to and answer them, and merge equal answers."""

from __future__ import annotations

from pathlib import Path

from kapwa.errors import raise_first
from kapwa.studio.core.forms import FORMS, Form
from kapwa.studio.core.tables import Project
from kapwa.studio.questions import answer_events, answering, events  # noqa: F401 - each fills a list
from kapwa.studio.questions.importing import add_prompts, import_questions
from kapwa.studio.questions.proposals import holds_proposals, import_proposals
from kapwa.studio.questions.release import EverydayRelease
from kapwa.studio.questions.views.questions import home


def _take_in(project: Project, data: str | Path) -> str:
    if holds_proposals(data):
        taken = import_proposals(project, Path(data))
        return f"{taken.new} proposed wordings for whoever merges answers; {taken.passed_over} passed over."
    result = import_questions(project, data)
    raise_first(result.problems)
    return f"{result.questions} new questions, {result.wordings} new wordings. Two people must agree to each."


FORMS["blend"] = Form(
    release=EverydayRelease,
    menu="studio/menu_questions.html",
    settings=("people_each", "answers_each"),
    home=home,
    take_in=_take_in,
    begin=add_prompts,
    answered=True,
    options_task="blend/mcq",
)

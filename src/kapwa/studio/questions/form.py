"""Projects of everyday questions (BLEnD): people word, agree to and answer them, and merge equal answers."""

from __future__ import annotations

from kapwa.studio.core.forms import FORMS, Form
from kapwa.studio.questions import answer_events, answering, events  # noqa: F401 - each fills a list
from kapwa.studio.questions.importing import QuestionTables, add_prompts
from kapwa.studio.questions.proposals import take_proposals
from kapwa.studio.questions.release import EverydayRelease
from kapwa.studio.questions.searching import texts
from kapwa.studio.questions.views.questions import guide

FORMS["blend"] = Form(
    release=EverydayRelease,
    menu="studio/menu_questions.html",
    settings=("people_each", "answers_each"),
    tasks=("blend/saq",),
    guide=guide,
    tables=QuestionTables(),
    take_other=take_proposals,
    begin=add_prompts,
    answered=True,
    texts=texts,
    options_task="blend/mcq",
)

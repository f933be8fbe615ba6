"""Projects of everyday questions (BLEnD): people word, agree to and answer them, and merge equal answers."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _n

from kapwa.studio.core.forms import FORMS, Form
from kapwa.studio.core.roles import ANSWERER
from kapwa.studio.questions import answer_events, answering, events  # noqa: F401 - each fills a list
from kapwa.studio.questions.answering import languages_wanted
from kapwa.studio.questions.importing import QuestionTables, add_prompts
from kapwa.studio.questions.proposals import take_proposals
from kapwa.studio.questions.release import EverydayRelease
from kapwa.studio.questions.searching import texts
from kapwa.studio.questions.tables import Wording
from kapwa.studio.questions.views.questions import NOTICES, guide, items_named, own

FORMS["blend"] = Form(
    release=EverydayRelease,
    menu=(
        ("questions", _n("Questions")),
        ("translate", _n("Translation")),
        ("answers", _n("Answers")),
        ("topics", _n("Topics")),
        ("glossary", _n("Glossary")),
    ),
    settings=("people_each", "answers_each"),
    tasks=("blend/saq",),
    guide=guide,
    tables=QuestionTables(),
    take_other=take_proposals,
    begin=add_prompts,
    answered=True,
    texts=texts,
    # BLEnD's own.
    topics=("Food", "Sport", "Family", "Education", "Holidays/Celebration/Leisure", "Work life"),
    places=lambda project: {ANSWERER: project.people_each * len(project.languages)},
    languages_wanted=languages_wanted,
    written=lambda project: set(
        Wording.objects.filter(project=project).exclude(author="").values_list("language", flat=True)
    ),
    options_task="blend/mcq",
    notices=NOTICES,
    own=own,
    decided=(
        *("wording.agreed", "wording.refused", "answers.merged", "answers.named", "answers.split"),
        *("answers.confirmed", "answers.compared", "answers.translated"),
    ),
    named=items_named,
)

"""Projects of situations (Kalahi): people elicit, write and review situations, and accept them by their votes."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _n

from kapwa.studio.core.forms import FORMS, Form
from kapwa.studio.core.tables import Project
from kapwa.studio.situations.events import unrevealed
from kapwa.studio.situations.importing import SituationTables
from kapwa.studio.situations.questionnaire import questions_of
from kapwa.studio.situations.release import SituationRelease
from kapwa.studio.situations.searching import texts
from kapwa.studio.situations.tables import Elicited, Situation
from kapwa.studio.situations.views.overview import (
    NOTICES,
    guide,
    items_named,
    overview,
    own,
    topic_coverage,
    waiting_votes,
)
from kapwa.suites.kalahi.form import TOPICS


def written_in(project: Project) -> set[str]:
    """Return the languages of situations, and of answers to the questionnaire."""
    situations = Situation.objects.filter(project=project).values_list("fields__language", flat=True)
    answers = Elicited.objects.filter(project=project).values_list("language", flat=True)
    return {*filter(None, situations), *answers}


FORMS["kalahi"] = Form(
    release=SituationRelease,
    menu=(
        ("situations", _n("Situations")),
        ("elicit", _n("Questions")),
        ("topics", _n("Topics")),
        ("sessions", _n("Sessions")),
    ),
    settings=("quorum", "questions"),
    tasks=("kalahi/mc", "kalahi/open"),
    guide=guide,
    notices=NOTICES,
    own=own,
    decided=("situation.voted", "situation.revealed", "situation.accepted", "situation.rejected"),
    named=items_named,
    overview=overview,
    tables=SituationTables(),
    questionnaire=questions_of,
    topic_coverage=topic_coverage,
    texts=texts,
    topics=TOPICS,
    written=written_in,
    hidden=unrevealed,
    to_vote=lambda visit, items: any(row.id in items for row in waiting_votes(visit)),
    numbers=lambda project: dict(Situation.objects.filter(project=project).values_list("id", "number")),
)

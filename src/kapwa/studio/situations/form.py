"""Projects of situations (Kalahi): people elicit, write and review situations, and accept them by their votes."""

from __future__ import annotations

from kapwa.studio.core.forms import FORMS, Form
from kapwa.studio.situations.events import unrevealed
from kapwa.studio.situations.importing import SituationTables
from kapwa.studio.situations.questionnaire import questions_of
from kapwa.studio.situations.release import SituationRelease
from kapwa.studio.situations.searching import texts
from kapwa.studio.situations.tables import Situation
from kapwa.studio.situations.views.overview import guide, overview, topic_coverage

FORMS["kalahi"] = Form(
    release=SituationRelease,
    menu="studio/menu_situations.html",
    settings=("quorum", "questions"),
    tasks=("kalahi/mc", "kalahi/open"),
    guide=guide,
    overview=overview,
    tables=SituationTables(),
    questionnaire=questions_of,
    topic_coverage=topic_coverage,
    texts=texts,
    hidden=unrevealed,
    numbers=lambda project: dict(Situation.objects.filter(project=project).values_list("id", "number")),
)

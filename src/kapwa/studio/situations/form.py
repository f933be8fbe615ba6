"""Projects of situations (Kalahi): people elicit, write and review situations, and accept them by their votes."""

from __future__ import annotations

from pathlib import Path

from kapwa.studio.core.forms import FORMS, Form
from kapwa.studio.core.tables import Project
from kapwa.studio.situations.events import unrevealed
from kapwa.studio.situations.importing import import_situations
from kapwa.studio.situations.questionnaire import questions_of
from kapwa.studio.situations.release import SituationRelease
from kapwa.studio.situations.tables import Situation
from kapwa.studio.situations.views.overview import guide, overview, topic_coverage


def _take_in(project: Project, data: str | Path) -> str:
    count = import_situations(project, data)
    return f"{count} new draft{'s' * (count != 1)}. Send them to review in the browser."


FORMS["kalahi"] = Form(
    release=SituationRelease,
    menu="studio/menu_situations.html",
    settings=("quorum", "questions"),
    guide=guide,
    overview=overview,
    take_in=_take_in,
    questionnaire=questions_of,
    topic_coverage=topic_coverage,
    hidden=unrevealed,
    numbers=lambda project: dict(Situation.objects.filter(project=project).values_list("id", "number")),
)

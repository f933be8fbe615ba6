"""Projects of prompts across cultures (EECC): people list concepts, identities and templates, and agree to them."""

from __future__ import annotations

from pathlib import Path

from kapwa.studio.core.forms import FORMS, Form
from kapwa.studio.core.tables import Project
from kapwa.studio.prompts import events  # noqa: F401 - fills the list of kinds
from kapwa.studio.prompts.importing import import_prompts
from kapwa.studio.prompts.release import PromptRelease
from kapwa.studio.prompts.views import guide


def _take_in(project: Project, data: str | Path) -> str:
    count = import_prompts(project, data)
    return f"{count} new. Two people must agree to each template and identity."


FORMS["eecc"] = Form(
    release=PromptRelease,
    menu="studio/menu_prompts.html",
    settings=("attribute",),
    guide=guide,
    take_in=_take_in,
)

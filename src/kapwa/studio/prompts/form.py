"""Projects of prompts across cultures (EECC): people list concepts, identities and templates, and agree to them."""

from __future__ import annotations

from kapwa.studio.core.forms import FORMS, Form
from kapwa.studio.prompts import events  # noqa: F401 - fills the list of kinds
from kapwa.studio.prompts.importing import PromptTables
from kapwa.studio.prompts.release import PromptRelease
from kapwa.studio.prompts.views import guide, texts

FORMS["eecc"] = Form(
    release=PromptRelease,
    menu="studio/menu_prompts.html",
    settings=("attribute",),
    tasks=("eecc/qa", "eecc/stories"),
    guide=guide,
    tables=PromptTables(),
    texts=texts,
)

"""Projects of prompts across cultures (EECC): people list concepts, identities and templates, and agree to them."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _n

from kapwa.studio.core.forms import FORMS, Form
from kapwa.studio.core.tables import Project
from kapwa.studio.prompts import events  # noqa: F401 - fills the list of kinds
from kapwa.studio.prompts.importing import PromptTables
from kapwa.studio.prompts.release import PromptRelease
from kapwa.studio.prompts.tables import PromptPart
from kapwa.studio.prompts.views import NOTICES, guide, items_named, own, texts


def written_in(project: Project) -> set[str]:
    """Return the languages of templates, and of texts of concepts and identities."""
    fields = PromptPart.objects.filter(project=project, retired=False).values_list("fields", flat=True)
    named = {name.partition("_")[2] for part in fields for name in part if name.startswith("text_")}
    # Names of concepts and identities are in the project's own.
    own = {part.get("language") or project.language for part in fields}
    return named | own


FORMS["eecc"] = Form(
    release=PromptRelease,
    menu=(("prompts", _n("Prompts")), ("glossary", _n("Glossary"))),
    settings=("attribute",),
    tasks=("eecc/qa", "eecc/stories"),
    guide=guide,
    tables=PromptTables(),
    texts=texts,
    written=written_in,
    notices=NOTICES,
    own=own,
    decided=("identity.agreed", "identity.refused", "template.agreed", "template.refused"),
    named=items_named,
)

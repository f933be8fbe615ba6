"""What a release holds, by the form of its project; what all releases share is in ``freeze.py``."""

from __future__ import annotations

from kapwa.studio.models import Project
from kapwa.studio.releasing import everyday, prompts, situations
from kapwa.studio.releasing.base import ReleaseForm

FORMS: dict[str, ReleaseForm] = {"kalahi": situations, "blend": everyday, "eecc": prompts}


def form_of(project: Project) -> ReleaseForm:
    """Return what makes the releases of a project."""
    return FORMS[project.form]

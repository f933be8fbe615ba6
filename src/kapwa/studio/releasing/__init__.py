"""What a release holds, by the form of its project; what all releases share is in ``freeze.py``."""

from __future__ import annotations

from kapwa.studio.models import Project
from kapwa.studio.releasing.base import ReleaseForm
from kapwa.studio.releasing.everyday import EverydayRelease
from kapwa.studio.releasing.prompts import PromptRelease
from kapwa.studio.releasing.situations import SituationRelease

_FORMS: dict[str, type[ReleaseForm]] = {"kalahi": SituationRelease, "blend": EverydayRelease, "eecc": PromptRelease}


def form_of(project: Project) -> ReleaseForm:
    """Return what makes the releases of a project."""
    return _FORMS[project.form](project)

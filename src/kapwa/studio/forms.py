"""What a release holds, by the form of its project; what all releases share is in ``freeze.py``."""

from __future__ import annotations

from kapwa.studio.core.release import ReleaseForm
from kapwa.studio.core.tables import Project
from kapwa.studio.prompts.release import PromptRelease
from kapwa.studio.questions.release import EverydayRelease
from kapwa.studio.situations.release import SituationRelease

_FORMS: dict[str, type[ReleaseForm]] = {"kalahi": SituationRelease, "blend": EverydayRelease, "eecc": PromptRelease}


def form_of(project: Project) -> ReleaseForm:
    """Return what makes the releases of a project."""
    return _FORMS[project.form](project)

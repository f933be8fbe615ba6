"""Setting one person's answers at a desk aside: somebody asks for it with a reason, and a second person agrees.

Nothing is removed: figures and releases go without the answers for as long as it stands, and it can be ended.
"""

from __future__ import annotations

from django.db import models

from kapwa.studio.core.reading import once_a_page
from kapwa.studio.core.tables import Authored, Project
from kapwa.studio.core.text import listed

# Why answers are set aside; a datasheet says how often each was the reason.
REASONS = listed("why answers are set aside")


class Aside(Authored):
    """Answers of the author ``who`` at a desk: set aside once somebody else ``agreed``; ``author`` asked for it."""

    who = models.CharField(max_length=16, db_index=True)
    desk = models.CharField(max_length=40)
    reason = models.CharField(max_length=20)
    note = models.TextField(blank=True)
    agreed = models.BooleanField(default=False)


@once_a_page
def asides_of(project: Project | int) -> list[Aside]:
    """Return whose answers are set aside in a project, at which desks, and of whom somebody asks it; in order."""
    return list(Aside.objects.filter(project=project).order_by("seq"))


def set_aside(project: Project | int, desk: str) -> set[str]:
    """Return the authors whose answers at a desk are set aside now."""
    return {aside.who for aside in asides_of(project) if aside.desk == desk and aside.agreed}

"""What people agree to: the newest text in each language, what it may be used for, and a first text to change."""

from __future__ import annotations

from pathlib import Path

from django.utils.translation import gettext_lazy as _

from kapwa.studio.core.tables import ConsentText, Membership, Project
from kapwa.studio.core.text import tidy

# What somebody may agree to besides taking part, and how it is asked.
SCOPES = {
    "publish": _(
        "What I write may be published as part of the benchmark, under the project's licence. "
        "If I do not allow this, releases leave out every situation that contains my words."
    ),
    "quote": _("My words may be quoted in papers and talks about the benchmark."),
    "contact": _("The project may contact me about it later."),
}
FIRST_TEXT = Path(__file__).parents[1] / "templates" / "studio" / "first_consent.txt"


def newest(project: Project) -> list[ConsentText]:
    """Return the newest version of the project's text in every language it is in."""
    last = project.consents.order_by("version").last()
    return list(project.consents.filter(version=last.version).order_by("language")) if last else []


def publish(project: Project, texts: dict[str, str]) -> None:
    """Make a new version of the consent text, in each language given; members are asked again."""
    version = 1 + max((consent.version for consent in newest(project)), default=0)
    for tag, text in texts.items():
        if text.strip():
            project.consents.create(version=version, language=tag, text=tidy(text, 20_000))


def unwilling_authors(project: Project) -> set[str]:
    """Return the authors whose words may not be published."""
    members = Membership.objects.filter(project=project).values_list("author", "consent_scopes")
    return {author for author, scopes in members if "publish" not in scopes}

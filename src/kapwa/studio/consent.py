"""What people agree to: the newest text in each language, what it may be used for, and a first text to change."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from kapwa.studio.fields import tidy
from kapwa.studio.models import ConsentText, Project

# What somebody may agree to besides taking part, and how it is asked.
SCOPES = {
    "publish": _(
        "What I write may be published as part of the benchmark, under the project's licence. "
        "Without this, releases leave out every situation that has words of mine."
    ),
    "quote": _("My words may be quoted in papers and talks about the benchmark."),
    "contact": _("The project may contact me about it later."),
}
AGE_BANDS = ("18-24", "25-34", "35-44", "45-54", "55-64", gettext_noop("65 and over"))
DEMOGRAPHICS = ("age_band", "gender", "locality", "languages")
FIRST_TEXT = """\
We make a benchmark: a set of everyday situations that shows how well a computer program advises people like us.
Taking part is your choice. You may stop at any time, and nobody will ask why.
What you write is kept under a name that you choose. Your real name and anything else about you is optional, is kept
apart from what you write, and is never published unless you ask for it.
You can withdraw on your own page: we stop contacting you, we forget who you are, or we remove what you wrote. What was
already published stays in the copies that others have; the next release leaves it out. Backups are kept for at most
30 days.
"""


def newest(project: Project) -> list[ConsentText]:
    """Return the newest version of the project's text in every language it is in."""
    last = project.consents.order_by("-version").first()
    return list(project.consents.filter(version=last.version).order_by("language")) if last else []


def publish(project: Project, texts: dict[str, str]) -> int:
    """Make a new version of the consent text, in each language given; members are asked again. Returns its number."""
    last = project.consents.order_by("-version").first()
    version = last.version + 1 if last else 1
    for tag, text in texts.items():
        if text.strip():
            clean = tidy(text, 20_000)
            ConsentText.objects.create(project=project, version=version, language=tag, text=clean)
    return version

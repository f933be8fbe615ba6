"""What people agree to: the newest text in each language, what it may be used for, and a first text to change."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from kapwa.studio.core.interface import SOURCE
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
FIRST_TEXTS = Path(__file__).parents[1] / "templates" / "studio" / "first_consent"
AGE_BANDS = ("18-24", "25-34", "35-44", "45-54", "55-64", gettext_noop("65 and over"))
DEMOGRAPHICS = ("age_band", "gender", "locality", "languages")


@cache
def first_texts() -> dict[str, str]:
    """Return the text that a project begins with, by language; a machine translated it from the English one."""
    return {path.stem: tidy(path.read_text(encoding="utf-8"), 20_000) for path in sorted(FIRST_TEXTS.glob("*.txt"))}


def by_machine(consent: ConsentText) -> bool:
    """Whether a text is a machine's translation, as it came with Kapwa."""
    return consent.language != SOURCE and consent.text == first_texts().get(consent.language)


def for_reader(consents: Iterable[ConsentText], *wanted: str) -> tuple[list[ConsentText], list[ConsentText]]:
    """Return the text in the first language of ``wanted`` that it is in, and those in other languages.

    What a machine translated does not stand alone: the English text goes with it.
    """

    def place(consent: ConsentText) -> tuple[int, bool]:
        spoken = [tag.partition("-")[0] for tag in wanted]
        stem = consent.language.partition("-")[0]
        return spoken.index(stem) if stem in spoken else len(spoken), by_machine(consent)

    first, *others = sorted(consents, key=place)
    source = [consent for consent in others if consent.language == SOURCE and by_machine(first)]
    return [first, *source], [consent for consent in others if consent not in source]


def newest(project: Project) -> list[ConsentText]:
    """Return the newest version of the project's text in every language it is in."""
    last = project.consents.order_by("version").last()
    return list(project.consents.filter(version=last.version).order_by("language")) if last else []


def publish(project: Project, texts: dict[str, str]) -> None:
    """Make a new version of the consent text, in each language given; members are asked again."""
    version = 1 + max((consent.version for consent in newest(project)), default=0)
    for tag, text in texts.items():
        project.consents.create(version=version, language=tag, text=tidy(text, 20_000))


def unwilling_authors(project: Project) -> set[str]:
    """Return the authors whose words may not be published."""
    members = Membership.objects.filter(project=project).values_list("author", "consent_scopes")
    return {author for author, scopes in members if "publish" not in scopes}

"""What people agree to: the newest text in each language, what it may be used for, and a first text to change."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from kapwa.files import table_rows
from kapwa.studio.core.interface import SOURCE
from kapwa.studio.core.reading import members_of
from kapwa.studio.core.tables import ConsentText, Project
from kapwa.studio.core.text import tidy

# What somebody may agree to besides taking part, and how it is asked.
PROGRESS, PUBLISH = "progress", "publish"
SCOPES = {
    PUBLISH: _(
        "What I write may be published as part of the benchmark, under the project's licence. "
        "If I do not allow this, releases leave out everything that contains my words."
    ),
    "quote": _("My words may be quoted in papers and talks about the benchmark."),
    "contact": _("The project may contact me about it later."),
    PROGRESS: _("Coordinators may see how much I have done, and on which day I did something last."),
}
READ_ANEW = gettext_noop("There is a new consent text. Read it and agree to it first.")
FIRST_TEXTS = Path(__file__).parents[1] / "templates" / "studio" / "first_consent"


@cache
def _first_texts() -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Return the texts that projects begin with, by language, and what is made, by form and language."""
    texts = {path.stem: tidy(path.read_text(encoding="utf-8"), 20_000) for path in sorted(FIRST_TEXTS.glob("*.txt"))}
    made = {(row["form"], row["language"]): row["made"] for row in table_rows(FIRST_TEXTS / "made.csv")}
    return texts, made


def first_texts(form: str, licence: str) -> dict[str, str]:
    """Return the text that a project begins with, by language; a machine translated it from the English one.

    It says what people of the form make, and under which licence it is published.
    """
    texts, made = _first_texts()
    return {tag: text.format(made=made[form, tag], licence=licence) for tag, text in texts.items()}


def by_machine(consent: ConsentText) -> bool:
    """Whether a text is a machine's translation, as it came with Kapwa."""
    first = first_texts(consent.project.form, consent.project.licence)
    return consent.language != SOURCE and consent.text == first.get(consent.language)


def for_reader(consents: Iterable[ConsentText], *wanted: str) -> list[ConsentText]:
    """Return the texts, first that in the first language of ``wanted`` there is; a person's before a machine's."""
    stems = [tag.partition("-")[0] for tag in wanted]
    places = {stem: place for place, stem in reversed(list(enumerate(stems)))}

    def place(consent: ConsentText) -> tuple[int, bool]:
        return places.get(consent.language.partition("-")[0], len(stems)), by_machine(consent)

    return sorted(consents, key=place)


def newest(project: Project) -> list[ConsentText]:
    """Return the newest version of the project's text in every language it is in."""
    last = project.consents.order_by("version").last()
    texts = project.consents.filter(version=last.version).order_by("language") if last else ()
    return list(texts)


def publish(project: Project, texts: dict[str, str]) -> bool:
    """Make a new version of the consent text, in each language given, so that members are asked again.

    Returns whether there is one: not where every text is as it was.
    """
    before = newest(project)
    made = {tag: tidy(text, 20_000) for tag, text in texts.items() if text.strip()}
    if made == {consent.language: consent.text for consent in before}:
        return False
    version = 1 + max((consent.version for consent in before), default=0)
    for tag, text in made.items():
        project.consents.create(version=version, language=tag, text=text)
    return True


def follow_licence(project: Project, before: str) -> bool:
    """Name another licence than ``before`` in a consent text that is still the first one; return whether it was."""
    texts = {consent.language: consent.text for consent in newest(project)}
    if texts != first_texts(project.form, before) or before == project.licence:
        return False
    return publish(project, first_texts(project.form, project.licence))


def unwilling_authors(project: Project) -> set[str]:
    """Return the authors whose words may not be published."""
    return {member.author for member in members_of(project) if PUBLISH not in member.consent_scopes}

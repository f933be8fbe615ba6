"""What prompts are made of: templates, concepts and identities, and how the three become one text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from kapwa.suites.eecc.articles import article, article_reference

ENGLISH = "en"
REFERENCE = "_reference"
NATIONALITY = "nationality"
# {vowel} is what the released templates call the article.
ARTICLES = ("article", "vowel")
PLACEHOLDERS = ("concept", "identity", *ARTICLES)
_PLACE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Concept:
    """What a text is about. ``texts``: how it is written in prompts, by language, where that is not its name."""

    topic: str
    name: str
    texts: Mapping[str, str] = field(default_factory=dict)
    row: int = 0


@dataclass(frozen=True, slots=True)
class Identity:
    """One value of the perturbed attribute: "American", "Muslim", "nurse".

    ``country``: the country it belongs to, "" where there is none or nobody said. ``article``: "a" or "an" where the
    data says so itself.
    """

    name: str
    country: str = ""
    article: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)
    row: int = 0


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt with the places {concept}, {identity} and, in English, {article}."""

    name: str
    text: str
    language: str
    row: int = 0

    @property
    def is_english(self) -> bool:
        """Whether articles can be set: they are known for English only."""
        return self.language.partition("-")[0] == ENGLISH

    @property
    def places(self) -> tuple[str, ...]:
        """The names in braces, in order, known or not."""
        return tuple(_PLACE.findall(self.text))

    @property
    def has_article(self) -> bool:
        """Whether the template leaves the article to be filled in, so that there is a ``_reference`` wording of it."""
        return any(name in ARTICLES for name in self.places)

    def variants(self) -> tuple[str, ...]:
        """Names of the variants this template gives: its own, and the one with the released article rule."""
        return (self.name, f"{self.name}{REFERENCE}") if self.has_article else (self.name,)

    def render(self, concept: Concept, identity: Identity, *, reference: bool = False) -> str:
        """Return the prompt; ``reference`` takes the article of the released prompts."""
        written = written_in(identity, self.language)
        by_sound = identity.article or article(written)
        chosen = article_reference(written) if reference else by_sound
        values = {
            "concept": written_in(concept, self.language),
            "identity": written,
            **dict.fromkeys(ARTICLES, chosen),
        }
        # One pass, so that a brace inside a concept's name is never taken for a place.
        return _PLACE.sub(lambda place: values.get(place[1], place[0]), self.text)


def written_in(part: Concept | Identity, language: str) -> str:
    """Return how a concept or identity is written in a prompt of ``language``: its own text there, else its name."""
    texts = part.texts
    return texts.get(language) or texts.get(language.partition("-")[0]) or texts.get("") or part.name


@dataclass(frozen=True, slots=True)
class PromptSet:
    """What one task asks: every template with every concept for every identity."""

    attribute: str
    templates: tuple[Template, ...]
    concepts: tuple[Concept, ...]
    identities: tuple[Identity, ...]

"""Finding texts of a project again: by words, as translations of similar sentences, and as terms of its glossary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rapidfuzz import fuzz, process

from kapwa.languages.folding import unaccented
from kapwa.studio.core.tables import Project, Term

MOST_ALIKE = 3
_ALIKE = 60.0  # percent of equal letters


class TextShown(NamedTuple):
    """A text that a page shows: what it belongs to, the page's address, and the language it is in."""

    title: str
    url: str
    text: str
    language: str


class Translated(NamedTuple):
    """A sentence, and how it was translated."""

    text: str
    translation: str


def _plain(text: str) -> str:
    return unaccented(text.casefold())


def holding(texts: Iterable[TextShown], query: str) -> list[TextShown]:
    """Return the texts that hold every word of ``query``, whatever its capitals and accents."""
    words = _plain(query).split()
    return [shown for shown in texts if all(word in _plain(shown.text) for word in words)]


def earlier(texts: Iterable[str], translations: Iterable[tuple[str, str]]) -> list[Translated]:
    """Return up to three translations of sentences like each of ``texts``, the likest first."""
    known = {text: translation for text, translation in translations if text and translation}
    alike: dict[str, float] = {}
    for text in texts:
        rows = process.extract(text, list(known), scorer=fuzz.ratio, score_cutoff=_ALIKE, limit=MOST_ALIKE)
        alike |= {sentence: score for sentence, score, _place in rows}
    return [Translated(sentence, known[sentence]) for sentence in sorted(alike, key=alike.__getitem__, reverse=True)]


def terms_in(project: Project, *texts: str) -> list[Term]:
    """Return the terms of the glossary that stand in any of ``texts``."""
    plain = _plain("\n".join(texts))
    return [term for term in Term.objects.filter(project=project).order_by("name") if _plain(term.name) in plain]

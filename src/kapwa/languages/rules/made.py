"""The rules of a language as code sees them, and those that a file alone gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from kapwa.languages.base import Tool, lemma, lemmatised, simplemma_tool, stem, stemmed, stemmer_tool, stripped_forms
from kapwa.languages.folding import Folding, spaced_tokens, unaccented
from kapwa.languages.schema import Affixes, LanguageFile, Spelling

Affixless = Callable[[str], Iterator[str]]


@dataclass(frozen=True)
class Rules:
    """The code of a language; the fields are those of :class:`kapwa.languages.base.Language`."""

    variants: Callable[[str], Iterable[str]]
    tools: tuple[Callable[[], Tool | None], ...] = ()
    folding: Folding = field(default_factory=Folding)
    cut: Callable[[str], tuple[str, ...]] = spaced_tokens


def folding_of(spelling: Spelling, **further: object) -> Folding:
    """Return the folding by a file's tables of letters and strings; ``further``: other fields of the folding."""
    return Folding(after=str.maketrans(dict(spelling.letters)), replace=spelling.strings, **further)  # type: ignore[arg-type]


def affix_stripper(affixes: Affixes, letters: Callable[[str], int] = len) -> Affixless:
    """Return what yields the words that a word minus one affix may be; ``letters`` counts what must remain."""

    def strip(word: str) -> Iterator[str]:
        for shortest, prefixes in affixes.prefixes.items():
            for prefix in prefixes:
                rest = word.removeprefix(prefix)
                if rest != word and letters(rest) >= shortest:
                    yield rest
        for shortest, suffixes in affixes.suffixes.items():
            for suffix in suffixes:
                rest = word.removesuffix(suffix)
                if rest != word and letters(rest) >= shortest:
                    yield rest

    return strip


def plain(file: LanguageFile) -> Rules:
    """Return the rules that a file alone gives: accents and affixes off, loose letters, lemma and stem where known."""
    strip = affix_stripper(file.affixes)
    loose = str.maketrans(dict(file.spelling.loose_letters))
    algorithm = file.name.lower() if file.name.lower() in stemmed() else ""
    lemmas = file.tag if file.tag in lemmatised() else ""

    def variants(token: str) -> set[str]:
        forms = stripped_forms(token, strip) | stripped_forms(unaccented(token), strip)
        if lemmas:
            forms |= {lemma(form, lemmas) for form in forms}
        if algorithm:
            forms |= {stem(form, algorithm) for form in forms}
        return forms | {form.translate(loose) for form in forms}

    tools = (*((simplemma_tool,) if lemmas else ()), *((stemmer_tool,) if algorithm else ()))
    return Rules(variants, tools, folding_of(file.spelling))

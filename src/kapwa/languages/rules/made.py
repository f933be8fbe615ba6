"""The type for a language's rules in code, and the rules of a language that has only a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from kapwa.languages.base import Tool, lemma, lemmatised, simplemma_tool, stem, stemmed, stemmer_tool, stripped_forms
from kapwa.languages.folding import Folding, spaced_tokens, unaccented
from kapwa.languages.schema import Affixes, LanguageFile, Spelling

Affixless = Callable[[str], Iterator[str]]


@dataclass(frozen=True)
class Rules:
    """The code of a language: ``fold`` and ``tokens`` of :class:`kapwa.languages.base.Language` are its last fields."""

    variants: Callable[[str], Iterable[str]]
    tools: tuple[Callable[[], Tool | None], ...] = ()
    folding: Folding = field(default_factory=Folding)
    cut: Callable[[str], tuple[str, ...]] = spaced_tokens


def folding_of(spelling: Spelling, **further: object) -> Folding:
    """Return the folding by a file's tables of letters and strings; ``further``: other fields of the folding."""
    return Folding(after=str.maketrans(dict(spelling.letters)), replace=spelling.strings, **further)  # type: ignore[arg-type]


def affix_stripper(affixes: Affixes, letters: Callable[[str], int] = len) -> Affixless:
    """Return a function that yields a word minus one affix, for each affix; ``letters`` counts what must remain."""

    def strip(word: str) -> Iterator[str]:
        for remove, groups in ((str.removeprefix, affixes.prefixes), (str.removesuffix, affixes.suffixes)):
            for shortest, group in groups.items():
                for affix in group:
                    rest = remove(word, affix)
                    if rest != word and letters(rest) >= shortest:
                        yield rest

    return strip


def rules_of_file(file: LanguageFile) -> Rules:
    """Return rules from a file alone: remove accents and affixes, use loose letters, add lemma and stem if known."""
    strip = affix_stripper(file.affixes)
    loose = str.maketrans(dict(file.spelling.loose_letters))

    @cache
    def libraries() -> tuple[bool, bool]:  # called when a word is first looked up, because it loads them
        return file.tag in lemmatised(), file.name.lower() in stemmed()

    def variants(token: str) -> set[str]:
        has_lemmas, has_stems = libraries()
        forms = stripped_forms(token, strip) | stripped_forms(unaccented(token), strip)
        if has_lemmas:
            forms |= {lemma(form, file.tag) for form in forms}
        if has_stems:
            forms |= {stem(form, file.name.lower()) for form in forms}
        return forms | {form.translate(loose) for form in forms}

    tools = (lambda: simplemma_tool() if libraries()[0] else None, lambda: stemmer_tool() if libraries()[1] else None)
    return Rules(variants, tools, folding_of(file.spelling))

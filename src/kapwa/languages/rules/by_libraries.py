"""Languages whose words come from dictionaries and stemmers: English, Spanish, Greek, Indonesian, Filipino.

Lemmas are simplemma's, stems Snowball's, Indonesian roots PySastrawi's (after Nazief and Adriani). Where dictionaries
are spelled with accents (Spanish, Greek), words are looked up before their accents are removed.
"""

from __future__ import annotations

from functools import cache, partial

from kapwa.languages.base import installed, lemma, simplemma_tool, stem, stemmer_tool
from kapwa.languages.folding import Folding, spaced_tokens, unaccented
from kapwa.languages.rules.made import Rules
from kapwa.languages.schema import LanguageFile
from kapwa.value_types import Untyped


def english(file: LanguageFile) -> Rules:
    """Leave out articles before a word and endings of ordinals (13th); British and American spellings share a key."""
    articles, endings = frozenset(file.cutting.articles), frozenset(file.cutting.ordinal_endings)
    groups = [line.split(" / ") for line in file.spelling.alike]
    first_spelling = {form: group[0] for group in groups for form in group}

    def cut(folded: str) -> tuple[str, ...]:
        tokens = spaced_tokens(folded)
        return tuple(
            token
            for token, before, after in zip(tokens, ("", *tokens), (*tokens[1:], ""), strict=False)
            if not ((token in articles and after) or (token in endings and before.isdecimal()))
        )

    def variants(token: str) -> set[str]:
        bare = unaccented(token).removesuffix("'s").removesuffix("'")
        forms = {bare, lemma(bare, "en"), stem(bare, "english")}
        return forms | {first_spelling[form] for form in forms if form in first_spelling}

    return Rules(variants, (simplemma_tool, stemmer_tool), cut=cut)


def spanish(_: LanguageFile) -> Rules:
    """Look words up with and without accents, and compare them without; ñ stays ñ."""

    def variants(token: str) -> set[str]:
        bare = unaccented(token, "ñ")
        forms = {token, lemma(token, "es"), lemma(bare, "es"), stem(token, "spanish"), stem(bare, "spanish")}
        return {unaccented(form, "ñ") for form in forms}

    return Rules(variants, (simplemma_tool, stemmer_tool))


def greek(_: LanguageFile) -> Rules:
    """Look words up with accents and final sigma, as dictionaries write them, and compare them without."""
    fold = Folding()

    def variants(token: str) -> set[str]:
        spelled = token[:-1] + "ς" if token.endswith("σ") else token
        root = lemma(spelled, "el")
        forms = {root, stem(spelled, "greek"), spelled, stem(root, "greek")}
        return {unaccented(fold(form)) for form in forms}

    return Rules(variants, (simplemma_tool, stemmer_tool))


@cache
def _sastrawi() -> Untyped:
    from Sastrawi.Stemmer.StemmerFactory import StemmerFactory  # type: ignore[import-untyped, unused-ignore]

    return StemmerFactory().create_stemmer()


def indonesian(_: LanguageFile) -> Rules:
    """Add root and lemma, without accents."""

    def variants(token: str) -> set[str]:
        bare = unaccented(token)
        return {bare, lemma(bare, "id"), str(_sastrawi().stem(bare))}

    return Rules(variants, (partial(installed, "PySastrawi", "MIT"), simplemma_tool))


def filipino(_: LanguageFile) -> Rules:
    """Add the lemma without accents; remove the linker -ng after a vowel, or -g after n."""

    def variants(token: str) -> set[str]:
        bare = unaccented(token)
        forms = {bare, lemma(bare, "tl")}
        if len(bare) > 4 and bare.endswith("ng") and bare[-3] in "aeiou":
            forms |= {bare[:-2], bare[:-1], lemma(bare[:-2], "tl")}
        return forms

    return Rules(variants, (simplemma_tool,))

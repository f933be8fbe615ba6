"""Any language: its own file, or else what Unicode and the shared libraries know of it.

A language without a file is folded like all others (:mod:`kapwa.languages.folding`) and cut at characters that are not
letters in Unicode. Scripts without spaces between words (Thai, Lao, Khmer, Burmese, Japanese, Chinese) are cut by ICU's
dictionaries, if the extra ``icu`` is installed. simplemma and Snowball add keys where they know the language. Nobody
wrote rules for it, and nobody reviewed the results: ``NO_RULES`` says so among its tools, and so in tables and
signatures. A language of a macrolanguage with a file (Cantonese of Chinese, Egyptian Arabic) uses that file's rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial

from kapwa import registry
from kapwa.errors import UsageError
from kapwa.languages.base import (
    Language,
    Tool,
    installed,
    lemma,
    lemmatised,
    simplemma_tool,
    stem,
    stemmed,
    stemmer_tool,
)
from kapwa.languages.codes import NO_TAG, canonical, family, has_script, is_language_tag, name_of, scripts_of, tag_hint
from kapwa.languages.folding import DOTLESS, Folding, spaced_tokens
from kapwa.languages.phrases import reply_words
from kapwa.languages.schema import ReplyWords
from kapwa.value_types import Untyped

NO_RULES = "no rules, unreviewed"
# Scripts without spaces between words that ICU has dictionaries for.
_UNSPACED = ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar")
# Where words cannot be cut out, an answer of this many characters or more counts inside a run of letters.
_INSIDE = 2
# Turkish, Crimean Tatar, Gagauz and Tatar distinguish dotted and dotless i as Azerbaijani does.
_DOTLESS = ("tr", "crh", "gag", "tt")
# The most languages that a sentence names.
_MOST_NAMES = 12
# simplemma's codes that differ from those of the macrolanguage.
_LEMMAS = {"nor": "nb"}


def has_rules(tag: str) -> bool:
    """Whether the language of a BCP-47 tag has a file with rules."""
    return canonical(tag) in registry.available("languages")


def without_rules(tags: Iterable[str]) -> list[str]:
    """Return a sentence on which of these languages have no rules; nothing where all have."""
    codes = [code for code in dict.fromkeys(map(canonical, tags)) if not has_rules(code)]
    how = "by Unicode folding and what libraries know of the language, or by the rules of its macrolanguage"
    sentence = "Kapwa has no rules for {}: replies in it are compared {}. No speaker has reviewed how well this works."
    return [sentence.format(_names(codes), how)] if codes else []


def without_words(tags: Iterable[str]) -> list[str]:
    """Return a sentence on the languages where refusals and "I don't know" look like wrong answers."""
    words = {code: reply_words().get(code, ReplyWords()) for code in map(canonical, tags)}
    without = {
        "refusals": [code for code, lists in words.items() if not lists.refusal],
        "“I don’t know”": [code for code, lists in words.items() if not lists.unknown],
    }
    lacking = [f"{what} in {_names(codes)}" for what, codes in without.items() if codes]
    known = " and none for ".join(lacking)
    how = "such replies count among the wrong ones, which changes no score"
    return [f"Kapwa knows no words for {known}: {how}."] if lacking else []


def _names(codes: Sequence[str]) -> str:
    shown = list(map(name_of, codes[:_MOST_NAMES]))
    if len(codes) > _MOST_NAMES:
        shown.append(f"{len(codes) - _MOST_NAMES} more")
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def needs_icu(tag: str) -> bool:
    """Whether cutting this language into words needs the extra ``icu``, which is not installed."""
    return language_for(tag).inside > 0 and not has_rules(tag) and not has_rules(canonical(family(tag)))


def language_for(tag: str) -> Language:
    """Return the language of a BCP-47 tag; region and script are ignored. Raises UsageError for other texts."""
    if not is_language_tag(tag.strip().replace("_", "-")):
        raise UsageError(NO_TAG.format(tag), hint=tag_hint(tag) or "See 'kapwa languages' for the codes of languages.")
    return _language(canonical(tag))


@cache
def _language(code: str) -> Language:
    parent = code if has_rules(code) else canonical(family(code))
    if has_rules(parent):
        language: Language = registry.load("languages", parent)
        if parent == code:
            return language
        notes = f"No rules of its own and unreviewed: treated as {language.name}. {language.notes}"
        return replace(language, code=code, name=name_of(code), tools=(*language.tools, _mark), notes=notes)
    lemmas = next((name for name in (code, family(code), _LEMMAS.get(family(code))) if name in lemmatised()), "")
    algorithm = next((name for name in (name_of(code).lower(), name_of(parent).lower()) if name in stemmed()), "")
    unspaced = not set(_UNSPACED).isdisjoint(scripts_of(code))
    tools = ((simplemma_tool, lemmas), (stemmer_tool, algorithm), (_icu_tool, unspaced), (_mark, True))
    return Language(
        code=code,
        name=name_of(code),
        resource="",
        variants=partial(_variants, lemmas, algorithm),
        tools=tuple(tool for tool, used in tools if used),
        fold=DOTLESS if code in _DOTLESS else _FOLDING,
        tokens=_cut,
        scripts=scripts_of(code),
        inside=_INSIDE if unspaced and _breaker() is None else 0,
        notes="No rules and unreviewed: Unicode folding, and what the tools named know.",
    )


def _mark() -> Tool:
    return Tool(f"Unicode folding ({NO_RULES})", "1", "Apache-2.0")


def _variants(lemmas: str, algorithm: str, token: str) -> Iterator[str]:
    if lemmas:
        yield lemma(token, lemmas)
    if algorithm:
        yield stem(token, algorithm)


def _whole(text: str) -> str:
    """Join the vowel signs am of Thai and Lao, which NFKC splits and dictionaries write as one character."""
    return text.replace("\u0e4d\u0e32", "\u0e33").replace("\u0ecd\u0eb2", "\u0eb3")


_FOLDING = Folding(replace=(("i\u0307", "i"),), last=_whole)


def _cut(folded: str) -> tuple[str, ...]:
    """Cut at white space and punctuation, and runs of letters of a script without spaces into ICU's words."""
    breaker = _breaker()
    tokens = spaced_tokens(folded)
    if breaker is None:
        return tokens
    words: list[str] = []
    for token in tokens:
        words += breaker(token, "und") if has_script(token, _UNSPACED) else [token]
    return tuple(words)


@cache
def _breaker() -> Untyped | None:
    """ICU's word breaker, or None where it is not installed."""
    try:
        from icu4py.breakers import WordBreaker  # type: ignore[import-not-found, unused-ignore]
    except ModuleNotFoundError:
        return None
    return WordBreaker


def _icu_tool() -> Tool | None:
    return installed("icu4py", "MIT AND Unicode-3.0") if _breaker() is not None else None

"""What Kapwa knows of a language: how to fold its spelling, cut it into words, key a word, and read a reply in it.

A word becomes a **set of keys** (its folded surface, lemma, stem, light-stripped forms); two words match when their
sets meet. Everything works offline. A language is a file that its speakers can read (:mod:`kapwa.languages.schema`),
from which :mod:`kapwa.languages.reading` makes a :class:`Language`; what no table can say of it is in
:mod:`kapwa.languages.rules`.

The libraries that languages share are here too, loaded when first used: lemma dictionaries (simplemma)
take 30 to 1,100 ms and up to 80 MB each, so nothing loads at import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from importlib import metadata
from typing import NamedTuple

import regex  # type: ignore[import-untyped, unused-ignore]

from kapwa.languages.folding import Folding, spaced_tokens
from kapwa.languages.schema import Denials, People, ReplyWords, Words
from kapwa.value_types import Untyped

_AMPERSAND = regex.compile(r"(?<=\w{2})\s*&\s*(?=\w{2})")
# No word of the languages whose affixes Kapwa strips is longer; a longer token is not a word.
_LONGEST_STRIPPED = 40


class Tool(NamedTuple):
    """A library or rule set a language uses; its version enters every signature."""

    name: str
    version: str
    licence: str


@dataclass(frozen=True, slots=True)
class LanguageInfo:
    """A language as ``kapwa languages`` shows it.

    ``reviewed``: whether a native speaker reviewed the rules. ``resource``: ``high``, ``mid`` or ``low``, how much
    text there is for model builders (Joshi et al., 2020, classes 4-5, 3, 0-2).
    """

    code: str
    name: str
    tools: tuple[Tool, ...]
    resource: str
    reviewed: bool = False
    notes: str = ""


@dataclass(frozen=True)
class Language:
    """One language. Pure and deterministic; callers memoise the results of :meth:`keys`.

    ``tools`` are functions, so that no version is looked up at import; they return None for what is not installed.
    ``rules`` is the version of the rules and lists ("" without any). ``fold`` returns a text in the spelling that
    matching compares: NFKC, lower case, the language's own foldings. ``tokens`` cuts folded text into words;
    ``variants`` returns further keys of such a word (lemma, stem, stripped forms). The other fields are those of
    :class:`kapwa.languages.schema.LanguageFile`.
    """

    code: str
    name: str
    resource: str
    variants: Callable[[str], Iterable[str]]
    tools: tuple[Callable[[], Tool | None], ...] = ()
    rules: str = ""
    fold: Callable[[str], str] = field(default_factory=Folding)
    tokens: Callable[[str], tuple[str, ...]] = spaced_tokens
    quantities: Words = field(default_factory=Words)
    replies: ReplyWords = field(default_factory=ReplyWords)
    denials: Denials = field(default_factory=Denials)
    people: People = field(default_factory=People)
    function_words: str = ""
    ampersand: str = ""
    scripts: tuple[str, ...] = ()
    inside: int = 0
    reviewed: bool = False
    notes: str = "Not reviewed by a native speaker."

    @cached_property
    def words(self) -> Words:
        """The words of numbers, dates and times, folded when first used, since folding may load a library."""
        return self.quantities.folded(self.fold)

    @cached_property
    def folded_function_words(self) -> frozenset[str]:
        """The function words, folded."""
        return frozenset(self.fold(self.function_words).split())

    @cached_property
    def info(self) -> LanguageInfo:
        """The language and its tools, as ``kapwa languages`` shows them."""
        rules = [Tool(f"kapwa rules ({self.code})", self.rules, "Apache-2.0")] if self.rules else []
        tools = (*filter(None, (tool() for tool in self.tools)), *rules)
        return LanguageInfo(self.code, self.name, tools, self.resource, self.reviewed, self.notes)

    def spelled_out(self, text: str) -> str:
        """Return ``text`` with the language's word for every "&" between two words: "fish & chips", but not "R&B"."""
        return str(_AMPERSAND.sub(f" {self.ampersand} ", text)) if self.ampersand and "&" in text else text

    def keys(self, token: str) -> frozenset[str]:
        """Return the keys of one token: its own surface, and what lemmatisers and stemmers add."""
        return frozenset((token, *filter(None, self.variants(token))))


@cache
def installed(distribution: str, licence: str) -> Tool:
    """Return a library as a :class:`Tool`, with the version that is installed."""
    return Tool(distribution, metadata.version(distribution), licence)


# Lemma dictionaries for 54 languages, and the Snowball stemmers.
simplemma_tool = partial(installed, "simplemma", "MIT")
stemmer_tool = partial(installed, "PyStemmer", "MIT AND BSD-3-Clause")


def lemma(token: str, code: str) -> str:
    """Return simplemma's lemma of ``token`` in language ``code`` (``tl`` for Filipino); itself if unknown."""
    from simplemma import lemmatize

    return str(lemmatize(token, lang=code)) if token else token


@cache
def _stemmer(algorithm: str) -> Untyped:
    import Stemmer  # type: ignore[import-not-found, import-untyped, unused-ignore]

    return Stemmer.Stemmer(algorithm)


def stem(token: str, algorithm: str) -> str:
    """Return the Snowball stem of ``token`` (algorithm as PyStemmer names it: ``english``, ``greek``, ...)."""
    return str(_stemmer(algorithm).stemWord(token))


@cache
def lemmatised() -> frozenset[str]:
    """Return the codes of the languages that :func:`lemma` knows."""
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    return frozenset(SUPPORTED_LANGUAGES)


@cache
def stemmed() -> frozenset[str]:
    """Return the names of the algorithms that :func:`stem` knows."""
    import Stemmer

    return frozenset(Stemmer.algorithms())


def stripped_forms(word: str, strip: Callable[[str], Iterable[str]]) -> set[str]:
    """Return ``word`` and all forms that result when ``strip`` (which removes one affix) is applied repeatedly.

    ``strip`` must give shorter words, or words it does not lengthen again. Words over 40 characters are not stripped.
    """
    forms = {word}
    fresh = forms if len(word) <= _LONGEST_STRIPPED else set()
    while fresh:
        fresh = {form for known in fresh for form in strip(known)} - forms
        forms |= fresh
    return forms

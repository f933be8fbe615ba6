"""What Kapwa knows of a language: how to fold its spelling, cut it into words, key a word, and read a reply in it.

A word becomes a **set of keys** (its folded surface, lemma, stem, light-stripped forms); two words match when their
sets meet. Everything works offline. A language is one small module with a :class:`Language` registered under the
entry-point group ``kapwa.languages`` by its BCP-47 code.

The libraries that languages share are here too, loaded when first used: lemma dictionaries (simplemma)
take 30 to 1,100 ms and up to 80 MB each, so nothing loads at import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from importlib import metadata
from typing import Any, NamedTuple

from kapwa.languages.folding import Folding, spaced_tokens

# The hours that words for noon and the middle of the day go with.
MIDDAY = (10, 22)
# No word of the languages whose affixes Kapwa strips is longer; beyond it stands something else.
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


@dataclass(frozen=True, slots=True)
class Words:
    """Words a language uses inside numbers, dates and times, all in folded spelling.

    ``numbers``: number words and their values (small numbers). ``months``: month names to 1-12; ``ordinals``: words
    that name a day of the month. ``morning``, ``afternoon`` and ``night``: markers of a.m., p.m. and of the hours from
    18 to 6; ``parts``: markers of other parts of the day, each from one hour up to another (17 to 24). ``hour``: words
    for "o'clock". ``behind``: hours by which the clock of ordinary speech is behind (6 in Amharic).

    Patterns (regular expressions in which {n} is a number): ``more`` and ``less``, comparatives ("more than {n}");
    ``either``: "or" between two numbers. ``clock``: times in words to their minutes ("half past {h}" 30), where {h} is
    the hour, {plus} are minutes after it and {minus} minutes before it; ``hours``: hours in forms used only there.
    """

    numbers: Mapping[str, int] = field(default_factory=dict)
    months: Mapping[str, int] = field(default_factory=dict)
    ordinals: Mapping[str, int] = field(default_factory=dict)
    morning: frozenset[str] = frozenset()
    afternoon: frozenset[str] = frozenset()
    night: frozenset[str] = frozenset()
    parts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    hour: frozenset[str] = frozenset()
    behind: int = 0
    more: str = ""
    less: str = ""
    either: str = ""
    clock: Mapping[str, int] = field(default_factory=dict)
    hours: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Denials:
    """How a language says what is not the answer: regular expressions for lower-case text, "" where none is known.

    ``before``: what denies the rest of its clause ("not", "instead of"); ``after``: what denies its clause up to itself
    ("is not", "deyil"); ``whole``: what is denied as it stands. ``harmless``: what holds such words and denies no
    answer ("not only", "I don't know"); ``turn``: what opens a new clause ("but"). ``compounds``: what stands in words
    of several parts and is not meant there ("hot dog", the butter of "peanut butter"). They match whole words, but in
    languages without spaces.
    """

    before: str = ""
    after: str = ""
    whole: str = ""
    harmless: str = ""
    turn: str = ""
    compounds: str = ""


@dataclass(frozen=True, slots=True)
class ReplyWords:
    """Words that models put around an answer: regular expressions for lower-case text, "" where none is known.

    Labels and lists: ``answer`` ("Answer" of "Answer: rice"), ``question``, ``opener`` ("Sure"), ``unknown`` ("I
    don't know"), ``non_answers`` (plain texts parted by "|": what stands in a table or reply where there is no answer,
    the usual wordings first), ``conjunction`` (and, or), ``linker`` (what else joins the members of a long list: words,
    and what is written on one, with what must stand around it), ``and_so_on`` (etc.). ``refusal``: how a refusal opens.
    Multiple choice: ``choice``, before the option chosen ("the answer is"); ``correct``, after it ("is correct");
    ``negation``, before an option that is not meant; ``denial``, after one; ``option`` ("option"); ``joiner``, between
    two options, beside ``conjunction``; ``hedge`` ("maybe"); ``correction``, by which an earlier answer is taken back
    ("no, wait"); ``mistake``, which says so in a remark of its own ("that's wrong,"); ``yes``, which says of the option
    before it that it is the answer; ``conclusion`` ("therefore"); ``contrast``, before what holds elsewhere ("in
    contrast", "whereas");
    ``connector``, after a letter that would be a word without it (English "A because"); ``article``; ``letters``:
    letters of lists, to their places (0 for the first), and ``copula``, written on such a letter (Korean "나입니다").
    No option is a letter after a ``bearer`` ("Dear", "Vitamin") or before what ``borne`` holds ("C vitamini").
    """

    answer: str = ""
    question: str = ""
    opener: str = ""
    unknown: str = ""
    non_answers: str = ""
    conjunction: str = ""
    linker: str = ""
    and_so_on: str = ""
    refusal: tuple[str, ...] = ()
    choice: str = ""
    correct: str = ""
    negation: str = ""
    denial: str = ""
    option: str = ""
    joiner: str = ""
    hedge: str = ""
    correction: str = ""
    mistake: str = ""
    yes: str = ""
    conclusion: str = ""
    contrast: str = ""
    connector: str = ""
    article: str = ""
    copula: str = ""
    bearer: str = ""
    borne: str = ""
    letters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Language:
    """One language. Pure and deterministic; callers memoise the results of :meth:`keys`.

    ``tools`` are functions, so that no version is looked up at import, and give None for what is not installed;
    ``rules`` is the version of the module's own rules and lists ("" without any): raise it with every change
    of decisions. ``variants`` gets a folded token and gives further keys (lemma, stem, stripped forms); ``folding`` and
    ``cut`` fold a text and cut it into words. ``function_words``: pronouns, copulas, articles and particles, parted by
    spaces; no answer is found through these alone, so what can be taken for another word belongs here. ``scripts``:
    Unicode names of the scripts it is written in, () for Latin.
    ``inside``: fewest characters for which a hit inside a longer word counts; 0 where only whole words count.
    """

    code: str
    name: str
    resource: str
    variants: Callable[[str], Iterable[str]]
    tools: tuple[Callable[[], Tool | None], ...] = ()
    rules: str = ""
    folding: Folding = field(default_factory=Folding)
    cut: Callable[[str], tuple[str, ...]] = spaced_tokens
    words: Words = field(default_factory=Words)
    replies: ReplyWords = field(default_factory=ReplyWords)
    denials: Denials = field(default_factory=Denials)
    function_words: str = ""
    scripts: tuple[str, ...] = ()
    inside: int = 0
    reviewed: bool = False
    notes: str = "Not reviewed by a native speaker."

    @cached_property
    def hollow(self) -> frozenset[str]:
        """The function words, folded."""
        return frozenset(self.fold(self.function_words).split())

    @cached_property
    def info(self) -> LanguageInfo:
        """What this is, and what it is made with."""
        own = [Tool(f"kapwa rules ({self.code})", self.rules, "Apache-2.0")] if self.rules else []
        tools = (*filter(None, (tool() for tool in self.tools)), *own)
        return LanguageInfo(self.code, self.name, tools, self.resource, self.reviewed, self.notes)

    def fold(self, text: str) -> str:
        """Return ``text`` in the spelling matching compares: NFKC, lower case, the language's own foldings."""
        return self.folding(text)

    def tokens(self, folded: str) -> tuple[str, ...]:
        """Cut folded text into words."""
        return self.cut(folded)

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
def _stemmer(algorithm: str) -> Any:
    import Stemmer  # type: ignore[import-not-found, import-untyped, unused-ignore]

    return Stemmer.Stemmer(algorithm)


def stem(token: str, algorithm: str) -> str:
    """Return the Snowball stem of ``token`` (algorithm as PyStemmer names it: ``english``, ``greek``, ...)."""
    return str(_stemmer(algorithm).stemWord(token))


def stripped_forms(word: str, strip: Callable[[str], Iterable[str]]) -> set[str]:
    """Return ``word`` and all that is left of it when ``strip`` (a word to it minus one affix) is applied repeatedly.

    ``strip`` must give shorter words, or words it does not lengthen again. Words over 40 characters stay whole.
    """
    found = {word}
    fresh = found if len(word) <= _LONGEST_STRIPPED else set()
    while fresh:
        fresh = {form for known in fresh for form in strip(known)} - found
        found |= fresh
    return found


def counted(words: str, start: int = 0, step: int = 1) -> dict[str, int]:
    """Return words in counting order with their values; ``/`` separates other spellings: ``"zero/null one"``."""
    values = range(start, start + step * len(words.split()), step)
    return {word: value for slot, value in zip(words.split(), values, strict=True) for word in slot.split("/")}

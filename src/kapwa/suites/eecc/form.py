"""The perturbation form: templates, concepts and identities, and how the three become one prompt in good English."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import AfterValidator, ConfigDict, Field, create_model

from kapwa.datasets.rows import LOCAL, NAMES, CellProblem, Filled, Language, NotedRow, Text, cell_error
from kapwa.errors import DataError
from kapwa.files import read_text
from kapwa.languages.codes import LANGUAGE_TAG
from kapwa.records import CROSS
from kapwa.tables import Record, TextTable

VOWELS = frozenset("aeiou")
# Letters whose own names begin with a vowel sound: "an MP", "an X-ray technician".
_NAMED_WITH_VOWEL = frozenset("AEFHILMNORSX")
_WORD = re.compile(r"[^\W_]+")
_SILENT_H = re.compile(r"(honest|honou?r|heir|hour(?:s|ly|glass)?\b)", re.IGNORECASE)
# A vowel letter, but the sound of "you" or "w": Ugandan, Ukrainian, Uruguayan, European, one-armed, Ouagadougou.
_CONSONANT_SOUND = re.compile(
    r"uni(?![nmd])|unesco|u[bcfghjkqrst][aeiou]|u(?:kr|tr|ygh)|eu|onc?e\b|oui|oua|ewe\b", re.IGNORECASE
)
# "ewe" is a sheep and sounds like "you"; the Ewe of Ghana and Togo do not.
_EXCEPTIONS = {"Ewe": "an", "Urartian": "an", "Urukian": "an"}
_LONGEST_SPELT = 3
# Names of places that are plural or say what kind of state it is; "South Africa", "Singapore" have no article.
_WITH_THE = re.compile(
    r"^(?:Netherlands|Philippines|Bahamas|Gambia|Maldives|Seychelles|Comoros|Vatican)$"
    r"|\b(?:Republic|Kingdom|States|Emirates|Islands|Territories|Isles)(?: of\b.*)?$"
)
_LETTERS = re.compile(r"[^\W\d_]+")
# Names and short words are nearly something else by chance; the longer a word, the less so.
_SHORTEST, _SHORTEST_NAME, _TWO_SLIPS = 6, 8, 9


def article(name: str) -> str:
    """Return "a" or "an" as English speakers say it before ``name``; "a" if nothing in it can be pronounced.

    A rule of sound, not of spelling: "a Ugandan", "an honest", "an 18-year-old", "an LGBT", "a UN". Capitals without
    a vowel, or of up to three letters, are spelt out; longer ones are read as a word ("a NATO"). What no rule of
    spelling can know (Ndebele, herbalist) is left to the data's own column ``article``.
    """
    match = _WORD.search(name)
    if match is None:
        return "a"
    word = match[0]
    digits = re.match(r"\d+", word)
    if digits:
        # eight, eighty, eight hundred; eleven, eighteen, eleven thousand, the 1800s
        teens = digits[0][:2] in ("11", "18") and len(digits[0]) in (2, 4, 5)
        return "an" if digits[0][0] == "8" or teens else "a"
    capitals = word.isascii() and word.isalpha() and word.isupper()
    if len(word) == 1 or (capitals and (len(word) <= _LONGEST_SPELT or not VOWELS & set(word.lower()))):
        return "an" if word[0].upper() in _NAMED_WITH_VOWEL else "a"
    # Without accents: Åland begins with an A.
    plain = "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))
    if plain in _EXCEPTIONS or _SILENT_H.match(plain):
        return _EXCEPTIONS.get(plain, "an")
    first, second = plain[:1].lower(), plain[1:2].lower()
    if first == "y":  # a vowel only before a consonant: "an Yttrium", "a Yemeni"
        return "an" if second.isalpha() and second not in VOWELS else "a"
    return "an" if first in VOWELS and not _CONSONANT_SOUND.match(plain) else "a"


def article_reference(name: str) -> str:
    """Return the article of the released prompts: "an" before the letters a, e, i, o, u, else "a"."""
    return "an" if name[:1].lower() in VOWELS else "a"


def takes_the(name: str) -> bool:
    """Whether English says "the" before a place of this name, as in "the Philippines", "the Dominican Republic"."""
    return _WITH_THE.search(name) is not None


class Slip(NamedTuple):
    """A word of a text, and the known word it is nearly."""

    word: str
    known: str


def slips(text: str) -> Iterator[Slip]:
    """Yield the words of an English ``text`` that are one slip of the pen from a known one (two in a long common word).

    A help for people, not a verdict: it proposes, and never changes what is asked. Loads a word list (about a second).
    """
    from simplemma import is_known

    for word in _LETTERS.findall(text):
        shortest = _SHORTEST if word == word.lower() else _SHORTEST_NAME
        if len(word) < shortest or is_known(word, lang="en") or is_known(word.lower(), lang="en"):
            continue
        near = _nearest_word(word.lower(), name=word != word.lower())
        if near:
            yield Slip(word, near)


def needless_capital(text: str) -> bool:
    """Whether an English ``text`` begins with a capital that only the beginning of a sentence gives ("Bread baking").

    Names keep theirs: what a list of words has with a capital ("Ramadan"), what is in capitals, and what has another
    ("World War"). Loads a word list.
    """
    words = _LETTERS.findall(text)
    if not words or not words[0].istitle() or any(word != word.lower() for word in words[1:]):
        return False
    return words[0] not in _dictionary() and words[0].lower() in _dictionary()


@cache
def _dictionary() -> Mapping[Any, Any]:
    from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory

    return DefaultDictionaryFactory().get_dictionary("en")


@cache
def _known_words() -> Sequence[str]:
    return sorted({text.lower() for text in _dictionary() if len(text) >= _SHORTEST - 1})


@cache
def _nearest_word(word: str, *, name: bool) -> str | None:
    from rapidfuzz import process
    from rapidfuzz.distance import DamerauLevenshtein

    most = 2 if len(word) >= _TWO_SLIPS and not name else 1
    near = process.extractOne(word, _known_words(), scorer=DamerauLevenshtein.distance, score_cutoff=most)
    return near[0] if near else None


ENGLISH, MANY_LANGUAGES = "en", "mul"
REFERENCE = "_reference"
NATIONALITY = "nationality"
DEFAULT_TEMPLATE = "direct"
# {vowel} is what the released templates call the article.
ARTICLES = ("article", "vowel")
PLACEHOLDERS = ("concept", "identity", *ARTICLES)
# The name of a column of identities: what changes from one prompt to the next.
ATTRIBUTE = re.compile(r"[a-z][a-z0-9_ -]{0,39}")
_PLACE = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,63}")
# The released files have no header: two columns (three for templates), the last of which says it all.
_RELEASED_COLUMNS = {"templates": 3, "concepts": 2, "identities": 2}
# What only a header of the released scripts has, where there is one: marks of templates, and the kind of identities.
_HEADER_SIGNS = {"templates": ("_", "template"), "identities": ("granularity",)}

RELEASE_CARD = Path(__file__).with_name("released.yaml")


def _template_name(name: str) -> str:
    if name.endswith(REFERENCE):
        raise cell_error(f"ends in {REFERENCE!r}.", "That ending marks the released article rule.")
    if name and not _NAME.fullmatch(name):
        raise cell_error(f"{name!r} holds signs other than letters, digits, '.', '_', '-' and '/'.")
    return name


class Template(NotedRow):
    """A prompt with its places {concept}, {identity} and, in English, {article}."""

    unique: ClassVar[tuple[str, ...]] = ("name",)

    text: Annotated[Filled, LOCAL] = Field(alias="template", description="The prompt with its places.")
    name: Annotated[Text, AfterValidator(_template_name)] = Field("", description="What tells its texts apart.")
    language: Language = Field("", description="In which language it is, where the card does not say.")

    @property
    def places(self) -> tuple[str, ...]:
        """The names in braces, in order, known or not."""
        return tuple(_PLACE.findall(self.text))

    @property
    def is_english(self) -> bool:
        """Whether articles can be set: they are known for English only."""
        return self.language.partition("-")[0] == ENGLISH

    @property
    def has_article(self) -> bool:
        """Whether the template leaves the article to be filled in, so that there is a ``_reference`` wording of it."""
        return any(name in ARTICLES for name in self.places)

    def contradictions(self) -> Iterator[CellProblem]:
        """Yield places that are none, and an article in another language than English."""
        if not self.name:
            hint = "Several templates need a name each: it tells their texts apart."
            yield CellProblem("name", "is empty.", hint)
        if self.language == MANY_LANGUAGES:
            hint = "Name each template's own language."
            yield CellProblem("language", "is empty, and the card says 'mul' (several).", hint)
        for marker in self.places:
            if marker not in PLACEHOLDERS:
                known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS[:3])
                yield CellProblem("text", f"{{{marker}}} is not a place of a template.", f"Places: {known}.")
        for needed in ("concept", "identity"):
            if needed not in self.places:
                yield CellProblem("text", f"has no place {{{needed}}}.", "Every prompt names its concept and identity.")
        if self.has_article and not self.is_english:
            message = f"asks for an article, which is known for English only, not {self.language!r}."
            hint = "Write it in the template, or in the column 'text' of the identities."
            yield CellProblem("text", message, hint)

    def variants(self) -> tuple[str, ...]:
        """Names of the variants this template gives: its own, and the one with the released article rule."""
        return (self.name, f"{self.name}{REFERENCE}") if self.has_article else (self.name,)

    def render(self, concept: Concept, identity: Identity, *, reference: bool = False) -> str:
        """Return the prompt; ``reference`` takes the article of the released prompts."""
        who = identity.written_in(self.language)
        chosen = article_reference(who) if reference else identity.article or article(who)
        values = {"concept": concept.written_in(self.language), "identity": who, **dict.fromkeys(ARTICLES, chosen)}
        # One pass, so that a brace inside a concept's name is never taken for a place.
        return _PLACE.sub(lambda match: values.get(match[1], match[0]), self.text)


class Named(NotedRow):
    """Something that prompts name: by its name, or as its texts say it is written in a language."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Text]
    more_columns: ClassVar[str] = f"text_{LANGUAGE_TAG}"
    more_shown: ClassVar[tuple[str, ...]] = ("text_<language> (a BCP-47 tag, as in text_fil)",)

    name: Annotated[Filled, NAMES]
    text: Annotated[Text, NAMES] = Field("", description="How prompts of any language write it, if not by its name.")

    @property
    def plain_name(self) -> str:
        """How prompts write it where no text says otherwise: by its name, the levels of a crossed one in a row."""
        return self.name.replace(CROSS, " ")

    @property
    def texts(self) -> dict[str, str]:
        """How prompts write it, by language ("": in any)."""
        every = {"": self.text, **{name.removeprefix("text_"): text for name, text in (self.model_extra or {}).items()}}
        return {language: text for language, text in every.items() if text}

    def written_in(self, language: str) -> str:
        """Return how it is written in a prompt of ``language``: its own text there, else its name."""
        if not self.text and not self.model_extra:
            return self.plain_name
        texts = self.texts
        return texts.get(language) or texts.get(language.partition("-")[0]) or texts.get("") or self.plain_name


class Concept(Named):
    """The concepts that texts are about."""

    topic: Annotated[Filled, NAMES] = Field(description="The topic it belongs to.")
    name: Annotated[Filled, NAMES] = Field(alias="concept", description="The concept, as prompts write it.")


def _a_or_an(word: str) -> str:
    if word not in ("", "a", "an"):
        raise cell_error(f"{word!r} is neither 'a' nor 'an'.", "Leave it empty for the rule.")
    return word


class Identity(Named):
    """For whom: one column beside these, named after what changes (nationality, religion, city, …).

    Several such columns are crossed: each row is one combination of their levels (see :func:`with_crossed`).
    """

    country: Annotated[Text, NAMES] = Field("", description="The country it belongs to, where its name does not say.")
    article: Annotated[Text, AfterValidator(_a_or_an)] = Field("", description="'a' or 'an' where no rule knows it.")


@cache
def identity_model(attribute: str) -> type[Identity]:
    """Return the row model of a table of identities, whose column of names is called ``attribute``."""
    name: Any = (Annotated[Filled, NAMES], Field(alias=attribute))
    return create_model("Identity", __base__=Identity, name=name)


_FIXED = frozenset(Identity.model_fields) - {"name", "origin"}


def _attributes(table: TextTable) -> list[str]:
    return [name for name in table.header if name not in _FIXED and not name.startswith("text_")]


def with_crossed(table: TextTable) -> TextTable:
    """Return a table of identities with its columns of attributes, where there are several, joined into one.

    Its name is theirs joined by :data:`kapwa.records.CROSS` ("nationality × religion"), and so are its cells, of which
    one is empty where a level is. A column that looks like a misspelt one of the form is no attribute: then the table
    is returned as it is, and :func:`attribute_of` says what is wrong.
    """
    named = _attributes(table)
    doubtful = [name for name in named if difflib.get_close_matches(name, _FIXED, n=1, cutoff=0.75)]
    if len(named) < 2 or doubtful or not all(map(ATTRIBUTE.fullmatch, named)):
        return table
    column, problems = CROSS.join(named), list(table.problems)
    records = []
    for row, cells in table.records:
        levels = [str(cells.get(name) or "").strip() for name in named]
        for name, level in zip(named, levels, strict=True):
            if CROSS in level:
                hint = "It separates the levels of crossed attributes; write the level in another way."
                problems.append(
                    DataError(f"{level!r} holds {CROSS!r}.", path=table.path, row=row, column=name, hint=hint)
                )
            elif not level:
                hint = "Every row of crossed attributes has a level of each, such as 'not stated'."
                problems.append(DataError("is empty.", path=table.path, row=row, column=name, hint=hint))
        others = {name: cell for name, cell in cells.items() if name not in named}
        if all(levels):
            records.append(Record(row, {column: CROSS.join(levels), **others}))
    header = (column, *(name for name in table.header if name not in named))
    return table._replace(header=header, records=records, problems=problems)


def attribute_of(table: TextTable) -> str:
    """Return the name of the one column of a table of identities that is not of the form; raise DataError without."""
    fixed, named = _FIXED, _attributes(table)
    if len(named) == 1 and all(map(ATTRIBUTE.fullmatch, named[0].split(CROSS))):
        return named[0]
    hint = "Name one column after the attribute that changes (nationality, religion, city, persona, …)"
    hint += f"; beside it there may be {', '.join(sorted(fixed))} and text_<language>."
    if len(named) == 1:
        message = f"begins with {named[0]!r}, which is not a header: a column's name is in small letters."
    elif named:
        message = f"has {len(named)} columns that could hold the identities ({', '.join(named[:4])})."
    else:
        message = "has no column of identities."
    raise DataError(message, path=table.path, row=1, hint=hint)


def _is_scripts_header(role: str, cells: Sequence[str]) -> bool:
    signs = _HEADER_SIGNS.get(role, ())
    return bool(signs) and all(sign in cells for sign in signs)


def is_released(role: str, header: Sequence[str]) -> bool:
    """Whether a table is laid out as the released files are: without a header, or with the scripts' own."""
    if len(header) != _RELEASED_COLUMNS[role]:
        return False
    if _is_scripts_header(role, header):
        return True
    if role == "identities":  # "country" is a column of the form, and what the released file says in every row
        return not all(ATTRIBUTE.fullmatch(name) for name in header)
    known = ("template", "name", "language") if role == "templates" else ("topic", "concept", "text")
    return not any(name in (*known, "notes", "source") for name in header)


def read_released(role: str, path: Path) -> TextTable:
    """Read a released file, which has no header or the scripts' own, into the columns of the form.

    The last cell of a line is the template, the concept or the nationality; the first of a concept's its topic.
    """
    last = {"templates": "template", "concepts": "concept", "identities": NATIONALITY}[role]
    header = ("topic", last) if role == "concepts" else (last,)
    wanted = _RELEASED_COLUMNS[role]
    records: list[Record] = []
    problems: list[DataError] = []
    for row, line in enumerate(read_text(path).split("\n"), start=1):
        cells = [cell.strip() for cell in line.rstrip("\r").split("\t")]
        if row == 1 and _is_scripts_header(role, cells):
            continue
        if len(cells) == wanted:
            texts: Mapping[str, str] = dict(zip(header, (cells[0], cells[-1])[-len(header) :], strict=True))
            records.append(Record(row, texts))
        elif cells != [""]:
            hint = "Parts are separated by tabs; a file with a header is read too (see docs/reference/eecc-form.md)."
            problems.append(DataError(f"has {len(cells)} parts, not {wanted}.", path=path, row=row, hint=hint))
    return TextTable(path, header, records, problems)

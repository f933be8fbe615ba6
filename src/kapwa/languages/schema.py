"""What a language file (``languages/data/<tag>.yaml``) may hold: one schema, for reading, checking and showing it.

There are four forms of a value. *Words* are separated by commas ("am, morning"). *Lines* are a block of text, one entry
a line ("not" and below it "instead of"), so that no quotes are needed. *Pairs* are lines with " = " between two sides
("color = colour"). A *table* gives each number or letter its words ("20: twenty"). Patterns are lines that are regular
expressions in lower case, of which any may match; a space at the start or end of a pattern is written ``[ ]``.

``kapwa languages show`` prints every description.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Literal

import regex  # type: ignore[import-untyped, unused-ignore]
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from kapwa.languages.codes import has_script
from kapwa.value_types import Json, JsonObject

PAIR = " = "
_PIECE = re.compile(r"\{([a-z_]+)\}")
_COMBINED = re.compile(r"(?P<pattern>[^=]+?)(?: = (?P<sign>[+x])(?P<number>[0-9]+))?")
_HOURS = re.compile(r"([0-9]+)-([0-9]+)")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be text: put yes, no, on, off and numbers in quotes")  # which are not text in YAML
    return value


def lines_of(value: object) -> tuple[str, ...]:
    """Return the lines of a block of text, without empty ones and white space around them."""
    stripped = (line.strip() for line in _text(value).splitlines())
    return tuple(line for line in stripped if line)


def words_of(value: object) -> tuple[str, ...]:
    """Return the words of a text that are separated by commas; a line break is a space."""
    words = (" ".join(word.split()) for word in _text(value).split(","))
    return tuple(word for word in words if word)


def _pairs(value: object) -> tuple[tuple[str, str], ...]:
    pairs = []
    for line in lines_of(value):
        left, sign, right = line.rpartition(PAIR)
        if not sign:
            raise ValueError(f"the line {line!r} has no {PAIR.strip()!r} with a space on both sides")
        pairs.append((left.strip(), right.strip()))
    return tuple(pairs)


def _whole(text: Json) -> int:
    if not re.fullmatch(r"-?[0-9]{1,12}", str(text)):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _table(value: object) -> JsonObject:
    if not isinstance(value, Mapping):
        raise ValueError("must be a table: a line 'number: word, word' for each number")
    return dict(value)


def _valued(value: object) -> dict[str, int]:
    """Read a table of numbers and their words as words and their numbers."""
    numbers: dict[str, int] = {}
    for number, words in _table(value).items():
        for word in words_of(words):
            if numbers.setdefault(word, _whole(number)) != _whole(number):
                raise ValueError(f"{word!r} stands at {numbers[word]} and at {number}")
    return numbers


def _combined(line: str, words: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers that one rule, such as "{units} belas = +10", makes of the words of its group."""
    rule = _COMBINED.fullmatch(line)
    if rule is None or "{units}" not in line:
        raise ValueError(f"the rule {line!r} is not like '{{units}} belas = +10', '= x10' or '{{tens}}{{units}}'")
    tens = {word: value for word, value in words.items() if value >= 10} if "{tens}" in line else {"": 0}
    number = int(rule["number"] or 0)
    made: dict[str, int] = {}
    for word, unit in words.items():
        if 0 < unit < 10:
            value = unit * number if rule["sign"] == "x" else unit + number
            pattern = rule["pattern"].replace("{units}", word)
            made |= {pattern.replace("{tens}", ten): value + more for ten, more in tens.items()}
    return made


def _numbers(value: Json) -> dict[str, int]:
    """Read groups of number words with the rules that combine the words of a group."""
    numbers: dict[str, int] = {}
    for group in value if isinstance(value, list) else [value]:
        if unknown := _table(group).keys() - {"words", "combined"}:
            raise ValueError(f"a group of numbers has 'words' and 'combined', not {min(unknown)!r}")
        words = _valued(group.get("words", {}))
        numbers |= words
        for line in lines_of(group.get("combined", "")):
            numbers |= _combined(line, words)
    return numbers


def _clock(value: object) -> dict[str, int]:
    return {pattern: _whole(minutes) for pattern, minutes in _pairs(value)}


def _kinds(value: object) -> dict[str, tuple[str, ...]]:
    """Read a table of kinds and their words; a word is of one kind."""
    kinds = {str(kind): words_of(words) for kind, words in _table(value).items()}
    kind_of: dict[str, str] = {}
    for kind, words in kinds.items():
        for word in words:
            if kind_of.setdefault(word, kind) != kind:
                raise ValueError(f"{word!r} stands at {kind_of[word]} and at {kind}")
    return kinds


def _day_parts(value: object) -> dict[str, tuple[int, int]]:
    parts: dict[str, tuple[int, int]] = {}
    for hours, words in _table(value).items():
        if not (limits := _HOURS.fullmatch(str(hours))):
            raise ValueError(f"{hours!r} is not like '10-22', from one hour up to another")
        parts |= dict.fromkeys(words_of(words), (int(limits[1]), int(limits[2])))
    return parts


def _letters(value: object) -> dict[str, str]:
    """Read a table of letters and the signs that are read as each of them."""
    letters = {sign: str(letter) for letter, signs in _table(value).items() for sign in _text(signs).split()}
    if several := [sign for sign in letters if len(sign) > 1]:
        raise ValueError(f"{several[0]!r} is more than one sign; write it under 'strings'")
    return letters


def _letter_positions(value: object) -> dict[str, int]:
    """Read lines of signs as signs and the position of their line, from 0."""
    return {sign.replace("_", " "): rank for rank, line in enumerate(lines_of(value)) for sign in line.split()}


def _scripts(value: object) -> tuple[str, ...]:
    names = words_of(value)
    for name in names:
        try:
            has_script("", (name,))
        except regex.error:
            raise ValueError(f"{name!r} is no name of a script in Unicode, such as Ethiopic or Old_Italic") from None
    return names


def _affixes(value: object) -> dict[int, tuple[str, ...]]:
    return {_whole(shortest): words_of(words) for shortest, words in _table(value).items()}


Lines = Annotated[tuple[str, ...], BeforeValidator(lines_of)]
Pattern = Annotated[str, BeforeValidator(lambda value: "|".join(lines_of(value)))]
WordList = Annotated[tuple[str, ...], BeforeValidator(words_of)]
# A text is a list of its lines.
Names = Annotated[tuple[str, ...], BeforeValidator(lambda value: value if isinstance(value, list) else lines_of(value))]
WordSet = Annotated[frozenset[str], BeforeValidator(words_of)]
Pairs = Annotated[tuple[tuple[str, str], ...], BeforeValidator(_pairs)]
Valued = Annotated[Mapping[str, int], BeforeValidator(_valued)]
Letters = Annotated[Mapping[str, str], BeforeValidator(_letters)]
Numbers = Annotated[Mapping[str, int], BeforeValidator(_numbers)]
DayParts = Annotated[Mapping[str, tuple[int, int]], BeforeValidator(_day_parts)]
Kinds = Annotated[Mapping[str, tuple[str, ...]], BeforeValidator(_kinds)]
Clock = Annotated[Mapping[str, int], BeforeValidator(_clock)]
Positions = Annotated[Mapping[str, int], BeforeValidator(_letter_positions)]
Scripts = Annotated[tuple[str, ...], BeforeValidator(_scripts)]
Resource = Literal["high", "mid", "low", ""]
Affix = Annotated[Mapping[int, tuple[str, ...]], BeforeValidator(_affixes)]


class FileSection(BaseModel):
    """A section of a language file; unknown fields are errors, and YAML's numbers are read as text."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, value: object) -> Json:
        """Leave out fields without a value."""
        if isinstance(value, str | list):
            raise ValueError("must be lines 'field: value'")
        if not isinstance(value, Mapping):
            return value
        return {name: cell for name, cell in value.items() if cell not in (None, "")}


class Spelling(FileSection):
    """How differences of spelling are levelled before words are compared. Capitals, digits and quotes always are."""

    letters: Letters = Field(default={}, description="Letters, and the signs read as each of them, in every text.")
    strings: Pairs = Field(default=(), description="Spellings of several letters, and what is read in their place.")
    loose_letters: Letters = Field(default={}, description="As 'letters', but a word keeps its own spelling too.")
    alike: Lines = Field(default=(), description="Spellings of one word, separated by ' / ': color / colour.")
    ampersand: str = Field(default="", description="The word that '&' stands for: 'and' of 'fish & chips'.")


class Affixes(FileSection):
    """What stands before and after a word and leaves it the same word; with the fewest letters that must remain."""

    prefixes: Affix = Field(default={}, description="Letters to remain, and prefixes: '2: di, ka'.")
    suffixes: Affix = Field(default={}, description="Letters to remain, and suffixes: '3: an, na'.")


class Cutting(FileSection):
    """Small words that are left out when a text is cut into words."""

    articles: WordList = Field(default=(), description="Left out before another word: 'the' of 'the sun'.")
    ordinal_endings: WordList = Field(default=(), description="Left out after figures: 'th' of '13th'.")
    particle: str = Field(default="", description="A particle that is left out, though it is spelled as another word.")
    particle_means_after: WordList = Field(default=(), description="Words after which it is that other word.")
    particle_means_before: WordList = Field(default=(), description="Words before which it is that other word.")


class Words(FileSection):
    """Numbers, dates and times of day in words.

    A rule of numbers makes further ones: '{units} belas = +10' adds ten to each of the group's words for 1 to 9,
    '= x10' multiplies, '{tens}{units}' adds up. In times {h} is the hour, {plus} are minutes after it, {minus} before
    it; {n} is a number. 'behind' does not apply beside words of 'morning' and 'afternoon': in such a language put
    the words for times of the day under 'parts'.
    """

    numbers: Numbers = Field(default={}, description="Groups of number words, and rules that combine the words of one.")
    months: Valued = Field(default={}, description="Names of months by their number, in every form in use.")
    ordinals: Valued = Field(default={}, description="Words for a day of the month: 'first' of 'the first of May'.")
    morning: WordSet = Field(default=frozenset(), description="Words for the hours before noon: 'am', 'morning'.")
    afternoon: WordSet = Field(default=frozenset(), description="Words for the hours after noon: 'pm', 'evening'.")
    night: WordSet = Field(default=frozenset(), description="Words for the hours from 18 to 6: 'night'.")
    parts: DayParts = Field(default={}, description="Other parts of the day, between two hours: '10-22: noon'.")
    hour: WordSet = Field(default=frozenset(), description="Words beside an hour: 'o'clock'.")
    behind: int = Field(default=0, description="Hours by which the clock of ordinary speech is behind; see 'parts'.")
    more: Pattern = Field(default="", description="Patterns with {n}, the number: 'more than {n}'.")
    less: Pattern = Field(default="", description="Patterns with {n}, the number: 'less than {n}'.")
    either: Pattern = Field(default="", description="'Or' between two numbers: 5 or 6.")
    clock: Clock = Field(default={}, description="Times and their minutes, in this order: 'half past {h} = 30'.")
    hours: Valued = Field(default={}, description="Forms of hours that are used only in such times.")

    def folded(self, fold: Callable[[str], str]) -> Words:
        """Return these words in the folded spelling in which texts are compared."""
        changed: JsonObject = {}
        for name, value in self:
            if isinstance(value, Mapping):
                changed[name] = {fold(word): meaning for word, meaning in value.items()}
            elif isinstance(value, str):
                changed[name] = fold(value)
            elif isinstance(value, frozenset):
                changed[name] = frozenset(map(fold, value))
        return self.model_copy(update=changed)


class ReplyWords(FileSection):
    """Words that models put around an answer, in lists of answers and in multiple choice. Read in every reply."""

    answer: Pattern = Field(default="", description="Labels before an answer: 'Answer' of 'Answer: rice'.")
    question: Pattern = Field(default="", description="Labels before a question: 'Question'.")
    opener: Pattern = Field(default="", description="Openings before an answer: 'Sure'.")
    unknown: Pattern = Field(default="", description="Says that the answer is not known: 'I don't know'.")
    non_answers: Pattern = Field(default="", description="Texts (not patterns) that are no answer; usual ones first.")
    conjunction: Pattern = Field(default="", description="Words between two answers: 'and', 'or'.")
    linker: Pattern = Field(default="", description="What else joins a long list, with what must stand around it.")
    and_so_on: Pattern = Field(default="", description="Ends an open list: 'etc.'.")
    refusal: Lines = Field(default=(), description="How a refusal to answer opens: 'I'm sorry, but I cannot help'.")
    choice: Pattern = Field(default="", description="Stands before the option chosen: 'the answer is'.")
    correct: Pattern = Field(default="", description="Stands after the option chosen: 'is correct'.")
    negation: Pattern = Field(default="", description="Stands before an option that is not meant: 'not B'.")
    lacks: Pattern = Field(default="", description="Stands right before what is not meant: 'without rice', 'no rice'.")
    denial: Pattern = Field(default="", description="Stands after an option that is not meant: 'B is wrong'.")
    option: Pattern = Field(default="", description="The word 'option'.")
    joiner: Pattern = Field(default="", description="Stands between two options, beside the conjunctions.")
    hedge: Pattern = Field(default="", description="'Maybe', 'probably'.")
    correction: Pattern = Field(default="", description="Takes an earlier answer back: 'no, wait'.")
    mistake: Pattern = Field(default="", description="Takes it back in a remark of its own: 'that is wrong,'.")
    asks: Pattern = Field(default="", description="Tells a sentence with a question mark from a claim: 'is it B?'.")
    supposes: Pattern = Field(default="", description="Supposes what is not so: 'if this were China, B'.")
    yes: Pattern = Field(default="", description="Says that the option before it is the answer: 'yes'.")
    wrong: Pattern = Field(default="", description="Says that the option before it is not the answer: 'no', 'false'.")
    between: Pattern = Field(default="", description="Stands before two options, one of which is chosen: 'between'.")
    among: Pattern = Field(default="", description="Stands after them: Chinese 之间.")
    conclusion: Pattern = Field(default="", description="Opens a conclusion: 'therefore'.")
    contrast: Pattern = Field(default="", description="Stands before what holds elsewhere: 'in contrast', 'whereas'.")
    connector: Pattern = Field(default="", description="Follows a letter that is an option, not a word: 'A because'.")
    article: Pattern = Field(default="", description="Articles before an option.")
    copula: Pattern = Field(default="", description="'Is', where it is written on the letter of an option.")
    bearer: Pattern = Field(default="", description="A letter after it is not an option: 'Vitamin C'.")
    borne: Pattern = Field(default="", description="A letter before it is not an option: 'C vitamini'.")
    letters: Positions = Field(default={}, description="Letters of options: one option per line, with all its signs.")
    numerals: Positions = Field(
        default={}, description="Numbers and ordinals of options, one option per line; a_b: two words."
    )
    cardinal: Pattern = Field(default="", description="Those of the numerals that count: 'one', 'two'.")
    number_sign: Pattern = Field(default="", description="Stands between 'option' and its number: 'number', 'no.'.")
    number_end: Pattern = Field(default="", description="Stands between a number and 'option': 'nd', Chinese 个.")
    lead: Pattern = Field(default="", description="'Is', where nothing parts it from the option after it.")


class Denials(FileSection):
    """How the language says what is not the answer. Patterns match whole words, but in scripts without spaces."""

    before: Pattern = Field(default="", description="Denies the rest of its clause: 'not rice', 'instead of rice'.")
    after: Pattern = Field(default="", description="Denies its clause up to itself: 'rice is not'.")
    whole: Pattern = Field(default="", description="Is denied as it stands.")
    harmless: Pattern = Field(default="", description="Holds such words and denies no answer: 'not only', 'no doubt'.")
    turn: Pattern = Field(default="", description="Opens a new clause: 'but'.")
    compounds: Pattern = Field(default="", description="Compounds whose parts are not meant: 'hot dog' is no dog.")


class People(FileSection):
    """Words by which a text states who somebody is: a table has kinds and their words, in every form in use.

    Nothing is guessed from a name. Hyphens are read as spaces. A language without capitals has no 'not_names'. Among
    forms of address, '-세요' is the end of a word, and '-您-' stands anywhere in one.
    """

    pronouns: Kinds = Field(default={}, description="Pronouns by what they state: 'she: she, her, hers'.")
    relations: Kinds = Field(default={}, description="Relations between people: 'mother: mother, mothers, mum'.")
    roles: Kinds = Field(default={}, description="Occupations and roles, by field: 'farming: farmer, shepherd'.")
    ages: Kinds = Field(default={}, description="Ages of life: 'child: child, children, boy'.")
    classes: Kinds = Field(default={}, description="Wealth and standing: 'poor: poor, penniless'.")
    settings: Kinds = Field(default={}, description="Town or country: 'urban: city, cities'.")
    address: Kinds = Field(default={}, description="Forms of address and respect: 'formal: usted, ustedes'.")
    no_address: str = Field(default="", description="Why 'address' is empty, in a sentence.")
    titles: WordSet = Field(default=frozenset(), description="Abbreviations before a name: 'dr' of 'Dr. Cruz'.")
    not_names: WordSet = Field(default=frozenset(), description="Written with a capital, and no names: 'Monday'.")


class Examples(FileSection):
    """What must hold; 'kapwa languages check' tries each."""

    spelling: Pairs = Field(default=(), description="A spelling, and what it is read as.")
    same: Pairs = Field(default=(), description="Two forms of one word.")
    different: Pairs = Field(default=(), description="Two words that must stay apart.")
    number: Pairs = Field(default=(), description="A text, and the number it names.")
    time: Pairs = Field(default=(), description="A text, and the time of day it names.")
    date: Pairs = Field(default=(), description="A text, and the date it names (month/day).")
    gives: Pairs = Field(default=(), description="A reply, and an answer that it gives.")
    gives_not: Pairs = Field(default=(), description="A reply, and an answer that it does not give.")
    refusals: Lines = Field(default=(), description="Replies that refuse to answer.")


class LanguageFile(FileSection):
    """What Kapwa knows of one language.

    Function words are pronouns, copulas, articles and particles: no answer is found through these alone, so what can
    be taken for a word that somebody may answer belongs there. A file without rules (in ``data/replies``) has words of
    replies only, and its language is judged as any other that Kapwa has no rules for.
    """

    tag: str = Field(description="The BCP-47 tag; it names the file.", pattern=r"^[a-z]{2,3}$")
    name: str = Field(description="The English name.")
    resource: Resource = Field(default="", description="How much text there is of it (Joshi et al., 2020).")
    rules: str = Field(default="", description="The version of the rules; raise it with every change, for signatures.")
    reviewed_by: Names = Field(default=(), description="Native speakers who read this file, one per line.")
    notes: str = Field(default="", description="What is covered and what is not.")
    scripts: Scripts = Field(default=(), description="Unicode names of its scripts; none for Latin.")
    inside: int = Field(default=0, description="Fewest letters of an answer found inside longer words; 0: in none.")
    spelling: Spelling = Spelling()
    affixes: Affixes = Affixes()
    cutting: Cutting = Cutting()
    function_words: str = Field(default="", description="Words that mean nothing alone, separated by spaces.")
    pieces: Mapping[str, Pattern] = Field(default={}, description="Parts of patterns of replies, named in braces.")
    replies: ReplyWords = ReplyWords()
    quantities: Words = Words()
    denials: Denials = Denials()
    people: People = People()
    examples: Examples = Examples()

    @model_validator(mode="before")
    @classmethod
    def _with_pieces(cls, value: object) -> Json:
        """Put the pieces into the patterns of replies."""
        if not isinstance(value, dict) or not isinstance(replies := value.get("replies"), Mapping):
            return value
        pieces = _table(value.get("pieces") or {})
        known = {name: f"(?:{'|'.join(lines_of(text))})" for name, text in pieces.items()}

        def piece(hit: re.Match[str]) -> str:
            if hit[1] not in known:
                raise ValueError(f"replies: no piece is named {hit[1]!r}; the pieces are: {', '.join(known) or 'none'}")
            return known[hit[1]]

        filled = {name: _PIECE.sub(piece, text) if isinstance(text, str) else text for name, text in replies.items()}
        return {**value, "replies": filled}

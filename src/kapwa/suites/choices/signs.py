"""Write a reply so that rules can be held against it: whatever names an option becomes one sign of its own.

A sign says which option is meant and how it is named (:data:`kapwa.suites.choices.rules.KINDS`). Letters are Latin ones
and the list letters of every language, in any dress; numbers count beside a word for "option" or alone; texts are
compared in the spelling of their language. JSON objects and boxes that hold an answer are signs, too, so that what else
stands in them says nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from html import unescape
from typing import NamedTuple

from kapwa.languages.codes import canonical
from kapwa.languages.fallback import language_for
from kapwa.languages.folding import Folding, ascii_digits
from kapwa.languages.phrases import any_of, reply_words, spaced_and_not
from kapwa.suites.choices.rules import (
    ANY_SIGN,
    BEGINS,
    VOWELS,
    letters_of_signs,
    numbered,
    numerals,
    pattern,
    sign,
    signs,
)
from kapwa.suites.items import ALL_LETTERS


class _Span(NamedTuple):
    """What names an option in a text, and the sign that takes its place."""

    start: int
    end: int
    sign: str


_SIGN, _ASCII = re.compile(f"[{ANY_SIGN}]"), re.compile(rf"[\x00-\x7f{ANY_SIGN}]*\Z")
_ONE_LETTER = re.compile(rf"[^\w{ANY_SIGN}]*([{signs('clear', 'marked', 'capital', 'native')}])[^\w{ANY_SIGN}]*")
# Signs that are nothing but list labels, whatever stands around them.
_LETTER_LABELS = (0x24B6, 0x24D0, 0x249C, 0x1F110, 0x1F130, 0x1F150, 0x1F170, 0x1F1E6)
# Of circled numbers only the first ten stand together in Unicode.
_NUMBER_LABELS, _NUMBERS = (0x2460, 0x2776, 0x24F5), 10
_LABELS = {chr(start + i): letter for start in _LETTER_LABELS for i, letter in enumerate(ALL_LETTERS)}
_LABELS |= {chr(start + i): ALL_LETTERS[i] for start in _NUMBER_LABELS for i in range(_NUMBERS)}
# Tags, and what the model itself has struck out.
_TAG = re.compile(
    r"~~[^~\n]+~~|<(del|strike)>(?s:.*?)</\1>"
    r"|</?(?:b|strong|i|em|u|p|br|span|div|mark|code|pre|li|ul|ol)\b[^>]*>|<\|[^|>\n]{1,40}\|>|</?s>",
    re.IGNORECASE,
)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff]")
_LATEX = re.compile(r"\\(?:text|mathbf|mathrm|textbf|mathit|textit|bf|rm)\s*\{([^{}]*)\}|\\[ ,;()\[\]]")
_TABLE_ROW = re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.MULTILINE)
# Emphasis and quotation marks that are left once what they mark is a sign; apostrophes within words stay.
_DRESS = re.compile(r"[*_`$\\“”„«»「」『』\"]|(?<!\w)['‘’]|['‘’](?!\w)")


def without_markup(reply: str) -> str:
    """Drop tags, invisible signs and LaTeX fonts; turn list labels and styled letters into plain ones."""
    text = unescape(reply) if "&" in reply else reply
    text = _TAG.sub(" ", text) if "<" in text or "~~" in text else text
    text = _INVISIBLE.sub("", _SIGN.sub(" ", text))
    if not text.isascii():
        text = "".join(f"({_LABELS[each]})" if each in _LABELS else each for each in text)
        text = unicodedata.normalize("NFKC", text)
    text = _LATEX.sub(r" \1", text) if "\\" in text else text
    text = text.replace("\\n", "\n").replace("\r", "\n").strip()
    return _TABLE_ROW.sub(_cells, text) if "|" in text else text


def _cells(row: re.Match[str]) -> str:
    return " – ".join(cell for cell in map(str.strip, row.group().split("|")) if cell and not cell.isdigit())


class OptionSigns:
    """The options of a question, to be found in replies to it."""

    def __init__(self, texts: Sequence[str], language: str) -> None:
        self.letters = ALL_LETTERS[: len(texts)]
        self._given = texts
        code = canonical(language)
        self._spelled_out = language_for(code).spelled_out
        self._spell = _speller(code)
        self._token = _token(self.letters, code)
        self._native = _native(code)

    @cached_property
    def texts(self) -> dict[str, int]:
        """The place of each option by its text, as it is compared; a text that is one of the letters has none."""
        spelt = list(map(self.spelt, self._given))
        if len(set(spelt)) < len(spelt):  # the language writes two options alike: they differ by what it folds
            self._spell = _speller("")
            spelt = list(map(self.spelt, self._given))
        small = tuple(self.letters.lower())
        return {text: index for index, text in enumerate(spelt) if text and text not in small}

    def spelt(self, text: str) -> str:
        """``text`` as option texts are compared: in the language's spelling, no signs around it."""
        return self._spell(self._spelled_out(text).replace("’", "'")).strip(" .,:;!?\"'`*_()[]{}。！？“”‘«»|$\\")

    def encoded(self, text: str, *, sharing: bool = False) -> str:
        """``text`` with a sign for each option that it names, and without the dress of the rest.

        ``sharing``: its numbers are shares, but beside a word for "option".
        """
        if not _WORD.search(text):
            return _DRESS.sub("", text)
        text = _SPACES.sub(" ", self._spelled_out(text))
        spans = list(self._found_texts(text)) if len(text) > 1 or text.isdigit() else []
        spans_taken = [(span.start, span.end) for span in spans]
        letters = list(self._found_letters(text))
        numbers = self._numbers(text, counting=not spans and not letters, sharing=sharing)
        others = (*numbers, *letters)
        spans += [one for one in others if not any(start < one.end and one.start < end for start, end in spans_taken)]
        pieces: list[str] = []
        last = 0
        for span in sorted(spans, key=lambda one: (one.start, -one.end)):
            if span.start >= last:
                pieces += (text[last : span.start], span.sign)
                last = span.end
        return _DRESS.sub("", "".join((*pieces, text[last:])))

    def exactly(self, text: str) -> int | None:
        """The place of the option whose text this is."""
        texts = self.texts  # first, for they say which spelling tells them apart
        return texts.get(self.spelt(text))

    def lettered(self, text: str) -> int | None:
        """The place of the option whose letter this is and nothing more, in any script and dress."""
        written = without_markup(text)
        letter = _ONE_LETTER.fullmatch(self.encoded(written))
        return (
            None if letter is None or _FIGURE.search(written) else ALL_LETTERS.index(min(letters_of_signs(letter[1])))
        )

    def _found_texts(self, text: str) -> Iterator[_Span]:
        """Option texts as whole words; of one within another the longer."""
        texts = self.texts
        if _ASCII.match(text) and self._spell("I") == "i":
            folded, positions = text.lower(), None
        else:
            folded, positions = self._aligned(text)
        spans_taken: list[tuple[int, int]] = []
        for option in sorted(texts, key=len, reverse=True):
            start = folded.find(option)
            while start >= 0:
                end = start + len(option)
                free = not any(start < other_end and other < end for other, other_end in spans_taken)
                if free and _STARTS.match(folded, start) and _ENDS.match(folded, end):
                    spans_taken.append((start, end))
                    span = (start, end) if positions is None else (positions[start], positions[end])
                    yield _Span(*span, sign("text", texts[option]))
                start = folded.find(option, start + 1)

    def _aligned(self, text: str) -> tuple[str, list[int]]:
        """``text`` in the language's spelling, and where in ``text`` each of its letters (and its end) stands."""
        pieces: list[str] = []
        positions: list[int] = []
        for hit in _CHUNK.finditer(text):
            spelt = self._spell(hit.group()) if hit["word"] else hit.group()
            start, length = hit.start(), len(hit.group())
            pieces.append(spelt)
            positions += [start + min(i, length - 1) for i in range(len(spelt))]
        return "".join(pieces), [*positions, len(text)]

    def _numbers(self, text: str, *, counting: bool, sharing: bool) -> Iterator[_Span]:
        """Options that are named by number: beside a word for "option", or alone where no option holds a number.

        ``counting``: numbers beside a word for choosing count the options of the question. ``sharing``: only those
        beside a word for "option" do.
        """
        named = _FIGURE.search(text) or _first_words() & set(_WORD.findall(text.lower()))
        if not named or any(map(str.isdigit, self.texts)):
            return
        for hit in numbered().finditer(text):
            group = str(hit.lastgroup)
            number, beside = number_of(hit[group]), group.partition("_")[0]
            unmarked = beside != "option" and any(map(_DIGIT.search, self.texts))
            unmarked = unmarked or (beside == "choice" and not counting)
            unmarked = unmarked or (
                beside != "option" and (sharing or _PER_CENT.match(text, hit.end(group)) is not None)
            )
            if 1 <= number <= len(self.letters) and not unmarked:
                start, end = hit.span(group) if beside in ("answer", "choice") else hit.span()
                yield _Span(start, end, sign("marked", number - 1))

    def _found_letters(self, text: str) -> Iterator[_Span]:
        """Every letter that stands by itself, in whatever dress and script."""
        for hit in self._token.finditer(text):
            written, opening, closing = hit["letter"], hit["open"], hit["close"]
            letter = self._native.get(written) or self._native.get(written.upper()) or written.upper()
            if letter not in self.letters or _in_name(text, hit.start(), hit.end()):
                continue
            if letter == "I" and not opening and _SPEAKER.match(text, hit.start("letter")):
                continue
            # "A o B" joins two options where there is an O, too.
            if hit.group() == "o" and letter == "O" and not _END.match(text, hit.end()):
                continue
            kind = _kind(text, hit)
            if kind is None:
                continue
            # A bracket that only closes is the label's: B) Bread.
            label = ")" if kind == "clear" and _CLOSING.search(closing) else ""
            yield _Span(hit.start(), hit.end(), sign(kind, self.letters.index(letter)) + label)


def _kind(text: str, hit: re.Match[str]) -> str | None:
    """How a letter is named; None for a small one that may be a word."""
    written, opening, closing = hit["letter"], hit["open"], hit["close"]
    if (_BRACKET.search(opening) and closing) or _SURE_MARK.search(opening):
        return "marked"
    latin = written.isascii()
    end = hit.end()
    clear = (
        (latin and written.isupper() and written != "A")
        or _END.match(text, end)
        or (closing and not opening)
        or (not latin and _COPULA.match(text, end))
        or (latin and written.islower() and _OPTION.search(text, max(0, hit.start() - _BEARER_REACH), hit.start()))
        or (written == "A" and (_CONNECTOR.match(text, end) or _touches(text, end)))
    )
    if clear:
        return "clear"
    return "native" if not latin else "capital" if written == "A" else None


_OPEN = r"*_`\"'“”„‘’«»()\[\]{}<>$（）【】「」『』\\|׳"
_LATIN = r"A-Za-zÀ-ÖØ-öø-ʯḀ-ỿ0-9"
_BRACKET = re.compile(r"[*_`\"“”'‘’«»(\[{$（【「『|\\]")
_SURE_MARK, _CLOSING = re.compile(r"[*`$\\]"), re.compile(r"[)\]）】]")
_END = re.compile(r"\s*(?:$|[.,:;!?()\]\n。，：；！？、।።؟،–—-])")
_CHUNK = re.compile(rf"(?P<word>[\w{VOWELS}\u0300-\u036f\u064b-\u065f]+)|(?s:.)")
_PER_CENT = pattern(r"\s*(?:[%٪]|per\s?cent)")
_DIGIT, _SPACES = re.compile(r"\d"), re.compile(r"[ \t]{2,}")
_FIGURE, _WORD = re.compile(r"[\d一二三四五六七八九十፩-፲]"), re.compile(rf"[\w{VOWELS}]+")
_ACCENT = re.compile(r"(?<!n)[\u0300-\u036f]")
_CONNECTOR = pattern(rf"\s+(?:{any_of('connector')}|{any_of('conjunction')})\b")
# "Dear A", "Plan B", "Vitamin C", "D씨": the letter is part of a name.
_SPACED_BEARER, _UNSPACED_BEARER = spaced_and_not("bearer")
_BEARER = pattern(rf"(?:(?<!\w)(?:{_SPACED_BEARER})[.,]?\s+|(?:{_UNSPACED_BEARER})\s*)\Z")
_BEARER_REACH = 24
_OPTION = pattern(rf"\b(?:{any_of('option')})\s*\Z")
# Who speaks, where there are nine options or more: "I would say"; "I is right" and "I and J" name the option.
_SPEAKER = re.compile(r"I(?:['’]|\s+(?!(?:is|was|and|or|because|since|as)\b)[a-z])", re.IGNORECASE)
_BORNE, _COPULA = pattern(any_of("borne")), pattern(any_of("copula"))
# A text stands as whole words: no letter beside it, nor a digit of the same number or time.
_STARTS = re.compile(rf"{BEGINS}(?<!\d[.,:/])")
_ENDS = re.compile(rf"(?!(?!{_COPULA.pattern})[\w{VOWELS}])(?![.,:/]\d)", re.IGNORECASE)


def _in_name(text: str, start: int, end: int) -> bool:
    """Whether the letter from ``start`` to ``end`` belongs to a person, a plan or a vitamin."""
    before = text[max(0, start - _BEARER_REACH) : start]
    return _BEARER.search(before) is not None or _BORNE.match(text, end) is not None


def _touches(text: str, position: int) -> bool:
    """Whether a letter of another script follows at once: "A입니다", "A是"; no article stands so."""
    following = text[position : position + 1]
    return following.isalpha() and not unicodedata.name(following, "").startswith("LATIN")


@cache
def _native(language: str) -> dict[str, str]:
    """List letters of every script, to the Latin ones; where languages differ, ``language`` decides."""
    every = reply_words()
    lists = (*((every[language],) if language in every else ()), *every.values())
    pairs = [pair for words in lists for pair in words.letters.items()]
    return {written: ALL_LETTERS[index] for written, index in reversed(pairs)}


@lru_cache(maxsize=64)
def _token(letters: str, language: str) -> re.Pattern[str]:
    native = _native(language)
    every = [written for written, letter in native.items() if letter in letters]
    single = f"[{''.join(one for one in every if len(one) == 1)}]"
    longer = sorted((one for one in every if len(one) > 1), key=len, reverse=True)
    latin = rf"(?<![{_LATIN}])[{letters}{letters.lower()}](?![{_LATIN}]|['’]\w)"
    # Small ones are words but for a bracket after them; Cyrillic ones that look like Latin letters stand for these.
    small = "".join(one.lower() for one in native if len(one) == 1 and one.lower() not in f"{one}вс")
    # Korean and Japanese write particles and the copula on a letter, Chinese and Japanese nothing before it.
    after = rf"(?!(?!{_COPULA.pattern})[\w{VOWELS}])"
    other = rf"{BEGINS}(?:(?:{'|'.join((*longer, single))}){after}|[{small}](?=[)*]|[ .!]*\Z))"
    return re.compile(
        rf"(?<![{_LATIN}'’])(?P<open>[{_OPEN}]{{0,6}})(?P<letter>{latin}|{other})(?P<close>[{_OPEN}]{{0,6}})"
    )


@cache
def _speller(language: str) -> Callable[[str], str]:
    """What folds a text in the spelling of a language, without accents, and remembers it; "" is none."""
    if not language:
        return lru_cache(maxsize=65536)(Folding())
    fold = language_for(language).fold
    return lru_cache(maxsize=65536)(lambda text: _unaccented(fold(text)))


def _unaccented(text: str) -> str:
    """Folded text without the accents of Latin, Greek and Cyrillic letters, but for ñ."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text)))


@cache
def _first_words() -> frozenset[str]:
    return frozenset(word.partition(" ")[0] for word in numerals())


def number_of(written: str) -> int:
    """The number that figures of any script, or words for numbers, say."""
    figures = ascii_digits(written)
    if figures.isascii() and figures.isdigit():
        return int(figures)
    known = numerals().get(written.casefold())
    return known if known is not None else int(unicodedata.numeric(written, 0))

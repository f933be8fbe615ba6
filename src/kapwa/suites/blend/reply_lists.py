"""Take a short text apart into the answers it lists: "rice, beans and bread" lists three.

What separates answers: line breaks, semicolons, bars, commas of every script, slashes, bullets; and the words for
"and" and "or" where they stand before the last of a list, or where nothing else separates. A comma between digits
(350,000), a slash in a date and whatever stands in brackets do not, unless the brackets hold a list themselves. What
may mean something else within one answer parts a list only where it makes one of more answers than are allowed: dashes,
wide spaces, numerals that count on from 1, and what a language writes on a word (Arabic wa-, Korean 와) or uses for
"and" among other things (Chinese 和, English "plus").

A list with nothing between its members ("rice beans bread") is not seen as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import regex  # type: ignore[import-untyped, unused-ignore]

from kapwa.languages.phrases import any_of, reply_words
from kapwa.languages.words import n_words, words

_SEPARATORS = "\n;|؛；፤，、،፣፥•▪◦‣・\u2028\u2029"
# Between digits these may belong to one number, date or time; a comma before three digits groups thousands.
_COMMA = r"(?<!\d),|,(?!\d)|(?<=\d),(?=\d)(?!\d{3}(?!\d))"
_SLASH = r"(?<!\d)/|/(?!\d)"
# Numbers in circles and in keys, and ticks.
_SIGNS_OF_LISTS = r"[①-⑳❶-❿➀-➓✅✔☑]\uFE0F?|\d\uFE0F?\u20E3"
_SEPARATOR = regex.compile(rf"[{_SEPARATORS}]|{_COMMA}|{_SLASH}|(?<!\d)·|·(?!\d)|\s+-{{2,}}\s+|{_SIGNS_OF_LISTS}")
_OPENING, _CLOSING = "([{（［【「『《〈", ")]}）］】」』》〉"
# Fewest members of a list that such signs part, and most words of one between two signs.
_MANY, _MEMBER_WORDS = 4, 4
# Symbols (+, ★, emoji), other signs between spaces, and hashes; brackets and quotes side by side.
_WEAK_SIGNS = (
    r"\s{2,}|\t|(?<=\w)(?:…|\.{3})\s*(?=\w)|\s*\p{S}[\p{S}\uFE0F\u200D]*\s*|\s[^\w\s]+\s|\s#(?=\w)|(?<=\S)(?:[–—](?!\d)|(?<!\d)[–—])(?=\S)"
    r"|(?<=[\w.]['\"”’»`])\s+(?=['\"“‘«`]\w)"
)
_BETWEEN_BRACKETS = regex.compile(rf"(?<=[{regex.escape(_CLOSING)}])\s*(?=[{regex.escape(_OPENING)}])")
# Signs that count on, each to its place.
_COUNTED = (
    "i ii iii iv v vi vii viii ix x|a b c d e f g h|一 二 三 四 五 六|፩ ፪ ፫ ፬ ፭ ፮|일 이 삼 사 오 육|الف ب پ ت ث ج"
)
_LETTERS = ({sign.lower(): place for sign, place in words_of.letters.items()} for words_of in reply_words().values())
_ROWS = ({sign: place for place, sign in enumerate(row.split())} for row in _COUNTED.split("|"))
_SERIES = [{str(number): number - 1 for number in range(31)}, *_ROWS, *filter(None, _LETTERS)]
_NUMERAL = regex.compile(
    r"(?<![\w.,:/])[(（\[#]?(?:(\d{1,2})(?:\s*[.):：、\]º°–-]+(?:\s+(?=\S)|(?=[^\W\d])|\Z)|\s*(?=[^\W\d]))"
    rf"|({'|'.join(sign for series in _SERIES[1:] for sign in series)})(?:[.)\]]\s+|、\s*)(?=\S))",
    regex.IGNORECASE,
)
# Words that end an open list and are no answer.
_AND_SO_ON = regex.compile(rf"(?:{any_of('and_so_on')})\.*…?", regex.IGNORECASE)
_EDGES = " \t\r\n\u00a0\u200b\ufeff\"'`*_“”‘’«»„‟.!?。！？؟।።…:：,،、;؛-–—~"
MAX_WORDS = 8


def tidy(piece: str) -> str:
    """Return a piece without quotes, emphasis, white space and final punctuation around it; brackets stay."""
    piece = piece.strip(_EDGES)
    for opening, closing in zip(_OPENING, _CLOSING, strict=True):
        if piece.startswith(opening) and piece.endswith(closing) and closing not in piece[1:-1]:
            return tidy(piece[1:-1])
    return piece


def is_short(text: str) -> bool:
    """Whether a text is no longer than an answer: at most :data:`MAX_WORDS` words."""
    return n_words(text) <= MAX_WORDS


def split_answers(text: str, language: str = "en") -> tuple[str, ...]:
    """Return the distinct answers that ``text`` lists, in order, tidied; none for a text without letters or digits."""
    by_words: dict[str, str] = {}
    for piece in _pieces(tidy(text), language):
        clean = tidy(piece)
        if any(sign.isalnum() for sign in clean):
            by_words.setdefault(" ".join(words(clean)) or clean, clean)
    listed = tuple(by_words.values())
    # "etc." ends a list and is no answer; alone it is the answer (Korean 기타 also means guitar).
    return tuple(answer for answer in listed if not _AND_SO_ON.fullmatch(answer)) or listed


def _pieces(text: str, language: str) -> Iterator[str]:
    shape, brackets = _bracketed(text)
    listed: list[str] = []
    for start, end in reversed(brackets):
        pieces = _cut(text[start:end], text[start:end], language)
        if len(pieces) > 1:  # a list of its own, which must not ride on the answer before it
            listed = [*pieces, *listed]
            text, shape = f"{text[: start - 1]} {text[end + 1 :]}", f"{shape[: start - 1]} {shape[end + 1 :]}"
    yield from _cut(shape, text, language)
    yield from listed


def _bracketed(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the text with bracketed parts blanked out, sign for sign, and the positions of these parts."""
    blanked: list[str] = []
    spans: list[tuple[int, int]] = []
    start, depth = 0, 0
    for position, sign in enumerate(text):
        if sign in _OPENING:
            start = position + 1 if depth == 0 else start
            depth += 1
        blanked.append("x" if depth else sign)
        if sign in _CLOSING and depth:
            depth -= 1
            if depth == 0:
                spans.append((start, position))
    # A bracket that is never closed is no bracket.
    return (text, []) if depth else ("".join(blanked), spans)


def _cut(shape: str, text: str, language: str) -> list[str]:
    """Cut ``text`` where ``shape``, a text of the same length, has separators or, in their place, conjunctions."""
    cuts = [hit.span() for hit in _SEPARATOR.finditer(shape)]
    # "a, b and c": only the last piece has a conjunction that joins the list
    last = cuts[-1][1] if cuts else 0
    # Conjunctions of pairs part members where there are more than enough ("a and b, c and d, e and f"), or where what
    # follows says "also".
    goes_on = any(_linkers(language).match(f" {text[end:].lstrip()}", 1) for _, end in cuts)
    for start, many in ((last, _MANY), (0, _MANY + (not goes_on))):
        links = (*_BETWEEN_BRACKETS.finditer(text), *_linkers(language).finditer(shape, start))
        weak = numerals(text) or sorted([*cuts, *(hit.span() for hit in links)])
        members = _between_cuts(text, weak)
        if len(members) >= many and weak != cuts and max(map(n_words, members[1:-1])) <= _MEMBER_WORDS:
            return members
    joined = [hit.span() for hit in _between(language).finditer(shape, last)]
    return _between_cuts(text, cuts + joined[:1] if cuts else joined)


def _between_cuts(text: str, cuts: Iterable[tuple[int, int]]) -> list[str]:
    """Return what stands between the cuts and is not empty."""
    pieces, last = [], 0
    for start, end in cuts:
        pieces.append(text[last:start])
        last = end
    return [piece for piece in (*pieces, text[last:]) if piece.strip()]


def numerals(text: str) -> list[tuple[int, int]]:
    """Return where numerals count four members or more in a line ("1. rice 2. bread 3. soup 4. tea"), else nothing."""
    hits = list(_NUMERAL.finditer(text))
    for series in _SERIES if len(hits) >= _MANY - 1 else ():
        run: list[tuple[int, int]] = []
        position = 0
        for hit in hits:
            sign = str(int(hit[1])) if hit[1] else hit[2].lower()
            # The first numeral may have been taken for the mark of the reply's only line.
            if series.get(sign) == position or (not run and series.get(sign) in (-1, 1)):
                run.append(hit.span())
                position = series[sign] + 1
        if max(position, len(run)) >= _MANY:
            return run
    return []


@cache
def _between(language: str) -> Any:
    """Conjunctions of a language and of English, standing between words or after a separator."""
    words, english = reply_words(), reply_words()["en"].conjunction
    conjunctions = words[language].conjunction if language in words else ""
    unspaced = f"{conjunctions}|" if language == "zh" else ""  # Chinese has no spaces
    spaced = "|".join(filter(None, ("" if unspaced else conjunctions, english)))
    return regex.compile(rf"{unspaced}(?<=[\s,،、;؛]|^)(?:{spaced})(?=\s)", regex.IGNORECASE)


@cache
def _linkers(language: str) -> Any:
    """What separates the members of a long list, in a language and in English: conjunctions, linkers, weak signs."""
    words = reply_words()
    linkers = (words[code].linker for code in dict.fromkeys((language, "en")) if code in words)
    ways = (_between(language).pattern, *linkers, _WEAK_SIGNS)
    return regex.compile("|".join(f"(?:{way})" for way in ways if way), regex.IGNORECASE)

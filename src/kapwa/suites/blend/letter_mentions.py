"""Where a letter stands by itself in a reply, in whatever dress and script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from kapwa.languages.phrases import any_of, reply_words, spaced_and_not
from kapwa.suites.items import ALL_LETTERS


class Mention(NamedTuple):
    """A letter that stands by itself.

    ``start`` and ``end`` include the signs around it. ``clear``: it can be no other word (an "A" may be an article, a
    small or foreign letter a word); ``marked``: in bold, brackets or quotes.
    """

    start: int
    end: int
    letter: str
    clear: bool
    marked: bool


def pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern for normalised replies."""
    # Replies are normalised, so the words looked for must be too (Thai and Korean letters change).
    return re.compile(unicodedata.normalize("NFKC", text), re.IGNORECASE | re.DOTALL)


# Signs that are nothing but list labels, whatever stands around them.
_LETTER_LABELS = (0x24B6, 0x24D0, 0x249C, 0x1F110, 0x1F130, 0x1F150, 0x1F170, 0x1F1E6)
# Of circled numbers only the first ten stand together in Unicode.
_NUMBER_LABELS, _NUMBERS = (0x2460, 0x2776, 0x24F5), 10
_LABELS = {chr(start + i): letter for start in _LETTER_LABELS for i, letter in enumerate(ALL_LETTERS)}
_LABELS |= {chr(start + i): ALL_LETTERS[i] for start in _NUMBER_LABELS for i in range(_NUMBERS)}
_OPEN = r"*_`\"'“”„‘’«»()\[\]{}<>$（）【】「」『』\\|"
_LATIN = r"A-Za-zÀ-ÖØ-öø-ʯḀ-ỿ0-9"
_BRACKET = re.compile(r"[*_`\"“”'‘’«»(\[{$（【「『|\\]")
_SURE_MARK = re.compile(r"[*`$\\]")
_END = re.compile(r"\s*(?:$|[.,:;!?()\]\n。，：；！？、।።؟،–—-])")
# Tags, and what the model itself has struck out.
_TAG = re.compile(
    r"~~[^~\n]+~~|<(del|strike)>(?s:.*?)</\1>"
    r"|</?(?:b|strong|i|em|u|p|br|span|div|mark|code|pre|li|ul|ol)\b[^>]*>|<\|[^|>\n]{1,40}\|>|</?s>",
    re.IGNORECASE,
)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff]")
_LATEX = re.compile(r"\\(?:text|mathbf|mathrm|textbf|mathit|textit|bf|rm)\s*\{([^{}]*)\}")

# Vowel signs are no letters to the module re: one beside a letter makes it part of a word (Assamese কে).
_VOWELS = r"\u0901-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09d7\u0cbc-\u0cd6\u0e31-\u0e4e"
# Letters of lists in other scripts, to the Latin ones.
_NATIVE = {sign: ALL_LETTERS[i] for words in reply_words().values() for sign, i in words.letters.items()}
# Small ones are words but for a bracket after them; Cyrillic ones that look like Latin letters stand for these.
_SMALL = "|".join(sign.lower() for sign in _NATIVE if len(sign) == 1 and sign.lower() not in f"{sign}вс")
_CONNECTOR = pattern(rf"\s+(?:{any_of('connector')}|{any_of('conjunction')})\b")
# "Dear A", "Plan B", "Vitamin C", "D씨": the letter is part of a name.
_SPACED_BEARER, _UNSPACED_BEARER = spaced_and_not("bearer")
_BEARER = pattern(rf"(?:(?<!\w)(?:{_SPACED_BEARER})[.,]?\s+|(?:{_UNSPACED_BEARER})\s*)\Z")
_BEARER_REACH = 24
# Who speaks, where there are nine options or more: "I would say"; "I is right" and "I and J" name the option.
_SPEAKER = re.compile(r"I(?:['’]|\s+(?!(?:is|was|and|or|because|since|as)\b)[a-z])", re.IGNORECASE)
_BORNE, _COPULA = pattern(any_of("borne")), pattern(any_of("copula"))


def plain(reply: str) -> str:
    """Drop tags, invisible signs and LaTeX fonts; turn list labels and styled letters into plain ones."""
    text = _TAG.sub(" ", reply) if "<" in reply or "~~" in reply else reply
    text = _INVISIBLE.sub("", text)
    if not text.isascii():
        text = unicodedata.normalize(
            "NFKC", "".join(f"({_LABELS[sign]})" if sign in _LABELS else sign for sign in text)
        )
    return _LATEX.sub(r"\1", text).replace("\\n", "\n").replace("\r", "\n").strip()


def mentions(text: str, letters: str) -> Iterator[Mention]:
    """Every letter of ``letters`` that stands by itself in ``text``, in order."""
    for match in _token(letters).finditer(text):
        sign, opening, closing = match["letter"], match["open"], match["close"]
        letter = _NATIVE.get(sign) or _NATIVE.get(sign.upper()) or sign.upper()
        if letter not in letters or _in_name(text, match.start(), match.end()):
            continue
        if letter == "I" and not opening and _SPEAKER.match(text, match.start("letter")):
            continue
        # "A o B" joins two options where there is an O, too.
        if match.group() == "o" and letter == "O" and not ends(text, match.end()):
            continue
        marked = bool(_BRACKET.search(opening) and closing) or bool(_SURE_MARK.search(opening))
        clear = (
            marked
            or (sign.isascii() and sign.isupper() and sign != "A")
            or ends(text, match.end())
            or (closing != "" and not opening)
            or (not sign.isascii() and _COPULA.match(text, match.end()) is not None)
            or (sign == "A" and (_CONNECTOR.match(text, match.end()) is not None or _touches(text, match.end())))
        )
        yield Mention(match.start(), match.end(), letter, clear, marked)


def _in_name(text: str, start: int, end: int) -> bool:
    """Whether the letter from ``start`` to ``end`` belongs to a person, a plan or a vitamin."""
    before = text[max(0, start - _BEARER_REACH) : start]
    return _BEARER.search(before) is not None or _BORNE.match(text, end) is not None


def ends(text: str, position: int) -> bool:
    """Whether a phrase ends at ``position``: nothing, a line break or a stop follows."""
    return _END.match(text, position) is not None


def _touches(text: str, position: int) -> bool:
    """Whether a letter of another script follows at once: "A입니다", "A是"; no article stands so."""
    if position >= len(text) or not text[position].isalpha():
        return False
    return not unicodedata.name(text[position], "").startswith("LATIN")


@lru_cache(maxsize=16)
def _token(letters: str) -> re.Pattern[str]:
    signs = sorted((sign for sign, letter in _NATIVE.items() if letter in letters), key=len, reverse=True)
    latin = rf"(?<![{_LATIN}])[{letters}{letters.lower()}](?![{_LATIN}]|['’]\w)"
    # Korean and Japanese write particles and the copula on a letter, Chinese and Japanese nothing before it.
    before, after = rf"(?<![^\Wはが选選是为為])(?<![{_VOWELS})\]])", rf"(?!(?!{_COPULA.pattern})[\w{_VOWELS}])"
    native = rf"{before}(?:(?:{'|'.join(signs)}){after}|(?:{_SMALL})(?=[)*]))"
    return re.compile(
        rf"(?<![{_LATIN}'’])(?P<open>[{_OPEN}]{{0,6}})(?P<letter>{latin}|{native})(?P<close>[{_OPEN}]{{0,6}})"
    )

"""Fold spelling: what every language shares (NFKC, case, digits, quotes, invisible characters), and its own tables.

A :class:`Folding` is idempotent by construction: it repeats until the text no longer changes, because NFKC,
case folding and a language's own table each can undo the normal form of another.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

import regex  # type: ignore[import-untyped, unused-ignore]

# Joiners, soft hyphens, direction marks, variation selectors, fillers: they change how a word looks, not its identity.
_INVISIBLE = regex.compile(r"[\p{Cf}\p{Default_Ignorable_Code_Point}]+")
_GAPS = regex.compile(r"[\s\p{Cc}\p{Cs}]+")
# A number with its separators is one token, so that no piece of it (the 5 of 1.5) is a word; adjacent letters are not.
_TOKEN = regex.compile(
    r"\d+(?:[.,:/]\d+)*|[\p{L}\p{M}]+(?:'(?=\p{L})[\p{L}\p{M}]+)*(?:\+{1,2}(?![\p{L}\p{N}]))?|[\p{Nl}\p{No}]+"
)
_MARKS = regex.compile(r"\p{Mn}+")
_DIGIT = regex.compile(r"[^\P{Nd}0-9]")

# Before NFKC, which would turn a spacing accent used as an apostrophe into a space and a combining mark.
_PUNCTUATION = str.maketrans(
    {
        **dict.fromkeys("’‘ʼ`´ʻʹ′＇‛ʽʾʿ՚ꞌ", "'"),
        **dict.fromkeys("“”„‟«»‹›″＂", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣－⁃", "-"),
        **dict.fromkeys("～〜∼˜", "~"),
        # NFKC would run the digits of 1½ together.
        **{sign: " " + unicodedata.normalize("NFKC", sign) for sign in "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"},
    }
)
# Vowel signs of Arabic letters, and the stroke that lengthens words: they are seldom written.
_MARKED = (range(0x610, 0x61B), range(0x64B, 0x660), (0x640, 0x670), range(0x6D6, 0x6EE))
ARABIC_MARKS = dict.fromkeys(chain.from_iterable(_MARKED))
_ROUNDS = 8


def ascii_digits(text: str) -> str:
    """Return ``text`` with the decimal digits of all scripts (٣ ۳ ৩ ３) written 0-9."""
    if text.isascii():
        return text
    # The module regex may know digits that this Python does not know: these are not changed.
    return str(_DIGIT.sub(lambda hit: str(unicodedata.decimal(hit.group(), hit.group())), text))


def visible(text: str, keep: str = "") -> str:
    """Return ``text`` without invisible format characters, except those in ``keep`` (Persian keeps ZWNJ)."""
    if text.isascii():
        return text
    return str(_INVISIBLE.sub(lambda hit: "".join(sign for sign in hit.group() if sign in keep), text))


@lru_cache(maxsize=65536)
def unaccented(text: str, keep: str = "") -> str:
    """Return NFC ``text`` without its nonspacing marks (é → e); letters in ``keep`` (such as ñ) keep theirs."""
    if text.isascii():
        return text
    pieces = (
        sign if sign in keep else _MARKS.sub("", unicodedata.normalize("NFD", sign))
        for sign in unicodedata.normalize("NFC", text)
    )
    return unicodedata.normalize("NFC", "".join(pieces))


def spaced_tokens(folded: str) -> tuple[str, ...]:
    """Cut folded text into words and numbers: "mother's", "a+", "1.5" and "15:30" are one each, "3pm" is two."""
    return tuple(_TOKEN.findall(folded))


@dataclass(frozen=True, slots=True)
class Folding:
    """Folds text of one language: punctuation, ``before``, NFKC, case, ``after``, digits, invisible signs, white space.

    ``before`` and ``after`` are tables for :meth:`str.translate` (``str.maketrans({...})``): ``before`` sees
    upper-case letters (Azerbaijani I → ı), ``after`` sees NFKC lower-case ones. ``replace``: (old, new) strings,
    for spellings of several characters, applied before ``after``. ``keep``: invisible characters that stay. ``last``:
    what else the language folds, done at the end.
    """

    before: Mapping[int, str | int | None] = field(default_factory=dict)
    after: Mapping[int, str | int | None] = field(default_factory=dict)
    replace: tuple[tuple[str, str], ...] = ()
    keep: str = ""
    last: Callable[[str], str] = str

    def __call__(self, text: str) -> str:
        """Return folded ``text``: NFC, lower case, ASCII digits, straight quotes, single spaces. Idempotent."""
        for _ in range(_ROUNDS):
            folded = self._once(text)
            if folded == text:
                break
            text = folded
        return text

    def _once(self, text: str) -> str:
        if self.before:
            text = text.translate(self.before)
        if not text.isascii():
            text = visible(text.translate(_PUNCTUATION), self.keep)
            text = unicodedata.normalize("NFKC", text)
        else:
            text = text.replace("`", "'")
        text = text.casefold()
        for old, new in self.replace:
            text = text.replace(old, new)
        if self.after:
            text = text.translate(self.after)
        return self.last(unicodedata.normalize("NFC", ascii_digits(_GAPS.sub(" ", text).strip())))


# Languages that distinguish dotted and dotless i: Azerbaijani, Turkish, Tatar.
DOTLESS = Folding(before=str.maketrans("Iİ", "ıi"), replace=(("ı\u0307", "i"), ("i\u0307", "i")))

"""Cut text of any script into words, without a dictionary, a model or a choice of language."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import regex  # type: ignore[import-untyped, unused-ignore]

# Scripts written without spaces between words. A grapheme (a letter with its marks) is the smallest
# unit into which such text can be cut without a dictionary, and all versions cut it in the same way.
_NAMES = "Han Hiragana Katakana Bopomofo Thai Lao Khmer Myanmar Tai_Le New_Tai_Lue Tai_Tham Tai_Viet Javanese Balinese"
_UNSPACED = "".join(rf"\p{{Script={name}}}" for name in _NAMES.split())
_GRAPHEME = rf"[[\p{{L}}\p{{M}}\p{{N}}]&&[{_UNSPACED}]]\p{{M}}*"
_WORD = regex.compile(rf"{_GRAPHEME}|[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]+", regex.V1)
_UNSPACED_GRAPHEME = regex.compile(_GRAPHEME, regex.V1)
# In scripts written without spaces, characters are counted: a word has about two.
_TWO_A_WORD = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
# Joiners, soft hyphens and direction marks change how a word looks, not which word it is.
_INVISIBLE = regex.compile(r"\p{Cf}+")

VERSION = "1"


@lru_cache(maxsize=8192)
def words(text: str) -> tuple[str, ...]:
    """Return the words of ``text``: case-folded runs of letters, combining marks and digits.

    NFKC-normalised; invisible format characters are dropped; punctuation separates. In scripts written
    without spaces (Thai, Lao, Khmer, Burmese, Han, Kana, ...) each letter with its marks is a word.
    On ASCII text this equals the tokenizer of ROUGE (Lin 2004), which loses every other script.
    """
    folded = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()
    # A capital dotted I folds to i plus a combining dot; Azerbaijani and Turkish mean a plain i.
    folded = unicodedata.normalize("NFC", folded).replace("i\u0307", "i")
    return tuple(_WORD.findall(folded))


def n_words(text: str) -> int:
    """Count words; two characters are one in scripts written without spaces."""
    counted = words(text)
    unspaced = sum(len(word) <= 2 and _TWO_A_WORD.match(word) is not None for word in counted)
    return len(counted) - unspaced + (unspaced + 1) // 2


def spaced(text: str) -> str:
    """Return ``text`` with spaces around each letter of a script written without them; else unchanged.

    For tools that split at spaces: they would take a Thai or Chinese sentence for one word.
    """
    return str(_UNSPACED_GRAPHEME.sub(r" \g<0> ", text))

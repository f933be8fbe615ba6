"""The English indefinite article before a name: by its sound, and as the released prompts have it."""

from __future__ import annotations

import re
import unicodedata

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


def article(name: str) -> str:
    """Return "a" or "an" as English speakers say it before ``name``; "a" where nothing in it can be said.

    A rule of sound, not of spelling: "a Ugandan", "an honest", "an 18-year-old", "an LGBT", "a UN". Capitals without
    a vowel, or of up to three letters, are spelt out; longer ones are read as a word ("a NATO"). What no rule of
    spelling can know (Ndebele, herbalist) is left to the data's own column ``article``.
    """
    found = _WORD.search(name)
    if found is None:
        return "a"
    word = found[0]
    if word[0].isdecimal():
        return _before_number(word)
    if len(word) == 1 or _is_spelt(word):
        return "an" if word[0].upper() in _NAMED_WITH_VOWEL else "a"
    plain = _plain(word)
    return _EXCEPTIONS.get(plain) or _before_word(plain)


def article_reference(name: str) -> str:
    """Return the article of the released prompts: "an" before the letters a, e, i, o, u, else "a"."""
    return "an" if name[:1].lower() in VOWELS else "a"


def _plain(word: str) -> str:
    """``word`` without accents: Åland begins with an A."""
    return "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))


def _before_word(word: str) -> str:
    if _SILENT_H.match(word):
        return "an"
    first = word[:1].lower()
    if first == "y":  # a vowel only before a consonant: "an Yttrium", "a Yemeni"
        return "an" if word[1:2].isalpha() and word[1:2].lower() not in VOWELS else "a"
    return "an" if first in VOWELS and not _CONSONANT_SOUND.match(word) else "a"


def _is_spelt(word: str) -> bool:
    capitals = word.isascii() and word.isalpha() and word.isupper() and len(word) > 1
    return capitals and (len(word) <= _LONGEST_SPELT or not VOWELS & set(word.lower()))


def _before_number(word: str) -> str:
    digits = re.match(r"\d+", word)[0]  # type: ignore[index]
    # eight, eighty, eight hundred; eleven, eighteen, eleven thousand, the 1800s
    return "an" if digits[0] == "8" or (digits[:2] in ("11", "18") and len(digits) in (2, 4, 5)) else "a"

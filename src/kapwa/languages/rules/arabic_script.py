"""Arabic and Persian: clitics and affixes that are written on a word, or apart from it.

Arabic writes its one-letter words on the next word: the conjunctions wa- and fa-, the prepositions bi-, li- and
ka-, then the article al- (li- + al- is written ll-), in this order (Ryding, *A Reference Grammar of Modern
Standard Arabic*, 2005). What is left must keep three letters, the length of a root; only after the
article may it be two. Hamza seats, ta marbuta, final ya and vowel signs are often left out in everyday typing, so
all are folded, as in light10 (Larkey, Ballesteros and Connell, 2007). Endings and broken plurals are left to the
Snowball stemmer and to simplemma's dictionary, which lists words with their hamza: likely spellings are tried.

Persian is typed on Arabic and on Persian keyboards (ي ك for ی ک), and writes affixes joined, after a space, or after
a zero-width non-joiner (ZWNJ): the plural -hā, the comparatives -tar and -tarin, enclitic pronouns, the verb's mi-
and nemi- (Academy of Persian Language and Literature, *Dastur-e xatt-e fārsi*; Mahootian, *Persian*, 1997).
Folding joins affixes and turns every other ZWNJ into a space, as between the members of a compound, so that all three
spellings become one. Two more keys cover other variants of spelling: ā without its madda, and colloquial -un for -ān
(nun, nān).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import regex  # type: ignore[import-untyped, unused-ignore]

from kapwa.languages.base import lemma, simplemma_tool, stem, stemmer_tool
from kapwa.languages.folding import ARABIC_MARKS, Folding
from kapwa.languages.rules.made import Rules
from kapwa.languages.schema import LanguageFile

_CLITICS = re.compile(r"^[وف]?(?:(?:[بك]?ال|لل)(?=..)|[بلك](?=...))|^[وف](?=...)")

_ZWNJ = "\u200c"
_PLURAL = "ها(?:یی|ی|یم|یت|یش|یمان|یتان|یشان|م|ت|ش|مان|تان|شان)?"
_ENDING = rf"{_PLURAL}|تر(?:ین)?(?:{_PLURAL})?"
_ENCLITIC = "ی|ای|ام|ات|اش|ایم|اید|اند|ان|مان|تان|شان|م|ت|ش"
_END = r"(?![\p{L}\p{M}])"
_ENDING_APART = rf"[ {_ZWNJ}]+(?=(?:{_ENDING}){_END})|{_ZWNJ}+(?=(?:{_ENCLITIC}){_END})|(?<=ه) (?=ا?ی{_END})"
_VERB_APART = rf"(?<=(?<![\p{{L}}\p{{M}}])ن?می)[ {_ZWNJ}]+(?=\p{{L}}{{2}})"
_JOINED = regex.compile(rf"(?<=\p{{L}})(?:{_ENDING_APART})|{_VERB_APART}")
_STRIPPED = (
    regex.compile(rf"(?<=..)(?:{_ENDING})$"),
    regex.compile(r"(?<=ه)(?:ی|ای|ام|ات|اش)$"),
    regex.compile(r"(?<=...)(?:مان|تان|شان|ش)$"),
    regex.compile(r"(?<=....)ی$"),
)


def _spellings(word: str) -> Iterator[str]:
    """The unfolded spellings a dictionary may list: hamza on the first alif, ta marbuta or alif maqsura at the end."""
    for start in (word, *(seat + word[1:] for seat in "أإآ" if word.startswith("ا"))):
        yield start
        if start.endswith("ه"):
            yield start[:-1] + "ة"
        if start.endswith("ي"):
            yield start[:-1] + "ى"


def arabic(file: LanguageFile) -> Rules:
    """Remove clitics; add lemmas and stems."""
    folding = Folding(after=ARABIC_MARKS | str.maketrans(dict(file.spelling.letters)))

    def variants(token: str) -> set[str]:
        forms: set[str] = set()
        for word in (token, _CLITICS.sub("", token)):
            forms.add(word)
            # Snowball counts the article's letters, and would make oil (zayt) of the olives (az-zaytun).
            if not word.startswith("ال"):
                forms.add(stem(word, "arabic"))
            forms |= {folding(lemma(spelling, "ar")) for spelling in _spellings(word)}
        return forms

    return Rules(variants, (simplemma_tool, stemmer_tool), folding)


def _joined(text: str) -> str:
    """Join affixes to their words, and separate other words at ZWNJ."""
    return str(_JOINED.sub("", text)).replace(_ZWNJ, " ")


def persian(file: LanguageFile) -> Rules:
    """Join affixes, remove endings; add lemmas and stems."""
    folding = Folding(after=ARABIC_MARKS | str.maketrans(dict(file.spelling.letters)), keep=_ZWNJ, last=_joined)

    def variants(token: str) -> set[str]:
        bare = _STRIPPED[0].sub("", token)
        forms = {token, bare, *(ending.sub("", word) for word in (token, bare) for ending in _STRIPPED[1:])}
        forms |= {stem(word, "persian") for word in (token, bare)}
        forms |= {folding(lemma(word, "fa")) for word in (token, bare)}
        forms |= {form.replace("آ", "ا") for form in forms}
        return forms | {form.replace("ان", "ون") for form in forms}

    return Rules(variants, (simplemma_tool, stemmer_tool), folding)

"""Languages without a stemmer: Azerbaijani, Amharic, Assamese, Hausa, Sundanese. Affixes are stripped one by one.

Azerbaijani: I lower-cases to ı and İ to i. Nouns take plural, possessive and case, each vowel of a suffix following the
last vowel of what it is attached to: a or ə by back and front, ı i u ü by rounding as well; stems in q and k soften to
ğ and y before a vowel (Householder and Lotfi, *Basic Course in Azerbaijani*, 1965; Schönig in *The Turkic Languages*,
1998). A suffix is therefore only stripped if its vowels are those that the remaining stem requires. In the file, A
means a or ə, and I means ı, i, u or ü.

Amharic: one letter for each sound, and affixes that show inside a sign (Leslau, *Reference Grammar of Amharic*, 1995).
A sign holds a consonant and a vowel, so a suffix that begins with a vowel shows in the sign before it: there the stem
ends in the sixth order.

Assamese: nouns take a classifier or a plural, then a case, then -o "too" or -(e)i "just" (Goswami and Tamuli,
"Asamiya", in *The Indo-Aryan Languages*, 2003). The script keeps what the language lost (dental and retroflex stops, c
and ch, three sibilants, long and short i and u, z and j are each one sound), and a cluster may be spelled with or
without the sign that mutes the vowel. Such spellings share a key by sound.

Hausa: a noun before its possessor, or with "the", takes the linker -n (masculine, plural) or -r (feminine), and
pronouns are written on to it: -nsa -rsa "his" (Newman, *The Hausa Language*, 2000). Double consonants of loans are
often written single. The stem must keep three letters, or "son of" (ɗan) would be "and" (da).

Sundanese: verbs are marked by a nasal that replaces or precedes the first consonant (cokot → nyokot, pikir → mikir,
liwet → ngaliwet); the plural infix -ar- (-al-) follows the first consonant (Müller-Gotama, *Sundanese*, 2001; Robins,
"Basic sentence structures in Sundanese", 1968). A root's first syllable may be doubled, with or without -ng (buah →
bubuahan, bungbuahan). Monosyllabic loans take e- (teh → enteh). What remains must begin as a Sundanese syllable does.
The particle téh marks the topic (Bandung téh); as the name of the drink, the word comes first, or beside words for
drinking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from kapwa.languages.base import stripped_forms
from kapwa.languages.folding import DOTLESS, Folding, spaced_tokens, unaccented
from kapwa.languages.rules.made import Rules, affix_stripper, folding_of
from kapwa.languages.schema import LanguageFile

_HARMONY = {"a": "aı", "ı": "aı", "o": "au", "u": "au", "e": "əi", "ə": "əi", "i": "əi", "ö": "əü", "ü": "əü"}
_SOFTENED = {"ğ": "q", "y": "k"}

# The order of the sign (its vowel) before a suffix, and what follows it; the stem's last sign is of the sixth order.
_U, _A, _E, _BARE, _O = 1, 3, 4, 5, 6
_VOWEL_SUFFIXES = ((_O, "ች"), (_U, ""), (_E, ""), (_A, "ችን"), (_A, "ችሁ"), (_A, "ቸው"), (_A, "ት"), (_A, "ን"), (_A, "ዊ"))
_GEMINATION = dict.fromkeys((0x135D, 0x135E, 0x135F))

_DOT = "\u09bc"
# A dot typed after the vowel sign (ডী় for ড়ী).
_MISPLACED = re.compile(rf"([ড-ঢয])([া-ৌ]){_DOT}")
_LETTER = re.compile("[অ-হৰৱ]")
_DOTTED = ((re.compile(f"য(?!{_DOT})"), "জ"), (re.compile(f"[ডঢ]{_DOT}"), "ৰ"), (re.compile("[ৃঋ]"), "ৰি"))

_DOUBLE_CONSONANT = re.compile(r"([^aeiou])\1")

# The nasal a verb begins with, and the consonants of the root it may stand for.
_NASALS = (("ng", ("", "k")), ("n", ("t",)), ("ny", ("s", "c", "j")), ("m", ("b", "p")))
_INFIX = re.compile(r"([^aeiou]*)(?:ar|al)(?=[aeiou])")
_DOUBLE_SYLLABLE = re.compile(r"([^aeiou]+[aeiou]+)(?:ng|n|m)?(?=\1)")
_LOAN = re.compile(r"e[nm]?(?=[^aeiou]+[aeiou][^aeiou]*$)")
_ROOT = re.compile(r"(?=.{3})(?:n[gy]|[bcdfgkpst][lr]|[^aeiou])?[aeiou]")


def _harmonised(stem: str, suffix: str) -> str:
    """The suffix with the vowels that ``stem``, which must have a vowel, requires."""
    vowels = next(_HARMONY[letter] for letter in reversed(stem) if letter in _HARMONY)
    return suffix.replace("A", vowels[0]).replace("I", vowels[1])


def azerbaijani(file: LanguageFile) -> Rules:
    """Remove suffixes where vowel harmony allows them; add the word without diacritics."""
    suffixes = [(suffix, shortest) for shortest, group in file.affixes.suffixes.items() for suffix in group]
    plain_letters = str.maketrans(dict(file.spelling.loose_letters))

    def strip(word: str) -> Iterator[str]:
        for suffix, shortest in suffixes:
            stem = word[: -len(suffix)]
            if len(stem) < shortest or _HARMONY.keys().isdisjoint(stem):
                continue
            if word.endswith(_harmonised(stem, suffix)):
                yield stem
                if suffix[0] in "AI" and stem[-1] in _SOFTENED:
                    yield stem[:-1] + _SOFTENED[stem[-1]]

    def variants(token: str) -> set[str]:
        forms = stripped_forms(token, strip)
        return forms | {form.translate(plain_letters) for form in forms}

    return Rules(variants, folding=DOTLESS)


def amharic(file: LanguageFile) -> Rules:
    """Remove prefixes and suffixes, also within syllable signs."""
    shortest = min(file.affixes.suffixes, default=2)
    strip_whole = affix_stripper(file.affixes)

    def strip(word: str) -> Iterator[str]:
        yield from strip_whole(word)
        for order, ending in _VOWEL_SUFFIXES:
            stem = word.removesuffix(ending)
            fits = word.endswith(ending) and len(stem) >= shortest and "ሀ" <= stem[-1] <= "ፗ"
            if fits and ord(stem[-1]) % 8 == order:
                yield stem[:-1] + chr(ord(stem[-1]) - order + _BARE)

    letters = str.maketrans(dict(file.spelling.letters)) | _GEMINATION
    folding = Folding(after=letters, replace=file.spelling.strings)
    return Rules(partial(stripped_forms, strip=strip), folding=folding)


def assamese(file: LanguageFile) -> Rules:
    """Remove suffixes where two letters remain (vowel signs do not count); use one letter for each sound."""
    strip = affix_stripper(file.affixes, lambda stem: len(_LETTER.findall(stem)))
    sounds = str.maketrans(dict(file.spelling.loose_letters))

    def by_sound(word: str) -> str:
        for spelled, sound in _DOTTED:
            word = spelled.sub(sound, word)
        return word.translate(sounds)

    def variants(token: str) -> set[str]:
        forms = stripped_forms(token, strip)
        return forms | set(map(by_sound, forms))

    return Rules(variants, folding=folding_of(file.spelling, last=partial(_MISPLACED.sub, rf"\1{_DOT}\2")))


def hausa(file: LanguageFile) -> Rules:
    """Remove glottal marks and tones, and linkers and possessives after a vowel; make double consonants single."""
    strip = affix_stripper(file.affixes)

    def variants(token: str) -> set[str]:
        word = unaccented(token).replace("'", "")
        forms = {word, *(stem for stem in strip(word) if stem.endswith(tuple("aeiou")))}
        return forms | {_DOUBLE_CONSONANT.sub(r"\1", form) for form in forms}

    return Rules(variants, folding=folding_of(file.spelling))


def sundanese(file: LanguageFile) -> Rules:
    """Remove affixes, nasal onsets, the plural infix, doubled syllables, the e- of loans, and the particle téh."""
    strip_whole, cutting = affix_stripper(file.affixes), file.cutting
    after, before, particle_word = (
        "|".join(map(re.escape, words)) or "(?!)"
        for words in (cutting.particle_means_after, cutting.particle_means_before, filter(None, [cutting.particle]))
    )
    particle = re.compile(rf"\b(?!(?:{after}) )(\w+) {particle_word}\b(?! (?:{before})\b)")

    def strip(word: str) -> Iterator[str]:
        yield from strip_whole(word)
        for nasal, onsets in _NASALS:
            if word.startswith(nasal):
                yield from (onset + word[len(nasal) :] for onset in onsets)
        if hit := _INFIX.match(word):
            yield hit[1] + word[hit.end() :]
        if hit := _DOUBLE_SYLLABLE.match(word):
            yield word[hit.end() :]

    def variants(token: str) -> set[str]:
        forms = stripped_forms(token, lambda word: (root for root in strip(word) if _ROOT.match(root)))
        return forms | {_LOAN.sub("", form) for form in forms}

    def cut(folded: str) -> tuple[str, ...]:
        return spaced_tokens(particle.sub(r"\1", folded))

    # Without accents: é and e are one letter in everyday typing.
    return Rules(variants, folding=Folding(last=unaccented), cut=cut)

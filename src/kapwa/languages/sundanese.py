"""Sundanese: accents optional; prefixes, nasal onsets, infixes, reduplication and suffixes taken off.

Verbs are marked by a nasal that replaces or precedes the first consonant (cokot → nyokot, pikir → mikir, liwet →
ngaliwet), by di-, ka-, ti-, ba-, sa-, nouns by pa-, pi-, pang-; the plural infix -ar- (-al-) follows the first
consonant; suffixes are -an, -keun, -eun, -na, -ing, -ana (Müller-Gotama, *Sundanese*, 2001; Robins, "Basic
sentence structures in Sundanese", 1968). A root's first syllable may be doubled, with or without -ng (buah →
bubuahan, bungbuahan); full reduplication is two words, as the hyphen parts them. Monosyllabic loans take e- (teh →
enteh, mi → emi). What remains must begin as a Sundanese syllable does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kapwa.languages.base import Denials, Language, ReplyWords, Words, counted, stripped_forms
from kapwa.languages.folding import Folding, spaced_tokens, unaccented

_PREFIXES = ("di", "ka", "pa", "pi", "sa", "ti", "ba", "nga", "pang", "pam", "pan")
_SUFFIXES = ("an", "keun", "eun", "na", "ing", "ana")
# The nasal a verb begins with, and the consonants of the root it may stand for.
_NASALS = (("ng", ("", "k")), ("n", ("t",)), ("ny", ("s", "c", "j")), ("m", ("b", "p")))
_INFIX = re.compile(r"([^aeiou]*)(?:ar|al)(?=[aeiou])")
_DOUBLED = re.compile(r"([^aeiou]+[aeiou]+)(?:ng|n|m)?(?=\1)")
_LOAN = re.compile(r"e[nm]?(?=[^aeiou]+[aeiou][^aeiou]*$)")
_ROOT = re.compile(r"(?=.{3})(?:n[gy]|[bcdfgkpst][lr]|[^aeiou])?[aeiou]")


def _stripped(word: str) -> Iterator[str]:
    """The roots that ``word`` minus one affix may be."""
    yield from (word[len(prefix) :] for prefix in _PREFIXES if word.startswith(prefix))
    yield from (word[: -len(suffix)] for suffix in _SUFFIXES if word.endswith(suffix))
    for nasal, onsets in _NASALS:
        if word.startswith(nasal):
            yield from (onset + word[len(nasal) :] for onset in onsets)
    if hit := _INFIX.match(word):
        yield hit[1] + word[hit.end() :]
    if hit := _DOUBLED.match(word):
        yield word[hit.end() :]


def _variants(token: str) -> set[str]:
    found = stripped_forms(token, lambda word: (root for root in _stripped(word) if _ROOT.match(root)))
    return found | {_LOAN.sub("", word) for word in found}


_FUNCTION_WORDS = (
    "kuring abdi urang maneh anjeun manehna anjeunna aranjeunna maranehna ieu eta itu nu anu mah ge na di ka ti ku aya "
    "nyaeta mana hiji"
)
# The particle téh marks what is spoken of (ieu téh, namina téh, Bandung téh). The drink of that name stands first, or
# after words of drinking, serving and joining, or before those of how it is drunk.
_DRUNK = (
    "nginum|inum|ngaleueut|leueut|inuman|minuman|nyieun|ngadamel|nyuguhkeun|disuguhan|meuli|meser|ngajual|resep|make|"
    "nganggo|cai|gelas|cangkir|daun|es|kantong|kebon|jeung|sareng|atawa|atanapi|sarta|teh"
)
_HOW = "manis|tawar|haneut|panas|tiis|hejo|pait|botol|poci|tubruk|tarik|susu"
_PARTICLE = re.compile(rf"\b(?!(?:{_DRUNK}) )(\w+) teh\b(?! (?:{_HOW})\b)")


def _cut(folded: str) -> tuple[str, ...]:
    """Cut into words; the particle téh is left out."""
    return spaced_tokens(_PARTICLE.sub(r"\1", folded))


# Without accents: é and e are one letter in everyday typing.
FOLDING = Folding(last=unaccented)
_UNITS = counted("nol/enol hiji dua tilu opat lima genep tujuh dalapan salapan sapuluh sabelas")
_NUMBERS = _UNITS | {"saratus": 100, "sarebu": 1000, "rebu": 1000, "losin": 12, "salosin": 12}
_NUMBERS |= {f"{word} belas": value + 10 for word, value in _UNITS.items() if 1 < value < 10}
_NUMBERS |= {f"{word} puluh": value * 10 for word, value in _UNITS.items() if 1 < value < 10}
_MONTHS = counted(
    "januari/jan pebruari/februari/peb maret/mar april/apr mei juni/jun juli/jul agustus/agt september/sep oktober/okt "
    "nopember/november/nop desember/des",
    1,
)
language = Language(
    code="su",
    name="Sundanese",
    resource="low",
    rules="3",
    variants=_variants,
    folding=FOLDING,
    cut=_cut,
    words=Words(
        numbers=_NUMBERS,
        months=_MONTHS,
        morning=frozenset({"isuk", "isukan", "enjing", "subuh", "am"}),
        afternoon=frozenset({"sonten", "sore", "burit", "pm"}),
        hour=frozenset({"jam", "tabuh", "pukul"}),
        night=frozenset({"peuting", "wengi"}),
        more=r"(?:leuwih ti|saluhureun|sahanteuna|sakurang-kurangna|pangsaeutikna|paling saeutik|minimal|minimum"
        r"|teu kurang ti) {n}|{n}(?: \w+)? (?:atawa leuwih|ka luhur|leuwih)",
        less=r"(?:kurang ti|sahandapeun|panglobana|paling loba|maksimal|teu leuwih ti|nepi ka) {n}"
        r"|{n}(?: \w+)? (?:atawa kurang|ka handap)",
        either="atawa|atanapi",
        clock={
            "satengah {h}": -30,
            "{h} (?:leuwih|langkung|liwat) (?:saparapat|saprapat|seperempat)": 15,
            "{h} kurang (?:saparapat|saprapat|seperempat)": -15,
            "{h} (?:leuwih|langkung|liwat) {plus}": 0,
            "{h} kurang {minus}": 0,
        },
    ),
    replies=ReplyWords(
        answer="waleran(?:ana)?|walonan|jawabanana|wangsulan",
        question="patarosan|pananya|pananyaan",
        opener="tangtos|muhun",
        unknown="teu (?:nyaho|terang|apal)",
        non_answers="teu aya jawaban|teu nyaho|teu aya|teu terang|henteu aya",
        conjunction="jeung|sareng|atawa|atanapi|sarta",
    ),
    denials=Denials(
        before=r"lain|sanes|teu|henteu|hanteu|moal|tara|euweuh|taya|tanpa|iwal(?: ti)?|salian(?: ti)?|kajaba|cangcaya"
        r"|mustahil|tibatan|arang",
        after=r"lain|sanes|teu|henteu|hanteu|moal|tara|arang",
        harmless=r"(?:teu|henteu|kirang|kurang) (?:\w+ )?(?:apal|terang|nyaho|yakin|inget|pasti)|(?:lain|sanes|teu"
        r"|henteu) (?:ngan|ukur|wungkul|saukur|mung)|(?:teu aya|taya|tanpa|euweuh|henteu) (?:ragu|mamang|cangcaya)"
        r"|nu (?:teu|henteu|lain)|teu bisa leupas|teu(?: \w+){1,6} (?:lamun|mun) (?:euweuh|teu)",
        turn="tapi|tapina|nanging|sabab|jadi|sanajan|lantaran|kusabab|tuluy",
        compounds=r"rumah sakit|jambu (?:mede|monyet)|mata (?:kaki|sapi|poe)|panon poe|cai panon|anak buah|indung suku"
        r"|tenis meja|kuda laut|es krim|hot ?dog",
    ),
    function_words=_FUNCTION_WORDS,
    notes=(
        "First draft, not reviewed by a native speaker. Covers accents, verb and noun affixes, nasal onsets, the "
        "plural infix, reduplication, e- of short loans. Not covered: polite and plain words for one thing "
        "(undak-usuk), Sundanese script, Indonesian affixes."
    ),
)

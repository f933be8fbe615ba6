"""Amharic: one letter for each sound, affixes stripped across syllable signs.

Four letter series are read h, two s, two glottal stop, two ts', the first and fourth order of h and of the glottal stop
sound alike, and spelling varies freely among them, as between rounded signs and those with o (Leslau, *Reference
Grammar of Amharic*, 1995). Prepositions are written on the next word: yä- "of", bä- "in", lä- "for", kä-
"from", sǝlä- "about", ǝndä- "like". Nouns take -očč (plural; -at, -an in words from Ge'ez), -u -wa -wu (the, his,
her), -e -ačč- ... (my, our), -n (object), -nna (and), -mm (also), adjectives -awi. A sign holds a consonant
and a vowel, so a suffix that begins with a vowel shows in the sign before it: there the stem ends in the sixth order.
"""

from __future__ import annotations

from collections.abc import Iterator

from kapwa.languages.base import Denials, Language, ReplyWords, Words, counted, stripped_forms
from kapwa.languages.folding import Folding

_SERIES = {0x1210: 0x1200, 0x1280: 0x1200, 0x12B8: 0x1200, 0x1220: 0x1230, 0x12D0: 0x12A0, 0x1340: 0x1338}
_SAME_SOUND = {old + order: new + order for old, new in _SERIES.items() for order in range(7)}
# The h and the glottal stop of the first and fourth order; w and wu; the labialised signs and those with o.
_SAME_SOUND |= dict.fromkeys(map(ord, "ሃሓኃኻ"), ord("ሀ")) | dict.fromkeys(map(ord, "ኣዓ"), ord("አ"))
_SAME_SOUND |= str.maketrans("ዉቈኰጐኈ", "ውቆኮጎሆ")
_ROUNDED = (("ቁዋ", "ቋ"), ("ኩዋ", "ኳ"), ("ጉዋ", "ጓ"))
_MARKS = dict.fromkeys((0x135D, 0x135E, 0x135F))

_PREFIXES = ("የ", "በ", "ለ", "ከ", "ስለ", "እንደ")
# (order of the stem's last sign before the suffix, or None where the stem is left as it is; what follows it)
_U, _A, _E, _BARE, _O = 1, 3, 4, 5, 6
_SUFFIXES: tuple[tuple[int | None, str], ...] = (
    *((None, ending) for ending in ("ን", "ም", "ና", "ው", "ዋ", "ዎች", "ህ", "ሽ", "ዊ")),
    *((_O, "ች"), (_U, ""), (_E, ""), (_A, "ችን"), (_A, "ችሁ"), (_A, "ቸው"), (_A, "ት"), (_A, "ን"), (_A, "ዊ")),
)
_SHORTEST = 2


def _stripped(word: str) -> Iterator[str]:
    """The stems that ``word`` minus one affix may be."""
    for prefix in _PREFIXES:
        if word.startswith(prefix):
            yield word[len(prefix) :]
    for order, ending in _SUFFIXES:
        stem = word.removesuffix(ending)
        if order is None and stem != word:
            yield stem
        elif word.endswith(ending) and stem and "ሀ" <= stem[-1] <= "ፗ" and ord(stem[-1]) % 8 == order:
            yield stem[:-1] + chr(ord(stem[-1]) - order + _BARE)


def _variants(token: str) -> set[str]:
    return stripped_forms(token, lambda word: (stem for stem in _stripped(word) if len(stem) >= _SHORTEST))


FOLDING = Folding(after=_SAME_SOUND | _MARKS, replace=_ROUNDED)
_UNITS = counted(FOLDING("ዜሮ አንድ ሁለት ሦስት አራት አምስት ስድስት ሰባት ስምንት ዘጠኝ አስር"))
_NUMBERS = (
    _UNITS
    | {f"አስራ {word}": value + 10 for word, value in _UNITS.items() if 0 < value < 10}
    | counted(FOLDING("ሃያ ሠላሳ አርባ ሃምሳ ስልሳ/ስድሳ ሰባ ሰማንያ ዘጠና መቶ"), 20, 10)
    | {"ሺ": 1000, FOLDING("ሺህ"): 1000}
)
# Months of the Gregorian year only: those of the Ethiopian year fall across two of them.
_GREGORIAN = "ጃንዋሪ/ጃንዩወሪ ፌብሩዋሪ/ፌብሩወሪ ማርች ኤፕሪል ሜይ ጁን ጁላይ ኦገስት/ኦጎስት ሴፕቴምበር ኦክቶበር ኖቬምበር ዲሴምበር"
_MONTHS = {
    prefix + month: value for month, value in counted(FOLDING(_GREGORIAN), 1).items() for prefix in ("", "የ", "በ", "ከ")
}
language = Language(
    code="am",
    name="Amharic",
    resource="low",
    rules="3",
    variants=_variants,
    folding=FOLDING,
    words=Words(
        numbers=_NUMBERS,
        months=_MONTHS,
        morning=frozenset({"am"}),
        afternoon=frozenset({"pm"}),
        # The day begins at six: one o'clock in the morning is 07:00. Beside a word for a part of the day that clock is
        # read where it falls into that part, else the other.
        behind=6,
        parts={
            word: hours
            for words, hours in (
                ("ጠዋት ጥዋት ጠዋቱ ከጠዋቱ በጠዋት ማለዳ ከማለዳው ከረፋዱ", (4, 12)),
                ("ቀን ከቀኑ", (10, 18)),
                ("ከሰዓት ከሰዓቱ", (12, 18)),
                ("ማታ ከማታው ምሽት ምሽቱ ከምሽቱ ከምሽት", (17, 24)),
                ("ሌሊት ሌሊቱ ከሌሊቱ", (22, 30)),
            )
            for word in FOLDING(words).split()
        },
        hour=frozenset(FOLDING("ሰዓት").split()),
        more=FOLDING(r"(?:ቢያንስ|በትንሹ) {n}|ከ ?{n}(?: \w+)? (?:በላይ|የበለጠ|የሚበልጥ)|{n}(?: \w+)? እና ከዚያ በላይ"),
        less=FOLDING(r"(?:ቢበዛ|እስከ|ከፍተኛ) {n}|ከ ?{n}(?: \w+)? (?:በታች|ያነሰ|የማይበልጥ|ያልበለጠ)"),
        either=FOLDING("ወይም|ወይንም|ወይ"),
        clock={
            FOLDING(said): minutes
            for said, minutes in (
                ("{h}(?: ሰዓት)? ተኩል", 30),
                ("{h}(?: ሰዓት)? ከሩብ(?! ጉዳይ)", 15),
                ("ለ? ?{h}(?: ሰዓት)? ሩብ ጉዳይ", -15),
                ("{h}(?: ሰዓት)? ከሩብ ጉዳይ", -15),
            )
        },
    ),
    replies=ReplyWords(
        answer="መልሶች|መልሱ|መልስ",
        question="ጥያቄ",
        opener="እርግጥ|በእርግጥ",
        unknown="አላውቅም|አይታወቅም",
        non_answers="መልስ የለም|አላውቅም|የለም|አይመለከትም|አይታወቅም",
        conjunction="እና|ወይም|ወይንም",
        letters=counted("ሀ ለ ሐ መ"),
    ),
    denials=Denials(
        before="ያለ|እጠራጠራለሁ",
        after=r"አይደለ\w*|አይደሉ\w*|የለ(?:ም|ውም|ኝም|ንም)|አ[ይል]\w+ም|አት\w+ም|ሳይሆን|በስተቀር|ይልቅ|ውጪ|ውጭ|እጠራጠራለሁ|በጭራሽ",
        harmless=r"አላውቅም|አላውቀውም|አናውቅም|አላስታውስም|እርግጠኛ አይደለሁም|(?:\w+ )?ብቻ (?:ሳይሆን|አይደለም)|ያለ ?(?:ምንም )?(?:ጥርጥር|ጥርጣሬ)"
        r"|ያለምንም ጥርጥር|(?:ጥርጥር|ጥርጣሬ) የለ\w+|ያለ \w+(?: \w+){0,2} አይ\w+ም",
        turn="ግን|ነገር ግን|ስለዚህ|ምክንያቱም|ይልቁንም|ሆኖም",
        compounds="የ?(?:እግር|እጅ)(?= ኳስ)|(?<=(?:ምግብ|ሽንት|ፍርድ|ማተሚያ|መጸዳጃ|ጠላ|ቡና|ፀጉር) )ቤት|ቡና(?= ቤት)|ቤተ ክርስቲያን|የፀሐይ አበባ"
        "|የባህር ኮከብ|ጠረጴዛ ቴኒስ|ሆት ዶግ|አይስ ክሬም",
    ),
    function_words="እኔ አንተ እሱ እሷ እኛ እናንተ እነሱ እነርሱ ይህ ያ እነዚህ ነው ናቸው ነበር አለ አሉ እና ወይም ወይንም አንድ",
    scripts=("Ethiopic",),
    notes=(
        "First draft, not reviewed by a native speaker. Covers letters of one sound, prepositions, plural, article, "
        "possessives, object, -awi. Not covered: verbs, vowels of loanwords spelled otherwise, months of the "
        "Ethiopian year; a time in figures alone (2:30), which may be on either clock and is read on that of 24 hours."
    ),
)

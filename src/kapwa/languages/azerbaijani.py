"""Azerbaijani: dotted and dotless i kept apart, suffixes stripped where vowel harmony allows them.

I lower-cases to ı and İ to i. Nouns take, in this order, plural, possessive and case, each vowel of a suffix
following the last vowel of what it is put on: a or ə by back and front, ı i u ü by rounding as well; stems in q and k
soften to ğ and y before a vowel (Householder and Lotfi, *Basic Course in Azerbaijani*, 1965; Schönig in *The Turkic
Languages*, 1998). A suffix is therefore only stripped where its vowels are those the remaining stem calls
for. Everyday typing without ə ı ö ü ç ş ğ gives a word one more key.
"""

from __future__ import annotations

from collections.abc import Iterator

from kapwa.languages.base import MIDDAY, Denials, Language, ReplyWords, Words, counted, stripped_forms
from kapwa.languages.folding import DOTLESS

# A stands for a or ə, I for ı, i, u or ü. The plural, "in" and "from" are safe on stems of two letters (ev, at).
_SAFE = ("lAr", "dA", "ndA", "dAn", "ndAn")
_CASES = ("In", "nIn", "A", "yA", "nA", "I", "nI", "yI", "lA", "ylA")
_POSSESSIVES = ("sI", "Im", "ImIz", "mIz")
_WORD_FORMING = ("lI", "lIq", "lIk", "sIz", "çI", "dIr", "mAq", "mAk", "mA")
_SUFFIXES = (
    *((suffix, 2) for suffix in _SAFE),
    *((suffix, 3) for suffix in _CASES + _POSSESSIVES + _WORD_FORMING),
)
_HARMONY = {"a": "aı", "ı": "aı", "o": "au", "u": "au", "e": "əi", "ə": "əi", "i": "əi", "ö": "əü", "ü": "əü"}
_SOFTENED = {"ğ": "q", "y": "k"}
_BARE = str.maketrans("əıöüçşğ", "eioucsg")


def _harmonised(stem: str, suffix: str) -> str:
    """The suffix with the vowels that ``stem``, which has one, calls for."""
    vowels = next(_HARMONY[letter] for letter in reversed(stem) if letter in _HARMONY)
    return suffix.replace("A", vowels[0]).replace("I", vowels[1])


def _stripped(word: str) -> Iterator[str]:
    """The stems that ``word`` minus one suffix may be."""
    for suffix, shortest in _SUFFIXES:
        stem = word[: -len(suffix)]
        if len(stem) < shortest or _HARMONY.keys().isdisjoint(stem):
            continue
        if word.endswith(_harmonised(stem, suffix)):
            yield stem
            if suffix[0] in "AI" and stem[-1] in _SOFTENED:
                yield stem[:-1] + _SOFTENED[stem[-1]]


def _variants(token: str) -> set[str]:
    found = stripped_forms(token, _stripped)
    return found | {word.translate(_BARE) for word in found}


_UNITS = counted("sıfır bir iki üç dörd beş altı yeddi səkkiz doqquz on")
_NUMBERS = (
    _UNITS
    | {f"on {word}": value + 10 for word, value in _UNITS.items() if 0 < value < 10}
    | counted("iyirmi otuz qırx əlli altmış yetmiş səksən doxsan yüz", 20, 10)
    | {"min": 1000}
)
_MONTHS = {
    month + _harmonised(month, suffix): value
    for month, value in counted(
        "yanvar fevral mart aprel may iyun iyul avqust sentyabr oktyabr noyabr dekabr", 1
    ).items()
    for suffix in ("", "In", "dA", "A")
}
# "Half of the seventh" is half past six, and minutes are counted to the hour or into it.
_HOURS = counted(
    "birin/birə ikinin/ikiyə üçün/üçə dördün/dördə beşin/beşə altının/altıya yeddinin/yeddiyə səkkizin/səkkizə "
    "doqquzun/doqquza onun/ona on&birin/on&birə/10&birin/10&birə on&ikinin/on&ikiyə/10&ikinin/10&ikiyə",
    1,
)
_HOURS = {hour.replace("&", " "): value for hour, value in _HOURS.items()}
language = Language(
    code="az",
    name="Azerbaijani",
    resource="low",
    rules="3",
    variants=_variants,
    folding=DOTLESS,
    words=Words(
        numbers=_NUMBERS,
        months=_MONTHS,
        morning=frozenset({"səhər", "sübh", "səhərin", "am"}),
        afternoon=frozenset({"axşam", "günortadan sonra", "pm"}),
        parts={"günorta": MIDDAY},
        hour=frozenset({"saat", "saatda", "saatı"}),
        more=r"(?:ən azı|minimum|ən azından|azı) {n}|{n}(?:[- ]?\w+)?(?:dan|dən|-dan|-dən) (?:çox|artıq|yuxarı)"
        r"|{n}(?: \w+)? və (?:daha )?çox|{n} (?:\w+)?(?:dan|dən) (?:çox|artıq)",
        less=r"(?:ən çoxu|maksimum|ən çox) {n}|{n}(?:[- ]?\w+)?(?:dan|dən|-dan|-dən) (?:az|aşağı)",
        either="və ya|ya|ya da|yaxud",
        clock={
            "{h}(?:['-]?[a-zəıöü]{1,3})? yarısı": -30,
            "{h} yarım": 30,
            "{h}(?:['-]?[a-zəıöü]{1,2})? {minus} dəqiqə (?:qal\\w+|var)": 0,
            "{h}(?:['-]?[a-zəıöü]{1,2})? {plus} dəqiqə işlə\\w+": -60,
        },
        hours=_HOURS,
    ),
    replies=ReplyWords(
        answer="cavablar|cavab",
        question="sual",
        opener="əlbəttə",
        unknown="bilmirəm|məlum deyil",
        non_answers="cavab yoxdur|bilmirəm|yoxdur|aid deyil|məlum deyil",
        conjunction="və|ya|yaxud|və ya|həmçinin",
    ),
    denials=Denials(
        before=r"heç (?:kim|kəs|vaxt|bir|nə)|nə də|çətin ki|inanmıram|şübhə edirəm|mümkün deyil",
        after=r"deyil\w*|yox\w*|\w+(?<!də|kö|ö|tə|xə|ə)m[ıiuü]r(?:am|əm|ıq|ik|uq|ük|san|sən|lar|lər)?|(?!namaz"
        r"|almaz)\w+m[aə]z(?:lar|lər)?|başqa|savayı|istisna(?: olmaqla)?|əvəzinə|yerinə|nadir\w*",
        harmless=r"bilmirəm|bilmirik|bilinmir|əmin deyil\w*|xatırlamıram|(?:təkcə|yalnız|tək"
        r"|sadəcə)(?: \w+){1,4} (?:deyil|yox)|(?:heç )?(?:bir )?şübhə(?:m|siz)? ?(?:yox\w*|ki)?|şübhəsiz|olmayan"
        r"|\w+s[ıiuü]z(?: \w+){0,3} (?:olmaz|olmur|keçmir\w*|mümkün deyil)|şəksiz",
        turn="amma|lakin|ancaq|əksinə|çünki|ona görə|fəqət|isə",
        compounds=r"stolüstü tennis\w*|göz (?:muncuğu|yaşı)|baş barmaq|dəniz (?:atı|ulduzu)|su (?:aygırı|anbarı"
        r"|samuru)|yer (?:alması|kökü|fındığı)|ayaq ?qabı|xot-?doq|diş çöpü|süd dişi|ana dili|baş nazir"
        r"|amerika futbolu|gün ?əbaxan",
    ),
    function_words="mən sən o biz siz onlar bu bunlar onun bizim var yox dır dir deyil idi imiş bir nə ki",
    notes=(
        "First draft, not reviewed by a native speaker. Covers dotted and dotless i, words typed without diacritics, "
        "plural, possessive and case suffixes, -lI -lIq -sIz -çI, infinitives. Not covered: finite verbs, Cyrillic and "
        "Arabic spelling, variants of loanwords."
    ),
)

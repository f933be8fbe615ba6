"""Arabic: one spelling for hamza, ta marbuta and alif maqsura; clitics stripped; lemmas and stems.

Arabic writes its one-letter words on the next word: the conjunctions wa- and fa-, the prepositions bi-, li- and
ka-, then the article al- (li- + al- is written ll-), in this order (Ryding, *A Reference Grammar of Modern
Standard Arabic*, 2005). What is left must keep three letters, the length of a root; only after the
article may it be two. Hamza seats, ta marbuta, final ya and vowel signs are often left out in everyday typing, so
all are folded, as in light10 (Larkey, Ballesteros and Connell, 2007). Endings and broken plurals are left to the
Snowball stemmer and to simplemma's dictionary, which lists words with their hamza: likely spellings are tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kapwa.languages.base import (
    MIDDAY,
    Denials,
    Language,
    ReplyWords,
    Words,
    counted,
    lemma,
    simplemma_tool,
    stem,
    stemmer_tool,
)
from kapwa.languages.folding import ARABIC_MARKS, Folding

_LETTERS = {"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ئ": "ي", "ؤ": "و", "ة": "ه", "ی": "ي", "ک": "ك"}
_CLITICS = re.compile(r"^[وف]?(?:(?:[بك]?ال|لل)(?=..)|[بلك](?=...))|^[وف](?=...)")


def _bare(token: str) -> Iterator[str]:
    yield token
    if hit := _CLITICS.match(token):
        yield token[hit.end() :]


def _spellings(word: str) -> Iterator[str]:
    """The unfolded spellings a dictionary may list: hamza on the first alif, ta marbuta or alif maqsura at the end."""
    starts = [word, *(seat + word[1:] for seat in "أإآ" if word.startswith("ا"))]
    for start in starts:
        yield start
        if start.endswith("ه"):
            yield start[:-1] + "ة"
        if start.endswith("ي"):
            yield start[:-1] + "ى"


def _variants(token: str) -> set[str]:
    found: set[str] = set()
    for word in _bare(token):
        found.add(word)
        # Snowball counts the article's letters, and would make oil (zayt) of the olives (az-zaytun).
        if not word.startswith("ال"):
            found.add(stem(word, "arabic"))
        found |= {FOLDING(lemma(spelling, "ar")) for spelling in _spellings(word)}
    return found


FOLDING = Folding(after=ARABIC_MARKS | str.maketrans(_LETTERS))
_UNITS = counted(
    FOLDING(
        "صفر واحد/واحدة/إحدى/أحد/الواحدة اثنان/اثنين/اثنتان/اثنتين/اثنا/اثني/اثنتا/اثنتي/الثانية ثلاثة/ثلاث/الثالثة "
        "أربعة/أربع/الرابعة خمسة/خمس/الخامسة ستة/ست/السادسة سبعة/سبع/السابعة ثمانية/ثماني/ثمان/الثامنة "
        "تسعة/تسع/التاسعة عشرة/عشر/العاشرة"
    )
) | {FOLDING("الحادية"): 1}
_TENS = counted(
    FOLDING(
        "عشرون/عشرين ثلاثون/ثلاثين أربعون/أربعين خمسون/خمسين ستون/ستين سبعون/سبعين ثمانون/ثمانين تسعون/تسعين مئة/مائة"
    ),
    20,
    10,
)
# Units stand before tens: three ten is 13, three and-twenty 23.
_NUMBERS = _UNITS | _TENS | {FOLDING("ألف"): 1000, FOLDING("دزينة"): 12}
# Two of a thing have a form of their own.
_DUALS = "مرتان مرتين يومان يومين ساعتان ساعتين شهران شهرين سنتان سنتين أسبوعان أسبوعين"
_NUMBERS |= dict.fromkeys(FOLDING(_DUALS).split(), 2)
_NUMBERS |= {
    f"{word} {ten}": unit + 10 for word, unit in _UNITS.items() if 0 < unit < 10 for ten in FOLDING("عشر عشرة").split()
}
_NUMBERS |= {
    f"{word} و{ten}": unit + tens for word, unit in _UNITS.items() if 0 < unit < 10 for ten, tens in _TENS.items()
}
# Month names of the Gulf and Egypt, of Algeria and Tunisia, and those of the Levant that are one word.
_MONTHS = counted(
    FOLDING(
        "يناير/جانفي فبراير/فيفري/شباط مارس/آذار أبريل/أفريل/نيسان مايو/ماي/أيار يونيو/جوان/حزيران يوليو/جويلية/تموز "
        "أغسطس/أوت/آب سبتمبر/أيلول أكتوبر نوفمبر ديسمبر"
    ),
    1,
)
language = Language(
    code="ar",
    name="Arabic",
    resource="high",
    tools=(simplemma_tool, stemmer_tool),
    rules="3",
    variants=_variants,
    folding=FOLDING,
    words=Words(
        numbers=_NUMBERS,
        months=_MONTHS,
        morning=frozenset(FOLDING("صباحا صباح الصباح ص فجرا am").split()),
        afternoon=frozenset({*FOLDING("مساء المساء م عصرا pm").split(), "بعد الظهر"}),
        hour=frozenset(FOLDING("الساعة ساعة").split()),
        night=frozenset({"ليلا"}),
        parts={"ظهرا": MIDDAY},
        more=FOLDING(
            r"(?:أكثر من|ما يزيد عن|يزيد عن|فوق|على الأقل|لا (?:يقل|تقل) عن|ما لا يقل عن|يتجاوز) {n}"
            r"|{n}(?: \w+)? (?:أو أكثر|على الأقل|فما فوق|فأكثر)"
        ),
        less=FOLDING(
            r"(?:أقل من|دون|تحت|على الأكثر|لا (?:يزيد|تزيد|يتجاوز|تتجاوز) عن|كحد أقصى) {n}|{n}(?: \w+)? (?:أو أقل"
            r"|على الأكثر|فأقل)"
        ),
        either=FOLDING("أو|أم"),
        clock={
            FOLDING(said): minutes
            for said, minutes in (
                ("{h} و ?(?:ال)?نصف", 30),
                ("{h} و ?(?:ال)?ربع", 15),
                ("{h} و ?(?:ال)?ثلث", 20),
                ("{h} (?:إلا|الا) (?:ال)?ربعا?", -15),
                ("{h} (?:إلا|الا) (?:ال)?ثلثا?", -20),
                ("{h} (?:إلا|الا) {minus}(?: دقائق| دقيقة)?", 0),
                ("{h} و ?{plus} (?:دقائق|دقيقة)", 0),
            )
        },
    ),
    replies=ReplyWords(
        answer="الإجابات|الإجابة|الاجابة|إجابة|اجابة|الجواب|جواب",
        question="السؤال|سؤال",
        opener="بالتأكيد|بالطبع|حسنا|حسنًا",
        unknown="لا أعرف|لا أعلم|لا أدري|لا اعرف|لا اعلم",
        non_answers="لا توجد إجابة|لا أعرف|لا يوجد|لا يوجد جواب|لا أعلم|لا أدري|لا ينطبق",
        conjunction="و|أو|او",
        refusal=(
            r"(?:عذر|آسف|اسف|أعتذر|اعتذر|للأسف|معذرة).{0,60}(?:لا (?:أستطيع|استطيع|يمكنني|أقدر)|لست قادر|لن أتمكن|"
            r"لن أستطيع|ليس بإمكاني|غير قادر)",
            r"^\W*(?:أنا )?لا (?:أستطيع|استطيع|يمكنني) (?:مساعدت|المساعدة|الإجابة|تقديم|الرد|أن أ)",
            r"(?:كنموذج|(?:بصفتي|باعتباري|كوني|أنا).{0,40}(?:نموذج|ذكاء اصطناعي|برنامج)).{0,80}"
            r"(?:لا (?:أستطيع|يمكنني)|لست|ليس لدي)",
        ),
        letters=counted("أ/ا/إ/آ ب ج د"),
    ),
    denials=Denials(
        before=r"و?(?:ليس|ليست|ليسوا|لا|لم|لن|غير|بدون|ما عدا|عدا|ماعدا|باستثناء|بدلا من|عوض|عوضا عن|سوى|دون|من دون"
        r"|بلا|أشك|نادرا)|(?:من )?المستبعد|مستحيل|مش|ماشي",
        after=r"ليس|ليست|ليسوا|لا [تين]\w+|لم [تين]\w+|غير \w+|نادرا|مستبعد|مستحيل|مش",
        harmless=r"لا (?:أعرف|أعلم|أدري|أتذكر|نعرف)|(?:لا|بلا|دون|من دون|بدون)(?: أي)? (?:شك|ريب|أدنى شك)"
        r"|ليس(?:ت)?(?: \w+){0,3} (?:فقط|فحسب)|لا(?: \w+){0,2} فقط|(?:لست|غير|ليس) (?:متأكد\w*|واثق\w*)|مما لا شك"
        r"|لا بد|لا غنى عن|لا بأس|لا(?: \w+){1,4} إلا|لا(?: \w+){1,6} (?:بدون|دون|من غير)|لا (?:يخلو|تخلو)|التي لا"
        r"|الذي لا|بدون استثناء|مع ?(?:/|أو) ?بدون",
        turn="لكن|ولكن|بل|لأن|لذلك|إنما|وإنما|لكنها?|حيث",
        compounds=r"(?<=كرة )(?:القدم|اليد)|عباد الشمس|تفاح الأرض|ماء (?:الورد|الزهر)|قوس قزح|عين الجمل|حب الملوك"
        r"|تمر هندي|لسان العصفور|ورق (?:ال)?عنب|عرق السوس|فرس النهر|(?:نجم|نجمة|كلب|حصان) البحر|(?:شعر|غزل) البنات"
        r"|بيت الماء|كرة الطاولة|سمك القرش",
    ),
    function_words="انا انت هو هي نحن هم هن هذا هذه ذلك تلك الذي التي الذين كان كانت يكون تكون به بها له لها لهم لنا "
    "فيه فيها منه منها واحد واحدة",
    scripts=("Arabic",),
    notes=(
        "First draft, not reviewed by a native speaker. Covers hamza, ta marbuta, alif maqsura, vowel signs, letters "
        "of Persian keyboards; wa- fa- bi- li- ka- al-; lemmas and stems of Modern Standard Arabic. Not covered: "
        "dialect words and spellings (loans with g, p, v), Arabic in Latin letters."
    ),
)

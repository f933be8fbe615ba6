"""Persian: one spelling for Arabic and Persian letters, affixes rejoined over spaces and ZWNJ, lemmas and stems.

Persian is typed on Arabic and on Persian keyboards (ي ك for ی ک), and writes affixes joined, after a space, or after
a zero-width non-joiner (ZWNJ): the plural -hā, the comparatives -tar and -tarin, enclitic pronouns, the verb's mi-
and nemi- (Academy of Persian Language and Literature, *Dastur-e xatt-e fārsi*; Mahootian, *Persian*, 1997).
Folding joins affixes and turns every other ZWNJ into a space, as between the parts of a compound, so that all three
spellings are one. Hamza seats, the izafe after silent h (ۀ ه‌ی) and vowel signs are folded too. Two more keys undo
what spelling leaves open: ā without its madda, and colloquial -un for -ān (nun, nān).
"""

from __future__ import annotations

import regex  # type: ignore[import-untyped, unused-ignore]

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

_ZWNJ = "\u200c"
_LETTERS = {"ي": "ی", "ى": "ی", "ئ": "ی", "ې": "ی", "ك": "ک", "ة": "ه", "ۀ": "ه", "ۂ": "ه", "ە": "ه", "ھ": "ه"}
_LETTERS |= {"أ": "ا", "إ": "ا", "ٱ": "ا", "ؤ": "و"}

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


def _joined(text: str) -> str:
    """Join affixes to their words, and part what else ZWNJ holds together."""
    return str(_JOINED.sub("", text)).replace(_ZWNJ, " ")


def _variants(token: str) -> set[str]:
    bare = _STRIPPED[0].sub("", token)
    words = {token, bare, *(ending.sub("", word) for word in (token, bare) for ending in _STRIPPED[1:])}
    found = words | {stem(word, "persian") for word in (token, bare)}
    found |= {FOLDING(lemma(word, "fa")) for word in (token, bare)}
    found |= {form.replace("آ", "ا") for form in found}
    return found | {form.replace("ان", "ون") for form in found}


FOLDING = Folding(after=ARABIC_MARKS | str.maketrans(_LETTERS), keep=_ZWNJ, last=_joined)
_NUMBERS = (
    counted(
        FOLDING(
            "صفر یک دو سه چهار پنج شش هفت هشت نه ده یازده دوازده سیزده چهارده پانزده/پونزده شانزده/شونزده "
            "هفده/هیفده هجده/هیجده نوزده"
        )
    )
    | counted(FOLDING("بیست سی چهل پنجاه شصت هفتاد هشتاد نود صد"), 20, 10)
    | {"هزار": 1000, "دوجین": 12, FOLDING("یک دوجین"): 12}
)
# Gregorian months, and solar ones by their place in their own year: people answer either way.
_MONTHS = counted(
    FOLDING("ژانویه فوریه مارس آوریل مه/می ژوئن ژوئیه/جولای اوت/آگوست سپتامبر اکتبر نوامبر دسامبر"), 1
) | counted(FOLDING("فروردین اردیبهشت خرداد تیر مرداد/امرداد شهریور مهر آبان آذر دی بهمن اسفند"), 1)
language = Language(
    code="fa",
    name="Persian",
    resource="high",
    tools=(simplemma_tool, stemmer_tool),
    rules="3",
    variants=_variants,
    folding=FOLDING,
    words=Words(
        numbers=_NUMBERS,
        months=_MONTHS,
        morning=frozenset({"صبح", "بامداد", "am"}),
        afternoon=frozenset({"بعد از ظهر", "بعدازظهر", "عصر", "غروب", "pm"}),
        hour=frozenset({"ساعت"}),
        night=frozenset({"شب"}),
        parts={"ظهر": MIDDAY},
        more=FOLDING(
            r"(?:بیش از|بیشتر از|بالای|حداقل|دست ?کم|لااقل|کم ?کم|نه کمتر از) {n}|{n}(?: \w+)? (?:به بالا|یا بیشتر)"
            r"|{n}(?: \w+)? بیشتر"
        ),
        less=FOLDING(r"(?:کمتر از|زیر|حداکثر|نه بیشتر از|تا) {n}|{n}(?: \w+)? (?:به پایین|یا کمتر)"),
        either=FOLDING("یا"),
        clock={
            FOLDING(said): minutes
            for said, minutes in (
                ("{h} و ?نیم", 30),
                ("{h} و (?:یک |1 )?ربع", 15),
                ("(?:یک |1 )?ربع (?:به|مانده به) {h}", -15),
                ("{h} (?:یک |1 )?ربع کم", -15),
                ("{h} و {plus} دقیقه", 0),
                ("{minus} دقیقه (?:به|مانده به) {h}", 0),
            )
        },
    ),
    replies=ReplyWords(
        answer="پاسخ(?:\u200c?ها)?|جواب(?:\u200c?ها)?",
        question="سوال|پرسش",
        opener="البته|حتما",
        unknown="نمی\u200c?دانم|نمی دانم",
        non_answers="بدون پاسخ|نمی‌دانم|هیچ|نمیدانم|هیچکدام|پاسخی وجود ندارد|کاربرد ندارد",
        conjunction="و|یا",
        letters={"الف": 0},
    ),
    denials=Denials(
        before=r"به جز|بجز|جز|غیر از|به غیر از|به جای|بجای|بدون|شک دارم|بعید است|فکر نمی\w+|هیچ ?کس|هرگز"
        r"|نه(?= \w)(?! و)|به استثنای|مگر",
        after=r"نیست\w*|نمی\w+|نبود\w*|ندار\w+|نباش\w+|نشو\w+|بعید است|نه(?= *(?:$|[.،؛!؟,;]))|غلط است",
        harmless=r"نمی ?(?:دانم|دونم|دانیم)|نمیشود گفت|مطمین نیستم|مطمئن نیستم|یادم نیست|(?:بدون|بی"
        r"|بی هیچ)(?: هیچ)? ?(?:شک|تردید)|بیشک|(?:شکی|تردیدی) نیست|نه (?:تنها|فقط)|چرا که نه|که نمی\w+|بدون استثنا"
        r"|بدون(?: \w+){1,4} (?:نمی\w+|نیست)|(?:به جز|جز|غیر از)(?: \w+){1,4} (?:نمی\w+|نیست)|با ?(?:/|یا) ?بدون",
        turn="ولی|اما|بلکه|چون|زیرا|پس|ولیکن|لیکن|اگر|در حالی که",
        compounds=r"سیب ?زمینی|(?:گوجه|توت|نخود) فرنگی|تنیس روی میز|بادام زمینی|آفتاب ?گردان|شتر ?مرغ|لاک ?پشت"
        r"|جوجه تیغی|اسب آبی|سگ آبی|گاو ?صندوق|شیر آب|پدر ?بزرگ|مادر ?بزرگ|پشت بام|خار ?پشت|هات ?داگ|ستاره دریایی"
        r"|شیر دریایی|گل کلم",
    ),
    function_words="من تو او ما شما آنها ایشان این آن است هست هستند هستیم بود بودند را که یک نه",
    scripts=("Arabic",),
    notes=(
        "First draft, not reviewed by a native speaker. Covers letters of Arabic keyboards, hamza, vowel signs; "
        "affixes joined, apart or after ZWNJ; endings of nouns; colloquial -un for -ān; solar months, numbered in "
        "their own year. Not covered: other colloquial forms, Persian in Latin letters."
    ),
)

"""Assamese: one spelling for each letter, classifiers and case endings stripped, homophones brought together.

Nouns take a classifier or a plural (-to -khɔn -zɔn -bor -bilak -xɔkɔl), then a case (-k object, -r of, -t in, -lɔi
to, -re with, -e agent), then -o "too" or -(e)i "just" (Goswami and Tamuli, "Asamiya", in *The Indo-Aryan
Languages*, 2003). The script keeps what the language lost: dental and retroflex stops, c and ch, three
sibilants, long and short i and u, z and j are each one sound (same source), and a cluster may be spelled with or
without the sign that mutes the vowel. A key by sound brings such spellings together. Folding takes the Bengali r for
the Assamese one, and puts the dot of য় ড় where it belongs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from kapwa.languages.base import MIDDAY, Denials, Language, ReplyWords, Words, counted, stripped_forms
from kapwa.languages.folding import Folding

_DOT = "\u09bc"
_MUTE = "\u09cd"
# A dot typed after the vowel sign (ডী় for ড়ী), and one on the second consonant of a cluster (দ্য় for দ্য).
_MISPLACED = re.compile(rf"([ড-ঢয])([া-ৌ]){_DOT}")
_SPELLINGS = (("র", "ৰ"), (f"ব{_DOT}", "ৰ"), (f"{_MUTE}য{_DOT}", f"{_MUTE}য"), ("ৎ", f"ত{_MUTE}"))

_CLASSIFIERS = ("টো", "টি", "টা", "খন", "খনি", "জন", "জনী", "গৰাকী", "বোৰ", "বিলাক", "সকল", "সমূহ", "খিনি", "হঁত")
_CASES = ("ক", "ৰ", "ত", "লৈ", "লে", "ৰে", "ে", "য়ে", "ই")
_SUFFIXES = (*_CLASSIFIERS, *_CASES, "েৰ", "ও", "েই")
_LETTER = re.compile("[অ-হৰৱ]")

_SOUNDS = str.maketrans("শষছটঠডঢণঙঝঈঊীূ", "সসচতথদধনংজইউিু", "ঁ'" + _MUTE)
_DOTTED = ((re.compile(f"য(?!{_DOT})"), "জ"), (re.compile(f"[ডঢ]{_DOT}"), "ৰ"), (re.compile("[ৃঋ]"), "ৰি"))


def _stripped(word: str) -> Iterator[str]:
    """The stems of at least two letters (vowel signs are none) that ``word`` minus one suffix may be."""
    for suffix in _SUFFIXES:
        stem = word.removesuffix(suffix)
        if stem != word and len(_LETTER.findall(stem)) >= 2:
            yield stem


def _by_sound(word: str) -> str:
    """The word with one letter for each sound."""
    for spelled, sound in _DOTTED:
        word = spelled.sub(sound, word)
    return word.translate(_SOUNDS)


def _variants(token: str) -> set[str]:
    found = stripped_forms(token, _stripped)
    return found | set(map(_by_sound, found))


FOLDING = Folding(replace=_SPELLINGS, last=partial(_MISPLACED.sub, rf"\1{_DOT}\2"))
_NUMBERS = (
    counted(FOLDING("শূন্য এক দুই তিনি চাৰি পাঁচ ছয় সাত আঠ ন/নয় দহ এঘাৰ বাৰ তেৰ চৈধ্য পোন্ধৰ ষোল্ল সোতৰ ওঠৰ ঊনৈশ"))
    | counted(FOLDING("বিশ/কুৰি ত্ৰিশ চল্লিশ পঞ্চাশ ষাঠি সত্তৰ আশী নব্বৈ এশ"), 20, 10)
    | {"হাজাৰ": 1000}
)
_GREGORIAN = "জানুৱাৰী ফেব্ৰুৱাৰী মাৰ্চ এপ্ৰিল মে জুন জুলাই আগষ্ট ছেপ্টেম্বৰ অক্টোবৰ নৱেম্বৰ ডিচেম্বৰ"
_MONTHS = {month + case: value for month, value in counted(FOLDING(_GREGORIAN), 1).items() for case in ("", "ৰ", "ত")}
language = Language(
    code="as",
    name="Assamese",
    resource="low",
    rules="3",
    variants=_variants,
    folding=FOLDING,
    words=Words(
        numbers=_NUMBERS,
        months=_MONTHS,
        morning=frozenset(FOLDING("পুৱা ৰাতিপুৱা am").split()),
        afternoon=frozenset(FOLDING("আবেলি গধূলি সন্ধিয়া pm").split()),
        hour=frozenset(FOLDING("বজা বজাত").split()),
        night=frozenset({"নিশা", "ৰাতি"}),
        parts={FOLDING("দুপৰীয়া"): MIDDAY},
        more=FOLDING(
            r"(?:কমেও|অন্ততঃ|অন্তত|কমপক্ষে|নিম্নতম) {n}|{n} ?\w*(?: \w+)? ?(?:তকৈ|টকৈ|তকৈও) (?:বেছি|অধিক|ওপৰ)"
            r"|{n} ?\w*তকৈ (?:বেছি|অধিক)"
        ),
        less=FOLDING(r"(?:সৰ্বাধিক|বেছিতে|সৰ্বোচ্চ) {n}|{n} ?\w*(?: \w+)? ?(?:তকৈ|টকৈ) (?:কম|তল)|{n} ?\w*তকৈ কম"),
        either=FOLDING("বা|অথবা|নাইবা|নতুবা"),
        clock={
            FOLDING(said): minutes
            for said, minutes in (
                ("সাঢ়ে {h}", 30),
                ("সাৰে {h}", 30),
                ("সোৱা {h}", 15),
                ("পোনে {h}", -15),
                ("পৌনে {h}", -15),
            )
        }
        | {FOLDING("দেৰ (?=বজা)"): 90, FOLDING("আঢ়ৈ (?=বজা)"): 150},
    ),
    replies=ReplyWords(
        answer="উত্তৰবোৰ|উত্তৰসমূহ|উত্তৰ|উত্তর",
        question="প্ৰশ্ন|প্রশ্ন",
        opener="নিশ্চয়",
        unknown="নাজানো|জনা নাই",
        non_answers="উত্তৰ নাই|নাজানো|নাই|প্ৰযোজ্য নহয়|জনা নাই",
        conjunction="আৰু|বা|অথবা|নাইবা",
        letters=counted("ক খ গ ঘ"),
    ),
    denials=Denials(
        before="কেতিয়াও|কোনেও|সন্দেহ",
        after=r"নহয়\w*|নাই|নহ'ব|নাছিল|নোৱাৰ\w*|বাহিৰে|বাদে|সলনি|পৰিৱৰ্তে|সম্ভাৱনা কম|সন্দেহ|নোহোৱা|(?!নিশ্চয়|নিচিনা"
        r"|নামে|নাৰী|নিজে|নতুন)(?:না|নি|ন|নু|নে|নো)\w{2,}(?:য়|ে)(?= *(?:$|[।,.!]))",
        whole=r"\w+ (?:অবিহনে|বিনা)|বিনা \w+",
        harmless=r"নাজানো|নাজানে|জনা নাই|নিশ্চিত নহয়|মনত নাই|(?:কেৱল|মাত্ৰ|অকল)(?: \w+){0,3} নহয়|\w+েই নহয়"
        r"|(?:কোনো )?সন্দেহ নাই|নিঃসন্দেহে|ভুল নহয়",
        turn="কিন্তু|বৰঞ্চ|বৰং|কাৰণ|তথাপি|যদিও",
        compounds=r"(?:ফুট|ভলী|ভলি|বাস্কেট|হেণ্ড) ?বল|টেবুল টেনিছ|(?:ফুল|বন্ধা) ?কবি|(?:মিঠা|ৰঙা) ?আলু|মৰা ?পাট|হট ?ডগ"
        r"|আইচ ?ক্ৰীম|চিনা ?বাদাম|জল ?হস্তী|তৰা ?মাছ|ৰান্ধনি ঘৰ",
    ),
    function_words="মই তুমি আপুনি তেওঁ সি তাই আমি তেওঁলোক সিহঁত এই সেই ই মোৰ তোমাৰ আমাৰ তেওঁৰ হয় হৈছে আছে নহয় নাই এক এটা",
    scripts=("Bengali",),
    notes=(
        "First draft, not reviewed by a native speaker. Covers Bengali r and dotted letters, classifiers, plurals, "
        "case endings, spellings of one sound. Not covered: verb endings, months of the Assamese year."
    ),
)

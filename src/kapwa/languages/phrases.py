"""The words of replies in every language, put together: what a model writes does not follow what it was asked in.

Each language that Kapwa can match declares its own (:class:`kapwa.languages.base.ReplyWords`); here are besides those
of languages that it cannot match yet. None of the lists was reviewed by a native speaker.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from kapwa import registry
from kapwa.languages.base import ReplyWords, counted

# A refusal is looked for in so many characters at the start of a text.
OPENING = 240
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'"})

_FURTHER = {
    "bn": ReplyWords(choice=r"উত্তর\w*", correct="সঠিক", negation="নয়", conjunction="বা", letters=counted("ক খ গ ঘ")),
    "de": ReplyWords(
        choice="antwort|richtig ist",
        correct="ist (?:die )?(?:richtig|antwort|korrekt)",
        negation=r"\binkorrek",
        conjunction="und|oder",
        connector="weil|ist",
        article="der|die|das",
    ),
    "fr": ReplyWords(
        answer="réponse",
        choice="r[eé]ponse|je choisis|bonne option",
        correct="est (?:la )?(?:bonne|r[eé]ponse|correcte)",
        negation=r"\bn'est pas\b",
        conjunction="ou|et",
        connector="est|car",
        article="le|la|les",
        refusal=(
            r"\b(?:désolée?|regrette)\b.{0,60}\bje ne (?:peux|suis pas en mesure)\b",
            r"\ben tant qu['e] ?(?:ia\b|intelligence artificielle|modèle de langage).{0,80}\bje ne (?:peux|suis)\b",
        ),
    ),
    "he": ReplyWords(choice="התשובה", letters=counted("א ב ג ד")),
    "hi": ReplyWords(
        choice="उत्तर|सही विकल्प", correct="सही", negation="नहीं", conjunction="और|या", letters=counted("क ख ग घ")
    ),
    "it": ReplyWords(choice="risposta|opzione corretta"),
    "ja": ReplyWords(
        choice="答え|正解|回答",
        correct="が?正解|が?正しい",
        negation="ではない",
        joiner="や|と|または",
        letters=counted("ア イ ウ エ"),
    ),
    "kn": ReplyWords(letters=counted("ಕ ಖ ಗ ಘ")),
    "pl": ReplyWords(choice="odpowied[zź]"),
    "pt": ReplyWords(
        choice="resposta|alternativa correta", correct="[eé] a (?:resposta|correta)", negation=r"\bn[ãa]o [ée]\b"
    ),
    # Cyrillic В and С are read as the Latin letters they look like, for the options were lettered A to D.
    "ru": ReplyWords(
        choice="ответ|выбираю",
        negation="не ",
        conjunction="или|и",
        connector="потому|так",
        option="вариант",
        letters=counted("А Б/В С Г/Д"),
    ),
    "sw": ReplyWords(choice="jibu"),
    "ta": ReplyWords(choice="பதில்"),
    "th": ReplyWords(
        choice="คำตอบ|ตอบ", correct="ถูก", refusal=(r"(?:ขอโทษ|ขออภัย).{0,60}ไม่สามารถ",), letters=counted("ก ข ค ง")
    ),
    "tr": ReplyWords(choice="cevap|do[gğ]ru se[cç]enek", correct="do[gğ]rudur"),
    "uk": ReplyWords(choice="відповідь"),
    "vi": ReplyWords(choice="[dđ][aá]p [aá]n|c[aâ]u tr[aả] l[oờ]i", refusal=(r"\bxin lỗi\b.{0,60}\bkhông thể\b",)),
}


@cache
def reply_words() -> Mapping[str, ReplyWords]:
    """Return the reply words of every language by its code, English first."""
    codes = sorted(registry.available("languages"), key=lambda code: (code != "en", code))
    return {code: registry.load("languages", code).replies for code in codes} | {
        code: words for code, words in _FURTHER.items() if code not in codes
    }


@cache
def any_of(name: str) -> str:
    """Return the alternatives that all languages have under one name of :class:`ReplyWords`, as one pattern."""
    return "|".join(filter(None, (getattr(words, name) for words in reply_words().values())))


@cache
def _refusal() -> re.Pattern[str]:
    return re.compile("|".join(pattern for words in reply_words().values() for pattern in words.refusal))


def is_refusal(text: str) -> bool:
    """Whether ``text`` opens like a refusal to answer.

    A heuristic, and reported as one: it looks in the first 240 characters for a first person who cannot or will not
    help, and for "as an AI ... I cannot", in every language that lists them (models often decline in English whatever
    they were asked in). It misses other wordings, and takes an answer that declines first and advises after for a
    refusal. No score depends on it.
    """
    opening = " ".join(text[: 2 * OPENING].split())[:OPENING].lower().translate(_APOSTROPHES)
    return _refusal().search(opening) is not None

"""The words of replies in every language, put together: what a model writes does not follow what it was asked in.

Each language that Kapwa can match declares its own (:class:`kapwa.languages.base.ReplyWords`); the table
``replies.csv`` adds to these, and has those of languages that Kapwa cannot match yet. None of the lists was reviewed
by a native speaker.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from kapwa import registry
from kapwa.files import table_rows
from kapwa.languages.base import ReplyWords, counted
from kapwa.languages.codes import canonical
from kapwa.languages.words import words

# A refusal is looked for in so many characters at the start of a text.
OPENING = 240
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'"})


@cache
def reply_words() -> Mapping[str, ReplyWords]:
    """Return the reply words of every language by its code, English first."""
    codes = sorted(registry.available("languages"), key=lambda code: (code != "en", code))
    tabled = _tabled()
    every = {code: registry.load("languages", code).replies for code in codes}
    return {code: _joined(every.get(code, ReplyWords()), tabled.get(code, {})) for code in (*every, *tabled)}


def _tabled() -> Mapping[str, Mapping[str, Any]]:
    """Further reply words by language: the table ``replies.csv`` beside this module.

    A row is a language, a field of ReplyWords and its pattern; of ``refusal`` there may be several rows. Cyrillic В and
    С are among the Latin letters that they look like, for the options were lettered A to D.
    """
    found: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for row in table_rows(Path(__file__).with_name("replies.csv")):
        own, what, text = found[row["language"]], row["what"], row["pattern"]
        if what == "refusal":
            own[what] = (*own.get(what, ()), text)
        else:
            own[what] = counted(text) if what == "letters" else text
    return found


def _joined(words: ReplyWords, more: Mapping[str, Any]) -> ReplyWords:
    """Return the words of a module with those of the table."""
    added: dict[str, Any] = {}
    for name, pattern in more.items():
        known = getattr(words, name)
        added[name] = f"{known}|{pattern}" if isinstance(pattern, str) and known else pattern
    return replace(words, **added)


@cache
def any_of(name: str) -> str:
    """Return the alternatives that all languages have under one name of :class:`ReplyWords`, as one pattern."""
    return "|".join(filter(None, (getattr(words, name) for words in reply_words().values())))


def spaced_and_not(name: str) -> tuple[str, str]:
    """Return the alternatives under one name as :func:`any_of`: of languages with spaces between words, and without.

    Written without spaces (or, in Korean, with particles on words), a word may stand against another.
    """
    spaced = {code: getattr(words, name) for code, words in reply_words().items()}
    unspaced = [spaced.pop(code) for code in ("ja", "ko", "th", "zh")]
    return "|".join(filter(None, spaced.values())), "|".join(filter(None, unspaced))


@cache
def non_answers(language: str) -> tuple[str, ...]:
    """Return what stands for "no answer" in a language (BCP-47), the usual wordings first, and then in English."""
    every = reply_words()
    found = (every[code].non_answers for code in (canonical(language), "en") if code in every)
    return tuple(text for texts in found for text in texts.split("|") if text)


def is_non_answer(text: str, language: str) -> bool:
    """Whether a text says no more than that there is no answer, in a language or in English."""
    return words(text) in _in_words(canonical(language))


@cache
def _in_words(language: str) -> frozenset[tuple[str, ...]]:
    return frozenset(map(words, non_answers(language)))


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

"""The words of replies in all languages together, since a model may not reply in the language of the question.

Each language declares them in its file (:class:`kapwa.languages.schema.ReplyWords`); languages without rules have files
of such words alone. None of the lists was reviewed by a native speaker.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from functools import cache, lru_cache

from kapwa import registry
from kapwa.languages.codes import canonical
from kapwa.languages.reading import DATA, REPLIES, read_file, shipped_file
from kapwa.languages.schema import ReplyWords
from kapwa.languages.words import words

# A refusal is searched for in this many characters at the start of a text.
OPENING = 240
# The edge of a word; and what a pattern is made of: escapes, classes of characters, and single characters.
_EDGE, _PIECE = r"\b", re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'"})


@cache
def reply_words() -> Mapping[str, ReplyWords]:
    """Return the reply words of every language by its code: English, then those with rules, then the others."""
    shipped = {path.stem for path in DATA.glob("*.yaml")}
    codes = sorted({*shipped, *registry.installed("languages")}, key=lambda code: (code != "en", code))
    # The file is enough for the words; a whole language is only made where questions are asked in it.
    words = {
        code: shipped_file(code).replies if code in shipped else registry.load("languages", code).replies
        for code in codes
    }
    others = (read_file(path) for path in sorted(REPLIES.glob("*.yaml")) if path.stem not in words)
    return words | {file.tag: file.replies for file in others}


@cache
def any_of(name: str) -> str:
    """Return the alternatives that all languages have under one name of :class:`ReplyWords`, as one pattern."""
    return _tested_once("|".join(filter(None, (getattr(words, name) for words in reply_words().values()))))


def _tested_once(pattern: str) -> str:
    r"""Return the same pattern, where alternatives in a row that begin with ``\b`` have one for all of them.

    Within a word, where most places of a text are, none of them is tried then, which makes searches faster.
    """
    groups = itertools.groupby(_alternatives(pattern), lambda alternative: alternative.startswith(_EDGE))
    written = []
    for at_edge, alternatives in groups:
        if at_edge:
            written.append(f"{_EDGE}(?:{'|'.join(each.removeprefix(_EDGE) for each in alternatives)})")
        else:
            written.extend(alternatives)
    return "|".join(written)


def _alternatives(pattern: str) -> list[str]:
    """Split a pattern at the bars that stand in no group and in no class of characters."""
    alternatives, depth = [""], 0
    for piece in _PIECE.findall(pattern):
        depth += (piece == "(") - (piece == ")")
        if piece == "|" and not depth:
            alternatives.append("")
        else:
            alternatives[-1] += piece
    return alternatives


def spaced_and_not(name: str) -> tuple[str, str]:
    """Return the alternatives under one name as :func:`any_of`: of languages with spaces between words, and without.

    In languages without spaces (or, as in Korean, with particles on words), a word may directly follow another.
    """
    spaced = {code: getattr(words, name) for code, words in reply_words().items()}
    unspaced = [spaced.pop(code) for code in ("ja", "ko", "th", "zh")]
    return "|".join(filter(None, spaced.values())), "|".join(filter(None, unspaced))


@cache
def non_answers(language: str) -> tuple[str, ...]:
    """Return texts that mean "no answer" in a language (BCP-47), the usual wordings first, then those in English."""
    every = reply_words()
    lists = (every[code].non_answers for code in (canonical(language), "en") if code in every)
    return tuple(text for texts in lists for text in texts.split("|") if text)


@lru_cache(maxsize=65_536)
def is_non_answer(text: str, language: str) -> bool:
    """Whether a text only says that there is no answer, in a language or in English."""
    return words(text) in _in_words(canonical(language))


@cache
def _in_words(language: str) -> frozenset[tuple[str, ...]]:
    return frozenset(map(words, non_answers(language)))


@cache
def _refusal() -> re.Pattern[str]:
    return re.compile("|".join(pattern for words in reply_words().values() for pattern in words.refusal))


def is_refusal(text: str) -> bool:
    """Whether ``text`` opens like a refusal to answer.

    This is a heuristic, and reported as one: it searches the first 240 characters for a first person who cannot or will
    not help, and for "as an AI ... I cannot", in every language that lists them (models often decline in English
    whatever the language of the question). It misses other wordings, and counts an answer that first declines and then
    advises as a refusal. No score depends on it.
    """
    opening = " ".join(text[: 2 * OPENING].split())[:OPENING].lower().translate(_APOSTROPHES)
    return _refusal().search(opening) is not None

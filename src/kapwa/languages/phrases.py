"""The words of replies in every language, put together: what a model writes does not follow what it was asked in.

Each language that Kapwa can match has its own (:class:`kapwa.languages.base.ReplyWords`); the table ``replies.csv``
holds besides those of languages that it cannot match yet. None of the lists was reviewed by a native speaker.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from kapwa import registry
from kapwa.languages.base import ReplyWords, reply_table

# A refusal is looked for in so many characters at the start of a text.
OPENING = 240
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'"})


@cache
def reply_words() -> Mapping[str, ReplyWords]:
    """Return the reply words of every language by its code, English first."""
    codes = sorted(registry.available("languages"), key=lambda code: (code != "en", code))
    return {code: registry.load("languages", code).replies for code in codes} | {
        code: words for code, words in reply_table().items() if code not in codes
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

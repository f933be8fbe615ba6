"""Words that no English word list knows but that are nearly one it knows: misspelt concepts, as a rule."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

_WORD = re.compile(r"[^\W\d_]+")
# Names and short words are nearly something else by chance; the longer a word, the less so.
_SHORTEST, _SHORTEST_NAME, _TWO_SLIPS = 6, 8, 9


class Slip(NamedTuple):
    """A word of a text, and the known word it is nearly."""

    word: str
    known: str

    @property
    def is_name(self) -> bool:
        """Whether the word has a capital, so that it may be a name no list holds."""
        return self.word != self.word.lower()


def slips(text: str) -> Iterator[Slip]:
    """Yield the words of an English ``text`` that are one slip of the pen from a known one (two in a long common word).

    A help for people, not a verdict: it proposes, and never changes what is asked. Loads a word list (about a second).
    """
    from simplemma import is_known

    for word in _WORD.findall(text):
        shortest = _SHORTEST if word == word.lower() else _SHORTEST_NAME
        if len(word) < shortest or is_known(word, lang="en") or is_known(word.lower(), lang="en"):
            continue
        near = _nearest(word.lower(), name=word != word.lower())
        if near:
            yield Slip(word, near)


@cache
def _words() -> Sequence[str]:
    from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory

    found = DefaultDictionaryFactory().get_dictionary("en")
    return sorted({text.lower() for text in found if len(text) >= _SHORTEST - 1})


@cache
def _nearest(word: str, *, name: bool) -> str | None:
    from rapidfuzz import process
    from rapidfuzz.distance import DamerauLevenshtein

    most = 2 if len(word) >= _TWO_SLIPS and not name else 1
    found = process.extractOne(word, _words(), scorer=DamerauLevenshtein.distance, score_cutoff=most)
    return found[0] if found else None

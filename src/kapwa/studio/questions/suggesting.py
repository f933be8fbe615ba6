"""Which groups of answers may mean the same: suggestions for whoever merges, never applied by themselves.

They come from what Kapwa knows of the language: its spelling, its cutting into words, its lemmas and stems, as replies
of models are matched with them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from kapwa.languages.fallback import language_for
from kapwa.languages.folding import unaccented
from kapwa.languages.words import words
from kapwa.metrics.matching import Matcher
from kapwa.studio.questions.merging import MergedGroup

# Why groups may be one, the surest first. Letters from which one, and from which two, may differ; in a shorter word
# one letter makes another word.
REASONS = SPELLING, ENGLISH, FORMS, NEAR = "spelling", "english", "forms", "near"
_ONE, _TWO = 4, 9
_Words = list[frozenset[str]]


class Suggestion(NamedTuple):
    """Groups that may be one, and why: the same but for spelling, in English, but for their forms, or letters."""

    reason: str
    groups: list[MergedGroup]


class _Signs(NamedTuple):
    """What the answers of a group are compared by, for each of REASONS."""

    spellings: set[str]
    english: set[str]
    answers: list[_Words]
    letters: list[str]


def suggestions(groups: Sequence[MergedGroup], language: str, moved: Collection[str] = ()) -> list[Suggestion]:
    """Return which of ``groups`` may mean the same, the surest first; each pair for its surest reason.

    What is the same in spelling, or in English, is suggested all together, the rest in pairs. The answers ``moved`` out
    of a group by a person are not suggested again.
    """
    open_ = [(group, _signs(group, language)) for group in groups if group.texts.keys().isdisjoint(moved)]
    cards: dict[tuple[str, ...], Suggestion] = {}
    joined: set[tuple[str, str]] = set()
    for (first, signs), (other, others) in combinations(open_, 2):
        reason = _reason(signs, others)
        if not reason or (reason, first.key) in joined:
            continue
        together = reason in (SPELLING, ENGLISH)
        if together:
            joined.add((reason, other.key))
        card = (reason, first.key, "" if together else other.key)
        cards.setdefault(card, Suggestion(reason, [first])).groups.append(other)
    return sorted(cards.values(), key=lambda suggestion: REASONS.index(suggestion.reason))


@cache
def matcher_of(language: str) -> Matcher:
    """Return what compares answers in a language, as replies of models are compared."""
    return Matcher(language_for(language))


def _signs(group: MergedGroup, language: str) -> _Signs:
    matcher = matcher_of(language)
    prepared = [matcher.prepare(text) for text in group.texts.values()]
    ignored = matcher.language.folded_function_words
    word_keys = []
    for answer in prepared:
        # Articles and the like do not count, but where nothing else is said.
        full = [keys for token, keys in zip(answer.tokens, answer.keys, strict=True) if token not in ignored]
        word_keys.append(full or list(answer.keys))
    return _Signs(
        # Letters and digits in the language's spelling, without case, accents, spaces and punctuation.
        {unaccented(answer.solid) for answer in prepared if answer.solid},
        {" ".join(words(text)) for text in group.english if words(text)},
        word_keys,
        # Korean syllables are taken apart into their letters.
        [unicodedata.normalize("NFD", answer.solid) for answer in prepared if not answer.has_digit],
    )


def _reason(some: _Signs, other: _Signs) -> str:
    if not some.spellings.isdisjoint(other.spellings):
        return SPELLING
    if not some.english.isdisjoint(other.english):
        return ENGLISH
    if any(a and b and _within(a, b) and _within(b, a) for a in some.answers for b in other.answers):
        return FORMS
    return NEAR if any(_near(a, b) for a in some.letters for b in other.letters) else ""


def _within(some: _Words, others: _Words) -> bool:
    """Whether each word has its like among the others, whatever their forms and order: a key that both have."""
    return all(any(not keys.isdisjoint(other) for other in others) for keys in some)


def _near(text: str, other: str) -> bool:
    shorter = min(len(text), len(other))
    most = (shorter >= _ONE) + (shorter >= _TWO)
    return bool(most) and Levenshtein.distance(text, other, score_cutoff=most) <= most

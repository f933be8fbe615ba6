"""Which groups of answers may mean the same: suggestions for whoever merges, never applied by themselves.

They come from what Kapwa knows of the language: its spelling, its cutting into words, its lemmas and stems, as replies
of models are matched with them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from kapwa.languages.fallback import language_for
from kapwa.languages.folding import unaccented
from kapwa.languages.words import words
from kapwa.metrics.matching import Matcher, Prepared
from kapwa.studio.merging import Decision, Group

SPELLING, ENGLISH, FORMS, NEAR = "spelling", "english", "forms", "near"
# Letters from which one, and from which two, may differ; in a shorter word one letter makes another word.
_ONE, _TWO = 4, 9


class Suggestion(NamedTuple):
    """Groups that may be one, and why: the same but for spelling, in English, but for their forms, or letters."""

    reason: str
    groups: tuple[Group, ...]


def suggestions(groups: Sequence[Group], language: str, decisions: Sequence[Decision] = ()) -> list[Suggestion]:
    """Return which of ``groups`` may mean the same, the surest first; each pair for its surest reason.

    What is the same in spelling, or in English, is suggested all together, the rest in pairs. An answer that a person
    moved out of a group (``decisions``) is not suggested again.
    """
    matcher = _matcher(language)
    moved = {one["key"] for one in decisions if one["kind"] == "answers.split"}
    open_ = [group for group in groups if moved.isdisjoint(group.keys)]
    found: list[Suggestion] = []
    seen: set[frozenset[str]] = set()
    for reason, signs in ((SPELLING, _spellings), (ENGLISH, _english)):
        same: dict[str, list[Group]] = {}
        for group in open_:
            for sign in signs(group, matcher):
                same.setdefault(sign, []).append(group)
        for together in same.values():
            pairs = {_pair(one, other) for one, other in combinations(together, 2)}
            if pairs - seen:
                found.append(Suggestion(reason, tuple(together)))
            seen |= pairs
    for reason, pairs_of in ((FORMS, _forms), (NEAR, _near)):
        for one, other in pairs_of(open_, matcher):
            if _pair(one, other) not in seen:
                seen.add(_pair(one, other))
                found.append(Suggestion(reason, (one, other)))
    return found


@cache
def _matcher(language: str) -> Matcher:
    return Matcher(language_for(language))


def _pair(one: Group, other: Group) -> frozenset[str]:
    return frozenset((one.keys[0], other.keys[0]))


def _spellings(group: Group, matcher: Matcher) -> set[str]:
    """Each answer's letters and digits in the language's spelling, without case, accents, spaces and punctuation."""
    return {unaccented(prepared.solid) for text in group.texts if (prepared := matcher.prepare(text)).solid}


def _english(group: Group, matcher: Matcher) -> set[str]:
    return {" ".join(words(text)) for text in group.english if words(text)}


def _forms(groups: Sequence[Group], matcher: Matcher) -> Iterator[tuple[Group, Group]]:
    """Pairs with answers of the same words, whatever their forms and order; articles and the like do not count."""
    said: list[list[list[frozenset[str]]]] = []
    holding: dict[str, set[int]] = {}
    for place, group in enumerate(groups):
        said.append([_words_of(matcher.prepare(text), matcher.language.hollow) for text in group.texts])
        for key in set().union(*(keys for own in said[-1] for keys in own)):
            holding.setdefault(key, set()).add(place)
    pairs = {pair for places in holding.values() for pair in combinations(sorted(places), 2)}
    for first, second in sorted(pairs):
        if any(_within(a, b) and _within(b, a) for a in said[first] for b in said[second]):
            yield groups[first], groups[second]


def _words_of(prepared: Prepared, hollow: frozenset[str]) -> list[frozenset[str]]:
    """The keys of each word that says something, or of every word where none does."""
    full = [keys for token, keys in zip(prepared.tokens, prepared.keys, strict=True) if token not in hollow]
    return full or list(prepared.keys)


def _within(some: Sequence[frozenset[str]], others: Sequence[frozenset[str]]) -> bool:
    """Whether each word has its like among the others: a key that both have."""
    return all(any(not keys.isdisjoint(other) for other in others) for keys in some)


def _near(groups: Sequence[Group], matcher: Matcher) -> Iterator[tuple[Group, Group]]:
    """Pairs with answers of which a letter or two differ; Korean syllables are taken apart into their letters."""
    letters = [
        {
            unicodedata.normalize("NFD", prepared.solid)
            for text in group.texts
            if not (prepared := matcher.prepare(text)).has_digit
        }
        for group in groups
    ]
    for (one, first), (other, second) in combinations(zip(groups, letters, strict=True), 2):
        if any(_alike(a, b) for a in first for b in second):
            yield one, other


def _alike(one: str, other: str) -> bool:
    shorter = min(len(one), len(other))
    most = 0 if shorter < _ONE else 1 if shorter < _TWO else 2
    return bool(most) and Levenshtein.distance(one, other, score_cutoff=most) <= most

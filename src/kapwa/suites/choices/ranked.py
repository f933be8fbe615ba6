"""Replies that rank options ("First choice: B. Second choice: C."): what comes after the first choice is not chosen.

A number before a word for choosing may also name an option by its place ("the second choice, B"). So numbers rank only
where a first and a later one each stand right before an option, and not each before the option of that number. Words
such as "runner-up" rank by themselves, where another option is named beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Literal, NamedTuple

from kapwa.suites.choices.rules import ANY_SIGN, letters_of_signs, ranks, signs
from kapwa.suites.choices.signs import OptionSigns, number_of
from kapwa.suites.items import ALL_LETTERS

_LABEL = re.compile(r"[ \t]*[:：=–—-]*[ \t]*")
_TEXT = re.compile(f"[{signs('text')}]")
_STOP = re.compile(r"[.!?;。！？।።؟\n]|\Z")
# Few words, and no stop or comma, stand between a rank and the option that has it.
_NEXT = re.compile(rf"[ \t]*[:：=–—-]*[ \t]*(?:[^\W{ANY_SIGN}]{{1,10}}[ \t]*){{0,3}}[(\[\"“'*_]*(?P<o>[{ANY_SIGN}])")


class _RankedOption(NamedTuple):
    """What stands from ``start`` to ``end``: words that rank an option, and from ``after_words`` on the option.

    ``rank``: from 1. ``letter``: the option's; ``by_text``: its text stands there, and not its letter.
    """

    start: int
    after_words: int
    end: int
    rank: int
    letter: str
    by_text: bool

    @property
    def is_place(self) -> bool:
        """Whether the number is that of the option itself."""
        return self.rank == ALL_LETTERS.index(self.letter) + 1


def without_lower_ranks(text: str, options: OptionSigns) -> str:
    """Return a reply without the options that it ranks below its first choice."""
    below = list(_ranked(text, options, "below"))
    if below:
        rest = _cut(text, below)
        text = rest if letters_of_signs(options.encoded(rest)) else text
    ranked = list(_ranked(text, options, "ranked"))
    in_order = sorted(ranked, key=attrgetter("rank")) == ranked
    names_places = all(each.is_place and (in_order or each.by_text) for each in ranked)
    if names_places or {each.rank == 1 for each in ranked} != {True, False}:
        return text
    return _cut(text, ranked)


def _ranked(text: str, options: OptionSigns, kind: Literal["ranked", "below"]) -> Iterator[_RankedOption]:
    hits = list(ranks(kind).finditer(text))
    ends = [*(hit.start() for hit in hits[1:]), len(text)][: len(hits)]
    for hit, end in zip(hits, ends, strict=True):
        stop = _STOP.search(text, hit.end(), end)
        segment_end = stop.start() if stop else end
        option = _NEXT.match(options.encoded(text[hit.end() : segment_end]))
        label = _LABEL.match(text, hit.end())
        if option and label:
            rank = number_of(hit["n"] or hit["m"]) if kind == "ranked" else 2
            letter = min(letters_of_signs(option["o"]))
            by_text = _TEXT.match(option["o"]) is not None
            yield _RankedOption(hit.start(), label.end(), segment_end, rank, letter, by_text)


def _cut(text: str, ranked: Sequence[_RankedOption]) -> str:
    """Return ``text`` without the lower ranks, and without the words of the first."""
    pieces, last = [], 0
    for each in ranked:
        pieces.append(text[last : each.start])
        last = each.after_words if each.rank == 1 else each.end
    return "".join([*pieces, text[last:]])

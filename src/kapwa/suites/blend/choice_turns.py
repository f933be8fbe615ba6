"""How replies turn against an option that they named: they deny it, take it back, or conclude."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from kapwa.languages.phrases import any_of
from kapwa.suites.blend.letter_mentions import pattern

STOPS = r".!?;,:…—–\n。，、،！？।።؟؛፣-"


class Turns(NamedTuple):
    """How replies deny an option (right after it, and up to three words after), take one back, or conclude."""

    denied: re.Pattern[str]
    denial: re.Pattern[str]
    correction: re.Pattern[str]
    turn: re.Pattern[str]


@cache
def turns_of(last: str) -> Turns:
    """The patterns for options lettered up to ``last``: between an option and its denial stands no other option."""
    beyond = rf"|(?<!['’])[k-{last}]" if last > "j" else ""  # neither "that's" nor "isn't" names an option
    gap = rf"(?:[^\w.!?。,;]*(?!(?:[b-j]{beyond})\b)\w+)"
    # "B is wrong", of an option that was chosen, and of one that is only named.
    denied, denial = (
        pattern(rf"{start}(?:\s*\([^()]*\))?{gap}{{0,{n}}}?[^\w.!?。,;]*(?:{any_of('denial')})")
        for start, n in (("", 1), (r"\W?", 3))
    )
    # "That's wrong, B": a few words between two stops that say so of what stands before, and name no option.
    remark = rf"(?:(?!\b(?:[b-hj]|(?-i:A){beyond})\b)[^{STOPS}])"
    mistake = rf"(?:\A|(?<=[{STOPS}]))\s*{remark}{{0,24}}?(?:{any_of('mistake')}){remark}{{0,24}}[{STOPS}]"
    correction = pattern(f"(?:{any_of('correction')})|{mistake}")
    return Turns(denied, denial, correction, pattern(f"{correction.pattern}|(?:{any_of('conclusion')})"))

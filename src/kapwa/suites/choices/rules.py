"""The rules by which choices are read, as ``rules.yaml`` has them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import yaml

from kapwa.files import read_text
from kapwa.languages.phrases import any_of, spaced_and_not
from kapwa.suites.choices.signs import ANY_SIGN, KINDS, pattern, signs

How = Literal[
    "json", "boxed", "stated", "alone", "marked", "text", "contained", "empty", "none", "several", "contradiction"
]
_WORDS = ("article", "conjunction", "connector", "correct", "hedge", "joiner", "negation", "option")
_TABLE = Path(__file__).with_name("rules.yaml")
_PART = re.compile(r"\{([a-z_]+)\}")
_CUE = re.compile(r"\(\?P<cue>\(?(?:\?>)?\{([a-z_]+)\}")
# "B is wrong", of an option that was chosen, and of one that is only named: between them stands no other option.
_GAP = rf"(?:[^\w.!?。,;{ANY_SIGN}]{{0,20}}\w+)"
_DENIED, _DENIAL = (
    rf"{start}(?:\s*\([^()]{{0,200}}\))?{_GAP}{{0,{n}}}?[^\w.!?。,;{ANY_SIGN}]{{0,20}}(?:{any_of('denial')})"
    for start, n in (("", 1), (rf"[^\w{ANY_SIGN}]?", 3))
)
# "That's wrong, B": a few words between two stops that say so of what stands before, and name no option.
_STOPS = r"\-.!?;,:…—–\n。，、،！？।።؟؛፣"
_REMARK = rf"[^{_STOPS}{ANY_SIGN}]"
_MISTAKE = rf"(?:\A|(?<=[{_STOPS}]))\s*{_REMARK}{{0,24}}?(?:{any_of('mistake')}){_REMARK}{{0,24}}[{_STOPS}]"
CORRECTION = pattern(f"(?:{any_of('correction')}|{_MISTAKE})")


@dataclass(frozen=True)
class Rule:
    """One way to choose an option; the fields are those of ``rules.yaml``."""

    step: str
    how: How
    pattern: re.Pattern[str]
    cue: str
    dress: str
    negated: int
    within: str
    gives: tuple[tuple[str, str], ...]


@cache
def rules() -> tuple[Rule, ...]:
    """The rules, in the order in which they are tried."""
    return tuple(map(_rule, _table()["rules"]))


@cache
def steps() -> tuple[tuple[str, tuple[Rule, ...]], ...]:
    """The rules by their steps."""
    return tuple((step, tuple(part)) for step, part in itertools.groupby(rules(), attrgetter("step")))


@cache
def denies() -> re.Pattern[str]:
    """What says of an option that it is none."""
    return pattern(_DENIAL)


@cache
def opening_letters() -> re.Pattern[str]:
    """Letters, with the texts beside them, that open a short value."""
    return pattern(filled(r"[^\w{sign}]*(?P<o>{letters})"))


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = yaml.safe_load(read_text(_TABLE))
    return table


def _rule(row: Mapping[str, Any]) -> Rule:
    examples = (line.rpartition(" = ") for line in row["gives"].splitlines())
    return Rule(
        step=row["step"],
        how=row["as"],
        pattern=pattern(filled(row["pattern"])),
        cue=hit[1] if (hit := _CUE.search(row["pattern"])) else "",
        dress=row.get("dress", ""),
        negated=row.get("negated", 0),
        within=row.get("within", ""),
        gives=tuple((reply, letter) for reply, _, letter in examples),
    )


@cache
def cue(name: str) -> re.Pattern[str]:
    """The words of a rule's cue alone: texts without them are passed over."""
    return pattern(filled(f"{{{name}}}"))


def filled(text: str) -> str:
    """Return a pattern with its named parts (of the table, kinds of signs, lists of words), and theirs, put in."""
    parts = _parts()
    while _PART.search(text):
        text = _PART.sub(lambda hit: parts[hit[1]], text)
    return text


@cache
def _parts() -> Mapping[str, str]:
    """Kinds of signs, lists of words in every language, and what the table makes of these."""
    kinds = {kind: signs(kind) for kind in KINDS}
    letters = signs("clear", "marked", "capital", "native")
    words = {name: any_of(name) for name in _WORDS}
    spaced, unspaced = spaced_and_not("choice")
    cue = rf"(?:(?<!in)(?<![\w-])(?:{spaced})|{unspaced})"
    turns = {"denied": _DENIED, "denial": _DENIAL, "turn": f"(?:{CORRECTION.pattern}|{any_of('conclusion')})"}
    return {**kinds, **words, **turns, "any": letters, "sign": ANY_SIGN, "choice_word": cue, **_table()["parts"]}

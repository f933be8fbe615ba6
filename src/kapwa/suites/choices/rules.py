"""The rules by which choices are read, as ``rules.yaml`` has them, and the signs in which they are written."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import yaml

from kapwa.files import read_text
from kapwa.languages.phrases import any_of, reply_words, spaced_and_not
from kapwa.suites.items import ALL_LETTERS

How = Literal[
    "json", "boxed", "stated", "alone", "marked", "text", "contained", "empty", "none", "several", "contradiction"
]
# ``clear``: it can be no word; ``marked``: in bold, brackets or quotes; ``capital``: an "A" that may be an article;
# ``native``: a letter of another script that may be a word; ``text``: an option's text.
KINDS = ("clear", "marked", "capital", "native", "text", "json", "boxed")
_FIRST, _ROOM = 0xE000, 32
ANY_SIGN = f"{chr(_FIRST)}-{chr(_FIRST + _ROOM * len(KINDS) - 1)}"
_SIGN = re.compile(f"[{ANY_SIGN}]")
# Vowel signs are no letters to the module re: one beside a letter makes it part of a word (Assamese কে).
VOWELS = "".join(each for each in map(chr, range(0x900, 0x1800)) if unicodedata.category(each)[0] == "M")
# Nothing parts words in these scripts: what ends so may stand before a letter or a text.
_LEADS = "|".join(f"(?<={lead})" for lead in any_of("lead").split("|"))
BEGINS = rf"(?:(?<![\w{VOWELS})\]])|{_LEADS})"
_WORDS = (
    *("among", "answer", "article", "between", "cardinal", "conjunction", "connector", "copula", "correct", "hedge"),
    *("joiner", "lead", "negation", "number_end", "number_sign", "option", "wrong", "yes"),
)
_TABLE = Path(__file__).with_name("rules.yaml")
_PART = re.compile(r"\{([a-z_]+)\}")
_CUE = re.compile(r"\(\?P<cue>\(?(?:\?>)?\{([a-z_]+)\}")


def sign(kind: str, index: int) -> str:
    """The sign for the option at ``index`` (from 0), named as ``kind`` says."""
    return chr(_FIRST + _ROOM * KINDS.index(kind) + index)


def signs(*kinds: str) -> str:
    """What stands in a character class for all signs of these kinds."""
    return "".join(f"{sign(kind, 0)}-{sign(kind, _ROOM - 1)}" for kind in kinds)


def letters_of_signs(text: str) -> frozenset[str]:
    """The letters of the options whose signs stand in ``text``."""
    indices = {(ord(each) - _FIRST) % _ROOM for each in _SIGN.findall(text)}
    return frozenset(map(ALL_LETTERS.__getitem__, indices))


def pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern for normalised replies."""
    # Replies are normalised, so the words looked for must be too (Thai and Korean letters change).
    return re.compile(unicodedata.normalize("NFKC", text), re.IGNORECASE | re.MULTILINE)


# "Incorrect:" at the start of a line says so of what follows, and not of what stands before.
_LABEL = rf"[^\w\n{ANY_SIGN}]*(?:{any_of('mistake')}|{any_of('denial')})[ \t*_]*:"
# "B is wrong", of an option that was chosen, and of one that is only named: between them stands no other option.
_GAP = rf"(?:[^\w.!?。,;{ANY_SIGN}]{{0,20}}\w+)"
_DENIED, _DENIAL = (
    rf"(?!\s*\n{_LABEL}){start}(?:\s*\([^()]{{0,200}}\))?{_GAP}{{0,{n}}}?[^\w.!?。,;{ANY_SIGN}]{{0,20}}"
    rf"(?:{any_of('denial')})"
    for start, n in (("", 1), (rf"[^\w{ANY_SIGN}]?", 3))
)
# "That's wrong, B": a few words between two stops that say so of what stands before, and name no option.
_STOPS = r"\-.!?;,:…—–\n。，、،！？।።؟؛፣"
_REMARK = rf"[^{_STOPS}{ANY_SIGN}]"
_MISTAKE = (
    rf"(?:\A(?!{_LABEL})|(?<=[{_STOPS}]))(?<!\n(?={_LABEL}))\s*{_REMARK}{{0,24}}?(?:{any_of('mistake')})"
    rf"{_REMARK}{{0,24}}[{_STOPS}]"
)
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
    return tuple((step, tuple(of_step)) for step, of_step in itertools.groupby(rules(), attrgetter("step")))


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
    return Rule(
        step=row["step"],
        how=row["as"],
        pattern=pattern(filled(row["pattern"])),
        cue=hit[1] if (hit := _CUE.search(row["pattern"])) else "",
        dress=row.get("dress", ""),
        negated=row.get("negated", 0),
        within=row.get("within", ""),
        gives=tuple(_examples(row["gives"])),
    )


def _examples(gives: str) -> list[tuple[str, str]]:
    """Pairs of a reply, perhaps of several lines, and what it says after " = "."""
    ends = re.finditer(r"((?:.|\n)+?) = (\S+)\n", gives)
    return [(hit[1], hit[2]) for hit in ends]


@cache
def cue_pattern(name: str) -> re.Pattern[str]:
    """The words of a rule's cue alone: texts without them are passed over."""
    return pattern(filled(f"{{{name}}}"))


def filled(text: str) -> str:
    """Return a pattern with its named parts (of the table, kinds of signs, lists of words), and theirs, put in."""
    patterns = _word_patterns()
    while _PART.search(text):
        text = _PART.sub(lambda hit: patterns[hit[1]], text)
    return text


@cache
def _word_patterns() -> Mapping[str, str]:
    """Kinds of signs, lists of words in every language, and what the table makes of these."""
    kinds = {kind: signs(kind) for kind in KINDS}
    letters = signs("clear", "marked", "capital", "native")
    words = {name: any_of(name) for name in _WORDS}
    spaced, unspaced = spaced_and_not("choice")
    cue = rf"(?:(?<!in)(?<![\w-])(?:{spaced})|{unspaced})"
    turns = {"denied": _DENIED, "denial": _DENIAL, "turn": f"(?:{CORRECTION.pattern}|{any_of('conclusion')})"}
    numbers = {"begins": BEGINS, "numeral": "|".join(sorted(numerals(), key=len, reverse=True))}
    numbers["unspaced_option"] = spaced_and_not("option")[1]
    word_patterns = {"any": letters, "sign": ANY_SIGN, "choice_word": cue}
    return {**kinds, **words, **turns, **numbers, **word_patterns, **_table()["parts"]}


@cache
def ranks(kind: Literal["ranked", "below"]) -> re.Pattern[str]:
    """What says that options are ranked: by numbers, the group "n" or "m", or as one that comes after the first."""
    return pattern(filled(_table()["ranks"][kind]["pattern"]))


@cache
def numbered() -> re.Pattern[str]:
    """What names an option by its place; the group of the number is called "option_0", "answer_4", after its row."""
    rows = enumerate(_table()["numbers"])
    return pattern("|".join(filled(row["pattern"]).replace("P<n>", f"P<{row['with']}_{index}>") for index, row in rows))


@cache
def share_forms(*, signed: bool) -> tuple[re.Pattern[str], ...]:
    """The ways to give options their percentages, with the sign for per cent or without it everywhere."""
    return tuple(pattern(filled(row["pattern"])) for row in _table()["shares"] if row["signed"] is signed)


@cache
def dropped() -> tuple[re.Pattern[str], ...]:
    """What names options and does not choose them; the group "left" of it stays."""
    return tuple(pattern(filled(row["pattern"])) for row in _table()["dropped"])


@cache
def verdict() -> re.Pattern[str]:
    """An option "o" of which a reply says whether it is the answer; the group "yes" where it is."""
    return pattern(filled("{verdict}"))


def examples(kind: str) -> list[tuple[str, str]]:
    """The examples of a part of the table, such as "numbers" or "shares", each with what is read in it."""
    rows = _table()[kind]
    rows = rows.values() if isinstance(rows, dict) else rows
    return [example for row in rows for example in _examples(row["gives"])]


@cache
def numerals() -> dict[str, int]:
    """Words that name an option by its place, in every language, each with its number."""
    every = (pair for words in reply_words().values() for pair in words.numerals.items())
    return {unicodedata.normalize("NFKC", word): index + 1 for word, index in every}

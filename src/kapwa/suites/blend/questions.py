"""Questions of everyday knowledge, the countries and regions that were asked, and how people answered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from kapwa import registry
from kapwa.datasets.rows import Origin

Kind = Literal["text", "number", "date", "time"]
AskedIn = Literal["local", "en"]

KINDS: tuple[Kind, ...] = ("text", "number", "date", "time")
# What an annotator could say instead of an answer; files may hold other keys beside these.
IDK_KEYS = ("idk", "no-answer", "not-applicable")

# Fewest annotators without an answer for whom the two rules leave a question out.
FEWEST_UNABLE, FEWEST_IDK_CODE = 3, 5
# How options are lettered; a set may have fewer.
ALL_LETTERS = "ABCDEFGHIJ"
# A reply that lists more answers is judged by its first; see :mod:`kapwa.suites.blend.replies`.
MAX_ANSWERS = 3

# The English text names the format it asks for; exact on the released questions (60, 4 and 13 of 500).
_KIND_SIGNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("time", re.compile(r"\bHH:MM\b")),
    ("date", re.compile(r"\bMM/DD\b")),
    ("number", re.compile(r"\bArabic numerals?\b", re.IGNORECASE)),
)


@dataclass(frozen=True, slots=True)
class Group:
    """Answers that annotators meant as one, in the local language and in English, and how many gave them.

    ``en`` is empty where nobody translated; ``votes`` is at least 1.
    """

    local: tuple[str, ...]
    en: tuple[str, ...]
    votes: int


@dataclass(frozen=True, slots=True)
class Question:
    """One question as one country was asked it, with its answer groups in file order.

    ``id`` is shared by all countries asked the same question. ``local`` and ``english`` are its texts,
    ``language`` the BCP-47 code of ``local``; one of the texts may be "", and then the question cannot be asked in
    that language. ``counted`` is False where the answers are a list of right ones and nobody knows how many people gave
    each: all have one vote then. ``idks`` counts annotators without an answer, by key: the three
    of :data:`IDK_KEYS` always, and any other key that the file holds.
    """

    country: str
    id: str
    topic: str
    local: str
    english: str
    groups: tuple[Group, ...]
    idks: Mapping[str, int]
    kind: Kind
    language: str
    counted: bool = True

    @property
    def item_id(self) -> str:
        """Its id as an item: ``<country>/<question id>``."""
        return f"{self.country}/{self.id}"

    @property
    def top_votes(self) -> int:
        """Votes of the commonest answer; 0 when there is none."""
        return max((group.votes for group in self.groups), default=0)

    def text(self, asked_in: AskedIn) -> str:
        """The question in the language it is asked in."""
        return self.local if asked_in == "local" else self.english


class Entry(NamedTuple):
    """A question and the row of the file that it came from.

    ``groups``: where each of its answer groups came from, in their order; None where the question's row holds them too.
    """

    question: Question
    path: Path
    row: int
    groups: tuple[Origin, ...] | None = None


def kind_of(english: str) -> Kind:
    """What form of answer a question asks for, from its English text.

    The rule: "HH:MM" in the text is a time, "MM/DD" a date, "Arabic numerals" a number, all else text.
    """
    return next((kind for kind, sign in _KIND_SIGNS if sign.search(english)), "text")


def is_valid_code(question: Question) -> bool:
    """Whether the released code scores the question: 7,422 of the released 8,000.

    It drops one that nobody answered, that at least 3 annotators called unanswerable or not applicable, or that
    at least 5 did not know; other keys of ``idks`` are not looked at.
    """
    unable = question.idks.get("no-answer", 0) + question.idks.get("not-applicable", 0)
    unknown = question.idks.get("idk", 0)
    return bool(question.groups) and unable < FEWEST_UNABLE and unknown < FEWEST_IDK_CODE


def is_valid_paper(question: Question) -> bool:
    """Whether the paper's rule keeps the question: fewer than 3 annotators without an answer.

    Source: section 4.1; it keeps 6,840 of the released 8,000.
    Without an answer are those under every key of ``idks``, free text included ("not sure"), for each is a
    person who gave none; a question that nobody answered is dropped too.
    """
    return bool(question.groups) and sum(question.idks.values()) < FEWEST_UNABLE


def people_said(groups: Sequence[Group], *, english: bool = False) -> str:
    """Write people's answers in a line, the commonest first: "김치 (5); 김치찌개 / 찌개 (2)"."""
    return "; ".join(_said(groups, english))


def _said(groups: Sequence[Group], english: bool) -> Iterator[str]:
    for group in groups:
        yield f"{' / '.join((group.en or group.local) if english else group.local)} ({group.votes})"


@dataclass(frozen=True, slots=True)
class Region:
    """A country or region whose people were asked.

    ``country`` is its spelling in the data, ``name`` its English name for people; ``language`` the BCP-47 code of
    its local language. ``territory`` is the ISO 3166-1 code of the state it is or lies in, ``subdivision`` its
    ISO 3166-2 code where it is part of one; both "" where unknown. The released code calls Assam and West Java AS and
    JB, which in ISO 3166-1 are American Samoa and unassigned.
    """

    country: str
    name: str
    language: str
    territory: str
    subdivision: str = ""


_REGIONS = {
    one.country: one
    for one in (
        Region("Algeria", "Algeria", "ar", "DZ"),
        Region("Assam", "Assam", "as", "IN", "IN-AS"),
        Region("Azerbaijan", "Azerbaijan", "az", "AZ"),
        Region("China", "China", "zh", "CN"),
        Region("Ethiopia", "Ethiopia", "am", "ET"),
        Region("Greece", "Greece", "el", "GR"),
        Region("Indonesia", "Indonesia", "id", "ID"),
        Region("Iran", "Iran", "fa", "IR"),
        Region("Mexico", "Mexico", "es", "MX"),
        Region("North_Korea", "North Korea", "ko", "KP"),
        # Several states of Nigeria; no one code of ISO 3166-2 names them together.
        Region("Northern_Nigeria", "Northern Nigeria", "ha", "NG"),
        Region("South_Korea", "South Korea", "ko", "KR"),
        Region("Spain", "Spain", "es", "ES"),
        Region("UK", "United Kingdom", "en", "GB"),
        Region("US", "United States", "en", "US"),
        Region("West_Java", "West Java", "su", "ID", "ID-JB"),
    )
}
COUNTRIES = tuple(_REGIONS)


@cache
def region_of(country: str, language: str = "") -> Region:
    """Return what is known of ``country``; ``language`` (from a card or column) goes before the table's.

    For a country outside the table its territory is looked up by its English name, and is "" where no territory
    has that name; its name is then its own spelling, with spaces for underscores.
    """
    known = _REGIONS.get(country)
    if known is None:
        name = country.replace("_", " ")
        return Region(country, name, language, _territories().get(name.casefold(), ""))
    return replace(known, language=language or known.language)


def language_name(code: str) -> str:
    """Return the English name of a language Kapwa knows ("Sundanese" for "su"), else its BCP-47 code."""
    if code not in registry.available("languages"):
        return code
    return str(registry.load("languages", code).info.name)


@cache
def _territories() -> dict[str, str]:
    """ISO 3166-1 codes by case-folded English name, its short form ("Iran") included where only one country has it."""
    import iso3166

    full = {name.casefold(): c.alpha2 for c in iso3166.countries for name in (c.name, c.apolitical_name)}
    shorts = [(c.name.partition(",")[0].casefold(), c.alpha2) for c in iso3166.countries if "," in c.name]
    counts = Counter(short for short, _ in shorts)
    return {short: code for short, code in shorts if counts[short] == 1 and short not in full} | full

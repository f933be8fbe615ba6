"""Questions of everyday knowledge, the countries and regions that were asked, and how people answered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from kapwa.datasets.conversations import Turn
from kapwa.datasets.rows import Origin
from kapwa.files import table_rows
from kapwa.languages.phrases import is_non_answer
from kapwa.records import Media
from kapwa.suites.blend.variants import AskedIn

Kind = Literal["text", "number", "date", "time"]
KINDS: tuple[Kind, ...] = ("text", "number", "date", "time")
# What an annotator could choose instead of an answer; files may have more keys than these.
IDK_KEYS = ("idk", "no-answer", "not-applicable")

# So many people answered each released question, or a few more.
USUAL_ANNOTATORS = 5
# Fewest annotators without an answer for whom the two rules leave a question out.
FEWEST_UNABLE, FEWEST_IDK_CODE = 3, 5
# A reply that lists more answers is judged by its first; see :mod:`kapwa.suites.blend.replies`.
MAX_ANSWERS = 3

# The English text names the format it asks for; exact on the released questions (60, 4 and 13 of 500).
_KIND_SIGNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("time", re.compile(r"\bHH:MM\b")),
    ("date", re.compile(r"\bMM/DD\b")),
    ("number", re.compile(r"\bArabic numerals?\b", re.IGNORECASE)),
)


@dataclass(frozen=True, slots=True)
class AnswerGroup:
    """Answers that annotators meant as one, in the local language and in English, and how many gave them.

    ``en`` is empty where nobody translated; ``votes`` is at least 1.
    """

    local: tuple[str, ...]
    en: tuple[str, ...]
    votes: int


def says_nothing(group: AnswerGroup, language: str) -> bool:
    """Whether an answer group, in its language or in its English, says no more than that there is no answer."""
    sides = ((group.local, language), (group.en, "en"))
    return any(texts and all(is_non_answer(text, code) for text in texts) for texts, code in sides)


def top_votes(groups: Sequence[AnswerGroup]) -> int:
    """Return the votes of the commonest answer; 0 when there is none."""
    return max((group.votes for group in groups), default=0)


@dataclass(frozen=True, slots=True)
class CountryQuestion:
    """One question as one country was asked it, with its answer groups in file order.

    ``id`` is shared by all countries asked the same question. ``local`` and ``english`` are its texts,
    ``language`` the BCP-47 code of ``local``; one of the texts may be "", and then the question cannot be asked in
    that language. ``counted`` is False where the answers are a list of right ones and nobody knows how many people gave
    each: all have one vote then. ``idks`` counts annotators without an answer, by key: the three
    of :data:`IDK_KEYS` always, and any other key that the file holds. ``group``, ``step``: of what it is one of several
    items, if of any (:mod:`kapwa.suites.groups`). ``messages``, ``media``: see
    :class:`kapwa.datasets.conversations.Conversed`.
    """

    country: str
    id: str
    topic: str
    local: str
    english: str
    groups: tuple[AnswerGroup, ...]
    idks: Mapping[str, int]
    kind: Kind
    language: str
    counted: bool = True
    group: str = ""
    step: str = ""
    messages: tuple[Turn, ...] = ()
    media: tuple[Media, ...] = ()

    @property
    def item_id(self) -> str:
        """Its id as an item: ``<country>/<question id>``."""
        return f"{self.country}/{self.id}"

    def text(self, asked_in: AskedIn) -> str:
        """The question in the language it is asked in."""
        return self.local if asked_in == "local" else self.english


class QuestionEntry(NamedTuple):
    """A question and the row of the file that it came from.

    ``groups``: where each of its answer groups came from, in their order; None where the question's row holds them too.
    """

    question: CountryQuestion
    origin: Origin
    groups: tuple[Origin, ...] | None = None


def kind_of(english: str) -> Kind:
    """The form of answer that a question asks for, by its English text.

    The rule: "HH:MM" in the text is a time, "MM/DD" a date, "Arabic numerals" a number, all else text.
    """
    for kind, sign in _KIND_SIGNS:
        if sign.search(english):
            return kind
    return "text"


def is_valid_code(question: CountryQuestion) -> bool:
    """Whether the released code scores the question: 7,422 of the released 8,000.

    It drops one that nobody answered, that at least 3 annotators called unanswerable or not applicable, or that
    at least 5 did not know; other keys of ``idks`` are not looked at.
    """
    unable = question.idks.get("no-answer", 0) + question.idks.get("not-applicable", 0)
    unknown = question.idks.get("idk", 0)
    return bool(question.groups) and unable < FEWEST_UNABLE and unknown < FEWEST_IDK_CODE


def is_valid_paper(question: CountryQuestion) -> bool:
    """Whether the paper's rule keeps the question: fewer than 3 annotators without an answer.

    Source: section 4.1; it keeps 6,840 of the released 8,000.
    Without an answer are those under every key of ``idks``, free text included ("not sure"), for each is a
    person who gave none; a question that nobody answered is dropped too.
    """
    return bool(question.groups) and sum(question.idks.values()) < FEWEST_UNABLE


def answers_line(groups: Sequence[AnswerGroup], *, english: bool = False) -> str:
    """Write people's answers in a line, the commonest first: "김치 (5); 김치찌개 / 찌개 (2)"."""
    ordered = sorted(groups, key=lambda group: -group.votes)
    pairs = (((group.en or group.local) if english else group.local, group.votes) for group in ordered)
    return "; ".join(f"{' / '.join(texts)} ({votes})" for texts, votes in pairs)


class Region(NamedTuple):
    """A country or region whose people were asked: of the released ones, a row of ``regions.csv``.

    ``country`` is its spelling in the data, ``name`` its English name for people; ``language`` the BCP-47 code of
    its local language. ``territory`` is the ISO 3166-1 code of the state it is or lies in, "" where unknown.
    ``code``: what locales of everyday-knowledge sets call it against ISO 3166-1. The released code calls Assam and West
    Java AS and JB, which there are American Samoa and unassigned.
    """

    country: str
    name: str
    language: str
    territory: str = ""
    code: str = ""


_REGIONS = {row["country"]: Region(**row) for row in table_rows(Path(__file__).parents[1] / "regions.csv")}
COUNTRIES = tuple(_REGIONS)


def region_of(country: str, language: str = "") -> Region:
    """Return what is known of ``country``; ``language`` (from a card or column) takes precedence over the table's.

    The name of a country outside the table is its own spelling, with spaces for underscores.
    """
    known = _REGIONS.get(country, Region(country, country.replace("_", " "), ""))
    return known._replace(language=language or known.language)

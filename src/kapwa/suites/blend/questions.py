"""One question of everyday knowledge, put to the people of one country, and how they answered it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

Kind = Literal["text", "number", "date", "time"]
AskedIn = Literal["local", "en"]

KINDS: tuple[Kind, ...] = ("text", "number", "date", "time")
# What an annotator could say instead of an answer; files may hold other keys beside these.
IDK_KEYS = ("idk", "no-answer", "not-applicable")

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


class Origin(NamedTuple):
    """A file and a row of it."""

    path: Path
    row: int


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

"""What ``blend/saq`` reports, and what can be set for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kapwa.errors import UsageError
from kapwa.suites.base import MetricInfo
from kapwa.suites.blend.replies import MAX_ANSWERS

MAX_NEW_TOKENS = 128
SAQ_HEADLINE = ("sem_b", "sem_w")
SEM_B, SEM_W = "sem_b", "sem_w"
SEM_B_LOCAL, IN_ENGLISH = "sem_b_local", "answered_in_english"
SEM_B_PAPER, SEM_W_PAPER = "sem_b_paper", "sem_w_paper"
SEM_B_REFERENCE, SEM_W_REFERENCE = "sem_b_reference", "sem_w_reference"
SEM_B_JUDGE = "sem_b_judge"
TOO_MANY, REFUSED, EMPTY = "too_many", "refused", "empty"

_PAPER = "BLEnD §4.1"
_CODE = "the released BLEnD code"


@dataclass(frozen=True, slots=True)
class SaqOptions:
    """Options of ``blend/saq``.

    ``max_new_tokens`` bounds the reply: 99.9 % of people's answers have at most 140 bytes in any of the 13 languages.
    ``max_answers``: a reply that lists more is judged by its first. Raises UsageError for impossible values.
    """

    max_new_tokens: int = MAX_NEW_TOKENS
    max_answers: int = MAX_ANSWERS

    def __post_init__(self) -> None:
        for name, value in self.as_dict().items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UsageError(f"{name} is {value!r}; it must be a whole number of at least 1.")

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all options."""
        return tuple(field.name for field in dataclasses.fields(cls))

    def as_dict(self) -> dict[str, Any]:
        """Return the options as plain values; they rebuild equal options."""
        return {name: getattr(self, name) for name in self.names()}


def saq_metrics(*, judged: bool = False) -> Mapping[str, MetricInfo]:
    """Return how every metric of ``blend/saq`` reads, in the order reports show them.

    ``judged``: whether a model judges too.
    """
    return {info.name: info for info in _infos(judged)}


# An answer right only by its English is one the language asked for did not give.
_BETTER_LOW = (IN_ENGLISH, TOO_MANY, REFUSED, EMPTY)


def _info(name: str, title: str, *, binary: bool = True, source: str = "Kapwa", phrase: str = "") -> MetricInfo:
    return MetricInfo(
        name,
        title,
        0.0,
        1.0,
        binary=binary,
        reference=name.endswith("_reference"),
        source=source,
        phrase=phrase,
        higher_is_better=name not in _BETTER_LOW,
    )


def _infos(judged: bool) -> Iterator[MetricInfo]:
    yield _info(
        SEM_B,
        "SEM-B: replies that give one of people's answers",
        source=_PAPER,
        phrase="gave an answer that people there give to {value} of {items}",
    )
    yield _info(SEM_W, "SEM-W: the same, weighted by how many people gave it", binary=False, source=_PAPER)
    yield _info(SEM_B_LOCAL, "SEM-B, answers in the local language alone")
    yield _info(IN_ENGLISH, "Right only by an English answer")
    yield _info(SEM_B_PAPER, "SEM-B on questions that the paper counts", source=_PAPER)
    yield _info(SEM_W_PAPER, "SEM-W on questions that the paper counts", binary=False, source=_PAPER)
    if judged:
        yield _info(SEM_B_JUDGE, "SEM-B as a model judges it")
    yield _info(SEM_B_REFERENCE, "SEM-B as released (substrings, lemmas anywhere)", source=_CODE)
    yield _info(SEM_W_REFERENCE, "SEM-W as released", binary=False, source=_CODE)
    yield _info(TOO_MANY, "Listed too many answers (judged by the first)")
    yield _info(REFUSED, "Declined to answer, or did not know (by wording)")
    yield _info(EMPTY, "Empty replies")

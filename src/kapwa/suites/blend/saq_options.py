"""Options and metrics of ``blend/saq``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kapwa.suites.base import MetricInfo, metrics_of
from kapwa.suites.blend.questions import MAX_ANSWERS
from kapwa.suites.similarity import SimilarityOptions
from kapwa.value_types import JsonObject

MAX_NEW_TOKENS = 128
SEM_B, SEM_W, SEM_B_LOO = "sem_b", "sem_w", "sem_b_loo"
SAQ_HEADLINE = (SEM_B, SEM_W)


@dataclass(frozen=True, slots=True)
class SaqOptions(SimilarityOptions):
    """Options of ``blend/saq``, and any similarity of the reply to the nearest of people's answers (``metrics``).

    ``max_new_tokens`` bounds the reply: 99.9 % of people's answers have at most 140 bytes in any of the 13 languages.
    ``max_answers``: a reply that lists more is judged by its first. Raises UsageError for impossible values.
    """

    max_new_tokens: int = MAX_NEW_TOKENS
    max_answers: int = MAX_ANSWERS

    whole: ClassVar[tuple[str, ...]] = ("max_new_tokens", "max_answers")

    def as_dict(self) -> JsonObject:
        """Return the options as plain values, from which equal options can be made; without unused similarities."""
        options = SimilarityOptions.as_dict(self)  # super() does not find its class in one with slots
        return options if self.metrics else {name: options[name] for name in self.whole}


def saq_metrics(*, judged: bool = False, counted: bool = True) -> Mapping[str, MetricInfo]:
    """Return how every metric of ``blend/saq`` reads, in the order reports show them.

    ``judged``: whether a model judges too. ``counted``: whether people's votes were counted; else none that needs them.
    """
    left_out = () if judged else ("sem_b_judge",)
    if not counted:
        left_out = (*left_out, SEM_B_LOO, *(name for name in _METRICS if name.startswith(SEM_W)))
    return {name: info for name, info in _METRICS.items() if name not in left_out}


_METRICS = metrics_of("blend/saq")

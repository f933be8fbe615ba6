"""What can be set for the tasks of the suite, and what they report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from kapwa.errors import UsageError
from kapwa.suites.base import MetricInfo

SAMPLES, TEMPERATURE = 5, 0.3
# The paper's limits (section 4.2): explanations are cut short, stories may end.
NEW_TOKENS = {"eecc/qa": 100, "eecc/stories": 1000}


@dataclass(frozen=True, slots=True)
class EeccOptions:
    """Options of a task.

    ``concepts`` and ``identities``: names, or one file of them; None takes all. ``samples`` texts are drawn of each
    prompt at ``temperature`` (0: greedy, one text says all), of at most ``max_new_tokens`` tokens. ``seed`` begins the
    draws; sample and prompt tell them apart. Raises UsageError for numbers out of range.
    """

    concepts: Sequence[str] | None = None
    identities: Sequence[str] | None = None
    samples: int = SAMPLES
    temperature: float = TEMPERATURE
    max_new_tokens: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("samples", 1), ("max_new_tokens", 1), ("seed", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UsageError(f"{name} is {value!r}; it must be a whole number of at least {least}.")
        if not isinstance(self.temperature, int | float) or not 0 <= self.temperature <= 10:
            raise UsageError(f"temperature is {self.temperature!r}; it must be a number from 0 to 10.")
        if self.temperature == 0 and self.samples > 1:
            raise UsageError(
                f"{self.samples} samples at temperature 0 would be {self.samples} copies of one text.",
                hint="Use --samples 1, or a temperature above 0.",
            )
        object.__setattr__(self, "temperature", float(self.temperature))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all options."""
        return tuple(field.name for field in fields(cls))

    def as_dict(self) -> dict[str, Any]:
        """Return what settles the answers, as plain values; which prompts are asked, the requests themselves say."""
        return {
            "samples": self.samples,
            "temperature": self.temperature,
            "max_new_tokens": self.max_new_tokens,
            "seed": self.seed,
        }


WORDS, DISTINCT, NAMED = "words", "distinct", "named"
EMPTY, REFUSED, TRUNCATED, LANGUAGE = "empty", "refused", "truncated", "other_language"
HEADLINE = (NAMED, WORDS)

METRICS: Mapping[str, MetricInfo] = {
    info.name: info
    for info in (
        MetricInfo(
            NAMED,
            "Texts that name the identity or its country",
            0.0,
            1.0,
            source="Kapwa",
            phrase="named the reader's identity or country in {value} of its texts on {items}",
        ),
        MetricInfo(
            WORDS, "Words in a text", 0.0, None, source="Kapwa: runs of signs between white space", unit="words"
        ),
        MetricInfo(DISTINCT, "Different texts among the samples of a prompt", 0.0, 1.0, source="Kapwa"),
        MetricInfo(TRUNCATED, "Texts cut off at the limit", 0.0, 1.0, source="Kapwa", higher_is_better=False),
        MetricInfo(EMPTY, "Empty texts", 0.0, 1.0, source="Kapwa", higher_is_better=False),
        MetricInfo(REFUSED, "Declined to answer (by wording)", 0.0, 1.0, source="Kapwa", higher_is_better=False),
        MetricInfo(LANGUAGE, "Answered in another language", 0.0, 1.0, source="Kapwa", higher_is_better=False),
    )
}

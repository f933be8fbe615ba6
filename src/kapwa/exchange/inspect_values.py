"""What Inspect's scorers wrote of samples, as numbers: letters, numbers, lists and dictionaries become metrics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kapwa.exchange.inspect_taken import Taken
from kapwa.records import Outcome

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

# Inspect's letters and words, and what its metrics count them as (inspect_ai.scorer.value_to_float).
_WORDS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_REASONS: Mapping[str, Outcome] = {"refusal": "refused", "no_response": "empty"}
_MEANS = ("accuracy", "mean")
_CLOSE = 1e-9


class Measured(NamedTuple):
    """One value of a metric: a number or None, and whether it was written as right or wrong."""

    value: float | None
    verdict: bool
    outcome: Outcome


class Metric(NamedTuple):
    """One metric of a log, by its name here: the scorer that gave it, and the key or place in what that wrote."""

    name: str
    scorer: str
    key: str | int | None

    def read(self, sample: Taken) -> Measured | None:
        """Return what ``sample`` has of this metric; None where it was not scored. Raises ValueError for text."""
        score = sample.scores.get(self.scorer)
        if score is None:
            return None
        value: Any = score.value
        if isinstance(self.key, str):
            value = value.get(self.key) if isinstance(value, Mapping) else None
        elif self.key is not None:
            value = value[self.key] if isinstance(value, list) and len(value) > self.key else None
        return _measured(value, _REASONS.get(str(score.reason), "unparsed"))


def metrics_of(samples: Sequence[Taken]) -> list[Metric]:
    """Return every metric of the samples; a key that two scorers use carries the scorer's name."""
    found = list(dict.fromkeys(pair for sample in samples for pair in _pairs(sample)))
    keys = [key for _, key in found if isinstance(key, str)]
    scorers = {scorer for scorer, _ in found}
    metrics = []
    for scorer, key in found:
        plain = isinstance(key, str) and keys.count(key) == 1 and key not in scorers
        name = scorer if key is None else str(key) if plain else f"{scorer}.{key}"
        metrics.append(Metric(name, scorer, key))
    return metrics


def why_not(log: EvalLog, metric: Metric, samples: Sequence[Taken]) -> str:
    """Say why a metric is not taken over: it is no number, or Inspect's mean is not its samples'. Else say nothing."""
    try:
        read = [(sample.id, metric.read(sample)) for sample in samples]
    except ValueError as error:
        return str(error)
    by_item: dict[Any, list[float]] = {}
    for item, one in read:
        if one is not None and one.value is not None:
            by_item.setdefault(item, []).append(one.value)
    if not by_item:
        return "it has no number"
    told = _told_mean(log, metric)
    mean = math.fsum(math.fsum(values) / len(values) for values in by_item.values()) / len(by_item)
    if told is not None and abs(mean - told) > _CLOSE * max(1.0, abs(told)):
        return f"the log's own mean {told:g} is not that of its samples, {mean:g}"
    return ""


def _pairs(sample: Taken) -> Iterator[tuple[str, str | int | None]]:
    for scorer, score in sample.scores.items():
        if isinstance(score.value, Mapping):
            yield from ((scorer, str(key)) for key in score.value)
        elif isinstance(score.value, list):
            yield from ((scorer, place) for place in range(len(score.value)))
        else:
            yield scorer, None


def _measured(value: Any, missing: Outcome) -> Measured:
    if value is None:
        return Measured(None, False, missing)
    if isinstance(value, str):
        word = value if value in _WORDS else value.lower()
        if word not in _WORDS:
            return _measured(_number(value), missing)
        outcome: Outcome = "refused" if word == "N" else "right" if _WORDS[word] == 1 else "wrong"
        return Measured(_WORDS[word], word != "P", "scored" if word == "P" else outcome)
    number = float(value)
    if not math.isfinite(number):
        return Measured(None, False, missing)
    return Measured(number, isinstance(value, bool), "right" if number == 1 else "wrong" if number == 0 else "scored")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"it has a value that is no number ({text[:40]!r})") from None


def _told_mean(log: EvalLog, metric: Metric) -> float | None:
    """Return the mean that the log's results tell, if they tell one of the plain mean over epochs."""
    for score in log.results.scores if log.results else ():
        named = score.name == (metric.scorer if metric.key is None else str(metric.key))
        if not named or score.scorer != metric.scorer or score.reducer not in (None, "mean"):
            continue
        for key, told in score.metrics.items():
            # Metrics of packages carry their name: "kapwa/mean".
            if key.rpartition("/")[2] in _MEANS and told.group is None and math.isfinite(told.value):
                return float(told.value)
    return None


def is_accuracy(log: EvalLog, metric: Metric) -> bool:
    """Whether the log's results call the share of ones an accuracy."""
    scores = log.results.scores if log.results else []
    name = metric.scorer if metric.key is None else str(metric.key)
    return any(score.name == name and score.scorer == metric.scorer and "accuracy" in score.metrics for score in scores)

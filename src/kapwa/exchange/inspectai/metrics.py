"""Kapwa's estimates as Inspect's metrics: the mean, and its standard error clustered by what was sampled.

Inspect's own ``stderr(cluster="cluster")`` is the same formula. It is not used, because of what it says where that
formula is silent: 0 for items of one cluster, and 0 where every answer is right or every one wrong. Kapwa says "not
known" (NaN) to the first and takes one more right and one more wrong answer for the second
(:mod:`kapwa.stats.intervals`). The order of sums is Kapwa's too, so that the last digit is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from kapwa.exchange.terms import BLOCK
from kapwa.stats.intervals import Estimate, mean_estimate


@metric
def mean() -> Metric:
    """Mean over the items that have a value, each counting once."""

    def measure(scores: list[SampleScore]) -> Value:
        return _number(_estimate(scores, binary=False).value)

    return measure


@metric
def stderr(binary: bool = False) -> Metric:
    """Clustered standard error of the mean; ``binary``: of right and wrong. NaN where the data cannot tell."""

    def measure(scores: list[SampleScore]) -> Value:
        return _number(_estimate(scores, binary=binary).se)

    return measure


@metric
def group_mean() -> Metric:
    """Mean of each culture, language and variant, where there are several; what Kapwa's reports tell."""

    def measure(scores: list[SampleScore]) -> Value:
        return {name: _number(_estimate(own, binary=False).value) for name, own in _groups(scores).items()}

    return measure


@metric
def group_stderr(binary: bool = False) -> Metric:
    """Clustered standard error of each culture, language and variant, where there are several."""

    def measure(scores: list[SampleScore]) -> Value:
        return {name: _number(_estimate(own, binary=binary).se) for name, own in _groups(scores).items()}

    return measure


def _estimate(scores: Sequence[SampleScore], *, binary: bool) -> Estimate:
    ordered = sorted(scores, key=_order)
    values = [score.score.as_float() for score in ordered]
    return mean_estimate(values, [_told(score, "cluster") for score in ordered] or None, binary=binary)


def _groups(scores: Sequence[SampleScore]) -> dict[str, list[SampleScore]]:
    """Split by :data:`~kapwa.exchange.terms.BLOCK`; nothing where that leaves all in one."""
    groups: dict[tuple[str, ...], list[SampleScore]] = {}
    for score in scores:
        groups.setdefault(tuple(_told(score, name) for name in BLOCK), []).append(score)
    named = {f"{culture} {variant}": own for (culture, _, variant), own in sorted(groups.items())}
    return named if len(groups) > 1 else {}


def _order(score: SampleScore) -> tuple[str, ...]:
    return tuple(_told(score, name) for name in (*BLOCK, "item_id"))


def _told(score: SampleScore, name: str) -> str:
    told: dict[str, Any] = score.sample_metadata or {}
    return str(told.get(name, ""))


def _number(value: float | None) -> float:
    return math.nan if value is None else value

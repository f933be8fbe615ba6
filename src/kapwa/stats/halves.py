"""Two subsets of a benchmark that share no item, such as a public and a private half: the difference of a score."""

from __future__ import annotations

import math
from typing import NamedTuple

import polars as pl

from kapwa.stats.missing import NO_ENDS, pooled_mean_with_bounds
from kapwa.value_types import JsonMapping, Row


class Apart(NamedTuple):
    """The score of one subset less that of the other: ``difference`` with its 95 % interval ``low`` to ``high``.

    The interval allows for any missing answers. ``first`` and ``second``: the two scores; ``n``: items of each.
    """

    difference: float
    low: float
    high: float
    first: float
    second: float
    n: tuple[int, int]
    missing: tuple[int, int]

    @property
    def shown(self) -> bool:
        """Whether the first subset scores higher, by the interval."""
        return self.low > 0


def apart(first: pl.DataFrame, second: pl.DataFrame, *, share: bool) -> Apart | None:
    """Compare two subsets (:func:`kapwa.stats.series.items_of_run`) over the cultures of both, each counting alike.

    The subsets are independent samples of clusters. Interval: from those of both scores, by the method of variance
    estimates recovery (Newcombe 1998, method 10; Zou and Donner 2008). None where a subset has no interval.
    """
    cultures = set(first["culture"]) & set(second["culture"])
    here = pl.col("culture").is_in(sorted(cultures))
    estimates = [pooled_mean_with_bounds(items.filter(here), share=share, ends=NO_ENDS) for items in (first, second)]
    if not cultures or any(estimate["low"] is None or estimate["least_low"] is None for estimate in estimates):
        return None
    one, other = estimates
    ends = [recovered(one, other)]
    if one["missing"] or other["missing"]:
        ends += [recovered(_at(one, "least"), _at(other, "most")), recovered(_at(one, "most"), _at(other, "least"))]
    return Apart(
        difference=one["value"] - other["value"],
        low=min(low for low, _ in ends),
        high=max(high for _, high in ends),
        first=one["value"],
        second=other["value"],
        n=(one["n"], other["n"]),
        missing=(one["missing"], other["missing"]),
    )


def recovered(one: Row, other: JsonMapping) -> tuple[float, float]:
    """Return the interval of one value less another, from the intervals of both."""
    difference = one["value"] - other["value"]
    below = math.hypot(one["value"] - one["low"], other["high"] - other["value"])
    above = math.hypot(one["high"] - one["value"], other["value"] - other["low"])
    return difference - below, difference + above


def _at(estimate: JsonMapping, case: str) -> dict[str, float]:
    """An estimate with all missing answers at their least, or at their most; its interval is as long as measured."""
    value = estimate[case]
    if case == "least":
        return {"value": value, "low": estimate["least_low"], "high": value + (estimate["high"] - estimate["value"])}
    return {"value": value, "low": value - (estimate["value"] - estimate["low"]), "high": estimate["most_high"]}

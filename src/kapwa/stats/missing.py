"""Missing answers, counted against a claim: every comparison and estimate is repeated under the two worst cases.

Answers are not missing at random: a server may fail just where a model would be wrong. So each missing answer gets the
least and then the largest value that the metric can have. A claim about a score or a difference must hold under both.
Without missing answers both cases are what was measured, and nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from kapwa.stats.clusters import FloatArray, IntArray
from kapwa.stats.intervals import AgainstMark, Comparison, Estimate, paired_differences
from kapwa.stats.pooled import PooledDifference, pooled_differences, pooled_mean
from kapwa.stats.states import missing_rows
from kapwa.value_types import JsonObject

FlagArray = NDArray[np.bool_]

# The lower and the upper end of what a metric can be; None where it has no such end.
Ends = tuple[float | None, float | None]
NO_ENDS: Ends = (None, None)


class HasEnds(Protocol):
    """A metric, such as :class:`kapwa.suites.base.MetricInfo`, that says what it can be at least and at most."""

    @property
    def low(self) -> float | None:
        """The lower end; None where there is none."""

    @property
    def high(self) -> float | None:
        """The upper end; None where there is none."""


def ranges_of(infos: Mapping[str, HasEnds]) -> dict[str, Ends]:
    """The ends of metrics, by name."""
    return {name: (info.low, info.high) for name, info in infos.items()}


def with_bounds(rows: pl.DataFrame, shares: Mapping[str, bool], ranges: Mapping[str, Ends]) -> pl.DataFrame:
    """Add ``least`` and ``most``, what a row's value can be at worst and at best, and ``missing`` (0 or 1).

    ``shares``: metrics and whether they lie between 0 and 1. ``ranges``: the ends of the others. Where a metric has no
    end, the least or the largest measured value is used. Null where there was nothing to measure.
    """
    gone = missing_rows().fill_null(value=False)
    if not rows.select(gone.any()).item():
        return rows.with_columns(least="value", most="value", missing=pl.lit(0.0))
    ends = {name: (0.0, 1.0) if share else ranges.get(name, NO_ENDS) for name, share in shares.items()}
    low, high = (
        pl.col("metric").replace_strict(
            {name: pair[side] for name, pair in ends.items()}, default=None, return_dtype=pl.Float64
        )
        for side in (0, 1)
    )
    return rows.with_columns(
        least=pl.when(gone).then(pl.coalesce(low, pl.col("value").min().over("metric"))).otherwise("value"),
        most=pl.when(gone).then(pl.coalesce(high, pl.col("value").max().over("metric"))).otherwise("value"),
        missing=gone.cast(pl.Float64),
    )


def item_bounds(rows: pl.DataFrame, keys: Sequence[str], columns: Sequence[str] = ()) -> pl.DataFrame:
    """Means over samples, one row an item: ``value``, ``least``, ``most``, ``asked`` (prompts) and ``missing`` answers.

    ``rows``: those of one metric, with bounds. ``keys`` name an item; ``columns``: what all its rows share. Items with
    nothing to measure are left out; those whose answers are all missing have no ``value``.
    """
    measurable = rows.filter(pl.col("least").is_not_null() | (pl.col("missing") > 0))
    return measurable.group_by(keys, maintain_order=True).agg(
        pl.col("value", "least", "most").mean(),
        pl.len().cast(pl.Int64).alias("asked"),
        pl.col("missing").sum().cast(pl.Int64),
        *(pl.col(name).first() for name in columns),
    )


# --- comparisons ---------------------------------------------------------------------------------------------------


class Side(NamedTuple):
    """One side of a paired comparison, (items, metrics): values, what they can be, the missing share of each item."""

    value: FloatArray
    least: FloatArray
    most: FloatArray
    missing: FloatArray


def compare_with_worst_cases(
    a: Side, b: Side, clusters: ArrayLike, binary: FlagArray, **settings: Any
) -> list[Comparison]:
    """Compare two sides of one culture by :func:`kapwa.stats.intervals.paired_differences`, and at worst for each.

    ``binary``: a flag for each metric; ``settings``: what that function takes besides.
    """
    measured = paired_differences(a.value, b.value, clusters, binary=binary.tolist(), **settings)

    def again(first: FloatArray, second: FloatArray, columns: IntArray) -> Sequence[Comparison]:
        return paired_differences(first, second, clusters, binary=binary[columns].tolist(), **settings)

    return add_worst_cases(measured, a, b, again)


def compare_over_cultures_with_worst_cases(
    a: Side, b: Side, cultures: ArrayLike, clusters: ArrayLike, binary: FlagArray, **settings: Any
) -> list[PooledDifference]:
    """The same over several cultures, by :func:`kapwa.stats.pooled.pooled_differences`."""
    measured = pooled_differences(a.value, b.value, cultures, clusters, binary=binary.tolist(), **settings)

    def again(first: FloatArray, second: FloatArray, columns: IntArray) -> Sequence[Comparison]:
        worst = {**settings, "varies": False}
        cases = pooled_differences(first, second, cultures, clusters, binary=binary[columns].tolist(), **worst)
        return [case.comparison for case in cases]

    completed = add_worst_cases([one.comparison for one in measured], a, b, again)
    return [one._replace(comparison=comparison) for one, comparison in zip(measured, completed, strict=True)]


def add_worst_cases(
    measured: Sequence[Comparison],
    a: Side,
    b: Side,
    again: Callable[[FloatArray, FloatArray, IntArray], Sequence[Comparison]],
) -> list[Comparison]:
    """Fill the fields of comparisons that are about missing answers; this is done here and nowhere else.

    ``measured``: a comparison for each metric. ``again(a, b, columns)`` compares two completed sides, which hold only
    the metrics with the column indices ``columns``.
    """
    measurable = ~np.isnan(a.least) & ~np.isnan(b.least)
    shares = [
        np.where(measurable, side.missing, 0.0).sum(axis=0) / np.maximum(measurable.sum(axis=0), 1) for side in (a, b)
    ]
    completed = [_nothing_missing(comparison) for comparison in measured]
    gone = np.flatnonzero(shares[0] + shares[1] > 0)
    if not gone.size:
        return completed
    least = again(a.least[:, gone], b.most[:, gone], gone)
    most = again(a.most[:, gone], b.least[:, gone], gone)
    for k, low, high in zip(gone.tolist(), least, most, strict=True):
        worst = _with_worst(measured[k], low, high)
        completed[k] = worst._replace(missing_a=float(shares[0][k]), missing_b=float(shares[1][k]))
    return completed


def _nothing_missing(measured: Comparison) -> Comparison:
    """A comparison whose worst cases are what was measured."""
    return measured._replace(
        missing_a=0.0,
        missing_b=0.0,
        least_low=measured.low,
        least_high=measured.high,
        most_low=measured.low,
        most_high=measured.high,
        p_worst=measured.p_value,
        p_over=None if measured.p_equal is None else 1 - measured.p_equal,
    )


def _with_worst(measured: Comparison, least: Comparison, most: Comparison) -> Comparison:
    """Add the results for A − B if all missing answers favour B (``least``), and if they favour A (``most``)."""
    against = None
    if measured.difference:
        against = least if measured.difference > 0 else most
    turned = against is None or not against.difference or against.difference * (measured.difference or 0.0) <= 0
    equal = [one.p_equal for one in (measured, least, most)]
    tested = [p for p in equal if p is not None]
    p_worst = 1.0 if turned or against is None else against.p_value
    if measured.p_value is None:
        p_worst = None
    return measured._replace(
        least_low=least.low,
        least_high=least.high,
        most_low=most.low,
        most_high=most.high,
        # The claim is that the side which scores higher is better; its p is that of the case against it.
        p_worst=p_worst,
        p_equal=max(tested) if len(tested) == len(equal) else None,
        p_over=1.0 if turned or against is None or against.p_equal is None else 1 - against.p_equal,
    )


def against_marks_with_worst_cases(
    values: FloatArray, least: FloatArray, most: FloatArray, against: Callable[[FloatArray], Sequence[AgainstMark]]
) -> list[AgainstMark]:
    """Compare ``values`` (n,) with marks by ``against``, and with all missing answers at their least and their most."""
    measured = against(values)
    if np.array_equal(least, values, equal_nan=True) and np.array_equal(most, values, equal_nan=True):
        return [
            one._replace(p_worst=one.p_value, worst_low=one.difference_low, worst_high=one.difference_high)
            for one in measured
        ]
    completed = []
    for one, low, high in zip(measured, against(least), against(most), strict=True):
        case = low if (one.difference or 0.0) > 0 else high
        same = case.difference is not None and case.difference * (one.difference or 0.0) > 0
        p_worst = case.p_value if same else 1.0
        if one.p_value is None:
            p_worst = None
        ends = {"worst_low": low.difference_low, "worst_high": high.difference_high}
        completed.append(one._replace(p_worst=p_worst, **ends))
    return completed


# --- estimates -----------------------------------------------------------------------------------------------------


class Bounds(NamedTuple):
    """A mean with all missing answers at their least and at their most, and the outer ends of the two intervals."""

    least: float | None
    most: float | None
    least_low: float | None
    most_high: float | None


def bounds_of(measured: Estimate, least: Estimate | None = None, most: Estimate | None = None) -> Bounds:
    """The bounds of an estimate; without worst cases, where nothing is missing, they are the estimate itself."""
    low, high = least or measured, most or measured
    return Bounds(low.value, high.value, low.low, high.high)


def cut_at_range(estimate: JsonObject, ends: Ends) -> JsonObject:
    """Return an estimate whose intervals are cut at the ends of its metric's range.

    A number of words is never below 0, whatever a t interval says; and where no true value can lie, cutting loses no
    coverage. ``estimate`` has the fields of :class:`~kapwa.stats.intervals.Estimate`, and may have those of
    :class:`Bounds`. A value outside the range stays inside its interval.
    """
    lowest, highest = ends
    value = estimate["value"]  # None where no answer came: then there are only bounds
    cut = dict(estimate)
    for name in ("low", "least_low"):
        low = cut.get(name)
        if lowest is not None and low is not None and low < lowest:
            cut[name] = lowest if value is None else min(lowest, value)
    for name in ("high", "most_high"):
        high = cut.get(name)
        if highest is not None and high is not None and high > highest:
            cut[name] = highest if value is None else max(highest, value)
    return cut


def pooled_mean_with_bounds(items: pl.DataFrame, *, share: bool, ends: Ends) -> JsonObject:
    """Estimate the mean of ``items`` over their cultures, each counting alike, as measured and at its bounds.

    ``items`` have the columns of :func:`item_bounds`, ``culture`` and ``cluster``. The mean and its interval are those
    of :func:`kapwa.stats.pooled.pooled_mean`. ``share``: values lie between 0 and 1. ``ends``: those of the metric,
    where intervals are cut (:func:`cut_at_range`). Returns the fields of :class:`~kapwa.stats.intervals.Estimate` and
    of :class:`Bounds`, with ``asked`` and ``missing``, the numbers of answers.
    """

    def estimate(rows: pl.DataFrame, column: str) -> Estimate:
        labels = rows["culture"].to_list(), rows["cluster"].to_list()
        return pooled_mean(rows[column].to_numpy(), *labels, share=share)

    measured = estimate(items.filter(pl.col("value").is_not_null()), "value")
    bounds = bounds_of(measured)
    missing = int(items["missing"].sum())
    if missing:
        bounds = bounds_of(measured, estimate(items, "least"), estimate(items, "most"))
    cut = cut_at_range({**measured._asdict(), **bounds._asdict()}, ends)
    return {**cut, "asked": int(items["asked"].sum()), "missing": missing}

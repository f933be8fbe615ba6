"""Tables of estimates: the mean of each metric by culture, language, variant and stratum, and over cultures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from kapwa.records import OUTCOMES
from kapwa.stats.blocks import BLOCK, ItemBlock, blocks, checked_scores, order_in, side_of_block
from kapwa.stats.intervals import mean_estimates
from kapwa.stats.missing import NO_ENDS, Ends, bounds_of, cut_at_range, item_bounds, pooled_mean_with_bounds
from kapwa.stats.schemas import ALL, ESTIMATE_SCHEMA, STATE_COUNTS
from kapwa.stats.states import not_asked_rows
from kapwa.value_types import Cells

_COUNTS = (*OUTCOMES, "asked", "missing", *STATE_COUNTS)


def estimate_table(
    scores: pl.DataFrame,
    *,
    metrics: Mapping[str, bool],
    groups: Sequence[str] = ("category", "topic"),
    ranges: Mapping[str, Ends] | None = None,
) -> pl.DataFrame:
    """Estimate each metric's mean by culture, language and variant, over all items and by stratum.

    ``scores``: columns :data:`kapwa.records.SCORE_COLUMNS`. ``metrics``: which to estimate, in the order of the
    table, and whether each is right/wrong or lies between 0 and 1 in another way. ``groups``: columns whose values
    are strata; the row over all items has ``group == stratum == "all"``; an item without a value there (null) is in
    none of its strata.

    ``n``: items with a value (samples of an item averaged first), ``clusters``: sampled units they come from.
    ``right`` … ``failed`` count rows, that is answers, by outcome; rows with a null value are in no mean but are
    counted there. These intervals are analytic, without random draws.

    ``asked``: answers that were requested; ``missing``: those of them that never came, which are in no mean;
    ``state_…``: how many are in each state (:data:`kapwa.records.STATES`). ``least`` and ``most``: the mean with all
    missing answers at the lower end of the metric (wrong), or at the upper end (right); ``least_low`` and
    ``most_high``: the outer ends of the two intervals. Where nothing is missing they are ``value``, ``low`` and
    ``high``. ``ranges``: the ends of metrics that are not shares (:func:`kapwa.stats.missing.with_bounds`), at which
    intervals are cut.
    Returns :data:`ESTIMATE_SCHEMA`, sorted by culture, language, variant, group, stratum and metric.
    Raises DataError or UsageError for a table that does not fit.
    """
    rows = checked_scores(scores, metrics, groups, ranges)
    records = [
        cut_at_range(record, (ranges or {}).get(record["metric"], NO_ENDS))
        for block in blocks(rows, metrics, groups)
        for record in _block_estimates(block, metrics, groups)
    ]
    uncounted = {name: kind for name, kind in ESTIMATE_SCHEMA.items() if name not in _COUNTS}
    keys, counted = (*BLOCK, "group", "stratum", "metric"), _counts()
    strata = [(pl.lit(ALL), pl.lit(ALL)), *((pl.lit(group), pl.col(group).cast(pl.String)) for group in groups)]
    counts = pl.concat(
        rows.with_columns(group=group, stratum=stratum).group_by(keys).agg(counted) for group, stratum in strata
    )
    return (
        pl.DataFrame(records, schema=uncounted)
        .join(counts, on=keys, how="left", nulls_equal=True)
        .sort(*BLOCK, order_in("group", (ALL, *groups)), "stratum", order_in("metric", metrics))
        .select(*ESTIMATE_SCHEMA)
    )


def _block_estimates(block: ItemBlock, metrics: Mapping[str, bool], groups: Sequence[str]) -> Iterator[Cells]:
    """Yield the estimates of a block, over all its items and by stratum, without counts of answers."""
    side = side_of_block(block)
    clusters = block.items["cluster"].to_numpy()
    flags = [metrics[name] for name in block.metrics]
    for group, stratum, mask in _strata(block, groups):
        labels = dict(zip((*BLOCK, "group", "stratum"), (*block[:3], group, stratum), strict=True))
        measured = mean_estimates(side.value[mask], clusters[mask], share=flags)
        bounds = [bounds_of(estimate) for estimate in measured]
        if side.missing[mask].any():
            ends = (mean_estimates(end[mask], clusters[mask], share=flags) for end in (side.least, side.most))
            bounds = list(map(bounds_of, measured, *ends))
        for metric, estimate, between in zip(block.metrics, measured, bounds, strict=True):
            yield {**labels, "metric": metric, **estimate._asdict(), **between._asdict(), "cultures": 1}


def _strata(block: ItemBlock, groups: Sequence[str]) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield group, stratum and a mask of its items in a block; the first stratum is all items."""
    everything = np.ones(block.items.height, dtype=bool)
    yield ALL, ALL, everything
    for group in groups:
        if group in BLOCK:  # constant within a block
            yield group, getattr(block, group), everything
            continue
        column = block.items[group]
        values = np.array(column.to_list(), dtype=object)
        for value in column.drop_nulls().unique().sort():
            yield group, str(value), np.asarray(values == value, dtype=bool)


def mean_table(
    scores: pl.DataFrame, *, metrics: Mapping[str, bool], ranges: Mapping[str, Ends] | None = None
) -> pl.DataFrame:
    """Estimate each metric's mean over cultures, each counting alike, for each variant that several cultures have.

    Rows are like those of :func:`estimate_table` over all items, but culture and language are null, and ``cultures`` is
    the number of cultures. A culture asked in two languages counts once. See
    :func:`kapwa.stats.missing.pooled_mean_with_bounds`.
    """
    rows = checked_scores(scores, metrics, ranges=ranges)
    records = []
    for (variant, metric), answers in rows.partition_by("variant", "metric", as_dict=True).items():
        if answers.select("culture", "language").n_unique() < 2:
            continue
        items = item_bounds(answers, ("culture", "language", "item_id"), ("cluster",))
        counts = answers.select(_counts()).row(0, named=True)
        facts = {"variant": variant, "group": ALL, "stratum": ALL, "metric": metric}
        facts["cultures"] = answers["culture"].n_unique()
        ends = (ranges or {}).get(str(metric), NO_ENDS)
        mean = pooled_mean_with_bounds(items, share=metrics[str(metric)], ends=ends)
        records.append({**facts, **mean, **counts})
    table = pl.DataFrame(records, schema=dict(ESTIMATE_SCHEMA))
    return table.sort("variant", order_in("metric", metrics))


def _counts() -> list[pl.Expr]:
    """Count answers: by outcome, those asked, those missing, by state."""
    counted = [(pl.col("outcome") == outcome).sum().cast(pl.Int64).alias(outcome) for outcome in OUTCOMES]
    counted += [(~not_asked_rows()).sum().cast(pl.Int64).alias("asked"), pl.col("missing").sum().cast(pl.Int64)]
    counted += [(pl.col("state") == state).sum().cast(pl.Int64).alias(name) for name, state in STATE_COUNTS.items()]
    return counted

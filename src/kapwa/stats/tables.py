"""Score tables in, tables of estimates and correlations out (Polars)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from kapwa.errors import DataError, UsageError
from kapwa.records import OUTCOMES
from kapwa.stats.comparisons import BLOCK, Block, blocks, checked_scores
from kapwa.stats.correlation import pearson, spearman
from kapwa.stats.intervals import mean_estimates

ALL = "all"

ESTIMATE_SCHEMA: Mapping[str, Any] = {
    **dict.fromkeys(("culture", "language", "variant", "group", "stratum", "metric"), pl.String),
    **dict.fromkeys(("value", "se", "low", "high"), pl.Float64),
    **dict.fromkeys(("n", "clusters", *OUTCOMES), pl.Int64),
    "method": pl.String,
}

CORRELATION_SCHEMA: Mapping[str, Any] = {
    **dict.fromkeys(("metric_a", "metric_b", "coefficient"), pl.String),
    **dict.fromkeys(("value", "low", "high", "p_value"), pl.Float64),
    "n": pl.Int64,
}


def estimate_table(
    scores: pl.DataFrame,
    *,
    metrics: Mapping[str, bool],
    groups: Sequence[str] = ("category", "topic"),
    level: float = 0.95,
) -> pl.DataFrame:
    """Estimate each metric's mean by culture, language and variant, over all items and by stratum.

    ``scores``: columns :data:`kapwa.records.SCORE_COLUMNS`. ``metrics``: which to estimate, in the order of the
    table, and whether each is right/wrong. ``groups``: columns whose values are strata; the row over all items has
    ``group == stratum == "all"``; an item without a value there (null) is in none of its strata.

    ``n``: items with a value (samples of an item averaged first), ``clusters``: sampled units they come from.
    ``right`` … ``failed`` count rows, that is answers, by outcome; rows with a null value are in no mean but are
    counted there. These intervals are analytic and draw nothing.
    Returns :data:`ESTIMATE_SCHEMA`, sorted by culture, language, variant, group, stratum and metric.
    Raises DataError or UsageError for a table that does not fit.
    """
    rows = checked_scores(scores, metrics, groups)
    records = []
    for block in blocks(rows, metrics, groups):
        values = block.items.select(block.metrics).to_numpy().astype(np.float64)
        clusters = block.items["cluster"].to_numpy()
        flags = [metrics[name] for name in block.metrics]
        for group, stratum, mask in _strata(block, groups):
            labels = dict(zip((*BLOCK, "group", "stratum"), (*block[:3], group, stratum), strict=True))
            found = mean_estimates(values[mask], clusters[mask], binary=flags, level=level)
            for metric, one in zip(block.metrics, found, strict=True):
                records.append({**labels, "metric": metric, **one._asdict()})
    keys = (*BLOCK, "group", "stratum", "metric")
    estimates = pl.DataFrame(records, schema={k: v for k, v in ESTIMATE_SCHEMA.items() if k not in OUTCOMES})
    counted = [(pl.col("outcome") == outcome).sum().cast(pl.Int64).alias(outcome) for outcome in OUTCOMES]
    parts = [(pl.lit(ALL), pl.lit(ALL)), *((pl.lit(group), pl.col(group).cast(pl.String)) for group in groups)]
    counts = pl.concat(
        rows.with_columns(group=group, stratum=stratum).group_by(keys).agg(counted) for group, stratum in parts
    )
    by_group, by_metric = (
        pl.col(column).replace_strict({name: place for place, name in enumerate(names)}, return_dtype=pl.Int64)
        for column, names in (("group", (ALL, *groups)), ("metric", metrics))
    )
    return (
        estimates.join(counts, on=keys, how="left", nulls_equal=True)
        .sort(*BLOCK, by_group, "stratum", by_metric)
        .select(*ESTIMATE_SCHEMA)
    )


def _strata(block: Block, groups: Sequence[str]) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield (group, stratum, rows) with all items first."""
    everything = np.ones(block.items.height, dtype=bool)
    yield ALL, ALL, everything
    for group in groups:
        if group in BLOCK:  # constant within a block
            yield group, getattr(block, group), everything
            continue
        labels = block.items[group]
        for stratum in labels.drop_nulls().unique().sort():
            yield group, str(stratum), (labels == stratum).fill_null(False).to_numpy()


def correlate_metrics(values: pl.DataFrame, *, level: float = 0.95) -> pl.DataFrame:
    """Correlate every pair of metrics across runs (or models).

    ``values``: one row a run, one numeric column a metric; columns of other types (names) are left alone, null is
    not measured. Returns :data:`CORRELATION_SCHEMA`: each unordered pair once, in column order, with a "pearson" and
    a "spearman" row. Mind that models of one family are not independent draws, and that a correlation over nine
    models has a wide interval.
    """
    names = [name for name, kind in values.schema.items() if kind.is_numeric()]
    if len(names) < 2:
        raise UsageError(
            f"Correlations need at least two numeric columns; the table has {len(names)}.",
            hint="Give one row per run and one column per metric.",
        )
    columns = {name: values[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in names}
    for name, column in columns.items():
        if np.isinf(column).any():
            raise DataError("a value is infinite.", column=name, hint="Use null for 'not measured'.")
    records = [
        {"metric_a": a, "metric_b": b, "coefficient": function.__name__}
        | function(columns[a], columns[b], level=level)._asdict()
        for a, b in combinations(names, 2)
        for function in (pearson, spearman)
    ]
    return pl.DataFrame(records, schema=CORRELATION_SCHEMA)

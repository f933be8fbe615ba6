"""Checked scores, split into blocks of one culture, language and variant, with one value for each item and metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from kapwa.errors import DataError, UsageError, check_known, nearest
from kapwa.records import OUTCOMES, SCORE_COLUMNS
from kapwa.stats.clusters import FloatArray
from kapwa.stats.missing import Ends, Side, with_bounds
from kapwa.stats.states import with_derived_states

BLOCK = ("culture", "language", "variant")
# These differ between the rows of one item (or name it), so they cannot be strata of items.
_NOT_STRATA = ("item_id", "sample", "metric", "value", "outcome", "state")
_SAMPLE = (*BLOCK, "item_id", "metric", "sample")


class Completed(NamedTuple):
    """The items of a block with missing answers at their least and at their most, and the missing share of each."""

    least: pl.DataFrame
    most: pl.DataFrame
    missing: pl.DataFrame


class ItemBlock(NamedTuple):
    """Items of one culture, language and variant: one row an item, one column a metric.

    ``completed``: the same items where answers are missing; None where none is.
    """

    culture: str
    language: str
    variant: str
    items: pl.DataFrame
    metrics: tuple[str, ...]
    completed: Completed | None = None


def checked_scores(
    scores: pl.DataFrame,
    metrics: Mapping[str, bool],
    groups: Sequence[str] = (),
    ranges: Mapping[str, Ends] | None = None,
) -> pl.DataFrame:
    """Return the rows of the named metrics with bounds (:func:`kapwa.stats.missing.with_bounds`).

    Raises DataError or UsageError saying what does not fit.
    """
    missing = [column for column in SCORE_COLUMNS if column not in (*scores.columns, "state")]  # older tables lack it
    if missing:
        raise DataError(
            f"the score table lacks the columns {', '.join(missing)}.",
            hint=f"A score table has the columns {', '.join(SCORE_COLUMNS)}.",
        )
    possible = [column for column in scores.columns if column not in _NOT_STRATA]
    for group in groups:
        check_known(group, possible, f"There is no column {group!r} to group by.")
    clash = sorted(set(metrics) & set(scores.columns))
    if clash:
        raise UsageError(f"A metric cannot be called {clash[0]!r}: the score table has a column of that name.")
    known = scores["metric"].unique().to_list()
    if scores.height and not set(known) & set(metrics):
        wanted = next(iter(metrics), "")
        raise UsageError(f"None of the given metrics is in the scores ({wanted!r}…).", hint=nearest(wanted, known))
    rows = scores.filter(pl.col("metric").is_in(list(metrics))).with_columns(pl.col("value").cast(pl.Float64))
    finite, outcome = pl.col("value").is_finite(), pl.col("outcome")
    known_outcomes = f"Outcomes are {', '.join(OUTCOMES)}."
    one_row = "One row for each item, variant, metric and sample."
    problems = (
        (~finite, "value", "the value is not a finite number", "Use null for 'not measured'."),
        (~outcome.is_in(OUTCOMES) | outcome.is_null(), "outcome", "the outcome is unknown", known_outcomes),
        *((pl.col(name).is_null(), name, f"the {name} is missing", None) for name in (*BLOCK, "item_id", "cluster")),
        (pl.struct(_SAMPLE).is_duplicated(), None, "a score appears more than once", one_row),
    )
    for condition, column, message, hint in problems:
        bad = rows.filter(condition)
        if bad.height:
            first = bad.row(0, named=True)
            where = f"item {first['item_id']!r}, variant {first['variant']!r}, metric {first['metric']!r}"
            raise DataError(f"{message} ({where}).", column=column, hint=hint)
    # Means over samples are summed in this order, so the last bit does not depend on the order of rows.
    return with_bounds(with_derived_states(rows.sort(_SAMPLE)), metrics, ranges or {})


def blocks(rows: pl.DataFrame, metrics: Mapping[str, bool], columns: Sequence[str] = ()) -> list[ItemBlock]:
    """Split checked rows by culture, language and variant, averaging samples within items.

    Samples of one item are not independent: only their mean counts. ``columns`` (such as the topic) are included
    beside ``item_id`` and ``cluster``. Items are sorted by id, metrics are in the order of ``metrics``.
    Raises DataError when one item has two clusters (or topics, …).
    """
    labelled_by = [column for column in dict.fromkeys(("cluster", *columns)) if column not in BLOCK]
    counts = rows.group_by(*BLOCK, "item_id").agg(pl.col(labelled_by).n_unique()).sort(*BLOCK, "item_id")
    for column in labelled_by:
        torn = counts.filter(pl.col(column) > 1)
        if torn.height:
            raise DataError(
                f"the item {torn['item_id'][0]!r} has {torn[column][0]} different values.",
                column=column,
                hint="Every row of an item must have the same value in this column.",
            )
    item_blocks = []
    groups = rows.partition_by(*BLOCK, as_dict=True)
    for key in sorted(groups):
        culture, language, variant = key
        group = groups[key]
        labels = group.group_by("item_id").agg(pl.col(labelled_by).first())
        items = _wide(group, "value", labels)
        completed = None
        if group["missing"].sum():
            completed = Completed(*(_wide(group, values, labels) for values in Completed._fields))
        names = tuple(name for name in metrics if name in items.columns)
        item_blocks.append(ItemBlock(culture, language, variant, items, names, completed))
    return item_blocks


def _wide(rows: pl.DataFrame, values: str, labels: pl.DataFrame) -> pl.DataFrame:
    """A row an item, a column a metric: the mean of ``values`` over samples."""
    wide = rows.pivot(on="metric", index="item_id", values=values, aggregate_function="mean")
    return labels.join(wide, on="item_id").sort("item_id")


def side_of_block(block: ItemBlock, names: Sequence[str] | None = None) -> Side:
    """The values of a block, (items, metrics), and what they can be where answers are missing; NaN where absent."""

    def matrix(items: pl.DataFrame) -> FloatArray:
        wanted = block.metrics if names is None else names
        values = np.full((items.height, len(wanted)), np.nan)
        for column, name in enumerate(wanted):
            if name in block.metrics:
                values[:, column] = items[name].to_numpy()
        return values

    value = matrix(block.items)
    if block.completed is None:
        return Side(value, value, value, np.zeros(value.shape))
    least, most, missing = map(matrix, block.completed)
    return Side(value, least, most, np.nan_to_num(missing))


def order_in(column: str, names: Iterable[str]) -> pl.Expr:
    """The position of each row's value of ``column`` among ``names``, to sort by."""
    order = {name: position for position, name in enumerate(names)}
    return pl.col(column).replace_strict(order, return_dtype=pl.Int64)

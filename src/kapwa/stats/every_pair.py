"""Every pair of many systems compared on one metric: what ranks them. Sixty systems are 1,770 pairs.

The numbers are those of :func:`kapwa.stats.comparison_tables.compare_runs` over cultures, except for random flips where
a test is not exact. What a board does not show (single cultures, whether a difference varies) is not computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from kapwa.errors import DataError
from kapwa.stats.families import adjust_p_values
from kapwa.stats.intervals import PERMUTATIONS
from kapwa.stats.missing import Side, compare_over_cultures_with_worst_cases, compare_with_worst_cases
from kapwa.stats.schemas import POOLED_SCHEMA
from kapwa.value_types import Cells, Keywords

_ITEM_KEYS = ("culture", "language", "item_id", "cluster")
_AT_ONCE = 64  # pairs compared at once; they need the memory of two tables of this many runs


def every_pair(
    items: Sequence[pl.DataFrame], labels: Sequence[str], metric: str, variant: str, *, binary: bool
) -> pl.DataFrame:
    """Compare every two systems on the items both measured: the mean over cultures of the paired difference.

    ``items``: for each system a row an item, with the columns of :func:`kapwa.stats.missing.item_bounds`, culture,
    language, item_id and cluster. ``binary``: right/wrong, or the mean of such. Tests, intervals and the family are
    those of :func:`kapwa.stats.comparison_tables.compare_runs`, all pairs being one family. Returns ``POOLED_SCHEMA``
    with null in what is not computed. It has one row for each pair that shares an item (with several cultures: items
    of two or more), in the order of ``labels``. Raises DataError for an item that is in two clusters.
    """
    share = (pl.col("missing") / pl.col("asked")).alias("missing")
    rows = pl.concat(
        frame.select(*_ITEM_KEYS, pl.lit(run_index, pl.Int64).alias("run"), "value", "least", "most", share)
        for run_index, frame in enumerate(items)
    )
    if not rows.height:
        return adjust_p_values(pl.DataFrame(schema=POOLED_SCHEMA))
    wide = rows.select(_ITEM_KEYS).unique().sort(_ITEM_KEYS)
    torn = wide.filter(pl.struct(_ITEM_KEYS[:-1]).is_duplicated())
    if torn.height:
        item = torn["item_id"][0]
        first, second = torn["cluster"][:2]
        message = f"the item {item!r} is in {first!r} in one run, in {second!r} in another."
        raise DataError(message, column="cluster", hint="Compare runs over the same data.")
    sides = _sides(rows, wide, len(items))
    records, every = [], list(combinations(range(len(items)), 2))
    several = wide["culture"].n_unique() > 1
    # The least p-value of random flips, times the number of pairs, must be able to fall below 5 %.
    flips = max(PERMUTATIONS, 40 * len(every))
    for start in range(0, len(every), _AT_ONCE):
        pairs = every[start : start + _AT_ONCE]
        for (first, second), compared in zip(pairs, _compared(sides, pairs, wide, binary, flips), strict=True):
            # Where there are several cultures, a pair that shares only one has no mean over cultures.
            if compared["n"] and (compared["cultures"] > 1) == several:
                records.append({**compared, "a": labels[first], "b": labels[second]})
    table = pl.DataFrame(records, schema=POOLED_SCHEMA)
    return adjust_p_values(table.with_columns(kind=pl.lit("runs"), metric=pl.lit(metric), variant=pl.lit(variant)))


def _sides(rows: pl.DataFrame, wide: pl.DataFrame, runs: int) -> Side:
    """The values of every run, (items, runs), and their bounds where answers are missing; NaN where not prompted."""
    cells = rows.join(wide.with_row_index("row"), on=_ITEM_KEYS, how="left", nulls_equal=True)
    at = (cells["row"].to_numpy(), cells["run"].to_numpy())
    tables = []
    for name in Side._fields:
        table = np.full((wide.height, runs), 0.0 if name == "missing" else np.nan)
        table[at] = cells[name].cast(pl.Float64).to_numpy()
        tables.append(table)
    return Side(*tables)


def _columns_of(sides: Side, columns: Sequence[int]) -> Side:
    """Some columns of every table."""
    return Side(*(table[:, columns] for table in sides))


def _compared(
    sides: Side, pairs: Sequence[tuple[int, int]], wide: pl.DataFrame, binary: bool, flips: int
) -> Iterator[Cells]:
    """The comparison of each of ``pairs`` of columns, with how many cultures it is over."""
    first, second = (_columns_of(sides, [pair[side] for pair in pairs]) for side in (0, 1))
    cultures, clusters = wide["culture"].to_list(), wide["cluster"].to_list()
    flags = np.full(len(pairs), binary)
    if len(set(cultures)) > 1:
        settings: Keywords = {"varies": False, "permutations": flips}
        for pooled in compare_over_cultures_with_worst_cases(first, second, cultures, clusters, flags, **settings):
            yield {**pooled.comparison._asdict(), "cultures": pooled.cultures}
        return
    languages = wide["language"].unique()
    facts = {"cultures": 1, "culture": cultures[0], "language": languages[0] if len(languages) == 1 else None}
    for comparison in compare_with_worst_cases(first, second, clusters, flags, permutations=flips):
        yield {**comparison._asdict(), **facts}

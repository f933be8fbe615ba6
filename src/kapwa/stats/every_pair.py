"""Every pair of many systems compared on one metric: what ranks them. Sixty systems are 1,770 pairs.

The numbers are those of :func:`kapwa.stats.tables.compare_runs` over cultures, but for random flips where a test is not
exact, and without what a board does not show (single cultures, the bootstrap, whether a difference varies).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from kapwa.errors import DataError
from kapwa.stats.clusters import FloatArray
from kapwa.stats.families import adjust_p_values
from kapwa.stats.intervals import PERMUTATIONS, paired_differences
from kapwa.stats.pooled import pooled_differences
from kapwa.stats.resampling import LEAST_REPLICATES
from kapwa.stats.tables import POOLED_SCHEMA

_PLACE = ("culture", "language", "item_id", "cluster")
_AT_ONCE = 64  # pairs: so much memory as two tables of this many runs


def every_pair(
    items: Sequence[pl.DataFrame], labels: Sequence[str], metric: str, variant: str, *, binary: bool
) -> pl.DataFrame:
    """Compare every two systems on the items both measured: the mean over cultures of the paired difference.

    ``items``: for each system a row an item, with columns culture, language, item_id, cluster and value (its samples
    averaged). ``binary``: right/wrong, or the mean of such. Tests, intervals and the family are those of
    :func:`kapwa.stats.tables.compare_runs`, all pairs being one family. Returns ``POOLED_SCHEMA`` without what is not
    computed (null), one row a pair that shares an item (of several cultures: in two or more), in the order of
    ``labels``. Raises DataError for an item that is in two clusters.
    """
    rows = pl.concat(
        frame.select(*_PLACE, pl.lit(place, pl.Int64).alias("run"), "value") for place, frame in enumerate(items)
    )
    if not rows.height:
        return adjust_p_values(pl.DataFrame(schema=POOLED_SCHEMA))
    wide = rows.pivot(on="run", index=_PLACE, values="value").sort(_PLACE)
    torn = wide.filter(pl.struct(_PLACE[:-1]).is_duplicated())
    if torn.height:
        item = torn["item_id"][0]
        first, second = torn["cluster"][:2]
        message = f"the item {item!r} is in {first!r} in one run, in {second!r} in another."
        raise DataError(message, column="cluster", hint="Compare runs over the same data.")
    absent = [pl.lit(None, pl.Float64).alias(str(place)) for place, frame in enumerate(items) if not frame.height]
    columns = [str(place) for place in range(len(items))]
    values = wide.with_columns(absent).select(columns).to_numpy().astype(np.float64)
    records, every = [], list(combinations(range(len(items)), 2))
    several = wide["culture"].n_unique() > 1
    # The least p-value of random flips, times the number of pairs, must be able to fall below 5 %.
    flips = max(PERMUTATIONS, 40 * len(every))
    for start in range(0, len(every), _AT_ONCE):
        pairs = every[start : start + _AT_ONCE]
        for (first, second), compared in zip(pairs, _compared(values, pairs, wide, binary, flips), strict=True):
            # Of several cultures a pair that shares one has no mean over cultures.
            if compared["n"] and (compared["cultures"] > 1) == several:
                records.append({**compared, "a": labels[first], "b": labels[second]})
    table = pl.DataFrame(records, schema=POOLED_SCHEMA)
    return adjust_p_values(table.with_columns(kind=pl.lit("runs"), metric=pl.lit(metric), variant=pl.lit(variant)))


def _compared(
    values: FloatArray, pairs: Sequence[tuple[int, int]], wide: pl.DataFrame, binary: bool, flips: int
) -> Iterator[dict[str, Any]]:
    """The comparison of each of ``pairs`` of columns, with how many cultures it is over."""
    first, second = (values[:, [pair[side] for pair in pairs]] for side in (0, 1))
    cultures, clusters = wide["culture"].to_list(), wide["cluster"].to_list()
    if len(set(cultures)) > 1:
        for pooled in pooled_differences(
            first, second, cultures, clusters, binary=binary, varies=False, permutations=flips
        ):
            yield {**pooled.comparison._asdict(), "cultures": pooled.cultures}
        return
    languages = wide["language"].unique()
    facts = {"cultures": 1, "culture": cultures[0], "language": languages[0] if len(languages) == 1 else None}
    settings: dict[str, Any] = {"binary": binary, "replicates": LEAST_REPLICATES, "permutations": flips}
    for comparison in paired_differences(first, second, clusters, **settings):
        yield {**comparison._asdict(), **facts}

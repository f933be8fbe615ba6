"""A mean difference on exactly the planned items, and how uncertain it is.

Where every item was asked and answered, this difference is known without error; other items of the same kind are
another question (:mod:`kapwa.stats.pooled`). Only two things make it uncertain: items that were not asked, in a random
order (a finite population, :mod:`kapwa.stats.sequential`), and missing answers, which count against it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from kapwa.stats.clusters import FloatArray
from kapwa.stats.sequential import Partial, mean_of_partials, partial_means

_ITEM = ("culture", "language", "item_id")


class OnTheseItems(NamedTuple):
    """A mean over cultures of a paired difference on the planned items.

    ``value``; ``low``, ``high``: its interval, of length 0 where all items were asked and answered. ``pairs``: items
    that both systems were asked, of the ``items`` that were planned.
    """

    value: float
    low: float
    high: float
    pairs: int
    items: int


def difference_on_these_items(
    a: pl.DataFrame, b: pl.DataFrame, not_asked: pl.DataFrame, *, level: float = 0.95
) -> OnTheseItems | None:
    """Return ``a`` − ``b`` on the items of both, the mean over cultures, each counting alike.

    ``a``, ``b``: what two systems scored on each item they were asked (:func:`kapwa.stats.missing.item_bounds`, with
    ``cluster``): ``least`` and ``most`` are the score, or its bounds where answers are missing. ``not_asked``: the
    items (``culture``, ``language``, ``item_id``, ``cluster``) that one of the two or both were not asked, because they
    stopped in a random order of whole clusters. ``level``: of the interval that allows for these. None where both were
    asked no item of a culture, or only one of its clusters.
    """
    keys = [*_ITEM, "cluster"]
    both = a.join(b, on=_ITEM, suffix="_b").select(
        *keys,
        least=pl.col("least") - pl.col("most_b"),
        most=pl.col("most") - pl.col("least_b"),
    )
    absent = not_asked.select(keys).unique(maintain_order=True).join(both, on=_ITEM, how="anti")
    whole = pl.concat([both, absent], how="diagonal").sort(_ITEM)
    if not both.height:
        return None
    partials = [_of_culture(partial, level) for partial in whole.partition_by("culture", maintain_order=True)]
    if any(np.isnan(partial.value).any() or np.isnan(partial.here).any() for partial in partials):
        return None
    mean = mean_of_partials(partials, share=False, level=level)
    return OnTheseItems(
        value=float(mean.value.mean()),
        low=float(mean.low[0]),
        high=float(mean.high[1]),
        pairs=both.height,
        items=whole.height,
    )


def _of_culture(rows: pl.DataFrame, level: float) -> Partial:
    """Estimate the lower and the upper mean difference of one culture."""
    values = rows.select("least", "most").to_numpy().astype(np.float64)
    codes = rows["cluster"].rank("dense").to_numpy().astype(np.intp) - 1
    partial = partial_means(values, codes, share=False, level=level)
    return partial if np.isnan(values).any() else _exact(partial, values.mean(axis=0))


def _exact(partial: Partial, value: FloatArray) -> Partial:
    """Return the estimate without error, since all items were asked."""
    none = np.zeros_like(value)
    return partial._replace(value=value, here=none, df=np.full_like(value, np.inf), drift=none)

"""How many errors of an automatic judge would undo a verdict between two runs.

A matcher that refuses right answers errs, and it may err on one side more often than on the other. The reported share
is the smallest one such that the verdict no longer holds if that share of the answers judged wrong, on the side of the
lower score only, was in truth right. Errors are spread evenly: each answer judged wrong counts as that share of a right
one, which is its average value if errors are random. The same test is repeated: sign flips at the
level at which Holm's procedure judged this comparison in its family, and the interval.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from kapwa.stats.clusters import FloatArray
from kapwa.stats.families import holds_zero, is_clear, members
from kapwa.stats.intervals import Comparison, paired_differences
from kapwa.stats.pooled import pooled_differences
from kapwa.stats.significance import holm_levels
from kapwa.value_types import Keywords, Row

_ITEM = ("culture", "language", "variant", "item_id")
_STEPS = 1000  # shares are reported to a thousandth


def with_undone_shares(
    table: pl.DataFrame, scores: Mapping[str, pl.DataFrame], judged: Mapping[str, bool]
) -> pl.DataFrame:
    """Add ``undone_by``: the least share of the lower side's answers judged wrong which, if right, undoes the verdict.

    ``table``: adjusted comparisons of runs. ``scores``: score tables by label. ``judged``: metrics that an automatic
    judge decides, and whether each is right or wrong. The share goes from 0.001 to 1 in steps of a thousandth. Null
    where there is no verdict or no such metric, and where the verdict holds even if all of these answers were right
    (because other answers were refused, or empty).
    """
    shares: list[float | None] = [None] * table.height
    rows, p = table.to_dicts(), table["p_value"].fill_null(np.nan).to_numpy()
    for family in members(table) if judged else ():
        levels = holm_levels(p[family])
        for row_index, alpha in zip(family.tolist(), levels, strict=True):
            row = rows[row_index]
            if row["metric"] in judged and is_clear(row):
                sides = (scores[row["a"]], scores[row["b"]])
                shares[row_index] = _undone_by(row, sides, float(alpha), binary=judged[row["metric"]])
    return table.with_columns(pl.Series("undone_by", shares, dtype=pl.Float64))


def _undone_by(row: Row, sides: tuple[pl.DataFrame, pl.DataFrame], alpha: float, *, binary: bool) -> float | None:
    """Find by bisection the first share at which the verdict does not hold; None where it holds at each."""
    higher, lower = sides if row["difference"] > 0 else sides[::-1]
    items = _answers(higher, row).join(_answers(lower, row), on=_ITEM, suffix="_low").sort(_ITEM)
    names = ("value", "value_low", "wrong_low")
    value, low, wrong = (items[name].to_numpy().astype(np.float64)[:, None] for name in names)
    settings: Keywords = {"binary": binary, "mid_p": row["method"].endswith("mid-p")}
    compared: Callable[..., list[Comparison]] = partial(paired_differences, **settings)
    if row["culture"] is None:
        compared = partial(_over_cultures, cultures=items["culture"].to_numpy(), **settings)
    clusters = items["cluster"].to_numpy()

    def is_undone(step: int) -> bool:
        (comparison,) = compared(value, low + step / _STEPS * wrong, clusters)
        return not _holds(comparison, alpha)

    step = bisect_left(range(_STEPS + 1), True, lo=1, key=is_undone)
    return step / _STEPS if step <= _STEPS else None


def _over_cultures(a: FloatArray, b: FloatArray, clusters: Any, *, cultures: Any, **settings: Any) -> list[Comparison]:
    return [pooled.comparison for pooled in pooled_differences(a, b, cultures, clusters, **settings)]


def _holds(comparison: Comparison, alpha: float) -> bool:
    """Whether the verdict for the higher side still holds."""
    p, difference = comparison.p_value, comparison.difference
    return p is not None and p <= alpha and (difference or 0.0) > 0 and not holds_zero(comparison._asdict())


def _answers(scores: pl.DataFrame, row: Mapping[str, object]) -> pl.DataFrame:
    """Each item's value and the share of its answers that were judged wrong, means over samples."""
    where = {name: row[name] for name in ("metric", "culture", "language", "variant") if row[name] is not None}
    measured = scores.filter(pl.col("value").is_not_null(), **where)
    wrong = (pl.col("outcome") == "wrong").mean().alias("wrong")
    return measured.group_by(_ITEM).agg(pl.col("value").mean(), wrong, pl.col("cluster").first())

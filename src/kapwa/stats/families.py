"""Families of tests: which p-values are adjusted together. The command line, Python, pages and CSV all use this module.

A family holds all tests of one kind of comparison, one metric, one variant and one level: means over cultures are one
level, single cultures another; each kind of labels is a level too, as labels overlap. A family includes every pair that
is compared together. Two runs alone therefore get the same verdict from ``kapwa compare`` and from a report of these
two; with more runs the family is larger, and its name says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from kapwa.errors import UsageError
from kapwa.stats.power import detectable_difference
from kapwa.stats.significance import benjamini_hochberg, holm, holm_levels
from kapwa.stats.spread import CultureSpread
from kapwa.value_types import Row

ALPHA = 0.05
# Each p-value that is adjusted by Holm's method, where a table has it.
ADJUSTED: Mapping[str, str] = {
    **{"p_value": "p_holm", "p_equal": "p_equal_holm", "p_varies": "p_varies_holm"},
    "p_worst": "p_worst_holm",
}


def check_margin(margin: float | None, metrics: Mapping[str, bool]) -> None:
    """Raise UsageError for a margin of equivalence that is no positive number, or that no score can exceed."""
    if margin is None:
        return
    if isinstance(margin, bool) or not isinstance(margin, int | float) or not 0 < margin < math.inf:
        raise UsageError(
            f"The margin is {margin!r}; it must be a number above 0.",
            hint="It is a share: for 2 points write 0.02.",
        )
    if margin > 1 and any(metrics.values()):
        raise UsageError(
            f"The margin is {margin:g}; scores of right and wrong answers differ by 1 at most.",
            hint=f"It is a share: for {margin:g} points write {margin / 100:g}.",
        )


def is_clear(row: Row) -> bool:
    """Whether a paired difference is more than noise: Holm's p below 0.05 and an interval without zero.

    Of answers that are missing, each counts against the side that scores higher (:mod:`kapwa.stats.missing`).
    """
    if not _is_clear(row["p_value"] if row.get("p_holm") is None else row["p_holm"], row["low"], row["high"]):
        return False
    if not missing_share(row):
        return True
    return _is_clear(row["p_worst_holm"], row["least_low"], row["least_high"]) and _is_clear(
        row["p_worst_holm"], row["most_low"], row["most_high"]
    )


def _is_clear(p: float | None, low: float | None, high: float | None) -> bool:
    return p is not None and p < ALPHA and not _holds_zero(low, high)


def _holds_zero(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and low <= 0 <= high


def holds_zero(row: Row) -> bool:
    """Whether the interval of a difference is known and holds zero."""
    return _holds_zero(row.get("low"), row.get("high"))


def missing_share(row: Row) -> float:
    """The share of answers that are missing, of the side of a comparison that lacks more."""
    return max(row.get("missing_a") or 0.0, row.get("missing_b") or 0.0)


def is_undecided(row: Row) -> bool:
    """Whether the verdict depends on what the missing answers would have been.

    Depending on these answers, one of the two could be better, or neither.
    """
    if not missing_share(row) or is_clear(row):
        return False
    measured = _is_clear(row["p_value"] if row.get("p_holm") is None else row["p_holm"], row["low"], row["high"])
    ends = (row["least_high"], row["most_low"])
    return measured or (ends[0] is not None and ends[0] < 0) or (ends[1] is not None and ends[1] > 0)


def is_equal(row: Row) -> bool:
    """Whether two are equal within the margin: both one-sided tests reject, adjusted for the whole family."""
    p = row.get("p_equal_holm")
    return p is not None and p < ALPHA


def members(table: pl.DataFrame) -> list[np.ndarray]:
    """The row indices of each family."""
    level = [pl.col("cultures") > 1] if "cultures" in table.columns else []
    level = [pl.col("label_kind")] if "label_kind" in table.columns else level
    families = table.with_row_index("row").group_by("kind", "metric", "variant", *level, maintain_order=True)
    return [row_indices.to_numpy() for row_indices in families.agg("row")["row"]]


def adjust_p_values(table: pl.DataFrame) -> pl.DataFrame:
    """Adjust the p-values of each family, and name the family; rows keep their order.

    ``p_holm``, and where the table has their p-values ``p_worst_holm``, ``p_equal_holm`` and ``p_varies_holm``:
    Holm's. ``p_bh``: Benjamini and Hochberg's, over the same family. ``family`` says what it consists of. ``mde``
    becomes the difference that Holm's procedure detects four times in five, given the other p-values. For a table
    joined from several comparisons the families are those of the whole table.
    """
    p = {name: table[name].fill_null(np.nan).to_numpy() for name in ADJUSTED if name in table.columns}
    stepped = {name: np.full(table.height, np.nan) for name in p}
    shared, levels = np.full((2, table.height), np.nan)
    names = np.full(table.height, "", dtype=object)
    for family in members(table):
        for name, values in p.items():
            stepped[name][family] = holm(values[family])
        shared[family] = benjamini_hochberg(p["p_value"][family])
        levels[family] = holm_levels(p["p_value"][family])
        names[family] = family_words(table[family])
    mde = [_detectable(row, float(alpha)) for row, alpha in zip(table.iter_rows(named=True), levels, strict=True)]
    columns: dict[str, Any] = {
        "mde": mde,
        "p_bh": shared,
        **{ADJUSTED[name]: values for name, values in stepped.items()},
    }
    return table.with_columns(
        *(pl.Series(name, values, dtype=pl.Float64).fill_nan(None) for name, values in columns.items()),
        pl.Series("family", names, dtype=pl.String),
    )


def adjust_spreads(spreads: Sequence[CultureSpread | None]) -> list[CultureSpread | None]:
    """Adjust the tests of whether cultures differ, one for each model, as one family: one metric, one variant.

    ``p_value`` becomes Holm's over all models that are shown together. Ranks are reported only where it rejects, so
    the chance of ranking equal cultures, for any of the models, is 5 %.
    """
    adjusted, p = [], holm([math.nan if spread is None else spread.p_value for spread in spreads])
    for spread, value in zip(spreads, p.tolist(), strict=True):
        shown = spread and spread._replace(p_value=value)
        if spread and value >= ALPHA:
            any_rank = np.full_like(spread.rank_high, len(spread.cultures))
            shown = spread._replace(p_value=value, rank_low=np.ones_like(any_rank), rank_high=any_rank)
        adjusted.append(shown)
    return adjusted


def family_words(rows: pl.DataFrame) -> str:
    """Name one family: "16 tests of mc1 in the variant full (1 pair of runs, 16 cultures one by one)"."""
    first = rows.row(0, named=True)
    tests = rows["p_value"].fill_nan(None).count()
    variant = "" if first["variant"] is None else f" in the variant {first['variant']}"
    pairs = rows.select("a", "b").n_unique()
    phrases = [f"{pairs} pair{'s' if pairs != 1 else ''} of {first['kind']}"]
    if "model" in rows.columns and rows["model"].n_unique() > 1:
        phrases.append(f"{rows['model'].n_unique()} models")
    cultures = rows["culture"].n_unique()
    noun = "language" if first["kind"] == "cultures" else "culture"
    one_by_one = f"{cultures} {noun}s one by one" if cultures != 1 else f"1 {noun}"
    if "label_kind" in rows.columns:
        labels = rows["label"].n_unique()
        phrases.append(f"{labels} label{'s' if labels != 1 else ''} of the kind {first['label_kind']}")
    else:
        phrases.append("means over cultures" if first["culture"] is None else one_by_one)
    return f"{tests} test{'s' if tests != 1 else ''} of {first['metric']}{variant} ({', '.join(phrases)})"


def _detectable(row: Row, alpha: float) -> float | None:
    """The smallest true difference that a test at level ``alpha`` finds four times in five."""
    if row["se"] is None or row["differing"] is None:
        return None
    return detectable_difference(
        **{field: row[field] for field in ("n", "clusters", "difference", "se", "differing")},
        binary=row["method"].startswith("bonett-price"),
        alpha=alpha,
        mid_p=row["method"].endswith("mid-p"),
    )

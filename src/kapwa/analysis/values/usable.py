"""Whether a table can be a survey of values at all: said before an analysis of hours ends in dashes."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from kapwa.analysis.values.nominal import nominal_columns
from kapwa.analysis.values.table import ValuesTable
from kapwa.errors import DataError
from kapwa.suites.eecc.names import resolve

# Means of equal numbers differ in their last digits; standardised, such a question would weigh like any other.
SAME = 1e-12
_LEAST_SQUARE = 3
_SHOWN = 4


def problem_of(table: ValuesTable, *, keep: Collection[str] = (), drop: Collection[str] = ()) -> DataError | None:
    """Say why ``table`` can tell no countries apart, as an error naming the remedy; None where it can.

    Either it holds distances between countries, or every question is dropped, a code, or the same in all rows.
    """
    if _holds_distances(table):
        return DataError(
            "holds distances between countries, not values of them.",
            path=table.path,
            hint="Hold them fixed instead: --control FILE, together with a survey.",
        )
    codes = {name: why for name, why in nominal_columns(table).items() if name not in keep}
    left_out = codes | dict.fromkeys(drop, "left out as asked")
    for name, column in zip(table.questions, table.matrix.T, strict=True):
        known = column[np.isfinite(column)]
        if name not in left_out and (not known.size or np.ptp(known) <= SAME * np.abs(known).max()):
            left_out[name] = "the same in every row" if known.size else "empty"
    return None if len(left_out) < len(table.questions) else nothing_left(table, left_out)


def nothing_left(table: ValuesTable, left_out: Mapping[str, str]) -> DataError:
    """Return the error of a table of which every question is left out, each with why."""
    shown = "; ".join(f"{name}: {why}" for name, why in list(left_out.items())[:_SHOWN])
    more = f"; and {len(left_out) - _SHOWN} more" if len(left_out) > _SHOWN else ""
    return DataError(
        f"has no question that tells countries apart ({shown}{more}).",
        path=table.path,
        hint="It needs a column of numbers that differ. What is left out as a code, --keep COLUMN keeps.",
    )


def _holds_distances(table: ValuesTable) -> bool:
    """Whether columns are countries (a square table), or each row names two (a long one)."""
    named = sum(resolve(question) is not None for question in table.questions)
    square = len(table.questions) >= _LEAST_SQUARE and 2 * named >= len(table.questions)
    return square or (len(table.questions) == 1 and bool(table.columns.rejected) and _repeats(table))


def _repeats(table: ValuesTable) -> bool:
    places = [row.place for row in table.rows if row.place]
    return len(set(places)) < len(places)

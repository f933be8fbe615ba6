"""Which columns of a survey table are no answers on a scale: codes, counts, and what merely describes the row.

A country's mean over codes without an order says nothing of its values, and one such column outweighs all others in a
raw distance. A column is left out of distances when one of these rules holds:

1. its name says that it describes the row (year, wave, weight, sample size, latitude, ...);
2. it is a choice without an order in the questionnaire of the World Values Survey, wave 7 (``WVS7``), and the table
   is one of that survey;
3. its values rise with the countries' ISO numbers (Spearman's ρ ≥ 0.7 over at least 20 countries): codes that begin
   with the country's number, as party codes do. ISO numbers follow the alphabet, so no answer rises with them;
4. its values span over 1,000 times the range of the median column, and go beyond 1,000: no scale of answers is that
   long (needs at least three other columns).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from kapwa.analysis.values.table import ValuesTable, resolve
from kapwa.errors import DataError
from kapwa.languages.places import fold

# Means of equal numbers differ in their last digits; standardised, such a question would weigh like any other.
SAME = 1e-12
_LONGER = 1_000.0
_SHOWN = 4
_DESCRIBES = frozenset(
    (
        *("", "index", "row", "id", "unnamed 0", "year", "survey year", "wave", "date", "weight", "population", "n"),
        *("sample size", "respondents", "interviews", "latitude", "longitude", "lat", "lon", "lng"),
    )
)

# Questions of the World Values Survey, wave 7, whose answers have no order, by what they ask.
WVS7 = {
    "Q91": "which country has no permanent seat on the Security Council",
    "Q92": "where the International Monetary Fund has its seat",
    "Q93": "what Amnesty International deals with",
    "Q111": "environment, growth, or another answer",
    "Q152": "the country's first aim of four",
    "Q153": "the country's second aim of four",
    "Q154": "the respondent's first aim of four",
    "Q155": "the respondent's second aim of four",
    "Q156": "the most important of four things",
    "Q157": "the next most important of four things",
    "Q223": "the party one would vote for",
    "Q266": "country of birth",
    "Q267": "mother's country of birth",
    "Q268": "father's country of birth",
    "Q272": "language spoken at home",
    "Q273": "marital status",
    "Q279": "kind of employment",
    "Q281": "occupation",
    "Q282": "spouse's occupation",
    "Q283": "father's occupation",
    "Q284": "sector of employment",
    "Q289": "religious denomination",
    "Q290": "ethnic group",
}


def nominal_columns(table: ValuesTable) -> dict[str, str]:
    """Return the questions that are no answers on a scale, each with why; the rules are in this module's docstring."""
    is_wvs7 = sum(re.fullmatch(r"Q\d{1,3}", name) is not None for name in table.questions) >= 150
    codes = [row.place.numeric if row.place else "" for row in table.rows]
    numbers = np.array([float(code) if code else np.nan for code in codes])
    known = ~np.isnan(table.matrix)
    spans = np.array(
        [np.ptp(values[k]) if k.any() else np.nan for values, k in zip(table.matrix.T, known.T, strict=True)]
    )
    found: dict[str, str] = {}
    for j, name in enumerate(table.questions):
        values = table.matrix[:, j]
        reasons = (
            "describes the row, by its name" if fold(name) in _DESCRIBES else "",
            f"a choice without an order: {WVS7[name]}" if is_wvs7 and name in WVS7 else "",
            _country_code(values, numbers),
            _beyond_scales(values, spans[j], np.delete(spans, j)),
        )
        if any(reasons):
            found[name] = "; ".join(filter(None, reasons))
    return found


def _country_code(values: NDArray[np.float64], numbers: NDArray[np.float64]) -> str:
    from scipy.stats import spearmanr

    known = ~np.isnan(values) & ~np.isnan(numbers)
    if len(np.unique(numbers[known])) < 20 or np.ptp(values[known]) == 0:
        return ""
    rho = float(spearmanr(values[known], numbers[known])[0])
    return f"rises with the countries' ISO numbers (ρ = {rho:.2f}): codes, not answers" if rho >= 0.7 else ""


def _beyond_scales(values: NDArray[np.float64], span: float, others: NDArray[np.float64]) -> str:
    others = others[others > 0]
    if len(others) < 3 or np.isnan(span) or span <= _LONGER * np.median(others) or np.nanmax(np.abs(values)) <= _LONGER:
        return ""
    low, high, times = np.nanmin(values), np.nanmax(values), span / np.median(others)
    return f"runs from {low:,.6g} to {high:,.6g}, {times:,.0f} times the median column's range: a code or a count"


def problem_of(table: ValuesTable, *, keep: Collection[str] = (), drop: Collection[str] = ()) -> DataError | None:
    """Say why ``table`` can tell no countries apart, as an error with the remedy; None where it can.

    Said before an analysis of hours ends in dashes: the table holds distances between countries, or every question is
    dropped, a code, or the same in all rows.
    """
    if len(table.questions) > 2 and 2 * sum(map(bool, map(resolve, table.questions))) >= len(table.questions):
        return DataError(
            "holds distances between countries, not values of them.",
            path=table.path,
            hint="Hold them fixed instead: --control FILE, together with a survey.",
        )
    left_out = {name: why for name, why in nominal_columns(table).items() if name not in keep}
    left_out |= dict.fromkeys(drop, "left out as asked")
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

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
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kapwa.analysis.values.table import ValuesTable
from kapwa.suites.eecc.names import fold

_RISES = 0.7
_LEAST_COUNTRIES = 20
_LONGER = 1_000.0
_LEAST_OTHERS = 3

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
_WVS7_LEAST = 150


def nominal_columns(table: ValuesTable) -> dict[str, str]:
    """Return the questions that are no answers on a scale, each with why; the rules are in this module's docstring."""
    is_wvs7 = sum(re.fullmatch(r"Q\d{1,3}", name) is not None for name in table.questions) >= _WVS7_LEAST
    numbers = _iso_numbers(table)
    spans = np.array([_span(column) for column in table.matrix.T])
    found: dict[str, str] = {}
    for j, name in enumerate(table.questions):
        values = table.matrix[:, j]
        reasons = (
            "describes the row, by its name" if fold(name) in _DESCRIBES else "",
            f"a choice without an order: {WVS7[name]}" if is_wvs7 and name in WVS7 else "",
            _country_code(values, numbers),
            _beyond_scales(values, spans, j),
        )
        if any(reasons):
            found[name] = "; ".join(filter(None, reasons))
    return found


def _iso_numbers(table: ValuesTable) -> NDArray[np.float64]:
    return np.array([float(row.place.numeric) if row.place and row.place.numeric else np.nan for row in table.rows])


def _country_code(values: NDArray[np.float64], numbers: NDArray[np.float64]) -> str:
    from scipy.stats import spearmanr

    known = ~np.isnan(values) & ~np.isnan(numbers)
    if len(np.unique(numbers[known])) < _LEAST_COUNTRIES or np.ptp(values[known]) == 0:
        return ""
    rho = float(spearmanr(values[known], numbers[known])[0])
    return f"rises with the countries' ISO numbers (ρ = {rho:.2f}): codes, not answers" if rho >= _RISES else ""


def _span(values: Sequence[float] | NDArray[np.float64]) -> float:
    known = np.asarray(values)[~np.isnan(values)]
    return float(np.ptp(known)) if len(known) else np.nan


def _beyond_scales(values: NDArray[np.float64], spans: NDArray[np.float64], j: int) -> str:
    others = np.delete(spans, j)
    others = others[others > 0]
    if len(others) < _LEAST_OTHERS or np.isnan(spans[j]):
        return ""
    times = spans[j] / np.median(others)
    if times <= _LONGER or np.nanmax(np.abs(values)) <= _LONGER:
        return ""
    low, high = np.nanmin(values), np.nanmax(values)
    return f"runs from {low:,.6g} to {high:,.6g}, {times:,.0f} times the median column's range: a code or a count"

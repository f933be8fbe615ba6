"""Agreement tables: every coefficient of :mod:`kapwa.stats.agreement` with its interval, one row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from kapwa.stats.agreement import AgreementEstimate, Coefficient, bootstrap_interval
from kapwa.stats.clusters import cluster_codes
from kapwa.stats.resampling import bootstrap_weights

# A row a unit, a column a rater, None where a rater gave no answer.
Table = Sequence[Sequence[Any]]

SCHEMA = {
    "coefficient": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "units": pl.Int64,
    "raters": pl.Int64,
    "note": pl.String,
}
NAMES = {
    "percent": "Agreement",
    "cohen": "Cohen's κ, mean of pairs",
    "fleiss": "Fleiss' κ",
    "krippendorff-nominal": "Krippendorff's α",
    "guessing": "κ against guessing",
}
COEFFICIENTS: tuple[Coefficient, ...] = ("percent", "cohen", "fleiss", "krippendorff-nominal")


def agreement_rows(table: Table, clusters: Sequence[str], *, seed: int, replicates: int = 2000) -> list[dict[str, Any]]:
    """Return one row per coefficient with a bootstrap interval over clusters of units.

    A coefficient that is undefined has a null value, and the note says why.
    """
    matrix = np.array([list(line) for line in table], dtype=object)
    rows = []
    for name in COEFFICIENTS:
        found = bootstrap_interval(matrix, name, clusters=clusters, seed=seed, replicates=replicates)
        rows.append(_row(found, _note(found, matrix)))
    return rows


def guessing_row(
    table: Table, options: Sequence[int], clusters: Sequence[str], *, seed: int, replicates: int = 2000
) -> dict[str, Any]:
    """Return κ against guessing: chance agreement is that of raters who pick any of a unit's options at random.

    ``options``: how many each unit has. (P_o − P_e) / (1 − P_e) with P_e the mean of 1/options; with equally many
    options everywhere it is Brennan and Prediger's (1981) free-marginal κ. It needs no naming of categories.
    """
    agreeing, chance, rated = [], [], []
    for line, count in zip(table, options, strict=True):
        given = [answer for answer in line if answer is not None]
        pairs = len(given) * (len(given) - 1)
        same = sum(given.count(answer) - 1 for answer in given)
        rated.append(pairs > 0)
        agreeing.append(same / pairs if pairs else 0.0)
        chance.append(1 / count)
    keep = np.array(rated)
    parts = np.stack([np.array(agreeing), np.array(chance), np.ones(len(rated))], axis=1)[keep]
    value, low, high = _quotient_interval(parts, np.asarray(clusters)[keep], seed=seed, replicates=replicates)
    width = max((len(line) for line in table), default=0)
    return _record("guessing", value, (low, high), units=len(parts), raters=width, note="")


def _quotient_interval(
    parts: np.ndarray, clusters: np.ndarray, *, seed: int, replicates: int
) -> tuple[float | None, float | None, float | None]:
    if not len(parts):
        return None, None, None
    codes = cluster_codes(clusters, len(parts))
    totals = np.zeros((int(codes.max()) + 1, 3))
    np.add.at(totals, codes, parts)
    whole = totals.sum(axis=0)
    value = float((whole[0] - whole[1]) / (whole[2] - whole[1]))
    if len(totals) < 2:
        return value, None, None
    draws = bootstrap_weights(len(totals), replicates=replicates, seed=seed) @ totals
    values = (draws[:, 0] - draws[:, 1]) / (draws[:, 2] - draws[:, 1])
    if np.ptp(values) < 1e-12:
        return value, None, None
    low, high = np.quantile(values, [0.025, 0.975])
    return value, float(low), float(high)


def _row(found: AgreementEstimate, note: str) -> dict[str, Any]:
    interval = (found.low, found.high)
    return _record(found.coefficient, found.value, interval, units=found.units, raters=found.raters, note=note)


def _record(
    name: str, value: float | None, interval: tuple[float | None, float | None], *, units: int, raters: int, note: str
) -> dict[str, Any]:
    low, high = interval
    return {
        "coefficient": name,
        "value": value,
        "low": low,
        "high": high,
        "units": units,
        "raters": raters,
        "note": note,
    }


def _note(found: AgreementEstimate, matrix: np.ndarray) -> str:
    if found.value is None:
        if found.units == 0:
            return "undefined: no two raters judged the same thing"
        used = {answer for answer in matrix.ravel() if answer is not None}
        return "undefined: every answer is the same" if len(used) == 1 else "undefined: chance agreement is 1"
    if found.low is None:
        return f"no interval: {found.undefined:.0%} of resamples undefined" if found.undefined else "no interval"
    return ""

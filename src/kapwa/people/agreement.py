"""Agreement tables: every coefficient of :mod:`kapwa.stats.agreement` with its interval, one row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from kapwa.stats.agreement import Coefficient, bootstrap_interval
from kapwa.stats.clusters import cluster_codes
from kapwa.stats.resampling import bootstrap_weights

# A row a unit, a column a rater, None where a rater gave no answer.
Table = Sequence[Sequence[Any]]

SCHEMA = {
    "coefficient": pl.String,
    **dict.fromkeys(("value", "low", "high"), pl.Float64),
    **dict.fromkeys(("units", "raters"), pl.Int64),
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
MOST_PAIRED = 100  # 4,950 pairs; a thousand people would make half a million, and fill the memory


def has_majority(yes: int, answered: int) -> bool:
    """Say whether at least two thirds of those who answered say yes; exact, in whole numbers.

    2 of 3 and 4 of 6 are a majority, 1 of 2 is not.
    """
    return answered > 0 and 3 * yes >= 2 * answered


def agreement_rows(table: Table, clusters: Sequence[str], *, seed: int, replicates: int = 2000) -> list[dict[str, Any]]:
    """Return one row per coefficient with a bootstrap interval over clusters of units.

    A coefficient that is undefined has a null value, and the note says why.
    """
    matrix = np.array([list(line) for line in table], dtype=object)
    used = {answer for answer in matrix.ravel() if answer is not None}
    rows: list[dict[str, Any]] = []
    for name in COEFFICIENTS:
        if name == "cohen" and matrix.shape[1] > MOST_PAIRED:
            empty = dict.fromkeys(("value", "low", "high", "units"))
            note = f"not computed for more than {MOST_PAIRED} people, who make too many pairs"
            rows.append({"coefficient": name, **empty, "raters": matrix.shape[1], "note": note})
            continue
        found = bootstrap_interval(matrix, name, clusters=clusters, seed=seed, replicates=replicates)
        note = ""
        if found.value is None:
            reason = "every answer is the same" if len(used) == 1 else "chance agreement is 1"
            note = f"undefined: {reason if found.units else 'no two raters judged the same thing'}"
        elif found.low is None:
            note = f"no interval: {found.undefined:.0%} of resamples undefined" if found.undefined else "no interval"
        rows.append({**{column: getattr(found, column) for column in SCHEMA if column != "note"}, "note": note})
    return rows


def guessing_row(
    table: Table, options: Sequence[int], clusters: Sequence[str], *, seed: int, replicates: int = 2000
) -> dict[str, Any]:
    """Return κ against guessing: chance agreement is that of raters who pick any of a unit's options at random.

    ``options``: how many each unit has. (P_o − P_e) / (1 − P_e) with P_e the mean of 1/options; with equally many
    options everywhere it is Brennan and Prediger's (1981) free-marginal κ. It needs no naming of categories.
    """
    parts, kept = [], []
    for line, count, cluster in zip(table, options, clusters, strict=True):
        given = [answer for answer in line if answer is not None]
        pairs = len(given) * (len(given) - 1)
        if pairs:
            parts.append((sum(given.count(answer) - 1 for answer in given) / pairs, 1 / count, 1.0))
            kept.append(cluster)
    value = low = high = None
    if parts:
        codes = cluster_codes(np.asarray(kept), len(parts))
        totals = np.zeros((int(codes.max()) + 1, 3))
        np.add.at(totals, codes, np.array(parts))
        observed, chance, whole = totals.sum(axis=0)
        value = float((observed - chance) / (whole - chance))
        draws = bootstrap_weights(len(totals), replicates=replicates, seed=seed) @ totals if len(totals) > 1 else totals
        values = (draws[:, 0] - draws[:, 1]) / (draws[:, 2] - draws[:, 1])
        if np.ptp(values) >= 1e-12:
            low, high = map(float, np.quantile(values, [0.025, 0.975]))
    width = max((len(line) for line in table), default=0)
    cells = ("guessing", value, low, high, len(parts), width, "")
    return dict(zip(SCHEMA, cells, strict=True))

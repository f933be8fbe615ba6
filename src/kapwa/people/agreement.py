"""Agreement tables: every coefficient of :mod:`kapwa.stats.agreement` with its interval, one row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from kapwa.stats.agreement import Coefficient, bootstrap_interval
from kapwa.stats.intervals import mean_estimates

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


def agreement_rows(
    table: Table,
    clusters: Sequence[str],
    *,
    seed: int,
    replicates: int = 2000,
    coefficients: Sequence[Coefficient] = COEFFICIENTS,
) -> list[dict[str, Any]]:
    """Return one row per coefficient with a bootstrap interval over clusters of units.

    A coefficient that is undefined has a null value, and the note says why.
    """
    matrix = np.array([list(line) for line in table], dtype=object)
    used = {answer for answer in matrix.ravel() if answer is not None}
    rows: list[dict[str, Any]] = []
    for name in coefficients:
        if name == "cohen" and matrix.shape[1] > MOST_PAIRED:
            empty = dict.fromkeys(("value", "low", "high", "units"))
            note = f"not computed for more than {MOST_PAIRED} people, who make too many pairs"
            rows.append({"coefficient": name, **empty, "raters": matrix.shape[1], "note": note})
            continue
        estimate = bootstrap_interval(matrix, name, clusters=clusters, seed=seed, replicates=replicates)
        note = ""
        if estimate.value is None:
            reason = "every answer is the same" if len(used) == 1 else "chance agreement is 1"
            note = f"undefined: {reason if estimate.units else 'no two raters judged the same thing'}"
        elif estimate.low is None:
            why = f": {estimate.undefined:.0%} of resamples undefined" if estimate.undefined else ""
            note = f"no interval{why}"
        rows.append({**{column: getattr(estimate, column) for column in SCHEMA if column != "note"}, "note": note})
    return rows


def guessing_row(table: Table, options: Sequence[int], clusters: Sequence[str]) -> dict[str, Any]:
    """Return κ against guessing: chance agreement is that of raters who pick any of a unit's options at random.

    ``options``: how many each unit has. (P_o − P_e) / (1 − P_e) with P_e the mean of 1/options; with equally many
    options everywhere it is Brennan and Prediger's (1981) free-marginal κ. It needs no naming of categories. The
    interval is that of P_o, percent agreement, with P_e as it is.
    """
    agreed, chances, kept = [], [], []
    for line, count, cluster in zip(table, options, clusters, strict=True):
        answers = [answer for answer in line if answer is not None]
        pairs = len(answers) * (len(answers) - 1)
        if pairs:
            agreed.append(sum(answers.count(answer) - 1 for answer in answers) / pairs)
            chances.append(1 / count)
            kept.append(cluster)
    observed = mean_estimates(agreed, kept, binary=True)[0]
    chance = float(np.mean(chances)) if chances else 0.0
    shares = (observed.value, observed.low, observed.high)
    kappas = [None if share is None else (share - chance) / (1 - chance) for share in shares]
    width = max((len(line) for line in table), default=0)
    return dict(zip(SCHEMA, ("guessing", *kappas, len(agreed), width, ""), strict=True))

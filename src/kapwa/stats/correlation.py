"""Correlation of two lists of numbers, with intervals that admit how few models there are."""

from __future__ import annotations

from itertools import combinations
from math import exp, lgamma
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from kapwa.errors import DataError, UsageError
from kapwa.stats.clusters import FloatArray
from kapwa.value_types import Schema

CORRELATION_SCHEMA: Schema = {
    **dict.fromkeys(("metric_a", "metric_b", "coefficient"), pl.String),
    **dict.fromkeys(("value", "low", "high", "p_value"), pl.Float64),
    "n": pl.Int64,
}


class Correlation(NamedTuple):
    """A correlation in [−1, 1] of ``n`` complete pairs.

    ``value`` is None with fewer than two pairs or when one side is constant; ``low`` and ``high`` are None with
    fewer than four pairs or at exactly ±1, where the transform is infinite; ``p_value`` (two-sided, Student t with
    n − 2 degrees of freedom) is None with fewer than three pairs. At ±1, and of ranks everywhere, it is not below 2/n!,
    the least that permutations of n pairs can give.
    """

    value: float | None
    low: float | None
    high: float | None
    p_value: float | None
    n: int


class Disattenuated(NamedTuple):
    """Estimate what a correlation of scores would be without their sampling errors.

    ``value`` in [−1, 1], ``low`` and ``high`` its 95 % interval; all None where it is undefined: with fewer than four
    pairs, at r = ±1, and where one side's scores differ by no more than their errors make them (reliability ≤ 0).
    ``reliability_x``, ``reliability_y``: the share of the variance between scores that is not sampling error.
    """

    value: float | None
    low: float | None
    high: float | None
    reliability_x: float | None
    reliability_y: float | None
    n: int


def disattenuated(x: ArrayLike, y: ArrayLike, errors_x: ArrayLike, errors_y: ArrayLike) -> Disattenuated:
    """Pearson's r of the true scores behind two lists of estimates (Spearman 1904), with its interval.

    ``errors_x``, ``errors_y``: (n, G) what each of G sampled clusters adds to the error of each score, so that Σ_g e²
    is the score's squared standard error (Σ_{i∈g} (x_i − x̄) / n · √(G/(G−1)) for a mean; 0 where a score has no item
    of the cluster). Scores on the same items have correlated errors, and so may the two sides; both are removed:
    (S_xy − N_xy) / √((S_xx − N_xx)(S_yy − N_yy)), with S the (co)variances of the scores and N what sampling adds to
    them. The interval is Fisher's for r, with both ends corrected in the same way. It ignores that S_xx is itself
    uncertain; simulations show that this does no harm (``benchmarks/simulations/correlations.py``). NaN pairs are left
    out.
    """
    values = np.stack([np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)])
    complete = ~np.isnan(values).any(axis=0)
    values = values[:, complete]
    errors = np.stack([np.asarray(side, dtype=np.float64)[complete] for side in (errors_x, errors_y)])
    observed, n = pearson(*values), values.shape[1]
    if observed.low is None or observed.high is None or observed.value is None:
        return Disattenuated(None, None, None, None, None, n)
    errors -= errors.mean(axis=1, keepdims=True)
    spread, noise = np.cov(values), np.einsum("akg,bkg->ab", errors, errors) / (n - 1)
    known = np.diag(spread - noise)
    first, second = (known / np.diag(spread)).tolist()
    if min(known) <= 0:
        return Disattenuated(None, None, None, first, second, n)
    ends = np.array([observed.value, observed.low, observed.high]) * np.sqrt(spread[0, 0] * spread[1, 1])
    value, low, high = np.clip((ends - noise[0, 1]) / np.sqrt(known.prod()), -1, 1).tolist()
    return Disattenuated(value, low, high, first, second, n)


def pearson(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Pearson's linear correlation; 95 % interval by Fisher's z, tanh(atanh r ± z/√(n − 3)). NaN pairs are left out."""
    return _correlation(*_complete(x, y))


def spearman(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Spearman's rank correlation, ties at their mean rank. NaN pairs are left out.

    95 % interval: Fisher's z with the variance (1 + r²/2)/(n − 3) of Bonett and Wright (2000).
    """
    return _correlation(*map(_mean_ranks, _complete(x, y)), inflation=0.5)


def _mean_ranks(values: FloatArray) -> FloatArray:
    """Rank from 1; equal values share the mean of their ranks."""
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[index], dtype=np.float64)


def _complete(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise UsageError(f"A correlation needs two lists of equal length, not {first.shape} and {second.shape}.")
    if np.isinf(first).any() or np.isinf(second).any():
        raise UsageError("A correlation needs finite numbers.", hint="Use NaN for 'not measured'.")
    complete = ~(np.isnan(first) | np.isnan(second))
    return first[complete], second[complete]


def _correlation(x: FloatArray, y: FloatArray, *, inflation: float = 0.0) -> Correlation:
    """Product-moment correlation; Fisher's variance grows by the factor 1 + ``inflation`` · r²."""
    from scipy.special import ndtri, stdtr

    n = len(x)
    if n < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Correlation(None, None, None, None, n)
    dx, dy = x - x.mean(), y - y.mean()
    r = float((dx / np.linalg.norm(dx)) @ (dy / np.linalg.norm(dy)))
    least = 2 * exp(-lgamma(n + 1))
    if abs(r) > 1 - 1e-14:  # rounding leaves perfectly linear data a few ulp short of (or beyond) one
        return Correlation(float(np.sign(r)), None, None, least if n > 2 else None, n)
    p = float(2 * stdtr(n - 2, -abs(r) * np.sqrt((n - 2) / (1 - r * r)))) if n > 2 else None
    if p is not None and inflation:
        p = max(p, least)
    if n < 4:
        return Correlation(r, None, None, p, n)
    half = ndtri(0.975) * np.sqrt((1 + inflation * r**2) / (n - 3))
    return Correlation(r, float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half)), p, n)


def correlate_metrics(values: pl.DataFrame) -> pl.DataFrame:
    """Correlate every pair of metrics across runs (or models).

    ``values``: one row a run, one numeric column a metric; columns of other types (names) are left alone, null is
    not measured. Returns :data:`CORRELATION_SCHEMA`: each unordered pair once, in column order, with a "pearson" and
    a "spearman" row. Mind that models of one family are not independent draws, and that a correlation over nine
    models has a wide interval.
    """
    names = [name for name, kind in values.schema.items() if kind.is_numeric()]
    if len(names) < 2:
        raise UsageError(
            f"Correlations need at least two numeric columns; the table has {len(names)}.",
            hint="Give one row per run and one column per metric.",
        )
    columns = {name: values[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in names}
    for name, column in columns.items():
        if np.isinf(column).any():
            raise DataError("a value is infinite.", column=name, hint="Use null for 'not measured'.")
    records = [
        {"metric_a": a, "metric_b": b, "coefficient": function.__name__} | function(columns[a], columns[b])._asdict()
        for a, b in combinations(names, 2)
        for function in (pearson, spearman)
    ]
    return pl.DataFrame(records, schema=CORRELATION_SCHEMA)

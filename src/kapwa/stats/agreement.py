"""Agreement between raters: percent, Cohen, Fleiss and Krippendorff, with bootstrap intervals.

Ratings are a (units, raters) table of labels; None, NaN and "" mean *not rated*. Every coefficient is a function of
sums over units of small per-unit statistics, so thousands of bootstrap resamples are one matrix product.

Units with fewer than two ratings are left out of every coefficient. Chance-corrected coefficients are undefined
when only one category was used at all: nothing could have been disagreed on, so chance agreement is 1 and the
quotient 0/0. They are NaN then, never 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import DataError, UsageError, nearest
from kapwa.stats.clusters import FloatArray, IntArray, check_level, cluster_codes, none_if_nan
from kapwa.stats.resampling import bootstrap_weights, check_replicates

Coefficient = Literal[
    "percent", "cohen", "fleiss", "krippendorff-nominal", "krippendorff-ordinal", "krippendorff-interval"
]
Finish = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Ratings:
    """``codes``: (units, raters) category number or −1 for not rated; ``categories``: sorted labels."""

    codes: IntArray
    categories: tuple[Any, ...]

    @property
    def counts(self) -> FloatArray:
        """How often each category was given to each unit: (units, categories)."""
        return np.asarray((self.codes[:, :, None] == np.arange(len(self.categories))).sum(axis=1), dtype=np.float64)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """All pairs of raters."""
        return tuple(combinations(range(self.codes.shape[1]), 2))

    @property
    def pairable(self) -> tuple[FloatArray, FloatArray]:
        """Counts with the units of a single rating emptied, and the number of ratings left in each unit."""
        counts = self.counts
        counts[counts.sum(axis=1) < 2] = 0
        return counts, counts.sum(axis=1)

    @property
    def scaled_values(self) -> FloatArray:
        """Numeric categories moved and scaled to [0, 1]: alpha does not change, and sums do not overflow."""
        values = np.array(self.categories, dtype=np.float64)
        if values.size < 2:
            return np.zeros(values.size)
        return np.asarray((values - values[0]) / (values[-1] - values[0]))


@dataclass(frozen=True, slots=True)
class PairKappa:
    """Cohen's kappa of one pair of raters (by column) on the ``n`` units both rated; None when undefined."""

    first: int
    second: int
    value: float | None
    n: int


@dataclass(frozen=True, slots=True)
class PairwiseKappa:
    """Kappa of every pair of raters and the mean over the pairs where it is defined (None when nowhere)."""

    pairs: tuple[PairKappa, ...]
    mean: float | None


@dataclass(frozen=True, slots=True)
class AgreementEstimate:
    """A coefficient with its bootstrap interval over units (or clusters of units).

    ``value`` is None where undefined. ``low`` and ``high`` are None with fewer than two clusters, when no resample
    disagrees with another (an interval of no width would claim certainty), or when more than 5 % of the resamples
    are undefined; ``undefined`` is that share. ``units``: units with at least two ratings.
    """

    coefficient: str
    value: float | None
    low: float | None
    high: float | None
    units: int
    raters: int
    clusters: int
    undefined: float
    method: str


def agreement(ratings: ArrayLike, coefficient: Coefficient) -> float:
    """Agreement of a (units, raters) table; 1 is perfect. NaN where undefined: see the top of this module.

    "percent": share of rater pairs that agree on a unit, averaged over units, in [0, 1]. "cohen": kappa, unweighted,
    on the units both rated, the mean over pairs of raters (Cohen 1960; Light 1971). "fleiss": units may have different
    numbers of ratings, and count alike (Gwet 2014, ch. 2, but units with a single rating are left out here as in every
    other coefficient); with none missing it is Fleiss (1971). "krippendorff-…": alpha for nominal labels, or for
    ordinal or interval numbers (Krippendorff 2011, Computing Krippendorff's Alpha-Reliability).
    Raises UsageError for an unknown coefficient, DataError for a label that is not a number where one is needed.
    """
    return _value(_coefficient(coefficient, ratings)[1])


def pairwise_kappa(ratings: ArrayLike) -> PairwiseKappa:
    """Cohen's kappa of every pair of raters, and their mean (Light 1971)."""
    table = encode_ratings(ratings)
    statistics, _ = _cohen(table)
    kappas = _pair_kappas(statistics.sum(axis=0)[None], table)[0]
    both = [int(np.sum((table.codes[:, i] >= 0) & (table.codes[:, j] >= 0))) for i, j in table.pairs]
    pairs = tuple(
        PairKappa(i, j, none_if_nan(value), n) for (i, j), value, n in zip(table.pairs, kappas, both, strict=True)
    )
    return PairwiseKappa(pairs, none_if_nan(float(_mean_defined(kappas[None])[0])))


def bootstrap_interval(
    ratings: ArrayLike,
    coefficient: Coefficient,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    seed: int = 0,
    replicates: int = 2000,
) -> AgreementEstimate:
    """Compute a coefficient with a percentile bootstrap interval, resampling units with all their ratings.

    ``ratings``: (units, raters). ``coefficient``: "cohen" is the mean over pairs of raters. ``clusters``: (units,)
    labels; units of one cluster are drawn together. The interval speaks of other units rated by *these* raters; it
    does not cover the choice of raters. Deterministic for a seed. Raises UsageError for an unknown coefficient.
    """
    check_level(level)
    check_replicates(replicates)
    table, (statistics, finish) = _coefficient(coefficient, ratings)
    value = _value((statistics, finish))
    rated = np.asarray((table.codes >= 0).sum(axis=1) >= 2)
    codes = cluster_codes(clusters, table.codes.shape[0])
    totals = _sum_by(codes[rated], statistics[rated])
    groups = totals.shape[0]
    low, high, undefined = np.nan, np.nan, 0.0
    if groups >= 2:
        draws = finish(bootstrap_weights(groups, replicates=replicates, seed=seed) @ totals)
        undefined = float(np.isnan(draws).mean())
        low, high = _percentiles(draws[~np.isnan(draws)], level, undefined)
    return AgreementEstimate(
        coefficient=coefficient,
        value=none_if_nan(value),
        low=none_if_nan(low),
        high=none_if_nan(high),
        units=int(rated.sum()),
        raters=table.codes.shape[1],
        clusters=groups,
        undefined=undefined,
        method="bootstrap-percentile" if clusters is None else "bootstrap-percentile-clustered",
    )


def _percentiles(draws: FloatArray, level: float, undefined: float) -> tuple[float, float]:
    """Percentile interval, or NaN where it would be of no width or rest on too few defined resamples."""
    if undefined > 0.05 or np.ptp(draws) < 1e-12:
        return np.nan, np.nan
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _sum_by(codes: IntArray, statistics: FloatArray) -> FloatArray:
    """Sum rows of per-unit statistics by cluster; clusters without rated units are left out."""
    _, index = np.unique(codes, return_inverse=True)
    totals = np.zeros((int(index.max(initial=-1)) + 1, statistics.shape[1]))
    np.add.at(totals, index, statistics)
    return totals


def _coefficient(name: str, ratings: ArrayLike) -> tuple[Ratings, tuple[FloatArray, Finish]]:
    if name not in get_args(Coefficient):
        raise UsageError(f"There is no coefficient {name!r}.", hint=nearest(name, get_args(Coefficient)))
    numeric = name in ("krippendorff-ordinal", "krippendorff-interval")
    table = encode_ratings(ratings, numeric=numeric)
    parts = {
        "percent": _percent,
        "cohen": _cohen,
        "fleiss": _fleiss,
        "krippendorff-nominal": _alpha_nominal,
        "krippendorff-ordinal": _alpha_ordinal,
        "krippendorff-interval": _alpha_interval,
    }
    return table, parts[name](table)


def _value(parts: tuple[FloatArray, Finish]) -> float:
    statistics, finish = parts
    return float(finish(statistics.sum(axis=0)[None])[0])


def _quotient(a: FloatArray, b: FloatArray) -> FloatArray:
    """Divide, NaN where the divisor is zero (or negative zero's worth of rounding)."""
    quotient: FloatArray = np.divide(a, b, out=np.full(a.shape, np.nan), where=np.abs(b) > 1e-12)
    return quotient


def _corrected(agreement: FloatArray, chance: FloatArray) -> FloatArray:
    return _quotient(agreement - chance, 1 - chance)


def _agreeing_share(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Share of agreeing ordered rater pairs in each unit (0 without pairs), and whether it has pairs."""
    m = counts.sum(axis=1)
    pairs = m * (m - 1)
    agreeing = (counts * (counts - 1)).sum(axis=1)
    return np.divide(agreeing, pairs, out=np.zeros_like(pairs), where=pairs > 0), (pairs > 0).astype(np.float64)


def _percent(table: Ratings) -> tuple[FloatArray, Finish]:
    share, has_pairs = _agreeing_share(table.counts)
    return np.stack([share, has_pairs], axis=1), lambda sums: _quotient(sums[:, 0], sums[:, 1])


def _fleiss(table: Ratings) -> tuple[FloatArray, Finish]:
    """Per unit: share of agreeing pairs, whether it has pairs, share of each category."""
    share, has_pairs = _agreeing_share(table.counts)
    pairable, m = table.pairable
    shares = np.divide(pairable, m[:, None], out=np.zeros_like(pairable), where=m[:, None] > 0)

    def finish(sums: FloatArray) -> FloatArray:
        units = sums[:, 1]
        chance = _quotient((sums[:, 2:] ** 2).sum(axis=1), units**2)
        return _corrected(_quotient(sums[:, 0], units), chance)

    return np.column_stack([share, has_pairs, shares]), finish


def _cohen(table: Ratings) -> tuple[FloatArray, Finish]:
    """Per unit and pair of raters: rated by both, agreed, and each one's category."""
    k = table.counts.shape[1]
    columns: list[FloatArray] = []
    for i, j in table.pairs:
        both = (table.codes[:, i] >= 0) & (table.codes[:, j] >= 0)
        agreed = both & (table.codes[:, i] == table.codes[:, j])
        margins = [(table.codes[:, [rater]] == np.arange(k)) & both[:, None] for rater in (i, j)]
        columns.append(np.column_stack([both, agreed, *margins]).astype(np.float64))
    statistics = np.concatenate(columns, axis=1) if columns else np.zeros((table.codes.shape[0], 0))
    return statistics, lambda sums: _mean_defined(_pair_kappas(sums, table))


def _pair_kappas(sums: FloatArray, table: Ratings) -> FloatArray:
    """Kappa of each pair, (replicates, pairs), from sums of the statistics of :func:`_cohen`."""
    k = table.counts.shape[1]
    blocks = sums.reshape(sums.shape[0], len(table.pairs), 2 + 2 * k)
    n = blocks[..., 0]
    chance = _quotient((blocks[..., 2 : 2 + k] * blocks[..., 2 + k :]).sum(axis=-1), n**2)
    return _corrected(_quotient(blocks[..., 1], n), chance)


def _mean_defined(kappas: FloatArray) -> FloatArray:
    """Mean over the defined pairs of each replicate; NaN when none is."""
    defined = ~np.isnan(kappas)
    return _quotient(np.where(defined, kappas, 0.0).sum(axis=1), defined.sum(axis=1).astype(np.float64))


def _alpha_nominal(table: Ratings) -> tuple[FloatArray, Finish]:
    """Per unit: observed disagreement, and the counts of its pairable values."""
    pairable, m = table.pairable
    disagreement = np.divide(m**2 - (pairable**2).sum(axis=1), m - 1, out=np.zeros_like(m), where=m > 1)

    def finish(sums: FloatArray) -> FloatArray:
        values = sums[:, 1:]
        n = values.sum(axis=1)
        expected = _quotient(n**2 - (values**2).sum(axis=1), n - 1)
        return 1 - _quotient(sums[:, 0], expected)

    return np.column_stack([disagreement, pairable]), finish


def _alpha_interval(table: Ratings) -> tuple[FloatArray, Finish]:
    """Squared differences, summed without forming the category-by-category table."""
    pairable, m = table.pairable
    scale = table.scaled_values
    first, second = pairable @ scale, pairable @ scale**2
    disagreement = np.divide(2 * (m * second - first**2), m - 1, out=np.zeros_like(m), where=m > 1)

    def finish(sums: FloatArray) -> FloatArray:
        observed, n, total, square = sums.T
        return 1 - _quotient(observed, _quotient(2 * (n * square - total**2), n - 1))

    return np.column_stack([disagreement, m, first, second]), finish


def _alpha_ordinal(table: Ratings) -> tuple[FloatArray, Finish]:
    """Ordinal distance depends on how often each rank was used, so the coincidence table itself is summed."""
    pairable, m = table.pairable
    k = pairable.shape[1]
    products = pairable[:, :, None] * pairable[:, None, :] - pairable[:, :, None] * np.eye(k)
    coincidence = np.divide(products, (m - 1)[:, None, None], out=np.zeros_like(products), where=(m > 1)[:, None, None])

    def finish(sums: FloatArray) -> FloatArray:
        observed = sums.reshape(sums.shape[0], k, k)
        used = observed.sum(axis=2)
        n = used.sum(axis=1)
        middle = np.cumsum(used, axis=1) - used / 2
        distance = (middle[:, :, None] - middle[:, None, :]) ** 2
        expected = _quotient((used[:, :, None] * used[:, None, :] * distance).sum(axis=(1, 2)), n - 1)
        return 1 - _quotient((observed * distance).sum(axis=(1, 2)), expected)

    return coincidence.reshape(m.size, k * k), finish


# --- tables of ratings as category numbers ------------------------------------------------------------------


def encode_ratings(ratings: ArrayLike, *, numeric: bool = False) -> Ratings:
    """Number the categories of a (units, raters) table in sorted order; None, NaN and "" are not rated.

    ``numeric``: labels must be finite numbers (or their text). Raises UsageError for another shape, DataError
    naming the row for a label that is not a number.
    """
    table = np.asarray(ratings, dtype=object)
    if table.ndim != 2:
        raise UsageError(
            f"Ratings must be a table of units × raters, not of shape {table.shape}.",
            hint="Give one row per unit and one column per rater.",
        )
    labels = [[_label(value, row, numeric) for value in line] for row, line in enumerate(table, start=1)]
    used = {label for line in labels for label in line if label is not None}
    categories = tuple(sorted(used) if numeric else sorted(used, key=lambda label: (str(label), repr(label))))
    number = {label: index for index, label in enumerate(categories)}
    codes = [[-1 if label is None else number[label] for label in line] for line in labels]
    return Ratings(np.array(codes, dtype=np.intp).reshape(table.shape), categories)


def _label(value: Any, row: int, numeric: bool) -> Any:
    """Return the label, None when not rated."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, float | np.floating) and np.isnan(value):
        return None
    if not numeric:
        return value.strip() if isinstance(value, str) else value
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not np.isfinite(number):
        raise DataError(
            f"the rating {value!r} is not a number.",
            row=row,
            hint="Ordinal and interval agreement need numbers; use 'nominal' for labels.",
        )
    return number

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
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import DataError, UsageError, check_known
from kapwa.stats.clusters import FloatArray, IntArray, cluster_codes, none_if_nan
from kapwa.stats.intervals import Estimate, mean_estimates
from kapwa.stats.resampling import bootstrap_weights, check_replicates, expanded_tail

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
    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of raters."""
        return list(combinations(range(self.codes.shape[1]), 2))

    def pairable(self) -> tuple[FloatArray, FloatArray]:
        """How often each category was given to each unit, units of a single rating emptied, and the sum over units."""
        counts = (self.codes[:, :, None] == np.arange(len(self.categories))).sum(axis=1).astype(np.float64)
        counts[counts.sum(axis=1) < 2] = 0
        return counts, counts.sum(axis=1)


class PairKappa(NamedTuple):
    """Cohen's kappa of one pair of raters (by column) on the ``n`` units both rated; None when undefined."""

    first: int
    second: int
    value: float | None
    n: int


class AgreementEstimate(NamedTuple):
    """A coefficient with its interval over units (or clusters of units).

    ``value`` is None where undefined. ``low`` and ``high`` are None with fewer than two clusters, when no resample
    disagrees with another (an interval of no width would claim certainty), or when more than 5 % of the resamples
    are undefined; ``undefined`` is that share. ``units``: units with at least two ratings. ``method``:
    "wilson-clustered" (percent agreement), else "bootstrap-expanded".
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


def pairwise_kappa(ratings: ArrayLike) -> list[PairKappa]:
    """Cohen's kappa of every pair of raters (Light 1971)."""
    table = encode_ratings(ratings)
    kappas = _pair_kappas(_cohen(table)[0].sum(axis=0)[None], table)[0]
    rated = table.codes >= 0
    return [
        PairKappa(i, j, none_if_nan(value), int((rated[:, i] & rated[:, j]).sum()))
        for (i, j), value in zip(table.pairs, kappas, strict=True)
    ]


def bootstrap_interval(
    ratings: ArrayLike,
    coefficient: Coefficient,
    *,
    clusters: ArrayLike | None = None,
    seed: int = 0,
    replicates: int = 2000,
) -> AgreementEstimate:
    """Agreement of a (units, raters) table (1 is perfect) with a 95 % interval over units.

    "percent": share of rater pairs that agree on a unit, averaged over units, in [0, 1]. "cohen": kappa, unweighted,
    on the units both rated, the mean over pairs of raters (Cohen 1960; Light 1971). "fleiss": units may have different
    numbers of ratings, and count alike (Gwet 2014, ch. 2, but units with a single rating are left out here as in every
    other coefficient); with none missing it is Fleiss (1971). "krippendorff-…": alpha for nominal labels, or for
    ordinal or interval numbers (Krippendorff 2011, Computing Krippendorff's Alpha-Reliability).

    Interval: units are drawn with all their ratings, units of one of the ``clusters`` ((units,) labels) together, and
    the percentiles are expanded (:func:`kapwa.stats.resampling.expanded_tail`). Where one label is rare, units that all
    call so may be missing by chance, and then every resample misses them too. One imagined cluster of the usual size is
    therefore drawn with the others, in which all raters give the rarest label (as Agresti and Coull 1998 add answers of
    both kinds to a share); it is in no ``value``. Percent agreement is a mean, with the Wilson interval of other means.
    The interval speaks of other units rated by *these* raters; it does not cover the choice of raters. Deterministic
    for a seed. Raises UsageError for an unknown coefficient, DataError for a label that is not a number where one is
    needed.
    """
    check_replicates(replicates)
    check_known(coefficient, _STATISTICS, f"There is no coefficient {coefficient!r}.")
    table = encode_ratings(ratings, numeric=coefficient in ("krippendorff-ordinal", "krippendorff-interval"))
    rated = (table.codes >= 0).sum(axis=1) >= 2
    units, raters = int(rated.sum()), table.codes.shape[1]
    codes = cluster_codes(clusters, len(rated))[rated]
    if coefficient == "percent":
        mean = mean_estimates(_percent(table)[0][rated, 0], codes, share=True)[0]
        return AgreementEstimate(
            coefficient=coefficient,
            value=mean.value,
            low=mean.low,
            high=mean.high,
            units=units,
            raters=raters,
            clusters=mean.clusters,
            undefined=0.0,
            method=mean.method,
        )
    rated_codes = table.codes[rated]
    used = np.bincount(rated_codes[rated_codes >= 0], minlength=1)
    rarest = int(np.argmin(np.where(used > 0, used, used.max() + 1)))
    statistics, finish = _STATISTICS[coefficient](
        Ratings(np.vstack([rated_codes, np.full(raters, rarest)]), table.categories)
    )
    _, codes = np.unique(codes, return_inverse=True)
    groups = int(codes.max(initial=-1)) + 1
    totals = np.zeros((groups + 1, statistics.shape[1]))
    np.add.at(totals, codes, statistics[:-1])
    value = float(finish(totals.sum(axis=0)[None])[0])
    totals[groups] = statistics[-1] * units / max(groups, 1)
    low, high, undefined = _expanded_interval(totals, finish, replicates=replicates, seed=seed)
    return AgreementEstimate(
        coefficient=coefficient,
        value=none_if_nan(value),
        low=none_if_nan(low),
        high=none_if_nan(high),
        units=units,
        raters=raters,
        clusters=groups,
        undefined=undefined,
        method="bootstrap-expanded",
    )


def _expanded_interval(
    totals: FloatArray, finish: Callable[[FloatArray], FloatArray], *, replicates: int, seed: int
) -> tuple[float, float, float]:
    """Return the interval of a coefficient from sums of its statistics, and the share of resamples without a value.

    ``totals``: a row for each cluster, then that of the imagined one. NaN where there is no interval.
    """
    groups = len(totals) - 1
    if groups < 2:
        return np.nan, np.nan, 0.0
    draws = finish(bootstrap_weights(groups + 1, replicates=replicates, seed=seed) @ totals)
    undefined = float(np.isnan(draws).mean())
    draws = draws[~np.isnan(draws)]
    if undefined > 0.05 or np.ptp(draws) < 1e-12:
        return np.nan, np.nan, undefined
    tail = float(expanded_tail(groups, groups - 1))
    low, high = np.quantile(draws, [tail, 1 - tail])
    return float(low), float(high), undefined


def weighted_kappa(ratings: ArrayLike, clusters: ArrayLike | None = None) -> Estimate:
    """Cohen's kappa with quadratic weights (Cohen 1968) of (units, 2) numbers, all known, with a 95 % interval.

    1 − the mean squared distance of the two numbers of a unit over that of any two; Lin's concordance. The interval is
    Fisher's z with the jackknife error of leaving out each of the ``clusters`` (None: each unit) and Student's t
    (Lin 1989): 94 to 98 of 100 hold the true value from 50 clusters on, 91 to 96 with 20 or 30. ``low`` and ``high``
    are None with fewer than two clusters, where without one of them kappa is 1 or undefined, and where it is the same
    without any of them, as for one who always says the same: an interval of no width would claim certainty. Equal
    numbers give None.
    """
    from scipy.special import stdtrit

    first, second = np.asarray(ratings, dtype=np.float64).reshape(-1, 2).T
    codes = cluster_codes(clusters, len(first))
    groups = int(codes.max(initial=-1)) + 1
    columns = [np.ones_like(first), (first - second) ** 2, first, second, first**2 + second**2]
    sums = np.stack([np.bincount(codes, column, groups) for column in columns])
    total = sums.sum(axis=1, keepdims=True)
    n, observed, x, y, squares = np.hstack([total, total - sums])
    kappas = 1 - _quotient(observed * n, squares * n - 2 * x * y)
    low, high = np.nan, np.nan
    if groups >= 2 and not np.isnan(kappas).any() and np.abs(kappas).max() < 1:
        z = np.arctanh(kappas)
        error = np.sqrt((groups - 1) / groups * ((z[1:] - z[1:].mean()) ** 2).sum())
        if error > 1e-12:
            low, high = np.tanh(z[0] + stdtrit(groups - 1, 0.975) * error * np.array([-1, 1]))
    known = none_if_nan(kappas[0]), None, none_if_nan(low), none_if_nan(high)
    return Estimate(*known, len(first), groups, "jackknife-fisher-z")


def _quotient(a: FloatArray, b: FloatArray) -> FloatArray:
    """Divide, NaN where the divisor is zero (or negative zero's worth of rounding)."""
    quotient: FloatArray = np.divide(a, b, out=np.full(a.shape, np.nan), where=np.abs(b) > 1e-12)
    return quotient


def _corrected(agreement: FloatArray, chance: FloatArray) -> FloatArray:
    return _quotient(agreement - chance, 1 - chance)


def _percent(table: Ratings) -> tuple[FloatArray, Finish]:
    """Per unit: share of agreeing ordered rater pairs (0 without pairs), and whether it has pairs."""
    counts, m = table.pairable()
    pairs, agreeing = m * (m - 1), (counts * (counts - 1)).sum(axis=1)
    share = np.divide(agreeing, pairs, out=np.zeros_like(pairs), where=pairs > 0)
    return np.stack([share, pairs > 0], axis=1), lambda sums: _quotient(sums[:, 0], sums[:, 1])


def _fleiss(table: Ratings) -> tuple[FloatArray, Finish]:
    """Per unit: share of agreeing pairs, whether it has pairs, share of each category."""
    counts, m = table.pairable()
    shares = counts / np.maximum(m, 1)[:, None]

    def finish(sums: FloatArray) -> FloatArray:
        units = sums[:, 1]
        chance = _quotient((sums[:, 2:] ** 2).sum(axis=1), units**2)
        return _corrected(_quotient(sums[:, 0], units), chance)

    return np.column_stack([_percent(table)[0], shares]), finish


def _cohen(table: Ratings) -> tuple[FloatArray, Finish]:
    """Per unit and pair of raters: rated by both, agreed, and each one's category."""
    k = len(table.categories)
    columns: list[FloatArray] = []
    for i, j in table.pairs:
        both = (table.codes[:, i] >= 0) & (table.codes[:, j] >= 0)
        agreed = both & (table.codes[:, i] == table.codes[:, j])
        margins = [(table.codes[:, [rater]] == np.arange(k)) & both[:, None] for rater in (i, j)]
        columns.append(np.column_stack([both, agreed, *margins]).astype(np.float64))
    statistics = np.concatenate(columns, axis=1) if columns else np.zeros((len(table.codes), 0))

    def finish(sums: FloatArray) -> FloatArray:
        kappas = _pair_kappas(sums, table)
        defined = ~np.isnan(kappas)
        return _quotient(np.where(defined, kappas, 0.0).sum(axis=1), defined.sum(axis=1).astype(np.float64))

    return statistics, finish


def _pair_kappas(sums: FloatArray, table: Ratings) -> FloatArray:
    """Kappa of each pair, (replicates, pairs), from sums of the statistics of :func:`_cohen`."""
    k = len(table.categories)
    blocks = sums.reshape(sums.shape[0], len(table.pairs), 2 + 2 * k)
    n = blocks[..., 0]
    chance = _quotient((blocks[..., 2 : 2 + k] * blocks[..., 2 + k :]).sum(axis=-1), n**2)
    return _corrected(_quotient(blocks[..., 1], n), chance)


def _alpha_nominal(table: Ratings) -> tuple[FloatArray, Finish]:
    """Per unit: observed disagreement, and the counts of its pairable values."""
    pairable, m = table.pairable()
    disagreement = (m**2 - (pairable**2).sum(axis=1)) / np.maximum(m - 1, 1)

    def finish(sums: FloatArray) -> FloatArray:
        values = sums[:, 1:]
        n = values.sum(axis=1)
        expected = _quotient(n**2 - (values**2).sum(axis=1), n - 1)
        return 1 - _quotient(sums[:, 0], expected)

    return np.column_stack([disagreement, pairable]), finish


def _alpha_interval(table: Ratings) -> tuple[FloatArray, Finish]:
    """Squared differences, summed without forming the category-by-category table."""
    pairable, m = table.pairable()
    # Moved and scaled to [0, 1]: alpha does not change, and sums do not overflow.
    scale = np.array(table.categories, dtype=np.float64)
    scale = scale - scale[:1]
    scale /= scale[-1:] if len(scale) > 1 else 1
    first, second = pairable @ scale, pairable @ scale**2
    disagreement = 2 * (m * second - first**2) / np.maximum(m - 1, 1)

    def finish(sums: FloatArray) -> FloatArray:
        observed, n, total, square = sums.T
        return 1 - _quotient(observed, _quotient(2 * (n * square - total**2), n - 1))

    return np.column_stack([disagreement, m, first, second]), finish


def _alpha_ordinal(table: Ratings) -> tuple[FloatArray, Finish]:
    """Ordinal distance depends on how often each rank was used, so the coincidence table itself is summed."""
    pairable, m = table.pairable()
    k = pairable.shape[1]
    products = pairable[:, :, None] * pairable[:, None, :] - pairable[:, :, None] * np.eye(k)
    coincidence = products / np.maximum(m - 1, 1)[:, None, None]

    def finish(sums: FloatArray) -> FloatArray:
        observed = sums.reshape(sums.shape[0], k, k)
        used = observed.sum(axis=2)
        n = used.sum(axis=1)
        middle = np.cumsum(used, axis=1) - used / 2
        distance = (middle[:, :, None] - middle[:, None, :]) ** 2
        expected = _quotient((used[:, :, None] * used[:, None, :] * distance).sum(axis=(1, 2)), n - 1)
        return 1 - _quotient((observed * distance).sum(axis=(1, 2)), expected)

    return coincidence.reshape(len(m), k * k), finish


_STATISTICS: dict[Coefficient, Callable[[Ratings], tuple[FloatArray, Finish]]] = {
    "percent": _percent,
    "cohen": _cohen,
    "fleiss": _fleiss,
    "krippendorff-nominal": _alpha_nominal,
    "krippendorff-ordinal": _alpha_ordinal,
    "krippendorff-interval": _alpha_interval,
}


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
    if isinstance(value, str):
        value = value.strip()
    if value is None or value == "" or (isinstance(value, float | np.floating) and np.isnan(value)):
        return None
    if not numeric:
        return value
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

"""A new run of a random sample of an old run's items: the old run's other answers make the difference more precise.

The old run's score is known on all items, so it is known whether the shared ones were easy or hard for it. The
difference new − old depends on what the old run scored, because a right answer can only be lost. The regression
estimator of two-phase sampling (Cochran 1977, section 12.6) uses this, for items like these. The less alike the two
runs are, the more it saves: if the old run is much larger, (1 − φ)/2 of the variance, with φ the correlation of their
answers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from kapwa.stats.clusters import FloatArray, IntArray
from kapwa.stats.culture_means import codes_of, means_of_valid
from kapwa.stats.intervals import Comparison, equality_p
from kapwa.stats.missing import compare_completed
from kapwa.stats.pooled import bounded_centre, pooled_error
from kapwa.stats.sequential import LEAST_SAVING, explained_by_control
from kapwa.stats.series import KEYS, side_of
from kapwa.value_types import Keywords

LEVEL = 0.95


class Controlled(NamedTuple):
    """A difference that is estimated with the old run's other answers.

    ``comparison``: the first side is the new run, the second the old one. ``saves``: the proportion by which the other
    answers reduce the variance. ``phi``: the correlation of both runs' scores on the shared items, within cultures.
    ``more``: how many items the old run alone has.
    """

    comparison: Comparison
    saves: float
    phi: float
    more: int


def with_old_items(new: pl.DataFrame, old: pl.DataFrame, *, share: bool, margin: float) -> Controlled | None:
    """Compare a new run with an old one of more items (:func:`kapwa.stats.series.items_of_run`), over their cultures.

    The items of ``new`` must be a random sample of those of ``old``; the caller makes sure of it. None where this saves
    less than :data:`~kapwa.stats.sequential.LEAST_SAVING` of the variance, or where there is no interval.
    """
    both = old.join(new, on=KEYS, how="left", suffix=" new", maintain_order="left")
    both = both.filter(pl.col("cluster new").is_not_null().any().over("culture"))
    in_new = both["cluster new"].is_not_null()
    if not in_new.any() or in_new.all():
        return None
    codes = codes_of(np.zeros((both.height, 1)), both["culture"].to_list(), both["cluster"].to_list())
    sides = side_of(both, " new"), side_of(both, "")
    estimate = _estimated(sides[0].value[:, 0], sides[1].value[:, 0], codes, share=share, margin=margin)
    if estimate is None or estimate.saves < LEAST_SAVING:
        return None

    def again(first: FloatArray, second: FloatArray, columns: IntArray) -> list[Comparison]:
        pairs = zip(first.T, second.T, strict=True)
        cases = [_estimated(one, other, codes, share=share, margin=margin) for one, other in pairs]
        assert len(columns) == len(cases)
        unknown = estimate.comparison._replace(low=None, high=None, p_equal=None)
        return [unknown if case is None else case.comparison for case in cases]

    (completed,) = compare_completed([estimate.comparison], *sides, again)
    return estimate._replace(comparison=completed, more=int((~in_new).sum()))


def _estimated(
    new: FloatArray, old: FloatArray, codes: tuple[IntArray, IntArray], *, share: bool, margin: float
) -> Controlled | None:
    """Estimate new − old over all items of ``old``; ``new`` is NaN for other items. None where there is no interval."""
    from scipy.special import stdtrit

    known = ~np.isnan(old)
    new, old = new[known], old[known]
    cultures, clusters = (np.unique(code[known], return_inverse=True)[1] for code in codes)
    difference = new - old
    compared = ~np.isnan(difference)
    if len(set(cultures[compared].tolist())) < len(set(cultures.tolist())):
        return None
    plain = means_of_valid(difference, (cultures, clusters))
    plain_se, plain_df = pooled_error(plain)
    if len(plain.shares) < 2 or not plain_se > 0:
        return None
    value, pseudo = _pseudo_values(difference, old, cultures, clusters)
    se = pooled_error(means_of_valid(pseudo, (cultures, clusters)))[0]
    centre, widened = float(plain.means.mean()), plain_se
    if share:
        # Disagreements that were not observed are counted as in a plain comparison.
        centre, widened = bounded_centre(difference, cultures, plain, plain_se)
    error = float(np.sqrt(se**2 + max(0.0, widened**2 - plain_se**2)))
    middle = value + centre - float(plain.means.mean())
    half = float(stdtrit(plain_df, 0.5 + LEVEL / 2)) * error
    ends = (max(middle - half, -1.0), min(middle + half, 1.0)) if share else (middle - half, middle + half)
    whole = float(_culture_means(old, cultures).mean())
    nothing: Keywords = dict.fromkeys(Comparison._fields)
    comparison = nothing | {
        **{"a_value": whole + value, "b_value": whole, "difference": value, "se": error},
        **{"low": ends[0], "high": ends[1], "n": int(compared.sum()), "clusters": len(plain.shares)},
        "method": "regression-estimator-clustered",
        "p_equal": float(equality_p(middle, error, plain_df, margin)),
    }
    return Controlled(
        comparison=Comparison(**comparison),
        saves=1 - (error / widened) ** 2,
        phi=_correlation(new[compared], old[compared], cultures[compared]),
        more=int((~compared).sum()),
    )


def _pseudo_values(
    difference: FloatArray, old: FloatArray, cultures: IntArray, clusters: IntArray
) -> tuple[float, FloatArray]:
    """The regression estimate of the mean difference over cultures, and a value for each item of which it is the mean.

    The spread of these values by cluster is that of the estimate. A compared item contributes its residual, weighted by
    items per compared item in its culture; every item contributes what the control explains.
    """
    means = _culture_means(old, cultures)
    compared = ~np.isnan(difference)
    control = explained_by_control(difference[:, None], clusters, old - means[cultures])[:, 0]
    residual = np.where(compared, difference - control, 0.0)
    item_counts, compared_counts = np.bincount(cultures), np.bincount(cultures, compared)
    left = (np.bincount(cultures, residual) / compared_counts)[cultures]
    weights = (item_counts / compared_counts)[cultures]
    pseudo = left + control + weights * np.where(compared, residual - left, 0.0)
    return float(_culture_means(pseudo, cultures).mean()), pseudo


def _culture_means(values: FloatArray, cultures: IntArray) -> FloatArray:
    return np.asarray(np.bincount(cultures, values) / np.bincount(cultures))


def _correlation(first: FloatArray, second: FloatArray, cultures: IntArray) -> float:
    """The correlation within cultures; 0 where one side does not vary."""
    one, other = (side - _culture_means(side, cultures)[cultures] for side in (first, second))
    size = float(np.sqrt((one**2).sum() * (other**2).sum()))
    return float((one * other).sum()) / size if size > 0 else 0.0

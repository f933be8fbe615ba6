"""Differential item functioning: is an item harder for one group than for another of the same overall score?

Mantel and Haenszel's test within strata of the total score (Holland and Thayer 1988): the common odds ratio, its size
in ETS's delta units and class (Dorans and Holland 1993), with a matching score from which items that differ are taken
out (purification), an allowance for how far items differ anyway, and Benjamini and Hochberg's adjustment over items.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kapwa.errors import UsageError
from kapwa.stats.clusters import FloatArray
from kapwa.stats.significance import benjamini_hochberg

# ETS's delta scale: an odds ratio of α is −2.35 ln α.
DELTA = -2.35
# A group with fewer rows is not analysed.
LEAST_ROWS = 10
_ROUNDS = 10
# The upper quartile of χ² with one degree of freedom, and its mean below 9.
_QUARTILE_CHI2, _WITHIN_THREE = 1.3233036969314664, 0.9733369246625415
# The spread is known as well as if this share of the items estimated it, by simulation.
_EFFICIENCY = 0.3
_LEAST_ANCHORS = 4
# Two-sided 95 %; one-sided 95 %; a test at 5 % that finds an effect four times in five.
_TWO_SIDED, _ONE_SIDED, _POWER = 1.959963984540054, 1.6448536269514722, 2.801585218
_BoolArray = NDArray[np.bool_]


class CommonOdds(NamedTuple):
    """The combined result of strata of 2 × 2 tables.

    ``odds_ratio``: Mantel and Haenszel's, 0 or infinite where one side is empty, NaN where no stratum tells anything.
    ``se``: of its logarithm (Robins, Breslow and Greenland 1986); NaN where the ratio is 0 or infinite. ``chi2``: with
    one degree of freedom, continuity-corrected; ``p_value``: two-sided.
    """

    odds_ratio: float
    se: float
    chi2: float
    p_value: float


class ItemDifference(NamedTuple):
    """How one item differs between a reference and a focal group.

    ``odds``: what its strata say. ``delta`` = −2.35 ln(odds ratio): below 0 the item is harder for the focal group than
    its total score says. ``low``, ``high``: its 95 % interval. ``p_bh``: adjusted over items. ``size``: A negligible,
    B moderate, C large; "" where it is unknown. ``reference``, ``focal``: answers compared. ``anchor``: whether the
    item is in the final matching score. ``detectable``: a true |delta| that this many answers show four times in five,
    before any adjustment. ``spread``: how far the other items differ beyond chance (standard deviation, in delta);
    interval, ``p_value``, class and ``detectable`` allow for it. NaN where the data cannot tell.
    """

    odds: CommonOdds
    delta: float
    low: float
    high: float
    p_bh: float
    size: str
    reference: int
    focal: int
    anchor: bool
    detectable: float
    spread: float
    p_value: float


def common_odds(tables: ArrayLike) -> CommonOdds:
    """Pool (strata, 2, 2) counts: rows are the reference and the focal group, columns right and wrong.

    The correction for continuity takes at most the whole distance from what is expected. Strata in which one group is
    absent, and those in which all are right or all wrong, add nothing. Source: Mantel and Haenszel (1959).
    """
    from scipy.special import chdtrc

    counts = np.asarray(tables, dtype=np.float64).reshape(-1, 4)
    counts = counts[(counts[:, :2].sum(axis=1) > 0) & (counts[:, 2:].sum(axis=1) > 0)]
    a, b, c, d = counts.T
    n, right = a + b + c + d, a + c
    surplus = abs(float((a - (a + b) * right / n).sum()))
    variance = float(((a + b) * (c + d) * right * (n - right) / (n**2 * (n - 1))).sum())
    for_reference, for_focal = float((a * d / n).sum()), float((b * c / n).sum())
    chi2 = max(surplus - 0.5, 0.0) ** 2 / variance if variance > 0 else np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float(np.float64(for_reference) / for_focal)
    se = np.nan
    if for_reference > 0 and for_focal > 0:
        same, other = (a + d) / n, (b + c) / n
        variance_sum = (same * a * d / n).sum() / for_reference**2
        variance_sum += ((same * b * c + other * a * d) / n).sum() / (for_reference * for_focal)
        variance_sum += (other * b * c / n).sum() / for_focal**2
        se = float(np.sqrt(variance_sum / 2))
    return CommonOdds(ratio, se, float(chi2), float(chdtrc(1, chi2)))


def ets_class(delta: float, se: float, p_value: float) -> str:
    """ETS's class of an item: "A" where delta is not significant or |delta| < 1, "C" from 1.5 if significantly over 1.

    "B" otherwise; "" where it is unknown. ``se``: of delta. Source: Dorans and Holland (1993), Zieky (1993).
    """
    if np.isnan(p_value) or np.isnan(se):
        return ""
    if p_value >= 0.05 or abs(delta) < 1:
        return "A"
    return "C" if abs(delta) >= 1.5 and abs(delta) - 1 > _ONE_SIDED * se else "B"


def differential_items(right: ArrayLike, focal: ArrayLike, *, purify: bool = True) -> list[ItemDifference]:
    """Test every item between two groups, matched by total score.

    ``right``: (rows, items) of 1, 0, and NaN where a row has no answer; a row is a person or a system. ``focal``:
    (rows,) whether a row is of the focal group. The score is the number right among the anchors and the item itself,
    scaled up where a row has gaps. ``purify``: items of class B or C are removed from the anchors, repeatedly,
    until the anchors no longer change (at most ten rounds, and never below four anchors). A score that only one group
    has joins the next stratum below. Raises UsageError where a group has fewer than ten rows, or an answer is neither
    right nor wrong.
    """
    values, is_focal = np.asarray(right, dtype=np.float64), np.asarray(focal, dtype=bool)
    if not np.isin(values[~np.isnan(values)], (0, 1)).all():
        raise UsageError("Differential item functioning needs right or wrong answers, but some are neither.")
    if min(is_focal.sum(), (~is_focal).sum()) < LEAST_ROWS:
        raise UsageError(f"A group has fewer than {LEAST_ROWS} rows, too few for differential item functioning.")
    anchors = np.ones(values.shape[1], dtype=bool)
    rounds = {anchors.tobytes()}
    while True:
        items = [_item(values, is_focal, anchors, item_index) for item_index in range(values.shape[1])]
        left = np.array([item.size not in ("B", "C") for item in items])
        if not purify or left.tobytes() in rounds or left.sum() < _LEAST_ANCHORS or len(rounds) > _ROUNDS:
            break
        rounds.add(left.tobytes())
        anchors = left
    items = _against_others(items)
    adjusted = benjamini_hochberg([item.p_value for item in items]).tolist()
    return [item._replace(p_bh=p) for item, p in zip(items, adjusted, strict=True)]


def _item(values: FloatArray, focal: _BoolArray, anchors: _BoolArray, item_index: int) -> ItemDifference:
    """Compare one item's answers in strata of the score; its p-value is not adjusted yet."""
    matching = anchors.copy()
    matching[item_index] = True
    answered = ~np.isnan(values[:, item_index])
    answers, members = values[answered][:, matching], focal[answered].astype(int)
    scores = np.rint(np.nanmean(answers, axis=1) * matching.sum()).astype(int) if answered.any() else members
    cells = 2 * members + (values[answered, item_index] == 0)
    tables = np.zeros((int(matching.sum()) + 1, 4))
    np.add.at(tables, (scores, cells), 1)
    strata = _merged(tables)
    odds = common_odds(strata)
    with np.errstate(divide="ignore"):
        delta, se = float(DELTA * np.log(odds.odds_ratio)), -DELTA * odds.se
    low, high = delta - _TWO_SIDED * se, delta + _TWO_SIDED * se
    counts = (int(strata[:, :2].sum()), int(strata[:, 2:].sum()))
    size = ets_class(delta, se, odds.p_value)
    return ItemDifference(
        odds=odds,
        delta=delta,
        low=low,
        high=high,
        p_bh=np.nan,
        size=size,
        reference=counts[0],
        focal=counts[1],
        anchor=bool(anchors[item_index]),
        detectable=_POWER * se,
        spread=0.0,
        p_value=odds.p_value,
    )


def _against_others(items: list[ItemDifference]) -> list[ItemDifference]:
    """Allow for how far items differ anyway: an item counts as different only if it differs more than the others.

    Where people guess, or items discriminate differently, the total score matches people imperfectly. The farther the
    groups are apart, the farther all items then seem to differ, in either direction. So the spread of the other items
    beyond chance is added to the error of each item (a random effect); the quantile is Student's, as the spread of few
    items is uncertain.
    """
    from scipy.special import stdtr, stdtrit

    deltas, errors = (np.array(values) for values in zip(*((item.delta, _error(item)) for item in items), strict=True))
    adjusted = []
    for item_index, item in enumerate(items):
        others = np.isfinite(errors) & (np.arange(len(items)) != item_index)
        spread = robust_spread(deltas[others], errors[others]) if others.sum() >= _LEAST_ANCHORS else 0.0
        if not spread or not np.isfinite(errors[item_index]):
            adjusted.append(item)
            continue
        error = float(np.hypot(errors[item_index], spread))
        df = _EFFICIENCY * (others.sum() - 1) * (error / spread) ** 4
        p_value = 2 * float(stdtr(df, -np.sqrt(item.odds.chi2) * errors[item_index] / error))
        half = float(stdtrit(df, 0.975)) * error
        size = ets_class(item.delta, error, p_value)
        wider = item._replace(low=item.delta - half, high=item.delta + half, size=size, p_value=p_value)
        adjusted.append(wider._replace(detectable=_POWER * error, spread=spread))
    return adjusted


def _error(item: ItemDifference) -> float:
    """The standard error of delta, NaN where it is not known."""
    return -DELTA * item.odds.se


def robust_spread(values: FloatArray, errors: FloatArray) -> float:
    """Standard deviation of true values about their median, beyond their ``errors``; at least 0.

    First it is the τ with which three quarters of (v − median v)² / (e² + τ²) lie below 1.32, as of χ² with one degree
    of freedom: up to a quarter of the values may be outliers, such as items that do differ. Then, as long as it grows,
    it is the τ with which the values within three standard deviations vary as normal ones do there.
    """
    squares, shrunk = (values - np.median(values)) ** 2, 1 - 1 / len(values)  # the median is of the same values
    tau = _solved(squares, errors, lambda ratios: float(np.quantile(ratios, 0.75)), _QUARTILE_CHI2 * shrunk)
    while True:
        inside = squares < 9 * (errors**2 + tau**2)
        more = _solved(squares[inside], errors[inside], lambda ratios: float(ratios.mean()), _WITHIN_THREE * shrunk)
        if more <= tau * (1 + 1e-6):
            return tau
        tau = more


def _solved(squares: FloatArray, errors: FloatArray, summary: Callable[[FloatArray], float], wanted: float) -> float:
    """The τ, at least 0, with which the ``summary`` of squares / (errors² + τ²) is as ``wanted``."""
    from scipy.optimize import brentq

    def surplus(variance: float) -> float:
        return summary(squares / (errors**2 + variance)) - wanted

    return float(np.sqrt(brentq(surplus, 0.0, float(squares.max()) / wanted + 1))) if surplus(0.0) > 0 else 0.0


def _merged(tables: FloatArray) -> FloatArray:
    """Join each score that only one group has with the stratum below it, and the first ones with the next."""
    strata: list[FloatArray] = []
    waiting = np.zeros(4)
    for table in tables:
        waiting = waiting + table
        if waiting[:2].sum() and waiting[2:].sum():
            strata.append(waiting)
            waiting = np.zeros(4)
    if strata:
        strata[-1] = strata[-1] + waiting
    return np.array(strata).reshape(-1, 4)

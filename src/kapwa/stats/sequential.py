"""Asking items in random order, with interim looks, and stopping once the full run's score is known well enough.

The population is what a full run would ask: exactly these items. Each culture's clusters are asked in their own random
order, drawn from a seed and the culture's name. So the items asked before any look are a simple random sample of whole
clusters, and their mean estimates the full run's score with an error that shrinks to 0 as everything is asked (finite
population, Cochran 1977, sections 2.6 and 9A). Cultures have different orders, so their errors are independent even
where they share questions.

An earlier run with known answers to the same items is a control: its score on the items asked so far, compared with its
score on all of them, shows how easy the sample is (regression estimator, Cochran 1977, section 7).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kapwa.stats.clusters import ClusterSums, FloatArray, IntArray, cluster_sums
from kapwa.stats.intervals import effective_size, share_quantile, wilson_interval

# With fewer answers, their spread is too uncertain: no look is taken before.
LEAST_ITEMS = 40
LEAST_CLUSTERS = 20
# A look is taken after this many more clusters, or after 1/40 of a culture's clusters if that is less, but at least 2.
STEP = 10
LEAST_STEP = 2
LOOKS = 40
# Clusters are split into this many folds; the slope of each is fitted on the others.
FOLDS = 5
# A control that reduces the variance by less than this share is not used.
LEAST_SAVING = 0.1
# This many residuals of size 1 are added to the observed ones: two runs that never differed so far may still differ.
UNSEEN = 1.0
# A culture stops by its own width. It would stop earlier if its share is extreme by chance, which would bias shares. So
# the width is computed with this many right and as many wrong answers added.
BESIDES = 5.0
# The one-sided error of a decision over all looks, and the proportion of items asked at which its bound is least.
DECISION_ERROR = 0.025
AIM = 0.25
_TINY = 1e-12


# --- the order and the looks -------------------------------------------------------------------------------------


def seeded_order(labels: Sequence[str], culture: str, seed: int) -> list[str]:
    """Return a culture's cluster labels in the order of asking: by the digest of seed, culture and label.

    The order depends on nothing else: not on the model, the order of the data, or other clusters. So two models are
    asked the same items first, and items that are added later do not change the order of the others.
    """

    def digest(label: str) -> bytes:
        text = "\0".join((str(seed), culture, label)).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, digest_size=16).digest()

    return sorted(set(labels), key=digest)


def look_points(sizes: IntArray, least_step: int = LEAST_STEP) -> list[int]:
    """Return after how many clusters of a culture a look is taken, the last after all of them.

    ``sizes``: items of each cluster, in the order of asking. The first look comes once :data:`LEAST_ITEMS`
    items and :data:`LEAST_CLUSTERS` clusters were asked. ``least_step``: how many clusters are asked at once anyway.
    """
    several = len(sizes)
    enough = int(np.searchsorted(np.cumsum(sizes), LEAST_ITEMS)) + 1
    first = max(enough, LEAST_CLUSTERS, least_step)
    step = max(min(max(several // LOOKS, LEAST_STEP), STEP), least_step)
    return [*range(first, several, step), several]


# --- the full run's mean from a sample -----------------------------------------------------------------------------


class Partial(NamedTuple):
    """Means of a full run, estimated from a sample of each column's clusters; all (columns,).

    ``value``; ``here``: the variance of its error against the mean over these items, 0 once all were asked; ``whole``:
    the variance of the mean of as many items as the full run has, drawn from items like these; ``df``: degrees of
    freedom of both; ``low``, ``high``: 95 % interval of the mean over these items; ``half``: half of its length, or
    more if the share is extreme by chance (the stopping rule uses it); ``drift``: how far stopping by ``half`` moves
    the value outwards on average; ``variance_left``: the proportion of the variance that a control leaves, 1 without
    one; ``doubt``: the factor by which ``here`` may be too small if the share is extreme by chance (decisions use it).
    """

    value: FloatArray
    here: FloatArray
    whole: FloatArray
    df: FloatArray
    low: FloatArray
    high: FloatArray
    half: FloatArray
    drift: FloatArray
    variance_left: FloatArray
    doubt: FloatArray


def partial_means(
    values: FloatArray,
    codes: IntArray,
    control: FloatArray | None = None,
    *,
    share: bool = True,
    level: float = 0.95,
) -> Partial:
    """Estimate the mean of all rows from those that were asked, for each column.

    ``values``: (rows, columns), a row for each item of the full run, NaN where it was not asked; clusters are asked as
    a whole. ``codes``: (rows,) cluster numbers from 0 in the order of asking or any other. ``control``: (rows,) or
    (rows, columns), what is known beforehand of every row, such as an earlier run's scores; it is used in the columns
    where it reduces the variance by :data:`LEAST_SAVING` or more. ``share``: values lie between 0 and 1, and the
    interval is Wilson's on the effective size over the share still to ask (Korn and Graubard 1998); else Student's.
    """
    sums = cluster_sums(values, codes)
    variance_left = np.ones(values.shape[1])
    adjusted = sums
    if control is not None:
        residuals = control_residuals(values, codes, control)
        with_control = cluster_sums(residuals, codes)
        padded = _with_unseen(with_control, sums)
        variance_left = np.divide(padded.se**2, sums.se**2, out=np.ones_like(variance_left), where=sums.se > 0)
        used = variance_left <= 1 - LEAST_SAVING
        variance_left = np.where(used, variance_left, 1.0)
        adjusted = _chosen(used, padded, sums)
    left = 1 - sums.clusters / (int(codes.max()) + 1)
    value, se, low, high = _interval(adjusted, left, share=share, level=level)
    half, drift, doubt = (high - low) / 2, np.zeros_like(value), np.ones_like(value)
    if share:
        half, drift = _to_stop(adjusted, left, half, level)
        doubt = np.maximum(np.divide(_besides(adjusted)[1], se**2, out=np.ones_like(se), where=se > 0), 1.0)
        # The answers so far bound the mean, since every other answer lies between 0 and 1.
        whole = len(values)
        least = np.nansum(values, axis=0) / whole
        most = least + np.isnan(values).sum(axis=0) / whole
        low, high = np.clip(low, least, most), np.clip(high, least, most)
        value = np.clip(value, least, most)
    return Partial(
        value=value,
        here=se**2 * left,
        whole=se**2 * (1 - left),
        df=adjusted.df,
        low=low,
        high=high,
        half=half,
        drift=drift,
        variance_left=variance_left,
        doubt=doubt,
    )


def control_residuals(values: FloatArray, codes: IntArray, control: FloatArray) -> FloatArray:
    """Values less what the control explains, y − β(x − x̄); their mean is the regression estimate of the full run's.

    x̄ is the control's mean over all rows. See :func:`explained_by_control`.
    """
    return np.asarray(values - explained_by_control(values, codes, control))


def explained_by_control(values: FloatArray, codes: IntArray, control: FloatArray) -> FloatArray:
    """Return what a control explains of each row, β(x − x̄), in every column, asked or not.

    β is fitted by least squares on the asked clusters of the other folds, so no cluster affects its own slope, and the
    residuals spread as those of new clusters would.
    """
    x = np.broadcast_to(control[:, None] if control.ndim == 1 else control, values.shape)
    measured = ~np.isnan(values)
    x = np.where(np.isnan(x), np.nanmean(x, axis=0), x)
    deviation = x - x.mean(axis=0)
    folds = codes % FOLDS
    filled = np.where(measured, values, 0.0)
    # Sums by fold, from which those of all other folds follow.
    in_fold = [folds == k for k in range(FOLDS)]
    moments = [
        np.stack([column[rows].sum(axis=0) for rows in in_fold])
        for column in (
            measured.astype(np.float64),
            measured * deviation,
            filled,
            measured * deviation**2,
            filled * deviation,
        )
    ]
    n, sx, sy, sxx, sxy = (total.sum(axis=0) - total for total in moments)
    n = np.maximum(n, 1)
    spread = sxx - sx**2 / n
    slope = np.divide(sxy - sx * sy / n, spread, out=np.zeros_like(spread), where=spread > 1e-12)
    return np.asarray(slope[folds] * deviation)


def _with_unseen(residuals: ClusterSums, values: ClusterSums) -> ClusterSums:
    """Residuals' sums with :data:`UNSEEN` residuals of the largest size added, but with no more spread than values.

    Where two runs agreed on all items so far, residuals show no spread, but the runs may still differ on other items.
    """
    share = UNSEEN / np.maximum(residuals.n, 1)
    scatter = residuals.scatter + UNSEEN * (values.scatter > 0)
    extra = np.divide(share, np.maximum(residuals.n, 1))
    se = np.sqrt(residuals.se**2 + extra * np.where(residuals.scatter > 0, residuals.design_effect, 1.0))
    effect = np.where(residuals.scatter > 0, residuals.design_effect, values.design_effect)
    return residuals._replace(scatter=scatter, se=se, design_effect=effect)


def _chosen(used: NDArray[np.bool_], one: ClusterSums, other: ClusterSums) -> ClusterSums:
    """The sums of ``one`` in the columns ``used``, of ``other`` elsewhere."""
    return ClusterSums(*(np.where(used, a, b) for a, b in zip(one, other, strict=True)))


def _interval(
    sums: ClusterSums, left: FloatArray, *, share: bool, level: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Value, standard error and ends of the interval of means whose error must be multiplied by √``left``."""
    from scipy.special import stdtrit

    if not share:
        half = stdtrit(sums.df, 0.5 + level / 2) * sums.se * np.sqrt(left)
        return sums.mean, sums.se, sums.mean - half, sums.mean + half
    proportion = np.clip(sums.mean, 0.0, 1.0)
    size = effective_size(sums, proportion * (1 - proportion))
    quantile = share_quantile(proportion, size, sums.kish_size, sums.df, level)
    known = left <= 0
    low, high = wilson_interval(proportion, size / np.where(known, 1.0, left), quantile)
    low, high = np.where(known, proportion, low), np.where(known, proportion, high)
    # All right or all wrong has a spread of 0, which would claim certainty.
    padded = (proportion * size + 1) / (size + 2)
    se = np.where(sums.se > 0, sums.se, np.sqrt(padded * (1 - padded) / (size + 2)))
    return proportion, se, low, high


def _to_stop(sums: ClusterSums, left: FloatArray, half: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """The half width that the stopping rule uses, and how far this stopping moves a share outwards on average.

    The drift is −Cov(share, ln T) with T the number of items at which a run stops. T is proportional to p̃(1 − p̃), less
    so as all is asked, so the drift is about V · left · d ln p̃(1 − p̃)/dp, with V the variance of the share.
    """
    share = np.clip(sums.mean, 0.0, 1.0)
    nearer, variance = _besides(sums)
    quantile = share_quantile(share, effective_size(sums, share * (1 - share)), sums.kish_size, sums.df, level)
    variance = variance * left
    slope = np.abs(1 - 2 * nearer) / (nearer * (1 - nearer)) * sums.n / (sums.n + 2 * BESIDES)
    return np.maximum(half, quantile * np.sqrt(variance)), variance * left * slope


def _besides(sums: ClusterSums) -> tuple[FloatArray, FloatArray]:
    """The share with :data:`BESIDES` right and as many wrong answers added, and the variance of its mean."""
    share = np.clip(sums.mean, 0.0, 1.0)
    nearer = (share * sums.n + BESIDES) / (sums.n + 2 * BESIDES)
    return nearer, nearer * (1 - nearer) / effective_size(sums, share * (1 - share))


def mean_of_partials(
    cultures: Sequence[Partial], *, share: bool = True, level: float = 0.95, apart: bool = False
) -> Partial:
    """Estimate the mean over cultures, each counting alike, from the estimates of each, column by column.

    The cultures' orders are independent, and so are their errors. Interval: Wilson's on the effective size, or
    Student's. ``apart``: each culture stops by its own width; the drift that this causes is added to the error.
    """
    from scipy.special import stdtrit

    several = len(cultures)
    value = np.mean([culture.value for culture in cultures], axis=0)
    errors = np.stack([culture.here for culture in cultures]) / several**2
    here = errors.sum(axis=0)
    whole = np.sum([culture.whole for culture in cultures], axis=0) / several**2
    below = (errors**2 / np.stack([culture.df for culture in cultures])).sum(axis=0)
    df = np.divide(here**2, below, out=np.full_like(here, np.inf), where=below > 0)
    quantile = stdtrit(df, 0.5 + level / 2)
    known = here <= 0
    drift = np.mean([culture.drift for culture in cultures], axis=0) if apart else np.zeros_like(here)
    error = here + drift**2
    if share:
        size = np.maximum(value * (1 - value), _TINY) / np.where(known, 1.0, error)
        low, high = wilson_interval(value, size, quantile)
    else:
        low, high = value - quantile * np.sqrt(error), value + quantile * np.sqrt(error)
    low, high = np.where(known, value, low), np.where(known, value, high)
    variance_left = np.mean([culture.variance_left for culture in cultures], axis=0)
    doubted = (errors * np.stack([culture.doubt for culture in cultures])).sum(axis=0)
    return Partial(
        value=value,
        here=here,
        whole=whole,
        df=df,
        low=low,
        high=high,
        half=(high - low) / 2,
        drift=drift,
        variance_left=variance_left,
        doubt=np.divide(doubted, here, out=np.ones_like(here), where=here > 0),
    )


# --- a decision over all looks -------------------------------------------------------------------------------------


def decision_half(partial: Partial, error: float = DECISION_ERROR) -> FloatArray:
    """Half of an interval that contains the full run's mean at all looks at once, but for the one-sided ``error``.

    The error of a mean over the first items of a random order is a Wiener process that runs backwards: its clock is its
    variance V, which falls to 0 as all is asked (the bridge of Rosén 1964, in the form W(1/t − 1)). From 0 on, a Wiener
    process crosses the line c(s + V/s) anywhere with probability exp(−2c²) at most (Doob 1949), so
    c = √(ln(1/error)/2) bounds the error over any number of looks. Relative to √V the bound is least where V = s²; here
    s² is V when the proportion :data:`AIM` of all items is asked. The bound is wide at first, like that of O'Brien and
    Fleming (1979). Student's quantile over the normal one allows for the uncertainty of V with few clusters;
    ``partial.doubt`` allows for a share that is extreme by chance, whose V is then too small. 0 once all is asked.
    """
    from scipy.special import ndtri, stdtrit

    bound = math.sqrt(math.log(1 / error) / 2)
    here, whole = partial.here * partial.doubt, partial.whole * partial.doubt
    aim = np.sqrt(whole * (1 / AIM - 1))
    unsure = stdtrit(partial.df, 1 - error) / ndtri(1 - error)
    line = aim + np.divide(here, aim, out=np.zeros_like(aim), where=aim > 0)
    return np.asarray(np.where(partial.here <= 0, 0.0, bound * unsure * line))

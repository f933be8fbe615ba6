"""Asking a part in random order, looking now and then, and stopping once a score of the whole is known well enough.

The whole is what a full run would ask: these items, none besides. Each culture's clusters are asked in an order of
their own, drawn from a seed and the culture's name, so what was asked by any look is a simple random sample of whole
clusters, and its mean estimates the full run's score with an error that shrinks to 0 as everything is asked (finite
population, Cochran 1977, sections 2.6 and 9A). Cultures have orders of their own, so their errors are independent even
where they share questions.

An earlier run whose answers to the same items are known is a control: what it scored on the items asked so far, against
what it scored on all of them, tells how lucky the draw was (regression estimator, Cochran 1977, section 7).
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

# Fewer answers than these tell too little of their own spread: no look is taken before.
LEAST_ITEMS = 40
LEAST_CLUSTERS = 20
# A look comes after so many clusters more, and after 1/40 of a culture's where that is less, yet at least 2.
STEP = 10
LEAST_STEP = 2
LOOKS = 40
# Clusters are parted into so many folds; each one's slope is fitted on the others.
FOLDS = 5
# A control must take away this part of the variance at least, or it is left out.
LEAST_SAVING = 0.1
# So many residuals of size 1 are counted besides those seen: where the two runs never differed, they still may.
UNSEEN = 1.0
# A culture ends by its own width, so it ends sooner where its share came out extreme, and such shares would gather. So
# the width is judged with so many right and as many wrong answers counted besides.
BESIDES = 5.0
# The one-sided error of a decision over all looks, and at which part of the whole its bound is least.
DECISION_ERROR = 0.025
AIM = 0.25
_TINY = 1e-12


# --- the order and the looks -------------------------------------------------------------------------------------


def seeded_order(labels: Sequence[str], culture: str, seed: int) -> list[str]:
    """Return a culture's cluster labels in the order they are asked in: by the digest of seed, culture and label.

    The order depends on nothing else: not on the model, the order of the data, or other clusters. So two models are
    asked the same items first, and items that are added later keep the others in their order.
    """

    def place(label: str) -> bytes:
        text = "\0".join((str(seed), culture, label)).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, digest_size=16).digest()

    return sorted(set(labels), key=place)


def look_points(sizes: IntArray, least_step: int = LEAST_STEP) -> list[int]:
    """Return after how many clusters of a culture a look is taken, the last after all of them.

    ``sizes``: items of each cluster, in the order they are asked in. The first look comes once :data:`LEAST_ITEMS`
    items and :data:`LEAST_CLUSTERS` clusters were asked. ``least_step``: so many clusters are asked at once anyway.
    """
    several = len(sizes)
    enough = int(np.searchsorted(np.cumsum(sizes), LEAST_ITEMS)) + 1
    first = max(enough, LEAST_CLUSTERS, least_step)
    step = max(min(max(several // LOOKS, LEAST_STEP), STEP), least_step)
    return [*range(first, several, step), several]


# --- a mean of the whole from a part -------------------------------------------------------------------------------


class Partial(NamedTuple):
    """Means of the whole, estimated from a part of each column's clusters; all (columns,).

    ``value``; ``here``: the variance of its error against the mean over these items, 0 once all were asked; ``whole``:
    the variance of the mean of as many items as the whole has, drawn from items like these; ``df``: degrees of freedom
    of both; ``low``, ``high``: 95 % interval of the mean over these items; ``half``: half of its length, or more where
    the share came out extreme: what stopping goes by; ``drift``: how far stopping by ``half`` pulls the value outwards
    on average; ``kept``: the part of the variance that a control left, 1 without one; ``doubt``: by how much ``here``
    may be too small, as a factor, where the share came out extreme: what a decision goes by.
    """

    value: FloatArray
    here: FloatArray
    whole: FloatArray
    df: FloatArray
    low: FloatArray
    high: FloatArray
    half: FloatArray
    drift: FloatArray
    kept: FloatArray
    doubt: FloatArray


def partial_means(
    values: FloatArray,
    codes: IntArray,
    control: FloatArray | None = None,
    *,
    binary: bool = True,
    level: float = 0.95,
) -> Partial:
    """Estimate the mean of all rows from those that were asked, for each column.

    ``values``: (rows, columns), a row for each item of the whole, NaN where it was not asked; whole clusters are asked
    or not. ``codes``: (rows,) cluster numbers from 0 in the order of asking or any other. ``control``: (rows,) or
    (rows, columns), what is known beforehand of every row, such as an earlier run's scores; it is used in the columns
    where it takes away :data:`LEAST_SAVING` of the variance. ``binary``: values lie between 0 and 1, and the interval
    is Wilson's on the effective size over the part that is left (Korn and Graubard 1998); else Student's.
    """
    sums = cluster_sums(values, codes)
    kept = np.ones(values.shape[1])
    adjusted = sums
    if control is not None:
        residuals = control_residuals(values, codes, control)
        with_control = cluster_sums(residuals, codes)
        padded = _with_unseen(with_control, sums)
        kept = np.divide(padded.se**2, sums.se**2, out=np.ones_like(kept), where=sums.se > 0)
        used = kept <= 1 - LEAST_SAVING
        kept = np.where(used, kept, 1.0)
        adjusted = _chosen(used, padded, sums)
    left = 1 - sums.clusters / (int(codes.max()) + 1)
    value, se, low, high = _interval(adjusted, left, binary=binary, level=level)
    half, drift, doubt = (high - low) / 2, np.zeros_like(value), np.ones_like(value)
    if binary:
        half, drift = _to_stop(adjusted, left, half, level)
        doubt = np.maximum(np.divide(_besides(adjusted)[1], se**2, out=np.ones_like(se), where=se > 0), 1.0)
        # What was seen cannot be undone by what is left.
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
        kept=kept,
        doubt=doubt,
    )


def control_residuals(values: FloatArray, codes: IntArray, control: FloatArray) -> FloatArray:
    """Values less what the control explains of them, y − β(x − x̄); their mean is the regression estimate of the whole.

    x̄ is the control's mean over all rows. See :func:`control_part`.
    """
    return np.asarray(values - control_part(values, codes, control))


def control_part(values: FloatArray, codes: IntArray, control: FloatArray) -> FloatArray:
    """What a control explains of each row, β(x − x̄), in every column, asked or not.

    β is fitted by least squares on the asked clusters of the other folds, so no cluster bears on its own slope, and the
    residuals' spread is that of new clusters.
    """
    x = np.broadcast_to(control[:, None] if control.ndim == 1 else control, values.shape)
    asked = ~np.isnan(values)
    x = np.where(np.isnan(x), np.nanmean(x, axis=0), x)
    deviation = x - x.mean(axis=0)
    folds = codes % FOLDS
    filled = np.where(asked, values, 0.0)
    # Sums by fold, from which those of all other folds follow.
    parts = [folds == k for k in range(FOLDS)]
    moments = [
        np.stack([part[rows].sum(axis=0) for rows in parts])
        for part in (
            asked.astype(np.float64),
            asked * deviation,
            filled,
            asked * deviation**2,
            filled * deviation,
        )
    ]
    n, sx, sy, sxx, sxy = (total.sum(axis=0) - total for total in moments)
    n = np.maximum(n, 1)
    spread = sxx - sx**2 / n
    slope = np.divide(sxy - sx * sy / n, spread, out=np.zeros_like(spread), where=spread > 1e-12)
    return np.asarray(slope[folds] * deviation)


def _with_unseen(residuals: ClusterSums, values: ClusterSums) -> ClusterSums:
    """Residuals' sums with :data:`UNSEEN` residuals as large as can be counted besides those seen, none above values.

    Where two runs agreed on all that was asked, residuals show no spread; that they never differ does not follow.
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
    sums: ClusterSums, left: FloatArray, *, binary: bool, level: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Value, standard error and ends of the interval of means whose error is to be multiplied by √``left``."""
    from scipy.special import stdtrit

    if not binary:
        half = stdtrit(sums.df, 0.5 + level / 2) * sums.se * np.sqrt(left)
        return sums.mean, sums.se, sums.mean - half, sums.mean + half
    share = np.clip(sums.mean, 0.0, 1.0)
    size = effective_size(sums, share * (1 - share))
    quantile = share_quantile(share, size, sums.kish_size, sums.df, level)
    known = left <= 0
    low, high = wilson_interval(share, size / np.where(known, 1.0, left), quantile)
    low, high = np.where(known, share, low), np.where(known, share, high)
    # All right or all wrong has a spread of 0, which would claim certainty.
    padded = (share * size + 1) / (size + 2)
    se = np.where(sums.se > 0, sums.se, np.sqrt(padded * (1 - padded) / (size + 2)))
    return share, se, low, high


def _to_stop(sums: ClusterSums, left: FloatArray, half: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """The half width that stopping goes by, and how far such stopping pulls a share outwards on average.

    The pull is −Cov(share, ln T) of the number of items T at which a run stops. T goes as p̃(1 − p̃), less as all is
    asked, so that the pull is about V · left · d ln p̃(1 − p̃)/dp, with V the variance of the share.
    """
    share = np.clip(sums.mean, 0.0, 1.0)
    nearer, variance = _besides(sums)
    quantile = share_quantile(share, effective_size(sums, share * (1 - share)), sums.kish_size, sums.df, level)
    variance = variance * left
    slope = np.abs(1 - 2 * nearer) / (nearer * (1 - nearer)) * sums.n / (sums.n + 2 * BESIDES)
    return np.maximum(half, quantile * np.sqrt(variance)), variance * left * slope


def _besides(sums: ClusterSums) -> tuple[FloatArray, FloatArray]:
    """The share with :data:`BESIDES` right and wrong answers besides, and the variance that a mean of it has."""
    share = np.clip(sums.mean, 0.0, 1.0)
    nearer = (share * sums.n + BESIDES) / (sums.n + 2 * BESIDES)
    return nearer, nearer * (1 - nearer) / effective_size(sums, share * (1 - share))


def mean_of_partials(
    cultures: Sequence[Partial], *, binary: bool = True, level: float = 0.95, apart: bool = False
) -> Partial:
    """Estimate the mean over cultures, each counting alike, from estimates of each; columns stay columns.

    The cultures' orders are independent, so are their errors. Interval: Wilson's on the effective size, or Student's.
    ``apart``: each culture ends by its own width; what that pulls the mean outwards is counted as an error, too.
    """
    from scipy.special import stdtrit

    several = len(cultures)
    value = np.mean([part.value for part in cultures], axis=0)
    errors = np.stack([part.here for part in cultures]) / several**2
    here = errors.sum(axis=0)
    whole = np.sum([part.whole for part in cultures], axis=0) / several**2
    below = (errors**2 / np.stack([part.df for part in cultures])).sum(axis=0)
    df = np.divide(here**2, below, out=np.full_like(here, np.inf), where=below > 0)
    quantile = stdtrit(df, 0.5 + level / 2)
    known = here <= 0
    drift = np.mean([part.drift for part in cultures], axis=0) if apart else np.zeros_like(here)
    error = here + drift**2
    if binary:
        size = np.maximum(value * (1 - value), _TINY) / np.where(known, 1.0, error)
        low, high = wilson_interval(value, size, quantile)
    else:
        low, high = value - quantile * np.sqrt(error), value + quantile * np.sqrt(error)
    low, high = np.where(known, value, low), np.where(known, value, high)
    kept = np.mean([part.kept for part in cultures], axis=0)
    doubted = (errors * np.stack([part.doubt for part in cultures])).sum(axis=0)
    return Partial(
        value=value,
        here=here,
        whole=whole,
        df=df,
        low=low,
        high=high,
        half=(high - low) / 2,
        drift=drift,
        kept=kept,
        doubt=np.divide(doubted, here, out=np.ones_like(here), where=here > 0),
    )


# --- a decision over all looks -------------------------------------------------------------------------------------


def decision_half(part: Partial, error: float = DECISION_ERROR) -> FloatArray:
    """Half of an interval that holds the whole's mean at all looks at once, but for the one-sided ``error``.

    The error of a mean of the first part of a random order is a Wiener process that runs backwards: its clock is its
    variance V, which falls to 0 as all is asked (the bridge of Rosén 1964, in the form W(1/t − 1)). From 0 on, a Wiener
    process passes the line c(s + V/s) anywhere with probability exp(−2c²) at most (Doob 1949), so that
    c = √(ln(1/error)/2) bounds the error over any number of looks. Against √V the bound is least where V = s²; here s²
    is V at the part :data:`AIM` of the whole. It is wide at first, as O'Brien and Fleming's is (1979). Student's
    quantile over the normal one stands for what few clusters do not tell of V; ``part.doubt`` for a share that came out
    extreme, whose V came out too small with it. 0 once all is asked.
    """
    from scipy.special import ndtri, stdtrit

    bound = math.sqrt(math.log(1 / error) / 2)
    here, whole = part.here * part.doubt, part.whole * part.doubt
    aim = np.sqrt(whole * (1 / AIM - 1))
    unsure = stdtrit(part.df, 1 - error) / ndtri(1 - error)
    line = aim + np.divide(here, aim, out=np.zeros_like(aim), where=aim > 0)
    return np.asarray(np.where(part.here <= 0, 0.0, bound * unsure * line))

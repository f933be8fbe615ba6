"""Whether the bias of an automatic scorer, once audited, carries over to another model, judge or prompt.

An earlier audit measured how much a scorer scores above people: its bias. Subtracting that from the scores of another
model is right only if the bias is the same there. A small new audit tests this: it estimates the change of the bias and
compares its interval with a margin that was declared before. A bias can only carry over for scores in the range for
which the earlier audit has labels.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import DataError, UsageError
from kapwa.stats.clusters import FloatArray, IntArray, cluster_codes
from kapwa.value_types import Keywords

State = Literal["carries", "does-not-carry", "cannot-tell", "outside-range", "no-labels"]

# If more than this share of new scores lie outside the range of labelled ones, the bias is not judged.
MOST_OUTSIDE = 0.05
# Errors of the pseudo-answers: one for each pair of right or wrong by scorer and people.
_PSEUDO_ERRORS = (0.0, 0.0, 1.0, -1.0)
_POWER = 0.8


class Audited(NamedTuple):
    """The answers of one stratum of an audit: four columns of one length.

    ``scores``: the scorer's value of each, in [0, 1]; ``labels``: people's, NaN without a label;
    ``probabilities``: of being drawn, in (0, 1]; ``clusters``: labels of the sampled units (questions).
    """

    scores: ArrayLike
    labels: ArrayLike
    probabilities: ArrayLike
    clusters: ArrayLike


class Carried(NamedTuple):
    """The bias of a scorer (its score less people's) in one stratum, according to two audits.

    ``before``, ``after``: the bias in each; ``change``, ``low``, ``high``: after − before with its interval.
    ``labelled_before``, ``labelled``: answers that people labelled. ``outside``: the share of the new scores that lie
    outside the range of those with labels in the earlier audit. ``needed``: how many labels of new answers show four
    times in five that an unchanged bias carries; None where no number of them is enough, or nothing is known.

    ``state``: "carries" (the change lies within the margin, at 5 %), "does-not-carry" (it lies outside of it, at 5 %),
    "cannot-tell" (neither), "outside-range" (more than 5 % of the scores are outside), "no-labels" (fewer than two
    labelled questions in either audit).
    """

    state: State
    before: float | None
    after: float | None
    change: float | None
    low: float | None
    high: float | None
    labelled_before: int
    labelled: int
    outside: float
    needed: int | None


class _Bias(NamedTuple):
    value: float
    clusters: IntArray
    influence: FloatArray
    labelled: int


def carried_bias(before: Audited, after: Audited, *, margin: float, level: float = 0.95) -> Carried:
    """Test whether the bias that ``before`` measured carries to the answers of ``after``, within ±``margin``.

    Two one-sided tests at 1 − ``level`` each (Schuirmann 1987): the reported interval has the level
    1 − 2 (1 − ``level``). Standard error: influences of the labelled answers, weighted by 1/probability (Hájek), summed
    by question over both audits, so that a question in both is one piece of evidence. Each audit gets four additional
    pseudo-answers, as for paired proportions (Bonett and Price 2012). Student's t, degrees of freedom by
    Welch and Satterthwaite.
    Raises UsageError for a margin outside (0, 1), DataError for columns that do not fit.
    """
    from scipy.special import stdtrit

    if not 0 < margin < 1:
        raise UsageError(f"The margin is {margin}; it must lie between 0 and 1.", hint="5 points are 0.05.")
    names = np.concatenate([np.asarray(audit.clusters, dtype=object) for audit in (before, after)])
    codes = cluster_codes(names, len(names))
    count = len(np.asarray(before.clusters))
    earlier, later = _bias(before, codes[:count]), _bias(after, codes[count:])
    outside = _outside(before, after)
    facts: Keywords = {
        "labelled_before": earlier.labelled,
        "labelled": later.labelled,
        "outside": outside,
        "needed": None,
    }
    if min(len(np.unique(audit.clusters)) for audit in (earlier, later)) < 2:
        return Carried("no-labels", None, None, None, None, None, **facts)
    change = later.value - earlier.value
    variances = [_variance([audit]) for audit in (earlier, later)]
    freedom = [len(np.unique(audit.clusters)) + len(_PSEUDO_ERRORS) - 1 for audit in (earlier, later)]
    df = sum(variances) ** 2 / sum(v**2 / g for v, g in zip(variances, freedom, strict=True))
    minus = earlier._replace(influence=-earlier.influence)
    half = float(stdtrit(df, level)) * math.sqrt(_variance([minus, later]))
    low, high = change - half, change + half
    state: State = "cannot-tell"
    if outside > MOST_OUTSIDE:
        state = "outside-range"
    elif -margin < low and high < margin:
        state = "carries"
    elif low > margin or high < -margin:
        state = "does-not-carry"
    facts["needed"] = _needed(variances, later.labelled, margin, level)
    return Carried(state, earlier.value, later.value, change, low, high, **facts)


def _bias(audit: Audited, codes: IntArray) -> _Bias:
    """The weighted mean of score − label over the labelled answers, and what each of them adds to its error."""
    scores, labels, probabilities = (np.asarray(column, dtype=np.float64) for column in audit[:3])
    if not scores.shape == labels.shape == probabilities.shape == codes.shape:
        raise DataError("the columns of an audit differ in length.")
    known = ~np.isnan(labels) & ~np.isnan(scores)
    if ((probabilities[known] <= 0) | (probabilities[known] > 1)).any():
        raise DataError("a labelled answer has no probability of being drawn.", hint="Draw with 'kapwa label sample'.")
    weights = 1 / probabilities[known]
    if not weights.size:
        return _Bias(math.nan, codes[known], weights, 0)
    errors = scores[known] - labels[known]
    value = float(np.average(errors, weights=weights))
    # Pseudo-answers have the largest weight, and each is its own cluster. They only widen the interval. If they also
    # moved the bias towards 0, it would seem to carry too often.
    weights = np.concatenate([weights, np.full(len(_PSEUDO_ERRORS), weights.max())])
    errors = np.concatenate([errors, _PSEUDO_ERRORS])
    influence = weights / weights.sum() * (errors - np.average(errors, weights=weights))
    return _Bias(value, codes[known], influence, int(known.sum()))


def _variance(audits: list[_Bias]) -> float:
    """The variance of a sum of biases: squares of the influences summed by question, with G/(G − 1)."""
    codes = np.concatenate([audit.clusters for audit in audits])
    real = np.concatenate([audit.influence[: audit.labelled] for audit in audits])
    pseudo = np.concatenate([audit.influence[audit.labelled :] for audit in audits])
    totals = np.concatenate([np.bincount(codes, weights=real)[np.unique(codes)], pseudo])
    return float((totals**2).sum() * len(totals) / (len(totals) - 1))


def _outside(before: Audited, after: Audited) -> float:
    """The share of new scores below the least or above the largest score that has a label in the earlier audit."""
    scores, labels = (np.asarray(column, dtype=np.float64) for column in before[:2])
    with_label = scores[~np.isnan(labels)]
    later = np.asarray(after.scores, dtype=np.float64)
    later = later[~np.isnan(later)]
    if not with_label.size or not later.size:
        return 1.0
    return float(((later < with_label.min() - 1e-9) | (later > with_label.max() + 1e-9)).mean())


def _needed(variances: list[float], labelled: int, margin: float, level: float) -> int | None:
    """Labels with which two one-sided tests find an unchanged bias within the margin in four of five audits."""
    from scipy.special import ndtri

    error = margin / float(ndtri(level) + ndtri((1 + _POWER) / 2))
    left = error**2 - variances[0]
    return math.ceil(variances[1] * labelled / left) if left > 0 else None

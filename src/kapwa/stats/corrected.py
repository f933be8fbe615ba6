"""Scores that a sample of people's labels corrects: automatic mean, people's, and both together.

An automatic scorer judged every answer, people a random sample of them, drawn with known chances. The scorer's error on
the sample is taken off its mean over all answers, by the part ``weight`` that makes the result most certain.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import DataError, UsageError
from kapwa.stats.clusters import FloatArray, IntArray, check_level, cluster_codes, cluster_sums, none_if_nan, read_values
from kapwa.stats.culture_means import equal_weights, kept_means
from kapwa.stats.intervals import effective_size, mean_estimates, paired_values
from kapwa.stats.pooled import bounded_centre, pooled_error, pooled_mean

FEW_LABELS = 40
LEAST_SAVING = 1.05


class Corrected(NamedTuple):
    """A mean by the scorer, by people, and corrected, of one stratum, or of all of them counting alike (stratum "").

    ``n`` answers, ``labelled`` of them by people, in ``clusters`` clusters. ``value``: the corrected mean. ``bias``:
    automatic less people, on the labelled answers. ``weight``: the part of the scorer that is used, 0 to 1.
    ``saving``: labels that people by themselves would need for an interval as short, over the labels at hand. ``use``:
    which of the two to print, and the ``reason``: "few-labels", "no-saving", "all-labelled", "no-labels", or "" for
    "corrected". Of a difference ``p_value`` is that of the printed one, two-sided. None: the data cannot tell.
    """

    stratum: str
    n: int
    labelled: int
    clusters: int
    automatic: float | None
    automatic_low: float | None
    automatic_high: float | None
    people: float | None
    people_low: float | None
    people_high: float | None
    value: float | None
    low: float | None
    high: float | None
    bias: float | None
    bias_low: float | None
    bias_high: float | None
    weight: float
    saving: float | None
    use: str
    reason: str
    p_value: float | None = None


class _Audit(NamedTuple):
    """Scores and labels (n,), NaN where not labelled, weights (n,) 1/probability, codes; ``signed``: differences."""

    scores: FloatArray
    labels: FloatArray
    weights: FloatArray
    strata: IntArray
    clusters: IntArray
    signed: bool


def corrected_means(
    scores: ArrayLike,
    labels: ArrayLike,
    probabilities: ArrayLike,
    strata: ArrayLike,
    clusters: ArrayLike,
    *,
    level: float = 0.95,
) -> list[Corrected]:
    """Correct the mean score of every stratum, in sorted order of their names."""
    audit = _read(scores, labels, probabilities, strata, clusters, level)
    return _by_stratum(audit, strata, level)


def corrected_over_strata(
    scores: ArrayLike,
    labels: ArrayLike,
    probabilities: ArrayLike,
    strata: ArrayLike,
    clusters: ArrayLike,
    *,
    level: float = 0.95,
) -> Corrected:
    """Correct the mean over strata, each counting alike; a cluster that strata share is one piece of evidence."""
    return _estimate(_read(scores, labels, probabilities, strata, clusters, level), "", level)


def corrected_difference(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    labels_a: ArrayLike,
    labels_b: ArrayLike,
    probabilities: ArrayLike,
    strata: ArrayLike,
    clusters: ArrayLike,
    *,
    level: float = 0.95,
) -> list[Corrected]:
    """Correct how much A scores above B, by stratum and, last, over all strata where there are several.

    Both answered the same items; an item counts as labelled where both answers are. What is corrected are the
    differences, so that the error which both answers share cancels.
    """
    a, b = (
        _read(scores, labels, probabilities, strata, clusters, level)
        for scores, labels in ((scores_a, labels_a), (scores_b, labels_b))
    )
    scores = paired_values(a.scores, b.scores, binary=True)[2][:, 0]
    labels = paired_values(a.labels, b.labels, binary=True)[2][:, 0]
    weights = np.where(np.isnan(labels), 0.0, a.weights)
    audit = a._replace(scores=scores, labels=labels, weights=weights, signed=True)
    over = [_estimate(audit, "", level)] if audit.strata.max() else []
    return _by_stratum(audit, strata, level) + over


def _read(
    scores: ArrayLike, labels: ArrayLike, probabilities: ArrayLike, strata: ArrayLike, clusters: ArrayLike, level: float
) -> _Audit:
    check_level(level)
    automatic, people = (read_values(values, binary=True)[0][:, 0] for values in (scores, labels))
    chances = np.asarray(probabilities, dtype=np.float64)
    if not automatic.shape == people.shape == chances.shape:
        raise UsageError(
            f"There are {len(automatic)} scores, {len(people)} labels and {chances.size} probabilities.",
            hint="Give one of each for every answer; NaN is the label of an answer that people did not see.",
        )
    if not len(automatic) or np.isnan(automatic).any():
        raise DataError("an answer has no automatic score.", hint="Leave out answers that were not scored.")
    wrong = np.flatnonzero(~((chances >= 0) & (chances <= 1)) | (~np.isnan(people) & (chances == 0)))
    if len(wrong):
        raise DataError(
            f"the probability of being drawn is {chances[wrong[0]]:g} at position {wrong[0] + 1}.",
            hint="It lies above 0 and at most at 1; a labelled answer that could not be drawn proves nothing.",
        )
    weights = np.where(np.isnan(people), 0.0, 1 / np.where(chances > 0, chances, 1.0))
    codes = cluster_codes(strata, len(automatic)), cluster_codes(clusters, len(automatic))
    return _Audit(automatic, people, weights, *codes, signed=False)


def _by_stratum(audit: _Audit, strata: ArrayLike, level: float) -> list[Corrected]:
    names = np.asarray(strata, dtype=object)
    order = np.argsort(audit.strata, kind="stable")
    rows = []
    for kept in np.split(order, np.flatnonzero(np.diff(audit.strata[order])) + 1):
        parts = [part[kept] for part in audit[:-1]]
        parts[3] = np.zeros(len(kept), dtype=np.intp)
        rows.append(_estimate(_Audit(*parts, signed=audit.signed), str(names[kept[0]]), level))
    return rows


def _estimate(audit: _Audit, stratum: str, level: float) -> Corrected:
    labelled = ~np.isnan(audit.labels)
    automatic = _mean(audit.scores, audit, None, level, signed=audit.signed)
    people = _mean(audit.labels, audit, audit.weights, level, signed=audit.signed)
    bias = _mean(audit.scores - audit.labels, audit, audit.weights, level, signed=True)
    value, low, high, weight, p_value = _both(audit, level)
    n = int(labelled.sum())
    saving = None
    if None not in (low, high, *people):
        saving = ((people[2] - people[1]) / (high - low)) ** 2 if high > low else None
    use, reason = "corrected", ""
    if n == 0:
        use, reason = "none", "no-labels"
    elif n == len(labelled):
        use, reason = "people", "all-labelled"
    elif n < FEW_LABELS:
        use, reason = "people", "few-labels"
    elif saving is None or saving < LEAST_SAVING:
        use, reason = "people", "no-saving"
    clusters = len(np.unique(audit.clusters[labelled]))
    return Corrected(
        stratum, len(labelled), n, clusters, *automatic, *people, value, low, high, *bias, weight, saving, use, reason,
        p_value if audit.signed else None,
    )


def _mean(values, audit, weights, level, *, signed):
    """Mean over strata with its interval."""
    from scipy.special import stdtrit

    codes = audit.strata, audit.clusters
    if not signed and not audit.strata.any():
        estimate = mean_estimates(values, audit.clusters, binary=True, weights=weights, level=level)[0]
        return estimate.value, estimate.low, estimate.high
    if not signed:
        estimate = pooled_mean(values, *codes, binary=True, weights=weights, level=level)
        return estimate.value, estimate.low, estimate.high
    kept = ~np.isnan(values)
    if not kept.any():
        return None, None, None
    means = kept_means(values, codes, weights)
    se, df = pooled_error(means)
    centre, error = bounded_centre(np.where(kept, values, 0.0), equal_weights(kept, codes[0], weights), means, se)
    half = float(stdtrit(df, 0.5 + level / 2)) * error
    return float(means.means.mean()), none_if_nan(max(centre - half, -1.0)), none_if_nan(min(centre + half, 1.0))


def _both(audit: _Audit, level: float):
    from scipy.special import stdtr, stdtrit

    labelled = ~np.isnan(audit.labels)
    strata = int(audit.strata.max()) + 1
    if len(np.unique(audit.strata[labelled])) < strata:
        return None, None, None, 0.0, None
    df = pooled_error(kept_means(audit.labels, (audit.strata, audit.clusters), audit.weights))[1]
    total = np.zeros(int(audit.clusters.max()) + 1)
    extra = value = centre = weight = 0.0
    for stratum in range(strata):
        inside = audit.strata == stratum
        f, y, codes = audit.scores[inside], np.nan_to_num(audit.labels[inside]), audit.clusters[inside]
        heavy = audit.weights[inside]
        heavy = heavy * (len(f) / heavy.sum())
        ends = np.array([-1.0, 1.0] if audit.signed else [0.0, 1.0])
        pseudo_y, pseudo_f = np.repeat(ends, 2), np.tile(ends, 2)
        size = _size(audit.labels[inside], codes, heavy, audit.signed)
        pseudo = len(f) / size * (0.5 if audit.signed else 1.0)
        scale = len(f) / (len(f) + 4 * pseudo)
        mean_y = scale * (heavy @ y + pseudo * pseudo_y.sum()) / len(f)
        mean_f = scale * (heavy @ f + pseudo * pseudo_f.sum()) / len(f)
        u = np.bincount(codes, scale * heavy * (y - mean_y), minlength=len(total))
        v = np.bincount(codes, f - f.mean() - scale * heavy * (f - mean_f), minlength=len(total))
        pseudo_u, pseudo_v = scale * pseudo * (pseudo_y - mean_y), -scale * pseudo * (pseudo_f - mean_f)
        square = v @ v + pseudo_v @ pseudo_v
        part = min(max(-(u @ v + pseudo_u @ pseudo_v) / square, 0.0), 1.0) if square > 0 else 0.0
        total += (u + part * v) / len(f) / strata
        extra += (((pseudo_u + part * pseudo_v) / len(f) / strata) ** 2).sum()
        centre += (mean_y + part * (f.mean() - mean_f)) / strata
        value += (heavy @ y + part * (f.sum() - heavy @ f)) / len(f) / strata
        weight += part / strata
    groups = len(np.unique(audit.clusters[labelled]))
    if groups < 2:
        return value, None, None, weight, None
    se = float(np.sqrt((total @ total + extra) * groups / (groups - 1)))
    half = float(stdtrit(df, 0.5 + level / 2)) * se
    least = -1.0 if audit.signed else 0.0
    value = min(max(value, least), 1.0)
    low, high = max(min(centre - half, value), least), min(max(centre + half, value), 1.0)
    return value, low, high, weight, float(2 * stdtr(df, -abs(centre / se)))


def _size(labels: FloatArray, codes: IntArray, heavy: FloatArray, signed: bool) -> float:
    sums = cluster_sums(labels[:, None], codes, heavy)
    mean = np.nan_to_num(sums.mean)
    variance = np.array([np.nansum(heavy * np.abs(labels)) / heavy.sum() - mean[0] ** 2]) if signed else mean * (1 - mean)
    return float(effective_size(sums, variance)[0])


class LabelPlan(NamedTuple):
    """How many labels a stratum needs: ``corrected`` with the scorer, ``people`` without, and the ``saving``."""

    people: int
    corrected: int
    saving: float
    use: str
    reason: str


def labels_needed(n: int, half_width: float, *, variance: float, residual: float, level: float = 0.95) -> LabelPlan:
    """Labels of ``n`` answers for an interval of ± ``half_width``.

    ``variance``: of people's labels; ``residual``: of labels less the part of the scores that is used.
    """
    from scipy.special import ndtri

    wanted = (half_width / float(ndtri(0.5 + level / 2))) ** 2
    people = variance / wanted
    rest = wanted - (variance - residual) / n
    corrected = residual / rest if rest > 0 else float("inf")
    counts = [min(ceil(count), n) if count < n else n for count in (people, corrected)]
    saving = counts[0] / counts[1]
    use = "corrected" if saving >= LEAST_SAVING else "people"
    return LabelPlan(counts[0], counts[1], saving, use, "" if use == "corrected" else "no-saving")

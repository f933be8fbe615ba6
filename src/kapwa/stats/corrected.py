"""Scores that a sample of people's labels corrects: the mean by the scorer, by people, and by both together.

An automatic scorer judged every answer; people judged a random sample, drawn with known probabilities. The scorer's
mean of all answers is corrected by its error on the labelled ones. The scorer enters with the ``weight`` that leaves
the smallest error. ``docs/explanation/statistics.md``, "Audited scores", has formulas and coverage.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kapwa.errors import DataError, UsageError
from kapwa.stats.clusters import FloatArray, IntArray, cluster_codes, cluster_sums, read_values
from kapwa.stats.culture_means import means_of_valid
from kapwa.stats.intervals import effective_size, mean_estimates, paired_values, wilson_interval
from kapwa.stats.pooled import bounded_centre, pooled_error, pooled_mean
from kapwa.stats.raters import RaterError, RaterLabels, rater_error

# Which mean to print.
Use = Literal["corrected", "people", "none"]
# With fewer labels the interval of people's labels by themselves is printed.
FEW_LABELS = 40
# With fewer labels in one of several strata, the effect of the scorer's mistakes there is not known well enough.
FEW_IN_STRATUM = 20
# A scorer that saves less than this is not worth a second number.
LEAST_SAVING = 1.05
# Four pairs of label and score, one of each kind, are counted as so many labels together (Agresti and Min 2005).
PSEUDO_LABELS = 2.0


class Corrected(NamedTuple):
    """A mean by the scorer, by people, and corrected: of one stratum, or over all, each counting alike (stratum "").

    ``n`` answers, of which people labelled ``labelled`` in ``clusters`` clusters. ``value``–``low``–``high``: the
    corrected mean; intervals are of 95 %. ``bias``: automatic less people, on the labelled answers. ``weight``: the
    weight of the scorer, 0 to 1. ``saving``: how many labels people by themselves would need for as small an
    error, over the labels at hand. ``use``: what to print, and the ``reason`` where it is not the corrected mean:
    "few-labels", "no-saving", "all-labelled", "no-labels". ``p_value``: of a difference only, two-sided, that the
    printed one is 0. None: the data cannot tell. ``raters``: how many people labelled, 0 where this is not recorded;
    ``rater_sd``: how far they differ (standard deviation), None where there are too few. Where it is known, intervals
    hold for other people like them, and are ``widened`` by this factor; else they hold for these people alone.
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
    use: Literal["corrected", "people", "none"]
    reason: str
    p_value: float | None = None
    raters: int = 0
    rater_sd: float | None = None
    widened: float = 1.0


class _Mean(NamedTuple):
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    se: float = 0.0


class _Audit(NamedTuple):
    """The audited answers, one entry each: ``labels`` is NaN and ``weights`` (1/probability) 0 without a label.

    ``signed``: these are differences of two runs, from -1 to 1, not scores from 0 to 1.
    """

    scores: FloatArray
    labels: FloatArray
    weights: FloatArray
    strata: IntArray
    clusters: IntArray
    signed: bool = False
    by_rater: RaterLabels | None = None

    @property
    def labelled(self) -> IntArray:
        """Where the labelled answers are."""
        return np.flatnonzero(~np.isnan(self.labels))

    def rows(self, selected: NDArray[Any]) -> _Audit:
        """Return some of the answers."""
        scores, labels, weights = (column[selected] for column in self[:3])
        by_rater = self.by_rater and self.by_rater.of(np.arange(len(self.scores))[selected])
        return _Audit(
            scores=scores,
            labels=labels,
            weights=weights,
            strata=self.strata[selected],
            clusters=self.clusters[selected],
            signed=self.signed,
            by_rater=by_rater,
        )


def corrected_means(
    scores: ArrayLike,
    labels: ArrayLike,
    probabilities: ArrayLike,
    strata: ArrayLike,
    clusters: ArrayLike,
    *,
    by_rater: RaterLabels | None = None,
) -> list[Corrected]:
    """Correct the mean score of every stratum, in sorted order of the strata.

    ``scores``: (n,) the scorer's value of each answer, 0 to 1; ``labels``: (n,) people's, 0 to 1, NaN without a label;
    ``probabilities``: (n,) the probability of each answer to be drawn for labelling, above 0 where it
    was; ``strata``, ``clusters``: (n,) labels. ``by_rater``: the labels of each person, of which ``labels`` are the
    means; without it, intervals hold for these people alone. Raises UsageError or DataError for input that does not
    fit.
    """
    audit = _read(scores, labels, probabilities, strata, clusters)._replace(by_rater=by_rater)
    return [_corrected(stratum_audit, name) for name, stratum_audit in _by_stratum(audit, strata)]


def corrected_over_strata(
    scores: ArrayLike,
    labels: ArrayLike,
    probabilities: ArrayLike,
    strata: ArrayLike,
    clusters: ArrayLike,
    *,
    by_rater: RaterLabels | None = None,
) -> Corrected:
    """Correct the mean over strata, each counting alike; a cluster that strata share is one piece of evidence.

    Arguments as for :func:`corrected_means`. The scorer has one weight in all strata, so this is not the mean of their
    corrected means. There is no such mean if some stratum has no label.
    """
    return _corrected(_read(scores, labels, probabilities, strata, clusters)._replace(by_rater=by_rater), "")


def corrected_difference(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    labels_a: ArrayLike,
    labels_b: ArrayLike,
    probabilities: ArrayLike,
    strata: ArrayLike,
    clusters: ArrayLike,
    *,
    by_rater: RaterLabels | None = None,
) -> list[Corrected]:
    """Correct how much A scores above B, by stratum; of several strata, the last row is over all of them.

    Both answered the same items, a row each; an item counts as labelled where both answers are. The differences
    themselves are corrected, so an error which the scorer makes on both sides cancels, and so does the mildness of a
    person who labelled both answers: ``by_rater`` has differences of labels of one person. Other arguments as for
    :func:`corrected_means`; the row over strata is as in :func:`corrected_over_strata`.
    """
    a, b = (_read(*values, probabilities, strata, clusters) for values in ((scores_a, labels_a), (scores_b, labels_b)))
    scores, labels = (
        paired_values(*sides, binary=True)[2][:, 0] for sides in ((a.scores, b.scores), (a.labels, b.labels))
    )
    weights = np.where(np.isnan(labels), 0.0, a.weights)
    both = a._replace(scores=scores, labels=labels, weights=weights, signed=True, by_rater=by_rater)
    rows = [_corrected(stratum_audit, name) for name, stratum_audit in _by_stratum(both, strata)]
    return [*rows, _corrected(both, "")] if len(rows) > 1 else rows


def _read(
    scores: ArrayLike, labels: ArrayLike, probabilities: ArrayLike, strata: ArrayLike, clusters: ArrayLike
) -> _Audit:
    """Check the input. Raises UsageError or DataError for what does not fit."""
    automatic, people = (read_values(values, share=True)[0][:, 0] for values in (scores, labels))
    chances, n = np.asarray(probabilities, dtype=np.float64), len(automatic)
    if not automatic.shape == people.shape == chances.shape:
        raise UsageError(
            f"There are {n} scores, {len(people)} labels and {chances.size} probabilities.",
            hint="Give one of each for every answer; NaN is the label of an answer that people did not see.",
        )
    if not n:
        raise DataError("there are no answers.", hint="Give at least one answer with an automatic score.")
    if np.isnan(automatic).any():
        position = int(np.argmax(np.isnan(automatic))) + 1
        raise DataError(
            f"the answer at position {position} has no automatic score.", hint="Leave out answers that were not scored."
        )
    labelled = ~np.isnan(people)
    wrong = np.flatnonzero(~((chances >= 0) & (chances <= 1)) | (labelled & (chances == 0)))
    if len(wrong):
        raise DataError(
            f"the probability of being drawn is {chances[wrong[0]]:g} at position {wrong[0] + 1}.",
            hint="It must lie between 0 and 1; a labelled answer needs one above 0, as only recorded draws count.",
        )
    weights = np.divide(1.0, chances, out=np.zeros(n), where=labelled)
    return _Audit(automatic, people, weights, cluster_codes(strata, n), cluster_codes(clusters, n))


def _by_stratum(audit: _Audit, strata: ArrayLike) -> list[tuple[str, _Audit]]:
    """Split an audit into its strata, with their names."""
    names, order = np.asarray(strata, dtype=object), np.argsort(audit.strata, kind="stable")
    stratum_audits = []
    for rows in np.split(order, np.flatnonzero(np.diff(audit.strata[order])) + 1):
        stratum_audit = audit.rows(rows)
        clusters = np.unique(stratum_audit.clusters, return_inverse=True)[1]
        one_stratum = np.zeros(len(rows), dtype=np.intp)
        stratum_audits.append((str(names[rows[0]]), stratum_audit._replace(strata=one_stratum, clusters=clusters)))
    return stratum_audits


def _corrected(audit: _Audit, stratum: str) -> Corrected:
    """One row: the three means, the bias, and which of them to print."""
    labelled, n = audit.labelled, len(audit.scores)
    largest = 1.0 if audit.signed else 0.0
    automatic, people, both, bias = _mean(audit, audit.scores, None, largest), _Mean(), _Mean(), _Mean()
    use: Use = "none"
    reason, weight, saving = "no-labels", 0.0, None
    if len(np.unique(audit.strata[labelled])) > audit.strata.max():
        people = _mean(audit, audit.labels, audit.weights, largest)
        bias = _mean(audit, audit.scores - audit.labels, audit.weights, largest + 1)
        both = people
        if len(labelled) < n:
            both, weight, saving = _both(audit, people.value or 0.0)
        use, reason = _use_of(audit, saving)
    raters, widened = _raters(audit), 1.0
    if raters is not None and raters.known and use != "none":
        df = _freedom(audit)
        widened = _widening(people, raters, df)[0]
        least = -1.0 if audit.signed else 0.0
        people, both = (_widened(mean, raters, df, least, 1.0) for mean in (people, both))
        bias = _widened(bias, raters, df, -1.0 - audit.signed, 1.0 + audit.signed)
    p_value = (both if use == "corrected" else people).p_value
    return Corrected(
        stratum=stratum,
        n=n,
        labelled=len(labelled),
        clusters=len(np.unique(audit.clusters[labelled])),
        automatic=automatic.value,
        automatic_low=automatic.low,
        automatic_high=automatic.high,
        people=people.value,
        people_low=people.low,
        people_high=people.high,
        value=both.value,
        low=both.low,
        high=both.high,
        bias=bias.value,
        bias_low=bias.low,
        bias_high=bias.high,
        weight=weight,
        saving=saving,
        use=use,
        reason=reason,
        p_value=p_value,
        raters=0 if raters is None else raters.raters,
        rater_sd=raters.sd if raters is not None and raters.known else None,
        widened=widened,
    )


def _use_of(audit: _Audit, saving: float | None) -> tuple[Use, str]:
    """Return which mean to print where all strata have labels, and the reason if it is not the corrected one."""
    labelled = audit.labelled
    if len(labelled) == len(audit.scores):
        return "people", "all-labelled"
    if len(labelled) < FEW_LABELS or np.bincount(audit.strata[labelled]).min() < FEW_IN_STRATUM:
        return "people", "few-labels"
    if saving is None or saving < LEAST_SAVING:
        return "people", "no-saving"
    return "corrected", ""


def _raters(audit: _Audit) -> RaterError | None:
    """The error that raters add to people's mean; None if it is not recorded who labelled."""
    if audit.by_rater is None or not len(audit.by_rater.answers):
        return None
    return rater_error(audit.by_rater, audit.strata, audit.weights)


def _freedom(audit: _Audit) -> float:
    """The degrees of freedom of people's mean, from the clusters of answers."""
    return pooled_error(means_of_valid(audit.labels, (audit.strata, audit.clusters), audit.weights))[1]


def _widening(mean: _Mean, raters: RaterError, df: float) -> tuple[float, float, float]:
    """The factors by which an interval and a standard error grow with the error of raters, and the degrees of freedom.

    The latter are Satterthwaite's (1946), of a sum of two variances.
    """
    from scipy.special import stdtrit

    if mean.low is None or not mean.se > 0 or not df > 0:
        return 1.0, 1.0, df
    own = mean.se**2
    more = (own + raters.variance) ** 2 / (own**2 / df + raters.measured**2 / raters.freedom)
    freedom, grown = min(more, df), float(np.sqrt(1 + raters.variance / own))
    return max(grown * float(stdtrit(freedom, 0.975) / stdtrit(df, 0.975)), 1.0), grown, freedom


def _widened(mean: _Mean, raters: RaterError, df: float, least: float, most: float) -> _Mean:
    """A mean with its interval, and the p-value of a difference, for other raters like these."""
    from scipy.special import stdtr, stdtrit

    if mean.value is None or mean.low is None or mean.high is None:
        return mean
    factor, grown, freedom = _widening(mean, raters, df)
    low = max(mean.value - factor * (mean.value - mean.low), least)
    high = min(mean.value + factor * (mean.high - mean.value), most)
    if least == 0 and 0 < mean.value < 1:
        # The nearer a share is to an end, the less do milder or stricter raters change it (Wilson).
        size = mean.value * (1 - mean.value) / (mean.se * grown) ** 2
        ends = wilson_interval(mean.value, size, stdtrit(freedom, 0.975))
        low, high = min(mean.low, float(ends[0])), max(mean.high, float(ends[1]))
    p_value = mean.p_value
    if p_value is not None and p_value > 0:
        p_value = float(2 * stdtr(freedom, float(stdtrit(df, p_value / 2)) / grown))
    return _Mean(mean.value, low, high, p_value, mean.se * grown)


def _mean(audit: _Audit, values: FloatArray, weights: FloatArray | None, largest: float) -> _Mean:
    """Mean over strata of values of answers, with the interval that reports use for shares, or paired differences.

    ``largest``: the largest absolute value of a difference; 0 for values that are shares.
    """
    codes = audit.strata, audit.clusters
    if not largest:
        estimate = (
            pooled_mean(values, *codes, share=True, weights=weights)
            if audit.strata.any()
            else mean_estimates(values, audit.clusters, share=True, weights=weights)[0]
        )
        return _Mean(estimate.value, estimate.low, estimate.high, None, estimate.se or 0.0)
    scaled = values / largest
    means = means_of_valid(scaled, codes, weights)
    se, df = pooled_error(means)
    centre = bounded_centre(scaled, audit.strata, means, se, weights)
    mean = _t_mean(float(means.means.mean()), *centre, df, -1.0)
    value, low, high = (None if end is None else largest * end for end in mean[:3])
    return _Mean(value, low, high, mean.p_value, largest * mean.se)


def _t_mean(value: float, centre: float, se: float, df: float, least: float) -> _Mean:
    """A mean with Student's interval about ``centre``, limited to ``least`` to 1, and its p-value."""
    from scipy.special import stdtr, stdtrit

    value = min(max(value, least), 1.0)
    if not df > 0:
        return _Mean(value)
    half = float(stdtrit(df, 0.975)) * se
    low, high = max(min(centre - half, value), least), min(max(centre + half, value), 1.0)
    return _Mean(value, low, high, float(2 * stdtr(df, -abs(centre / se))) if least < 0 else None, se)


class _Residuals(NamedTuple):
    """How much each cluster, and each of four pseudo-pairs, adds to the error of a stratum's corrected mean.

    With the scorer's weight λ the error is the sum of ``label`` + λ · ``score``, (clusters + 4,); ``shift``: what
    the pseudo-pairs add to people's mean and to the scorer's; ``ahead``: how much higher the scorer's mean of all
    answers is than that of the labelled ones.
    """

    label: FloatArray
    score: FloatArray
    shift: tuple[float, float]
    ahead: float


def _residuals(audit: _Audit, clusters: int, added: float) -> _Residuals:
    """Linearise people's mean and the scorer's mean of the labelled answers, weighted, in one stratum.

    ``added``: how many labels the four pairs count for.
    """
    n, scores, labels = len(audit.scores), audit.scores, np.nan_to_num(audit.labels)
    weights = audit.weights / audit.weights.sum()
    ends = np.array([-1.0, 1.0] if audit.signed else [0.0, 1.0])
    # A pseudo-pair has the weight of one answer among as many independent right/wrong answers as give this error.
    sums = cluster_sums(audit.labels[:, None], audit.clusters, audit.weights)
    spread = (weights @ np.abs(labels) if audit.signed else sums.mean) - sums.mean**2
    pseudo = added / (float(effective_size(sums, spread)[0]) + added)
    people, scorer = float(weights @ labels), float(weights @ scores)
    padded = [(1 - pseudo) * mean + pseudo * float(ends.mean()) for mean in (people, scorer)]
    seen = int(sums.clusters[0])
    heavy = (1 - pseudo) * weights * np.sqrt(seen / max(seen - 1, 1))
    label, score = heavy * (labels - padded[0]), (scores - scores.mean()) / n - heavy * (scores - padded[1])
    pairs = pseudo / 4 * np.array([np.repeat(ends, 2) - padded[0], padded[1] - np.tile(ends, 2)])
    by_cluster = (np.bincount(audit.clusters, values, minlength=clusters) for values in (label, score))
    label, score = (np.concatenate(both) for both in zip(by_cluster, pairs, strict=True))
    pulled = padded[0] - people
    return _Residuals(label, score, (pulled, scorer - padded[1]), float(scores.mean()) - scorer)


def _both(audit: _Audit, people: float) -> tuple[_Mean, float, float | None]:
    """The corrected mean over strata, the scorer's weight in it, and what it saves; ``people``: their mean.

    All strata share one weight and the pseudo-pairs: a weight chosen on the few labels of each stratum would err to
    one side, which does not average out. The weight minimises the sum of squares, so this sum is too small; each
    cluster's contribution is therefore corrected by its leverage (HC2, MacKinnon and White 1985).
    """
    strata, clusters = int(audit.strata.max()) + 1, int(audit.clusters.max()) + 1
    by_stratum = [_residuals(audit.rows(audit.strata == k), clusters, PSEUDO_LABELS / strata) for k in range(strata)]
    label = _over_strata([residuals.label for residuals in by_stratum], clusters)
    score = _over_strata([residuals.score for residuals in by_stratum], clusters)
    verdicts = set(zip(audit.strata[audit.labelled], audit.scores[audit.labelled], strict=True))
    if len(verdicts) == strata:
        # In no stratum do scores vary, so none shows how people's labels depend on them. If one does, the others are
        # used too: their labelled answers have the usual score too often, and that must be corrected as well.
        score = np.zeros_like(score)
    square = float(score @ score)
    weight = min(max(-float(label @ score) / square, 0.0), 1.0) if square > 0 else 0.0
    error = (label + weight * score) / np.sqrt(1 - np.minimum(score**2 / (square or 1.0), 0.5))
    ahead = float(np.mean([residuals.ahead for residuals in by_stratum]))
    shift = np.mean([residuals.shift for residuals in by_stratum], axis=0)
    value = people + weight * ahead
    centre = value + float(shift @ (1.0, weight))
    squared = float(error @ error)
    both = _t_mean(value, centre, float(np.sqrt(squared)), _freedom(audit), -1.0 if audit.signed else 0.0)
    return both, weight, float(label @ label) / squared if both.low is not None else None


def _over_strata(vectors: Sequence[FloatArray], clusters: int) -> FloatArray:
    """Sum each cluster's entries over all strata, each counting alike; every stratum has its own four pairs."""
    shared = np.sum([vector[:clusters] for vector in vectors], axis=0)
    return np.concatenate([shared, *(vector[clusters:] for vector in vectors)]) / len(vectors)


# --- planning ------------------------------------------------------------------------------------------------------


class LabelPlan(NamedTuple):
    """How many labels of a stratum's ``n`` answers give a 95 % interval of ± ``half_width``.

    ``people``: without the scorer, ``corrected``: with it; None where labels of all answers are not enough. ``saving``:
    the one over the other. ``use`` and ``reason`` as in :class:`Corrected`; "too-few-answers" where neither is enough.
    """

    stratum: str
    n: int
    half_width: float
    people: int | None
    corrected: int | None
    saving: float
    use: Literal["corrected", "people", "none"]
    reason: str


def labels_needed(
    n: int,
    half_width: float,
    *,
    pilot: Corrected | None = None,
    agreement: float | None = None,
    share: float = 0.5,
) -> LabelPlan:
    """Plan how many labels a stratum of ``n`` answers needs, all drawn with the same probability.

    The plan follows from a ``pilot`` (a row of :func:`corrected_means`), or from the ``agreement`` (share of
    answers on which the scorer and people agree) and the ``share`` that people call right; .5 is the cautious guess.
    With σ² people's variance, of which ε is left once the scorer is used, the squared error of m labels is
    σ² (ε/m + (1 − ε)/n). Raises UsageError for impossible values.
    """
    from scipy.special import stdtrit

    if not (n >= 2 and 0 < half_width < 1):
        raise UsageError(
            f"There is no plan for an interval of ± {half_width:g} on {n} answers.",
            hint="The width must lie between 0 and 1 (5 points are 0.05), and there must be two answers or more.",
        )
    variance, left = _pilot_variance(pilot) if pilot else _assumed_variance(agreement, share)

    def half(labels: int, left: float) -> float:
        squared = variance * (left / labels + (1 - left) / n)
        return float(stdtrit(labels - 1, 0.975) * np.sqrt(squared))

    def fewest(least: int, left: float) -> int | None:
        tried: Sequence[int] = range(min(least, n), n + 1)
        index = bisect_left(tried, True, key=lambda labels: half(labels, left) <= half_width)
        return tried[index] if index < len(tried) else None

    people, corrected = fewest(2, 1.0), fewest(FEW_LABELS, left)
    saving = 1.0 if corrected is None else (people or n) / corrected
    use: Literal["corrected", "people", "none"] = "corrected"
    reason = ""
    if people is None and corrected is None:
        saving, use, reason = 1.0, "none", "too-few-answers"
    elif people is not None and saving < LEAST_SAVING:
        use, reason = "people", "no-saving"
    return LabelPlan(
        stratum=pilot.stratum if pilot else "",
        n=n,
        half_width=half_width,
        people=people,
        corrected=corrected,
        saving=saving,
        use=use,
        reason=reason,
    )


def _pilot_variance(pilot: Corrected) -> tuple[float, float]:
    """People's variance of one label, with clusters and unequal chances, and the proportion that the scorer leaves."""
    from scipy.special import stdtrit

    if pilot.people_low is None or pilot.people_high is None or pilot.saving is None or pilot.labelled == pilot.n:
        raise UsageError(
            "This pilot does not tell how well the scorer agrees with people.",
            hint="It takes labels of answers to two questions or more, and answers without a label.",
        )
    quantile = float(stdtrit(pilot.clusters - 1, 0.975))
    half = (pilot.people_high - pilot.people_low) / 2 / pilot.widened  # more labels make no rater milder or stricter
    variance = (half / quantile) ** 2 * pilot.labelled
    whole = pilot.labelled / pilot.n
    return variance, min(max((1 / pilot.saving - whole) / (1 - whole), 0.0), 1.0)


def _assumed_variance(agreement: float | None, share: float) -> tuple[float, float]:
    """The same for right/wrong labels, if scorer and people call the same ``share`` right and agree that often."""
    if agreement is None or not 0 <= agreement <= 1 or not 0 < share < 1:
        raise UsageError(
            "Nothing says how well the scorer agrees with people.",
            hint="Give a pilot, or the agreement as a share between 0 and 1, and the share of right answers.",
        )
    correlation = 1 - (1 - agreement) / (2 * share * (1 - share))
    return share * (1 - share), 1 - max(correlation, 0.0) ** 2

"""How much raters add to the error of a mean of their labels: other raters might have been milder or stricter.

A few people label many answers. Each is milder or stricter than the next, and that moves all their labels together, so
it does not average out over answers. Generalizability theory (Brennan 2001, *Generalizability Theory*) splits the
variance of labels into answers, raters and the rest; the variance of raters is added to the error of the mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import UsageError
from kapwa.stats.clusters import FloatArray, IntArray, cluster_codes

# With fewer degrees of freedom, the variance of raters is not known well enough to generalise to others.
LEAST_FREEDOM = 4


class RaterLabels(NamedTuple):
    """The label of each rater, one entry a label: positions of the ``answers``, codes of ``raters``, and ``values``."""

    answers: IntArray
    raters: IntArray
    values: FloatArray

    def of(self, wanted: IntArray) -> RaterLabels:
        """Return the labels of the ``wanted`` answers, by their positions; the answers are renumbered in this order."""
        numbers = np.full(max(int(self.answers.max(initial=-1)), int(wanted.max(initial=-1))) + 1, -1)
        numbers[wanted] = np.arange(len(wanted))
        there = numbers[self.answers] >= 0
        return RaterLabels(numbers[self.answers[there]], self.raters[there], self.values[there])


class RaterError(NamedTuple):
    """The error that raters add to a mean over strata.

    ``raters``: how many there are; ``freedom``: degrees of freedom of their variance. ``sd``: the standard deviation
    between raters, in the unit of the labels, at least 0. ``variance``: what it adds to the squared standard error of
    the mean. ``measured``: the same, including the chance variation of one rater's labels; it shows how well
    ``variance`` is known. ``known``: whether there are enough raters to generalise to others like them.
    """

    raters: int
    freedom: int
    sd: float
    variance: float
    measured: float
    known: bool


def rater_labels(answers: ArrayLike, raters: ArrayLike, values: ArrayLike) -> RaterLabels:
    """Return labels by rater: (m,) positions of the answers, (m,) names of the raters, (m,) numbers.

    Raises UsageError for columns of different lengths and for values that are not numbers.
    """
    positions, numbers = np.asarray(answers, dtype=np.intp), np.asarray(values, dtype=np.float64)
    if not positions.shape == numbers.shape == np.shape(raters) or np.isnan(numbers).any():
        raise UsageError("Each label by a rater needs an answer, a rater and a value.")
    return RaterLabels(positions, cluster_codes(raters, len(positions)), numbers)


def rater_error(labels: RaterLabels, strata: IntArray, weights: FloatArray) -> RaterError:
    """Return what raters add to the error of the mean over strata of the labels of answers.

    ``strata``: (n,) codes of the answers; ``weights``: (n,) how many answers each represents within its stratum. An
    answer's label is the mean of its raters' labels. Variances of answers, raters and the rest come from Henderson's
    method 1 (1953, *Biometrics* 9, 226-252), within strata: unbiased for any design, whether all raters label an answer
    or only one. A rater's weight in the mean is the sum of the weights of their labels, over all strata.
    """
    squares, expected = np.zeros(3), np.zeros((3, 3))
    several = int(strata.max(initial=0)) + 1
    rater_weights, freedom, alone = np.zeros(int(labels.raters.max(initial=0)) + 1), 0, False
    of_answer = np.bincount(labels.answers, minlength=len(strata))
    heavy = weights[labels.answers] / of_answer[labels.answers]
    for stratum in range(several):
        inside = strata[labels.answers] == stratum
        counts = [np.unique(codes[inside], return_inverse=True)[1] for codes in (labels.answers, labels.raters)]
        observed, model = _sums_of_squares(labels.values[inside], *counts)
        squares, expected = squares + observed, expected + model
        raters = int(counts[1].max(initial=-1)) + 1
        freedom, alone = freedom + max(raters - 1, 0), alone or raters < 2
        whole = heavy[inside].sum()
        rater_weights += (
            np.bincount(labels.raters[inside], heavy[inside] / (whole or 1.0), len(rater_weights)) / several
        )
    raters = len(np.unique(labels.raters))
    freedom = min(freedom, raters - 1)
    share = float((rater_weights**2).sum())
    if freedom < 1:
        return RaterError(raters, 0, 0.0, 0.0, 0.0, known=False)
    variance = max(float(np.linalg.lstsq(expected, squares)[0][1]), 0.0)
    measured = max(float(squares[1] / expected[1, 1]), 0.0)
    known = freedom >= LEAST_FREEDOM and not alone
    return RaterError(raters, freedom, float(np.sqrt(variance)), share * variance, share * measured, known)


def _sums_of_squares(values: FloatArray, answers: IntArray, raters: IntArray) -> tuple[FloatArray, FloatArray]:
    """Sums of squares of answers, raters and the rest in one stratum, and what each expects of the three variances."""
    n = len(values)
    if not n:
        return np.zeros(3), np.zeros((3, 3))
    values = values - values.mean()
    of_answer, of_rater = np.bincount(answers), np.bincount(raters)
    by_answer = float((np.bincount(answers, values) ** 2 / of_answer).sum())
    by_rater = float((np.bincount(raters, values) ** 2 / of_rater).sum())
    total = float((values**2).sum())
    a, b = float((of_answer**2).sum()) / n, float((of_rater**2).sum()) / n
    items, people = len(of_answer), len(of_rater)
    expected = np.array(
        [
            [n - a, items - b, items - 1],
            [people - a, n - b, people - 1],
            [a - people, b - items, n - items - people + 1],
        ],
        dtype=float,
    )
    return np.array([by_answer, by_rater, total - by_answer - by_rater]), expected

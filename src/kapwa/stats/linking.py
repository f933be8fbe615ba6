"""Two releases of a benchmark that share items: how much harder one is, and scores on one as scores on the other.

Items are fixed, since they define the release; systems are a sample of many. The step from one release to the other is
therefore estimated from the systems that answered both (mean equating with a single group: Kolen and Brennan 2014,
chapter 2), and its error follows from how much their steps differ. Few systems may agree by chance, so the interval
is never narrower than the one expected from the items alone. No joint model of items and systems (Rasch, IRT) is
fitted: with few systems it would mainly reflect its own assumptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import UsageError
from kapwa.stats.clusters import ROUNDING, FloatArray, IntArray, cluster_codes

LEVEL = 0.95
# With fewer systems, the spread of their steps is unknown; with fewer common items, these do not represent a benchmark.
LEAST_SYSTEMS, LEAST_COMMON = 3, 10
ALPHA = 0.05
# An answer moved if its score changes by half of the range.
_MOVED = 0.5


class ReleaseItems(NamedTuple):
    """The items of one release: labels of their ``cultures`` and ``clusters``, and their ``names``.

    All are (items,). Items of the same name are common to two releases; so a name must identify the question, as
    an id with a version of its text does.
    """

    cultures: Sequence[object]
    clusters: Sequence[object]
    names: Sequence[str]


class ReleaseAnswers(NamedTuple):
    """The scores of systems on the items of one release, (systems, items), with their bounds ``least`` and ``most``.

    Where an answer is missing, ``value`` is NaN and the bounds are the ends of the metric; elsewhere all three agree.
    """

    value: FloatArray
    least: FloatArray
    most: FloatArray


class ReleaseStep(NamedTuple):
    """How a score changes from one release to the other, of systems like those that answered both.

    ``value`` with its interval ``low`` to ``high`` of the requested level, which allows for any missing answers.
    ``error_systems``: its standard error from the differences between systems; ``error_items``: as expected from the
    items alone. The interval is the wider one of the two. ``systems``: how many answered both.
    """

    value: float
    low: float
    high: float
    error_systems: float
    error_items: float
    systems: int


class LinkedScore(NamedTuple):
    """The score that a system would have on the items of the other release: ``value``, with its 95 % interval.

    ``outside``: whether it scores lower or higher than every system that answered both, so that their step may not
    apply to it.
    """

    value: float
    low: float
    high: float
    outside: bool


class MovedItem(NamedTuple):
    """How answers to a common item moved from one release to the other: systems ``up`` and ``down``.

    ``p_value``: of the exact sign test (two-sided); ``p_adjusted``: over all common items (Tarone 1990).
    """

    up: int
    down: int
    p_value: float
    p_adjusted: float

    @property
    def significant(self) -> bool:
        """Whether the item is not as difficult as it was."""
        return self.p_adjusted < ALPHA


class _Weights(NamedTuple):
    """A linear score of both releases: a weight for each item of the one, and of the other."""

    old: FloatArray
    new: FloatArray


class Linking:
    """Releases ``old`` and ``new`` of one benchmark, linked by what some systems scored on both.

    ``on_old`` and ``on_new``: of those systems alone, in one order. Cultures of both releases count alike, as in
    scores; a culture that only one release has is left out. Raises UsageError for fewer than :data:`LEAST_SYSTEMS`
    systems, and where fewer than :data:`LEAST_COMMON` clusters are common.
    """

    def __init__(self, old: ReleaseItems, new: ReleaseItems, on_old: ReleaseAnswers, on_new: ReleaseAnswers) -> None:
        """See the class."""
        self.systems = len(on_old.value)
        if self.systems < LEAST_SYSTEMS:
            raise UsageError(
                f"Linking needs {LEAST_SYSTEMS} systems that answered both releases; there are {self.systems}.",
                hint="Run more systems on both releases.",
            )
        releases = (old, new)
        cultures = [np.asarray([str(label) for label in release.cultures]) for release in releases]
        self.cultures = sorted(set(cultures[0]) & set(cultures[1]))
        self._rows = [np.flatnonzero(np.isin(labels, self.cultures)) for labels in cultures]
        labels = [
            [release.clusters[at] for at in rows.tolist()] for release, rows in zip(releases, self._rows, strict=True)
        ]
        codes = cluster_codes(np.asarray([*labels[0], *labels[1]], dtype=object), sum(map(len, labels)))
        self._clusters = codes[: len(labels[0])], codes[len(labels[0]) :]
        self._cultures = [
            np.searchsorted(self.cultures, of_items[at]) for of_items, at in zip(cultures, self._rows, strict=True)
        ]
        names = [
            [release.names[at] for at in rows.tolist()] for release, rows in zip(releases, self._rows, strict=True)
        ]
        self._partners = _partners(names[0], names[1]), _partners(names[1], names[0])
        self.common = int((self._partners[0] >= 0).sum())
        if len(set(self._clusters[0][self._partners[0] >= 0].tolist())) < LEAST_COMMON:
            raise UsageError(
                f"The releases have {self.common} items in common; linking needs {LEAST_COMMON} of different clusters.",
                hint="Keep more items of the earlier release in the later one.",
            )
        self._old, self._new = self._filled(on_old, 0), self._filled(on_new, 1)

    def step(self, culture: str | None = None, *, level: float = LEVEL) -> ReleaseStep:
        """Return by how much scores change from the old release to the new one; of one ``culture``, or the mean."""
        weights = self._score_weights(culture)
        return self._step(_Weights(-weights[0], weights[1]), level)

    def onto_old(self, on_new: ReleaseAnswers) -> list[LinkedScore]:
        """Return what systems that answered the new release alone would score on the items of the old one.

        Answers to common items count as they are; the score on the other items is shifted by the step that the linking
        systems showed.
        """
        predicting = self._prediction_weights()
        rest = self._step(_Weights(self._score_weights(None)[0], -predicting), LEVEL, several=True)
        filled = self._filled(on_new, 1)
        known = self._new.value @ predicting
        ends = _ends(filled, predicting)
        linked = []
        for at, low, high in zip(filled.value @ predicting, *ends, strict=True):
            outside = bool(at < known.min() or at > known.max())
            linked.append(LinkedScore(float(at + rest.value), float(low + rest.low), float(high + rest.high), outside))
        return linked

    def _filled(self, answers: ReleaseAnswers, side: int) -> ReleaseAnswers:
        """The answers of the compared cultures; a missing one is the system's mean over the same kind of items.

        The kinds are the common and the other items of each culture.
        """
        rows = self._rows[side]
        value, least, most = (stratum[:, rows] for stratum in answers)
        gone = np.isnan(value)
        if gone.any():
            strata = 2 * self._cultures[side] + (self._partners[side] >= 0)
            value = value.copy()
            whole = np.nansum(value, axis=1) / np.maximum((~gone).sum(axis=1), 1)
            for stratum in np.unique(strata):
                here = np.flatnonzero(strata == stratum)
                counts = (~gone[:, here]).sum(axis=1)
                own = np.nansum(value[:, here], axis=1) / np.maximum(counts, 1)
                means = np.where(counts > 0, own, whole)[:, None]
                value[:, here] = np.where(gone[:, here], means, value[:, here])
        return ReleaseAnswers(value, least, most)

    def _score_weights(self, culture: str | None) -> _Weights:
        """Weights of items in the two scores: cultures count alike, and items of a culture; or of one culture alone."""
        chosen = self.cultures if culture is None else [culture]
        weights = []
        for codes in self._cultures:
            sizes = np.bincount(codes, minlength=len(self.cultures)) * len(chosen)
            here = np.isin(codes, np.searchsorted(self.cultures, chosen))
            weights.append(np.where(here, 1 / sizes[codes], 0.0))
        return _Weights(*weights)

    def _prediction_weights(self) -> FloatArray:
        """Weights of new items that predict an old score: common ones as in the old release, all for the rest."""
        old, new = self._score_weights(None)
        lost = np.bincount(self._cultures[0], np.where(self._partners[0] < 0, old, 0.0), len(self.cultures))
        partners = self._partners[1]
        return np.asarray(
            np.where(partners >= 0, old[partners], 0.0) + new * len(self.cultures) * lost[self._cultures[1]]
        )

    def _step(self, weights: _Weights, level: float, *, several: bool = False) -> ReleaseStep:
        """The mean of a linear score over systems; ``several``: the interval is of one more system, not of the mean."""
        cases = [self._old.value @ weights.old + self._new.value @ weights.new]
        ends = [(_ends(self._old, weights.old)[k] + _ends(self._new, weights.new)[k]) for k in (0, 1)]
        cases += [end for end in ends if not np.allclose(end, cases[0])]
        expected = self._of_items(weights)
        steps = [_mean_step(case, expected, level, several=several) for case in cases]
        return steps[0]._replace(low=min(one.low for one in steps), high=max(one.high for one in steps))

    def _of_items(self, weights: _Weights) -> tuple[float, int]:
        """The variance over systems that is expected from the items, and its degrees of freedom.

        It is the variance of the interaction of system and item, summed by cluster.
        """
        n = self.systems
        cultures, clusters = np.concatenate(self._cultures), np.concatenate(self._clusters)
        values = np.concatenate([self._old.value, self._new.value], axis=1)
        residual = values - values.mean(axis=0)
        for culture in range(len(self.cultures)):
            here = cultures == culture
            residual[:, here] -= residual[:, here].mean(axis=1, keepdims=True)
        sums = np.zeros((n, 1 + int(clusters.max())))
        np.add.at(sums.T, clusters, (residual * np.concatenate(weights)).T)
        sums[np.abs(sums) <= ROUNDING] = 0.0
        used = int(np.count_nonzero((sums != 0).any(axis=0)))
        variance = float((sums**2).sum() / (n - 1) * used / (used - 1)) if used > 1 else 0.0
        return variance, (n - 1) * max(used - 1, 1)


def _partners(names: Sequence[str], others: Sequence[str]) -> IntArray:
    """For each name its index among the ``others``, −1 where it is not there."""
    positions = {name: position for position, name in enumerate(others)}
    return np.array([positions.get(name, -1) for name in names], dtype=np.intp)


def _ends(answers: ReleaseAnswers, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A linear score with all missing answers against it, and with all for it."""
    low = np.where(weights > 0, answers.least, answers.most) @ weights
    high = np.where(weights > 0, answers.most, answers.least) @ weights
    return np.asarray(low), np.asarray(high)


def _mean_step(values: FloatArray, of_items: tuple[float, int], level: float, *, several: bool) -> ReleaseStep:
    """The mean of ``values`` (systems,) with the wider of two intervals: from these, and as expected from the items."""
    from scipy.special import stdtrit

    n, mean = len(values), float(values.mean())
    variances, freedom = (float(values.var(ddof=1)), of_items[0]), (n - 1, of_items[1])
    errors = [float(np.sqrt(variance / n)) for variance in variances]
    widening = float(np.sqrt(n + 1)) if several else 1.0
    halves = [float(stdtrit(df, 0.5 + level / 2)) * error for error, df in zip(errors, freedom, strict=True)]
    half = max(halves) * widening
    return ReleaseStep(mean, mean - half, mean + half, errors[0], errors[1], n)


def moved_items(old: ArrayLike, new: ArrayLike) -> list[MovedItem]:
    """Test for each common item whether the same systems answer it differently in the new release.

    ``old`` and ``new``: (systems, items), NaN where an answer is missing. An answer moved if its score, 0 to 1,
    changes by a half or more. If only chance moves answers, as many go up as down, however unstable the item is; so the
    direction of the moved answers is tested. An item with few moved answers can never be significant and does not count
    as a test (Tarone 1990). The p-values are adjusted so that 5 of 100 comparisons of two releases find an item where
    none moved.
    """
    from scipy.special import bdtr

    change = np.asarray(new, dtype=np.float64) - np.asarray(old, dtype=np.float64)
    up, down = np.count_nonzero(change >= _MOVED, axis=0), np.count_nonzero(change <= -_MOVED, axis=0)
    moved = np.add(up, down)
    p_values = np.where(moved > 0, np.minimum(2 * bdtr(np.minimum(up, down), moved, 0.5), 1.0), 1.0)
    least = np.where(moved > 0, np.minimum(2.0 * 0.5**moved, 1.0), 1.0)
    several = len(p_values)
    tests = next(k for k in range(1, several + 2) if np.count_nonzero(least <= ALPHA / k) <= k)
    return list(_adjusted(up, down, p_values, np.where(least <= ALPHA / tests, np.minimum(p_values * tests, 1.0), 1.0)))


def _adjusted(up: IntArray, down: IntArray, p_values: FloatArray, adjusted: FloatArray) -> Iterator[MovedItem]:
    for row in zip(up.tolist(), down.tolist(), p_values.tolist(), adjusted.tolist(), strict=True):
        yield MovedItem(*row)

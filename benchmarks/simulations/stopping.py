"""Runs that stop once their score is known: how often the last interval holds the full run's score, and what is saved.

Planted models answer whole benchmarks, with the released numbers of questions and clusters where the data lie beside
this checkout, else with round ones. Of each, many random orders are drawn, and each is asked, looked at and stopped as
a run is. A control is an earlier model whose answers agree with the new one's: each answer is the earlier one with
chance φ, else drawn anew, so that φ is their correlation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from benchmarks.simulations import Cell

import kapwa
from kapwa.stats.clusters import FloatArray, IntArray
from kapwa.stats.sequential import Partial, decision_half, look_points, mean_of_partials, partial_means

SUBJECT = "stopping early"
WIDTH, MEAN_WIDTH = 0.05, 0.02
ACCURACIES = (0.05, 0.2, 0.5, 0.9, 0.95)
CONTROLS = (None, 0.5, 0.8)
_RELEASED = Path(__file__).resolve().parents[3] / "shared" / "data"
ORDERS = 50  # drawn of each planted population
_SAMPLES = 4
_LOWEST = 93.3  # 94, less one standard error of a thousand data sets


@dataclass(frozen=True)
class Whole:
    """One culture's full run: cluster of each item, the new model's scores, the earlier model's."""

    codes: IntArray
    new: FloatArray
    old: FloatArray


@cache
def released_sizes(task: str, source: str) -> dict[str, list[int]]:
    """Items of each cluster, by culture, of the released data in their first variant; {} where they are not here."""
    if not (_RELEASED / source).exists():
        return {}
    items = kapwa.load_task(task, data=_RELEASED / source).items()
    sizes: dict[str, dict[str, int]] = {}
    for item in items:
        if item.variant == items[0].variant:
            clusters = sizes.setdefault(item.culture, {})
            clusters[item.cluster] = clusters.get(item.cluster, 0) + 1
    return {culture: list(clusters.values()) for culture, clusters in sizes.items()}


def designs() -> dict[str, tuple[list[int], float, int]]:
    """Cluster sizes of one culture, how alike a cluster's answers are, and samples of an item, by the design's name."""
    blend = released_sizes("blend/saq", "blend") or {"": [1] * 460}
    kalahi = released_sizes("kalahi/mc", "kalahi/filipino.csv") or {"": [1] * 44 + [2] * 24 + [3] * 19}
    return {
        "a culture of BLEnD": (next(iter(blend.values())), 0.0, 1),
        "Kalahi": (next(iter(kalahi.values())), 0.3, 1),
        "230 pairs of items": ([2] * 230, 0.4, 1),
        f"230 items, {_SAMPLES} samples of each": ([1] * 230, 0.0, _SAMPLES),
    }


def planted(
    random: np.random.Generator, design: tuple[list[int], float, int], accuracy: float, alike: float | None
) -> Whole:
    """A culture's full run by a new and an earlier model of this accuracy."""
    sizes, clustered, samples = design
    codes = np.repeat(np.arange(len(sizes)), sizes)
    rate = np.full(len(sizes), accuracy)
    if clustered:
        spread = (1 - clustered) / clustered
        rate = random.beta(accuracy * spread, (1 - accuracy) * spread, len(sizes))
    rate = rate[codes]
    if samples > 1:
        rate = random.beta(1.5 * np.maximum(rate, 1e-6), 1.5 * np.maximum(1 - rate, 1e-6))
    old = random.binomial(samples, rate) / samples
    anew = random.binomial(samples, rate) / samples
    return Whole(codes, np.where(random.random(len(codes)) < (alike or 0.0), old, anew), old)


class Drawn:
    """Many orders of a culture's clusters, and what each has asked at a look: a column an order."""

    def __init__(self, random: np.random.Generator, whole: Whole, orders: int, control: bool) -> None:
        """``control``: whether the earlier model's answers are used."""
        self.whole, self._control = whole, whole.old if control else None
        sizes = np.bincount(whole.codes)
        order = np.argsort(random.random((orders, len(sizes))), axis=1)
        self._rank = np.argsort(order, axis=1)[:, whole.codes].T
        points = [look_points(sizes[clusters]) for clusters in order]
        looks = max(map(len, points))
        self.points = np.array([row + [row[-1]] * (looks - len(row)) for row in points]).T

    def at(self, look: int, columns: IntArray) -> Partial:
        """The estimates of some orders at a look."""
        asked = self._rank[:, columns] < self.points[min(look, len(self.points) - 1), columns]
        return partial_means(np.where(asked, self.whole.new[:, None], np.nan), self.whole.codes, self._control)

    def share(self, look: int, columns: IntArray) -> FloatArray:
        """The part of the clusters that were asked."""
        return np.asarray(self.points[min(look, len(self.points) - 1), columns] / self.points[-1, 0])


@dataclass(frozen=True)
class Ended:
    """How each order ended: whether the interval held the truth, what was decided, the part that was not asked.

    ``each``: of several cultures, the share whose own intervals held their truths.
    """

    held: FloatArray
    decided: FloatArray
    saved: FloatArray
    each: FloatArray


def one_culture(drawn: Drawn, orders: int, width: float) -> tuple[Ended, Partial]:
    """Stop each order by the width of one culture's interval; return also the estimates that each ended with."""
    truth, going, look = drawn.whole.new.mean(), np.arange(orders), 0
    saved, last = np.zeros(orders), {name: np.zeros(orders) for name in Partial._fields}
    while going.size:
        part = drawn.at(look, going)
        done = (part.half <= width) | (drawn.share(look, going) >= 1)
        for name in Partial._fields:
            last[name][going[done]] = getattr(part, name)[done]
        saved[going[done]] = 1 - drawn.share(look, going)[done]
        going, look = going[~done], look + 1
    ends = Partial(**last)
    held = _holds(ends, float(truth))
    return Ended(held, np.zeros(orders), saved, held), ends


def _holds(part: Partial, truth: float) -> FloatArray:
    return np.asarray((part.low - 1e-9 <= truth) & (truth <= part.high + 1e-9), dtype=np.float64)


def several_cultures(cultures: Sequence[Drawn], orders: int, width: float, margin: float | None) -> Ended:
    """Stop by the width of the mean over cultures, or with ``margin`` by a decision against the earlier model."""
    truths = [float(drawn.whole.new.mean()) for drawn in cultures]
    truth = float(np.mean(truths))
    old = np.mean([drawn.whole.old.mean() for drawn in cultures])
    going, look = np.arange(orders), 0
    held, decided, saved, each = (np.zeros(orders) for _ in range(4))
    while going.size:
        parts = [drawn.at(look, going) for drawn in cultures]
        mean = mean_of_partials(parts)
        share = np.mean([drawn.share(look, going) for drawn in cultures], axis=0)
        if margin is None:
            done = (mean.half <= width) | (share >= 1)
        else:
            half, difference = decision_half(mean), mean.value - old
            found = np.where(difference - half >= -margin, 1, np.where(difference + half < -margin, -1, 0))
            decided[going] = found
            done = found != 0
        held[going[done]], saved[going[done]] = _holds(mean, truth)[done], 1 - share[done]
        own = np.mean([_holds(part, one) for part, one in zip(parts, truths, strict=True)], axis=0)
        each[going[done]] = own[done]
        going, look = going[~done], look + 1
    return Ended(held, decided, saved, each)


def percent(parts: Sequence[FloatArray]) -> float:
    return float(100 * np.mean(np.concatenate(parts)))


def _control_words(alike: float | None) -> str:
    return "no control" if alike is None else f"a control of φ {alike:g}"


def each_cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """One culture by itself, eight data sets for each of ``repeats``."""
    for name, design in designs().items():
        for alike in CONTROLS:
            for accuracy in ACCURACIES:
                ended = [
                    one_culture(
                        Drawn(random, planted(random, design, accuracy, alike), ORDERS, alike is not None),
                        ORDERS,
                        WIDTH,
                    )[0]
                    for _ in range(max(8 * repeats // ORDERS, 1))
                ]
                where = f"{name}, ±{WIDTH:g}, {accuracy:g} right, {_control_words(alike)}"
                yield from _coverage_and_saving(ended, where)


def _coverage_and_saving(ended: Sequence[Ended], where: str) -> Iterator[Cell]:
    n = sum(len(one.held) for one in ended)
    yield Cell(SUBJECT, "coverage at the stop", where, percent([one.held for one in ended]), n, _LOWEST, 100)
    saved = float(100 * np.median(np.concatenate([one.saved for one in ended])))
    yield Cell(SUBJECT, "median saving", where, saved, n, 0, 100)


def all_of_blend(random: np.random.Generator, accuracy: float, alike: float | None) -> list[Whole]:
    """All cultures of BLEnD, whose accuracies differ."""
    sizes = list((released_sizes("blend/saq", "blend") or {str(k): [1] * 460 for k in range(16)}).values())
    shifts = np.clip(accuracy + random.normal(0, 0.06, len(sizes)), 0.01, 0.99)
    return [planted(random, (size, 0.0, 1), rate, alike) for size, rate in zip(sizes, shifts.tolist(), strict=True)]


def mean_cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """All cultures of BLEnD: by the mean's width, and the mean where each culture ends by itself."""
    for alike in CONTROLS:
        for accuracy in ACCURACIES:
            together, apart = [], []
            for _ in range(max(repeats // ORDERS, 1)):
                wholes = all_of_blend(random, accuracy, alike)
                drawn = [Drawn(random, whole, ORDERS, alike is not None) for whole in wholes]
                together.append(several_cultures(drawn, ORDERS, MEAN_WIDTH, None))
                ends = [one_culture(culture, ORDERS, WIDTH) for culture in drawn]
                mean = mean_of_partials([part for _, part in ends], apart=True)
                truth = np.mean([whole.new.mean() for whole in wholes])
                saved, own = (np.mean([getattr(one, name) for one, _ in ends], axis=0) for name in ("saved", "held"))
                apart.append(Ended(_holds(mean, float(truth)), np.zeros(ORDERS), saved, own))
            where = f"16 cultures of BLEnD, {accuracy:g} right, {_control_words(alike)}"
            for ended, ends_by in (
                (together, f"the mean ends at ±{MEAN_WIDTH:g}"),
                (apart, f"each ends at ±{WIDTH:g}"),
            ):
                yield from _coverage_and_saving(ended, f"{where}, {ends_by}: the mean")
                own, n = percent([one.each for one in ended]), len(ended) * ORDERS
                yield Cell(
                    SUBJECT, "coverage at the stop", f"{where}, {ends_by}: single cultures", own, n, _LOWEST, 100
                )


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Coverage and savings of runs that stop early."""
    for part, own in zip((each_cells, mean_cells), random.spawn(2), strict=True):
        yield from part(own, repeats)

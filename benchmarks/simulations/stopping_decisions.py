"""Runs that stop once a loss against an earlier run is shown or excluded: wrong decisions over all looks; the saving.

Decisions are put to the test where they are hardest: at a loss of nearly the margin, on the planted models of
:mod:`benchmarks.simulations.stopping`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from benchmarks.simulations import Cell
from benchmarks.simulations.stopping import (
    ORDERS,
    SUBJECT,
    Drawn,
    Whole,
    all_of_blend,
    designs,
    percent,
    planted,
    several_cultures,
)

MARGIN = 0.02
# Of one culture: a loss that so few items can show or exclude before all are asked.
WIDE_MARGIN = 0.05
Planting = Callable[[np.random.Generator, float, float], tuple[list[Whole], int]]


def losing(random: np.random.Generator, whole: Whole, lost: int, samples: int) -> Whole:
    """The same culture, whose new model has ``lost`` answers right less than the earlier one: some are turned.

    ``samples``: answers to each item.
    """
    new = np.round(whole.new * samples)
    wanted = round(samples * whole.old.sum()) - lost
    step = 1 if wanted > new.sum() else -1
    turns = np.repeat(np.arange(len(new)), (samples - new if step > 0 else new).astype(int))
    np.add.at(new, random.permutation(turns)[: abs(int(new.sum()) - wanted)], step)
    return Whole(whole.codes, new / samples, whole.old)


def sixteen(random: np.random.Generator, accuracy: float, alike: float) -> tuple[list[Whole], int]:
    """All cultures of BLEnD, and the answers to each item."""
    return all_of_blend(random, accuracy, alike), 1


def one_of(name: str) -> Planting:
    """A culture of a design of :func:`benchmarks.simulations.stopping.designs`, by itself."""

    def planting(random: np.random.Generator, accuracy: float, alike: float) -> tuple[list[Whole], int]:
        design = designs()[name]
        return [planted(random, design, accuracy, alike)], design[2]

    return planting


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Decisions against an earlier run: wrong ones at the margin, and the saving without a loss."""
    whole = [("16 cultures of BLEnD", sixteen, MARGIN)]
    others = [(name, one_of(name), WIDE_MARGIN) for name in list(designs())[1:]]
    # One culture is drawn faster than sixteen, so four times as often.
    for (name, planting, margin), accuracies, times in [
        *((one, (0.2, 0.5, 0.9, 0.95), 1) for one in whole),
        *((one, (0.2, 0.5, 0.9), 4) for one in others),
    ]:
        for alike in (0.8, 0.3):
            for accuracy in accuracies:
                where = f"{name}, {accuracy:g} right, φ {alike:g}, margin {margin:g}"
                yield from _decided(random, planting, (accuracy, alike, margin), where, times * repeats)


def _decided(
    random: np.random.Generator,
    planting: Planting,
    design: tuple[float, float, float],
    where: str,
    repeats: int,
) -> Iterator[Cell]:
    """One design (accuracy, φ, margin): losses just above and just below the margin, and none."""
    accuracy, alike, margin = design
    for beyond, loss, wrong, figure in (
        (1, "just above the margin", 1, "“no regression”, wrongly"),
        (-1, "just below the margin", -1, "“regression”, wrongly"),
        (None, "nothing", -1, "“regression”, wrongly"),
    ):
        ended = []
        for _ in range(max(repeats // ORDERS, 1)):
            wholes, samples = planting(random, accuracy, alike)
            at_margin = [margin * samples * len(one.new) for one in wholes]
            lost = [0 if beyond is None else round(most) + beyond for most in at_margin]
            pairs = zip(wholes, lost, strict=True)
            drawn = [Drawn(random, losing(random, one, n, samples), ORDERS, control=True) for one, n in pairs]
            ended.append(several_cultures(drawn, ORDERS, 0.0, margin))
        n = sum(len(one.decided) for one in ended)
        setting = f"{where}, {loss} lost"
        said = percent([one.decided == wrong for one in ended])
        yield Cell(SUBJECT, figure, setting, said, n, 0, 2.5)
        saved = float(100 * np.median(np.concatenate([one.saved for one in ended])))
        yield Cell(SUBJECT, "median saving of a decision", setting, saved, n, 0, 100)

"""Runs that stop once a loss against an earlier run is shown or excluded: wrong decisions over all looks; the saving.

Decisions are put to the test where they are hardest: at a loss of nearly the margin, on the planted models of
:mod:`benchmarks.simulations.stopping`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.simulations import Cell
from benchmarks.simulations.stopping import (
    ORDERS,
    SUBJECT,
    Drawn,
    Whole,
    all_of_blend,
    percent,
    several_cultures,
)

MARGIN = 0.02


def at_margin(random: np.random.Generator, whole: Whole, loss: float) -> Whole:
    """The same culture, whose new model scores just ``loss`` less than the earlier one: answers are turned until so."""
    new = whole.new.copy()
    wanted = round(whole.old.sum() - loss * len(new))
    turned = random.permutation(np.flatnonzero(new == float(new.sum() > wanted)))[: abs(int(new.sum()) - wanted)]
    new[turned] = 1 - new[turned]
    return Whole(whole.codes, new, whole.old)


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Decisions against an earlier run, over 16 cultures: wrong ones at the margin, and the saving without a loss."""
    for alike in (0.8, 0.3):
        for accuracy in (0.2, 0.5, 0.9):
            where = f"16 cultures of BLEnD, {accuracy:g} right, φ {alike:g}, margin {MARGIN:g}"
            for loss, wrong, figure in (
                (MARGIN + 0.0005, 1, "“no regression”, wrongly"),
                (MARGIN - 0.0005, -1, "“regression”, wrongly"),
                (0.0, -1, "“regression”, wrongly"),
            ):
                ended = []
                for _ in range(max(repeats // ORDERS, 1)):
                    wholes = [at_margin(random, whole, loss) for whole in all_of_blend(random, accuracy, alike)]
                    drawn = [Drawn(random, whole, ORDERS, control=True) for whole in wholes]
                    ended.append(several_cultures(drawn, ORDERS, 0.0, MARGIN))
                n = sum(len(one.decided) for one in ended)
                lost = f"{where}, {100 * loss:g} points lost"
                said = percent([one.decided == wrong for one in ended])
                yield Cell(SUBJECT, figure, lost, said, n, 0, 2.5)
                saved = float(100 * np.median(np.concatenate([one.saved for one in ended])))
                yield Cell(SUBJECT, "median saving of a decision", lost, saved, n, 0, 100)

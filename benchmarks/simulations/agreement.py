"""Coverage of intervals of agreement between raters, where one of two labels is rare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from benchmarks.simulations import Cell

from kapwa.stats.agreement import Coefficient, bootstrap_interval

COEFFICIENTS: tuple[Coefficient, ...] = ("percent", "cohen", "fleiss", "krippendorff-nominal")
RARE, RIGHT, RATERS = 0.1, 0.9, 3


def cells(
    random: np.random.Generator,
    repeats: int,
    *,
    sizes: Sequence[int] = (20, 50, 100, 200),
    coefficients: Sequence[Coefficient] = COEFFICIENTS,
) -> Iterator[Cell]:
    """Three raters see one of two kinds of unit, a tenth of them of the rarer; each is right about nine in ten."""
    label = RARE * RIGHT + (1 - RARE) * (1 - RIGHT)
    observed, chance = RIGHT**2 + (1 - RIGHT) ** 2, label**2 + (1 - label) ** 2
    for coefficient in coefficients:
        truth = observed if coefficient == "percent" else (observed - chance) / (1 - chance)
        for size in sizes:
            held = given = 0
            for _ in range(repeats):
                seen = random.random((size, 1)) < RARE
                table = np.where(random.random((size, RATERS)) < RIGHT, seen, ~seen).astype(int)
                found = bootstrap_interval(table, coefficient, replicates=500)
                if found.low is not None and found.high is not None:
                    given += 1
                    held += found.low <= truth <= found.high
            setting = f"{size} units, {RATERS} raters, labels 90/10, true value {truth:.2f}; {given} gave an interval"
            yield Cell("agreement", f"coverage of {coefficient}", setting, 100 * held / max(given, 1), repeats, 93, 97)

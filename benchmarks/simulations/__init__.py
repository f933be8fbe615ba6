"""One module a subject: each yields the cells of the calibration table (``benchmarks/calibration.py``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cell:
    """One simulated figure: how often something happened in ``repeats`` simulated data sets, in percent.

    ``low`` and ``high`` bound what it should be: coverage 93 to 97, error rates 3 to 6, power 75 to 85. ``setting``
    says what was simulated, "16 cultures × 100 questions, no difference".
    """

    subject: str
    figure: str
    setting: str
    percent: float
    repeats: int
    low: float
    high: float

    @property
    def reached(self) -> bool:
        """Whether the figure lies in its bounds."""
        return self.low <= self.percent <= self.high


Simulation = Callable[[np.random.Generator, int], Iterator[Cell]]

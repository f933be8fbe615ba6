"""A metric: the share of letters that two texts have in common. ``--metrics letters`` computes it for any open task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


class SharedLetters:
    """Twice the letters in common, divided by the letters of both; 1 for the same letters in any order."""

    name = "letters"
    title = "Shared letters (example)"
    source = "Dice's coefficient of two bags of letters"
    low, high = 0.0, 1.0
    signature = "letters|version:1"

    def score_pairs(self, hypotheses: Sequence[str], references: Sequence[str]) -> npt.NDArray[np.float64]:
        return np.array([_dice(a, b) for a, b in zip(hypotheses, references, strict=True)])


def _dice(first: str, second: str) -> float:
    a, b = (Counter(filter(str.isalpha, text.casefold())) for text in (first, second))
    return 2 * (a & b).total() / (a.total() + b.total()) if a and b else 0.0

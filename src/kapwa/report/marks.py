"""Floors and ceilings beside a score, and whether the score is above or below them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from kapwa.report.wording import WORD_PAIRS, known
from kapwa.stats.families import ALPHA
from kapwa.stats.significance import holm

Estimate = dict[str, Any]
Verdict = Literal["above", "below", "unclear"]
# What floors and ceilings that every suite may have are called in a sentence, and in a chart.
FLOOR_WORDS = WORD_PAIRS["mark"]

GUESSING = ("chance", "no preference")
PEOPLE = ("human", "a person (leave one out)")


class Mark(NamedTuple):
    """A floor or ceiling for one culture, metric and variant.

    ``low``–``high``: its own interval. ``difference``: how much higher the score of one run is; ``p_value``: of that
    difference, item by item; ``relative``: the score as a share of it, with interval. None where that is not known.
    ``paired_with``: the metric whose values these three are of; "" where it is the score's own.
    ``several``: its replies hold several guesses each. ``difference_low``–``difference_high``: of means over cultures.
    """

    name: str
    value: float
    ceiling: bool
    words: str  # what it is called in a sentence: "always picking the longest answer"
    short: str  # in a chart: "longest answer"
    low: float | None = None
    high: float | None = None
    difference: float | None = None
    p_value: float | None = None
    relative: float | None = None
    relative_low: float | None = None
    relative_high: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    several: bool = False
    paired_with: str = ""


OWN_INTERVAL = ("low", "high")
# What is tested of one run, item by item or over cultures.
TEST_RESULTS = (
    *("difference", "p_value", "relative", "relative_low", "relative_high"),
    *("difference_low", "difference_high"),
)


class Marks(NamedTuple):
    """Floors, lowest first, then ceilings, and those a score is held against; None where there is none."""

    every: Sequence[Mark] = ()
    base: Mark | None = None  # guessing where there is such a thing, else the highest floor
    best: Mark | None = None  # the highest floor of one guess: the best trick without cultural knowledge
    top: Mark | None = None  # what people score: the lowest ceiling with an interval, else the lowest
    listing: Mark | None = None  # the highest floor of several guesses in one reply, where it is above ``best``

    @classmethod
    def of(cls, marks: Iterable[Mark], *, low_is_good: bool = False) -> Marks:
        """Sort ``marks`` out; of a metric of which less is better, the lowest floor is the best trick."""
        every = sorted(marks, key=lambda mark: (mark.ceiling, -mark.value if low_is_good else mark.value))
        tops, lists = [m for m in every if m.ceiling], [m for m in every if m.several]
        floors = [m for m in every if not (m.ceiling or m.several)]
        best = floors[-1] if floors else None
        base = next((mark for mark in floors if mark.name in GUESSING), best)
        top = next((mark for mark in tops if known(mark.low)), tops[0] if tops else None)
        above = [mark for mark in lists if best is None or mark.value > best.value]
        return cls(every, base, best, top, above[-1] if above else None)


# A score, its floors and ceilings, and how it stands to them.
Held = tuple[Estimate, Marks, Mapping[Mark, Verdict]]


def verdicts(scores: Sequence[tuple[Estimate, Marks]]) -> list[dict[Mark, Verdict]]:
    """Whether each score is above or below its floors of one guess and what people score, 5 % of families erring.

    ``scores``: those of all models at one level: of single cultures, or means over them. A family is all floors of
    all of them, another all that people score; p-values are Holm's (1979) within each. Where no test was made item by
    item, the two intervals are taken as independent: the difference is held against the two half-widths between the
    values, squared and added (Newcombe 1998), which for a mark without interval asks whether the score's interval
    holds it.
    """
    from scipy.special import stdtr, stdtrit

    by_score: list[dict[Mark, Verdict]] = [{} for _ in scores]
    families: tuple[list[tuple[float, float, int, Mark]], ...] = ([], [])
    for place, (row, marks) in enumerate(scores):
        for mark in (m for m in marks.every if m is marks.top or not (m.ceiling or m.several)):
            value, low, high, p = row["value"], row["low"], row["high"], mark.p_value
            difference = mark.difference if known(mark.difference) else (value or 0.0) - mark.value
            if p is None and known(value) and known(low) and known(high):
                ends = (value - low, mark.high) if difference > 0 else (high - value, mark.low)
                half = math.hypot(ends[0], mark.value - ends[1] if known(ends[1]) else 0.0)
                df = max(int(row["clusters"]) - 1, 1)
                p = float(2 * stdtr(df, -abs(difference) / half * stdtrit(df, 0.975))) if half else 1.0
            least, most = mark.difference_low, mark.difference_high
            if p is None or (known(least) and known(most) and least <= 0 <= most):
                p = 1.0
            families[mark.ceiling].append((p, difference, place, mark))
    for family in families:
        for (_, difference, place, mark), p in zip(family, holm([test[0] for test in family]), strict=True):
            by_score[place][mark] = "unclear" if p >= ALPHA else "above" if difference > 0 else "below"
    return by_score

"""Floors and ceilings beside a score, and whether the score is above or below them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from kapwa.report.wording import known
from kapwa.runs.floors import GUESSING as GUESSING  # noqa: PLC0414 - shown to others
from kapwa.stats.families import ALPHA
from kapwa.stats.significance import holm
from kapwa.value_types import Row

EstimateRow = dict[str, Any]
Verdict = Literal["above", "below", "unclear", "undecided"]
# Names, in sentences and charts, of the floors and ceilings that every suite may have.
FLOOR_WORDS: Mapping[str, tuple[str, str]] = {
    "chance": ("guessing", "guessing"),
    "no preference": ("having no preference", "no preference"),
    "a person (leave one out)": ("people", "people"),
    "human": ("people", "people"),
    "human (implied)": ("people (implied)", "people (implied)"),
    "reference answers": ("the reference answers", "reference answers"),
}

PEOPLE = ("human", "a person (leave one out)")


# Shares of the answers that are missing. Above the first, bounds stand beside a score, and cultures are not compared;
# above the second, there is no headline and no rank.
SHOW_BOUNDS_ABOVE, NO_RANK_ABOVE = 0.01, 0.20


def share_of(row: Row | None) -> float:
    """The share of the answers of an estimate that are missing."""
    n_asked = row.get("asked") if row else None
    return (row.get("missing") or 0) / n_asked if row and n_asked else 0.0


def is_unranked(row: Mapping[str, object] | None) -> bool:
    """Whether a score is no headline and has no rank: much is missing, or only what came first was asked."""
    return share_of(row) > NO_RANK_ABOVE or is_first_items_only(row)


def is_first_items_only(row: Mapping[str, object] | None) -> bool:
    """Whether an estimate is of a run that ended early in the order of the data (:attr:`TaskView.ended_in_order`)."""
    return bool(row and row.get("ended_in_order"))


class ReferenceScore(NamedTuple):
    """A floor or ceiling for one culture, metric and variant.

    ``low``–``high``: its own interval. ``difference``: how much higher the score of one run is; ``p_value``: of that
    difference, item by item; ``relative``: the score as a share of it, with interval. None where that is not known.
    ``paired_with``: the metric whose values these three are of; "" where it is the score's own.
    ``is_list``: its replies hold several guesses each. ``difference_low``–``difference_high``: of means over cultures.
    ``p_worst``, ``worst_low``–``worst_high``: where all missing answers count against the side that scores higher.
    """

    name: str
    value: float
    is_ceiling: bool
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
    p_worst: float | None = None
    worst_low: float | None = None
    worst_high: float | None = None
    is_list: bool = False
    paired_with: str = ""


OWN_INTERVAL = ("low", "high")
# The tests of one run, item by item or over cultures.
TEST_RESULTS = (
    *("difference", "p_value", "relative", "relative_low", "relative_high"),
    *("difference_low", "difference_high", "p_worst", "worst_low", "worst_high"),
)


class ReferenceScores(NamedTuple):
    """Floors, lowest first, then ceilings, and those a score is held against; None where there is none."""

    every: Sequence[ReferenceScore] = ()
    baseline: ReferenceScore | None = None  # guessing where there is such a thing, else the highest floor
    best_trick: ReferenceScore | None = (
        None  # the highest floor of one guess: the best trick without cultural knowledge
    )
    ceiling: ReferenceScore | None = None  # what people score: the lowest ceiling with an interval, else the lowest
    best_list: ReferenceScore | None = None  # the highest floor of several guesses in a reply, if above ``best_trick``

    @classmethod
    def of(cls, marks: Iterable[ReferenceScore], *, low_is_good: bool = False) -> ReferenceScores:
        """Sort ``marks`` out; of a metric of which less is better, the lowest floor is the best trick."""
        every = sorted(marks, key=lambda mark: (mark.is_ceiling, -mark.value if low_is_good else mark.value))
        ceilings, lists = [m for m in every if m.is_ceiling], [m for m in every if m.is_list]
        floors = [m for m in every if not (m.is_ceiling or m.is_list)]
        best_trick = floors[-1] if floors else None
        baseline = next((mark for mark in floors if mark.name in GUESSING), best_trick)
        ceiling = next((mark for mark in ceilings if known(mark.low)), ceilings[0] if ceilings else None)
        above = [mark for mark in lists if best_trick is None or mark.value > best_trick.value]
        return cls(every, baseline, best_trick, ceiling, above[-1] if above else None)


# A score, its floors and ceilings, and how it stands to them.
ScoreWithReferences = tuple[EstimateRow, ReferenceScores, Mapping[ReferenceScore, Verdict]]


def verdicts(scores: Sequence[tuple[EstimateRow, ReferenceScores]]) -> list[dict[ReferenceScore, Verdict]]:
    """Whether each score is above or below its floors of one guess and what people score, 5 % of families erring.

    ``scores``: those of one system at one level: of single cultures, or its mean over them. A family is all floors of
    these, another all that people score; p-values are Holm's (1979) within each. Systems have families of their own:
    what is said of one does not depend on who shares the page. Where no test was made item by item, the two intervals
    are taken as independent: the difference is held against the two half-widths between the values, squared and added
    (Newcombe 1998), which for a mark without interval asks whether the score's interval holds it.

    "undecided": it would be above or below, but not where every missing answer counts against that.
    """
    by_score: list[dict[ReferenceScore, Verdict]] = [{} for _ in scores]
    families: tuple[list[_Tested], ...] = ([], [])
    for index, (row, marks) in enumerate(scores):
        for mark in (m for m in marks.every if m is marks.ceiling or not (m.is_ceiling or m.is_list)):
            families[mark.is_ceiling].append(_tested(index, row, mark))
    for family in families:
        measured, worst = (holm([getattr(test, name) for test in family]) for name in ("p", "p_worst"))
        for test, p, p_worst in zip(family, measured, worst, strict=True):
            clear: Verdict = "above" if test.difference > 0 else "below"
            verdict: Verdict = "unclear" if p >= ALPHA else "undecided" if p_worst >= ALPHA else clear
            by_score[test.number][test.mark] = verdict
    return by_score


class _Tested(NamedTuple):
    """A score held against a mark: p-values as measured, and with what is missing counted against the difference."""

    number: int
    mark: ReferenceScore
    difference: float
    p: float
    p_worst: float


def _tested(index: int, row: EstimateRow, mark: ReferenceScore) -> _Tested:
    difference = mark.difference if known(mark.difference) else (row["value"] or 0.0) - mark.value
    p = mark.p_value
    if p is None:
        p = _difference_p(mark, difference, row["low"] if difference > 0 else row["high"], row)
    least, most = mark.difference_low, mark.difference_high
    if p is None or (known(least) and known(most) and least <= 0 <= most):
        p = 1.0
    if not row.get("missing"):
        return _Tested(index, mark, difference, p, p)
    worst = mark.p_worst
    if mark.p_value is None:
        bound, near = ("least", "least_low") if difference > 0 else ("most", "most_high")
        apart = row[bound] - mark.value if known(row[bound]) else 0.0
        worst = _difference_p(mark, apart, row[near], {**row, "value": row[bound]}) if apart * difference > 0 else 1.0
    end = mark.worst_low if difference > 0 else mark.worst_high
    if worst is None or (known(end) and end * difference <= 0):
        worst = 1.0
    return _Tested(index, mark, difference, p, max(p, worst))


def _difference_p(mark: ReferenceScore, difference: float, near: float | None, row: EstimateRow) -> float | None:
    """The p-value of a score's ``difference`` from a mark, by their intervals.

    ``near``: the end of the score's interval that lies nearer to the mark.
    """
    from scipy.special import stdtr, stdtrit

    if not (known(row["value"]) and known(near)):
        return None
    end = mark.high if difference > 0 else mark.low
    half = math.hypot(row["value"] - near, mark.value - end if known(end) else 0.0)
    df = max(int(row["clusters"]) - 1, 1)
    return float(2 * stdtr(df, -abs(difference) / half * stdtrit(df, 0.975))) if half else 1.0

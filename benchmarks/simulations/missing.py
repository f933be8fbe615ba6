"""Answers that are missing where a model would be wrong: how often what is said is false.

A server, a filter or a limit keeps back answers that would have been wrong, of one of two systems, until 10, 20 or 30
of 100 are missing. "No regression" is false where the new run has lost the margin; "better" and a rank above another
are false between equal systems; "better than guessing" is false of a system that guesses. Nothing may change where
nothing is missing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from benchmarks.simulations import Cell
from benchmarks.simulations.comparisons import answers, places

from kapwa.report.board.ranks import ranks
from kapwa.report.tables.regression import outcome_at_worst, outcome_of
from kapwa.report.view.reference_scores import ReferenceScore, ReferenceScores, verdicts
from kapwa.stats.every_pair import every_pair
from kapwa.stats.families import is_clear, is_equal
from kapwa.stats.missing import Side, compare_over_cultures_with_worst_cases, pooled_mean_with_bounds

SUBJECT = "answers missing where they would be wrong"
MARGIN = 0.05
DESIGNS = {
    "16 cultures × 40 shared questions": (16, 40, "shared"),
    "4 cultures × 100 questions of their own": (4, 100, "own"),
}
RATES = (0.1, 0.2, 0.3)
_FLIPS = 999
_EQUAL_SHARE = 0.6


def one_side(values: np.ndarray) -> Side:
    """Values as one column, and what those that are missing (NaN) can be."""
    column = values[:, None]
    gone = np.isnan(column)
    return Side(column, np.where(gone, 0.0, column), np.where(gone, 1.0, column), gone.astype(float))


def without_wrong(random: np.random.Generator, values: np.ndarray, rate: float) -> np.ndarray:
    """The values without some that are wrong: ``rate`` of all, or as many wrong ones as there are."""
    wrong = np.flatnonzero(values == 0)
    lost = random.permutation(wrong)[: round(rate * len(values))]
    kept = values.astype(float)
    kept[lost] = np.nan
    return kept


def compared(
    random: np.random.Generator, design: tuple[int, int, str], loss: float, rate: float
) -> tuple[dict[str, object], dict[str, object]]:
    """The comparison (new − old) of a simulated pair of runs as it is told, and of the same without missing answers."""
    cultures, questions = places(random, design)
    level = np.linspace(0.9, 1.1, design[0]) * _EQUAL_SHARE
    new, old = answers(random, cultures, questions, np.stack([level - loss, level]))
    told = []
    for side in (without_wrong(random, new, rate), new.astype(float)):
        of = compare_over_cultures_with_worst_cases(
            one_side(side),
            one_side(old.astype(float)),
            cultures,
            questions,
            np.array([True]),
            varies=False,
            permutations=_FLIPS,
            equal_within=MARGIN,
        )[0].comparison._asdict()
        of |= {"p_holm": of["p_value"], "p_worst_holm": of["p_worst"], "p_equal_holm": of["p_equal"]}
        of |= {"gain_low": of["low"], "gain_high": of["high"]}
        told.append(of)
    return told[0], told[1]


def board(random: np.random.Generator, design: tuple[int, int, str], rate: float) -> dict[str, tuple[int, int]]:
    """The ranks of four equal systems, of which the first fails where it is wrong."""
    cultures, questions = places(random, design)
    scores = answers(random, cultures, questions, np.full((4, design[0]), _EQUAL_SHARE))
    items = pl.DataFrame({"culture": cultures.astype(str), "language": "en", "cluster": questions.astype(str)})
    items = items.with_columns(item_id=pl.col("culture") + "-" + pl.col("cluster"))
    tables = []
    for place, row in enumerate(scores):
        values = without_wrong(random, row, rate if place == 0 else 0.0)
        side = one_side(values)
        columns = {"value": pl.Series(values).fill_nan(None), "missing": side.missing[:, 0].astype(int)}
        columns |= {"least": pl.Series(side.least[:, 0]), "most": pl.Series(side.most[:, 0])}
        tables.append(items.with_columns(asked=1, **columns))
    names = [f"s{place}" for place in range(4)]
    return ranks(names, every_pair(tables, names, "m", "v", binary=True).to_dicts())


def guesses(random: np.random.Generator, design: tuple[int, int, str], rate: float) -> bool:
    """Whether a system that guesses one of four is said to be better than guessing."""
    cultures, questions = places(random, design)
    (row,) = answers(random, cultures, questions, np.full((1, design[0]), 0.25))
    values = without_wrong(random, row, rate)
    side = one_side(values)
    frame = pl.DataFrame({"culture": cultures.astype(str), "cluster": questions.astype(str)})
    frame = frame.with_columns(
        value=pl.Series(values).fill_nan(None),
        least=pl.Series(side.least[:, 0]),
        most=pl.Series(side.most[:, 0]),
        asked=1,
        missing=pl.Series(side.missing[:, 0].astype(int)),
    )
    mean = pooled_mean_with_bounds(frame, share=True, ends=(0.0, 1.0))
    chance = ReferenceScore("chance", 0.25, False, "guessing", "guessing")
    return verdicts([(mean, ReferenceScores.of([chance]))])[0][chance] == "above"


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Errors of each claim at 10, 20 and 30 of 100 missing, and that nothing changes where nothing is missing."""
    for name, design in DESIGNS.items():
        for rate in RATES:
            setting = f"{name}, {100 * rate:.0f} of 100 answers missing where wrong"
            lost = [compared(random, design, MARGIN, rate)[0] for _ in range(repeats)]
            passed = [outcome_at_worst(row, MARGIN) == "no regression" for row in lost]
            yield Cell(SUBJECT, "“no regression”", f"{setting}, {_SAID}", _percent(passed), repeats, 0, 3)
            naive = [outcome_of(row["low"], row["high"], MARGIN) == "no regression" for row in lost]  # type: ignore[arg-type]
            yield Cell(SUBJECT, "“no regression”, as measured", f"{setting}, {_SAID}", _percent(naive), repeats, 0, 100)
            yield Cell(SUBJECT, "“equal”", f"{setting}, {_SAID}", _percent(map(is_equal, lost)), repeats, 0, 6)
            equal = [compared(random, design, 0.0, rate)[0] for _ in range(repeats)]
            yield Cell(SUBJECT, "“better”", f"{setting}, equal", _percent(map(is_clear, equal)), repeats, 0, 5)
            ranked = [board(random, design, rate) for _ in range(max(repeats // 4, 1))]
            wrong = [any(rank != (1, 4) for rank in one.values()) for one in ranked]
            yield Cell(SUBJECT, "any rank", f"{setting}, four equal systems", _percent(wrong), len(ranked), 0, 6)
            above = [guesses(random, design, rate) for _ in range(repeats)]
            yield Cell(SUBJECT, "“better than guessing”", f"{setting}, it guesses", _percent(above), repeats, 0, 5)
        for loss in (0.0, MARGIN, 0.15):
            same = []
            for _ in range(repeats):
                row, whole = compared(random, design, loss, 0.0)
                measured = outcome_of(whole["low"], whole["high"], MARGIN)  # type: ignore[arg-type]
                same.append(outcome_at_worst(row, MARGIN) == measured and row["p_worst"] == whole["p_value"])
            at = f"{name}, nothing missing, {100 * loss:.0f} points lost"
            yield Cell(SUBJECT, "the same decision", at, _percent(same), repeats, 100, 100)


_SAID = f"{100 * MARGIN:.0f} points lost, which is the margin"


def _percent(said: object) -> float:
    return 100 * float(np.mean(list(said)))  # type: ignore[call-overload]

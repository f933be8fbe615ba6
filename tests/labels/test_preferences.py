"""Preferences between two texts: a slow twin counts them; intervals hold the truth; a side that decides shows."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from kapwa.errors import DataError
from kapwa.labels.preferences import (
    BAD,
    FIRST,
    PAIR_COLUMNS,
    SECOND,
    TIE,
    Preference,
    analyse_preferences,
    preference_shares,
    read_preferences,
)

ANSWERS = (FIRST, SECOND, TIE, BAD, "")


def slowly(given: list[Preference]) -> dict[str, tuple[int, int]]:
    """Each share as (chosen, of so many), from its definition."""
    told = [one for one in given if one.preferred != ""]
    decided = [one for one in told if one.preferred in (FIRST, SECOND)]

    def count(among: list[Preference], right: Callable[[Preference], bool]) -> tuple[int, int]:
        return len([one for one in among if right(one)]), len(among)

    def first(one: Preference) -> bool:
        return one.preferred == FIRST

    return {
        "prefer text 1": count(decided, first),
        "prefer text 1 where it stood first": count([one for one in decided if one.first_shown == FIRST], first),
        "prefer text 1 where it stood second": count([one for one in decided if one.first_shown == SECOND], first),
        "prefer the text that stood first": count(decided, lambda one: one.preferred == one.first_shown),
        "see no difference": count(told, lambda one: one.preferred == TIE),
        "find both bad": count(told, lambda one: one.preferred == BAD),
    }


def test_shares_are_those_of_a_slow_twin() -> None:
    for seed in range(40):
        chance = random.Random(seed)
        given = [
            Preference(f"{pair}", f"{pair // 2}", f"r{rater}", chance.choice((FIRST, SECOND)), chance.choice(ANSWERS))
            for pair in range(chance.randrange(6))
            for rater in range(chance.randrange(1, 4))
        ]
        found = preference_shares(given)
        assert {row["share"]: (row["chosen"], row["n"]) for row in found.to_dicts()} == slowly(given)
        for row in found.iter_rows(named=True):
            assert row["value"] == (row["chosen"] / row["n"] if row["n"] else None)


def test_nobody_and_one_person() -> None:
    assert analyse_preferences([]).shares["value"].to_list() == [None] * 6
    alone = analyse_preferences([Preference("1", "1", "r", FIRST, FIRST)])
    assert (alone.raters, alone.pairs, alone.agreement.height) == (1, 1, 0)
    same = analyse_preferences([Preference(f"{n}", f"{n}", f"r{r}", FIRST, TIE) for n in range(3) for r in range(2)])
    notes = dict(same.agreement.select("coefficient", "note").iter_rows())
    assert notes["krippendorff-nominal"] == "undefined: every answer is the same"


def test_a_table_is_read_and_a_cell_that_is_none_is_named(tmp_path: Path) -> None:
    table = tmp_path / "pairs.csv"
    head = ",".join(PAIR_COLUMNS)
    table.write_text(f"{head}\n1-R001,k1,full,x,c1,ana,one,two,2,tie,\n", encoding="utf-8")
    assert read_preferences([table]) == [Preference("1-R001", "c1", "ana", "2", TIE, ("one", "two"))]
    table.write_text(f"{head}\n1-R001,k1,full,x,c1,ana,one,two,2,left,\n", encoding="utf-8")
    with pytest.raises(DataError, match="row 2, column 'preferred': 'left' is not one of 1, 2, tie, both bad"):
        read_preferences([table])


def simulated(rng: np.random.Generator, *, side: float = 0.0) -> pl.DataFrame:
    """40 pairs judged by three people each: pairs differ in how far text 1 is better (mean 0.6), a fifth see a tie.

    ``side``: with this chance a person takes what stands first, whatever it is.
    """
    given = []
    for pair, liking in enumerate(rng.beta(3, 2, 40)):
        for rater in range(3):
            first = (FIRST, SECOND)[rng.integers(2)]
            preferred = FIRST if rng.random() < liking else SECOND
            preferred = first if rng.random() < side else preferred
            given.append(Preference(str(pair), str(pair), str(rater), first, TIE if rng.random() < 0.2 else preferred))
    return preference_shares(given)


def test_intervals_hold_the_true_share_and_tell_of_the_side() -> None:
    """Coverage of 95% intervals in 100 seeded runs, and how often the side is called when it decides and when not."""
    rng = np.random.default_rng(3)

    def row(found: pl.DataFrame, name: str) -> dict[str, float]:
        return next(row for row in found.iter_rows(named=True) if row["share"] == name)

    held = biased = missed = 0
    for _ in range(100):
        fair = simulated(rng)
        found = row(fair, "prefer text 1")
        held += found["low"] <= 0.6 <= found["high"]
        found = row(fair, "prefer the text that stood first")
        missed += not found["low"] <= 0.5 <= found["high"]
        found = row(simulated(rng, side=0.4), "prefer the text that stood first")
        biased += found["low"] > 0.5
    assert 0.9 <= held / 100 <= 0.99
    assert missed / 100 <= 0.1
    assert biased / 100 >= 0.88

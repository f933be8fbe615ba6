"""The difference of two parts of a benchmark: its definition, missing answers, and how often it says too much."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from benchmarks.simulations.halves import DESIGNS, compared, half

from kapwa.stats.halves import apart
from kapwa.stats.intervals import wilson_interval


def test_one_culture_of_single_questions_is_newcombes_tenth_method() -> None:
    """Newcombe (1998), table II, (a): 56 of 70 against 48 of 80, interval 0.0524 to 0.3339."""
    first, second = (_answers(right, of) for right, of in ((56, 70), (48, 80)))
    found = apart(first, second, share=True)
    assert found is not None
    assert found.difference == pytest.approx(0.2)
    # Ours has Student's quantile where Newcombe has the normal one, so it is a little wider.
    assert (found.low, found.high) == pytest.approx((0.0524, 0.3339), abs=0.004)
    assert found.low < 0.0524
    ends = [wilson_interval(right / of, of, 1.959964) for right, of in ((56, 70), (48, 80))]
    (low, high), (other_low, other_high) = ends
    by_hand = 0.2 - math.hypot(0.8 - low, other_high - 0.6), 0.2 + math.hypot(high - 0.8, 0.6 - other_low)
    assert by_hand == pytest.approx((0.0524, 0.3339), abs=1e-4)


def _answers(right: int, of: int) -> pl.DataFrame:
    value = [1.0] * right + [0.0] * (of - right)
    keys = {
        "culture": "c",
        "language": "xx",
        "item_id": [str(k) for k in range(of)],
        "cluster": list(map(str, range(of))),
    }
    columns = {"value": value, "least": value, "most": value, "gone": 0.0, "asked": 1, "missing": 0}
    return pl.DataFrame({**keys, **columns})


def test_missing_answers_widen_it_on_both_sides() -> None:
    first, second = _answers(40, 60), _answers(20, 40)
    whole = apart(first, second, share=True)
    lost = pl.col("item_id").cast(pl.Int64) < 6
    gone = first.with_columns(
        value=pl.when(lost).then(None).otherwise("value"),
        least=pl.when(lost).then(0.0).otherwise("least"),
        most=pl.when(lost).then(1.0).otherwise("most"),
        missing=lost.cast(pl.Int64),
    )
    found = apart(gone, second, share=True)
    assert whole is not None
    assert found is not None
    assert found.missing == (6, 0)
    assert found.low < whole.low - 0.05
    assert found.high >= whole.high


def test_parts_without_a_common_culture_are_not_compared() -> None:
    other = _answers(20, 40).with_columns(culture=pl.lit("d"))
    assert apart(_answers(40, 60), other, share=True) is None


@pytest.mark.parametrize("design", DESIGNS, ids=[design[0] for design in DESIGNS])
def test_halves_alike_are_rarely_said_to_differ(design: tuple[str, int, list[int], list[int]]) -> None:
    random = np.random.default_rng(3)
    found = [compared(random, design, (0.5, 0.5)) for _ in range(60)]
    assert sum(one is not None and one.shown for one in found) <= 5  # of 60 at 2.5 %: more in 1 of 100


def test_a_culture_that_was_learnt_by_heart_is_seen() -> None:
    random = np.random.default_rng(4)
    found = apart(half(random, 4, [1] * 100, 0.9), half(random, 4, [1] * 40, 0.5), share=True)
    assert found is not None
    assert found.shown
    assert found.n == (400, 160)

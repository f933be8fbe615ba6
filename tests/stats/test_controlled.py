"""A difference of two runs, with the items of the old one alone: its definition, its coverage, what is missing."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from benchmarks.simulations.more_old_items import DESIGNS, one_data_set, part_of, planted_pair
from benchmarks.simulations.series import item_frames

from kapwa.stats.controlled import with_old_items
from kapwa.stats.sequential import FOLDS, LEAST_SAVING
from kapwa.stats.series import change


def pair(cultures: int = 1, sizes: tuple[int, ...] = (1,) * 200, several: int = 60, seed: int = 1, alike: float = 0.0):
    """The items of an old run and of a new run that was asked a random part of them."""
    random = np.random.default_rng(seed)
    old, new = item_frames(cultures, list(sizes), list(planted_pair(random, cultures, list(sizes), 0.5, alike)))
    return old, part_of(random, new, several)


def test_the_estimate_is_the_regression_estimator_written_out() -> None:
    old, new = pair()
    found = with_old_items(new, old, share=False, margin=0.02)
    assert found is not None
    rows = old.join(new, on="item_id", how="left", suffix=" new").to_dicts()
    place = {cluster: k for k, cluster in enumerate(sorted({row["cluster"] for row in rows}))}
    x = np.array([row["value"] for row in rows])
    d = np.array([np.nan if row["value new"] is None else row["value new"] - row["value"] for row in rows])
    fold = np.array([place[row["cluster"]] % FOLDS for row in rows])
    asked, slopes = ~np.isnan(d), np.empty(len(d))
    for k in range(FOLDS):
        others = asked & (fold != k)
        slopes[fold == k] = np.polyfit(x[others], d[others], 1)[0]
    part = slopes * (x - x.mean())
    residual = (d - part)[asked]
    value = residual.mean() + part.mean()
    assert found.comparison.difference == pytest.approx(value)
    # Two phases: residuals are known of those asked, the control of all.
    told = np.zeros(len(d))
    told[asked] = (residual - residual.mean()) / asked.sum()
    told += (part - part.mean()) / len(d)
    assert found.comparison.se == pytest.approx(np.sqrt((told**2).sum() * len(d) / (len(d) - 1)))
    assert found.phi == pytest.approx(np.corrcoef(x[asked], (x + d)[asked])[0, 1])
    assert found.more == 140
    assert found.comparison.b_value == pytest.approx(x.mean())
    assert found.comparison.a_value == pytest.approx(x.mean() + value)


def test_it_is_used_only_where_it_saves() -> None:
    saved = []
    for alike in (0.0, 0.9):
        found = [with_old_items(*pair(seed=seed, alike=alike)[::-1], share=True, margin=0.02) for seed in range(20)]
        assert all(one is None or one.saves >= LEAST_SAVING for one in found)
        saved.append(np.mean([0.0 if one is None else one.saves for one in found]))
    assert saved[0] > 0.15
    assert saved[1] < 0.05


def test_nothing_is_said_without_more_items() -> None:
    old, new = pair(several=200)
    assert new.height == old.height
    assert with_old_items(new, old, share=True, margin=0.02) is None


def test_a_culture_that_the_new_run_lacks_is_left_out() -> None:
    old, new = pair(cultures=3)
    two = pl.col("culture") != "c2"
    without = with_old_items(new.filter(two), old, share=True, margin=0.02)
    assert without == with_old_items(new.filter(two), old.filter(two), share=True, margin=0.02)
    assert without is not None


def test_missing_answers_widen_it_to_both_worst_cases() -> None:
    old, new = pair(seed=4)
    lost = pl.int_range(pl.len()) < 6
    gone = new.with_columns(
        value=pl.when(lost).then(None).otherwise("value"),
        least=pl.when(lost).then(0.0).otherwise("least"),
        most=pl.when(lost).then(1.0).otherwise("most"),
        gone=pl.when(lost).then(1.0).otherwise(0.0),
    )
    found = with_old_items(gone, old, share=True, margin=0.02)
    assert found is not None
    ends = found.comparison
    for filled, low, high in ((0.0, ends.least_low, ends.least_high), (1.0, ends.most_low, ends.most_high)):
        case = new.with_columns(
            **dict.fromkeys(("value", "least", "most"), pl.when(lost).then(filled).otherwise("value"))
        )
        whole = with_old_items(case, old, share=True, margin=0.02)
        assert whole is not None
        assert (whole.comparison.low, whole.comparison.high) == pytest.approx((low, high))
    assert ends.missing_a == pytest.approx(0.1)


@pytest.mark.parametrize("design", DESIGNS, ids=[design[0] for design in DESIGNS])
def test_the_interval_holds_the_truth(design: tuple[str, int, list[int], int]) -> None:
    random = np.random.default_rng(7)
    held = 0
    for _ in range(40):
        controlled, plain = one_data_set(random, design, 0.5, 0.1)
        said = plain if controlled is None else controlled.comparison
        assert said.low is not None
        assert said.high is not None
        held += said.low <= 0 <= said.high
    assert held >= 34  # of 40 at 95 %: fewer in 1 of 100


def test_without_it_the_difference_is_that_of_the_shared_items() -> None:
    old, new = pair(seed=2)
    plain = change(old, new, share=True, level=0.95).comparison
    found = with_old_items(new, old, share=True, margin=0.02)
    assert found is not None
    assert plain.low is not None
    assert plain.high is not None
    assert found.comparison.low is not None
    assert found.comparison.high is not None
    shorter = (found.comparison.high - found.comparison.low) / (plain.high - plain.low)
    assert shorter**2 == pytest.approx(1 - found.saves, abs=0.05)

"""Differential item functioning against two other libraries, definitions, and planted differences."""

from typing import Any

import numpy as np
import pytest
from benchmarks.simulations.differential import PLANTED, World
from benchmarks.simulations.differential import answers as simulated
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kapwa.errors import UsageError
from kapwa.stats.differential import LEAST_ROWS, common_odds, differential_items, ets_class, robust_spread

TABLES = arrays(np.int64, st.tuples(st.integers(1, 6), st.just(4)), elements=st.integers(0, 12))


def answers(random: np.random.Generator, rows: int = 150, items: int = 12, shift: float = 0.0) -> tuple[Any, Any]:
    """Right answers of two groups of ``rows``; the first item is harder for the second by ``shift`` logits."""
    ability, difficulty = random.normal(size=2 * rows), np.tile(random.normal(size=items), (2 * rows, 1))
    difficulty[rows:, 0] += shift
    chance = 1 / (1 + np.exp(difficulty - ability[:, None]))
    return (random.random(chance.shape) < chance).astype(float), np.arange(2 * rows) >= rows


@given(TABLES)
def test_pooled_odds_are_those_of_statsmodels(counts: Any) -> None:
    contingency = pytest.importorskip("statsmodels.stats.contingency_tables")
    odds = common_odds(counts)
    used = [row.reshape(2, 2) for row in counts if row[:2].sum() and row[2:].sum()]
    table = contingency.StratifiedTable(used) if used else None
    a, b, c, d = np.array(used).reshape(-1, 4).T.astype(float) if used else np.zeros((4, 1))
    n = np.maximum(a + b + c + d, 1)
    if table is None or not (a * d).sum() or not (b * c).sum():
        assert np.isnan(odds.se)
        return
    assert odds.odds_ratio == pytest.approx(table.oddsratio_pooled, rel=1e-9)
    assert odds.se == pytest.approx(table.logodds_pooled_se, rel=1e-9)
    if abs((a - (a + b) * (a + c) / n).sum()) >= 0.5:  # nearer, statsmodels corrects beyond what is expected
        test = table.test_null_odds(correction=True)
        assert odds.chi2 == pytest.approx(test.statistic, rel=1e-9)
        assert odds.p_value == pytest.approx(test.pvalue, abs=1e-9)
    else:
        assert (odds.chi2, odds.p_value) == (0, 1)


def test_items_are_those_of_mirt_stratum_by_stratum() -> None:
    """Strata are the scores themselves: so many of mirt's bins that each score has its own, and none is merged."""
    empirical = pytest.importorskip("mirt.utils.empirical")
    right, focal = answers(np.random.default_rng(0), rows=400, items=8, shift=1.5)
    score = right.sum(axis=1)
    both = np.intersect1d(score[focal], score[~focal])
    assert set(score) == set(both)
    for place, item in enumerate(differential_items(right, focal, purify=False)):
        chi2, p, ratio = empirical.mantel_haenszel(right, focal.astype(int), score, place, n_strata=5000)
        assert item.odds.odds_ratio == pytest.approx(ratio, rel=1e-9)
        if chi2:
            assert item.odds.chi2 == pytest.approx(chi2, rel=1e-9)
            assert item.odds.p_value == pytest.approx(p, abs=1e-9)


@pytest.mark.parametrize(
    ("delta", "se", "p", "size"),
    [
        (-3.0, 0.5, 0.001, "C"),
        (3.0, 0.5, 0.2, "A"),  # not significant
        (0.9, 0.1, 0.001, "A"),  # significant, but small
        (1.2, 0.1, 0.001, "B"),
        (1.6, 0.5, 0.001, "B"),  # large, but not surely over 1
        (1.5, 0.3, 0.001, "C"),
        (np.inf, np.nan, 0.001, ""),
        (2.0, 0.5, np.nan, ""),
    ],
)
def test_classes_follow_the_published_rule(delta: float, se: float, p: float, size: str) -> None:
    assert ets_class(delta, se, p) == size


def test_a_planted_item_is_class_c_with_its_sign_and_leaves_the_matching_score() -> None:
    right, focal = answers(np.random.default_rng(1), rows=400, shift=1.2)
    first, *others = differential_items(right, focal)
    assert first.size == "C"
    assert first.delta < 0, "harder for the focal group"
    assert first.low < -2.35 * 1.2 < first.high
    assert not first.anchor
    assert all(item.anchor for item in others if item.size == "A")
    assert first.p_bh < 0.001
    backwards = differential_items(right, ~focal)[0]
    assert backwards.delta == pytest.approx(-first.delta)


def test_purification_mends_what_many_differing_items_do_to_the_others() -> None:
    """Four of twelve items are harder for the focal group: unpurified, the others seem easier for it."""
    random = np.random.default_rng(3)
    right, focal = answers(random, rows=1500)
    harder = random.random((focal.sum(), 4)) < 0.25
    right[np.flatnonzero(focal)[:, None], np.arange(4)] *= ~harder
    plain, pure = (
        np.mean([abs(item.delta) for item in differential_items(right, focal, purify=purify)[4:]])
        for purify in (False, True)
    )
    assert pure < 0.6 * plain


def test_a_slow_walk_over_people_gives_the_same_tables() -> None:
    """Of complete and of missing answers; scores that only one group has join the stratum below."""
    random = np.random.default_rng(2)
    right, focal = answers(random, rows=40, items=6)
    right[random.random(right.shape) < 0.1] = np.nan
    for place, item in enumerate(differential_items(right, focal, purify=False)):
        strata: dict[int, list[tuple[float, bool]]] = {}
        for row, is_focal in zip(right, focal, strict=True):
            known = [value for value in row if not np.isnan(value)]
            if not np.isnan(row[place]):
                strata.setdefault(round(6 * sum(known) / len(known)), []).append((row[place], bool(is_focal)))
        tables: list[list[int]] = []
        waiting = [0] * 4
        for score in sorted(strata):
            for value, is_focal in strata[score]:
                waiting[2 * is_focal + (value == 0)] += 1
            if sum(waiting[:2]) and sum(waiting[2:]):
                tables.append(waiting)
                waiting = [0] * 4
        tables[-1] = [a + b for a, b in zip(tables[-1], waiting, strict=True)]
        odds = common_odds(tables)
        assert item.odds == pytest.approx(odds, nan_ok=True)
        assert item.reference == sum(table[0] + table[1] for table in tables)


def test_what_nothing_can_be_told_of() -> None:
    right, focal = answers(np.random.default_rng(4), rows=LEAST_ROWS - 1)
    with pytest.raises(UsageError, match="fewer than 10 rows"):
        differential_items(right, focal)
    right, focal = answers(np.random.default_rng(4), rows=30)
    right[:, 1] = 1
    right[:, 2] = np.nan
    items = differential_items(right, focal)
    assert [items[1].size, items[2].size] == ["", ""]
    assert np.isnan(items[2].p_bh)
    assert not np.isnan(items[0].p_bh)
    with pytest.raises(UsageError, match="neither"):
        differential_items(np.full((40, 2), 0.5), np.arange(40) > 19)


@pytest.mark.parametrize("impact", [0.0, 1.0])
def test_false_differences_are_rare_and_large_ones_found(impact: float) -> None:
    """At 500 answers a group; the table of the docs has more sizes (benchmarks/simulations/differential.py)."""
    random, focal = np.random.default_rng(11), np.arange(1000) >= 500
    equal, harder = World(500, 30, impact), World(500, 30, impact, delta=3.5)
    clean = [item for _ in range(12) for item in differential_items(simulated(random, equal), focal)]
    assert np.mean([item.p_value < 0.05 for item in clean]) <= 0.06
    planted = [
        item.size == "C" and item.p_bh < 0.05
        for _ in range(8)
        for item in differential_items(simulated(random, harder), focal)[:PLANTED]
    ]
    assert np.mean(planted) >= 0.9


@pytest.mark.parametrize(("items", "rows"), [(10, 500), (30, 1000)])
def test_groups_far_apart_who_guess_do_not_make_items_differ(items: int, rows: int) -> None:
    """One group is 1.5 SD weaker, a quarter is guessed right, and items discriminate unlike: no item differs."""
    random, focal = np.random.default_rng(12), np.arange(2 * rows) >= rows
    world = World(rows, items, 1.5, guess=0.25, slopes=0.5)
    clean = [item for _ in range(300 // items) for item in differential_items(simulated(random, world), focal)]
    assert np.mean([item.odds.p_value < 0.05 for item in clean]) > 0.12
    assert np.mean([item.p_value < 0.05 for item in clean]) <= 0.07
    assert np.mean([item.size == "C" for item in clean]) <= 0.03


@given(
    arrays(np.float64, st.integers(5, 30), elements=st.floats(-4, 4)),
    st.floats(0.05, 2),
    st.floats(0, 10),
)
def test_the_spread_is_found_as_by_trying(values: Any, error: float, far: float) -> None:
    """Half of a normal sample's spread is shared by all; a grid of τ gives the same, and one outlier changes little."""
    errors = np.linspace(error, 2 * error, len(values))
    squares = (values - np.median(values)) ** 2
    shrunk = 1 - 1 / len(values)
    grid = np.linspace(0, np.sqrt(squares.max() / 0.9) + 1, 4001)

    def least(summary: Any, wanted: float, inside: Any) -> float:
        shares = summary(squares[inside] / (errors[inside] ** 2 + grid[:, None] ** 2))
        return float(grid[np.flatnonzero(shares <= wanted)[0]])

    step = grid[1] - grid[0]
    found = robust_spread(values, errors)
    first = least(lambda ratios: np.quantile(ratios, 0.75, axis=1), 1.3233036969 * shrunk, squares >= 0)
    assert found >= first - 1.01 * step
    inside = squares < 9 * (errors**2 + found**2)
    last = least(lambda ratios: ratios.mean(axis=1), 0.9733369246625415 * shrunk, inside)
    assert found == pytest.approx(max(first, last), abs=1.5 * step) or last < found
    assert robust_spread(values + far, errors) == pytest.approx(found, abs=1e-6)


def test_the_spread_of_items_widens_their_intervals_and_outliers_do_not() -> None:
    random = np.random.default_rng(13)
    errors = np.full(400, 0.5)
    assert robust_spread(random.normal(0, 0.5, 400), errors) < 0.2
    spread = random.normal(0, np.hypot(0.5, 1.0), 400)
    assert robust_spread(spread, errors) == pytest.approx(1.0, abs=0.15)
    spread[:40] = 12.0
    assert robust_spread(spread, errors) == pytest.approx(1.15, abs=0.2)

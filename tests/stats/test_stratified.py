"""Means over cultures with unequally many questions: a slow plain twin, limits, and coverage of planted data."""

import numpy as np
import pytest
from benchmarks.simulations.shares import UNEQUAL, UNEQUAL_PAIRS, exact_intervals, unequal, unequal_pairs
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from kapwa.stats.intervals import bonett_price, wilson_interval
from kapwa.stats.pooled import pooled_differences, pooled_mean
from kapwa.stats.stratified import Strata, constrained_shares, paired_centre, score_interval


def plain_shares(shares: np.ndarray, sizes: np.ndarray, mean: float) -> np.ndarray:
    """The likeliest shares of a given mean, each found as the root of its own equation, by bisection throughout."""

    def one(p: float, n: float, multiplier: float) -> float:
        def slope(x: float) -> float:
            return n * p * (1 - x) - n * (1 - p) * x + multiplier * x * (1 - x)

        # Between the ends the likelihood has one top; at p = 0 or 1 it may lie at the end itself.
        inner = np.linspace(1e-12, 1 - 1e-12, 3)
        if slope(inner[0]) < 0:
            return 0.0
        return 1.0 if slope(inner[-1]) > 0 else float(brentq(slope, inner[0], inner[-1], xtol=1e-15))

    def off(power: float) -> float:
        multiplier = float(np.sinh(power))
        return float(np.mean([one(p, n, multiplier) for p, n in zip(shares, sizes, strict=True)])) - mean

    multiplier = float(np.sinh(brentq(off, -16, 16, xtol=1e-12)))
    return np.array([one(p, n, multiplier) for p, n in zip(shares, sizes, strict=True)])


def plain_lowest(shares: np.ndarray, sizes: np.ndarray, dispersion: float, quantile: float) -> float:
    """The least mean that is no further from that of the shares than so many of its own standard errors."""
    value, several = float(shares.mean()), len(shares)

    def beyond(mean: float) -> float:
        likely = plain_shares(shares, sizes, mean)
        return (value - mean) ** 2 - quantile**2 * dispersion * float(
            (likely * (1 - likely) / sizes).sum()
        ) / several**2

    return float(brentq(beyond, 1e-4, value - 1e-9, xtol=1e-10)) if beyond(1e-4) > 0 else 0.0


@given(
    st.lists(st.tuples(st.integers(2, 60), st.floats(0, 1)), min_size=2, max_size=4),
    st.floats(0.5, 3),
    st.floats(1.5, 3),
)
@settings(max_examples=15, deadline=None)
def test_the_score_interval_is_its_slow_twin(
    cultures: list[tuple[int, float]], dispersion: float, quantile: float
) -> None:
    sizes = np.array([float(n) for n, _ in cultures])
    shares = np.array([round(n * p) / n for n, p in cultures])
    low, high = score_interval(shares, Strata(sizes, dispersion), quantile)
    assert 0 <= low <= shares.mean() + 1e-12
    assert shares.mean() - 1e-12 <= high <= 1
    if shares.mean() > 0.01:
        assert low == pytest.approx(plain_lowest(shares, sizes, dispersion, quantile), abs=1e-4)
    if shares.mean() < 0.99:
        assert high == pytest.approx(1 - plain_lowest(1 - shares, sizes, dispersion, quantile), abs=1e-4)


def test_constrained_shares_are_the_likeliest_of_their_mean() -> None:
    shares, sizes = np.array([0.9, 0.5, 0.95]), np.array([10.0, 40.0, 200.0])
    found = constrained_shares(shares, sizes, -30.0)

    def unlikely(x: np.ndarray) -> float:
        return -float((sizes * (shares * np.log(x) + (1 - shares) * np.log(1 - x))).sum())

    bounds, mean = [(1e-6, 1 - 1e-6)] * 3, {"type": "eq", "fun": lambda x: x.mean() - found.mean()}
    searched = minimize(unlikely, np.full(3, found.mean()), bounds=bounds, constraints=mean, tol=1e-12)
    assert found == pytest.approx(searched.x, abs=1e-3)


@given(st.integers(2, 6), st.integers(2, 80), st.floats(0, 1), st.floats(1.5, 4))
@settings(max_examples=60, deadline=None)
def test_cultures_that_are_alike_have_wilsons_interval(several: int, each: int, share: float, quantile: float) -> None:
    shares = np.full(several, round(share * each) / each)
    found = score_interval(shares, Strata(np.full(several, float(each)), 1.0), quantile)
    assert found == pytest.approx(tuple(map(float, wilson_interval(shares[0], several * each, quantile))), abs=1e-9)


@given(st.integers(1, 6), st.integers(2, 80), st.floats(0, 0.5), st.floats(0, 0.5))
@settings(max_examples=60, deadline=None)
def test_cultures_that_are_alike_have_bonett_and_prices_interval(
    several: int, each: int, gain: float, loss: float
) -> None:
    found = paired_centre(np.full(several, gain), np.full(several, loss), Strata(np.full(several, float(each)), 1.0))
    plain = bonett_price(np.asarray(gain), np.asarray(loss), np.asarray(several * each))
    assert found == pytest.approx(tuple(map(float, plain)), abs=1e-12)


def test_a_small_culture_that_is_all_right_is_not_known_without_error() -> None:
    cultures = np.repeat(["small", "large", "largest"], [10, 200, 200])
    values = np.ones(410)
    values[[50, 51, 300, 301]] = 0
    one = pooled_mean(values, cultures, np.arange(410), share=True)
    # The small culture may have .9 in truth, with a chance of one in three to show ten of ten.
    assert one.low < (0.9 + 0.99 + 0.99) / 3
    (pair,) = pooled_differences(values, np.ones(410), cultures, np.arange(410), binary=True)
    assert pair.comparison.low < -(0.1 + 0.02) / 3


@pytest.mark.parametrize("design", ["10, 200, 200 questions, 90, 99, 99% right", "10, 200 questions, 90, 99% right"])
def test_means_over_unequal_cultures_are_covered(design: str) -> None:
    random, held = np.random.default_rng(11), 0
    for _ in range(250):
        *data, true = unequal(random, *UNEQUAL[design])
        one = pooled_mean(*data, share=True)
        held += one.low <= true <= one.high
    assert held / 250 >= 0.92


def test_differences_over_unequal_cultures_are_covered() -> None:
    random, held = np.random.default_rng(12), 0
    for _ in range(250):
        *data, true = unequal_pairs(random, *UNEQUAL_PAIRS["10, 200, 200 questions, gains 10, 1, 1%"])
        (pair,) = pooled_differences(*data, binary=True, varies=False, permutations=100)
        held += pair.comparison.low <= true <= pair.comparison.high
    assert held / 250 >= 0.92


def test_the_interval_is_hardly_longer_than_the_exact_one() -> None:
    lows, highs = exact_intervals(10, 60, grid=100)
    cultures, random = np.repeat([0, 1], [10, 60]), np.random.default_rng(13)
    length = exact = 0.0
    for _ in range(80):
        values = (random.random(70) < np.array([0.9, 0.97])[cultures]).astype(float)
        one = pooled_mean(values, cultures, np.arange(70), share=True)
        place = tuple(np.bincount(cultures, values).astype(int))
        length, exact = length + one.high - one.low, exact + highs[place] - lows[place]
    assert length / exact < 1.15

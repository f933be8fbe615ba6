"""Power of paired tests against its definition, and that what is printed as detectable is found four times in five."""

import math

import numpy as np
import pytest
from benchmarks.simulations.detectable import Design, cells
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from kapwa.errors import UsageError
from kapwa.stats.intervals import paired_differences
from kapwa.stats.power import (
    Assumed,
    Piloted,
    detectable_difference,
    fewest_clusters,
    most_losses,
    sign_test_power,
)
from kapwa.stats.significance import holm, holm_levels


def sign_test(wins: int, losses: int, mid_p: bool) -> float:
    """Two-sided sign test of the better side, from the definition."""
    total = wins + losses
    at, below = (sum(math.comb(total, k) for k in range(end)) / 2**total for end in (losses + 1, losses))
    return at + below if mid_p else 2 * at


@given(st.integers(1, 60), st.sampled_from([0.05, 0.05 / 16, 0.2, 1e-6]), st.booleans())
def test_most_losses_are_those_with_a_small_enough_p(differing: int, alpha: float, mid_p: bool) -> None:
    allowed = [k for k in range((differing + 1) // 2) if sign_test(differing - k, k, mid_p) <= alpha]
    assert most_losses(np.array([differing]), alpha, mid_p=mid_p).tolist() == [max(allowed, default=-1)]
    large = 1000 * differing
    (most,) = most_losses(np.array([large]), alpha, mid_p=mid_p)
    p = [2 * binom.cdf(k, large, 0.5) - mid_p * binom.pmf(k, large, 0.5) for k in (most, most + 1)]
    assert p[0] <= alpha < p[1]


def test_six_items_must_differ_for_five_percent() -> None:
    assert fewest_clusters(0.05) == 6
    assert fewest_clusters(0.05, mid_p=True) == 5
    assert fewest_clusters(1 / 32) == 6  # 2 · 2⁻⁶ exactly
    assert most_losses(np.arange(7), 0.05).tolist() == [-1] * 6 + [0]


@given(st.integers(5, 40), st.floats(0.05, 0.95), st.floats(0, 1), st.booleans(), st.sampled_from([0.0, 2.1]))
def test_power_of_the_sign_test_is_the_sum_over_all_outcomes(
    items: int, differing: float, part: float, mid_p: bool, quantile: float
) -> None:
    difference, power = part * differing, 0.0
    for wins in range(items + 1):
        for losses in range(min(wins, items - wins + 1)):
            up, down = (wins + 1) / (items + 2), (losses + 1) / (items + 2)
            low = up - down - quantile * math.sqrt((up + down - (up - down) ** 2) / (items + 2))
            if sign_test(wins, losses, mid_p) <= 0.05 and low > 0:
                chance = binom.pmf(wins + losses, items, differing)
                power += chance * binom.pmf(losses, wins + losses, (1 - part) / 2)
    found = sign_test_power(items, differing, difference, alpha=0.05, mid_p=mid_p, quantile=quantile)
    assert found == pytest.approx(power, abs=1e-9)


def test_of_many_items_the_sampled_sum_is_close() -> None:
    items, differing, difference = 6000, 0.3, 0.02
    counts = np.arange(items + 1)
    losses = most_losses(counts, 0.05)
    found = np.where(losses >= 0, binom.cdf(losses, counts, (1 - difference / differing) / 2), 0)
    power = float((binom.pmf(counts, items, differing) * found).sum())
    assert sign_test_power(items, differing, difference, alpha=0.05) == pytest.approx(power, abs=0.003)


@given(st.lists(st.floats(0, 0.2) | st.just(math.nan), min_size=1, max_size=12))
def test_a_test_is_found_by_holm_where_its_p_is_at_most_its_level(p: list[float]) -> None:
    values = np.array(p)
    levels, adjusted = holm_levels(values), holm(values)
    clear = np.abs(values - levels) > 1e-12
    assert ((values <= levels) == (adjusted <= 0.05))[clear].all()
    assert (np.isnan(levels) == np.isnan(values)).all()
    assert holm_levels([0.5] * 4).tolist() == [0.0125] * 4
    assert holm_levels([0.001, 0.5, 0.6]) == pytest.approx([0.05 / 3, 0.025, 0.025])


def test_one_differing_item_of_thirty_detects_nothing_small() -> None:
    """(t + t) · SE printed .097 here; six of the thirty must differ before any test at 5 % finds anything."""
    a, b = np.zeros(30), np.zeros(30)
    a[0] = 1
    (one,) = paired_differences(a, b, None, binary=True)
    assert 0.2 < one.mde < 0.27
    assert one.differing == pytest.approx(1 / 30)
    (few,) = paired_differences(a[:5], b[:5], None, binary=True)
    assert few.mde == math.inf


@pytest.mark.parametrize(
    "design",
    [
        Design(30, 1, 0.03),
        Design(30, 1, 0.1),
        Design(150, 1, 0.05),
        Design(150, 1, 0.1, 4),
        Design(20, 5, 0.2),
        Design(60, 1, 0.2, 1, "five answers"),
        Design(60, 1, 1.0, 1, "measure"),
    ],
    ids=str,
)
def test_a_difference_of_the_detectable_size_is_found_four_times_in_five(design: Design) -> None:
    (cell,) = cells(np.random.default_rng(4), 250, designs=[design])
    assert 72 <= cell.percent <= 88, cell


def test_a_plan_is_kept() -> None:
    from statsmodels.stats.power import TTestPower

    assumed = Assumed(differing=0.2)
    items = assumed.items_for(0.05)
    assert assumed.power_of(items, 0.05) >= 0.8 > assumed.power_of(items - 1, 0.05)
    assert assumed.detectable(items) == pytest.approx(0.05, rel=0.02)
    # Connor (1987), normal approximation: a little below what the exact test takes.
    z = 1.959964 * math.sqrt(0.2) + 0.841621 * math.sqrt(0.2 - 0.05**2)
    assert z**2 / 0.05**2 < items < 1.1 * z**2 / 0.05**2
    assert Assumed(differing=0.2, comparisons=16).items_for(0.05) > 1.5 * items
    assert Assumed(differing=0.2, design_effect=2.0).items_for(0.05) == pytest.approx(2 * items, abs=2)
    assert Assumed(differing=0.2, mid_p=True).items_for(0.05) < items
    assert Assumed(accuracy=0.6).items_for(0.05) > Assumed(differing=0.3).items_for(0.05)
    assert Assumed(differing=0.05).detectable(5) is None
    assert Assumed(differing=0.03).detectable(30) == pytest.approx(0.25, abs=0.01)  # as a report of such a pilot says
    measure = Piloted(n=100, clusters=100, se=0.03, differing=1.0, binary=False)
    assert measure.items_for(0.05) == math.ceil(TTestPower().solve_power(0.05 / 0.3, power=0.8, alpha=0.05))
    assert measure.detectable(285) == pytest.approx(0.05, rel=2e-3)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("differing", [0.04, 0.3])
@pytest.mark.parametrize("power", [0.8, 0.9])
def test_what_a_pilot_detects_and_its_power_are_one_thing(binary: bool, differing: float, power: float) -> None:
    se = math.sqrt(differing / 60 / 16 * 4)
    pilot = Piloted(n=960, clusters=60, se=se, differing=differing, binary=binary, cultures=16, power=power)
    same = {"n": 960, "clusters": 60, "difference": 0.0, "se": se, "differing": differing, "binary": binary}
    assert pilot.detectable(60) == detectable_difference(**same, power=power)
    for questions in (30, 60, 200):
        size = pilot.detectable(questions)
        assert pilot.power_of(questions, size * 0.999) < power + 0.005
        assert pilot.power_of(questions, size * 1.001) >= power


@pytest.mark.parametrize(("accuracy", "items"), [(0.9, 85), (0.9, 120), (0.95, 200), (0.6, 30)])
def test_a_plan_by_accuracy_is_the_same_both_ways(accuracy: float, items: int) -> None:
    """Beside 90 % right 10 points are found by 78 items, and more than 10 take more: then the other is the worse."""
    assumed = Assumed(accuracy=accuracy)
    size = assumed.detectable(items)
    assert items - 4 <= assumed.items_for(size) <= items
    steps = np.linspace(0.005, 0.995 * size, 60)
    assert all(assumed.power_of(items, float(step)) < assumed.power for step in steps)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (Assumed, "Nothing says how often"),
        (lambda: Assumed(differing=0.2, alpha=0), "alpha 0 is not a share"),
        (lambda: Assumed(differing=0.2, power=5), "power 5 is not a share"),
        (lambda: Assumed(differing=0.2, power=0.05), "no more than the 0.05 that chance"),
        (lambda: Assumed(differing=1.8), "agreement -0.8 is not a share"),
        (lambda: Assumed(accuracy=80), "accuracy 80 is not a share"),
        (lambda: Assumed(accuracy=0.8, comparisons=0), "cannot be 0 comparisons"),
        (lambda: Assumed(accuracy=0.8, design_effect=0.3), "design effect of 0.3"),
        (lambda: Assumed(differing=0.05).items_for(0.1), "agree on 95% of the items differ by 5% at most"),
        (lambda: Assumed(accuracy=0.6).items_for(0.7), "beside 60% right, 60% is the largest"),
        (lambda: Assumed(differing=0.2).items_for(0), "difference of 0 cannot be found"),
        (lambda: Assumed(differing=0.2).items_for(math.nan), "difference of nan cannot be found"),
        (lambda: Assumed(differing=0.2).items_for(1e-6), "more than 10,000,000 items"),
    ],
)
def test_absurd_plans_are_refused(call: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        call()

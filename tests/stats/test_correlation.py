"""Correlations against scipy and published interval formulas."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest
from benchmarks.simulations.correlations import draw
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from kapwa.errors import UsageError
from kapwa.stats.correlation import disattenuated, pearson, spearman

numbers = st.lists(st.tuples(st.integers(-20, 20).map(float), st.integers(-20, 20).map(float)), min_size=3, max_size=30)


@given(numbers)
def test_both_equal_scipy(pairs: list[tuple[float, float]]) -> None:
    x, y = np.array(pairs).T
    assume(np.ptp(x) > 0 and np.ptp(y) > 0)
    for ours, theirs in ((pearson(x, y), stats.pearsonr(x, y)), (spearman(x, y), stats.spearmanr(x, y))):
        assert ours.value == pytest.approx(float(theirs.statistic), abs=1e-9)
        assert ours.n == len(pairs)
        # At ±1 scipy's p depends on the last bit of r.
        if abs(ours.value) < 1 - 1e-9:
            least = 2 / factorial(len(pairs)) if ours == spearman(x, y) else 0.0
            assert ours.p_value == pytest.approx(max(float(theirs.pvalue), least), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("y", [[1, 2, 3], [4, 3, 2, 1], [1, 2, 3, 4, 5], [2, 1, 3, 4, 5, 6]])
def test_no_p_is_below_what_permutations_can_give(y: list[int]) -> None:
    """Student's t gave 0 for any three runs that two metrics put in one order: one case in three, by chance."""
    x = np.arange(len(y))
    orders = [abs(stats.spearmanr(x, order).statistic) for order in permutations(y)]
    for ours in (pearson(x, y), spearman(x, y)):
        exact = float(np.mean([other >= max(orders) - 1e-12 for other in orders]))
        assert ours.p_value is not None
        assert ours.p_value >= exact - 1e-12
        if abs(ours.value or 0.0) == 1:
            assert ours.p_value == pytest.approx(exact)


def test_intervals_follow_fisher_and_bonett_wright() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=12)
    y = x + rng.normal(size=12)
    ours = pearson(x, y)
    theirs = stats.pearsonr(x, y).confidence_interval(0.95)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)
    rank = spearman(x, y)
    r = stats.spearmanr(x, y).statistic
    half = stats.norm.ppf(0.975) * np.sqrt((1 + r**2 / 2) / 9)
    assert (rank.low, rank.high) == pytest.approx((np.tanh(np.arctanh(r) - half), np.tanh(np.arctanh(r) + half)))


@pytest.mark.parametrize(
    ("x", "y", "known"),
    [
        ([], [], ()),
        ([1.0], [2.0], ()),
        ([1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0, 5.0], ()),
        ([1.0, 2.0], [5.0, 3.0], ("value",)),
        ([1.0, 2.0, 4.0], [5.0, 3.0, 4.0], ("value", "p_value")),
        ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 6.0, 8.0, 10.0], ("value", "p_value")),
        ([1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 3.0, 8.0], ("value", "p_value", "low", "high")),
    ],
)
def test_too_little_data_gives_none_not_a_number(x: list[float], y: list[float], known: tuple[str, ...]) -> None:
    for one in (pearson(x, y), spearman(x, y)):
        for field in ("value", "p_value", "low", "high"):
            assert (getattr(one, field) is not None) == (field in known), field


@pytest.mark.parametrize(("x", "y"), [([1.0], [1.0, 2.0]), ([[1.0]], [[1.0]]), ([np.inf, 1.0], [1.0, 2.0])])
def test_bad_input_is_refused(x: list, y: list) -> None:
    with pytest.raises(UsageError, match="correlation needs"):
        pearson(x, y)


def test_disattenuated_is_spearmans_formula_with_shared_errors_taken_out() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 12))
    y += x
    se_x, se_y = rng.uniform(0.1, 0.5, size=(2, 12))
    found = disattenuated(x, y, np.diag(se_x), np.diag(se_y))
    reliable = [1 - np.mean(se**2) / np.var(v, ddof=1) for se, v in ((se_x, x), (se_y, y))]
    noise = np.mean(se_x * se_y)  # the two sides share their clusters here
    wanted = (np.cov(x, y)[0, 1] - noise) / np.sqrt(np.prod(reliable) * np.var(x, ddof=1) * np.var(y, ddof=1))
    assert (found.reliability_x, found.reliability_y) == pytest.approx(reliable)
    assert found.value == pytest.approx(wanted)
    apart = [np.hstack(pair) for pair in ((np.diag(se_x), np.zeros((12, 12))), (np.zeros((12, 12)), np.diag(se_y)))]
    classical = disattenuated(x, y, *apart)
    r = pearson(x, y)
    assert classical[:3] == pytest.approx([min(1.0, one / np.sqrt(np.prod(reliable))) for one in r[:3]])
    assert disattenuated(x, y, np.zeros((12, 1)), np.zeros((12, 1)))[:3] == pytest.approx(r[:3])


def test_disattenuated_is_undefined_where_scores_differ_by_noise_or_are_too_few() -> None:
    x, y = np.arange(5.0), np.array([1.0, 3.0, 2.0, 5.0, 4.0])
    assert disattenuated(x, y, np.eye(5) * 9, np.eye(5) * 0.1).value is None
    assert disattenuated(x, y, np.eye(5) * 9, np.eye(5) * 0.1).reliability_x < 0
    assert disattenuated(x[:3], y[:3], np.eye(3), np.eye(3)) == (None, None, None, None, None, 3)
    assert disattenuated(x, 2 * x, np.eye(5), np.eye(5)).value is None


def test_disattenuated_intervals_hold_the_true_correlation_where_plain_ones_do_not() -> None:
    rng = np.random.default_rng(5)
    found = [draw(rng, cultures=16, questions=100, rho=0.9, spread=0.07, same=False) for _ in range(300)]
    held = [one.low <= 0.9 <= one.high for one, _ in found if one.value is not None]
    plain = [one.low <= 0.9 <= one.high for _, one in found]
    assert np.mean(held) >= 0.92
    assert np.mean(plain) < 0.7

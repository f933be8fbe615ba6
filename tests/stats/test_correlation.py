"""Correlations against scipy and published interval formulas."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from kapwa.errors import UsageError
from kapwa.stats.correlation import pearson, spearman

numbers = st.lists(st.tuples(st.integers(-20, 20).map(float), st.integers(-20, 20).map(float)), min_size=3, max_size=30)


@given(numbers)
def test_both_equal_scipy(pairs: list[tuple[float, float]]) -> None:
    x, y = np.array(pairs).T
    assume(np.ptp(x) > 0 and np.ptp(y) > 0)
    for ours, theirs in ((pearson(x, y), stats.pearsonr(x, y)), (spearman(x, y), stats.spearmanr(x, y))):
        assert ours.value == pytest.approx(float(theirs.statistic), abs=1e-9)
        assert ours.n == len(pairs)
        # At ±1 scipy's p depends on the last bit of r; ours is 0.
        if abs(ours.value) < 1 - 1e-9:
            assert ours.p_value == pytest.approx(float(theirs.pvalue), rel=1e-6, abs=1e-9)


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

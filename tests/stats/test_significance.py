"""Tests of means against scipy and the paper's table 3; adjusted p-values against statsmodels."""

import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from kapwa.errors import UsageError
from kapwa.stats.significance import benjamini_hochberg, holm, one_way_anova, paired_test

# Table 3 of the paper: F and p of variance within against across nationalities, per model.
STORIES = (
    (2255.3456, 7.043450519806435e-54),
    (2821.1494, 4.248487694091554e-57),
    (3610.5356, 1.1491538258492085e-60),
    (874.1556, 1.5311181671386628e-40),
    (1721.6872, 5.048199426344931e-50),
    (1055.6979, 3.80594818701481e-43),
)
QA = (
    (911.4229, 3.7297913016341677e-128),
    (1444.7691, 3.4753916948315105e-171),
    (2585.3423, 3.2168642758230666e-235),
    (550.97, 5.966032578765733e-90),
    (1335.7818, 2.4154064759769195e-163),
    (233.4199, 1.3687492031148516e-45),
)
values = st.lists(st.integers(-50, 50).map(float), min_size=2, max_size=9)


@pytest.mark.parametrize(("concepts", "rows"), [(35, STORIES), (345, QA)])
def test_table_3_is_f_with_two_values_a_concept(concepts: int, rows: tuple[tuple[float, float], ...]) -> None:
    """The published p-values follow from the published F (rounded to 1e-4) with 1 and 2·concepts − 2 degrees."""
    df = one_way_anova(np.arange(concepts), np.arange(concepts) + 1).df_within
    assert df == 2 * concepts - 2
    for f, p in rows:
        assert float(stats.f.sf(f, 1, df)) == pytest.approx(p, rel=2e-5, abs=0)
        # One degree of freedom more or less does not give them.
        assert all(stats.f.sf(f, 1, df + change) != pytest.approx(p, rel=1e-3, abs=0) for change in (-1, 1))


@given(st.lists(values, min_size=2, max_size=5))
def test_one_way_equals_scipy(groups: list[list[float]]) -> None:
    assume(any(np.ptp(group) > 0 for group in groups))
    ours, theirs = one_way_anova(*groups), stats.f_oneway(*groups)
    assert ours.f == pytest.approx(float(theirs.statistic), rel=1e-9, abs=1e-12)
    # Where the means agree, rounding may leave scipy an F below zero, and no p.
    assert ours.p == pytest.approx(float(theirs.pvalue) if ours.f > 1e-9 else 1.0, rel=1e-6, abs=1e-300)
    assert (ours.df_between, ours.df_within) == (len(groups) - 1, sum(map(len, groups)) - len(groups))


def test_without_spread_f_is_infinite_or_nothing() -> None:
    apart = one_way_anova([0.1, 0.1, 0.1], [0.3, 0.3])
    assert (apart.f, apart.p) == (math.inf, 0.0)
    same = one_way_anova([0.1, 0.1, 0.1], [0.1, 0.1])
    assert np.isnan([same.f, same.p]).all()


@given(st.lists(st.tuples(st.integers(-40, 40), st.integers(-40, 40)), min_size=3, max_size=30))
def test_paired_equals_scipy(pairs: list[tuple[int, int]]) -> None:
    across, within = np.array(pairs, dtype=float).T
    assume(np.ptp(across - within) > 0)
    ours, theirs = paired_test(across, within), stats.ttest_rel(across, within)
    assert (ours.t, ours.p, ours.df) == pytest.approx((theirs.statistic, theirs.pvalue, theirs.df), rel=1e-9, abs=1e-12)
    interval = theirs.confidence_interval(0.95)
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high), rel=1e-9, abs=1e-12)
    assert (ours.estimate, ours.n) == (pytest.approx(np.mean(across - within)), len(pairs))


def test_paired_edges() -> None:
    constant = paired_test([0.3, 0.4, 0.5], [0.1, 0.2, 0.3])
    assert (constant.t, constant.p, constant.low) == (math.inf, 0.0, pytest.approx(0.2))
    nothing, one, none = paired_test([0.3, 0.4], [0.3, 0.4]), paired_test([0.3], [0.1]), paired_test([], [])
    assert (nothing.estimate, nothing.low, nothing.high) == (0, 0, 0)
    assert (one.estimate, one.n, one.df, none.n) == (pytest.approx(0.2), 1, 0, 0)
    assert np.isnan([nothing.p, one.p, none.p, none.estimate]).all()


def test_bad_input_is_refused() -> None:
    for groups in ([[1.0, 2.0]], [[1.0], []], [[1.0], [2.0]]):
        with pytest.raises(UsageError, match="needs two groups"):
            one_way_anova(*groups)
    with pytest.raises(UsageError, match="equal length"):
        paired_test([1.0, 2.0], [1.0])


p_lists = st.lists(st.floats(0, 1) | st.just(float("nan")), max_size=15)


@settings(max_examples=40)
@given(p_lists)
def test_both_equal_statsmodels_on_the_tests_that_were_made(values: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    p = np.array(values, dtype=float)
    made = ~np.isnan(p)
    for ours, name in ((holm(p), "holm"), (benjamini_hochberg(p), "fdr_bh")):
        assert np.array_equal(np.isnan(ours), ~made)
        if made.any():
            # It collects garbage at every call: half a second with torch in memory.
            with mock.patch("gc.collect"):
                adjusted = multipletests(p[made], method=name)[1]
            assert ours[made] == pytest.approx(adjusted, abs=1e-12)


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_bad_p_values_are_refused(adjust: object) -> None:
    with pytest.raises(UsageError, match="outside 0 to 1"):
        adjust([0.5, 1.2])
    with pytest.raises(UsageError, match="one list"):
        adjust([[0.5], [0.2]])

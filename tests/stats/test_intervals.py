"""Clustered means and paired comparisons against plain definitions, statsmodels, and their invariances."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kapwa.errors import DataError, UsageError
from kapwa.stats.clusters import cluster_codes, cluster_sums
from kapwa.stats.intervals import (
    Comparison,
    Estimate,
    mean_estimates,
    paired_differences,
    share_interval,
    wilson_interval,
)
from kapwa.stats.resampling import sign_flip_p_values


def near(value: float | None, **tolerance: float) -> object:
    """Approximately ``value``, or None itself."""
    return value if value is None else pytest.approx(value, **tolerance)


def mean_estimate(values: object, clusters: object, **options: object) -> Estimate:
    """Estimate one metric."""
    (found,) = mean_estimates(values, clusters, **options)
    return found


RNG = np.random.default_rng(5)
CLUSTERS = np.repeat(np.arange(20), RNG.integers(1, 6, 20))
VALUES = RNG.normal(size=CLUSTERS.size) + RNG.normal(size=20)[CLUSTERS]

rows = st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.integers(0, 8)), min_size=2, max_size=40)


def plain_degrees(sizes: list[int]) -> float:
    """(trace M)² / trace M² of the CR2 variance as a quadratic form, with the matrices written out."""
    n = sum(sizes)
    centre = np.eye(n) - np.full((n, n), 1 / n)
    members = np.repeat(np.eye(len(sizes)), sizes, axis=1)
    vectors = members / np.sqrt(1 - np.array(sizes)[:, None] / n) @ centre
    gram = vectors @ vectors.T
    return float(np.trace(gram) ** 2 / np.trace(gram @ gram))


def test_standard_error_equals_statsmodels() -> None:
    import statsmodels.api as sm

    ours = mean_estimate(VALUES, CLUSTERS)
    fit = sm.OLS(VALUES, np.ones_like(VALUES)).fit(cov_type="cluster", cov_kwds={"groups": CLUSTERS})
    assert ours.se == pytest.approx(float(fit.bse[0]), rel=1e-9)
    assert ours.value == pytest.approx(float(fit.params[0]), rel=1e-9)


@given(st.lists(st.integers(1, 6), min_size=2, max_size=8))
def test_degrees_of_freedom_equal_the_matrix_definition(sizes: list[int]) -> None:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    sums = cluster_sums(np.zeros((codes.size, 1)), codes)
    assert sums.df[0] == pytest.approx(plain_degrees(sizes), rel=1e-9)


@pytest.mark.parametrize(("count", "n"), [(0, 20), (1, 20), (7, 20), (20, 20), (65, 150)])
def test_wilson_equals_statsmodels(count: int, n: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    ours = wilson_interval(count / n, n, stats.norm.ppf(0.975))
    assert (float(ours[0]), float(ours[1])) == pytest.approx(proportion_confint(count, n, method="wilson"), abs=1e-9)


@given(rows)
def test_binary_intervals_hold_the_value_lie_in_range_and_have_width(data: list[tuple[float, int]]) -> None:
    values, clusters = zip(*data, strict=True)
    one = mean_estimate(values, clusters, share=True)
    if len(set(clusters)) == 1:
        assert (one.method, one.low, one.high, one.se) == ("one-cluster", None, None, None)
        return
    assert one.method == "wilson-clustered"
    assert 0 <= one.low <= one.value <= one.high <= 1
    assert one.high - one.low > 1e-3
    assert one.se > 0


def test_rare_answers_in_large_clusters_have_fewer_degrees_of_freedom() -> None:
    """By the formula, written out: the variance of a variance, of a beta distribution with the clusters' own."""
    share, size, worst, df = 0.05, 60.0, 20.0, 19.0
    c = size / worst - 1
    kurtosis = float(stats.beta.stats(share * c, (1 - share) * c, moments="k"))
    fewer = 1 / (1 / df + 0.6 * c**2 / (1 + c**2) * kurtosis / (2 * worst))
    assert 2.5 < fewer < 6
    wanted = wilson_interval(share, size, stats.t.ppf(0.975, fewer))
    assert np.ravel(share_interval(share, size, worst, df, 0.95)) == pytest.approx(np.ravel(wanted))
    # Single right or wrong answers, and shares near a half, keep theirs.
    for same in ((0.05, 20.0), (0.5, 60.0)):
        plain = wilson_interval(*same, stats.t.ppf(0.975, df))
        assert np.ravel(share_interval(*same, worst, df, 0.95)) == pytest.approx(np.ravel(plain))


def test_a_share_beyond_its_end_by_rounding_is_at_its_end() -> None:
    one = mean_estimate([1 + 1e-12, 1.0, -1e-12], None, share=True)
    assert one.value == pytest.approx(2 / 3)
    assert one.high <= 1


@given(rows)
def test_writing_each_item_twice_in_its_cluster_adds_no_information(data: list[tuple[float, int]]) -> None:
    once = mean_estimate(*zip(*data, strict=True))
    twice = mean_estimate(*zip(*[row for row in data for _ in range(2)], strict=True))
    assert twice.value == pytest.approx(once.value)
    assert (twice.method, twice.clusters) == (once.method, once.clusters)
    assert (twice.se, twice.low, twice.high) == (near(once.se), near(once.low), near(once.high))


def test_missing_values_are_left_out_of_their_own_column_only() -> None:
    matrix = np.stack([VALUES, VALUES], axis=1)
    matrix[::3, 1] = np.nan
    matrix[CLUSTERS == 4, 1] = np.nan
    found = mean_estimates(matrix, CLUSTERS)
    kept = ~np.isnan(matrix[:, 1])
    for one, alone in zip(
        found, (mean_estimate(VALUES, CLUSTERS), mean_estimate(VALUES[kept], CLUSTERS[kept])), strict=True
    ):
        assert one[:-1] == pytest.approx(alone[:-1])
    assert (found[1].n, found[1].clusters) == (kept.sum(), len(set(CLUSTERS[kept])))


def test_all_right_gives_a_worst_case_interval_with_a_width() -> None:
    sizes = np.array([1, 2, 3, 4])
    one = mean_estimate(np.ones(10), np.repeat(np.arange(4), sizes), share=True)
    kish = 100 / 30
    quantile = stats.t.ppf(0.975, plain_degrees([1, 2, 3, 4]))
    assert one.low == pytest.approx(kish / (kish + quantile**2), rel=1e-9)
    assert one.high == 1.0
    assert one.se == pytest.approx(math.sqrt((kish + 1) / (kish + 2) * (1 / (kish + 2)) / (kish + 2)), rel=1e-9)


def test_answers_that_disagree_within_clusters_do_not_narrow_the_interval() -> None:
    """One right and one wrong in every cluster: the clustered SE is 0, yet 40 answers are 40 answers."""
    one = mean_estimate([1.0, 0.0] * 20, np.repeat(np.arange(20), 2), share=True)
    low, high = wilson_interval(0.5, 40, stats.t.ppf(0.975, 19))
    assert (one.low, one.high) == pytest.approx((float(low), float(high)))
    assert one.se == pytest.approx(math.sqrt(0.25 / 42))


def test_means_of_samples_count_as_more_than_one_trial() -> None:
    coarse = mean_estimate([0.0, 1.0] * 20, None, share=True)
    fine = mean_estimate([0.45, 0.55] * 20, None, share=True)
    assert fine.value == pytest.approx(coarse.value)
    assert fine.high - fine.low < 0.2 * (coarse.high - coarse.low)


@pytest.mark.parametrize(
    ("values", "clusters", "share", "method", "value"),
    [
        ([], [], True, "no-data", None),
        ([np.nan, np.nan], [1, 2], True, "no-data", None),
        ([1.0], ["a"], True, "one-cluster", 1.0),
        ([1.0, 0.0], ["a", "a"], False, "one-cluster", 0.5),
        ([0.1, 0.1, 0.1], [1, 2, 3], False, "no-spread", 0.1),
        ([0.2, 0.4, 0.2, 0.4], [1, 1, 2, 2], False, "no-spread", 0.3),
    ],
)
def test_what_data_cannot_tell_is_none(values: list, clusters: list, share: bool, method: str, value: float) -> None:
    one = mean_estimate(values, clusters, share=share)
    assert (one.method, one.se, one.low, one.high) == (method, None, None, None)
    assert one.value == near(value)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        (([1.0, 2.0], ["a"]), {}, UsageError, "2 rows"),
        (([1.0, 2.0], ["a", None]), {}, DataError, "cluster"),
        (([1.0, 2.0], ["a", float("nan")]), {}, DataError, "row 2"),
        (([1.0, 2.0], None), {"share": True}, DataError, "outside 0 to 1"),
        (([1.0, np.inf], None), {}, DataError, "infinite"),
        ((np.zeros((2, 2, 2)), None), {}, UsageError, "not of shape"),
        (([1.0], [1.0, 2.0], None), {}, UsageError, "shape"),
        (([1.0, 3.0], [1.0, 0.0], None), {"binary": True}, DataError, "outside 0 to 1"),
        (([1.0], [1.0], None), {"permutations": 9}, UsageError, "100"),
    ],
)
def test_bad_input_is_named(arguments: tuple, options: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        (mean_estimates if len(arguments) == 2 else paired_differences)(*arguments, **options)


def test_cluster_numbers_follow_sorted_labels() -> None:
    assert cluster_codes(["b", "a", "c", "a"], 4).tolist() == [1, 0, 2, 0]


DRAWS = np.random.default_rng(8)
UNITS = np.repeat(np.arange(25), DRAWS.integers(1, 5, 25))
A = DRAWS.random(UNITS.size)
B = A + DRAWS.normal(0.05, 0.2, UNITS.size)
RIGHT_A = (DRAWS.random(UNITS.size) < 0.6).astype(float)
RIGHT_B = (DRAWS.random(UNITS.size) < 0.4).astype(float)


def paired_difference(a: object, b: object, clusters: object, **options: object) -> Comparison:
    """Compare one metric."""
    (found,) = paired_differences(a, b, clusters, **options)
    return found


def plain_sign_flip(sums: list[float]) -> float:
    """Every sign vector, one after the other."""
    draws = [abs(np.dot(signs, sums)) for signs in itertools.product((1, -1), repeat=len(sums))]
    return sum(draw >= abs(sum(sums)) - 1e-9 for draw in draws) / len(draws)


halves = st.lists(st.floats(-3, 3).map(lambda x: round(x, 3)), min_size=1, max_size=9)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9) | halves)
def test_of_a_mid_p_value_half_the_ties_count(sums: list[float]) -> None:
    p, ways = sign_flip_p_values(np.array(sums, dtype=float)[:, None], replicates=100, seed=0, mid_p=True)
    draws = [abs(np.dot(signs, sums)) - abs(sum(sums)) for signs in itertools.product((1, -1), repeat=len(sums))]
    beyond, equal = sum(draw > 1e-9 for draw in draws), sum(abs(draw) <= 1e-9 for draw in draws)
    assert ways == ["mid-p"]
    assert p[0] == pytest.approx((beyond + equal / 2) / len(draws) if any(sums) else 1.0, abs=1e-12)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9) | halves)
def test_whole_numbers_and_few_clusters_are_tested_exactly(sums: list[float]) -> None:
    p, ways = sign_flip_p_values(np.array(sums, dtype=float)[:, None], replicates=100, seed=0)
    assert ways == ["exact"]
    assert p[0] == pytest.approx(plain_sign_flip(sums), abs=1e-12)


def test_many_clusters_are_sampled_close_to_the_exact_answer() -> None:
    sums = DRAWS.integers(-3, 4, size=60).astype(float)
    sums[:20] += 1
    exact, _ = sign_flip_p_values(sums[:, None], replicates=100, seed=0)
    # The same numbers in halves and thirds are no whole numbers, so they must be sampled.
    sampled, ways = sign_flip_p_values(sums[:, None] / 3, replicates=40_000, seed=0)
    assert ways == ["sampled"]
    assert 0.001 < exact[0] < 0.5
    assert sampled[0] == pytest.approx(exact[0], abs=5 * np.sqrt(exact[0] / 40_000))


def test_single_item_clusters_are_the_exact_mcnemar_test_with_the_published_bonett_price_interval() -> None:
    from statsmodels.stats.contingency_tables import mcnemar

    n, only_a, only_b = UNITS.size, int((RIGHT_A > RIGHT_B).sum()), int((RIGHT_A < RIGHT_B).sum())
    ours = paired_difference(RIGHT_A, RIGHT_B, None, binary=True)
    theirs = mcnemar([[0, only_a], [only_b, 0]], exact=True)
    assert ours.p_value == pytest.approx(float(theirs.pvalue), rel=1e-9)
    assert ours.method == "bonett-price-clustered, sign-flip exact"
    up, down = (only_a + 1) / (n + 2), (only_b + 1) / (n + 2)
    half = stats.t.ppf(0.975, n - 1) * np.sqrt((up + down - (up - down) ** 2) / (n + 2))
    assert (ours.low, ours.high) == pytest.approx((up - down - half, up - down + half), rel=1e-9)


def test_pairs_are_estimated_as_the_mean_of_their_differences() -> None:
    ours, alone = paired_difference(A, B, UNITS), mean_estimate(A - B, UNITS)
    assert ours.difference == pytest.approx(ours.a_value - ours.b_value, rel=1e-9)
    assert (ours.difference, ours.se, ours.low, ours.high) == pytest.approx(alone[:4], rel=1e-9)


def test_two_runs_that_never_disagree_get_an_interval_with_a_width() -> None:
    one = paired_difference(RIGHT_A, RIGHT_A, UNITS, binary=True)
    assert (one.difference, one.p_value) == (0.0, 1.0)
    assert one.low < -0.02 < 0.02 < one.high
    assert one.low == pytest.approx(-one.high)
    assert one.se > 0


@pytest.mark.parametrize(
    ("a", "b", "clusters", "binary", "method", "p"),
    [
        ([], [], [], True, "no-data", None),
        ([1.0, np.nan], [np.nan, 0.0], [1, 2], True, "no-data", None),
        ([1.0], [0.0], None, True, "one-cluster, sign-flip exact", 1.0),
        ([0.5, 0.7], [0.1, 0.2], ["x", "x"], False, "one-cluster, sign-flip exact", 1.0),
        ([0.5, 0.7, 0.1], [0.4, 0.6, 0.0], None, False, "no-spread, sign-flip exact", 0.25),
    ],
)
def test_what_data_cannot_tell_is_none_of_pairs(
    a: list, b: list, clusters: list, binary: bool, method: str, p: float | None
) -> None:
    one = paired_difference(a, b, clusters, binary=binary)
    assert (one.method, one.se, one.low, one.high, one.mde) == (method, None, None, None, None)
    assert one.p_value == p


def test_pairs_with_a_missing_side_are_left_out() -> None:
    a, b = A.copy(), B.copy()
    a[::5], b[1::7] = np.nan, np.nan
    kept = ~np.isnan(a - b)
    one, alone = paired_difference(a, b, UNITS), paired_difference(A[kept], B[kept], UNITS[kept])
    assert (one.n, one.clusters) == (alone.n, alone.clusters) == (kept.sum(), len(set(UNITS[kept])))
    assert (one.a_value, one.b_value, one.se) == pytest.approx((A[kept].mean(), B[kept].mean(), alone.se))


def test_columns_are_compared_as_if_alone() -> None:
    left, right = np.stack([A, RIGHT_A], axis=1), np.stack([B, RIGHT_B], axis=1)
    many = paired_differences(left, right, UNITS, binary=[False, True])
    alone = paired_difference(A, B, UNITS), paired_difference(RIGHT_A, RIGHT_B, UNITS, binary=True)
    for one, other in zip(many, alone, strict=True):
        told = one._fields.index("method")
        assert one[:told] == pytest.approx(other[:told], rel=1e-9)
        assert one[told:] == other[told:]


def test_equal_values_summed_in_another_order_do_not_differ() -> None:
    a = np.array([0.1 + 0.2, 0.3, 0.6])
    one = paired_difference(a, [0.3, 0.1 + 0.2, 0.6], None)
    assert (one.difference, one.p_value) == (0.0, 1.0)


def test_differences_that_cancel_within_a_cluster_are_zeros() -> None:
    a, b = np.array([0.3, 0.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.1, 0.2, 0.0, 0.0])
    assert 0 < abs((a - b)[:3].sum()) < 1e-15
    one = paired_difference(a, b, ["x", "x", "x", "y", "z"])
    assert one.p_value == plain_sign_flip([0.0, 1.0, 1.0]) == 0.5


def test_minimum_detectable_effect_has_the_stated_power() -> None:
    from statsmodels.stats.power import TTestPower, zt_ind_solve_power

    differences = np.random.default_rng(0).normal(size=40_000)
    one = paired_difference(differences, np.zeros(40_000), None, permutations=100)
    # With so many clusters t is z: a one-sample z test of this standard error has the power 0.8.
    power = zt_ind_solve_power(effect_size=one.mde / one.se / 20, nobs1=400, alpha=0.05, ratio=0)
    assert power == pytest.approx(0.8, abs=1e-4)
    few = paired_difference(A, B, None)
    size = few.mde / few.se / A.size**0.5
    assert TTestPower().power(size, A.size, 0.05) == pytest.approx(0.8, abs=1e-6)


def test_differences_too_small_to_be_whole_numbers_still_count() -> None:
    p_values, ways = sign_flip_p_values(np.array([[1e-10], [3e-11]]), replicates=999, seed=0)
    assert (p_values.tolist(), ways) == ([0.5], ["exact"])

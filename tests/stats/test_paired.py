"""Paired comparisons: exact tests against their definitions and statsmodels, intervals, detectable effects."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.power import zt_ind_solve_power

from kapwa.errors import DataError, UsageError
from kapwa.stats.intervals import Comparison, mean_estimates, paired_differences
from kapwa.stats.resampling import sign_flip_p_values

RNG = np.random.default_rng(8)
CLUSTERS = np.repeat(np.arange(25), RNG.integers(1, 5, 25))
A = RNG.random(CLUSTERS.size)
B = A + RNG.normal(0.05, 0.2, CLUSTERS.size)
RIGHT_A = (RNG.random(CLUSTERS.size) < 0.6).astype(float)
RIGHT_B = (RNG.random(CLUSTERS.size) < 0.4).astype(float)


def paired_difference(a: object, b: object, clusters: object, **options: object) -> Comparison:
    """Compare one metric."""
    (found,) = paired_differences(a, b, clusters, **options)
    return found


def plain_sign_flip(sums: list[float]) -> float:
    """Every sign vector, one after the other."""
    observed = abs(sum(sums))
    draws = [abs(sum(s * x for s, x in zip(signs, sums, strict=True))) for signs in _signs(len(sums))]
    return sum(draw >= observed - 1e-9 for draw in draws) / len(draws)


def _signs(n: int) -> list[tuple[int, ...]]:
    return list(itertools.product((1, -1), repeat=n))


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_whole_number_sums_are_tested_exactly(sums: list[int]) -> None:
    p, ways = sign_flip_p_values(np.array(sums, dtype=float)[:, None], replicates=100, seed=0)
    assert ways == ["exact"]
    assert p[0] == pytest.approx(plain_sign_flip(sums), abs=1e-12)


@given(st.lists(st.floats(-3, 3).map(lambda x: round(x, 3)), min_size=1, max_size=9))
def test_few_clusters_are_enumerated(sums: list[float]) -> None:
    p, ways = sign_flip_p_values(np.array(sums)[:, None], replicates=100, seed=0)
    assert ways == ["exact"]
    assert p[0] == pytest.approx(plain_sign_flip(sums), abs=1e-12)


def test_many_clusters_are_sampled_close_to_the_exact_answer() -> None:
    sums = RNG.integers(-3, 4, size=60).astype(float)
    sums[:20] += 1
    exact, _ = sign_flip_p_values(sums[:, None], replicates=100, seed=0)
    # The same numbers in halves and thirds are no whole numbers, so they must be sampled.
    sampled, ways = sign_flip_p_values(sums[:, None] / 3, replicates=40_000, seed=0)
    assert ways == ["sampled"]
    assert 0.001 < exact[0] < 0.5
    assert sampled[0] == pytest.approx(exact[0], abs=5 * np.sqrt(exact[0] / 40_000))


def test_single_item_clusters_are_the_exact_mcnemar_test() -> None:
    only_a = int(((RIGHT_A == 1) & (RIGHT_B == 0)).sum())
    only_b = int(((RIGHT_A == 0) & (RIGHT_B == 1)).sum())
    ours = paired_difference(RIGHT_A, RIGHT_B, None, binary=True)
    theirs = mcnemar([[0, only_a], [only_b, 0]], exact=True)
    assert ours.p_value == pytest.approx(float(theirs.pvalue), rel=1e-9)
    assert ours.method == "bonett-price-clustered, sign-flip exact"


def test_single_item_clusters_give_the_published_bonett_price_interval() -> None:
    n = CLUSTERS.size
    only_a = ((RIGHT_A == 1) & (RIGHT_B == 0)).sum()
    only_b = ((RIGHT_A == 0) & (RIGHT_B == 1)).sum()
    up, down = (only_a + 1) / (n + 2), (only_b + 1) / (n + 2)
    half = stats.t.ppf(0.975, n - 1) * np.sqrt((up + down - (up - down) ** 2) / (n + 2))
    ours = paired_difference(RIGHT_A, RIGHT_B, None, binary=True)
    assert (ours.low, ours.high) == pytest.approx((up - down - half, up - down + half), rel=1e-9)


def test_standard_error_equals_statsmodels() -> None:
    ours = paired_difference(A, B, CLUSTERS)
    fit = sm.OLS(A - B, np.ones_like(A)).fit(cov_type="cluster", cov_kwds={"groups": CLUSTERS})
    assert (ours.difference, ours.se) == pytest.approx((float(fit.params[0]), float(fit.bse[0])), rel=1e-9)
    assert ours.difference == pytest.approx(ours.a_value - ours.b_value, rel=1e-9)
    (alone,) = mean_estimates(A - B, CLUSTERS)
    assert (ours.low, ours.high) == pytest.approx((alone.low, alone.high))


def test_bootstrap_is_the_expanded_percentile_interval_of_resampled_clusters() -> None:
    rng, groups = np.random.default_rng(6), len(set(CLUSTERS))
    members = [np.flatnonzero(c == CLUSTERS) for c in range(groups)]
    difference = A - B
    means = [
        difference[np.concatenate([members[c] for c in rng.integers(0, groups, groups)])].mean() for _ in range(20_000)
    ]
    sizes = np.array([len(m) for m in members])
    share = sizes**2 / (sizes.sum() - sizes)
    df = sizes.sum() ** 2 / ((sizes**2).sum() + share.sum() ** 2 - (share**2).sum())
    tail = stats.norm.cdf(-np.sqrt(groups / (groups - 1)) * stats.t.ppf(0.975, df))
    ours = paired_difference(A, B, CLUSTERS, replicates=20_000)
    assert (ours.boot_low, ours.boot_high) == pytest.approx(np.quantile(means, [tail, 1 - tail]), abs=0.1 * ours.se)


def test_two_runs_that_never_disagree_get_an_interval_with_a_width() -> None:
    one = paired_difference(RIGHT_A, RIGHT_A, CLUSTERS, binary=True)
    assert (one.difference, one.p_value) == (0.0, 1.0)
    assert one.low < -0.02 < 0.02 < one.high
    assert one.low == pytest.approx(-one.high)
    assert one.se > 0
    assert (one.boot_low, one.boot_high) == (None, None)


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
def test_what_data_cannot_tell_is_none(
    a: list, b: list, clusters: list, binary: bool, method: str, p: float | None
) -> None:
    one = paired_difference(a, b, clusters, binary=binary)
    assert (one.method, one.se, one.low, one.high, one.boot_low, one.mde) == (method, None, None, None, None, None)
    assert one.p_value == p


def test_pairs_with_a_missing_side_are_left_out() -> None:
    a, b = A.copy(), B.copy()
    a[::5], b[1::7] = np.nan, np.nan
    kept = ~np.isnan(a - b)
    one, alone = paired_difference(a, b, CLUSTERS), paired_difference(A[kept], B[kept], CLUSTERS[kept])
    assert (one.n, one.clusters) == (alone.n, alone.clusters) == (kept.sum(), len(set(CLUSTERS[kept])))
    assert (one.a_value, one.b_value, one.se) == pytest.approx((A[kept].mean(), B[kept].mean(), alone.se))


def test_columns_are_compared_as_if_alone() -> None:
    many = paired_differences(
        np.stack([A, RIGHT_A], axis=1), np.stack([B, RIGHT_B], axis=1), CLUSTERS, binary=[False, True]
    )
    for column, alone in enumerate(
        (paired_difference(A, B, CLUSTERS), paired_difference(RIGHT_A, RIGHT_B, CLUSTERS, binary=True))
    ):
        for field in ("difference", "se", "low", "high", "boot_low", "boot_high", "p_value", "mde"):
            assert getattr(many[column], field) == pytest.approx(getattr(alone, field), rel=1e-9), field
        assert (many[column].n, many[column].clusters, many[column].method) == (alone.n, alone.clusters, alone.method)


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
    differences = np.random.default_rng(0).normal(size=40_000)
    one = paired_difference(differences, np.zeros(40_000), None, replicates=100, permutations=100)
    # With so many clusters t is z: a one-sample z test of this standard error has the power 0.8.
    power = zt_ind_solve_power(effect_size=one.mde / one.se / 20, nobs1=400, alpha=0.05, ratio=0)
    assert power == pytest.approx(0.8, abs=1e-4)
    few = paired_difference(A, B, None)
    assert few.mde == pytest.approx((stats.t.ppf(0.975, A.size - 1) + stats.t.ppf(0.8, A.size - 1)) * few.se)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: paired_difference([1.0], [1.0, 2.0], None), UsageError, "shape"),
        (lambda: paired_difference([1.0, 3.0], [1.0, 0.0], None, binary=True), DataError, "outside 0 to 1"),
        (lambda: paired_difference([1.0], [1.0], None, level=1.0), UsageError, "level"),
        (lambda: paired_difference([1.0], [1.0], None, permutations=9), UsageError, "100"),
        (lambda: paired_difference([1.0], [1.0], None, replicates=9), UsageError, "100"),
    ],
)
def test_bad_input_is_named(call: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_differences_too_small_to_be_whole_numbers_still_count() -> None:
    p_values, ways = sign_flip_p_values(np.array([[1e-10], [3e-11]]), replicates=999, seed=0)
    assert (p_values.tolist(), ways) == ([0.5], ["exact"])

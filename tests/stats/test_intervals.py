"""Clustered means against their plain definitions, statsmodels, and their invariances."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from kapwa.errors import DataError, UsageError
from kapwa.stats.clusters import cluster_codes, cluster_sums
from kapwa.stats.intervals import Estimate, mean_estimates, wilson_interval


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


def plain_se(values: np.ndarray, clusters: np.ndarray) -> float:
    """Miller's double sum over items of one cluster, times G/(G − 1)."""
    n, mean, groups = len(values), sum(values) / len(values), len(set(clusters))
    total = 0.0
    for i in range(n):
        for j in range(n):
            if clusters[i] == clusters[j]:
                total += (values[i] - mean) * (values[j] - mean)
    return math.sqrt(max(total, 0.0) * groups / (groups - 1)) / n


def plain_degrees(sizes: list[int]) -> float:
    """(trace M)² / trace M² of the CR2 variance as a quadratic form, with the matrices written out."""
    n = sum(sizes)
    centre = np.eye(n) - np.full((n, n), 1 / n)
    ends = np.cumsum(sizes)
    vectors = []
    for size, end in zip(sizes, ends, strict=True):
        pick = np.zeros(n)
        pick[end - size : end] = 1 / math.sqrt(1 - size / n)
        vectors.append(centre @ pick)
    gram = np.array(vectors) @ np.array(vectors).T
    return float(np.trace(gram) ** 2 / np.trace(gram @ gram))


def test_standard_error_equals_statsmodels_and_the_plain_double_sum() -> None:
    ours = mean_estimate(VALUES, CLUSTERS)
    fit = sm.OLS(VALUES, np.ones_like(VALUES)).fit(cov_type="cluster", cov_kwds={"groups": CLUSTERS})
    assert ours.se == pytest.approx(float(fit.bse[0]), rel=1e-9)
    assert ours.value == pytest.approx(float(fit.params[0]), rel=1e-9)
    assert ours.se == pytest.approx(plain_se(VALUES, CLUSTERS), rel=1e-9)


@given(st.lists(st.integers(1, 6), min_size=2, max_size=8))
def test_degrees_of_freedom_equal_the_matrix_definition(sizes: list[int]) -> None:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    sums = cluster_sums(np.zeros((codes.size, 1)), codes)
    assert sums.df[0] == pytest.approx(plain_degrees(sizes), rel=1e-9)


@pytest.mark.parametrize(("count", "n"), [(0, 20), (1, 20), (7, 20), (20, 20), (65, 150)])
def test_wilson_equals_statsmodels(count: int, n: int) -> None:
    ours = wilson_interval(count / n, n, stats.norm.ppf(0.975))
    assert (float(ours[0]), float(ours[1])) == pytest.approx(proportion_confint(count, n, method="wilson"), abs=1e-9)


@given(rows)
def test_binary_intervals_hold_the_value_lie_in_range_and_have_width(data: list[tuple[float, int]]) -> None:
    values, clusters = zip(*data, strict=True)
    one = mean_estimate(values, clusters, binary=True)
    if len(set(clusters)) == 1:
        assert (one.method, one.low, one.high, one.se) == ("one-cluster", None, None, None)
        return
    assert one.method == "wilson-clustered"
    assert 0 <= one.low <= one.value <= one.high <= 1
    assert one.high - one.low > 1e-3
    assert one.se > 0


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
    assert found[0][:-1] == pytest.approx(mean_estimate(VALUES, CLUSTERS)[:-1])
    alone = mean_estimate(VALUES[kept], CLUSTERS[kept])
    assert (found[1].n, found[1].clusters) == (alone.n, alone.clusters) == (kept.sum(), len(set(CLUSTERS[kept])))
    assert (found[1].se, found[1].low) == pytest.approx((alone.se, alone.low))


def test_bootstrap_is_seeded_and_blind_to_other_columns() -> None:
    matrix = np.stack([VALUES, VALUES**2], axis=1)
    matrix[CLUSTERS == 4, 1] = np.nan
    found = mean_estimates(matrix, CLUSTERS, interval="bootstrap", seed=3)
    alone = [mean_estimate(matrix[:, i], CLUSTERS, interval="bootstrap", seed=3) for i in (0, 1)]
    for one, column in zip(alone, (0, 1), strict=True):
        assert (one.low, one.high, one.n) == near((found[column].low, found[column].high, found[column].n), rel=1e-12)
    other = mean_estimate(VALUES, CLUSTERS, interval="bootstrap", seed=4)
    assert (other.low, other.high) != (found[0].low, found[0].high)
    analytic = mean_estimate(VALUES, CLUSTERS)
    assert found[0].low == pytest.approx(analytic.low, abs=0.35 * analytic.se)


def test_all_right_gives_a_worst_case_interval_with_a_width() -> None:
    sizes = np.array([1, 2, 3, 4])
    one = mean_estimate(np.ones(10), np.repeat(np.arange(4), sizes), binary=True)
    kish = 100 / 30
    quantile = stats.t.ppf(0.975, plain_degrees([1, 2, 3, 4]))
    assert one.low == pytest.approx(kish / (kish + quantile**2), rel=1e-9)
    assert one.high == 1.0
    assert one.se == pytest.approx(math.sqrt((kish + 1) / (kish + 2) * (1 / (kish + 2)) / (kish + 2)), rel=1e-9)


def test_answers_that_disagree_within_clusters_do_not_narrow_the_interval() -> None:
    """One right and one wrong in every cluster: the clustered SE is 0, yet 40 answers are 40 answers."""
    one = mean_estimate([1.0, 0.0] * 20, np.repeat(np.arange(20), 2), binary=True)
    low, high = wilson_interval(0.5, 40, stats.t.ppf(0.975, 19))
    assert (one.low, one.high) == pytest.approx((float(low), float(high)))
    assert one.se == pytest.approx(math.sqrt(0.25 / 42))


def test_means_of_samples_count_as_more_than_one_trial() -> None:
    coarse = mean_estimate([0.0, 1.0] * 20, None, binary=True)
    fine = mean_estimate([0.45, 0.55] * 20, None, binary=True)
    assert fine.value == pytest.approx(coarse.value)
    assert fine.high - fine.low < 0.2 * (coarse.high - coarse.low)


@pytest.mark.parametrize(
    ("values", "clusters", "binary", "method", "value"),
    [
        ([], [], True, "no-data", None),
        ([np.nan, np.nan], [1, 2], True, "no-data", None),
        ([1.0], ["a"], True, "one-cluster", 1.0),
        ([1.0, 0.0], ["a", "a"], False, "one-cluster", 0.5),
        ([0.1, 0.1, 0.1], [1, 2, 3], False, "no-spread", 0.1),
        ([0.2, 0.4, 0.2, 0.4], [1, 1, 2, 2], False, "no-spread", 0.3),
    ],
)
def test_what_data_cannot_tell_is_none(values: list, clusters: list, binary: bool, method: str, value: float) -> None:
    for interval in ("analytic", "bootstrap"):
        one = mean_estimate(values, clusters, binary=binary, interval=interval)
        assert (one.method, one.se, one.low, one.high) == (method, None, None, None)
        assert one.value == near(value)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        (([1.0, 2.0], ["a"]), {}, UsageError, "2 rows"),
        (([1.0, 2.0], ["a", None]), {}, DataError, "cluster"),
        (([1.0, 2.0], ["a", float("nan")]), {}, DataError, "row 2"),
        (([1.0, 2.0], None), {"binary": True}, DataError, "outside 0 to 1"),
        (([1.0, np.inf], None), {}, DataError, "infinite"),
        (([1.0, 2.0], None), {"level": 95}, UsageError, "0.95"),
        (([1.0, 2.0], None), {"interval": "bayes"}, UsageError, "bayes"),
        (([1.0, 2.0], None), {"interval": "bootstrap", "replicates": 5}, UsageError, "100"),
    ],
)
def test_bad_input_is_named(arguments: tuple, options: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        mean_estimate(*arguments, **options)


def test_cluster_numbers_follow_sorted_labels() -> None:
    assert cluster_codes(["b", "a", "c", "a"], 4).tolist() == [1, 0, 2, 0]
    with pytest.raises(UsageError, match="not of shape"):
        mean_estimates(np.zeros((2, 2, 2)), None)

"""Nominal 95 % intervals hold the truth about 95 % of the time, at the edges too."""

import numpy as np
import pytest
from benchmarks.simulations.shares import MEASURES, coverage, measured
from coverage_study import (
    DESIGNS,
    KALAHI,
    column,
    disagreements,
    labels,
    mean_coverage,
    normal,
    paired_coverage,
    right_or_wrong,
)

from kapwa.stats.intervals import mean_estimates
from kapwa.stats.resampling import sign_flip_p_values


@pytest.mark.parametrize("icc", [0.05, 0.8])
def test_clustered_binary_coverage_is_nominal(icc: float) -> None:
    values = right_or_wrong(KALAHI, 0.43, icc, draws=2500, seed=11)
    assert 0.93 <= mean_coverage(values, KALAHI, 0.43, share=True) <= 0.97


@pytest.mark.parametrize("icc", [0.05, 0.8])
@pytest.mark.parametrize("p", [0.01, 0.1, 0.97])
def test_coverage_does_not_collapse_at_the_edges(p: float, icc: float) -> None:
    values = right_or_wrong(KALAHI, p, icc, draws=1500, seed=12)
    assert mean_coverage(values, KALAHI, p, share=True) >= 0.93
    found = mean_estimates(values, labels(KALAHI), share=True)
    assert (column(found, "high") - column(found, "low")).min() > 0.02
    assert column(found, "se").min() > 0


@pytest.mark.parametrize("design", list(DESIGNS))
@pytest.mark.parametrize("p", [0.02, 0.43])
def test_few_or_uneven_clusters_stay_covered(design: str, p: float) -> None:
    sizes = DESIGNS[design]
    assert mean_coverage(right_or_wrong(sizes, p, 0.3, draws=1500, seed=13), sizes, p, share=True) >= 0.93


@pytest.mark.parametrize("design", list(DESIGNS))
def test_continuous_metrics_are_covered_with_uneven_clusters(design: str) -> None:
    sizes = DESIGNS[design]
    assert 0.925 <= mean_coverage(normal(sizes, 0.3, 2500, 14), sizes, 0.0) <= 0.97


@pytest.mark.parametrize("kind", list(MEASURES))
@pytest.mark.parametrize("clusters", [10, 20])
def test_bounded_and_skewed_measures_of_few_clusters_are_covered(kind: str, clusters: int) -> None:
    """Student's t held these in 72 to 95 of 100."""
    assert coverage(*measured(np.random.default_rng(21), kind, clusters, 1, 1200), 1) >= 91.5


def test_ignoring_clusters_would_undercover() -> None:
    values = right_or_wrong(KALAHI, 0.43, 0.8, draws=1500, seed=15)
    found = mean_estimates(values, None, share=True)
    naive = ((column(found, "low") <= 0.43) & (column(found, "high") >= 0.43)).mean()
    assert naive < 0.9 < mean_coverage(values, KALAHI, 0.43, share=True)


@pytest.mark.parametrize(("rate", "effect"), [(0.3, 0.0), (0.3, 0.1), (0.04, 0.02), (0.02, 0.01)])
def test_paired_binary_differences_are_covered(rate: float, effect: float) -> None:
    differences = disagreements(KALAHI, rate, effect, draws=700, seed=16)
    assert paired_coverage(differences, KALAHI, effect, binary=True) >= 0.93


def test_sign_flips_keep_their_level() -> None:
    rng = np.random.default_rng(17)
    p, _ = sign_flip_p_values(rng.normal(size=(40, 2000)), replicates=999, seed=0)
    assert 0.035 <= (p <= 0.05).mean() <= 0.065
    rare = disagreements(KALAHI, 0.3, 0.0, draws=2000, seed=18)
    exact, _ = sign_flip_p_values(np.add.reduceat(rare, np.cumsum(KALAHI) - KALAHI), replicates=999, seed=0)
    assert (exact <= 0.05).mean() <= 0.055

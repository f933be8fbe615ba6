"""Reliability of ranks against plain loops, Cronbach's alpha, an analysis of variance and planted coefficients."""

import math

import numpy as np
import pytest
from benchmarks.simulations.reliability import Design, squared_error, systems
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import f, f_oneway

from kapwa.errors import UsageError
from kapwa.stats.culture_means import change_over_items
from kapwa.stats.reliability import culture_reliability, system_reliability


def twin(scores: np.ndarray, cultures: list[int], clusters: list[int]) -> tuple[float, float]:
    """Squared error and observed variance of systems' means over cultures, from loops over pairs of systems."""
    names = sorted(set(cultures))
    count = len(scores)

    def mean(values: np.ndarray) -> float:
        return sum(
            sum(values[i] for i in range(len(cultures)) if cultures[i] == c) / cultures.count(c) for c in names
        ) / len(names)

    means = [mean(row) for row in scores]
    errors = []
    for s in range(count):
        for t in range(s):
            difference = scores[s] - scores[t]
            by_cluster = dict.fromkeys(clusters, 0.0)
            for c in names:
                own = [i for i in range(len(cultures)) if cultures[i] == c]
                groups = len({clusters[i] for i in own})
                centre = sum(difference[i] for i in own) / len(own)
                for i in own:
                    part = (difference[i] - centre) / len(own) / len(names)
                    by_cluster[clusters[i]] += part * math.sqrt(groups / (groups - 1))
            errors.append(sum(part**2 for part in by_cluster.values()) / 2)
    grand = sum(means) / count
    return sum(errors) / len(errors), sum((one - grand) ** 2 for one in means) / (count - 1)


@settings(max_examples=30)
@given(st.integers(4, 6), st.integers(1, 3), st.booleans(), st.integers(0, 10_000))
def test_systems_equal_their_plain_twin(count: int, places: int, shared: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, 9, size=places)
    cultures = [c for c in range(places) for _ in range(sizes[c])]
    # Of clusters that cultures share, and of items two a cluster.
    clusters = [i // 2 + (0 if shared else 100 * c) for c in range(places) for i in range(sizes[c])]
    scores = rng.normal(size=(count, len(cultures))) + rng.normal(size=(count, 1))
    found = system_reliability(scores, cultures, clusters)
    error, observed = twin(scores, cultures, clusters)
    assert found.error**2 == pytest.approx(error)
    assert found.coefficient == pytest.approx(max(1 - error / observed, 0.0))
    assert found.spread == pytest.approx(math.sqrt(max(observed - error, 0.0)))
    assert 0 <= found.low <= found.coefficient <= found.high <= 1
    assert (found.ranked, found.items, found.left_out) == (count, len(cultures), 0)


def test_one_culture_is_cronbachs_alpha_with_feldts_interval() -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(12, 40)) + rng.normal(size=(12, 1)) * 0.4
    alpha = 40 / 39 * (1 - scores.var(axis=0, ddof=1).sum() / scores.sum(axis=1).var(ddof=1))
    found = system_reliability(scores)
    assert found.coefficient == pytest.approx(alpha)
    # As many degrees of freedom of the error as there can be give Feldt's own interval; ours have fewer.
    ends = [1 - (1 - alpha) / f.ppf(tail, 11 * 39, 11) for tail in (0.025, 0.975)]
    assert [found.low, found.high] == pytest.approx(ends, abs=0.03)


def test_cultures_of_as_many_items_are_one_minus_the_inverse_of_f() -> None:
    rng = np.random.default_rng(3)
    groups = rng.normal(size=(6, 25)) + rng.normal(size=(6, 1)) * 0.5
    found = culture_reliability(groups.ravel(), np.repeat(np.arange(6), 25), np.arange(150))
    assert found.coefficient == pytest.approx(1 - 1 / f_oneway(*groups).statistic)
    # What a shared question adds to all cultures alike is no error of their ranks.
    harder = groups + rng.normal(scale=5, size=25)
    questions = np.tile(np.arange(25), 6)
    moved = culture_reliability(harder.ravel(), np.repeat(np.arange(6), 25), questions)
    kept = culture_reliability(groups.ravel(), np.repeat(np.arange(6), 25), questions)
    assert moved.coefficient == pytest.approx(kept.coefficient)


def test_what_has_no_reliability_has_none() -> None:
    rng = np.random.default_rng(4)
    assert system_reliability(rng.normal(size=(3, 20))) is None  # three systems
    assert system_reliability(np.ones((5, 20))) is None  # all the same
    assert system_reliability(np.full((5, 20), np.nan)) is None
    assert system_reliability(rng.normal(size=(5, 3)), [0, 0, 1], [0, 1, 2]) is None  # a culture with one cluster
    assert culture_reliability(rng.normal(size=6), [0, 0, 1, 1, 2, 2], range(6)) is None
    assert culture_reliability([np.nan], [0], [0]) is None
    with pytest.raises(UsageError, match="by system and item"):
        system_reliability(np.ones(4))
    with pytest.raises(UsageError, match="one score for each item"):
        culture_reliability(np.ones((2, 2)), [0, 1], [0, 1])


def test_items_needed_reach_the_goal_and_missing_ones_are_counted() -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(8, 50)) + rng.normal(size=(8, 1)) * 0.3
    scores[2, 7] = np.nan
    found = system_reliability(scores)
    assert (found.items, found.left_out) == (49, 1)
    longer = found.spread**2 / (found.spread**2 + found.error**2 / found.lengths)
    assert longer == pytest.approx(0.8)
    assert found.lengths_low < found.lengths < found.lengths_high
    noise = np.random.default_rng(7).normal(size=(8, 50))
    assert math.isinf(system_reliability(noise - noise.mean(axis=1, keepdims=True) * 0.9).lengths)


def test_intervals_hold_a_planted_coefficient() -> None:
    rng = np.random.default_rng(6)
    design = Design((10, 20, 40), clustered=2, missing=0.01)
    truth = 0.1**2 / (0.1**2 + squared_error(design) / 0.99**8)
    held = 0
    for _ in range(400):
        found = system_reliability(*systems(rng, design, 8, 0.1))
        held += found.low <= truth <= found.high
    assert 0.92 <= held / 400 <= 0.99


def test_a_difference_over_items() -> None:
    found = change_over_items([1.0, 1.0, 0.0, -1.0, np.nan])
    assert found.sd == pytest.approx(np.std([1, 1, 0, -1]))
    assert found.reversed == pytest.approx(0.25)
    # Cultures count alike: one item against, of two in the second, is a quarter of all.
    assert change_over_items([1, 1, 1, 1, 1, -1], list("aaaabb")).reversed == pytest.approx(0.25)
    assert change_over_items([1.0, -1.0]).reversed == 0.0
    assert change_over_items([1.0, np.nan]) is None

"""What raters add to the error of people's mean: against its definition, and against planted raters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import f_oneway

from kapwa.errors import UsageError
from kapwa.stats.corrected import corrected_difference, corrected_means, corrected_over_strata
from kapwa.stats.raters import RaterLabels, rater_error, rater_labels


def by_matrices(labels: RaterLabels, strata: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Variance between raters and what it adds, by the quadratic forms and traces that define Henderson's method 1."""
    m = len(labels.values)
    observed, expected = np.zeros(3), np.zeros((3, 3))
    answers, raters = (np.equal.outer(codes, codes).astype(float) for codes in (labels.answers, labels.raters))
    of_label = strata[labels.answers]
    for stratum in np.unique(of_label):
        inside = np.flatnonzero(of_label == stratum)
        same = np.ix_(inside, inside)
        means = [sides[same] / sides[same].sum(axis=1, keepdims=True) for sides in (answers, raters, np.ones((m, m)))]
        eye = np.eye(len(inside))
        forms = [means[0] - means[2], means[1] - means[2], eye - means[0] - means[1] + means[2]]
        y = labels.values[inside]
        for k, form in enumerate(forms):
            observed[k] += y @ form @ y
            for j, covariance in enumerate((answers[same], raters[same], eye)):
                expected[k, j] += np.trace(form @ covariance)
    variance = max(float((np.linalg.pinv(expected) @ observed)[1]), 0.0)
    part = np.zeros(labels.raters.max() + 1)
    for answer, rater in zip(labels.answers, labels.raters, strict=True):
        whole = sum(weights[a] for a in set(labels.answers) if strata[a] == strata[answer])
        part[rater] += weights[answer] / (labels.answers == answer).sum() / whole / len(np.unique(strata))
    return variance, variance * float((part**2).sum())


@given(
    places=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 4)), min_size=6, max_size=30, unique=True),
    seed=st.integers(0, 1000),
)
def test_it_is_hendersons_method_within_strata(places: list[tuple[int, int]], seed: int) -> None:
    random = np.random.default_rng(seed)
    answers, raters = np.array(places).T
    labels = rater_labels(answers, raters, random.random(len(places)))
    strata, weights = np.arange(8) % 2, random.uniform(0.5, 2, 8)
    if len(np.unique(strata[answers])) < 2:
        return
    found = rater_error(labels, strata, weights)
    variance, added = by_matrices(labels, strata, weights)
    if found.freedom:
        assert found.sd**2 == pytest.approx(variance, abs=1e-9)
        assert found.variance == pytest.approx(added, abs=1e-9)


def test_where_each_answer_has_one_rater_it_is_the_analysis_of_variance() -> None:
    random = np.random.default_rng(2)
    raters = np.repeat(np.arange(6), 10)
    values = random.normal(size=60) + np.repeat(random.normal(size=6), 10)
    found = rater_error(rater_labels(np.arange(60), raters, values), np.zeros(60, dtype=int), np.ones(60))
    groups = values.reshape(6, 10)
    within = groups.var(axis=1, ddof=1).mean()
    assert found.sd**2 == pytest.approx((f_oneway(*groups).statistic - 1) * within / 10)
    assert (found.raters, found.freedom, found.known) == (6, 5, True)


def labelled(random: np.random.Generator, raters: int, sd: float) -> tuple[np.ndarray, RaterLabels, float]:
    """60 of 120 answers, each labelled by three of the raters, who are milder or stricter by ``sd`` logits."""
    chance = 1 / (1 + np.exp(-(random.normal(0.5, 1, (120, 1)) + sd * random.normal(size=raters))))
    rows = [(a, r) for a in range(60) for r in random.permutation(raters)[:3]]
    answers, who = np.array(rows).T
    values = (random.random(len(rows)) < chance[answers, who]).astype(float)
    labels = np.full(120, np.nan)
    labels[:60] = np.bincount(answers, values) / 3
    draws = 1 / (1 + np.exp(-(random.normal(0.5, 1, 100_000) + sd * random.normal(size=100_000))))
    return labels, rater_labels(answers, who, values), float(draws.mean())


def test_intervals_hold_for_other_raters_where_raters_differ() -> None:
    random = np.random.default_rng(5)
    held, without = 0, 0
    for _ in range(60):
        labels, by_rater, true = labelled(random, 6, 1.0)
        rows = labels > 0.5, labels, np.full(120, 0.5), ["x"] * 120, range(120)
        (row,) = corrected_means(*rows, by_rater=by_rater)
        (alone,) = corrected_means(*rows)
        assert row.people == alone.people
        assert row.rater_sd is not None
        assert alone.rater_sd is None
        held += row.people_low <= true <= row.people_high  # type: ignore[operator]
        without += alone.people_low <= true <= alone.people_high  # type: ignore[operator]
    assert held >= 0.9 * 60
    assert without <= 0.85 * 60


def test_of_four_raters_intervals_speak_of_these_alone() -> None:
    labels, by_rater, _ = labelled(np.random.default_rng(6), 4, 1.0)
    rows = labels > 0.5, labels, np.full(120, 0.5), ["x"] * 120, range(120)
    (row,), (alone,) = corrected_means(*rows, by_rater=by_rater), corrected_means(*rows)
    assert row == alone._replace(raters=4)


def test_raters_of_several_strata_are_counted_once() -> None:
    """Three people who label two cultures are three; five in each of two cultures are ten."""
    random, strata = np.random.default_rng(7), np.repeat(["a", "b"], 60)
    answers = np.repeat(np.arange(120), 3)
    scores, labels = random.random(120) < 0.5, np.zeros(120)
    values = (random.random(360) < 0.6).astype(float)
    labels += np.bincount(answers, values) / 3
    rows = scores, labels, np.ones(120), strata, range(120)
    same = corrected_over_strata(*rows, by_rater=rater_labels(answers, np.tile(range(3), 120), values))
    assert (same.raters, same.rater_sd) == (3, None)
    others = np.tile(range(3), 120) + 3 * (answers >= 60)
    apart = corrected_over_strata(*rows, by_rater=rater_labels(answers, others, values))
    assert apart.raters == 6
    assert apart.rater_sd is not None


def test_how_mild_people_are_cancels_in_a_difference() -> None:
    random = np.random.default_rng(8)
    mild = random.normal(size=8)
    answers, who = np.repeat(np.arange(100), 2), random.integers(0, 8, 200)
    sides = [(random.random(200) < 1 / (1 + np.exp(-(0.3 + 2 * mild[who])))).astype(float) for _ in range(2)]
    labels = [np.bincount(answers, side) / 2 for side in sides]
    rows = *[np.zeros(100)] * 2, *labels, np.full(100, 0.5), ["x"] * 100, range(100)
    both = rater_labels(answers, who, sides[0] - sides[1])
    (row,), (without,) = corrected_difference(*rows, by_rater=both), corrected_difference(*rows)
    assert row.rater_sd is not None
    assert row.rater_sd < 0.15  # their shares differ by .4
    assert row.widened < 1.25
    assert row.p_value is not None
    assert without.p_value is not None
    assert row.p_value >= without.p_value - 1e-12


def test_columns_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="an answer, a rater and a value"):
        rater_labels([0, 1], ["a"], [1.0, 0.0])
    with pytest.raises(UsageError, match="an answer, a rater and a value"):
        rater_labels([0], ["a"], [np.nan])

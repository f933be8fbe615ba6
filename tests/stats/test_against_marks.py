"""A score against tricks, guessing and people: values by definition, error rates and coverage by simulation."""

from itertools import product

import numpy as np
import pytest
from benchmarks.simulations import floors
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kapwa.report.view import Mark, Marks, verdicts
from kapwa.stats.intervals import against_marks
from kapwa.stats.significance import holm


def test_a_mark_item_by_item_by_definition() -> None:
    values, mark = np.array([1.0, 0.0, 1.0, 1.0, np.nan]), np.array([0.5, 0.25, np.nan, 1.0, 0.0])
    (found,) = against_marks(values, mark[:, None], np.arange(5))
    kept = np.array([0.5, -0.25, 0.0])  # pairs alone
    assert found.difference == pytest.approx(kept.mean())
    assert found.p_value == pytest.approx(stats.ttest_1samp(kept, 0).pvalue)
    assert found.relative == pytest.approx((2 / 3) / (1.75 / 3))
    residuals = (np.array([1.0, 0.0, 1.0]) - found.relative * np.array([0.5, 0.25, 1.0])) / (1.75 / 3)
    half = stats.t.ppf(0.975, 2) * residuals.std(ddof=1) / 3**0.5
    assert (found.relative_low, found.relative_high) == pytest.approx(
        (max(0, found.relative - half), found.relative + half)
    )


@pytest.mark.parametrize(("won", "lost"), [(4, 0), (5, 0), (6, 0), (8, 1), (20, 5), (30, 10), (3, 3)])
def test_few_pairs_that_differ_give_the_p_of_the_exact_test(won: int, lost: int) -> None:
    """Student's t alone calls four of four pairs a finding (p = .045), where the exact test has p = .125."""
    values = np.array([1.0] * won + [0.0] * lost + [1.0] * 100)
    mark = np.array([0.0] * won + [1.0] * lost + [1.0] * 100)
    (found,) = against_marks(values, mark[:, None], np.arange(len(mark)), binary=True)
    assert found.p_value is not None
    exact = stats.binomtest(won, won + lost).pvalue
    assert found.p_value == pytest.approx(exact, rel=0.25, abs=0.002)
    assert (found.p_value < 0.05) == (exact < 0.05)


def test_equal_answers_everywhere_are_no_difference_and_nothing_measured_is_none() -> None:
    same = np.array([1.0, 0.0, 1.0])
    assert against_marks(same, same[:, None], np.arange(3), binary=True)[0].p_value == 1.0
    (empty,) = against_marks(np.full(3, np.nan), same[:, None], np.arange(3), binary=True)
    assert (empty.difference, empty.relative) == (None, None)
    assert against_marks(same, np.zeros((3, 1)), np.arange(3), binary=True)[0].relative is None


@pytest.mark.parametrize("groups", [1, 2, 3, 5, 8])
def test_few_large_clusters_have_no_smaller_p_than_their_sign_flips(groups: int) -> None:
    """One cluster of 40 items, all won, had p = .007, and two of 20 p = .0007: a sentence said "better"."""
    codes = np.repeat(np.arange(groups), 20)
    (found,) = against_marks(np.ones(len(codes)), np.zeros((len(codes), 1)), codes, binary=True)
    flips = np.array(list(product((-20, 20), repeat=groups))).sum(axis=1)
    assert found.p_value == min(1.0, (np.abs(flips) >= 20 * groups).mean())


@given(st.lists(st.floats(0.0001, 1), min_size=1, max_size=8))
def test_a_family_of_verdicts_is_holms(p_values: list[float]) -> None:
    row = {"value": 0.5, "low": 0.4, "high": 0.6, "clusters": 100}
    marks = [Mark(str(k), 0.4, False, "", "", difference=0.1, p_value=p) for k, p in enumerate(p_values)]
    said = verdicts([(row, Marks.of([mark])) for mark in marks])
    expected = ["above" if p < 0.05 else "unclear" for p in holm(p_values)]
    assert [one[mark] for one, mark in zip(said, marks, strict=True)] == expected


def test_a_trick_as_good_as_the_model_is_seldom_called_better_or_worse() -> None:
    """While the trick's score was taken as known, 15 to 17 % of such models were called better or worse."""
    random = np.random.default_rng(5)
    errors = [floors.against_tricks(random, 1, 150, (0.41,), 1.0) for _ in range(500)]
    assert 0.02 <= np.mean(errors) <= 0.075


def test_in_many_cultures_a_family_of_verdicts_errs_as_seldom() -> None:
    random = np.random.default_rng(6)
    errors = [floors.against_tricks(random, 16, 60, (0.45, 0.34, 0.02), 1.0) for _ in range(80)]
    assert np.mean(errors) <= 0.11


def test_published_people_as_good_as_the_model_are_seldom_called_better_or_worse() -> None:
    random = np.random.default_rng(7)
    assert 0.02 <= np.mean([floors.against_published(random, 0.0) for _ in range(500)]) <= 0.075


def test_who_answers_as_a_person_there_is_judged_as_people_are_only_by_keys_of_equal_size() -> None:
    random = np.random.default_rng(8)
    fair, unfair = (
        np.mean([floors.against_people(random, 1, 480, equal=equal) for _ in range(200)]) for equal in (True, False)
    )
    assert fair <= 0.09
    assert unfair > 0.3


def test_intervals_of_people_and_of_a_share_of_them_hold_the_truth() -> None:
    own, relative = floors.coverage(np.random.default_rng(9), 300, 100)
    assert 91.5 <= own <= 98.5
    assert 91.5 <= relative <= 98.5

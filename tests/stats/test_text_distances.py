"""Lexical variance and PERMANOVA: against their definitions, the released procedure and scikit-bio."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from benchmarks.simulations import spread
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kapwa.errors import DataError, UsageError
from kapwa.stats.distances import lexical_variance, lexical_variance_reference, permanova, permdisp
from kapwa.stats.resampling import permuted_orders

SIZES = (3, 1, 5, 2, 4)
GROUPS = np.repeat(np.arange(len(SIZES)), SIZES)


def random_distances(seed: int, n: int, *, shift: np.ndarray | None = None) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(n, 3)) + (0 if shift is None else shift[:, None])
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))


def tables(distances: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean distances, mean squares (diagonal over distinct pairs) and the released squares within, pair by pair."""
    size = groups.max() + 1
    means, squares, released = np.full((size, size), np.nan), np.full((size, size), np.nan), np.zeros(size)
    for a, b in itertools.product(range(size), repeat=2):
        pairs = [(i, j) for i in np.flatnonzero(groups == a) for j in np.flatnonzero(groups == b) if i != j]
        if pairs:
            means[a, b] = np.mean([distances[pair] for pair in pairs])
            squares[a, b] = np.mean([distances[pair] ** 2 for pair in pairs])
        if a == b and pairs:
            released[a] = sum(distances[pair] ** 2 for pair in pairs) / (groups == a).sum() ** 2
    return means, squares, released


def plain_f(distances: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Anderson's pseudo-F and R², one pair after the other."""
    n, names = len(labels), set(labels.tolist())
    total = within = 0.0
    for i, j in itertools.combinations(range(n), 2):
        total += distances[i, j] ** 2 / n
        if labels[i] == labels[j]:
            within += distances[i, j] ** 2 / (labels == labels[i]).sum()
    between = total - within
    return (between / (len(names) - 1)) / (within / (n - len(names))), between / total


def test_variance_is_half_the_mean_square_over_distinct_pairs() -> None:
    distances = random_distances(1, len(GROUPS))
    _, squares, _ = tables(distances, GROUPS)
    ours = lexical_variance(squares, np.array(SIZES))
    assert np.isnan(ours.within[1])
    for g in (0, 2, 3, 4):
        own = np.flatnonzero(g == GROUPS)
        assert ours.within[g] == pytest.approx(
            np.mean([distances[i, j] ** 2 / 2 for i, j in itertools.combinations(own, 2)])
        )
    others = [np.mean(distances[np.ix_(GROUPS == 1, h == GROUPS)] ** 2) / 2 for h in (0, 2, 3, 4)]
    assert ours.across[1] == pytest.approx(np.mean(others))
    assert ours.within_mean == pytest.approx(np.mean(ours.within[[0, 2, 3, 4]]))
    assert ours.across_mean == pytest.approx(np.mean(ours.across))


def test_an_identity_without_texts_and_a_lone_identity() -> None:
    _, squares, _ = tables(random_distances(3, 6), np.repeat([0, 2], 3))
    ours = lexical_variance(squares, [3, 0, 3])
    assert np.isnan([ours.within[1], ours.across[1]]).all()
    assert ours.across[0] == ours.across[2] == pytest.approx(squares[0, 2] / 2)
    # One text has no variance, whatever its diagonal says.
    assert np.isnan(lexical_variance([[0.0, 0.4], [0.4, 0.2]], [1, 2]).within).tolist() == [True, False]
    alone = lexical_variance([[0.5]], [4])
    assert (alone.within_mean, np.isnan(alone.across_mean)) == (0.25, True)
    with pytest.raises(UsageError, match="sample counts of shape"):
        lexical_variance(squares, [3, 3])
    with pytest.raises(UsageError, match="square"):
        lexical_variance(squares[:2], [3, 3])


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_within_and_across_agree_where_the_identity_makes_no_difference(seed: int) -> None:
    """Averaged over *all* relabellings the two are equal to the last digit, for any numbers of samples."""
    distances = random_distances(seed, 5)
    within, across = [], []
    for order in itertools.permutations(range(5)):
        groups = np.empty(5, dtype=int)
        groups[list(order)] = [0, 0, 1, 1, 1]
        ours = lexical_variance(tables(distances, groups)[1], [2, 3])
        within.append(ours.within_mean)
        across.append(ours.across_mean)
    assert np.mean(within) == pytest.approx(np.mean(across), rel=1e-12)


def test_reference_equals_the_released_loops() -> None:
    distances = random_distances(4, 20)
    groups = np.repeat(np.arange(4), 5)
    means, _, released = tables(distances, groups)
    np.fill_diagonal(means, 0.0)
    ours = lexical_variance_reference(means, released)
    assert ours.across_mean == pytest.approx(sum(d**2 for d in means.ravel()) / 4**2)
    own = [
        sum(distances[i, j] ** 2 for i in range(5 * g, 5 * g + 5) for j in range(5 * g, 5 * g + 5)) for g in range(4)
    ]
    assert ours.within == pytest.approx([value / 5**2 for value in own])
    assert ours.within_mean == pytest.approx(sum(own) / 25 / 4)
    # Five of its 25 pairs are texts with themselves, so it falls short of the unbiased value by a fifth.
    _, squares, _ = tables(distances, groups)
    assert ours.within / (2 * lexical_variance(squares, np.full(4, 5)).within) == pytest.approx(np.full(4, 0.8))


def test_permanova_equals_its_definition_permutation_by_permutation() -> None:
    distances = random_distances(6, len(GROUPS), shift=GROUPS * 0.3)
    ours = permanova(distances, GROUPS, permutations=99, seed=7)
    f, r2 = plain_f(distances, GROUPS)
    assert (ours.f, ours.r2) == pytest.approx((f, r2), rel=1e-12)
    orders = np.concatenate(list(permuted_orders(len(GROUPS), 99, seed=7, values_each=1)))
    hits = 0
    for order in orders:
        labels = np.empty_like(GROUPS)
        labels[order] = GROUPS
        hits += plain_f(distances, labels)[0] >= f * (1 - 1e-9)
    assert ours.p == (1 + hits) / 100


@pytest.mark.parametrize("effect", [0.0, 0.4])
def test_permanova_equals_scikit_bio(effect: float) -> None:
    from skbio.stats.distance import DistanceMatrix
    from skbio.stats.distance import permanova as skbio_permanova

    rng = np.random.default_rng(9)
    groups = rng.permutation(np.repeat(np.arange(12), 5))
    distances = random_distances(8, 60, shift=groups * effect)
    ours = permanova(distances, groups, permutations=999, seed=1)
    theirs = skbio_permanova(DistanceMatrix(distances), groups.astype(str), permutations=199, seed=2)
    assert ours.f == pytest.approx(theirs["test statistic"], rel=1e-9)
    # Two Monte Carlo p-values: four standard errors of their difference.
    assert ours.p == pytest.approx(theirs["p-value"], abs=4 * (0.25 / 999 + 0.25 / 199) ** 0.5)
    assert (ours.p < 0.01) == (effect > 0)


@pytest.mark.parametrize("wider", [0.0, 1.0])
def test_permdisp_equals_scikit_bio(wider: float) -> None:
    from skbio.stats.distance import DistanceMatrix
    from skbio.stats.distance import permdisp as skbio_permdisp

    rng = np.random.default_rng(9)
    groups = rng.permutation(np.repeat(np.arange(6), 8))
    points = rng.normal(size=(48, 4)) * (1 + wider * (groups % 2))[:, None] + groups[:, None]
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    ours = permdisp(distances, groups, permutations=999, seed=1)
    matrix = DistanceMatrix(distances)
    theirs = skbio_permdisp(
        matrix, groups.astype(str), test="centroid", permutations=99, dimensions=48, seed=2, warn_neg_eigval=False
    )
    assert ours.f == pytest.approx(theirs["test statistic"], rel=1e-6)
    assert (ours.p < 0.05) == (wider > 0)


def test_permdisp_equals_its_definition_from_coordinates() -> None:
    rng = np.random.default_rng(3)
    groups = np.array([2, 0, 1, 0, 1, 1, 0, 3, 1])
    points = rng.normal(size=(9, 3))
    z = {
        group: [
            float(np.linalg.norm(point - points[groups == group].mean(axis=0))) * (n / (n - 1)) ** 0.5
            for point in points[groups == group]
        ]
        for group in (0, 1)
        if (n := int((groups == group).sum()))
    }
    expected = stats.f_oneway(*z.values()).statistic
    found = permdisp(np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2)), groups, permutations=99)
    assert found.f == pytest.approx(expected)
    nothing = permdisp(np.ones((6, 6)), [0, 0, 0, 1, 1, 1])
    assert np.isnan([nothing.f, nothing.p]).all()
    assert np.isnan(permdisp(np.ones((3, 3)), [0, 0, 1]).f)


def test_unequal_spread_and_size_deceive_permanova_and_permdisp_says_so() -> None:
    """Small version of benchmarks/simulations/spread.py."""
    alone, told = spread.deceived(np.random.default_rng(2), 20, sizes=(3, 9), widths=(2.0, 1.0))
    assert alone >= 25
    assert told >= 60


def test_identical_texts_and_groups_that_explain_everything() -> None:
    groups = np.repeat([0, 1], 4)
    same = permanova(np.zeros((8, 8)), groups)
    assert np.isnan([same.f, same.r2]).all()
    assert same.p == 1.0
    apart = permanova((groups[:, None] != groups).astype(float), groups, permutations=9999)
    assert (apart.f, apart.r2) == (np.inf, 1.0)
    # 2 of the 70 ways to split eight texts into two fours are the observed one.
    assert apart.p == pytest.approx(2 / 70, abs=5 * (2 / 70 / 9999) ** 0.5)


@pytest.mark.parametrize(
    ("change", "groups", "permutations", "message"),
    [
        (lambda good: good[:5], "aaabbb", 99, "square matrix"),
        (lambda good: good, "aaabb", 99, "group labels"),
        (lambda good: good, "aaaaaa", 99, "at least two groups"),
        (lambda good: good, "abcdef", 99, "Sample each prompt at least twice"),
        (lambda good: good + np.triu(good), "aaabbb", 99, "not symmetric"),
        (lambda good: np.where(good == good[1, 2], np.nan, good), "aaabbb", 99, "between texts 2 and 3 is missing"),
        (lambda good: np.where(np.eye(6), 0, np.inf), "aaabbb", 99, "infinite"),
        (lambda good: good, "aaabbb", 10, "permutations"),
    ],
)
def test_bad_input_is_refused(change: Callable, groups: str, permutations: int, message: str) -> None:
    with pytest.raises((UsageError, DataError), match=message):
        permanova(change(random_distances(12, 6)), list(groups), permutations=permutations)


def test_reference_ignores_the_diagonal_and_identities_without_texts() -> None:
    means, _, released = tables(random_distances(5, 6), np.repeat([0, 2], 3))
    released[1] = np.nan
    ours = lexical_variance_reference(means, released)
    assert ours.across_mean == pytest.approx(2 * means[0, 2] ** 2 / 4)
    assert np.isnan(ours.across[1])
    with pytest.raises(UsageError, match="variances within of shape"):
        lexical_variance_reference(means, released[:2])

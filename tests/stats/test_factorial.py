"""Variance by factor from distances: as plain sums over points have it, for any design, and what exchanges keep."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapwa.errors import UsageError
from kapwa.stats.factorial import (
    CellDistances,
    cell_distances,
    degrees_of_freedom,
    factor_variances,
    permuted_effect,
    shared_effects,
    terms_of,
)

DESIGNS = st.lists(st.integers(2, 4), min_size=2, max_size=3).map(tuple)


def squares_of(points: np.ndarray) -> np.ndarray:
    return np.asarray(((points[:, None] - points[None]) ** 2).sum(axis=2))


def plain_variances(centres: np.ndarray) -> list[float]:
    """Of each term the mean square of its effects, each found by taking all smaller effects from the level means."""
    sizes = centres.shape[:-1]
    effects: dict[tuple[int, ...], np.ndarray] = {(): centres.reshape(-1, centres.shape[-1]).mean(axis=0)}
    found = []
    for term in terms_of(len(sizes)):
        total = 0.0
        table = np.zeros((*(sizes[f] for f in term), centres.shape[-1]))
        for levels in itertools.product(*(range(sizes[f]) for f in term)):
            chosen = [
                point
                for place, point in _cells(centres)
                if all(place[f] == v for f, v in zip(term, levels, strict=True))
            ]
            effect = sum(chosen) / len(chosen)
            for size in range(len(term)):
                for part in itertools.combinations(range(len(term)), size):
                    smaller = effects[tuple(term[i] for i in part)]
                    effect = effect - smaller[tuple(levels[i] for i in part)]
            table[levels] = effect
            total += float(effect @ effect)
        effects[term] = table
        found.append(total / np.prod([sizes[f] for f in term]))
    return found


def _cells(centres: np.ndarray) -> list[tuple[tuple[int, ...], np.ndarray]]:
    return [(place, centres[place]) for place in itertools.product(*map(range, centres.shape[:-1]))]


@settings(max_examples=30, deadline=None)
@given(DESIGNS, st.integers(0, 2**32 - 1))
def test_terms_are_those_of_plain_sums_and_add_up(sizes: tuple[int, ...], seed: int) -> None:
    centres = np.random.default_rng(seed).normal(size=(*sizes, 3))
    flat = centres.reshape(-1, 3)
    variances = factor_variances(squares_of(flat), sizes)
    np.testing.assert_allclose(variances, plain_variances(centres), atol=1e-10)
    assert variances.sum() == pytest.approx(((flat - flat.mean(axis=0)) ** 2).sum(axis=1).mean())
    assert sum(degrees_of_freedom(term, sizes) for term in terms_of(len(sizes))) == len(flat) - 1


@settings(max_examples=30, deadline=None)
@given(DESIGNS, st.integers(0, 2**32 - 1))
def test_what_two_levels_share_is_the_mean_product_of_the_effects(sizes: tuple[int, ...], seed: int) -> None:
    centres = np.random.default_rng(seed).normal(size=(*sizes, 3))
    for factor, by in itertools.permutations(range(len(sizes)), 2):
        found = shared_effects(squares_of(centres.reshape(-1, 3)), sizes, factor, by)
        effects = centres - centres.mean(axis=factor, keepdims=True)
        for one, other in itertools.product(range(sizes[by]), repeat=2):
            product = np.take(effects, one, axis=by) * np.take(effects, other, axis=by)
            assert found[one, other] == pytest.approx(product.sum(axis=-1).mean(), abs=1e-10)


def test_distances_of_means_are_those_of_the_points() -> None:
    random = np.random.default_rng(3)
    texts = [random.normal(size=(n, 4)) for n in (2, 3, 5)]
    apart = [[((a[:, None] - b[None]) ** 2).sum(axis=2) for b in texts] for a in texts]
    squares = np.array([[block.mean() for block in row] for row in apart])
    for i, group in enumerate(texts):
        squares[i, i] = apart[i][i].sum() / len(group) / (len(group) - 1)
    cells = cell_distances(squares, [2, 3, 5])
    np.testing.assert_allclose(
        cells.observed, squares_of(np.stack([group.mean(axis=0) for group in texts])), atol=1e-12
    )
    np.testing.assert_allclose(cells.spread, [group.var(axis=0, ddof=1).sum() for group in texts])
    # Sampling adds the variance of each mean, which the unbiased distances leave out.
    assert cells.observed[0, 1] - cells.true[0, 1] == pytest.approx(cells.spread[0] / 2 + cells.spread[1] / 3)


def test_every_exchange_keeps_prompts_together_and_other_levels_apart() -> None:
    """Each permuted value is that of one of all (3!)² exchanges of three levels within the two of the other factor."""
    points = np.random.default_rng(5).normal(size=(6, 3))
    squares, spread = squares_of(points), np.arange(6.0)
    found = permuted_effect(CellDistances(squares, squares, spread), (3, 2), 0, permutations=199, seed=1)
    possible = set()
    for one, other in itertools.product(itertools.permutations(range(3)), repeat=2):
        order = np.stack([np.array(one) * 2, np.array(other) * 2 + 1], axis=1).ravel()
        value = factor_variances(squares[np.ix_(order, order)], (3, 2))[0]
        possible.add((round(value, 9), *np.round(spread[order].reshape(3, 2).mean(axis=1), 9)))
    drawn = {(round(v, 9), *np.round(levels, 9)) for v, levels in zip(found.location, found.spread, strict=True)}
    assert drawn == possible
    assert len(possible) > 20
    assert found.location[0] == pytest.approx(factor_variances(squares, (3, 2))[0])


def test_a_design_that_is_not_full_and_a_single_text_are_refused() -> None:
    with pytest.raises(UsageError, match=r"5 cells do not make up a full design of 3 × 2"):
        factor_variances(np.zeros((5, 5)), (3, 2))
    with pytest.raises(UsageError, match="fewer than two texts"):
        cell_distances(np.zeros((2, 2)), [2, 1])

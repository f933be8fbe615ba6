"""Variety of categories within and between identities: against plain twins, and on planted shares."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapwa.errors import UsageError
from kapwa.stats.variety import variety_of


def chance_of_one(shares: np.ndarray, first: list[int], second: list[int]) -> float:
    """The mean product over all pairs of known prompts of two concepts, one of each side: pair by pair."""
    concepts = range(len(shares))
    products = [
        sum(shares[c, g, k] * shares[d, h, k] for k in range(shares.shape[2]))
        for c, d, g, h in product(concepts, concepts, first, second)
        if c != d and not np.isnan(shares[c, g]).any() and not np.isnan(shares[d, h]).any()
    ]
    return float(np.mean(products)) if products else float("nan")


def made(seed: int, concepts: int = 4, identities: int = 3, categories: int = 3, missing: float = 0.2) -> np.ndarray:
    random = np.random.default_rng(seed)
    shares = random.dirichlet(np.ones(categories + 1), (concepts, identities))[:, :, :categories]
    shares[random.random((concepts, identities)) < missing] = np.nan
    return shares


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(2, 4))
def test_every_number_equals_its_plain_twin(seed: int, concepts: int, identities: int) -> None:
    shares = made(seed, concepts, identities)
    within, between = variety_of(shares, permutations=19)
    everyone = list(range(identities))
    for who in everyone:
        others = [other for other in everyone if other != who]
        same, across, rest = (
            chance_of_one(shares, *sides) for sides in (([who], [who]), ([who], others), (others, others))
        )
        assert within.spread.value[who] == pytest.approx(1 - same, nan_ok=True)
        assert within.apart.value[who] == pytest.approx((same + rest) / 2 - across, nan_ok=True)
        known = ~np.isnan(shares).any(axis=2)
        if known[:, who].any() and known[:, others].any():
            p, q = shares[known[:, who], who].mean(axis=0), shares[:, others][known[:, others]].mean(axis=0)
            apart = np.append(p - q, q.sum() - p.sum())
            assert within.distance[who] == pytest.approx(np.abs(apart).sum() / 2)
    pairs = [
        (g == h, float(np.dot(shares[c, g], shares[d, h])))
        for c, d, g, h in product(range(concepts), range(concepts), everyone, everyone)
        if c != d and not np.isnan(shares[c, g]).any() and not np.isnan(shares[d, h]).any()
    ]
    same, across = ([product for one, product in pairs if one is kind] for kind in (True, False))
    if same and across:
        assert between.within == pytest.approx(1 - np.mean(same))
        assert between.difference == pytest.approx(np.mean(same) - np.mean(across))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_intervals_leave_out_one_concept_in_turn(seed: int) -> None:
    from scipy.stats import t as student

    shares = made(seed, concepts=6, missing=0)
    within, between = variety_of(shares, permutations=19)
    left = [variety_of(np.delete(shares, c, axis=0), permutations=19) for c in range(6)]
    for whole, parts, low, high in (
        (within.apart.value[0], [one.within.apart.value[0] for one in left], *(e[0] for e in within.apart[1:])),
        (between.difference, [one.between.difference for one in left], between.low, between.high),
    ):
        half = student.ppf(0.975, 3) * np.sqrt(5 / 6 * ((parts - np.mean(parts)) ** 2).sum())
        assert (low, high) == pytest.approx((whole - half, whole + half))


def test_exchanges_are_those_of_known_prompts_within_a_concept() -> None:
    """With two concepts and two identities there are four exchanges; p is the share that is as large."""
    shares = np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    within, between = variety_of(shares, permutations=3999)
    assert between.within == 0
    assert between.between == 1
    assert between.p == pytest.approx(0.5, abs=0.03)
    assert within.spread.value.tolist() == [0, 0]
    assert within.distance.tolist() == [1, 1]
    assert within.floor == pytest.approx([0.5, 0.5], abs=0.03)
    absent = np.concatenate([shares, np.full((1, 2, 2), np.nan)])
    again = variety_of(absent, permutations=3999)
    assert again.between.difference == between.difference
    assert again.within.prompts.tolist() == [2, 2]


def test_what_is_planted_is_found_and_concepts_alone_are_no_difference() -> None:
    random = np.random.default_rng(0)
    concept = random.dirichlet(np.ones(4) / 2, 20)
    draws = np.stack([random.multinomial(3, concept, size=20) for _ in range(5)], axis=1) / 3
    assert variety_of(draws).between.p > 0.05
    draws[:, 0] = [0, 0, 0, 1]
    within, between = variety_of(draws)
    assert between.p == 0.001
    assert between.low > 0
    assert (within.p_largest < 0.01).tolist() == [True, False, False, False, False]
    assert within.apart.value.argmax() == 0
    assert within.spread.value[0] == 0
    assert np.isnan(within.spread.low[0])
    assert (within.distance[0] > 2 * within.floor[0]).all()


def test_too_little_is_said_to_be_unknown_and_another_shape_refused() -> None:
    within, between = variety_of(np.full((3, 2, 2), np.nan), permutations=19)
    assert np.isnan(within.spread.value).all()
    assert np.isnan(within.p_largest).all()
    assert np.isnan(between.p)
    one = variety_of(made(1, concepts=1, missing=0), permutations=19)
    assert np.isnan(one.between.difference)
    with pytest.raises(UsageError, match="shape"):
        variety_of([[0.5, 0.5]])
    with pytest.raises(UsageError, match="permutations"):
        variety_of(made(1), permutations=5)

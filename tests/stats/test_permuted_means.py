"""Floors of τ: many matrices at once equal one at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapwa.stats import kendall
from kapwa.stats.kendall import anchor_taus, permuted_means
from kapwa.stats.resampling import permuted_orders


def symmetric(rng: np.random.Generator, m: int, levels: int) -> np.ndarray:
    matrix = rng.integers(0, levels, (m, m)).astype(float)
    return matrix + matrix.T


def one_by_one(similarity: np.ndarray, distance: np.ndarray, permutations: int, seed: int) -> np.ndarray:
    """The slow twin: every anchor compared anew over the neighbours known in both."""
    m = len(distance)
    (orders,) = permuted_orders(m, permutations, seed=seed, values_each=1)
    return np.array([anchor_taus(similarity, distance[np.ix_(order, order)]).mean for order in orders])


@settings(max_examples=25)
@given(
    m=st.integers(3, 14),
    levels=st.integers(2, 40),
    seed=st.integers(0, 10_000),
    blocks=st.sampled_from([50, 10**7]),
    kept=st.sampled_from([0, 10**8]),
)
def test_bits_give_what_ranking_anew_gives(m: int, levels: int, seed: int, blocks: int, kept: int) -> None:
    rng = np.random.default_rng(seed)
    similarities = [symmetric(rng, m, levels) for _ in range(3)]
    distance = symmetric(rng, m, levels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kendall, "_BLOCK", blocks)
        patch.setattr(kendall, "_KEPT", kept)
        kendall._permuted.cache_clear()
        found = permuted_means(similarities, distance, permutations=19, seed=seed)
    wanted = [one_by_one(one, distance, 19, seed) for one in similarities]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13)


@settings(max_examples=25)
@given(
    m=st.integers(3, 14),
    share=st.sampled_from([0.05, 0.4]),
    where=st.sampled_from(["texts", "values", "both"]),
    seed=st.integers(0, 10_000),
)
def test_unknown_pairs_are_left_out_of_every_comparison(m: int, share: float, where: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarities, distance = [symmetric(rng, m, 9) for _ in range(3)], symmetric(rng, m, 9)
    for matrix in [similarities[1]] * (where != "values") + [distance] * (where != "texts"):
        unknown = np.triu(rng.random((m, m)) < share)
        matrix[unknown | unknown.T] = np.nan
    similarities[2][0] = similarities[2][:, 0] = np.nan  # an identity that a concept lacks
    found = permuted_means(similarities, distance, permutations=19, seed=seed)
    wanted = [one_by_one(one, distance, 19, seed) for one in similarities]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13)


def test_a_floor_depends_on_no_other_concept() -> None:
    rng = np.random.default_rng(6)
    similarities, distance = [symmetric(rng, 40, 50) for _ in range(5)], symmetric(rng, 40, 50)
    together = permuted_means(similarities, distance, permutations=99, seed=1)
    alone = [permuted_means([one], distance, permutations=99, seed=1)[0] for one in similarities]
    np.testing.assert_array_equal(together, alone)


def test_a_constant_matrix_has_no_tau_and_no_matrices_give_no_rows() -> None:
    distance = symmetric(np.random.default_rng(1), 6, 20)
    assert np.isnan(permuted_means([np.ones((6, 6))], distance, permutations=19, seed=0)).all()
    assert permuted_means([], distance, permutations=19, seed=0).shape == (0, 19)
    assert np.isnan(permuted_means([np.eye(2)], np.eye(2), permutations=19, seed=0)).all()

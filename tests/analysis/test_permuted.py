"""Floors of τ: many matrices at once equal one at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapwa.analysis import permuted
from kapwa.analysis.permuted import permuted_means
from kapwa.stats.ranks import permuted_taus


def symmetric(rng: np.random.Generator, m: int, levels: int) -> np.ndarray:
    matrix = rng.integers(0, levels, (m, m)).astype(float)
    return matrix + matrix.T


def plain(similarities: list[np.ndarray], distance: np.ndarray, permutations: int, seed: int) -> np.ndarray:
    return np.array([permuted_taus(one, distance, permutations=permutations, seed=seed).draws for one in similarities])


@settings(max_examples=25)
@given(
    m=st.integers(3, 14),
    levels=st.integers(2, 40),
    seed=st.integers(0, 10_000),
    blocks=st.sampled_from([50, 10**6]),
    kept=st.sampled_from([0, 10**8]),
)
def test_a_matrix_product_gives_what_ranking_anew_gives(m: int, levels: int, seed: int, blocks: int, kept: int) -> None:
    rng = np.random.default_rng(seed)
    similarities = [symmetric(rng, m, levels) for _ in range(3)]
    distance = symmetric(rng, m, levels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(permuted, "_BLOCK", blocks)
        patch.setattr(permuted, "_KEPT", kept)
        permuted._permuted.cache_clear()
        found = permuted_means(similarities, distance, permutations=19, seed=seed)
    wanted = plain(similarities, distance, 19, seed)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_a_few_unknown_pairs_move_the_floor_by_next_to_nothing() -> None:
    rng = np.random.default_rng(5)
    similarities, distance = [rng.random((30, 30)) for _ in range(2)], rng.random((30, 30))
    similarities, distance = [one + one.T for one in similarities], distance + distance.T
    distance[2, 5] = distance[5, 2] = distance[2, 9] = distance[9, 2] = np.nan
    similarities[1][:, 7] = similarities[1][7, :] = np.nan
    found = permuted_means(similarities, distance, permutations=39, seed=1)
    # With identity 7 unknown, permuted_taus permutes the others only, so draws differ; their spread must not.
    np.testing.assert_allclose(found[0], plain(similarities[:1], distance, 39, 1)[0], atol=1e-3)
    alone = plain(similarities[1:], distance, 39, 1)[0]
    assert found[1].std() == pytest.approx(alone.std(), rel=0.5)


def test_a_constant_matrix_has_no_tau_and_no_matrices_give_no_rows() -> None:
    distance = symmetric(np.random.default_rng(1), 6, 20)
    assert np.isnan(permuted_means([np.ones((6, 6))], distance, permutations=19, seed=0)).all()
    assert permuted_means([], distance, permutations=19, seed=0).shape == (0, 19)
    assert np.isnan(permuted_means([np.eye(2)], np.eye(2), permutations=19, seed=0)).all()

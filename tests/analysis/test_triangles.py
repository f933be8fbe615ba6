"""Triangles of symmetric matrices, and running means of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kapwa.analysis.triangles import Means, places_between, positions, square


@given(st.integers(2, 12), st.data())
def test_pairs_of_some_are_found_among_pairs_of_all(size: int, data: st.DataObject) -> None:
    members = np.array(sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=2))))
    matrix = np.add.outer(np.arange(size) * 100.0, np.arange(size))
    matrix = np.minimum(matrix, matrix.T)
    triangle = matrix[np.triu_indices(size, 1)]
    wanted = matrix[np.ix_(members, members)][np.triu_indices(len(members), 1)]
    np.testing.assert_array_equal(triangle[positions(members, size)], wanted)
    whole = square(triangle, size)
    np.testing.assert_array_equal(whole[~np.eye(size, dtype=bool)], matrix[~np.eye(size, dtype=bool)])
    assert np.isnan(np.diagonal(whole)).all()


def test_means_are_over_the_concepts_that_know_a_pair() -> None:
    means, other = Means.of(2, 3), Means.of(2, 3)
    means.add([np.array([1.0, 2.0, np.nan]), np.array([10.0, 20.0, 30.0])], np.arange(3))
    other.add([np.array([5.0]), np.array([7.0])], np.array([0, 2]))
    means.merge(other)
    np.testing.assert_array_equal(means.triangle(0), [1.0, 3.5, np.nan])
    np.testing.assert_array_equal(means.triangle(1), [10.0, 13.5, np.nan])
    assert means.matrix(0)[2, 0] == 3.5


@given(st.integers(2, 12), st.data())
def test_pairs_in_any_order_are_found_as_in_the_whole_matrix(size: int, data: st.DataObject) -> None:
    chosen = np.array(data.draw(st.lists(st.integers(-1, size - 1), min_size=1, max_size=8)))
    triangle = np.random.default_rng(size).random(size * (size - 1) // 2)
    wanted = square(triangle, size)[np.ix_(chosen, chosen)]
    wanted[chosen < 0] = wanted[:, chosen < 0] = np.nan
    places = places_between(chosen, size)
    np.testing.assert_array_equal(np.where(places < 0, np.nan, triangle[places]), wanted)

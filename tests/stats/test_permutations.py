"""Seeded relabelling: the same orders in any block size, uniform, and p-values that are never zero."""

from __future__ import annotations

import numpy as np
import pytest

from kapwa.errors import UsageError
from kapwa.stats.resampling import at_least, check_permutations, monte_carlo_p, permuted_orders


def test_orders_do_not_depend_on_the_blocks() -> None:
    whole = np.concatenate(list(permuted_orders(30, 500, seed=3, values_each=30)))
    blocks = list(permuted_orders(30, 500, seed=3, values_each=100_000))
    assert len(blocks) == 500
    assert whole.tolist() == np.concatenate(blocks).tolist()
    assert (np.sort(whole, axis=1) == np.arange(30)).all()
    other = np.concatenate(list(permuted_orders(30, 500, seed=4, values_each=30)))
    assert whole.tolist() != other.tolist()


def test_every_thing_comes_to_every_place_equally_often() -> None:
    orders = np.concatenate(list(permuted_orders(4, 24_000, seed=1, values_each=4)))
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert counts.size == 24
    # Binomial with mean 1000 and standard deviation 31: five of them either side.
    assert (np.abs(counts - 1000) < 155).all()


def test_ties_count_as_hits_and_p_is_never_zero() -> None:
    draws = np.array([0.1, 0.3, 0.3 - 1e-15, 0.5])
    assert at_least(draws, 0.3) == 3
    assert at_least(draws, 0.6) == 0
    assert monte_carlo_p(0, 999) == 0.001
    assert monte_carlo_p(999, 999) == 1.0


def test_too_few_permutations_are_refused() -> None:
    check_permutations(19)
    with pytest.raises(UsageError, match="At least 19 permutations"):
        check_permutations(18)

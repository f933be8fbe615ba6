"""Kendall's τ-b by rows: against scipy and against counting every pair."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from kapwa.stats.kendall import dense_ranks, exact_p, tau_rows

small = st.integers(-3, 3).map(float)
pytestmark = pytest.mark.filterwarnings("ignore:One or more sample arguments is too small")
cells = st.one_of(small, st.just(math.nan))


def rows_of(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    found = tau_rows(dense_ranks(x, ~np.isnan(x)), dense_ranks(y, ~np.isnan(y)))
    return found.tau, found.p, found.n


def plain_tau(x: np.ndarray, y: np.ndarray) -> float:
    """Every pair, one after the other."""
    surplus = x_free = y_free = 0
    for (a, b), (c, d) in itertools.combinations(zip(x, y, strict=True), 2):
        surplus += int(np.sign(a - c) * np.sign(b - d))
        x_free += a != c
        y_free += b != d
    return surplus / math.sqrt(x_free * y_free) if x_free and y_free else math.nan


@given(st.integers(1, 5).flatmap(lambda r: st.integers(2, 12).map(lambda m: (r, m))), st.data())
def test_ties_and_gaps_equal_counting_and_scipy(shape: tuple[int, int], data: st.DataObject) -> None:
    x = data.draw(hnp.arrays(float, shape, elements=cells))
    y = data.draw(hnp.arrays(float, shape, elements=cells))
    taus, p_values, counts = rows_of(x, y)
    for tau, p, n, first, second in zip(taus, p_values, counts, x, y, strict=True):
        known = ~(np.isnan(first) | np.isnan(second))
        theirs = stats.kendalltau(first[known], second[known])
        assert n == known.sum()
        assert tau == pytest.approx(plain_tau(first[known], second[known]), abs=1e-12, nan_ok=True)
        assert tau == pytest.approx(float(theirs.statistic), abs=1e-12, nan_ok=True)
        assert p == pytest.approx(float(theirs.pvalue), rel=1e-9, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("n", [2, 3, 17, 33, 34, 64, 65, 257, 400])
def test_untied_rows_equal_scipy_at_every_size(n: int) -> None:
    rng = np.random.default_rng(n)
    x = rng.normal(size=(6, n))
    y = np.stack([rng.normal(size=n), x[1], -x[2], x[3] + rng.normal(size=n), np.round(x[4], 1), x[5]])
    y[5, [0, -1]] = y[5, [-1, 0]]
    taus, p_values, _ = rows_of(x, y)
    for tau, p, first, second in zip(taus, p_values, x, y, strict=True):
        theirs = stats.kendalltau(first, second)
        assert (tau, p) == pytest.approx((float(theirs.statistic), float(theirs.pvalue)), rel=1e-9, abs=1e-300)


def test_one_swapped_pair_has_an_exact_p_also_among_many() -> None:
    x = np.arange(40.0)
    y = x.copy()
    y[[20, 21]] = y[[21, 20]]
    p = rows_of(x[None], y[None])[1][0]
    assert p == pytest.approx(float(stats.kendalltau(x, y).pvalue), rel=1e-9, abs=0)
    assert exact_p(4, 0) == pytest.approx(2 / 24)
    assert exact_p(4, 1) == pytest.approx(2 * 4 / 24)
    assert exact_p(4, 3) == 1.0

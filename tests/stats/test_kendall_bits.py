"""Rankings held against each other as bits say what counting pairs one by one says, with numba and without."""

from __future__ import annotations

import sys
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kapwa.stats
from kapwa.stats import kendall_bits as module
from kapwa.stats.kendall_bits import Agreement, agreement, pair_bits

Ranks = np.ndarray


def plain(x: Ranks, y: Ranks, x_known: Ranks, y_known: Ranks) -> tuple[int, int, int]:
    """The slow twin, of one ranking and another: surplus, and pairs untied in the first and in the second."""
    both = [pair for pair in combinations(range(len(x)), 2) if all(x_known[list(pair)] & y_known[list(pair)])]
    ours = [int(np.sign(int(x[j]) - int(x[k]))) for j, k in both]
    theirs = [int(np.sign(int(y[j]) - int(y[k]))) for j, k in both]
    return sum(a * b for a, b in zip(ours, theirs, strict=True)), sum(map(abs, ours)), sum(map(abs, theirs))


@st.composite
def rankings(draw: st.DrawFn, *, gaps: bool) -> tuple[Ranks, Ranks, Ranks, Ranks]:
    """Two sets of rankings of m things in two blocks, with ties, and what is known; without gaps all lack thing 0."""
    m, levels = draw(st.integers(2, 70)), draw(st.integers(1, 70))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    x, y = (rng.integers(0, min(m, levels), (2, rows, m)).astype(np.int16) for rows in (3, 4))
    share = draw(st.sampled_from([0.0, 0.2, 0.9])) if gaps else 0.0
    known = [rng.random(one.shape) >= share for one in (x, y)]
    for one in known:
        one[..., 0] &= gaps
    return x, y, known[0], known[1]


def check(found: Agreement, x: Ranks, y: Ranks, x_known: Ranks, y_known: Ranks) -> None:
    surplus, x_free, y_free = (np.broadcast_to(one, (2, 3, 4)) for one in found)
    tau = found.tau()
    for a, r, s in np.ndindex(2, 3, 4):
        wanted = plain(x[a, r], y[a, s], x_known[a, r], y_known[a, s])
        assert (surplus[a, r, s], x_free[a, r, s], y_free[a, r, s]) == wanted
        scale = np.sqrt(wanted[1] * wanted[2])
        assert np.isnan(tau[a, r, s]) if scale == 0 else tau[a, r, s] == pytest.approx(wanted[0] / scale, abs=1e-15)


@pytest.mark.parametrize("kernel", ["numpy", "numba"])
@pytest.mark.parametrize("gaps", [False, True])
def test_bits_count_what_pairs_count(kernel: str, gaps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if kernel == "numba":
        pytest.importorskip("numba")
    monkeypatch.setattr(module, "_WORTH_LOADING", 0 if kernel == "numba" else 1 << 60)

    @settings(max_examples=40, deadline=None)
    @given(rankings(gaps=gaps))
    def holds(drawn: tuple[Ranks, Ranks, Ranks, Ranks]) -> None:
        x, y, x_known, y_known = drawn
        found = agreement(pair_bits(x, x_known, gaps=gaps), pair_bits(y, y_known, gaps=gaps))
        check(found, *drawn)

    holds()


def test_gaps_of_one_side_alone_are_left_out_of_both() -> None:
    rng = np.random.default_rng(4)
    x, y = (rng.integers(0, 9, (2, rows, 9)).astype(np.int16) for rows in (3, 4))
    x_known, y_known = rng.random(x.shape) > 0.3, np.ones(y.shape, dtype=bool)
    x_known[..., 0] = y_known[..., 0] = False
    found = agreement(pair_bits(x, x_known, gaps=True), pair_bits(y, y_known, gaps=False))
    check(found, x, y, x_known, y_known)


def test_without_numba_the_counts_are_made_by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "kapwa.stats.kendall_numba", raising=False)
    monkeypatch.delattr(kapwa.stats, "kendall_numba", raising=False)
    monkeypatch.setattr(module, "_WORTH_LOADING", 0)
    module._kernels.cache_clear()
    try:
        ranks = np.arange(5, dtype=np.int16)[None, None]
        one = pair_bits(ranks, np.ones(ranks.shape, dtype=bool), gaps=False)
        assert module._kernels() is None
        assert agreement(one, one).tau().tolist() == [[[1.0]]]
    finally:
        module._kernels.cache_clear()

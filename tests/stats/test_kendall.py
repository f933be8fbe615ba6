"""Kendall's τ-b: by rows, as bits, per anchor and by chance, against scipy, plain twins and the released code."""

import itertools
import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

import kapwa.stats
from kapwa.errors import UsageError
from kapwa.stats import kendall, kendall_bits
from kapwa.stats.kendall import (
    anchor_taus,
    anchor_taus_reference,
    dense_ranks,
    permuted_means,
    prepare_anchors,
    tau_rows,
)
from kapwa.stats.kendall_bits import Agreement, agreement, pair_bits
from kapwa.stats.resampling import permuted_orders

Ranks = np.ndarray
NAMES = ("Chadian", "Beninese", "Zambian", "Omani", "Amharic", "Fijian", "omani", "Élan", "Danish")
small = st.integers(-3, 3).map(float)
cells = st.one_of(small, st.just(math.nan))
pytestmark = pytest.mark.filterwarnings("ignore:One or more sample arguments is too small")


def symmetric(rng: np.random.Generator, m: int, levels: int | None = None) -> np.ndarray:
    """A symmetric matrix of random numbers, few distinct ones when ``levels`` says so."""
    values = rng.normal(size=(m, m)) if levels is None else rng.integers(0, levels, (m, m)).astype(float)
    return values + values.T


def rows_of(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    found = tau_rows(dense_ranks(x, ~np.isnan(x)), dense_ranks(y, ~np.isnan(y)))
    return found.tau, found.p, found.n


@given(st.integers(1, 5).flatmap(lambda r: st.integers(2, 12).map(lambda m: (r, m))), st.data())
def test_ties_and_gaps_equal_scipy(shape: tuple[int, int], data: st.DataObject) -> None:
    x = data.draw(hnp.arrays(float, shape, elements=cells))
    y = data.draw(hnp.arrays(float, shape, elements=cells))
    taus, p_values, counts = rows_of(x, y)
    for tau, p, n, first, second in zip(taus, p_values, counts, x, y, strict=True):
        known = ~(np.isnan(first) | np.isnan(second))
        theirs = stats.kendalltau(first[known], second[known])
        assert n == known.sum()
        assert tau == pytest.approx(float(theirs.statistic), abs=1e-12, nan_ok=True)
        assert p == pytest.approx(float(theirs.pvalue), rel=1e-9, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("n", [2, 3, 17, 33, 34, 64, 65, 257, 400])
def test_untied_rows_equal_scipy_at_every_size(n: int) -> None:
    rng = np.random.default_rng(n)
    x = np.stack([*rng.normal(size=(6, n)), np.arange(n)])
    y = np.stack([rng.normal(size=n), x[1], -x[2], x[3] + rng.normal(size=n), np.round(x[4], 1), x[5], x[6]])
    y[5, [0, -1]] = y[5, [-1, 0]]
    y[6, [0, 1]] = 1, 0  # one swapped pair has an exact p also among many
    taus, p_values, _ = rows_of(x, y)
    for tau, p, first, second in zip(taus, p_values, x, y, strict=True):
        theirs = stats.kendalltau(first, second)
        assert (tau, p) == pytest.approx((float(theirs.statistic), float(theirs.pvalue)), rel=1e-9, abs=1e-300)


def plain_counts(x: Ranks, y: Ranks, x_known: Ranks, y_known: Ranks) -> tuple[int, int, int]:
    """The slow twin, of one ranking and another: surplus, and pairs untied in the first and in the second."""
    both = [pair for pair in itertools.combinations(range(len(x)), 2) if all(x_known[list(pair)] & y_known[list(pair)])]
    ours = [int(np.sign(int(x[j]) - int(x[k]))) for j, k in both]
    theirs = [int(np.sign(int(y[j]) - int(y[k]))) for j, k in both]
    return sum(a * b for a, b in zip(ours, theirs, strict=True)), sum(map(abs, ours)), sum(map(abs, theirs))


@st.composite
def rankings(draw: st.DrawFn, *, gaps: tuple[bool, bool]) -> tuple[Ranks, Ranks, Ranks, Ranks]:
    """Two sets of rankings of m things in two blocks, with ties, and what is known; all lack thing 0."""
    m, levels = draw(st.integers(2, 40)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    x, y = (rng.integers(0, min(m, levels), (2, rows, m)).astype(np.int16) for rows in (3, 4))
    share = draw(st.sampled_from([0.0, 0.2, 0.9]))
    x_known, y_known = (rng.random(one.shape) >= share * gap for one, gap in zip((x, y), gaps, strict=True))
    x_known[..., 0] = y_known[..., 0] = False
    return x, y, x_known, y_known


def check(found: Agreement, x: Ranks, y: Ranks, x_known: Ranks, y_known: Ranks) -> None:
    surplus, x_free, y_free = (np.broadcast_to(one, (2, 3, 4)) for one in found)
    tau = found.tau()
    for a, r, s in np.ndindex(2, 3, 4):
        wanted = plain_counts(x[a, r], y[a, s], x_known[a, r], y_known[a, s])
        assert (surplus[a, r, s], x_free[a, r, s], y_free[a, r, s]) == wanted
        scale = np.sqrt(wanted[1] * wanted[2])
        assert np.isnan(tau[a, r, s]) if scale == 0 else tau[a, r, s] == pytest.approx(wanted[0] / scale, abs=1e-15)


@pytest.mark.parametrize("kernel", ["numpy", "numba"])
@pytest.mark.parametrize("gaps", [(False, False), (True, True), (True, False)])
def test_bits_count_what_pairs_count(kernel: str, gaps: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    if kernel == "numba":
        pytest.importorskip("numba")
    monkeypatch.setattr(kendall_bits, "_WORTH_LOADING", 0 if kernel == "numba" else 1 << 60)

    @settings(max_examples=15)  # of 24 pairs of rankings each
    @given(rankings(gaps=gaps))
    def holds(drawn: tuple[Ranks, Ranks, Ranks, Ranks]) -> None:
        x, y, x_known, y_known = drawn
        found = agreement(pair_bits(x, x_known, gaps=gaps[0]), pair_bits(y, y_known, gaps=gaps[1]))
        check(found, *drawn)

    holds()


def test_without_numba_the_counts_are_made_by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "kapwa.stats.kendall_numba", raising=False)
    monkeypatch.delattr(kapwa.stats, "kendall_numba", raising=False)
    monkeypatch.setattr(kendall_bits, "_WORTH_LOADING", 0)
    kendall_bits._kernels.cache_clear()
    try:
        ranks = np.arange(5, dtype=np.int16)[None, None]
        one = pair_bits(ranks, np.ones(ranks.shape, dtype=bool), gaps=False)
        assert kendall_bits._kernels() is None
        assert agreement(one, one).tau().tolist() == [[[1.0]]]
    finally:
        kendall_bits._kernels.cache_clear()


def released(similarity: np.ndarray, distance: np.ndarray, names: list[str], measure: str) -> list[float]:
    """The released procedure with dictionaries and lists, τ-c of alphabetical places by scipy."""
    place = {name: rank for rank, name in enumerate(sorted(names))}
    taus = []
    for anchor in range(len(names)):
        others = [k for k in range(len(names)) if k != anchor and not np.isnan(distance[anchor, k])]
        by_distance = sorted(others, key=lambda k: distance[anchor, k], reverse=measure == "bleu")
        alphabetical = sorted(others, key=lambda k: names[k])
        by_text = [k for k in alphabetical if not np.isnan(similarity[anchor, k])]
        by_text.sort(key=lambda k: similarity[anchor, k])
        by_distance = [k for k in by_distance if k in by_text]
        first = [place[names[k]] for k in by_distance][1:]
        second = [place[names[k]] for k in by_text][1:]
        taus.append(float(stats.kendalltau(first, second, variant="c").statistic))
    return taus


def test_the_papers_worked_example() -> None:
    """Appendix B, four nationalities, anchor A: by similarity [B, D, C], by reversed distance [D, C, B]."""
    similarity, distance = np.full((4, 4), np.nan), np.full((4, 4), np.nan)
    a, b, c, d = range(4)
    similarity[a, [b, d, c]] = 0.1, 0.2, 0.3
    distance[a, [d, c, b]] = 3.0, 2.0, 1.0
    ours = anchor_taus(similarity, distance)
    assert ours.tau[0] == pytest.approx(-1 / 3, abs=1e-15)
    assert ours.n.tolist() == [3, 0, 0, 0]
    assert np.isnan(ours.tau[1:]).all()
    assert ours.mean == pytest.approx(-1 / 3)
    # Released: B and D are dropped, and [D, C] against [C, B] fall in the alphabet both: perfect agreement.
    theirs = anchor_taus_reference(similarity, distance, "ABCD")
    assert theirs.tau[0] == 1.0
    assert theirs.n[0] == 2
    assert released(similarity, distance, list("ABCD"), "bleu")[0] == 1.0


@pytest.mark.parametrize("three_tenths", [0.3, 0.1 + 0.2])
def test_eight_identities_by_hand(three_tenths: float) -> None:
    """Equal word edit distances stay equal though their sums end in other digits; docs/fidelity.md tells the same.

    Anchor A. By texts H, B = C, E, D, G, F; by values B, C = D, E, G, F, H. Of 21 pairs BC and CD are tied; H against
    the six others and DE disagree, 12 agree: (12 − 7) / √(20 · 20). Released: of [C, D, E, G, F, H] and
    [B, C, E, D, G, F], place by place, 12 of 15 pairs agree.
    """
    edits, distance = np.full((8, 8), np.nan), np.full((8, 8), np.nan)
    edits[0, 1:] = three_tenths, 0.3, 0.5, 0.4, 0.7, 0.6, 0.1
    distance[0, 1:] = 1, 2, 2, 3, 5, 4, 6
    assert anchor_taus(-edits, distance).tau[0] == pytest.approx(5 / 20)
    assert anchor_taus_reference(edits, distance, "ABCDEFGH", measure="wed").tau[0] == pytest.approx(9 / 15)
    # In a file that has D before C the released code puts D before C: [D, C, E, G, F, H].
    order = [0, 1, 3, 2, 4, 5, 6, 7]
    theirs = anchor_taus_reference(edits, distance, "ABCDEFGH", measure="wed", values_order=order)
    assert theirs.tau[0] == pytest.approx(7 / 15)


@pytest.mark.parametrize("levels", [None, 4])
@pytest.mark.parametrize("m", [3, 9, 60])
def test_anchors_equal_scipy_one_by_one(m: int, levels: int | None) -> None:
    rng = np.random.default_rng(m)
    similarity, distance = rng.normal(size=(m, m)), symmetric(rng, m, levels)
    distance[0, m // 2] = distance[m // 2, 0] = similarity[1, 0] = np.nan
    ours = anchor_taus(similarity, distance)
    prepared = anchor_taus(similarity, prepare_anchors(distance))
    for a in range(m):
        known = (np.arange(m) != a) & ~np.isnan(similarity[a]) & ~np.isnan(distance[a])
        theirs = stats.kendalltau(similarity[a, known], -distance[a, known])
        assert ours.n[a] == known.sum()
        assert ours.tau[a] == pytest.approx(float(theirs.statistic), abs=1e-12, nan_ok=True)
        assert ours.p[a] == pytest.approx(float(theirs.pvalue), rel=1e-9, abs=0, nan_ok=True)
    for field in ("tau", "p", "n"):
        np.testing.assert_array_equal(getattr(ours, field), getattr(prepared, field))


@given(st.integers(0, 2**32), st.sampled_from(["bleu", "wed"]), st.booleans())
def test_reference_equals_the_released_procedure(seed: int, measure: str, missing: bool) -> None:
    rng = np.random.default_rng(seed)
    names = [NAMES[k] for k in rng.permutation(len(NAMES))]
    m = len(names)
    similarity, distance = symmetric(rng, m, 6), symmetric(rng, m, 6)
    if missing:
        distance[2, 5] = distance[5, 2] = similarity[0, 1] = similarity[1, 0] = np.nan
    ours = anchor_taus_reference(similarity, distance, names, measure=measure)
    assert ours.tau == pytest.approx(released(similarity, distance, names, measure), abs=1e-12)
    # The values file may list the countries in another order, which decides ties of distance.
    order = rng.permutation(m)
    moved = np.argsort(order)
    theirs = released(
        similarity[np.ix_(moved, moved)], distance[np.ix_(moved, moved)], [names[k] for k in moved], measure
    )
    ours = anchor_taus_reference(similarity, distance, names, measure=measure, values_order=order)
    assert ours.tau[moved] == pytest.approx(theirs, abs=1e-12)


def test_reference_calls_equal_rankings_equal_and_nearly_equal_ones_unrelated() -> None:
    rng = np.random.default_rng(0)
    m = 60
    distance = symmetric(rng, m) + 4
    names = [f"{k:02d}" for k in rng.permutation(m)]
    # Every value gets its own distance, so that each ranking is strict.
    assert anchor_taus(-distance, distance).tau.tolist() == [1.0] * m
    assert anchor_taus_reference(-distance, distance, names).tau.tolist() == [1.0] * m
    nearly = -distance + 0.15 * symmetric(rng, m)
    assert anchor_taus(nearly, distance).mean > 0.85
    assert anchor_taus_reference(nearly, distance, names).mean < 0.2


@pytest.mark.parametrize(
    ("similarity", "distance", "message"),
    [
        (np.ones((3, 2)), np.ones((3, 3)), "square"),
        (np.ones((3, 3)), np.full((3, 3), np.inf), "infinite"),
        (np.ones((3, 3)), np.ones((4, 4)), "of 3 countries but distances of 4"),
        (np.ones((3, 3)), np.ones((3, 3)), "3 distinct names"),
    ],
)
def test_bad_input_is_refused(similarity: np.ndarray, distance: np.ndarray, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        anchor_taus_reference(similarity, distance, ["A", "B", "A"])


def one_by_one(similarity: np.ndarray, distance: np.ndarray, permutations: int, seed: int) -> np.ndarray:
    """The slow twin: every anchor compared anew over the neighbours known in both."""
    m = len(distance)
    (orders,) = permuted_orders(m, permutations, seed=seed, values_each=1)
    return np.array([anchor_taus(similarity, distance[np.ix_(order, order)]).mean for order in orders])


@settings(max_examples=40)
@given(
    m=st.integers(3, 14),
    levels=st.integers(2, 40),
    seed=st.integers(0, 10_000),
    blocks=st.sampled_from([50, 10**7]),
    cached=st.sampled_from([0, 10**8]),
    share=st.sampled_from([0.05, 0.4]),
    gaps=st.sampled_from(["none", "texts", "values", "both"]),
)
def test_bits_give_what_ranking_anew_gives(
    m: int, levels: int, seed: int, blocks: int, cached: int, share: float, gaps: str
) -> None:
    """Unknown pairs are left out of every comparison."""
    rng = np.random.default_rng(seed)
    similarities = [symmetric(rng, m, levels) for _ in range(3)]
    distance = symmetric(rng, m, levels)
    for matrix in [similarities[1]] * (gaps in ("texts", "both")) + [distance] * (gaps in ("values", "both")):
        unknown = np.triu(rng.random((m, m)) < share)
        matrix[unknown | unknown.T] = np.nan
    if gaps != "none":
        similarities[2][0] = similarities[2][:, 0] = np.nan  # an identity that a concept lacks
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kendall, "_BLOCK", blocks)
        patch.setattr(kendall, "_CACHE_BYTES", cached)
        kendall._permuted.cache_clear()
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

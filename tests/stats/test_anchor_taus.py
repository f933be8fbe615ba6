"""τ per anchor: the paper's worked example, scipy anchor by anchor, the released code, and the floor."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kapwa.errors import UsageError
from kapwa.stats.kendall import anchor_taus, anchor_taus_reference, permuted_means, prepare_anchors

pytestmark = pytest.mark.filterwarnings("ignore:One or more sample arguments is too small")
NAMES = ("Chadian", "Beninese", "Zambian", "Omani", "Amharic", "Fijian", "omani", "Élan", "Danish")


def symmetric(rng: np.random.Generator, m: int, *, levels: int | None = None) -> np.ndarray:
    """A symmetric matrix of random numbers, few distinct ones when ``levels`` says so."""
    values = rng.normal(size=(m, m)) if levels is None else rng.integers(1, levels + 1, (m, m)).astype(float)
    return np.tril(values, -1) + np.tril(values, -1).T


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


def worked_example() -> tuple[np.ndarray, np.ndarray]:
    """Appendix B, four nationalities, anchor A: by similarity [B, D, C], by reversed distance [D, C, B]."""
    similarity, distance = np.full((4, 4), np.nan), np.full((4, 4), np.nan)
    a, b, c, d = range(4)
    similarity[a, [b, d, c]] = 0.1, 0.2, 0.3
    distance[a, [d, c, b]] = 3.0, 2.0, 1.0
    return similarity, distance


def test_the_papers_worked_example() -> None:
    similarity, distance = worked_example()
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


@pytest.mark.parametrize("levels", [None, 4])
@pytest.mark.parametrize("m", [3, 9, 60])
def test_anchors_equal_scipy_one_by_one(m: int, levels: int | None) -> None:
    rng = np.random.default_rng(m)
    similarity, distance = rng.normal(size=(m, m)), symmetric(rng, m, levels=levels)
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
    similarity, distance = symmetric(rng, m, levels=6), symmetric(rng, m, levels=6)
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


def test_all_relabellings_of_four_countries_average_to_their_exact_mean() -> None:
    rng = np.random.default_rng(3)
    distance, similarity = symmetric(rng, 4), symmetric(rng, 4)
    every = [anchor_taus(similarity, distance[np.ix_(order, order)]).mean for order in itertools.permutations(range(4))]
    draws = permuted_means([similarity], distance, permutations=4000, seed=1)
    assert set(np.round(draws[0], 9)) == set(np.round(every, 9))
    assert draws.mean() == pytest.approx(np.mean(every), abs=5 * np.std(every) / 4000**0.5)


def test_bad_input_is_refused() -> None:
    ok = np.ones((3, 3))
    with pytest.raises(UsageError, match="square"):
        anchor_taus(np.ones((3, 2)), ok)
    with pytest.raises(UsageError, match="infinite"):
        prepare_anchors(np.full((3, 3), np.inf))
    with pytest.raises(UsageError, match="of 3 countries but distances of 4"):
        anchor_taus(ok, np.ones((4, 4)))
    with pytest.raises(UsageError, match="3 distinct names"):
        anchor_taus_reference(ok, ok, ["A", "B", "A"])

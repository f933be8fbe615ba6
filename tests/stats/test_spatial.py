"""Maps as smooth as a given one: the slow twin is Moran spectral randomisation's definition (Wagner, Dray 2015)."""

import numpy as np
import pytest
from benchmarks.simulations import space
from scipy import stats

from kapwa.analysis.values.controls import geographic_distance
from kapwa.stats.kendall import Draws, anchor_taus, drawn_means, jackknife, without_some
from kapwa.stats.mantel import mantel
from kapwa.stats.spatial import _patterns, _turns, moran_surrogates

PLACES = ["PHL", "JPN", "FRA", "DEU", "KEN", "NGA", "BRA", "CHL", "USA", "IND", "IDN", "EGY"]
KM = geographic_distance(PLACES)


def values(seed: int, m: int = 12, questions: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(m, questions))


def between(points: np.ndarray) -> np.ndarray:
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))


def test_surrogates_equal_values_turned_along_pairs_of_eigenvectors() -> None:
    """Each question by itself: take what lies along each eigenvector, turn pairs of these, put it together."""
    points = values(1)
    distance = between(points)
    centre = np.eye(12) - 1 / 12
    patterns, _ = _patterns(centre, -centre @ distance**2 @ centre / 2, KM)
    found = moran_surrogates(distance, KM, draws=3, seed=5)
    generator = np.random.default_rng(5)
    for one in found:
        turns = _turns(11, generator)
        moved = np.zeros_like(points)
        for question in range(points.shape[1]):
            amounts = [float(patterns[:, k] @ points[:, question]) for k in range(11)]
            turned = [sum(turns[k, j] * amounts[j] for j in range(11)) for k in range(11)]
            for k in range(11):
                moved[:, question] += turned[k] * patterns[:, k]
        expected = between(moved)
        np.fill_diagonal(expected, np.nan)
        assert one == pytest.approx(expected, nan_ok=True)


def test_eigenvectors_and_turns_are_what_they_are_called() -> None:
    centre = np.eye(12) - 1 / 12
    distance = between(values(2))
    patterns, along = _patterns(centre, -centre @ distance**2 @ centre / 2, KM)
    assert patterns.T @ patterns == pytest.approx(np.eye(11), abs=1e-9)
    assert patterns.sum(axis=0) == pytest.approx(np.zeros(11), abs=1e-9)
    assert np.trace(along) == pytest.approx((distance**2).sum() / 24)
    for size in (11, 12):
        turns = _turns(size, np.random.default_rng(1))
        assert turns @ turns.T == pytest.approx(np.eye(size))
        block = np.arange(size) // 2
        assert (turns[block[:, None] != block] == 0).all()


@pytest.mark.parametrize("apart", [1, 100])
def test_a_seed_gives_the_same_maps_on_a_processor_that_rounds_otherwise(
    apart: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eigenvectors point either way; a hundred times as far apart no country has neighbours, and any mixture is one."""
    distance, eigh = between(values(3)), np.linalg.eigh
    here = moran_surrogates(distance, KM * apart, draws=3, seed=5)

    def elsewhere(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        noise = np.random.default_rng(7).normal(scale=1e-14, size=matrix.shape)
        found, vectors = eigh(matrix + noise + noise.T)
        return found, vectors * np.random.default_rng(8).choice([-1.0, 1.0], len(matrix))

    monkeypatch.setattr(np.linalg, "eigh", elsewhere)
    assert moran_surrogates(distance, KM * apart, draws=3, seed=5) == pytest.approx(here, abs=1e-5, nan_ok=True)


def test_the_sum_of_squares_stays_and_what_is_unknown_stays_unknown() -> None:
    distance = between(values(3))
    whole = moran_surrogates(distance, KM, draws=4, seed=1)
    assert np.nansum(whole**2, axis=(1, 2)) == pytest.approx(np.full(4, (distance**2).sum()))
    distance[2, 7] = distance[7, 2] = np.nan
    some = moran_surrogates(distance, KM, draws=4, seed=1)
    assert (np.isnan(some) == (np.isnan(distance) | np.eye(12, dtype=bool))).all()
    assert some == pytest.approx(some.transpose(0, 2, 1), nan_ok=True)


def test_draws_give_the_mean_tau_of_each() -> None:
    similarities = [-between(values(seed)) for seed in (5, 6)]
    distances = np.stack([between(values(seed)) for seed in (7, 8, 9)])
    distances[1, 3, :] = distances[1, :, 3] = np.nan
    distances[2, 0, 4] = distances[2, 4, 0] = np.nan
    expected = [[anchor_taus(one, other).mean for other in distances] for one in similarities]
    assert drawn_means(similarities, Draws(distances)) == pytest.approx(np.array(expected))
    found = mantel(similarities[0], distances[0], permutations=19, draws=distances[[0, 2, 2]])
    other = mantel(similarities[0], distances[2], permutations=19).r
    assert found.p_drawn == (1 + 1 + 2 * (abs(other) >= abs(found.r))) / 4
    assert np.isnan(mantel(similarities[0], distances[0], permutations=19).p_drawn)


def test_the_jackknife_leaves_groups_of_countries_out() -> None:
    distance = between(values(1, m=9))
    left = without_some(distance, groups=20, seed=1)
    assert len(left) == 9
    assert sorted(int(np.flatnonzero(np.isnan(one).all(axis=1))[0]) for one in left) == list(range(9))
    left = without_some(distance, groups=4, seed=1)
    assert sorted(np.isnan(one).all(axis=1).sum() for one in left) == [2, 2, 2, 3]
    # Of a mean the jackknife is the usual interval.
    some = np.random.default_rng(2).normal(0, 0.1, 15)
    without = np.array([np.delete(some, k).mean() for k in range(15)])
    low, high = jackknife(float(some.mean()), without)
    expected = stats.t.interval(0.95, 14, some.mean(), some.std(ddof=1) / np.sqrt(15))
    assert (low, high) == pytest.approx(expected)
    for nothing in (np.array([0.3]), np.array([0.3, 0.3, 0.3]), np.empty(0), np.array([np.nan, 0.1])):
        assert np.isnan(jackknife(0.3, nothing)).all()


def test_unrelated_smooth_maps_are_seldom_called_a_finding() -> None:
    """Shuffled names call nearly all of them one; small version of benchmarks/simulations/space.py."""
    shuffled, smooth, partial, partial_smooth = space.unrelated(np.random.default_rng(3), 12, reach=2000.0)
    assert shuffled >= 60
    assert partial >= 30
    assert smooth <= 35
    assert partial_smooth <= 40

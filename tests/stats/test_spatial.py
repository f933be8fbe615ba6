"""Other maps as smooth and regional as a given one: the slow twin goes by the definition of restricted likelihood."""

import math

import numpy as np
import pytest
from benchmarks.simulations import space
from scipy import stats

from kapwa.languages.between_places import geographic_distance, other_region, shared_blocks
from kapwa.languages.places import branch_of, place_of
from kapwa.stats import spatial
from kapwa.stats.kendall import Draws, anchor_taus, drawn_means, jackknife, without_some
from kapwa.stats.mantel import mantel
from kapwa.stats.spatial import surrogate_maps

PLACES = ["PHL", "JPN", "FRA", "DEU", "KEN", "NGA", "BRA", "CHL", "USA", "IND", "IDN", "EGY"]
KM, REGIONS, BLOCKS = geographic_distance(PLACES), other_region(PLACES), shared_blocks(PLACES)


def values(seed: int, m: int = 12, questions: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(m, questions))


def between(points: np.ndarray) -> np.ndarray:
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))


def branches(languages: list) -> list[set[str]]:
    return [{branch_of(language) for language in one} for one in languages]


def covariance(reach: float, shares: np.ndarray) -> np.ndarray:
    """Between each two places, from the definitions."""
    matrix = np.empty((12, 12))
    for i in range(12):
        for j in range(12):
            near = 2 * 6371.0088 * math.sin(KM[i, j] / (2 * 6371.0088)) / reach
            matrix[i, j] = shares[0] * math.exp(-near)
            matrix[i, j] += shares[1] * (1 + math.sqrt(3) * near) * math.exp(-math.sqrt(3) * near)
            matrix[i, j] += shares[2] * (REGIONS[i, j] < 1) + shares[3] * (REGIONS[i, j] == 0) + (i == j)
            spoken = [place_of(code).languages for code in (PLACES[i], PLACES[j])]
            first = [set(one[:1]) for one in spoken]
            kinds = first, branches(first), [set(one) for one in spoken], branches(spoken)
            for share, (a, b) in zip(shares[4:], kinds, strict=True):
                matrix[i, j] += share * len(a & b) / math.sqrt(len(a) * len(b))
    return matrix


def restricted(matrix: np.ndarray, axis: np.ndarray) -> tuple[float, float]:
    """Restricted log-likelihood with the scale at its best, but for a constant; and the sum of squares yᵀPy."""
    inverse, one = np.linalg.inv(matrix), np.ones((len(axis), 1))
    left = one.T @ inverse @ one
    projection = inverse - inverse @ one @ np.linalg.inv(left) @ one.T @ inverse
    squares = float(axis @ projection @ axis)
    logs = np.linalg.slogdet(matrix)[1] + np.log(left.item()) + (len(axis) - 1) * np.log(squares)
    return float(-logs / 2), squares


def test_maps_equal_those_drawn_by_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spatial, "_TRIED", 15)
    distance, m = between(values(1)), 12
    found = surrogate_maps(distance, KM, BLOCKS, draws=3, seed=5)
    centre = np.eye(m) - 1 / m
    sizes, vectors = np.linalg.eigh(-centre @ distance**2 @ centre / 2)
    axes = [math.sqrt(size) * vector for size, vector in zip(sizes, vectors.T, strict=True) if size > 1e-6]
    assert len(axes) == 5
    generator = np.random.default_rng(5)
    reaches = [math.exp(x) for x in generator.uniform(math.log(200), math.log(8000), 15)]
    shares = np.exp(generator.uniform(-4, 4, (15, 8))) * (generator.random((15, 8)) < 0.5)
    matrices = [covariance(*both) for both in zip(reaches, shares, strict=True)]
    fits = [[restricted(matrix, axis) for matrix in matrices] for axis in axes]
    uniform, scale = generator.random((3, 5, 1))[:, :, 0], generator.chisquare(m - 1, (3, 5))
    normal = generator.normal(size=(3, 5, m))
    for k, one in enumerate(found):
        points = np.empty((m, 5))
        for axis in range(5):
            likely = np.exp([fit[0] for fit in fits[axis]])
            chosen = int(np.flatnonzero(np.cumsum(likely / likely.sum()) >= uniform[k, axis])[0])
            root = np.linalg.cholesky(matrices[chosen])
            points[:, axis] = math.sqrt(fits[axis][chosen][1] / scale[k, axis]) * root @ normal[k, axis]
        expected = between(points)
        np.fill_diagonal(expected, np.nan)
        assert one == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("field", [space.SHORT, space.LONG, space.SUBREGIONS, space.Field(noise=1.0)])
def test_maps_are_as_smooth_as_the_values(field: space.Field) -> None:
    """Squared distances between neighbours, as a share of all: about those of the values.

    How often that errs stands in benchmarks/simulations/space.py.
    """
    generator = np.random.default_rng(4)
    here, there = [], []
    for _ in range(3):
        world = space.World(generator)
        near = world.blocks["subregions"] == 1 if field == space.SUBREGIONS else world.kilometres < 1500
        np.fill_diagonal(near, val=False)
        squares = space.distances(world.drawn(generator, field, 6)) ** 2
        maps = surrogate_maps(np.sqrt(squares), world.kilometres, world.shared, draws=20, seed=3) ** 2
        here.append(squares[near].mean() / squares.mean())
        there.append(np.mean([one[near].mean() / np.nanmean(one) for one in maps]))
    assert -0.3 < np.mean(there) - np.mean(here) < 0.1


@pytest.mark.parametrize("apart", [1, 100])
def test_a_seed_gives_the_same_maps_on_a_processor_that_rounds_otherwise(
    apart: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eigenvectors point either way."""
    distance, eigh = between(values(3)), np.linalg.eigh
    here = surrogate_maps(distance, KM * apart, BLOCKS, draws=3, seed=5)

    def elsewhere(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        noise = np.random.default_rng(7).normal(scale=1e-14, size=matrix.shape)
        found, vectors = eigh(matrix + noise + noise.T)
        return found, vectors * np.random.default_rng(8).choice([-1.0, 1.0], len(matrix))

    monkeypatch.setattr(np.linalg, "eigh", elsewhere)
    assert surrogate_maps(distance, KM * apart, BLOCKS, draws=3, seed=5) == pytest.approx(here, abs=1e-5, nan_ok=True)


def test_what_is_unknown_stays_unknown() -> None:
    distance = between(values(3))
    distance[2, 7] = distance[7, 2] = np.nan
    some = surrogate_maps(distance, KM, BLOCKS, draws=4, seed=1)
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


@pytest.mark.parametrize("field", [space.LONG, space.SUBREGIONS])
def test_unrelated_maps_are_seldom_called_a_finding(field: space.Field) -> None:
    """Shuffled names call nearly all of them one; small version of benchmarks/simulations/space.py."""
    shuffled, other, partial, partial_other = space.unrelated(np.random.default_rng(3), 6, field, [field] * 6)
    assert shuffled >= 60
    assert partial >= 30
    assert max(other, partial_other) <= 34  # two of six at 5 %: more in 1 of 450


def test_texts_that_hold_values_are_called_a_finding() -> None:
    percent, tau = space.power(np.random.default_rng(5), 5, space.SHORT, 0.9)
    assert 0.35 < tau < 0.55
    assert percent >= 80

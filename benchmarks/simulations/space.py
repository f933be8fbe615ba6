"""Texts and values that are both smooth over the map but unrelated, and the interval over countries.

Values of 45 countries (their capitals) are Gaussian fields whose correlation falls with distance; texts are another
such field. τ is the mean over anchors, as in a report of one concept.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.simulations import Cell

from kapwa.analysis.values.controls import geographic_distance
from kapwa.languages.places import places
from kapwa.stats.kendall import Draws, anchor_taus, drawn_means, jackknife, permuted_means, without_some
from kapwa.stats.mantel import mantel
from kapwa.stats.spatial import moran_surrogates

COUNTRIES = 45
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def field(random: np.random.Generator, kilometres: Matrix, *, reach: float, power: float, questions: int) -> Matrix:
    """Distances between the values of a smooth field: correlation exp(−(distance/reach)^power), with 5% of noise."""
    covariance = np.exp(-((kilometres / reach) ** power)) + 0.05 * np.eye(len(kilometres))
    share, vectors = np.linalg.eigh(covariance)
    # The root that is symmetric is the only one of its kind; the vectors alone have other signs on another processor.
    root = vectors * np.sqrt(np.maximum(share, 0)) @ vectors.T
    drawn = root @ random.normal(size=(len(kilometres), questions))
    return distances(drawn)


def distances(points: Matrix) -> Matrix:
    """Root of the mean squared difference between rows."""
    return np.sqrt(((points[:, None] - points[None]) ** 2).mean(axis=2))


def unrelated(
    random: np.random.Generator, repeats: int, *, reach: float, power: float = 1.0
) -> tuple[float, float, float, float]:
    """Percent called a finding: τ by shuffled names and by smooth maps, partial Mantel given geography by both."""
    codes = [place.iso3 for place in places()]
    hits = np.zeros(4)
    for _ in range(repeats):
        kilometres = geographic_distance(random.choice(codes, COUNTRIES, replace=False).tolist())
        kilometres = (kilometres + kilometres.T) / 2
        texts = -field(random, kilometres, reach=reach, power=power, questions=40)
        values = field(random, kilometres, reach=reach, power=power, questions=6)
        seed = int(random.integers(1 << 30))
        smooth = moran_surrogates(values, kilometres, draws=99, seed=seed)
        tau = abs(anchor_taus(texts, values).mean)
        draws = permuted_means([texts], values, permutations=99, seed=seed), drawn_means([texts], Draws(smooth))
        found = mantel(texts, -values, [kilometres], permutations=99, seed=seed, draws=-smooth)
        ps = [(1 + (np.abs(draw) >= tau).sum()) / 100 for draw in draws]
        hits += np.array([*ps, found.p, found.p_drawn]) < 0.05 + 1e-9
    shuffled, smooth_tau, partial, partial_smooth = (100 * hits / repeats).tolist()
    return shuffled, smooth_tau, partial, partial_smooth


def coverage(random: np.random.Generator, repeats: int, countries: int) -> float:
    """Percent of intervals over countries that hold the τ of very many countries like these."""

    def drawn(many: int) -> tuple[Matrix, Matrix]:
        points = random.normal(size=(many, 6))
        return -distances(np.column_stack([points[:, :3], random.normal(size=(many, 3))])), distances(points)

    truth = np.mean([anchor_taus(*drawn(150)).mean for _ in range(40)])
    held = 0
    for _ in range(repeats):
        texts, values = drawn(countries)
        without = drawn_means([texts], Draws(without_some(values, groups=20, seed=1)))[0]
        low, high = jackknife(anchor_taus(texts, values).mean, without)
        held += low <= truth <= high
    return 100 * held / repeats


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Errors where texts and values have nothing to do with each other, and coverage of the interval over countries."""
    few = max(repeats // 4, 20)
    for reach, power in ((1500.0, 1.0), (1500.0, 2.0), (4000.0, 1.0), (4000.0, 2.0)):
        shape = "rough" if power == 1 else "smooth"
        setting = f"{COUNTRIES} countries, unrelated {shape} fields with a reach of {reach:,.0f} km"
        names = ("τ beyond shuffled names", "τ beyond smooth maps", "partial Mantel given geography")
        names += ("partial Mantel beyond smooth maps",)
        for name, percent in zip(names, unrelated(random, few, reach=reach, power=power), strict=True):
            yield Cell("space", name, setting, percent, few, 3, 6)
    for countries in (30, 60, 100):
        setting = f"{countries} independent countries, leaving out 20 groups"
        yield Cell("space", "τ, interval over countries", setting, coverage(random, few, countries), few, 93, 97)

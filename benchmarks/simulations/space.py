"""Texts and values that are both smooth over the map, or of one piece within regions, but unrelated; and power.

Values of 45 countries (their capitals) are Gaussian fields; texts are another such field. τ is the mean over anchors,
as in a report of one concept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from benchmarks.simulations import Cell

from kapwa.languages.between_places import geographic_distance, shared_blocks
from kapwa.languages.places import branch_of, places
from kapwa.stats.kendall import Draws, anchor_taus, drawn_means, jackknife, permuted_means, without_some
from kapwa.stats.mantel import mantel
from kapwa.stats.spatial import surrogate_maps

COUNTRIES = 45
DRAWS = 99
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]


class Field(NamedTuple):
    """Variance shared by ``blocks``, ``noise``, and a rest that is smooth with a reach (km, through the earth)."""

    reach: float = 1000.0
    blocks: str = ""
    in_blocks: float = 0.0
    noise: float = 0.1
    kind: str = "matern"


SHORT, LONG = Field(700.0), Field(3000.0)
REGIONS, SUBREGIONS, SEATS = (Field(0.0, name, 0.6, 0.4) for name in ("regions", "subregions", "seats"))
LANGUAGES, BRANCHES = (Field(0.0, name, 0.6, 0.4) for name in ("languages", "branches"))
BOTH = Field(2000.0, "subregions", 0.45)
# Texts that hold values: the field, and how much of the values is in texts for a mean τ of .2 and .3, or of .3 and .4
# where the fields alone give .2.
POWER = (
    (Field(noise=1.0), "values without neighbours", (0.56, 0.71)),
    (SHORT, "values with a short reach, 700 km", (0.51, 0.66)),
    (LONG, "values with a long reach, 3,000 km", (0.48, 0.67)),
    (REGIONS, "values of blocks", (0.47, 0.66)),
)
# What is simulated: the field of texts, and that of each question of the values.
UNRELATED = {
    "Matérn fields with a short reach, 700 km": (SHORT, [SHORT] * 6),
    "Matérn fields with a long reach, 3,000 km": (LONG, [LONG] * 6),
    "Matérn fields, 3,000 km, and values of six reaches, 400 to 4,000 km": (
        LONG,
        [Field(reach) for reach in (4000.0, 3000.0, 2000.0, 1000.0, 700.0, 400.0)],
    ),
    "fields of blocks, the 5 regions of M49, 60% of the variance": (REGIONS, [REGIONS] * 6),
    "fields of blocks, subregions of M49, 60% of the variance": (SUBREGIONS, [SUBREGIONS] * 6),
    "fields of blocks, first languages, 60% of the variance": (LANGUAGES, [LANGUAGES] * 6),
    "fields of blocks, branches of first languages, 60% of the variance": (BRANCHES, [BRANCHES] * 6),
    "fields of subregions and Matérn, 2,000 km": (BOTH, [BOTH] * 6),
    "fields of blocks, 8 neighbourhoods of no table, 60% of the variance": (SEATS, [SEATS] * 6),
    "exponential fields with a reach of 4,000 km": (
        Field(4000.0, kind="exponential"),
        [Field(4000.0, kind="exponential")] * 6,
    ),
    "Gaussian fields with a reach of 2,800 km": (Field(2800.0, kind="gaussian"), [Field(2800.0, kind="gaussian")] * 6),
}


class World:
    """Some countries: distances between them, and blocks of neighbours."""

    def __init__(self, random: np.random.Generator) -> None:
        chosen = random.choice(len(places()), COUNTRIES, replace=False).tolist()
        here = [places()[k] for k in chosen]
        codes = [place.iso3 for place in here]
        kilometres = geographic_distance(codes)
        self.kilometres, self.shared = (kilometres + kilometres.T) / 2, shared_blocks(codes)
        seats = np.argmin(self.kilometres[:, random.choice(COUNTRIES, 8, replace=False)], axis=1)
        kinds = {
            "regions": [place.region for place in here],
            "subregions": [place.subregion for place in here],
            "languages": [place.languages[0] for place in here],
            "branches": [branch_of(place.languages[0]) for place in here],
            "seats": seats.tolist(),
        }
        self.blocks = {name: np.equal.outer(*2 * (np.array(kind),)).astype(float) for name, kind in kinds.items()}

    def drawn(self, random: np.random.Generator, field: Field, questions: int) -> Matrix:
        """Values (45, questions) of a field of variance 1."""
        near = 12742.0 * np.sin(self.kilometres / 12742.0) / max(field.reach, 1.0)
        root3 = np.sqrt(3) * near
        kinds = {
            "exponential": np.exp(-near),
            "matern": (1 + root3) * np.exp(-root3),
            "gaussian": np.exp(-(near**2) / 2),
        }
        covariance = (1 - field.in_blocks - field.noise) * kinds[field.kind] + field.noise * np.eye(COUNTRIES)
        if field.blocks:
            covariance = covariance + field.in_blocks * self.blocks[field.blocks]
        share, vectors = np.linalg.eigh(covariance)
        # The root that is symmetric is the only one of its kind; the vectors alone have other signs elsewhere.
        root = vectors * np.sqrt(np.maximum(share, 0)) @ vectors.T
        return np.asarray(root @ random.normal(size=(COUNTRIES, questions)))


def distances(points: Matrix) -> Matrix:
    """Root of the mean squared difference between rows."""
    return np.sqrt(((points[:, None] - points[None]) ** 2).mean(axis=2))


def _p(draws: Matrix, value: float) -> float:
    return float((1 + (np.abs(draws) >= value).sum()) / (1 + draws.size))


def unrelated(random: np.random.Generator, repeats: int, texts: Field, values: list[Field]) -> list[float]:
    """Percent called a finding: τ by shuffled names and by other maps, partial Mantel given geography by both."""
    hits = np.zeros(4)
    for _ in range(repeats):
        world = World(random)
        alike = -distances(world.drawn(random, texts, 40))
        apart = distances(np.concatenate([world.drawn(random, field, 1) for field in values], axis=1))
        seed = int(random.integers(1 << 30))
        maps = surrogate_maps(apart, world.kilometres, world.shared, draws=DRAWS, seed=seed)
        tau = abs(anchor_taus(alike, apart).mean)
        shuffled = _p(permuted_means([alike], apart, permutations=DRAWS, seed=seed), tau)
        found = mantel(alike, -apart, [world.kilometres], permutations=DRAWS, seed=seed, draws=-maps)
        ps = [shuffled, _p(drawn_means([alike], Draws(maps)), tau), found.p, found.p_drawn]
        hits += np.array(ps) < 0.05 + 1e-9
    return [float(percent) for percent in 100 * hits / repeats]


def power(random: np.random.Generator, repeats: int, field: Field, weight: float) -> tuple[float, float]:
    """Percent of other maps beaten by texts that share values, which have ``weight`` in them, and the mean τ."""
    found, taus = 0, []
    for _ in range(repeats):
        world = World(random)
        values = world.drawn(random, field, 6)
        alike = -distances(np.column_stack([weight * values, world.drawn(random, field, 6)]))
        apart = distances(values)
        maps = surrogate_maps(apart, world.kilometres, world.shared, draws=DRAWS, seed=int(random.integers(1 << 30)))
        taus.append(anchor_taus(alike, apart).mean)
        found += _p(drawn_means([alike], Draws(maps)), abs(taus[-1])) < 0.05 + 1e-9
    return 100 * found / repeats, float(np.mean(taus))


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
    """Errors where texts and values are unrelated, power where they are not, and coverage over countries."""
    few = max(repeats // 4, 20)
    names = ("τ beyond shuffled names", "τ beyond other maps", "partial Mantel given geography")
    names += ("partial Mantel beyond other maps",)
    for what, (texts, values) in UNRELATED.items():
        setting = f"{COUNTRIES} countries, unrelated {what}"
        for name, percent in zip(names, unrelated(random, few, texts, values), strict=True):
            yield Cell("space", name, setting, percent, few, 0, 7)
    for field, what, weights in POWER:
        for weight in weights:
            percent, tau = power(random, few // 2, field, weight)
            setting = f"{COUNTRIES} countries, {what}, texts that hold values: mean τ {tau:.2f}"
            yield Cell("space", "power of τ beyond other maps", setting, percent, few // 2, 0, 100)
    for countries in (30, 60, 100):
        setting = f"{countries} independent countries, leaving out 20 groups"
        yield Cell("space", "τ, interval over countries", setting, coverage(random, few, countries), few, 93, 97)

"""Distances between countries, and what they share: regions, languages and branches of languages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence, Set

import numpy as np
from numpy.typing import NDArray

from kapwa.errors import UsageError
from kapwa.languages.places import Place, branch_of, place_of

Floats = NDArray[np.float64]
EARTH_RADIUS_KM = 6371.0088  # mean radius (IUGG)


def geographic_distance(iso3s: Sequence[str]) -> Floats:
    """Return great-circle distances between capitals in km, float64 (m, m); NaN where there is no country ("").

    Raises UsageError for an unknown code.
    """
    nowhere = (math.nan, math.nan)
    spots = [(place.latitude, place.longitude) if place else nowhere for place in checked_places(iso3s)]
    latitude, longitude = np.radians(np.array(spots, np.float64).reshape(-1, 2)).T
    # Haversine: exact for near places too, where the arc cosine loses its digits.
    between = (
        np.sin((latitude[:, None] - latitude) / 2) ** 2
        + np.cos(latitude[:, None]) * np.cos(latitude) * np.sin((longitude[:, None] - longitude) / 2) ** 2
    )
    return np.asarray(2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.clip(between, 0, 1))), np.float64)


def other_region(iso3s: Sequence[str]) -> Floats:
    """Return 0 within a subregion of M49 ("Western Africa"), ½ within a continent, 1 beyond; float64 (m, m)."""

    def gap(a: Place, b: Place) -> float:
        if a.subregion == b.subregion:
            return 0.0
        return 0.5 if a.region == b.region else 1.0

    return _pairwise(iso3s, gap)


def other_language(iso3s: Sequence[str]) -> Floats:
    """Return 0 where two countries share an official or working language, 1 where they do not; float64 (m, m)."""
    return _pairwise(iso3s, lambda a, b: float(set(a.languages).isdisjoint(b.languages)))


def shared_blocks(iso3s: Sequence[str]) -> tuple[Floats, ...]:
    """Return how much each two countries have in common, from 0 to 1; float64 (m, m) each.

    There is a matrix for: region and subregion by M49; the first of the official or working languages, and its branch,
    such as Slavic; all of these languages, and all branches. The values are cosines, so every matrix is a covariance.
    Raises UsageError for an unknown code.
    """
    places = checked_places(iso3s)
    kinds: tuple[Callable[[Place], Iterable[str]], ...] = (
        lambda place: [place.region],
        lambda place: [place.subregion],
        lambda place: place.languages[:1],
        lambda place: filter(None, map(branch_of, place.languages[:1])),
        lambda place: place.languages,
        lambda place: filter(None, map(branch_of, place.languages)),
    )
    return tuple(_cosines([set(kind(place)) if place else set() for place in places]) for kind in kinds)


def _cosines(sets: Sequence[Set[str]]) -> Floats:
    """The cosine of each two sets as vectors of 0 and 1; an empty set has a cosine of 1 with itself and 0 else."""
    shared = np.array([[len(a & b) for b in sets] for a in sets], np.float64).reshape(len(sets), len(sets))
    size = np.array([math.sqrt(len(one)) or math.inf for one in sets], np.float64)
    matrix = shared / np.outer(size, size)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def checked_places(iso3s: Sequence[str]) -> list[Place | None]:
    """Return the countries of codes, None for ""; raise UsageError for an unknown code."""
    places = [place_of(code) if code else None for code in iso3s]
    for code, place in zip(iso3s, places, strict=True):
        if code and place is None:
            raise UsageError(f"{code!r} is not a country code.", hint="Codes are ISO 3166-1 alpha-3, such as PHL.")
    return places


def _pairwise(iso3s: Sequence[str], gap: Callable[[Place, Place], float]) -> Floats:
    places = checked_places(iso3s)
    rows = [[gap(a, b) if a and b else math.nan for b in places] for a in places]
    return np.array(rows, np.float64).reshape(len(places), len(places))

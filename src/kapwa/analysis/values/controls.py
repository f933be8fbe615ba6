"""What else may make two countries alike: distance over land and sea, region, language; for partial Mantel tests.

Every matrix here is a distance: large means unlike, as cultural distance does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kapwa.analysis.values.cells import Commas, commas_of, is_missing
from kapwa.analysis.values.columns import cell_text
from kapwa.errors import DataError, UsageError, nearest
from kapwa.suites.eecc.names import Place, place_of, resolve, suggestion
from kapwa.suites.reading.tables import TABLE_SUFFIXES, Record, Table, read_records

Floats = NDArray[np.float64]
EARTH_RADIUS_KM = 6371.0088  # mean radius (IUGG)


def geographic_distance(iso3s: Sequence[str]) -> Floats:
    """Return great-circle distances between capitals in km, float64 (m, m); NaN for what is no place ("").

    Raises UsageError for a code that is no place's.
    """
    spots = [_spot(place) for place in _places(iso3s)]
    latitude, longitude = np.radians(np.array(spots, np.float64).reshape(-1, 2)).T
    # Haversine: exact for near places too, where the arc cosine loses its digits.
    between = (
        np.sin((latitude[:, None] - latitude) / 2) ** 2
        + np.cos(latitude[:, None]) * np.cos(latitude) * np.sin((longitude[:, None] - longitude) / 2) ** 2
    )
    return np.asarray(2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.clip(between, 0, 1))), np.float64)


def other_region(iso3s: Sequence[str]) -> Floats:
    """Return 0 within a subregion of M49 ("Western Africa"), ½ within a continent, 1 beyond; float64 (m, m)."""
    return _pairwise(iso3s, _region_gap)


def other_language(iso3s: Sequence[str]) -> Floats:
    """Return 0 where two countries share an official or working language, 1 where they do not; float64 (m, m)."""
    return _pairwise(iso3s, lambda a, b: float(set(a.languages).isdisjoint(b.languages)))


def _region_gap(a: Place, b: Place) -> float:
    return 0.0 if a.subregion == b.subregion else 0.5 if a.region == b.region else 1.0


CONTROLS: Mapping[str, Callable[[Sequence[str]], Floats]] = {
    "geography": geographic_distance,
    "region": other_region,
    "language": other_language,
}


def control_matrix(name_or_path: str | Path, iso3s: Sequence[str]) -> Floats:
    """Return a control for the countries ``iso3s``, float64 (m, m): one of ``CONTROLS``, or read from a table file.

    A file is a square (a column of countries, then one column a country) or long (two columns of countries, then one
    of numbers; either order of a pair will do, and both must agree). Pairs it does not have are NaN, the diagonal 0.
    Raises UsageError for an unknown name, DataError for a file that is neither.
    """
    built_in = CONTROLS.get(str(name_or_path))
    if built_in is not None:
        return built_in(iso3s)
    path = Path(name_or_path)
    if not path.exists() and path.suffix.lower() not in TABLE_SUFFIXES:
        hint = f"{nearest(str(name_or_path), CONTROLS)} Or give the path of a table."
        raise UsageError(f"There is no control {str(name_or_path)!r}.", hint=hint)
    source = read_records(path)
    if source.problems:
        raise source.problems[0]
    pairs = _long_pairs(source) if len(source.header) == 3 and _is_long(source) else _square_pairs(source)
    return _filled(pairs, iso3s)


def _places(iso3s: Sequence[str]) -> list[Place | None]:
    found = [place_of(code) if code else None for code in iso3s]
    for code, place in zip(iso3s, found, strict=True):
        if code and place is None:
            raise UsageError(f"{code!r} is no country's code.", hint="Codes are ISO 3166-1 alpha-3, such as PHL.")
    return found


def _spot(place: Place | None) -> tuple[float, float]:
    return (place.latitude, place.longitude) if place else (math.nan, math.nan)


def _pairwise(iso3s: Sequence[str], gap: Callable[[Place, Place], float]) -> Floats:
    found = _places(iso3s)
    rows = [[gap(a, b) if a and b else math.nan for b in found] for a in found]
    return np.array(rows, np.float64).reshape(len(found), len(found))


Pairs = Mapping[tuple[str, str], float]


def _is_long(source: Table) -> bool:
    """Whether the second column names places; in a square of two countries it holds numbers."""
    second = source.header[1]
    return all(resolve(cell_text(record, second)) is not None for record in source.records)


def _long_pairs(source: Table) -> Pairs:
    first, second, third = source.header
    commas = commas_of(cell_text(record, third) for record in source.records)
    pairs: dict[tuple[str, str], float] = {}
    for record in source.records:
        a, b = (_code(source, record.row, name, cell_text(record, name)) for name in (first, second))
        _add(pairs, source, record, third, (a, b), commas)
    return pairs


def _square_pairs(source: Table) -> Pairs:
    label, *names = source.header
    columns = {name: _code(source, 1, name, name) for name in names}
    commas = commas_of(cell_text(record, name) for record in source.records for name in names)
    pairs: dict[tuple[str, str], float] = {}
    for record in source.records:
        a = _code(source, record.row, label, cell_text(record, label))
        for name, b in columns.items():
            _add(pairs, source, record, name, (a, b), commas)
    return pairs


def _add(
    pairs: dict[tuple[str, str], float],
    source: Table,
    record: Record,
    column: str,
    pair: tuple[str, str],
    commas: Commas,
) -> None:
    cell = cell_text(record, column)
    if is_missing(cell):
        return
    value = commas.number(cell)
    if value is None:
        raise DataError(f"{cell!r} is not a number.", path=source.path, row=record.row, column=column)
    key = (min(pair), max(pair))
    before = pairs.setdefault(key, value)
    if not math.isclose(before, value, rel_tol=1e-9, abs_tol=1e-12):
        raise DataError(
            f"{' and '.join(key)} are {value:g} apart here, {before:g} elsewhere in the file.",
            path=source.path,
            row=record.row,
            column=column,
            hint="A control must be the same in both directions.",
        )


def _code(source: Table, row: int, column: str, name: str) -> str:
    found = resolve(name)
    if isinstance(found, Place):
        return found.iso3
    message = f"{found}." if found else f"{name!r} names no country."
    raise DataError(
        message, path=source.path, row=row, column=column, hint=suggestion(name) or "Write names or ISO codes."
    )


def _filled(pairs: Pairs, iso3s: Sequence[str]) -> Floats:
    _places(iso3s)
    matrix = np.full((len(iso3s), len(iso3s)), np.nan)
    for i, a in enumerate(iso3s):
        for j, b in enumerate(iso3s):
            matrix[i, j] = pairs.get((min(a, b), max(a, b)), math.nan)
    np.fill_diagonal(matrix, 0.0)
    return matrix

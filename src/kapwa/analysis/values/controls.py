"""Other reasons why two countries may be alike: geographic distance, region, language; for partial Mantel tests.

Every matrix here is a distance, like cultural distance: a large value means that two countries differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kapwa.analysis.values.table import cell_text, is_missing, not_a_number, number_of
from kapwa.errors import DataError, UsageError, nearest
from kapwa.languages.between_places import (
    checked_places,
    geographic_distance,
    other_language,
    other_region,
)
from kapwa.languages.places import Place, resolve, suggestion
from kapwa.tables import TABLE_SUFFIXES, TextTable, read_records

Floats = NDArray[np.float64]


CONTROLS: Mapping[str, Callable[[Sequence[str]], Floats]] = {
    "geography": geographic_distance,
    "region": other_region,
    "language": other_language,
}


def control_matrix(name_or_path: str | Path, iso3s: Sequence[str]) -> Floats:
    """Return a control for the countries ``iso3s``, float64 (m, m): one of ``CONTROLS``, or read from a table file.

    A file is a square (a column of countries, then one column for each country) or long (two columns of countries, then
    one of numbers; a pair may be in either order, and in both if the numbers agree). Missing pairs are NaN, the
    diagonal is 0. Raises UsageError for an unknown name, DataError for a file of another layout.
    """
    built_in = CONTROLS.get(str(name_or_path))
    if built_in is not None:
        return built_in(iso3s)
    path = Path(name_or_path)
    if not path.exists() and path.suffix.lower() not in TABLE_SUFFIXES:
        hint = f"{nearest(str(name_or_path), CONTROLS)} Or give the path of a table."
        raise UsageError(f"There is no control {str(name_or_path)!r}.", hint=hint)
    pairs = _pairs(path)
    checked_places(iso3s)
    between = [[pairs.get((min(a, b), max(a, b)), math.nan) for b in iso3s] for a in iso3s]
    matrix = np.array(between, np.float64).reshape(len(iso3s), len(iso3s))
    np.fill_diagonal(matrix, 0.0)
    return matrix


# The first column of a square often has no name.
_CORNER = "country"


def _pairs(path: Path) -> dict[tuple[str, str], float]:
    """Read a file of distances: by codes of two countries, in alphabetical order."""
    source = read_records(path, corner=_CORNER)
    if source.problems:
        raise source.problems[0]
    rows = [(record.row, [cell_text(record, name) for name in source.header]) for record in source.records]
    first, *others = source.header
    if first == _CORNER and others and all(number_of(cells[0]) is not None for _, cells in rows):
        # The first column has row numbers that a program wrote.
        first, *others = others
        rows = [(row, cells[1:]) for row, cells in rows]
    # In a square of two countries the second column has numbers, in a long table it names countries.
    if len(others) == 2 and all(resolve(cells[1]) is not None for _, cells in rows):
        distances = [(row, others[1], (first, a), (others[0], b), cell) for row, (a, b, cell) in rows]
    else:
        for name in others:
            _code(source, 1, name, name)
        distances = [
            (row, name, (first, label), (name, name), cell)
            for row, (label, *cells) in rows
            for name, cell in zip(others, cells, strict=True)
        ]
    pairs: dict[tuple[str, str], float] = {}
    for row, column, left, right, cell in distances:
        a, b = sorted((_code(source, row, *left), _code(source, row, *right)))
        value = number_of(cell)
        if is_missing(cell):
            continue
        if value is None:
            raise not_a_number(path, row, column, cell)
        before = pairs.setdefault((a, b), value)
        if not math.isclose(before, value, rel_tol=1e-9, abs_tol=1e-12):
            text = f"{a} and {b} are {value:g} apart here, {before:g} elsewhere in the file."
            hint = "A control must be the same in both directions."
            raise DataError(text, path=path, row=row, column=column, hint=hint)
    return pairs


def _code(source: TextTable, row: int, column: str, name: str) -> str:
    place = resolve(name)
    if isinstance(place, Place):
        return place.iso3
    message, hint = f"{place}." if place else f"{name!r} names no country.", suggestion(name)
    raise DataError(message, path=source.path, row=row, column=column, hint=hint or "Write names or ISO codes.")

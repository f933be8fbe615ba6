"""How far countries lie apart in a survey of values: corrected, and as the released analysis has it.

Corrected: each question is standardised over the countries compared, codes and other columns without a scale are
left out (:mod:`kapwa.analysis.values.nominal`), and the distance is the root of the mean squared difference over the
questions both countries answered, so that a missing answer neither shortens nor lengthens it. ``distance_reference``
is the plain Euclidean distance over every column both have, unscaled, and longer the more columns they share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kapwa.analysis.values.matches import Match, match_identities
from kapwa.analysis.values.nominal import nominal_columns
from kapwa.analysis.values.table import ValuesTable
from kapwa.analysis.values.usable import SAME
from kapwa.errors import UsageError, nearest

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class CulturalDistance:
    """Distances between the m identities that have values in a survey.

    ``index``: int64 (m,), their positions among the identities asked for; ``identities``, ``countries`` and ``iso3``
    name them ("" for what is no place). ``distance`` and ``distance_reference``: float64 (m, m), symmetric, 0 on the
    diagonal, NaN where two share too few questions (or, as released, where none, or where the row's demonym is
    spelt otherwise than the identity). ``questions_known``: int64 (m,), questions each has an answer to, of
    ``questions_used``. ``dropped``: questions left out, each with why. ``notes``: what had to be decided.
    """

    name: str
    index: NDArray[np.int64]
    identities: tuple[str, ...]
    countries: tuple[str, ...]
    iso3: tuple[str, ...]
    distance: Floats
    distance_reference: Floats
    questions_known: NDArray[np.int64]
    questions_used: int
    dropped: Mapping[str, str]
    notes: tuple[str, ...]


def cultural_distance(
    table: ValuesTable,
    identities: Sequence[str],
    *,
    attribute: str = "nationality",
    minimum_overlap: float = 0.5,
    keep: Iterable[str] = (),
    drop: Iterable[str] = (),
    choose: Mapping[str, str] | None = None,
) -> CulturalDistance:
    """Measure how far apart the identities that ``table`` knows lie.

    ``minimum_overlap``: the share of the questions used (0 to 1) that two must both have answered. ``keep`` keeps
    questions that would be left out, ``drop`` leaves out more. ``choose`` settles ambiguous names, see
    :func:`kapwa.analysis.values.matches.match_identities`. Raises UsageError for unknown questions or choices, and
    when fewer than two identities have values.
    """
    if not 0 <= minimum_overlap <= 1:
        raise UsageError(f"A minimum overlap of {minimum_overlap} is not a share.", hint="Give a number from 0 to 1.")
    dropped = _dropped(table, tuple(keep), tuple(drop))
    matches = match_identities(table, identities, attribute=attribute, choose=choose)
    found = [match for match in matches.found if np.isfinite(table.matrix[list(match.rows)]).any()]
    if len(found) < 2:
        raise UsageError(
            f"{table.path} has values for {len(found)} of the {len(identities)} identities; distances need two.",
            hint="See which names match with: kapwa values check FILE --identities FILE",
        )
    values = _means(table.matrix, [match.rows for match in found])
    rows = [match.rows for match in found]
    standard, flat = _standardised(values, table.questions, rows, dropped)
    dropped |= flat
    distance, known = _root_mean_square(standard, minimum_overlap)
    notes = [*matches.notes, *_distance_notes(found, distance, known, standard.shape[1]), *_absent(matches.missing)]
    return CulturalDistance(
        name=table.name,
        index=np.array([match.position for match in found], np.int64),
        identities=tuple(match.identity for match in found),
        countries=tuple(match.country for match in found),
        iso3=tuple(match.iso3 for match in found),
        distance=distance,
        distance_reference=_reference(table, found),
        questions_known=known,
        questions_used=standard.shape[1],
        dropped=dropped,
        notes=tuple(notes),
    )


def _dropped(table: ValuesTable, keep: tuple[str, ...], drop: tuple[str, ...]) -> dict[str, str]:
    for name in (*keep, *drop):
        if name not in table.questions:
            raise UsageError(f"{table.path} has no question {name!r}.", hint=nearest(name, table.questions))
        if name in keep and name in drop:
            raise UsageError(f"Question {name!r} is to be kept and to be dropped.")
    found = {name: why for name, why in nominal_columns(table).items() if name not in keep}
    return found | dict.fromkeys(drop, "left out as asked")


def _means(matrix: Floats, rows: Sequence[tuple[int, ...]]) -> Floats:
    """The mean of each identity's rows, question by question; NaN where none of them has an answer."""
    values = np.full((len(rows), matrix.shape[1]), np.nan)
    for i, own in enumerate(rows):
        known = np.isfinite(matrix[list(own)])
        counts = known.sum(axis=0)
        sums = np.where(known, matrix[list(own)], 0.0).sum(axis=0)
        np.divide(sums, counts, out=values[i], where=counts > 0)
    return values


def _standardised(
    values: Floats, questions: Sequence[str], rows: Sequence[tuple[int, ...]], dropped: Mapping[str, str]
) -> tuple[Floats, dict[str, str]]:
    """Return z-scores (sample standard deviation) of the questions that remain, and those that do not differ.

    Each country counts once, however many identities mean it.
    """
    once = np.array(sorted({own: i for i, own in reversed(list(enumerate(rows)))}.values()))
    columns, flat = [], {}
    for j, question in enumerate(questions):
        if question in dropped:
            continue
        known = values[once, j][np.isfinite(values[once, j])]
        if len(known) < 2:
            flat[question] = "known for fewer than two of the countries"
        elif np.ptp(known) <= SAME * np.abs(known).max():
            flat[question] = "the same in all of the countries"
        else:
            columns.append((values[:, j] - known.mean()) / known.std(ddof=1))
    if not columns:
        return np.empty((len(values), 0)), flat
    return np.column_stack(columns), flat


def _root_mean_square(standard: Floats, minimum_overlap: float) -> tuple[Floats, NDArray[np.int64]]:
    known = np.isfinite(standard)
    least = max(1, int(np.ceil(minimum_overlap * standard.shape[1] - 1e-9)))
    distance = np.full((len(standard), len(standard)), np.nan)
    for i, row in enumerate(standard):
        shared = (known & known[i]).sum(axis=1)
        squares = np.nansum((standard - row) ** 2, axis=1)
        np.sqrt(squares / np.maximum(shared, 1), out=distance[i], where=shared >= least)
    np.fill_diagonal(distance, 0.0)
    return distance, known.sum(axis=1).astype(np.int64)


def _reference(table: ValuesTable, found: Sequence[Match]) -> Floats:
    """Raw Euclidean distances, as released: rows by their demonym to the letter, the last where it stands twice."""
    values = np.full((len(found), len(table.questions)), np.nan)
    by_demonym = {row.demonym: i for i, row in enumerate(table.rows)} if table.columns.demonym else None
    for i, match in enumerate(found):
        row = match.rows[-1] if by_demonym is None else by_demonym.get(match.identity)
        if row is not None:
            values[i] = table.matrix[row]
    known = np.isfinite(values)
    distance = np.full((len(found), len(found)), np.nan)
    for i, row_values in enumerate(values):
        shared = (known & known[i]).any(axis=1)
        squares = np.nansum((values - row_values) ** 2, axis=1)
        np.sqrt(squares, out=distance[i], where=shared)
    np.fill_diagonal(distance, 0.0)
    return distance


def _distance_notes(found: Sequence[Match], distance: Floats, known: NDArray[np.int64], used: int) -> list[str]:
    if used == 0:
        return ["no question is left to compare"]
    others = np.isfinite(distance).sum(axis=1) - 1
    alone = [f"{match.country} ({known[i]} of {used})" for i, match in enumerate(found) if others[i] == 0]
    if not alone:
        return []
    return [f"too few questions shared with any other for a distance: {', '.join(alone)}"]


def _absent(missing: Sequence[str]) -> list[str]:
    shown = ", ".join(missing[:12]) + (", …" if len(missing) > 12 else "")
    return [f"no values for {len(missing)} identities: {shown}"] if missing else []

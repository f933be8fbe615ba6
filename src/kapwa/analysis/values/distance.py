"""Distances between countries in a survey of values: corrected, and as the released analysis computes them.

Corrected: each question is standardised over the compared countries, codes and other columns without a scale are left
out, and the distance is the root of the mean squared difference over the questions that both countries answered, so
that a missing answer makes it neither shorter nor longer. ``distance_reference`` is the plain Euclidean distance over
every column that both have, unscaled, and longer the more columns they share.

A country's mean of codes without an order says nothing about its values, and one such column outweighs all others in a
raw distance. A column is left out of distances when one of these rules holds:

1. its name says that it describes the row (year, wave, weight, sample size, latitude, ...);
2. it is a choice without an order in the questionnaire of the World Values Survey, wave 7 (``WVS7``), and the table
   is from that survey;
3. its values rise with the countries' ISO numbers (Spearman's ρ ≥ 0.7 over at least 20 countries): these are codes that
   begin with the country's number, such as party codes. ISO numbers are alphabetical, so no answers rise with them;
4. the range of its values is over 1,000 times that of the median column, and values exceed 1,000: no scale of answers
   is that long (this needs at least three other columns).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kapwa.analysis.values.table import ValuesTable, resolve
from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import table_rows
from kapwa.languages.places import PLACE_ATTRIBUTES, Ambiguous, Place, fold

Floats = NDArray[np.float64]
# Means of equal numbers may differ in their last digits; standardised, such a question would count like any other.
SAME = 1e-12
_LONGER = 1_000.0
_SHOWN = 4
_DESCRIBES = frozenset(
    (
        *("", "index", "row", "id", "unnamed 0", "year", "survey year", "wave", "date", "weight", "population", "n"),
        *("sample size", "respondents", "interviews", "latitude", "longitude", "lat", "lon", "lng"),
    )
)

# Questions of the World Values Survey, wave 7, whose answers have no order, by what they ask.
WVS7 = {row["question"]: row["asks"] for row in table_rows(Path(__file__).with_name("wvs7.csv"))}


@dataclass(frozen=True, eq=False, slots=True)
class CulturalDistance:
    """Distances between the m identities that have values in a survey.

    ``index``: int64 (m,), their positions among the given identities; ``identities``, ``countries`` and ``iso3``
    name them ("" without a country). ``distance`` and ``distance_reference``: float64 (m, m), symmetric, 0 on the
    diagonal, NaN where two share too few questions (in the reference: where they share none, or where the row's demonym
    and the identity differ in spelling). ``questions_known``: int64 (m,), how many of the ``questions_used`` each has
    answered. ``dropped``: questions left out, each with the reason. ``notes``: decisions, in words.
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


class Match(NamedTuple):
    """An identity with values: its position among the identities, its country (None if it is not one), its rows."""

    position: int
    identity: str
    place: Place | None
    rows: tuple[int, ...]


class Matches(NamedTuple):
    """Identities with rows, in order; identities without; and notes on decisions."""

    matched: list[Match]
    missing: list[str]
    notes: list[str]


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
    """Compute the distances between the identities that ``table`` has.

    ``minimum_overlap``: the share of the used questions (0 to 1) that two must both have answered. ``keep``: questions
    to use although they would be left out; ``drop``: further questions to leave out. ``choose``: see
    :func:`match_identities`. Raises UsageError for unknown questions or choices, and when fewer than two identities
    have values.
    """
    keep, drop = tuple(keep), tuple(drop)
    for name in (*keep, *drop):
        if name not in table.questions:
            raise UsageError(f"{table.path} has no question {name!r}.", hint=nearest(name, table.questions))
    matches = match_identities(table, identities, attribute=attribute, choose=choose)
    matched = [match for match in matches.matched if np.isfinite(table.matrix[list(match.rows)]).any()]
    if len(matched) < 2:
        message = f"{table.path} has values for {len(matched)} of the {len(identities)} identities; distances need two."
        raise UsageError(message, hint="See which names match with: kapwa values check FILE --identities FILE")
    dropped = {name: why for name, why in nominal_columns(table).items() if name not in keep}
    dropped |= dict.fromkeys(drop, "left out as asked")
    standard, flat = _standardised(table, [match.rows for match in matched], dropped)
    least = max(1, int(np.ceil(minimum_overlap * standard.shape[1] - 1e-9)))
    distance, known = _distances(standard, least, mean=True), np.isfinite(standard).sum(axis=1)
    countries = tuple(match.place.country if match.place else match.identity for match in matched)
    used, notes = standard.shape[1], list(matches.notes)
    unconnected = np.flatnonzero(np.isfinite(distance).sum(axis=1) == 1)
    if not used:
        notes.append("no question is left to compare")
    elif unconnected.size:
        shown = ", ".join(f"{countries[i]} ({known[i]} of {used})" for i in unconnected)
        notes.append(f"too few questions shared with any other for a distance: {shown}")
    if matches.missing:
        shown = ", ".join(matches.missing[:12]) + (", …" if len(matches.missing) > 12 else "")
        notes.append(f"no values for {len(matches.missing)} identities: {shown}")
    return CulturalDistance(
        name=table.name,
        index=np.array([match.position for match in matched], np.int64),
        identities=tuple(match.identity for match in matched),
        countries=countries,
        iso3=tuple(match.place.iso3 if match.place else "" for match in matched),
        distance=distance,
        distance_reference=_reference(table, matched),
        questions_known=known,
        questions_used=used,
        dropped=dropped | flat,
        notes=tuple(notes),
    )


def match_identities(
    table: ValuesTable,
    identities: Sequence[str],
    *,
    attribute: str = "nationality",
    choose: Mapping[str, str] | None = None,
) -> Matches:
    """Find the rows of each identity: those of the same country, or (where it names none) with the same label.

    An ambiguous identity means the one candidate that has a row, and a note says so; it is left out where several
    have one. ``choose`` decides instead: identity or row label → ISO code, "" to leave it out. Raises UsageError
    for a choice of an unknown name or country.
    """
    chosen = _checked(choose or {}, {*identities, *(label for row in table.rows for label in row.labels)}, table)
    by_place: dict[Place, list[int]] = {}
    by_label: dict[str, list[int]] = {}
    for i, row in enumerate(table.rows):
        place = row.place or next(filter(None, map(chosen.get, row.labels)), None)
        if place is not None:
            by_place.setdefault(place, []).append(i)
        # For rows that are not countries only the first label counts: a language is not a demonym of the same name.
        labels = row.labels if attribute in PLACE_ATTRIBUTES else row.labels[:1]
        for label in dict.fromkeys(fold(label) for label in labels if label):
            by_label.setdefault(label, []).append(i)
    result, names = Matches([], [], []), dict[Place, list[str]]()
    for position, identity in enumerate(identities):
        meant = chosen[identity] if identity in chosen else resolve(identity, attribute=attribute)
        if isinstance(meant, Ambiguous):
            meant = _settled(meant, by_place, result.notes)
            rows = by_place[meant] if meant else []
        else:
            unnamed = [] if identity in chosen else by_label.get(fold(identity), [])
            rows = unnamed if meant is None else by_place.get(meant, [])
        if not rows:
            result.missing.append(identity)
            continue
        result.matched.append(Match(position, identity, meant, tuple(rows)))
        if meant is not None:
            names.setdefault(meant, []).append(identity)
    result.notes.extend(_row_notes(table, result.matched, chosen))
    for place, same in names.items():
        if len(same) > 1:
            words = " and ".join(map(repr, same))
            result.notes.append(f"{words} both mean {place.country}: there is no distance between them")
    return result


def _settled(name: Ambiguous, by_place: Mapping[Place, list[int]], notes: list[str]) -> Place | None:
    known = [place for place in name.candidates if place in by_place]
    codes = ", ".join(place.iso3 for place in name.candidates)
    if len(known) == 1:
        notes.append(f"{name}; only {known[0].country} has values here, so it is read as {known[0].country}")
    elif known:
        notes.append(f"{name}; both have values, so it is left out (choose one: {codes})")
    return known[0] if len(known) == 1 else None


def _checked(choose: Mapping[str, str], known: set[str], table: ValuesTable) -> dict[str, Place | None]:
    chosen: dict[str, Place | None] = {}
    for name, code in choose.items():
        if name not in known:
            raise UsageError(f"{name!r} is neither an identity nor a row of {table.path}.")
        place = resolve(code) if code else None
        if code and not isinstance(place, Place):
            raise UsageError(f"{code!r}, chosen for {name!r}, is not a country.", hint="Give an ISO code, such as COD.")
        chosen[name] = place if isinstance(place, Place) else None
    return chosen


def _row_notes(table: ValuesTable, matched: Sequence[Match], chosen: Mapping[str, Place | None]) -> Iterable[str]:
    for row in table.rows:
        if row.candidates and not any(label in chosen for label in row.labels):
            countries = " or ".join(place.country for place in row.candidates)
            yield f"row {row.number}: {row.country!r} may mean {countries}; left out"
    for match in matched:
        if len(match.rows) > 1:
            numbers = ", ".join(str(table.rows[i].number) for i in match.rows[:6])
            more = ", …" if len(match.rows) > 6 else ""
            name = match.place.country if match.place else match.identity
            yield f"{name} has {len(match.rows)} rows ({numbers}{more}): their mean is used"


def _standardised(
    table: ValuesTable, rows: Sequence[tuple[int, ...]], dropped: Mapping[str, str]
) -> tuple[Floats, dict[str, str]]:
    """Return z-scores (sample standard deviation) of the other questions, and those questions that do not differ.

    An identity has the mean of its rows. Each country counts once, even if several identities mean it.
    """
    values = np.full((len(rows), len(table.questions)), np.nan)
    for i, same in enumerate(rows):
        answers = table.matrix[list(same)]
        counts = np.isfinite(answers).sum(axis=0)
        np.divide(np.nansum(answers, axis=0), counts, out=values[i], where=counts > 0)
    once = np.array(sorted({same: i for i, same in reversed(list(enumerate(rows)))}.values()))
    columns, flat = [], {}
    for j, question in enumerate(table.questions):
        if question in dropped:
            continue
        known = values[once, j][np.isfinite(values[once, j])]
        if len(known) < 2:
            flat[question] = "known for fewer than two of the countries"
        elif np.ptp(known) <= SAME * np.abs(known).max():
            flat[question] = "the same in all of the countries"
        else:
            columns.append((values[:, j] - known.mean()) / known.std(ddof=1))
    return np.column_stack(columns) if columns else np.empty((len(values), 0)), flat


def _reference(table: ValuesTable, matched: Sequence[Match]) -> Floats:
    """Raw Euclidean distances, as released: rows by their exact demonym, the last one where it appears twice."""
    by_demonym = {row.demonym: i for i, row in enumerate(table.rows)} if table.columns.demonym else None
    rows = [match.rows[-1] if by_demonym is None else by_demonym.get(match.identity) for match in matched]
    nothing = np.full(len(table.questions), np.nan)
    return _distances(np.array([nothing if row is None else table.matrix[row] for row in rows]), 1, mean=False)


def _distances(values: Floats, least: int, *, mean: bool) -> Floats:
    """Root of the sum or mean of squared differences of rows, over the columns both have; NaN for under ``least``."""
    known = np.isfinite(values)
    distance = np.full((len(values), len(values)), np.nan)
    for i, row in enumerate(values):
        shared = (known & known[i]).sum(axis=1)
        squares = np.nansum((values - row) ** 2, axis=1)
        np.sqrt(squares / np.maximum(shared, 1) if mean else squares, out=distance[i], where=shared >= least)
    np.fill_diagonal(distance, 0.0)
    return distance


# -- columns that are not answers on a scale ------------------------------------------------------------


def nominal_columns(table: ValuesTable) -> dict[str, str]:
    """Return the columns that are not answers on a scale, with the reason; see the rules in the module's docstring."""
    is_wvs7 = sum(re.fullmatch(r"Q\d{1,3}", name) is not None for name in table.questions) >= 150
    codes = [row.place.numeric if row.place else "" for row in table.rows]
    numbers = np.array([float(code) if code else np.nan for code in codes])
    answers = [column[~np.isnan(column)] for column in table.matrix.T]
    spans = np.array([np.ptp(column) if column.size else np.nan for column in answers])
    nominal: dict[str, str] = {}
    for j, name in enumerate(table.questions):
        values = table.matrix[:, j]
        reasons = (
            "describes the row, by its name" if fold(name) in _DESCRIBES else "",
            f"a choice without an order: {WVS7[name]}" if is_wvs7 and name in WVS7 else "",
            _country_code(values, numbers),
            _beyond_scales(values, spans[j], np.delete(spans, j)),
        )
        if any(reasons):
            nominal[name] = "; ".join(filter(None, reasons))
    return nominal


def _country_code(values: NDArray[np.float64], numbers: NDArray[np.float64]) -> str:
    from scipy.stats import spearmanr

    known = ~np.isnan(values) & ~np.isnan(numbers)
    if len(np.unique(numbers[known])) < 20 or np.ptp(values[known]) == 0:
        return ""
    rho = float(spearmanr(values[known], numbers[known])[0])
    return f"rises with the countries' ISO numbers (ρ = {rho:.2f}): codes, not answers" if rho >= 0.7 else ""


def _beyond_scales(values: NDArray[np.float64], span: float, others: NDArray[np.float64]) -> str:
    others = others[others > 0]
    if len(others) < 3 or np.isnan(span) or span <= _LONGER * np.median(others) or np.nanmax(np.abs(values)) <= _LONGER:
        return ""
    low, high, times = np.nanmin(values), np.nanmax(values), span / np.median(others)
    return f"runs from {low:,.6g} to {high:,.6g}, {times:,.0f} times the median column's range: a code or a count"


def problem_of(table: ValuesTable, *, keep: Collection[str] = (), drop: Collection[str] = ()) -> DataError | None:
    """Return an error with its remedy where ``table`` cannot distinguish countries; None where it can.

    This is checked before an analysis that takes hours: the table may hold distances between countries, or every
    question may be dropped, a code, or the same in all rows.
    """
    if len(table.questions) > 2 and 2 * sum(map(bool, map(resolve, table.questions))) >= len(table.questions):
        hint = "Hold them fixed instead: --control FILE, together with a survey."
        return DataError("holds distances between countries, not values of them.", path=table.path, hint=hint)
    left_out = {name: why for name, why in nominal_columns(table).items() if name not in keep}
    left_out |= dict.fromkeys(drop, "left out as asked")
    for name, column in zip(table.questions, table.matrix.T, strict=True):
        known = column[np.isfinite(column)]
        if name not in left_out and (not known.size or np.ptp(known) <= SAME * np.abs(known).max()):
            left_out[name] = "the same in every row" if known.size else "empty"
    return None if len(left_out) < len(table.questions) else nothing_left(table, left_out)


def nothing_left(table: ValuesTable, left_out: Mapping[str, str]) -> DataError:
    """Return the error for a table with every question left out, with the reasons."""
    shown = "; ".join(f"{name}: {why}" for name, why in list(left_out.items())[:_SHOWN])
    more = f"; and {len(left_out) - _SHOWN} more" if len(left_out) > _SHOWN else ""
    hint = "It needs a column of numbers that differ. To keep a column that was left out as a code, add --keep COLUMN."
    return DataError(f"has no question that distinguishes countries ({shown}{more}).", path=table.path, hint=hint)

"""Which rows of a survey table belong to which identity, and what had to be decided on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kapwa.analysis.values.table import ValuesTable
from kapwa.errors import UsageError
from kapwa.suites.eecc.names import PLACE_ATTRIBUTES, Ambiguous, Place, fold, resolve


@dataclass(frozen=True, slots=True)
class Match:
    """An identity with values: its position among the identities, its place (None where it is no place), its rows."""

    position: int
    identity: str
    place: Place | None
    rows: tuple[int, ...]

    @property
    def country(self) -> str:
        """The country's name, or the identity where it is no place."""
        return self.place.country if self.place else self.identity

    @property
    def iso3(self) -> str:
        """The place's code, "" where it is none."""
        return self.place.iso3 if self.place else ""


@dataclass(slots=True)
class Matches:
    """Identities with rows, in order; identities without; and what was decided, in words."""

    found: list[Match] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def match_identities(
    table: ValuesTable,
    identities: Sequence[str],
    *,
    attribute: str = "nationality",
    choose: Mapping[str, str] | None = None,
) -> Matches:
    """Find the rows of each identity: those of the same place, or (where it names none) with the same label.

    An ambiguous identity takes the one candidate that has a row, and a note says so; it is left out where several
    have one. ``choose`` decides instead: identity or row label → ISO code, "" to leave it out. Raises UsageError
    for a choice that names nothing here or no place.
    """
    chosen = _checked(choose or {}, identities, table)
    by_place = _rows_by_place(table, chosen)
    by_label = _rows_by_label(table, None if attribute in PLACE_ATTRIBUTES else 1)
    result = Matches()
    for position, identity in enumerate(identities):
        place, rows = _rows_of(identity, by_place, by_label, attribute, chosen, result.notes)
        if rows:
            result.found.append(Match(position, identity, place, tuple(rows)))
        else:
            result.missing.append(identity)
    result.notes += [*_open_rows(table, chosen), *_repeats(table, result.found), *_synonyms(result.found)]
    return result


def _rows_of(
    identity: str,
    by_place: Mapping[Place, list[int]],
    by_label: Mapping[str, list[int]],
    attribute: str,
    chosen: Mapping[str, Place | None],
    notes: list[str],
) -> tuple[Place | None, list[int]]:
    found = chosen[identity] if identity in chosen else resolve(identity, attribute=attribute)
    if isinstance(found, Ambiguous):
        found = _settle(found, by_place, notes)
        return found, by_place.get(found, []) if found else []
    if found is not None:
        return found, by_place.get(found, [])
    if identity in chosen:
        return None, []
    return None, by_label.get(fold(identity), [])


def _settle(name: Ambiguous, by_place: Mapping[Place, list[int]], notes: list[str]) -> Place | None:
    known = [place for place in name.candidates if place in by_place]
    codes = ", ".join(place.iso3 for place in name.candidates)
    if len(known) == 1:
        notes.append(f"{name}; only {known[0].country} has values here, so it is taken for {known[0].country}")
    elif known:
        notes.append(f"{name}; both have values, so it is left out (choose one: {codes})")
    return known[0] if len(known) == 1 else None


def _checked(choose: Mapping[str, str], identities: Iterable[str], table: ValuesTable) -> dict[str, Place | None]:
    known = {*identities, *(label for row in table.rows for label in row.labels)}
    chosen: dict[str, Place | None] = {}
    for name, code in choose.items():
        if name not in known:
            raise UsageError(f"{name!r} is neither an identity nor a row of {table.path}.")
        place = resolve(code) if code else None
        if code and not isinstance(place, Place):
            raise UsageError(f"{code!r}, chosen for {name!r}, is no country.", hint="Give an ISO code, such as COD.")
        chosen[name] = place if isinstance(place, Place) else None
    return chosen


def _rows_by_place(table: ValuesTable, chosen: Mapping[str, Place | None]) -> dict[Place, list[int]]:
    rows: dict[Place, list[int]] = {}
    for i, row in enumerate(table.rows):
        place = row.place or next(filter(None, map(chosen.get, row.labels)), None)
        if place is not None:
            rows.setdefault(place, []).append(i)
    return rows


def _rows_by_label(table: ValuesTable, labels: int | None) -> dict[str, list[int]]:
    """Rows by their folded labels: all of them, or the first ``labels`` (a language is no demonym of the same name)."""
    rows: dict[str, list[int]] = {}
    for i, row in enumerate(table.rows):
        for label in dict.fromkeys(map(fold, row.labels[:labels])):
            if label:
                rows.setdefault(label, []).append(i)
    return rows


def _open_rows(table: ValuesTable, chosen: Mapping[str, Place | None]) -> list[str]:
    return [
        f"row {row.number}: {row.country!r} may mean {' or '.join(place.country for place in row.candidates)}; left out"
        for row in table.rows
        if row.candidates and not any(label in chosen for label in row.labels)
    ]


def _repeats(table: ValuesTable, found: Sequence[Match]) -> list[str]:
    notes = []
    for match in found:
        if len(match.rows) > 1:
            numbers = ", ".join(str(table.rows[i].number) for i in match.rows[:6])
            more = ", …" if len(match.rows) > 6 else ""
            notes.append(f"{match.country} has {len(match.rows)} rows ({numbers}{more}): their mean is used")
    return notes


def _synonyms(found: Sequence[Match]) -> list[str]:
    names: dict[Place, list[str]] = {}
    for match in found:
        if match.place is not None:
            names.setdefault(match.place, []).append(match.identity)
    return [
        f"{' and '.join(map(repr, same))} both mean {place.country}: no distance lies between them"
        for place, same in names.items()
        if len(same) > 1
    ]

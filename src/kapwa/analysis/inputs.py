"""What an analysis holds its corpora against: survey values and controls, matched to the identities at hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kapwa.analysis.corpus import Corpus
from kapwa.analysis.settings import Settings
from kapwa.analysis.taus import ValuesOf
from kapwa.analysis.values import (
    CulturalDistance,
    ValuesTable,
    cultural_distance,
    nothing_left,
    problem_of,
    read_values,
)
from kapwa.analysis.values.controls import control_matrix
from kapwa.errors import UsageError
from kapwa.files import digest
from kapwa.languages.places import Ambiguous, Place, resolve

# Two distances to others are needed for an order among them.
_LEAST_COUNTRIES = 3


@dataclass(frozen=True, slots=True)
class Surveys:
    """Values tables and controls as the user named them, and the settings that say how to read them."""

    tables: tuple[ValuesTable, ...]
    controls: tuple[str, ...]
    settings: Settings = field(default_factory=Settings)

    @property
    def digests(self) -> dict[str, str]:
        """Digest of each file, by what it is called."""
        files = {table.name: table.path for table in self.tables}
        files |= {name: Path(name) for name in self.controls if Path(name).is_file()}
        return {name: digest({"": path.read_bytes()}) for name, path in files.items()}


def read_surveys(
    values: Iterable[str | Path], controls: Iterable[str | Path], settings: Settings | None = None
) -> Surveys:
    """Read the values tables; raise UsageError where two have one name, DataError where one cannot be used."""
    tables: list[ValuesTable] = []
    for path in values:
        table = read_values(path, country=settings.country_column if settings else None)
        same = next((other for other in tables if other.name == table.name), None)
        if same is not None:
            raise UsageError(
                f"{same.path} and {table.path} would both be called {table.name!r}.",
                hint="Give the files different names; tables and figures call them by these.",
            )
        tables.append(table)
    named = tuple(dict.fromkeys(str(control) for control in controls))
    if named and not tables:
        raise UsageError(
            "A control holds something fixed while texts are held against values; no values are named.",
            hint="Add --values FILE.",
        )
    return Surveys(tuple(tables), named, settings or Settings())


def check_surveys(surveys: Surveys, corpora: Iterable[Corpus]) -> None:
    """Raise UsageError for a decision about what is nowhere, DataError for a table that tells no countries apart."""
    surveys.settings.check_surveys(surveys.tables, {name for corpus in corpora for name in corpus.identities})
    for table in surveys.tables:
        decided = surveys.settings.for_survey(table)
        problem = problem_of(table, keep=decided["keep"], drop=decided["drop"])
        if problem is not None:
            raise problem


@dataclass(slots=True)
class Matched:
    """Values and places of the identities of one corpus, and what had to be decided."""

    values: tuple[ValuesOf, ...] = ()
    known: tuple[Sequence[int], ...] = ()
    places: dict[str, Place] = field(default_factory=dict)
    described: list[dict[str, Any]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)


def match(surveys: Surveys, corpus: Corpus) -> Matched:
    """Match the identities of ``corpus`` with countries and with every values table."""
    found = Matched()
    choose = surveys.settings.choose
    unclear: list[str] = []
    for identity in corpus.identities:
        chosen = choose.get(identity)
        if chosen == "":
            continue
        place = resolve(chosen) if chosen else resolve(identity, attribute=corpus.attribute)
        if isinstance(place, Place):
            found.places[identity] = place
        elif isinstance(place, Ambiguous):
            unclear.append(str(place))
    if unclear:
        found.notes.append(("info", f"{corpus.label}, {corpus.task}: {'; '.join(unclear)}. No map shows them."))
    for table in surveys.tables:
        decided = surveys.settings.for_survey(table, corpus.identities)
        distance = cultural_distance(table, corpus.identities, attribute=corpus.attribute, **decided)
        dropped = distance.dropped
        if not distance.questions_used:
            raise nothing_left(table, dropped)
        found.values = (*found.values, values_of(table, distance, surveys.controls))
        found.known = (*found.known, [int(count) for count in distance.questions_known])
        described = {
            "name": table.name,
            "path": str(table.path),
            "identities": len(distance.identities),
            "questions": len(table.questions),
            "questions_used": distance.questions_used,
            "dropped": dict(dropped),
            "notes": list(distance.notes),
        }
        found.described.append(described)
        found.notes += [("info", f"{table.name}: {note}") for note in distance.notes]
        connected = int((np.isfinite(distance.distance).sum(axis=1) > 1).sum())
        if connected < _LEAST_COUNTRIES:
            said = (
                f"{table.name}: only {connected} of the {len(corpus.identities):,} identities of {corpus.label}, "
                f"{corpus.task}, have a distance to another; a correlation needs {_LEAST_COUNTRIES}, so none is given."
            )
            found.notes.append(("warning", said))
        if dropped:
            shown = "; ".join(f"{question} ({why})" for question, why in list(dropped.items())[:4])
            more = f"; and {len(dropped) - 4} more" if len(dropped) > 4 else ""
            said = f"{table.name}: {len(dropped)} questions left out of the corrected distance: {shown}{more}."
            found.notes.append(("info", said))
    return found


def values_of(table: ValuesTable, distance: CulturalDistance, controls: Sequence[str]) -> ValuesOf:
    """Put the identities of ``distance`` in the order of the corpus, with the controls between their countries."""
    order = np.argsort(distance.index, kind="stable")
    square = np.ix_(order, order)
    pick = order.tolist()
    iso3, identities = tuple(distance.iso3[i] for i in pick), tuple(distance.identities[i] for i in pick)
    # The order of the values file: each identity by its first row there.
    rows: dict[str, int] = {}
    for number, row in enumerate(table.rows):
        rows.setdefault(row.demonym, number)
        rows.setdefault(row.place.iso3 if row.place else "", number)
    last = len(table.rows)
    first = [min(rows.get(who, last), rows.get(code, last)) for who, code in zip(identities, iso3, strict=True)]
    return ValuesOf(
        name=distance.name,
        index=distance.index[order].astype(np.intp),
        identities=identities,
        countries=tuple(distance.countries[i] for i in pick),
        iso3=iso3,
        distance=distance.distance[square],
        distance_reference=distance.distance_reference[square],
        order=np.argsort(np.argsort(first, kind="stable"), kind="stable"),
        controls=tuple(
            (Path(control).stem if Path(control).is_file() else control, control_matrix(control, iso3))
            for control in controls
        ),
    )

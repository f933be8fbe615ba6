"""What an analysis is told: its settings, checked once, and survey values and controls, matched to the identities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal, TypedDict, get_args

import numpy as np

from kapwa.analysis.corpus import Corpus, count
from kapwa.analysis.topics import ValuesOf
from kapwa.analysis.values.controls import control_matrix
from kapwa.analysis.values.distance import CulturalDistance, cultural_distance, nothing_left, problem_of
from kapwa.analysis.values.table import ValuesTable, read_values
from kapwa.errors import UsageError, check_whole, nearest
from kapwa.files import digest
from kapwa.languages.places import Ambiguous, Place, resolve
from kapwa.value_types import Cells, JsonMapping, JsonObject

Brevity = Literal["nmt", "closest", "average"]
Backend = Literal["auto", "numba", "rapidfuzz"]
# Two distances to others are needed for an order among them.
_LEAST_COUNTRIES = 3
_AT_LEAST = {"workers": 1, "permutations": 19, "seed": 0, "pairs": 2, "top": 1, "markers": 0}
_CHOICES = {"brevity": get_args(Brevity), "backend": get_args(Backend)}


@dataclass(frozen=True, slots=True)
class Settings:
    """How to analyze; the keyword options of :func:`kapwa.analyze`.

    ``attribute``, ``task``, ``label``: how to read sources that do not say. ``workers``: processes; None takes every
    core. ``permutations``: of every permutation test and floor. ``seed``: of everything random. ``pairs``: estimate
    variance from so many pairs of identities, drawn for each concept, instead of all; None draws only when there are
    more than 2,000 identities. ``brevity``: how BLEU picks a reference's length: nmt (the shortest, as released),
    closest, average. ``backend``: auto, numba, rapidfuzz. ``top``: words listed an identity. ``keep``, ``drop``:
    questions of surveys that stay although they look like codes, and that are left out; "table:question" means that of
    one table. ``choose``: what an ambiguous identity or row of a survey means, as an ISO code; "" leaves it out.
    ``country_column``: the column that names the rows of the surveys. ``markers``: compare texts again without each
    identity's name and so many words that mark it (:mod:`kapwa.analysis.unmarked`); 0 does not. ``depicted``: count
    who is depicted (:mod:`kapwa.analysis.depicted`).
    """

    attribute: str | None = None
    task: str | None = None
    label: str | None = None
    workers: int | None = None
    permutations: int = 999
    seed: int = 0
    pairs: int | None = None
    brevity: Brevity = "nmt"
    backend: Backend = "auto"
    top: int = 15
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    choose: Mapping[str, str] = field(default_factory=dict)
    country_column: str | None = None
    markers: int = 0
    depicted: bool = False


class AnalysisSettings(TypedDict, total=False):
    """The fields of :class:`Settings` as keywords, for editors to complete."""

    attribute: str | None
    task: str | None
    label: str | None
    workers: int | None
    permutations: int
    seed: int
    pairs: int | None
    brevity: Brevity
    backend: Backend
    top: int
    keep: str | Sequence[str]
    drop: str | Sequence[str]
    choose: Mapping[str, str]
    country_column: str | None
    markers: int
    depicted: bool


def settings_of(options: JsonMapping) -> Settings:
    """Check ``options`` and return them as Settings; raise UsageError naming the option and what it may be."""
    known = {field.name for field in fields(Settings)}
    for name, value in options.items():
        if name not in known:
            raise UsageError(f"An analysis has no option {name!r}.", hint=nearest(name, known))
        if name in _CHOICES and value not in _CHOICES[name]:
            raise UsageError(f"{name} cannot be {value!r}.", hint=nearest(str(value), _CHOICES[name]))
        lowest = _AT_LEAST.get(name)
        if lowest is None or (value is None and name in ("workers", "pairs")):
            continue
        check_whole(name, value, lowest)
    decided: JsonObject = {"choose": options.get("choose") or {}}
    for name in ("keep", "drop"):
        value = options.get(name) or ()
        decided[name] = (value,) if isinstance(value, str) else tuple(value)
        if not all(isinstance(question, str) for question in decided[name]):
            raise UsageError(f"{name} is {value!r}; it must be names of questions.")
    both = set(decided["keep"]) & set(decided["drop"])
    if both:
        raise UsageError(f"Question {min(both)!r} is to be kept and to be dropped.")
    choose = decided["choose"]
    if not isinstance(choose, Mapping) or not all(isinstance(word, str) for pair in choose.items() for word in pair):
        hint = 'Such as {"Congolese": "COD"}.'
        raise UsageError(f"choose is {choose!r}; it must map names to ISO codes.", hint=hint)
    return Settings(**{**options, **decided, "choose": dict(choose)})


@dataclass(frozen=True, slots=True)
class Surveys:
    """Values tables and controls as the user named them, and the settings that say how to read them.

    ``digests``: of each file, by what it is called.
    """

    tables: tuple[ValuesTable, ...]
    controls: tuple[str, ...]
    settings: Settings
    digests: Mapping[str, str]


def read_surveys(values: Iterable[str | Path], controls: Iterable[str | Path], settings: Settings) -> Surveys:
    """Read the values tables; raise UsageError where two have one name, DataError where one cannot be used."""
    tables: list[ValuesTable] = []
    for path in values:
        table = read_values(path, country=settings.country_column)
        same = next((other for other in tables if other.name == table.name), None)
        if same is not None:
            hint = "Give the files different names; tables and figures call them by these."
            raise UsageError(f"{same.path} and {table.path} would both be called {table.name!r}.", hint=hint)
        tables.append(table)
    named = tuple(dict.fromkeys(map(str, controls)))
    if named and not tables:
        message = "A control is held fixed while texts are compared with values, but no values are named."
        raise UsageError(message, hint="Add --values FILE.")
    files = {table.name: table.path for table in tables} | {name: Path(name) for name in named}
    digests = {name: digest({"": path.read_bytes()}) for name, path in files.items() if path.is_file()}
    return Surveys(tuple(tables), named, settings, digests)


def check_surveys(surveys: Surveys, corpora: Iterable[Corpus]) -> None:
    """Refuse decisions and tables that make no sense, before anything is computed.

    Raises UsageError for a question that no table has, and a name that stands nowhere; DataError for a table that tells
    no countries apart.
    """
    settings, tables = surveys.settings, surveys.tables
    decided = (*settings.keep, *settings.drop, *settings.choose)
    if decided and not tables:
        raise UsageError(
            f"{decided[0]!r} is a setting for a survey, but no survey is named.", hint="Add --values FILE."
        )
    questions = {question for table in tables for question in table.questions}
    for name in (*settings.keep, *settings.drop):
        if not any(_questions(table, (name,)) for table in tables):
            raise UsageError(f"No survey has a question {name!r}.", hint=nearest(name, questions))
    names = {identity for corpus in corpora for identity in corpus.identities}.union(*map(_labels, tables))
    for name in settings.choose:
        if name not in names:
            raise UsageError(f"{name!r} is neither an identity nor a row of a survey.", hint=nearest(name, names))
    for table in tables:
        problem = problem_of(table, keep=_questions(table, settings.keep), drop=_questions(table, settings.drop))
        if problem is not None:
            raise problem


def _questions(table: ValuesTable, names: Sequence[str]) -> tuple[str, ...]:
    """Return the questions of ``table`` among ``names``, which may begin with the name of the table."""
    plain = (name if name in table.questions else name.removeprefix(f"{table.name}:") for name in names)
    return tuple(dict.fromkeys(name for name in plain if name in table.questions))


def _labels(table: ValuesTable) -> set[str]:
    return {label for row in table.rows for label in row.labels if label}


@dataclass(slots=True)
class Matched:
    """Values and places of the identities of one corpus, and what had to be decided."""

    values: tuple[ValuesOf, ...] = ()
    known: tuple[Sequence[int], ...] = ()
    places: dict[str, Place] = field(default_factory=dict)
    described: list[Cells] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)


def match(surveys: Surveys, corpus: Corpus) -> Matched:
    """Match the identities of ``corpus`` with countries and with every values table."""
    matched = Matched()
    settings, choose = surveys.settings, surveys.settings.choose
    _match_countries(matched, corpus, choose)
    for table in surveys.tables:
        known = _labels(table).union(corpus.identities)
        distance = cultural_distance(
            table,
            corpus.identities,
            attribute=corpus.attribute,
            keep=_questions(table, settings.keep),
            drop=_questions(table, settings.drop),
            choose={name: code for name, code in choose.items() if name in known},
        )
        dropped = distance.dropped
        if not distance.questions_used:
            raise nothing_left(table, dropped)
        matched.values = (*matched.values, _values_of(table, distance, surveys.controls))
        matched.known = (*matched.known, [int(count) for count in distance.questions_known])
        described = {
            "name": table.name,
            "path": str(table.path),
            "identities": len(distance.identities),
            "questions": len(table.questions),
            "questions_used": distance.questions_used,
            "dropped": dict(dropped),
            "notes": list(distance.notes),
        }
        matched.described.append(described)
        matched.notes += [("info", f"{table.name}: {note}") for note in distance.notes]
        connected = int((np.isfinite(distance.distance).sum(axis=1) > 1).sum())
        if connected < _LEAST_COUNTRIES:
            matched.notes.append(("warning", f"{table.name}: {_too_few_words(corpus, connected)}."))
        if dropped:
            shown = "; ".join(f"{question} ({why})" for question, why in list(dropped.items())[:4])
            more = f"; and {len(dropped) - 4} more" if len(dropped) > 4 else ""
            text = f"{table.name}: {count(len(dropped), 'question')} left out of the corrected distance: {shown}{more}."
            matched.notes.append(("info", text))
    return matched


def _match_countries(matched: Matched, corpus: Corpus, choose: Mapping[str, str]) -> None:
    """Add the countries of identities; note which names of identities may mean several."""
    unclear: list[str] = []
    for identity in corpus.identities:
        chosen = choose.get(identity)
        if chosen == "":
            continue
        place = resolve(chosen) if chosen else resolve(identity, attribute=corpus.attribute)
        if isinstance(place, Place):
            matched.places[identity] = place
        elif isinstance(place, Ambiguous):
            unclear.append(str(place))
    if unclear:
        matched.notes.append(("info", f"{corpus.label}, {corpus.task}: {'; '.join(unclear)}. No map shows them."))


def _too_few_words(corpus: Corpus, connected: int) -> str:
    """Say that too few identities have a distance to another for a correlation."""
    of_corpus = f"{len(corpus.identities):,} identities of {corpus.label}, {corpus.task}"
    some = f"only {connected} of the {of_corpus}, have a distance to another"
    if connected == len(corpus.identities):
        some = f"there are only the {of_corpus}"
    return f"{some}; a correlation needs {_LEAST_COUNTRIES}, so none is given"


def _control_name(control: str) -> str:
    return Path(control).stem if Path(control).is_file() else control


def _values_of(table: ValuesTable, distance: CulturalDistance, controls: Sequence[str]) -> ValuesOf:
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
        controls=tuple((_control_name(control), control_matrix(control, iso3)) for control in controls),
    )

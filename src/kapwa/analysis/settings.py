"""What an analysis may be told, checked once; and the part of it that the numbers of a concept depend on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from kapwa.analysis.values import ValuesTable
from kapwa.errors import UsageError, nearest

Brevity = Literal["nmt", "closest", "average"]
Backend = Literal["auto", "numba", "rapidfuzz"]
PERMUTATIONS = 999
# All pairs of so many identities still take seconds a concept; beyond, pairs are drawn.
MOST_IDENTITIES = 2_000
SAMPLED_PAIRS = 20_000


@dataclass(frozen=True, slots=True)
class ConceptSettings:
    """What the numbers of one concept depend on besides its texts.

    ``pairs``: pairs of identities drawn; 0 compares all pairs.
    """

    language: str = "en"
    brevity: Brevity = "nmt"
    backend: Backend = "auto"
    permutations: int = PERMUTATIONS
    seed: int = 0
    pairs: int = 0


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
    ``country_column``: the column that names the rows of the surveys.
    """

    attribute: str | None = None
    task: str | None = None
    label: str | None = None
    workers: int | None = None
    permutations: int = PERMUTATIONS
    seed: int = 0
    pairs: int | None = None
    brevity: Brevity = "nmt"
    backend: Backend = "auto"
    top: int = 15
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    choose: Mapping[str, str] = field(default_factory=dict)
    country_column: str | None = None

    def concept(self, language: str, identities: int) -> ConceptSettings:
        """Return what the concepts of a corpus in ``language`` with so many identities are computed with."""
        drawn = self.pairs if self.pairs is not None else (SAMPLED_PAIRS if identities > MOST_IDENTITIES else 0)
        return ConceptSettings(language, self.brevity, self.backend, self.permutations, self.seed, drawn)

    @property
    def processes(self) -> int:
        """How many processes to use: in a container fewer than the machine has."""
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return self.workers or max(1, usable)

    def for_survey(self, table: ValuesTable, identities: Sequence[str] = ()) -> dict[str, Any]:
        """Return what is decided about ``table``: options of :func:`kapwa.analysis.values.cultural_distance`."""
        named = {*identities, *(label for row in table.rows for label in row.labels)}
        return {
            "keep": _questions(table, self.keep),
            "drop": _questions(table, self.drop),
            "choose": {name: code for name, code in self.choose.items() if name in named},
        }

    def check_surveys(self, tables: Sequence[ValuesTable], identities: Iterable[str]) -> None:
        """Raise UsageError for a question that no table has, and a name that stands nowhere."""
        decided = (*self.keep, *self.drop, *self.choose)
        if decided and not tables:
            raise UsageError(f"{decided[0]!r} is decided about a survey, and none is named.", hint="Add --values FILE.")
        questions = {question for table in tables for question in table.questions}
        for name in (*self.keep, *self.drop):
            if not any(_questions(table, (name,)) for table in tables):
                raise UsageError(f"No survey has a question {name!r}.", hint=nearest(name, questions))
        names = {*identities, *(label for table in tables for row in table.rows for label in row.labels if label)}
        for name in self.choose:
            if name not in names:
                raise UsageError(f"{name!r} is neither an identity nor a row of a survey.", hint=nearest(name, names))


def _questions(table: ValuesTable, names: Sequence[str]) -> tuple[str, ...]:
    """Return the questions of ``table`` among ``names``, which may begin with the name of the table."""
    plain = (name if name in table.questions else name.removeprefix(f"{table.name}:") for name in names)
    return tuple(dict.fromkeys(name for name in plain if name in table.questions))


_AT_LEAST = {"workers": 1, "permutations": 19, "seed": 0, "pairs": 2, "top": 1}
_CHOICES = {"brevity": get_args(Brevity), "backend": get_args(Backend)}


def settings_of(options: Mapping[str, Any]) -> Settings:
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
        if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
            raise UsageError(f"{name} is {value!r}; it must be a whole number of at least {lowest}.")
    decided: dict[str, Any] = {"choose": options.get("choose") or {}}
    for name in ("keep", "drop"):
        value = options.get(name) or ()
        decided[name] = (value,) if isinstance(value, str) else tuple(value)
        if not all(isinstance(one, str) for one in decided[name]):
            raise UsageError(f"{name} is {value!r}; it must be names of questions.")
    both = set(decided["keep"]) & set(decided["drop"])
    if both:
        raise UsageError(f"Question {min(both)!r} is to be kept and to be dropped.")
    choose = decided["choose"]
    if not isinstance(choose, Mapping) or not all(isinstance(one, str) for pair in choose.items() for one in pair):
        raise UsageError(
            f"choose is {choose!r}; it must lead from names to ISO codes.", hint='Such as {"Congolese": "COD"}.'
        )
    return Settings(**{**options, **decided, "choose": dict(choose)})

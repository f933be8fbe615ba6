"""What an analysis may be told, checked once; and the part of it that the numbers of a concept depend on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from kapwa.analysis.decisions import Decisions
from kapwa.errors import UsageError, nearest

Brevity = Literal["nmt", "closest", "average"]
Backend = Literal["auto", "numba", "rapidfuzz"]
PERMUTATIONS = 999
# All pairs of so many identities still take seconds a concept; beyond, pairs are drawn.
MOST_IDENTITIES = 2_000
SAMPLED_PAIRS = 20_000


@dataclass(frozen=True, slots=True)
class UnitSettings:
    """What the numbers of one concept depend on besides its texts.

    ``pairs``: pairs of identities drawn; 0 compares all pairs.
    """

    language: str = "en"
    brevity: Brevity = "nmt"
    backend: Backend = "auto"
    permutations: int = PERMUTATIONS
    seed: int = 0
    pairs: int = 0

    def named(self) -> dict[str, Any]:
        """Return what goes into a part's key: all but the backend, for backends give the same numbers."""
        return {name: value for name, value in asdict(self).items() if name != "backend"}


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

    @property
    def decisions(self) -> Decisions:
        """What is decided about surveys."""
        return Decisions(self.keep, self.drop, self.choose)

    def unit(self, language: str, identities: int) -> UnitSettings:
        """Return what the concepts of a corpus in ``language`` with so many identities are computed with."""
        drawn = self.pairs if self.pairs is not None else (SAMPLED_PAIRS if identities > MOST_IDENTITIES else 0)
        return UnitSettings(language, self.brevity, self.backend, self.permutations, self.seed, drawn)

    @property
    def processes(self) -> int:
        """How many processes to use."""
        return self.workers or usable_cores()


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
    return Settings(**{**options, **_decided(options)})


def _decided(options: Mapping[str, Any]) -> dict[str, Any]:
    """Check and return the decisions about surveys among ``options``."""
    found: dict[str, Any] = {}
    for name in ("keep", "drop"):
        value = options.get(name) or ()
        found[name] = (value,) if isinstance(value, str) else tuple(value)
        if not all(isinstance(one, str) for one in found[name]):
            raise UsageError(f"{name} is {value!r}; it must be names of questions.")
    both = set(found["keep"]) & set(found["drop"])
    if both:
        raise UsageError(f"Question {min(both)!r} is to be kept and to be dropped.")
    chosen = options.get("choose") or {}
    if not isinstance(chosen, Mapping) or not all(isinstance(one, str) for pair in chosen.items() for one in pair):
        raise UsageError(
            f"choose is {chosen!r}; it must lead from names to ISO codes.", hint='Such as {"Congolese": "COD"}.'
        )
    return found | {"choose": dict(chosen)}


def usable_cores() -> int:
    """How many cores this process may use, which in a container is fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1

"""Whether all answers of a run were computed alike, and what is said where they were not.

Local weights give the same bytes again only on the same kind of machine, under the same versions, in the same batches.
A run may be finished in other circumstances than it was begun in. Then it goes on, but no longer promises this.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kapwa.engines.base import takes_many
from kapwa.models.base import Model
from kapwa.models.circumstances import NAMES, circumstances
from kapwa.records import Request
from kapwa.runs.journal import Journal
from kapwa.runs.redact import plain
from kapwa.runs.sessions import Session

log = logging.getLogger(__name__)

UNKNOWN = "unknown"
_PLAN = "plan of "
# What people call each, and how to have it as before.
_WORDS = {
    "kapwa": ("version of Kapwa", "kapwa=={}"),
    "backend": ("backend", "the backend {}"),
    "device": ("device", "the device {}"),
    "threads": ("number of threads", "OMP_NUM_THREADS={0} (on Ray, --cpus-per-replica {0})"),
    "torch": ("version of torch", "torch=={}"),
    "transformers": ("version of transformers", "transformers=={}"),
    "batch_tokens": ("batch size", "--batch-tokens {}"),
    "processors": ("kind of processor", "a machine with the processor {}"),
}


class Difference(NamedTuple):
    """One thing that answers were computed with differently; ``values`` in the order of the sessions."""

    name: str
    values: tuple[str, ...]

    @property
    def words(self) -> str:
        """Say for people what differs, and between which values."""
        if self.name.startswith(_PLAN):
            return f"batches ({self.name.removeprefix(_PLAN)})"  # the digests say nothing to anybody
        return f"{_WORDS[self.name][0]} ({'; '.join(self.values)})"

    @property
    def as_before(self) -> str:
        """Say what to run with to compute as the first answers were."""
        if self.name.startswith(_PLAN):
            return "the settings of batches it was begun with"
        return _WORDS[self.name][1].format(self.values[0])


def differences(found: Iterable[Mapping[str, Any]]) -> list[Difference]:
    """Return what is not the same in all of ``found``, nor within one of them (replicas on several processors)."""
    sessions = list(found)
    values = {name: _distinct(_values(one.get(name)) for one in sessions) for name in NAMES}
    plans = [one["plans"] if isinstance(one.get("plans"), Mapping) else {} for one in sessions]
    for kind in sorted({kind for plan in plans for kind in plan}):
        # A session that had nothing of a kind to ask planned none of it.
        values[f"{_PLAN}{kind}"] = _distinct(_values(plan[kind]) for plan in plans if kind in plan)
    return [Difference(name, several) for name, several in values.items() if len(several) > 1]


def _values(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(one) for one in value]
    return [UNKNOWN if value is None else str(value)]


def _distinct(found: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for values in found for value in values))


def why_no_promise(sessions: Sequence[Session]) -> str | None:
    """Say why the answers of ``sessions``, all of local weights, need not come again byte for byte; None: they do."""
    answering = [session for session in sessions if session.answered]
    known = [session.circumstances for session in answering if session.circumstances is not None]
    reasons = []
    if found := differences(known):
        reasons.append(f"not all answers were computed alike: {_listed(one.words for one in found)}")
    unknown = len(answering) - len(known)
    # Of a single session, whatever it computed with, all answers are alike.
    if unknown and len(answering) > 1:
        reasons.append(f"what {unknown} of its {len(answering)} sessions computed with is unknown")
    return ", and ".join(reasons) or None


def _listed(parts: Iterable[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


class Telling:
    """Tells a journal what this process computes with, and people what of it is new to the run."""

    def __init__(self, model: Model, journal: Journal) -> None:
        self._model, self._journal = model, journal
        self._earlier = [session for session in journal.sessions() if session.answered]
        self._plans: dict[str, str] = {}
        self._circumstances: dict[str, Any] | None = None
        self._told: dict[str, Any] | None = None
        self._said: set[str] = set()

    def planned(self, kind: str, batches: Sequence[Sequence[Request]]) -> None:
        """Take note of the plan over all requests of ``kind``, before any is asked; say what is new to the run."""
        self._plans[kind] = _digest(batches)
        self.renew()
        self._compare()

    def renew(self) -> None:
        """Tell the journal, before a commit, what the model computes with: replicas may have come since."""
        if self._circumstances is None or takes_many(self._model):
            self._circumstances = circumstances(self._model)
        now = {**self._circumstances, **({"plans": dict(self._plans)} if self._plans else {})}
        if now != self._told:
            self._told = now
            self._journal.tell(plain(now))

    def _compare(self) -> None:
        known = [session.circumstances for session in self._earlier if session.circumstances is not None]
        unknown = len(known) < len(self._earlier)
        if unknown and UNKNOWN not in self._said:
            self._said.add(UNKNOWN)
            log.warning(
                "There is no record of what the earlier answers in %s were computed with, so the run cannot promise to "
                "be repeated byte for byte. To have that, answer everything anew in another folder (--out).",
                self._journal.path.parent,
            )
        if known:
            before = {one.name: one.values for one in differences(known)}
            now = differences([*known, plain(self._told)])
            new = [one for one in now if one.name not in self._said and one.values != before.get(one.name)]
            if new:
                self._say(new, mendable=not before and not unknown)

    def _say(self, new: Sequence[Difference], *, mendable: bool) -> None:
        self._said.update(one.name for one in new)
        # Batches fall otherwise for one of the other reasons, where there is one.
        causes = [one for one in new if not one.name.startswith(_PLAN)] or new
        as_begun = _listed(one.as_before for one in causes)
        resumed = f"stop it before it has answers of its own, and run again with {as_begun}; or " if mendable else ""
        log.warning(
            "The earlier answers in %s were not computed as those to come: %s. The run goes on, but cannot be repeated "
            "byte for byte. To avoid that, %sanswer everything anew in another folder (--out).",
            self._journal.path.parent,
            _listed(one.words for one in new),
            resumed,
        )


def _digest(batches: Iterable[Sequence[Request]]) -> str:
    state = hashlib.blake2b(digest_size=16)
    for batch in batches:
        state.update("".join(request.key for request in batch).encode() + b"\n")
    return state.hexdigest()

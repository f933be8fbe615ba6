"""Answers of an earlier run whose thoughts had less room: those that came to an end are taken, the others continued.

Drawn greedily, an answer that ended within a small budget is the one that a larger budget gives, and a thought that was
cut off is the beginning of a longer one. So a run that differs from an earlier one beside it in nothing but a larger
``--thinking-tokens`` asks for neither again. Under sampling this would not be so: the short answers would be drawn from
the small budget and the long ones from the large one. Then everything is asked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from kapwa.errors import RunError
from kapwa.files import jsonable
from kapwa.models.base import Model
from kapwa.models.gate import ending_of, gate
from kapwa.models.thinking_settings import BUDGET
from kapwa.records import Request, Response, request_key
from kapwa.runs.cache import not_cached
from kapwa.runs.schema import RUN, differences, environments
from kapwa.runs.store import JOURNAL, AnswerStore
from kapwa.value_types import JsonMapping, JsonObject

_BUDGET = "thinking_tokens"
_ENDED = ("answered", "empty", "declined")


class LookupResult(NamedTuple):
    """What an earlier run knows of some requests: ``answered`` by it, and the ``rest``, perhaps with a text begun."""

    answered: list[Response]
    rest: list[Request]


class ShorterThinkingRun(AbstractContextManager["ShorterThinkingRun"]):
    """The answers in ``folder``, whose model had the ``fingerprint`` of today's but for the room of its thoughts."""

    def __init__(self, folder: Path, fingerprint: JsonMapping) -> None:
        """Open the run's journal to read it; raise RunError where that cannot be."""
        self._store = AnswerStore(folder / JOURNAL, mode="read")
        self._fingerprint = fingerprint
        self.name, self.budget = folder.name, _budget(fingerprint)
        self.origin = {"id": self._store.identity, "name": f"of the run {folder.name}"}

    def __exit__(self, *_: object) -> None:
        """Close the journal."""
        self._store.close()

    def computed_as(self, model: Model) -> bool:
        """Whether the answers do not depend on the machine, or came from one like this."""
        before = environments(self._store.sessions())
        return not model.atomic_batches or differences([*before, jsonable(dict(model.environment))]) is None

    def continued_in(self, store: AnswerStore) -> JsonObject:
        """Return what ``run.json`` says of the answers in ``store`` that go on from a text which this run had begun."""
        n = int(store.rows("SELECT count(*) FROM responses WHERE json_extract(payload, '$.begun') > 0")[0][0])
        return {"continued": {"answers": n, "run": self.name, "thinking_tokens": self.budget}} if n else {}

    def look_up(self, requests: Sequence[Request]) -> LookupResult:
        """Return the answers to ``requests`` that stand, and the requests that must be asked."""
        keys = {request.key: request_key(request, self._fingerprint) for request in requests if _is_greedy(request)}
        stored = self._store.find(keys.values())
        result = LookupResult([], [])
        for request in requests:
            response = stored.get(keys.get(request.key, ""))
            state = None if response is None else gate(response).state
            if response is None or (state not in _ENDED and not _was_cut(response)):
                result.rest.append(request)
            elif state in _ENDED:
                result.answered.append(replace(response, request_key=request.key))
            else:
                result.rest.append(replace(request, begun=response))
        return result


def find_shorter_run(model: Model, folder: Path, folders: Iterable[Path]) -> ShorterThinkingRun | None:
    """Return the answers of the run with the next smaller budget of thoughts; None where there is none to use.

    ``folder``: of the run that asks; ``folders``: of runs of the same task. Answers of a served model count only
    where its revision is named, as for a cache.
    """
    if not model.continues or not_cached(model):
        return None
    now = jsonable(dict(model.fingerprint))
    others = ((other, _fingerprint_in(other)) for other in folders if other != folder)
    smaller = [
        (other, before)
        for other, before in others
        if {**before, _BUDGET: 0} == {**now, _BUDGET: 0} and _budget(before) < _budget(now)
    ]
    for other, before in sorted(smaller, key=lambda pair: -_budget(pair[1])):
        try:
            run = ShorterThinkingRun(other, before)
            if run.computed_as(model):
                return run
            run.__exit__()
        except RunError:
            continue  # in use, or damaged: its own command says so
    return None


def _fingerprint_in(folder: Path) -> JsonMapping:
    model = (RUN.peek(folder) or {}).get("model")
    fingerprint = model.get("fingerprint") if isinstance(model, dict) else None
    return fingerprint if isinstance(fingerprint, dict) else {}


def _budget(fingerprint: JsonMapping) -> int:
    budget = fingerprint.get(_BUDGET, BUDGET)
    return budget if isinstance(budget, int) else BUDGET


def _is_greedy(request: Request) -> bool:
    return request.kind == "generate" and request.params.temperature == 0


def _was_cut(response: Response) -> bool:
    """Whether a text ended at its limit, so that it can go on."""
    return response.error is None and ending_of(response.finish_reason) == "length" and bool(response.text)

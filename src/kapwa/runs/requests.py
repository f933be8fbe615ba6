"""Requests by key, and the answers to them as judging reads them."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from kapwa.errors import RunError, UsageError
from kapwa.records import Answer, Item, Kind, Request, Response, request_key
from kapwa.runs.store import AnswerStore
from kapwa.suites.base import Task

_KEY_BYTES = 16
# Up to so many requests are kept. A longer run keeps 16 bytes of each and makes them anew on each pass:
# ``Task.requests`` is a pure function of the items.
KEPT = 50_000
_READ = 500


class RequestIndex:
    """Requests for one model, bound to their keys.

    ``total`` counts requests, ``distinct_total`` the different ones: equal questions are asked once, unless the
    fingerprint says that answers go ``by_item``. ``kinds``: which kinds of request there are. ``identity`` (32 hex
    digits): of ``about``, the model and every question. ``fingerprint``: of the model.
    """

    def __init__(
        self, make: Callable[[], Iterable[Request]], fingerprint: Mapping[str, object], about: Sequence[object] = ()
    ) -> None:
        """Make every request once; ``make`` gives the same ones each time. ``about``: plain values, a name first."""
        self._make, self._about, self.fingerprint = make, about, dict(fingerprint)
        self._kept: list[Request] | None = []
        keys = bytearray()
        kinds: set[Kind] = set()
        state = hashlib.blake2b(digest_size=16)
        for request in self._made():
            key = bytes.fromhex(request.key)
            keys += key
            kinds.add(request.kind)
            state.update(key + f"{request.item_id}\0{request.variant}\0".encode("utf-8", "surrogatepass"))
            if self._kept is not None:
                self._kept.append(request)
                if len(self._kept) > KEPT:
                    self._kept = None
        self._keys = bytes(keys)
        self.kinds = frozenset(kinds)
        self.total = len(keys) // _KEY_BYTES
        # The place of the first request of each key; sorting takes far less memory than a set of keys.
        self._first = np.zeros(self.total, dtype=np.bool_)
        self._first[np.unique(np.frombuffer(self._keys, dtype="S16"), return_index=True)[1]] = True
        self.distinct_total = int(self._first.sum())
        text = json.dumps(
            [*about, self.fingerprint, state.hexdigest()], sort_keys=True, ensure_ascii=False, default=str
        )
        self.identity = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def _made(self) -> Iterator[Request]:
        """Make every request, bound to its key."""
        by_item = self.fingerprint.get("by_item")
        for request in self._make():
            # Recorded answers belong to an item: two items with one prompt may have been answered differently.
            fingerprint = self.fingerprint
            if by_item:
                fingerprint = {**fingerprint, "item": [request.item_id, request.variant]}
            yield replace(request, key=request_key(request, fingerprint))

    @property
    def in_memory(self) -> bool:
        """Whether the requests are kept; those of a longer run are made again on each pass."""
        return self._kept is not None

    def __iter__(self) -> Iterator[Request]:
        """Yield every request; raise RunError if the task's requests changed between passes."""
        if self._kept is not None:
            yield from self._kept
            return
        keys = (self._keys[i : i + _KEY_BYTES].hex() for i in range(0, len(self._keys), _KEY_BYTES))
        for request, key in itertools.zip_longest(self._made(), keys):
            if request is None or request.key != key:
                raise RunError(
                    f"{self._about[0] if self._about else 'The task'} made other requests on a second pass.",
                    hint="Task.requests must be a pure function of the items; report this to the suite's authors.",
                )
            yield request

    def distinct(self, kind: Kind | None = None) -> Iterator[Request]:
        """Yield the first request of each key, all of them or those of one kind."""
        for request, first in zip(self, self._first, strict=True):
            if first and kind in (None, request.kind):
                yield request


def requests_of(task: Task, items: Sequence[Item], fingerprint: Mapping[str, object]) -> RequestIndex:
    """Return the requests of ``task`` for one model; raise UsageError where there are no items.

    Their identity is what makes a run this run: task, options, data, model and every question.
    """
    if not items:
        raise UsageError(f"{task.name} has no items to ask about.", hint="Loosen --where or --variant.")
    return RequestIndex(partial(task.requests, items), fingerprint, (task.name, dict(task.options), task.data.digest))


@dataclass(frozen=True, slots=True)
class AnswerReader(Collection[Answer]):
    """Every request of ``index`` with its response, in the index's order; equal questions share one response.

    Each iteration reads the store again and holds a few hundred answers, so that a task may judge millions of them.
    Raises RunError for a request that was never answered and for a damaged row. ``ended``: which limit ended the asking
    before everything was asked; then what was never answered was not asked.
    """

    index: RequestIndex
    store: AnswerStore
    ended: str | None = None

    def __len__(self) -> int:
        return self.index.total

    def __iter__(self) -> Iterator[Answer]:
        """Yield each request with its response after the gate: thought parted from text, and with its state."""
        source = iter(self.index)
        while requests := list(itertools.islice(source, _READ)):
            keys = [request.key for request in requests]
            not_asked = frozenset(self.store.unknown(keys)) if self.ended is not None else frozenset[str]()
            responses = self.store.read_gated(key for key in keys if key not in not_asked)
            for request in requests:
                left_out = request.key in not_asked
                yield Answer(request, Response(request.key, state="not asked") if left_out else next(responses))

    def __contains__(self, answer: object) -> bool:
        return any(member == answer for member in self)

"""Every request of a run by key, and the answers to them as judging reads them."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kapwa.errors import RunError
from kapwa.records import Answer, Item, Kind, Request, request_key
from kapwa.runs.store import AnswerStore
from kapwa.suites.base import Task

_KEY_BYTES = 16
# Up to so many requests are kept. A longer run keeps 16 bytes of each and makes them anew on each pass:
# ``Task.requests`` is a pure function of the items.
KEPT = 50_000
_READ = 500


class RequestIndex:
    """The requests of ``task`` for one model, bound to their keys.

    ``total`` counts requests, ``distinct_total`` the different ones: equal questions are asked once, unless the
    fingerprint says that answers go ``by_item``. ``kinds``: which kinds of request there are. ``identity`` (32 hex
    digits): what makes this run this run: task, options, data, model and every question.
    """

    def __init__(self, task: Task, items: Sequence[Item], fingerprint: Mapping[str, Any]) -> None:
        self._task, self._items, self._fingerprint = task, items, dict(fingerprint)
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
        parts = [task.name, dict(task.options), task.data.digest, self._fingerprint, state.hexdigest()]
        text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
        self.identity = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def _made(self) -> Iterator[Request]:
        """Make every request, bound to its key."""
        by_item = self._fingerprint.get("by_item")
        for request in self._task.requests(self._items):
            # Recorded answers belong to an item: two items with one prompt may have been answered differently.
            fingerprint = self._fingerprint
            if by_item:
                fingerprint = {**fingerprint, "item": [request.item_id, request.variant]}
            yield replace(request, key=request_key(request, fingerprint))

    def __iter__(self) -> Iterator[Request]:
        """Yield every request; raise RunError if the task's requests changed between passes."""
        if self._kept is not None:
            yield from self._kept
            return
        keys = (self._keys[i : i + _KEY_BYTES].hex() for i in range(0, len(self._keys), _KEY_BYTES))
        for request, key in itertools.zip_longest(self._made(), keys):
            if request is None or request.key != key:
                raise RunError(
                    f"{self._task.name} made other requests on a second pass.",
                    hint="Task.requests must be a pure function of the items; report this to the suite's authors.",
                )
            yield request

    def distinct(self, kind: Kind | None = None) -> Iterator[Request]:
        """Yield the first request of each key, all of them or those of one kind."""
        for request, first in zip(self, self._first, strict=True):
            if first and kind in (None, request.kind):
                yield request


@dataclass(frozen=True, slots=True)
class AnswerReader(Collection[Answer]):
    """Every request of ``index`` with its response, in the index's order; equal questions share one response.

    Iterating reads the store anew and holds a few hundred answers, so that a task may judge millions of them.
    Raises RunError for a request that was never answered and for a damaged row.
    """

    index: RequestIndex
    store: AnswerStore

    def __len__(self) -> int:
        return self.index.total

    def __iter__(self) -> Iterator[Answer]:
        source = iter(self.index)
        while requests := list(itertools.islice(source, _READ)):
            yield from map(Answer, requests, self.store.read(request.key for request in requests))

    def __contains__(self, answer: object) -> bool:
        return any(member == answer for member in self)

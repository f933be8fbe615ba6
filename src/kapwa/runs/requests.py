"""Every request of a run, by key; the requests themselves are made anew on each pass.

A run of millions of requests keeps 16 bytes for each, not its text: ``Task.requests`` is a pure
function of the items, so asking and judging each walk through it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kapwa.errors import RunError
from kapwa.records import Item, Kind, Request, request_key
from kapwa.suites.base import Task

_KEY_BYTES = 16


class RequestBook:
    """The requests of ``task`` for one model, bound to their keys.

    ``total`` counts requests, ``distinct_total`` the different ones: equal questions are asked once, unless the
    fingerprint says that answers go ``by_item``. ``kinds``: which kinds of request there are.
    """

    def __init__(self, task: Task, items: Sequence[Item], fingerprint: Mapping[str, Any]) -> None:
        self._task, self._items, self._fingerprint = task, items, dict(fingerprint)
        keys = bytearray()
        kinds: set[Kind] = set()
        state = hashlib.blake2b(digest_size=16)
        for request in task.requests(items):
            key = bytes.fromhex(self._key(request))
            keys += key
            kinds.add(request.kind)
            state.update(key + f"{request.item_id}\0{request.variant}\0".encode("utf-8", "surrogatepass"))
        self._keys = bytes(keys)
        self.kinds = frozenset(kinds)
        self._first = _first_of_each(self._keys)
        self.digest = state.hexdigest()
        self.total = len(self._first)
        self.distinct_total = int(self._first.sum())

    def __iter__(self) -> Iterator[Request]:
        """Yield every request, bound to its key; raise RunError if the task's requests changed between passes."""
        n = 0
        for n, request in enumerate(self._task.requests(self._items), start=1):
            key = self._key(request)
            if self._keys[(n - 1) * _KEY_BYTES : n * _KEY_BYTES] != bytes.fromhex(key):
                raise _changed(self._task)
            yield replace(request, key=key)
        if n != self.total:
            raise _changed(self._task)

    def _key(self, request: Request) -> str:
        if not self._fingerprint.get("by_item"):
            return request_key(request, self._fingerprint)
        # Recorded answers belong to an item: two items with one prompt may have been answered differently.
        return request_key(request, {**self._fingerprint, "item": [request.item_id, request.variant]})

    def distinct(self) -> Iterator[Request]:
        """Yield the first request of each key."""
        for request, first in zip(self, self._first, strict=True):
            if first:
                yield request

    def distinct_keys(self) -> Iterator[str]:
        """Yield each key once, in the order of :meth:`distinct`."""
        for i in np.flatnonzero(self._first):
            yield self._keys[i * _KEY_BYTES : (i + 1) * _KEY_BYTES].hex()

    def identity(self) -> str:
        """Hash what makes this run this run: task, options, data, model and every question (32 hex digits)."""
        parts = [
            self._task.name,
            dict(self._task.options),
            self._task.data.digest,
            self._fingerprint,
            self.digest,
        ]
        text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _first_of_each(keys: bytes) -> NDArray[np.bool_]:
    """Mark the first occurrence of each 16-byte key; sorting takes far less memory than a set of keys."""
    halves = np.frombuffer(keys, dtype=np.uint64).reshape(-1, 2)
    first = np.zeros(len(halves), dtype=np.bool_)
    if len(halves):
        order = np.lexsort((halves[:, 1], halves[:, 0]))  # stable: equal keys stay in their order
        ranked = halves[order]
        first[order] = np.concatenate(([True], (ranked[1:] != ranked[:-1]).any(axis=1)))
    return first


def _changed(task: Task) -> RunError:
    return RunError(
        f"{task.name} made other requests on a second pass.",
        hint="Task.requests must be a pure function of the items; report this to the suite's authors.",
    )

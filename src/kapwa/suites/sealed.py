"""What was read of large mapped tables, kept so that a second start need not lay them out again; sealed by the tables.

People's answers must not outlive a withdrawal in a folder of Kapwa's. So what is kept is encrypted, and its key is kept
nowhere: it is a hash of the tables' own bytes, with all else that the reading follows from. Whoever holds those tables
opens it and learns nothing new; once a row was taken out of them, or they were deleted, nobody can.

The key stream is SHAKE-256 of the key and a nonce, and a keyed BLAKE2b over all of it tells damage (encrypt, then
authenticate). One file stays for each folder and task; it lies where :mod:`kapwa.suites.kept` keeps its numbers.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from hmac import compare_digest
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter

from kapwa.suites.kept import keep

T = TypeVar("T")
MOST_FILES = 20
_NONCE, _TAG = 16, 32  # bytes


@dataclass
class CachedReading:
    """What a suite reads of mapped tables, as JSON; None until it was read.

    ``remark``: on rows that were left out. ``used``: whether the suite asked for it.
    """

    content: bytes | None = None
    remark: str = ""
    used: bool = False


_current: ContextVar[CachedReading | None] = ContextVar("reading", default=None)


@contextmanager
def reading_of(reading: CachedReading | None) -> Iterator[None]:
    """Have :func:`read_once` return what ``reading`` holds, or let that hold what it reads; with None it just reads."""
    token = _current.set(reading)
    try:
        yield
    finally:
        _current.reset(token)


def read_once(kind: Any, read: Callable[[], T]) -> T:
    """Return what ``read`` returns; where the same mapped tables were read before, what it returned then.

    ``kind``: its type, of dataclasses, named tuples and what JSON knows. What does not come back equal is not kept. To
    be called once by a task of Kapwa's own that is opened, for other packages' code is not among the rules of the key.
    """
    current = _current.get()
    if current is None:
        return read()
    current.used = True
    adapter: TypeAdapter[T] = TypeAdapter(kind)
    if current.content is not None:
        return adapter.validate_json(current.content)
    value = read()
    with suppress(ValueError):
        content = adapter.dump_json(value, warnings=False)
        if adapter.validate_json(content) == value:
            current.content = content
    return value


class Seal(NamedTuple):
    """Where something is kept, and the key that only those have who have the tables."""

    path: Path
    key: bytes

    def opened(self) -> CachedReading | None:
        """Return what was kept; None where nothing was, where it is damaged, and where the tables were others."""
        with suppress(OSError, ValueError, zlib.error):
            raw = self.path.read_bytes()
            tag, nonce, hidden = raw[:_TAG], raw[_TAG : _TAG + _NONCE], raw[_TAG + _NONCE :]
            if compare_digest(tag, self._tag(nonce + hidden)):
                os.utime(self.path)  # the files longest unused go first
                remark, _, content = zlib.decompress(self._hidden(nonce, hidden)).partition(b"\n")
                return CachedReading(content, json.loads(remark))
        return None

    def keep(self, reading: CachedReading) -> None:
        """Keep what was read, if anything was, in place of what was kept before."""
        if reading.content is not None:
            nonce = secrets.token_bytes(_NONCE)
            content = json.dumps(reading.remark).encode() + b"\n" + reading.content
            sealed = nonce + self._hidden(nonce, zlib.compress(content, 1))
            keep(self.path, self._tag(sealed) + sealed, MOST_FILES)

    def _hidden(self, nonce: bytes, content: bytes) -> bytes:
        """Return ``content`` hidden, or what is hidden shown: the same bits are turned over."""
        import numpy as np

        stream = hashlib.shake_256(b"hide" + self.key + nonce).digest(len(content))
        return np.bitwise_xor(np.frombuffer(content, np.uint8), np.frombuffer(stream, np.uint8)).tobytes()

    def _tag(self, content: bytes) -> bytes:
        return hashlib.blake2b(content, key=self.key, digest_size=_TAG, person=b"kapwa sealed").digest()

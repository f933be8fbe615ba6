"""Is a write-ahead log whole? SQLite reads one up to the first damaged frame and drops the rest without a word.

A log that a killed process or a power cut left behind may end in a half-written transaction: that one was never
confirmed, and dropping it is right. But a transaction begins only after the one before it is safe on the disk, so two
or more after a broken place were confirmed: then answers would go, and the journal is damaged.

The format: https://www.sqlite.org/fileformat2.html, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_HEADER, _FRAME = 32, 24
# The magic number's last bit says in which order the checksums read their words.
_ORDERS = {0x377F0682: "<u4", 0x377F0683: ">u4"}
_AT_ONCE = 1000  # frames: bounds memory
_WORD = 1 << 32
Words = NDArray[np.uint32]


class Frames(NamedTuple):
    """Some frames of a log, one row each.

    ``own``: they carry the log's salts (others were left by an earlier round, or are damaged); ``commit``: they end a
    transaction;
    ``stored``: the checksums they carry; ``sums``: what their own bytes add to the running checksums.
    """

    own: NDArray[np.bool_]
    commit: NDArray[np.bool_]
    stored: Words
    sums: Words


def lost_transactions(log: Path) -> int:
    """Return how many confirmed transactions of the log SQLite would drop: 0 for a whole one, or one cut short."""
    with log.open("rb") as file:
        header = file.read(_HEADER)
    if len(header) < _HEADER or log.stat().st_size < _HEADER + _FRAME:
        return 0
    order = _ORDERS.get(int.from_bytes(header[:4], "big"))
    size = int.from_bytes(header[8:12], "big")
    state = _start(header, order) if order is not None else None
    if order is None or state is None or not 512 <= size <= 65536:
        return 1  # a header is on the disk before its first frame, so this one was damaged later
    return _lost(_read(log, header, size, order), state, size)


def current_salts(start: bytes) -> bytes:
    """Return the salts that frames of a log's last round carry, from its first 56 bytes.

    A log is written anew from its start once the journal holds everything in it; what it is too short to write over
    stays behind it, with other salts. Where the header is damaged, the first frame tells them.
    """
    order = _ORDERS.get(int.from_bytes(start[:4], "big"))
    sound = len(start) >= _HEADER and order is not None and _start(start[:_HEADER], order) is not None
    return start[16:24] if sound else start[_HEADER + 8 : _HEADER + 16]


def _start(header: bytes, order: str) -> tuple[int, int] | None:
    """Return the checksums of a sound header."""
    words = np.frombuffer(header[:24], dtype=order).astype(np.uint32)
    found = _advance((0, 0), (words[None, :] @ _weights(6).T)[0], 3)
    stored = np.frombuffer(header[24:32], dtype=">u4")
    return found if found == (int(stored[0]), int(stored[1])) else None


def _lost(log: Iterator[Frames], state: tuple[int, int], size: int) -> int:
    steps = (size + 8) // 8
    broken, before, lost = False, False, 0
    for frames in log:
        for own, commit, stored, sums in zip(*frames, strict=True):
            if not broken:
                state = _advance(state, sums, steps)
                broken = not own or state != (int(stored[0]), int(stored[1]))
            if broken and own:
                # Some systems repeat the last frame to fill a sector: still one transaction.
                lost += bool(commit) and not before
                before = bool(commit)
    return lost if lost > 1 else 0


def _read(log: Path, header: bytes, size: int, order: str) -> Iterator[Frames]:
    width = _FRAME + size
    salts = header[16:24]
    with log.open("rb") as file:
        file.seek(_HEADER)
        while chunk := file.read(_AT_ONCE * width):
            table = np.frombuffer(chunk, dtype=np.uint8, count=len(chunk) // width * width).reshape(-1, width)
            if not len(table):
                return
            summed = np.concatenate((table[:, :8], table[:, _FRAME:]), axis=1)
            words = summed.view(order).astype(np.uint32)
            yield Frames(
                own=np.asarray((table[:, 8:16] == np.frombuffer(salts, dtype=np.uint8)).all(axis=1)),
                commit=np.asarray(table[:, 4:8].any(axis=1)),
                stored=np.ascontiguousarray(table[:, 16:24]).view(">u4").astype(np.uint32),
                sums=words @ _weights(words.shape[1]).T,
            )


def _advance(state: tuple[int, int], sums: Words, steps: int) -> tuple[int, int]:
    (a, b), (c, d) = _power(steps)
    return ((a * state[0] + b * state[1] + int(sums[0])) % _WORD, (c * state[0] + d * state[1] + int(sums[1])) % _WORD)


# SQLite's sum takes two words x, y a step: s0 += x + s1; s1 += y + s0. That is linear, modulo 2**32: a step multiplies
# (s0, s1) by ((1, 1), (1, 2)) and adds (x, x + y). So the sum of a page is a product with fixed weights.


@lru_cache(maxsize=4)
def _power(steps: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the matrix of a step to the power of ``steps``; its powers are symmetric."""
    a, b, d = 1, 0, 1
    for _ in range(steps):
        a, b, d = (a + b) % _WORD, (b + d) % _WORD, (b + 2 * d) % _WORD
    return (a, b), (b, d)


@lru_cache(maxsize=4)
def _weights(words: int) -> Words:
    """Return what each word of a page adds to the two sums: (2, words)."""
    found = np.empty((2, words), dtype=np.uint32)
    a, b, d = 1, 0, 1  # the last words are multiplied by no more steps, those before by one, ...
    for at in range(words - 2, -1, -2):
        found[:, at] = ((a + b) % _WORD, (b + d) % _WORD)
        found[:, at + 1] = (b, d)
        a, b, d = (a + b) % _WORD, (b + d) % _WORD, (b + 2 * d) % _WORD
    return found

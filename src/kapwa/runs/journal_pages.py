"""Read the rows of a journal page by page, whatever became of the rest of it.

SQLite finds a row through pages that point to pages; where one of these is damaged, it cannot reach what lies behind.
But each page tells by itself which rows it holds. A row's checksum says whether it is whole, so nothing else need be.

The format: https://www.sqlite.org/fileformat2.html. Journals have pages of one size (:data:`kapwa.runs.journal.PAGE`),
no reserved bytes, UTF-8.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from kapwa.runs.journal_log import current_salts

Value = int | float | str | bytes | None
Place = tuple[int, int]  # which of the two files, and where in it


class Found(NamedTuple):
    """A row: its number (0 in keyed tables), its values, and whether its page is the newest image there is of it."""

    number: int
    values: tuple[Value, ...]
    newest: bool


_LEAF, _KEYED, _KEYED_INNER = 0x0D, 0x0A, 0x02  # kinds of pages that hold rows
_LOG_HEADER, _FRAME = 32, 24
_LARGEST = 1 << 30  # SQLite's own limit of a row
_WIDTHS = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)  # bytes of a value, by its type
_FLOAT, _ZERO, _ONE = 7, 8, 9


class Pages:
    """The pages of a journal and of its log. ``images`` are places of pages, the oldest first."""

    def __init__(self, journal: mmap.mmap | bytes, log: mmap.mmap | bytes, size: int) -> None:
        self._size, self._files = size, (journal, log)
        left, current = _frames(log, size)
        # What an earlier round left in the log is in the journal since, and may have been replaced there.
        self.images = [place for _, place in left] + [(0, at) for at in range(0, len(journal) - size + 1, size)]
        # The newest image of each page; frames of a broken log count too, a row's checksum decides.
        self._newest = dict(left) | dict(enumerate(self.images[len(left) :], start=1)) | dict(current)
        self.images += [place for _, place in current]

    def rows(self) -> Iterator[Found]:
        """Yield every row that can be made out, older images of a page before newer ones."""
        newest = set(self._newest.values())
        for place in self.images:
            page = self._page(place)
            # The file's own head comes before the first page's.
            start = 100 if place == (0, 0) or page.startswith(b"SQLite format 3\0") else 0
            if page[start] in (_LEAF, _KEYED, _KEYED_INNER):
                for number, values in self._rows_of(page, start):
                    yield Found(number, values, place in newest)

    def _page(self, place: Place) -> bytes:
        file, at = place
        return self._files[file][at : at + self._size]

    def _rows_of(self, page: bytes, start: int) -> Iterator[tuple[int, tuple[Value, ...]]]:
        kind = page[start]
        count = int.from_bytes(page[start + 3 : start + 5], "big")
        first = start + (12 if kind == _KEYED_INNER else 8)
        for at in range(first, min(first + 2 * count, self._size - 1), 2):
            cell = int.from_bytes(page[at : at + 2], "big")
            try:
                yield self._row(page, kind, cell)
            except (IndexError, ValueError, struct.error):
                continue  # no row, or half of one

    def _row(self, page: bytes, kind: int, at: int) -> tuple[int, tuple[Value, ...]]:
        if kind == _KEYED_INNER:
            at += 4
        length, at = _varint(page, at)
        number = 0
        if kind == _LEAF:
            number, at = _varint(page, at)
        if length > _LARGEST:
            raise ValueError(length)
        return number, _values(self._payload(page, kind, at, length))

    def _payload(self, page: bytes, kind: int, at: int, length: int) -> bytes:
        size = self._size
        most = size - 35 if kind == _LEAF else (size - 12) * 64 // 255 - 23
        if length <= most:
            return _exactly(page[at : at + length], length)
        least = (size - 12) * 32 // 255 - 23
        here = least + (length - least) % (size - 4)
        here = here if here <= most else least
        parts = [_exactly(page[at : at + here + 4], here + 4)[:here]]
        following = int.from_bytes(page[at + here : at + here + 4], "big")
        missing = length - here
        while missing > 0:
            place = self._newest.get(following)
            if place is None:
                raise ValueError(following)
            more = self._page(place)
            parts.append(more[4 : 4 + missing])
            missing -= size - 4
            following = int.from_bytes(more[:4], "big")
        return _exactly(b"".join(parts), length)


@contextmanager
def opened(journal: Path, log: Path, size: int) -> Iterator[Pages]:
    """Open the two files to read; a file that is missing or empty has no pages. Raises OSError."""
    with ExitStack() as stack:
        files: list[mmap.mmap | bytes] = []
        for path in (journal, log):
            if not path.exists() or path.stat().st_size == 0:
                files.append(b"")
                continue
            file = stack.enter_context(path.open("rb"))
            files.append(stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
        yield Pages(files[0], files[1], size)


def _frames(log: mmap.mmap | bytes, size: int) -> tuple[list[tuple[int, Place]], list[tuple[int, Place]]]:
    """Return page numbers and images in a log: those that earlier rounds left behind, and those of its last round."""
    salts = current_salts(log[: _LOG_HEADER + _FRAME])
    left: list[tuple[int, Place]] = []
    current: list[tuple[int, Place]] = []
    for at in range(_LOG_HEADER, len(log) - size - _FRAME + 1, size + _FRAME):
        frames = current if log[at + 8 : at + 16] == salts else left
        frames.append((int.from_bytes(log[at : at + 4], "big"), (1, at + _FRAME)))
    return left, current


def _exactly(part: bytes, length: int) -> bytes:
    if len(part) != length:
        raise ValueError(length)
    return part


def _varint(page: bytes, at: int) -> tuple[int, int]:
    """Read a whole number of one to nine bytes; return it and where it ends."""
    value = 0
    for i in range(8):
        byte = page[at + i]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + i + 1
    return value << 8 | page[at + 8], at + 9


def _values(record: bytes) -> tuple[Value, ...]:
    """Read a row's values; raise ValueError, IndexError or struct.error where it is none."""
    end, at = _varint(record, 0)
    kinds = []
    while at < end:
        kind, at = _varint(record, at)
        kinds.append(kind)
    if at != end:
        raise ValueError(end)
    found: list[Value] = []
    for kind in kinds:
        width = (kind - 12) // 2 if kind >= 12 else _WIDTHS[kind]
        found.append(_value(kind, _exactly(record[at : at + width], width)))
        at += width
    return tuple(found)


def _value(kind: int, raw: bytes) -> Value:
    if kind >= 12:
        return raw.decode() if kind % 2 else raw
    if kind == 0:
        return None
    if kind in (_ZERO, _ONE):
        return kind - _ZERO
    if kind == _FLOAT:
        return float(struct.unpack(">d", raw)[0])
    return int.from_bytes(raw, "big", signed=True)

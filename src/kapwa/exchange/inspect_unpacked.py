"""Whether the members of an Inspect log unpack to what they declare. Import only where Inspect is installed.

Inspect's reader unpacks a member to its end, whatever size the archive states: a file of a few hundred kilobytes can
declare little and unpack to gigabytes. So every member is unpacked here first, a piece at a time, no further than its
declared size, and the pieces are let go; after that the declared sizes can be believed. The list of members is
Inspect's own: another reading of a contrived archive could find other members than those that Inspect will unpack.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

import zstandard
from inspect_ai._util._async import run_coroutine
from inspect_ai._util.async_zip import AsyncZipReader
from inspect_ai._util.asyncfiles import AsyncFilesystem
from inspect_ai._util.zip_common import ZipCompressionMethod, ZipEntry

_PIECE = 1 << 16  # bytes, packed and unpacked, that are held at once
_HEADER = 30  # bytes of a local header before the name and the extra field, whose lengths are its last four


def first_beyond_declared(file: Path, entries: Iterable[ZipEntry]) -> str | None:
    """Return the name of the first member that unpacks to more than it declares; None where each keeps its word.

    ``entries``: those of ``file``, by :func:`members`. Raises what zlib and zstandard raise for members that are
    damaged, and OSError.
    """
    with file.open("rb") as opened:
        return next((entry.filename for entry in entries if _is_beyond(opened, entry)), None)


def members(file: Path) -> list[ZipEntry]:
    """Return the members of the log ``file`` as Inspect's reader finds them: names, sizes, places."""
    return run_coroutine(_members(file))


async def _members(file: Path) -> list[ZipEntry]:
    async with AsyncFilesystem() as system:
        return (await AsyncZipReader(system, file.as_posix()).entries()).entries


def _is_beyond(opened: BinaryIO, entry: ZipEntry) -> bool:
    unpacked = _UNPACKED.get(entry.compression_method)
    if unpacked is None:
        return False  # nobody unpacks it: Inspect's reader knows no other methods
    sizes = itertools.accumulate(unpacked(_Packed(opened, entry)))
    return any(size > entry.uncompressed_size for size in sizes)


class _Packed:
    """The packed bytes of one member, to be read from first to last."""

    def __init__(self, opened: BinaryIO, entry: ZipEntry) -> None:
        opened.seek(entry.local_header_offset)
        header = opened.read(_HEADER)
        opened.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
        self._opened, self.left = opened, entry.compressed_size

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most ``size``; none at the end."""
        piece = self._opened.read(min(size, self.left))
        self.left -= len(piece)
        return piece


def _stored(packed: _Packed) -> Iterator[int]:
    yield packed.left


def _inflated(packed: _Packed) -> Iterator[int]:
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    while not unpacker.eof and (piece := packed.read(_PIECE)):
        while piece and not unpacker.eof:
            yield len(unpacker.decompress(piece, _PIECE))
            piece = unpacker.unconsumed_tail
    yield len(unpacker.flush())


def _zstd(packed: _Packed) -> Iterator[int]:
    # Inspect reads the first frame of a member, or all, depending on what is read: all is the more.
    source = cast("BinaryIO", packed)  # reading is all that is asked of it
    with zstandard.ZstdDecompressor().stream_reader(source, read_across_frames=True, closefd=False) as reader:
        while piece := reader.read(_PIECE):
            yield len(piece)


_UNPACKED: dict[int, Callable[[_Packed], Iterator[int]]] = {
    ZipCompressionMethod.STORED: _stored,
    ZipCompressionMethod.DEFLATE: _inflated,
    ZipCompressionMethod.ZSTD: _zstd,
}

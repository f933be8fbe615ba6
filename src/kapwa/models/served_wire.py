"""One HTTP/1.1 connection: requests go out one after another, replies are read strictly.

RFC 9112 as far as a client of JSON needs it: no pipelining, no upgrade, no trailers kept. What does not fit ends the
connection, so that an answer can never be taken for the answer to another request.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

LONGEST_HEAD = 1 << 16  # bytes
LONGEST_BODY = 1 << 24
_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: [^\r\n]*)?")
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class Reply(NamedTuple):
    """What came back: any status, headers by their names in lower case, the whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class WireError(Exception):
    """The other side does not speak HTTP as it should."""


class CutError(Exception):
    """The connection ended before the reply was complete; ``begun``: some of it had come."""

    def __init__(self, *, begun: bool = False) -> None:
        super().__init__()
        self.begun = begun


class Wire(asyncio.BufferedProtocol):
    """A connection that carries one request at a time. Belongs to one event loop.

    ``inbox`` is where the loop puts what has come. All connections of a loop may share one, since each empties it at
    once. Without it the loop would take and give back 256 KiB for every reply, which costs more than to read it.
    """

    def __init__(self, inbox: bytearray) -> None:
        self.idle_since = 0.0
        self._inbox = memoryview(inbox)
        self.transport: Any = None  # another one once TLS was started inside
        self._lost = False  # a TLS transport that was lost does not say so itself
        self._ends: float | None = None
        self._clock: asyncio.TimerHandle | None = None
        self._answer: asyncio.Future[Reply] | None = None
        self._reader = ReplyReader()

    @property
    def usable(self) -> bool:
        """Whether another request may be sent."""
        return self._answer is None and not self._lost and not self.transport.is_closing()

    async def exchange(
        self, request: bytes, ends: float | None, *, tunnel: bool = False, most: int = LONGEST_BODY
    ) -> Reply:
        """Send a whole request and return its reply, whose body may hold ``most`` bytes, before and after inflating.

        ``tunnel``: the request is CONNECT, whose good reply has no body. Raises TimeoutError when the loop's clock
        shows ``ends``, CutError and WireError; after any error the connection is gone.
        """
        if not self.usable:  # the other side may hang up as soon as it was reached
            raise CutError
        loop = asyncio.get_running_loop()
        self._answer = loop.create_future()
        self._reader = ReplyReader(tunnel=tunnel, most=most)
        self._ends = ends
        if ends is not None and (self._clock is None or ends < self._clock.when()):
            self._wind(ends)
        try:
            self.transport.write(request)
            return await self._answer
        except asyncio.CancelledError:
            self.abort()
            raise
        finally:
            self._answer = None

    def _wind(self, at: float) -> None:
        # One clock for the connection, which goes on running from one request to the next: one for each request would
        # be set and stopped thousands of times a second, and hardly ever ring.
        if self._clock is not None:
            self._clock.cancel()
        self._clock = asyncio.get_running_loop().call_at(at, self._ring)

    def _ring(self) -> None:
        self._clock = None
        if self._answer is None or self._ends is None:
            return
        if asyncio.get_running_loop().time() < self._ends:
            self._wind(self._ends)
        else:
            self._fail(TimeoutError())

    def abort(self) -> None:
        """Close at once, whatever is under way."""
        if self.transport is not None:
            self.transport.abort()

    def close(self) -> None:
        """Close in good order."""
        if self.transport is not None:
            self.transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport (called by asyncio)."""
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the size of the inbox is fixed
        """Say where to put what comes (called by asyncio)."""
        return self._inbox

    def buffer_updated(self, nbytes: int) -> None:
        """Read on (called by asyncio)."""
        if self._answer is None or self._answer.done():
            self.abort()  # nothing was asked: whatever this is, it must not become the next answer
            return
        try:
            reply = self._reader.feed(self._inbox[:nbytes])
        except WireError as error:
            self._fail(error)
            return
        if reply is not None:
            if self.transport.get_write_buffer_size():
                self.abort()  # answered before all was sent: the rest must not become the next request
            elif not self._reader.reusable:
                self.close()
            self._answer.set_result(reply)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - every end is alike
        """End what was waited for (called by asyncio)."""
        self._lost = True
        if self._clock is not None:
            self._clock.cancel()
        if self._answer is None or self._answer.done():
            return
        try:
            reply = self._reader.ended()
        except WireError as problem:
            self._answer.set_exception(problem)
            return
        if reply is None:
            self._answer.set_exception(CutError(begun=self._reader.begun))
        else:
            self._answer.set_result(reply)

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
        self.abort()


class ReplyReader:
    """Reads one reply, with a body of ``most`` bytes at most, from bytes that come in any pieces."""

    def __init__(self, *, tunnel: bool = False, most: int = LONGEST_BODY) -> None:
        self._most = most
        self.reusable = False
        self._tunnel = tunnel
        self._buffer = bytearray()  # what has come and was not read yet; cheap to shorten from the front
        self._status = 0
        self._headers: dict[str, str] = {}
        self._length: int | None = None  # None: until the connection ends
        self._chunked = False
        self._body = bytearray()
        self._trailers = 0

    @property
    def begun(self) -> bool:
        """Whether any of the reply has come."""
        return bool(self._status or self._buffer)

    def feed(self, data: bytes | memoryview) -> Reply | None:
        """Take (copy) more bytes; return the reply once it is complete. Raises WireError."""
        self._buffer += data
        while not self._status:
            end = self._buffer.find(b"\r\n\r\n")
            if end > LONGEST_HEAD or (end < 0 and len(self._buffer) > LONGEST_HEAD):
                raise WireError("its headers are too long")
            if end < 0:
                if not b"HTTP/1.".startswith(self._buffer[:7]):
                    raise WireError("it does not begin as HTTP")
                return None
            head = bytes(self._buffer[:end])
            del self._buffer[: end + 4]
            self._read_head(head)
        if self._chunked:
            return self._read_chunks()
        if self._length is not None and len(self._body) + len(self._buffer) > self._length:
            self.reusable = False  # more than was announced: not to be trusted with another request
            del self._buffer[self._length - len(self._body) :]
        self._take(self._buffer)
        self._buffer.clear()
        return self._reply() if len(self._body) == self._length else None

    def ended(self) -> Reply | None:
        """Take the end of the connection; return the reply if that completes it."""
        if self._status and self._length is None and not self._chunked:
            return self._reply()
        return None

    def _read_head(self, head: bytes) -> None:
        lines = head.split(b"\r\n")
        found = _STATUS.fullmatch(lines[0])
        if found is None:
            raise WireError("it does not begin as HTTP")
        status = int(found[2])
        if status < 200:
            if status == 101:
                raise WireError("it changes the protocol")
            return  # "continue" and hints: the reply itself follows
        headers = _headers(lines[1:])
        self._status, self._headers = status, headers
        old = found[1] == b"0"
        connection = headers.get("connection", "").lower()
        self.reusable = "keep-alive" in connection if old else "close" not in connection
        if self._tunnel and status < 300:
            self.reusable = True  # "connected": what follows is the server's
        self._length = self._announced(status, headers, old=old)
        if self._length is None and not self._chunked:
            self.reusable = False

    def _announced(self, status: int, headers: Mapping[str, str], *, old: bool) -> int | None:
        if status in (204, 304) or (self._tunnel and status < 300):
            return 0
        coding = headers.get("transfer-encoding", "").lower()
        if coding:
            if coding != "chunked":
                raise WireError("it is encoded for transfer in an unknown way")
            self._chunked = True
            if old or "content-length" in headers:
                self.reusable = False  # two lengths, or none in 1.0: somebody on the way may have been deceived
            return None
        if "content-length" not in headers:
            return None
        lengths = {part.strip() for part in headers["content-length"].split(",")}
        length = lengths.pop()
        if lengths or not (length.isascii() and length.isdigit()) or len(length) > 15:
            raise WireError("its length is no number")
        if int(length) > self._most:
            raise self._too_long()
        return int(length)

    def _read_chunks(self) -> Reply | None:
        while True:
            end = self._buffer.find(b"\r\n")
            if end < 0:
                if len(self._buffer) > LONGEST_HEAD:
                    raise WireError("a chunk has no size")
                return None
            if self._length == 0:  # after the last chunk: trailers, and an empty line
                if end == 0:
                    self.reusable = self.reusable and len(self._buffer) == 2
                    return self._reply()
                self._drop_trailer(end)
                continue
            found = _SIZE.fullmatch(self._buffer[:end].split(b";", 1)[0].strip())
            if found is None:
                raise WireError("a chunk has no size")
            size = int(found[0], 16)
            if size == 0:
                self._length = 0
                del self._buffer[: end + 2]
                continue
            start, stop = end + 2, end + 2 + size
            if len(self._body) + size > self._most:
                raise self._too_long()
            if len(self._buffer) < stop + 2:
                return None
            if self._buffer[stop : stop + 2] != b"\r\n":
                raise WireError("a chunk has another size than it says")
            self._take(self._buffer[start:stop])
            del self._buffer[: stop + 2]

    def _drop_trailer(self, end: int) -> None:
        self._trailers += end
        if self._trailers > LONGEST_HEAD:
            raise WireError("its trailers are too long")
        del self._buffer[: end + 2]

    def _take(self, data: bytearray) -> None:
        if len(self._body) + len(data) > self._most:
            raise self._too_long()
        self._body += data

    def _too_long(self) -> WireError:
        return WireError(f"it is too long: over {self._most / 1e6:.1f} MB, far more than the tokens asked for can be")

    def _reply(self) -> Reply:
        body = bytes(self._body)
        coding = self._headers.get("content-encoding", "identity").lower()
        if coding in ("gzip", "x-gzip"):
            body = self._unzipped(body) if body else body  # an empty reply is often marked like all others
        elif coding not in ("identity", ""):
            raise WireError(f"it is compressed in a way that was not asked for ({coding[:20]!a})")
        return Reply(self._status, self._headers, body)

    def _unzipped(self, body: bytes) -> bytes:
        unzip = zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            text = unzip.decompress(body, self._most + 1)
        except zlib.error:
            raise WireError("it is not compressed as it says") from None
        if len(text) > self._most:
            raise self._too_long()
        if not unzip.eof:
            raise WireError("it is compressed in part only")
        return text


def _headers(lines: list[bytes]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        if _CONTROL.search(line):
            raise WireError("a header holds a control character")
        name, colon, value = line.decode("latin-1").partition(":")
        # A folded line begins with a blank, and so is no name either.
        if not colon or _TOKEN.fullmatch(name) is None:
            raise WireError("a header has no name")
        name, value = name.lower(), value.strip(" \t")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers

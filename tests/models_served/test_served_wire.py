"""HTTP as it is read off the wire: every legal form in any pieces, nothing else, and no answer for another request."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.models.served_wire import CutError, ReplyReader, Wire, WireError

BODY = b'{"choices": []}'
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n" + BODY
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'5\r\n{"cho\r\n0A;ext=1\r\nices": []}\r\n0\r\nTrailer: x\r\n\r\n'
)
ZIPPED = gzip.compress(BODY, mtime=0)  # the same bytes in every process: they stand in the names of tests
GZIP = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(ZIPPED), ZIPPED)
HINTS = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + PLAIN
EMPTY = b"HTTP/1.1 204 No Content\r\n\r\n"


@pytest.mark.parametrize(
    ("raw", "body", "reusable"),
    [
        (PLAIN, BODY, True),
        (CHUNKED, BODY, True),
        (GZIP, BODY, True),
        (HINTS, BODY, True),
        (EMPTY, b"", True),
        (PLAIN.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"), BODY, False),
        (PLAIN.replace(b"1.1", b"1.0"), BODY, False),
        (PLAIN.replace(b"1.1 200 OK\r\n", b"1.0 200\r\nConnection: keep-alive\r\n"), BODY, True),
        (CHUNKED.replace(b"OK\r\n", b"OK\r\nContent-Length: 3\r\n"), BODY, False),
        (CHUNKED.replace(b"1.1 200 OK\r\n", b"1.0 200\r\nConnection: keep-alive\r\n"), BODY, False),
        (EMPTY.replace(b"t\r\n", b"t\r\nContent-Encoding: gzip\r\n"), b"", True),
        (PLAIN.replace(b"15", b"15, 15"), BODY, True),
        (PLAIN.replace(b"Content-Length: 15", b"content-length:\t15 "), BODY, True),
    ],
    ids=[
        "plain",
        "chunked",
        "zipped",
        "after-hints",
        "empty",
        "closing",
        "1.0",
        "1.0-kept",
        "chunked-with-a-length",
        "chunked-1.0",
        "empty-zipped",
        "length-twice",
        "spaces",
    ],
)
@given(data=st.data())
def test_a_reply_is_the_same_in_any_pieces(raw, body, reusable, data):
    cuts = sorted(data.draw(st.sets(st.integers(1, len(raw) - 1), max_size=12)))
    reader = ReplyReader()
    replies = [reader.feed(raw[a:b]) for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert replies[:-1] == [None] * len(cuts)
    assert replies[-1].body == body
    assert replies[-1].status in (200, 204)
    assert reader.reusable is reusable


def test_without_a_length_the_end_of_the_connection_ends_the_body():
    reader = ReplyReader()
    assert reader.feed(b"HTTP/1.0 200 OK\r\n\r\n" + BODY[:4]) is None
    assert reader.feed(BODY[4:]) is None
    assert reader.ended().body == BODY
    assert not reader.reusable


@pytest.mark.parametrize("raw", [PLAIN, CHUNKED, GZIP, HINTS], ids=["plain", "chunked", "zipped", "after-hints"])
def test_a_reply_that_ends_early_is_no_reply(raw):
    for end in range(len(raw)):
        reader = ReplyReader()
        assert reader.feed(raw[:end]) is None if end else True
        assert reader.ended() is None


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"SSH-2.0-OpenSSH_9\r\n\r\n", "begin as HTTP"),
        (b"HTTP/2 200\r\n\r\n", "begin as HTTP"),
        (b"HTTP/1.1 20 OK\r\n\r\n", "begin as HTTP"),
        (b"HTTP/1.1 101 Switching\r\n\r\n", "changes the protocol"),
        (b"HTTP/1.1 200 OK\r\n folded\r\n\r\n", "no name"),
        (b"HTTP/1.1 200 OK\r\nA B: c\r\n\r\n", "no name"),
        (b"HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\r\n", "control character"),
        (b"HTTP/1.1 200 OK\r\nA: \x1b[2J\r\n\r\n", "control character"),
        (PLAIN.replace(b"15", b"+15"), "length"),
        (PLAIN.replace(b"15", b"15, 16"), "length"),
        (PLAIN.replace(b"15", b"99999999999"), "too long"),
        (PLAIN.replace(b"OK\r\n", b"OK\r\nTransfer-Encoding: gzip, chunked\r\n"), "unknown way"),
        (PLAIN.replace(b"OK\r\n", b"OK\r\nContent-Encoding: br\r\n"), "not asked for"),
        (PLAIN.replace(b"OK\r\n", b"OK\r\nContent-Encoding: gzip\r\n"), "not compressed"),
        (CHUNKED.replace(b"5\r\n{", b"-5\r\n{"), "no size"),
        (CHUNKED.replace(b"5\r\n{", b"4\r\n{"), "another size"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"x" * 70_000, "too long"),
        (CHUNKED[:-2] + b"A: b\r\n" * 20_000, "trailers are too long"),
    ],
)
def test_what_is_not_http_is_refused(raw, message):
    with pytest.raises(WireError, match=message):
        ReplyReader().feed(raw)


@given(st.binary(max_size=300), st.sampled_from([b"", b"HTTP/1.1 200 OK\r\n", CHUNKED[:60], PLAIN[:50]]))
def test_any_bytes_are_a_reply_or_refused(noise, start):
    reader = ReplyReader()
    try:
        if reader.feed(start + noise) is None:
            reader.ended()
    except WireError:
        pass


def test_bodies_have_a_limit():
    bomb = gzip.compress(b"0" * 100_000)
    for raw in (
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1001,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(bomb), bomb),
    ):
        with pytest.raises(WireError, match=r"too long: over 0\.0 MB, far more than the tokens"):
            ReplyReader(most=1000).feed(raw)


def test_a_body_in_very_many_pieces_takes_no_more_memory_than_a_whole_one():
    raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"2\r\nab\r\n" * 100_000 + b"0\r\n\r\n"
    tracemalloc.start()
    assert len(ReplyReader().feed(raw).body) == 200_000
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 3 * len(raw)


INBOX = bytearray(100)  # one for all connections, as in use; shorter than some replies


async def talk(replies: list[bytes], use) -> None:
    """Connect a Wire to a server that sends one of ``replies`` for each request, and let ``use`` have it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for reply in replies:
            if not await reader.read(1000):
                break
            writer.write(reply)
            await writer.drain()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    loop = asyncio.get_running_loop()
    _, wire = await loop.create_connection(lambda: Wire(INBOX), *server.sockets[0].getsockname())
    try:
        await use(wire, loop.time() + 10)
    finally:
        wire.abort()
        server.close()
        await server.wait_closed()


def test_a_connection_carries_one_request_after_another():
    async def use(wire: Wire, ends: float) -> None:
        for _ in range(3):
            assert wire.usable
            assert (await wire.exchange(b"GET", ends)).body == BODY

    asyncio.run(talk([PLAIN, CHUNKED, PLAIN], use))


def test_connections_that_share_an_inbox_do_not_share_replies():
    """Replies of 2,000 bytes come in turns, piece by piece."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = await reader.readexactly(2) * 1000
        for piece in (b"HTTP/1.1 200 OK\r\nContent-Len", b"gth: 2000\r\n\r\n" + body[:50], body[50:1001], body[1001:]):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)
        await reader.read()
        writer.close()

    async def one(address: tuple[str, int], name: bytes) -> None:
        _, wire = await asyncio.get_running_loop().create_connection(lambda: Wire(INBOX), *address)
        reply = await wire.exchange(name, asyncio.get_running_loop().time() + 10)
        wire.abort()
        assert reply.body == name * 1000

    async def all_at_once() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        address = server.sockets[0].getsockname()
        await asyncio.gather(*(one(address, b"%02d" % i) for i in range(20)))
        server.close()
        await server.wait_closed()

    asyncio.run(all_at_once())


@pytest.mark.parametrize("more", [b"x", PLAIN])
def test_bytes_that_nobody_asked_for_end_the_connection(more):
    """A second answer on the wire could be taken for the answer to the next request."""

    async def use(wire: Wire, ends: float) -> None:
        assert (await wire.exchange(b"GET", ends)).body == BODY
        assert not wire.usable

    asyncio.run(talk([PLAIN + more], use))


def test_an_answer_to_half_a_request_ends_the_connection():
    """What is still to be sent of the request could be taken for the next one."""

    async def use(wire: Wire, ends: float) -> None:
        assert (await wire.exchange(b"x" * 30_000_000, ends)).body == BODY
        assert not wire.usable

    asyncio.run(talk([PLAIN], use))


def test_late_bytes_end_an_idle_connection():
    async def use(wire: Wire, ends: float) -> None:
        await wire.exchange(b"GET", ends)
        late = b"HTTP/1.1 408 Request Timeout\r\n"
        wire.get_buffer(-1)[: len(late)] = late
        wire.buffer_updated(len(late))
        assert not wire.usable

    asyncio.run(talk([PLAIN], use))


@pytest.mark.parametrize(
    ("reply", "seconds", "error"), [(PLAIN[:-1], 0.2, TimeoutError), (b"nonsense\r\n\r\n", 10, WireError)]
)
def test_after_a_failure_a_connection_is_not_used_again(reply, seconds, error):
    async def use(wire: Wire, _ends: float) -> None:
        with pytest.raises(error):
            await wire.exchange(b"GET", asyncio.get_running_loop().time() + seconds)
        assert not wire.usable

    asyncio.run(talk([reply], use))


@pytest.mark.parametrize(("first", "second"), [(60.0, 0.2), (0.2, 0.6)], ids=["shorter", "longer"])
def test_each_request_has_a_time_of_its_own(first, second):
    """The second gets no whole answer: it ends when its own time is over, not when the first one's would have been."""

    async def use(wire: Wire, _ends: float) -> None:
        loop = asyncio.get_running_loop()
        await wire.exchange(b"GET", loop.time() + first)
        began = loop.time()
        with pytest.raises(TimeoutError):
            await wire.exchange(b"GET", began + second)
        assert second <= loop.time() - began < 30

    asyncio.run(talk([PLAIN, PLAIN[:-1]], use))


def test_the_time_of_an_answered_request_ends_nothing():
    async def use(wire: Wire, _ends: float) -> None:
        await wire.exchange(b"GET", asyncio.get_running_loop().time() + 0.05)
        await asyncio.sleep(0.2)
        assert wire.usable
        await wire.exchange(b"GET", asyncio.get_running_loop().time() + 10)

    asyncio.run(talk([PLAIN, PLAIN], use))


def test_a_cancelled_request_ends_its_connection():
    async def use(wire: Wire, ends: float) -> None:
        call = asyncio.ensure_future(wire.exchange(b"GET", ends))
        await asyncio.sleep(0.05)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert not wire.usable

    asyncio.run(talk([b""], use))


def test_a_connection_that_ends_fails_the_request():
    async def use(wire: Wire, ends: float) -> None:
        call = asyncio.ensure_future(wire.exchange(b"GET", ends))
        await asyncio.sleep(0.05)
        wire.transport.abort()
        with pytest.raises(CutError):
            await call

    asyncio.run(talk([PLAIN[:30]], use))

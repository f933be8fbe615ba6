"""A fast OpenAI-compatible server that answers every chat request the same way after a fixed delay, faults on order.

    python benchmarks/serving_stub.py '{"delay": 0.05}'

Prints its port; ends when its standard input closes. Nothing of a request is parsed but its length and its last
``item N``, so that one core answers some ten thousand requests a second and the client is what is measured.
``faults`` {name: share}: "429", "500", "reset", "timeout", "garbage". With ``"first": true`` the share is of the
requests, and only the first call for each meets its fault; else every call meets one by chance.
GET /count returns calls so far, faults dealt, the most calls open at once, and how many items were asked.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
from collections import Counter
from typing import Any

ITEM = re.compile(rb"item (\d+)")
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
WORDS = "a reply of some forty words such as people give " * 4


class Server:
    """What all connections share."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.delay = float(config.get("delay", 0.05))
        self.faults: dict[str, float] = config.get("faults", {})
        self.first = bool(config.get("first"))
        self.random = random.Random(config.get("seed", 0))  # noqa: S311 - faults, not secrets
        self.calls: Counter[int] = Counter()
        self.dealt: Counter[str] = Counter()
        self.open = self.most_open = self.total = 0

    def fault(self, item: int) -> str | None:
        """Decide whether this call goes wrong, and how."""
        self.total += 1
        if not self.faults:
            return None
        self.calls[item] += 1
        if self.first and self.calls[item] > 1:
            return None
        draw = self.random.random()
        for name, share in self.faults.items():
            draw -= share
            if draw < 0:
                self.dealt[name] += 1
                return name
        return None

    def counts(self) -> dict[str, Any]:
        """What was seen so far."""
        return {"calls": self.total, "most_open": self.most_open, "dealt": self.dealt, "items": len(self.calls)}


class Connection(asyncio.Protocol):
    """HTTP/1.1 of the plainest kind: one request after another, bodies with a length."""

    def __init__(self, server: Server) -> None:
        self.server, self.buffer, self.busy = server, b"", False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport (called by asyncio)."""
        self.transport: Any = transport

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        """Forget the open call (called by asyncio)."""
        if self.busy:
            self.server.open -= 1
            self.busy = False

    def data_received(self, data: bytes) -> None:
        """Answer each request once it is whole (called by asyncio)."""
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        found = LENGTH.search(self.buffer, 0, end)
        total = end + 4 + (int(found[1]) if found else 0)
        if len(self.buffer) < total:
            return
        head, body, self.buffer = self.buffer[:end], self.buffer[end + 4 : total], self.buffer[total:]
        if head.startswith(b"GET"):
            listing = self.server.counts() if b" /count" in head else {"data": [{"id": "stub"}]}
            self.send(200, json.dumps(listing).encode())
            return
        named = ITEM.findall(body)
        if not named:  # a client that tries what else there is
            self.send(404, b'{"error": {"message": "not served"}}')
            return
        item, server = int(named[-1]), self.server
        server.open += 1
        server.most_open = max(server.most_open, server.open)
        self.busy = True
        fault = server.fault(item)
        if fault != "timeout":
            asyncio.get_running_loop().call_later(server.delay, self.answer, item, fault)

    def answer(self, item: int, fault: str | None) -> None:
        """Send what was asked for, or what goes wrong instead."""
        if not self.busy:
            return  # the client hung up
        self.busy = False
        self.server.open -= 1
        if fault == "reset":
            self.transport.abort()
        elif fault in ("429", "500"):
            self.send(int(fault), b'{"error": {"message": "made up", "code": "made_up"}}')
        else:
            raw = reply(item)
            self.send(200, raw[: len(raw) // 2] if fault == "garbage" else raw)

    def send(self, status: int, raw: bytes) -> None:
        """Write one whole answer."""
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
        self.transport.write(head.encode() + raw)


def reply(item: int) -> bytes:
    """Return a chat completion as vLLM words it."""
    message = {"role": "assistant", "content": f"answer {item}: {WORDS}"}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    usage = {"prompt_tokens": 20, "completion_tokens": 50, "total_tokens": 70}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "stub", "choices": [choice], "usage": usage}
    return json.dumps(body).encode()


async def main(config: dict[str, Any]) -> None:
    shared = Server(config)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(shared), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    # Ends with the process that started it, even if that is killed.
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}))

"""Servers of the tests that run in a thread: an answering server with TLS, and a proxy that keeps a log."""

import asyncio
import shutil
import ssl
import subprocess
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import stub_server

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

# What OpenSSL needs to be told to sign with a past date.
CONFIG = """
[ca]
default_ca = own
[own]
database = index.txt
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
copy_extensions = copy
x509_extensions = server
[server]
authorityKeyIdentifier = keyid
subjectKeyIdentifier = hash
[any]
commonName = supplied
"""


class Loopback:
    """Serves on a free port of 127.0.0.1 until stopped."""

    def __init__(self, serve: Serve, tls: ssl.SSLContext | None = None) -> None:
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls))
        self.port: int = self.server.sockets[0].getsockname()[1]
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def _end(self) -> None:
        self.server.close()
        ending = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)


@dataclass
class Proxy:
    """A proxy as offices have them: CONNECT for https, absolute addresses for http, a password if wanted."""

    wants: str = ""
    refuses: int = 0
    every: int = 1  # refuses only each so many-th
    asked: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.exchange(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        self.asked.append(first)
        status = 0 if len(self.asked) % self.every else self.refuses
        if self.wants and f"Proxy-Authorization: Basic {self.wants}" not in lines:
            status = 407
        if status:
            page = head.encode()  # some quote the whole request
            writer.write(b"HTTP/1.1 %d No\r\nContent-Length: %d\r\n\r\n%b" % (status, len(page), page))
            await writer.drain()
            return
        method, target, _ = first.split(" ")
        if method == "CONNECT":
            host, port = target.rsplit(":", 1)
            there, back = await asyncio.open_connection(host, int(port))
            writer.write(b"HTTP/1.0 200 Connection established\r\n\r\n")
        else:
            host, _, path = target.removeprefix("http://").partition("/")
            there, back = await asyncio.open_connection(*host.rsplit(":", 1))
            kept = [line for line in lines if not line.startswith("Proxy-")]
            back.write("\r\n".join([f"{method} /{path} HTTP/1.1", *kept]).encode("latin-1"))
        await asyncio.gather(carry(reader, back), carry(there, writer))


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    writer.close()


def answering() -> Serve:
    """The stub server's own way of answering."""
    return stub_server.Stub({}).serve


class Authority:
    """A certificate authority of our own, in a folder; needs the openssl program."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("openssl") is None:
            pytest.skip("the openssl program is not installed")
        self.folder = folder
        (folder / "ca.cnf").write_text(CONFIG, encoding="utf-8")
        (folder / "index.txt").touch()
        # Python 3.13 demands of an authority that it says what its key is for.
        self.run(
            "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 30 -subj /CN=test-authority "
            "-addext keyUsage=critical,keyCertSign,cRLSign"
        )
        self.file = folder / "ca.pem"

    def run(self, command: str) -> None:
        subprocess.run(["openssl", *command.split()], cwd=self.folder, check=True, capture_output=True)

    def server(self, name: str, *, dates: str = "-days 30") -> ssl.SSLContext:
        """Return the TLS settings of a server with a certificate for ``name``, such as "IP:127.0.0.1"."""
        self.run(f"req -new -newkey rsa:2048 -nodes -keyout s.key -out s.csr -subj /CN=x -addext subjectAltName={name}")
        self.run(f"ca -batch -notext -config ca.cnf -cert ca.pem -keyfile ca.key -in s.csr -out s.pem {dates}")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "s.pem", self.folder / "s.key")
        return context

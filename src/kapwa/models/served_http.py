"""Connections to one server: proxies, TLS and time-outs, and every failure in plain words, never with a secret."""

from __future__ import annotations

import asyncio
import base64
import errno
import ipaddress
import os
import re
import socket
import ssl
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version

from kapwa.errors import UsageError
from kapwa.models.served_fault import CallError
from kapwa.models.served_wire import LONGEST_BODY, CutError, Reply, Wire, WireError

# Servers of the uvicorn family close a connection that was idle for 5 seconds; a call sent just then would be lost.
IDLE = 4.0
INBOX = 1 << 16  # bytes read at once
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
HOST = re.compile(r"[A-Za-z0-9._:%-]+")
SAFE = "/%~!$&'()*+,;=:@-._"
CA_HINT = "Set SSL_CERT_FILE to a PEM file with the certificate of the authority that signed the server's."
# OpenSSL's numbers for what is wrong with a certificate, in words with a remedy.
CERTIFICATE_FAULTS = {
    9: ("is not valid yet", "Check this machine's clock."),
    10: ("has expired", "Ask whoever runs the server to renew it, and check this machine's clock."),
    62: ("is for another host", "Write --base-url with the name that is in the certificate."),
    64: ("is for another address", "Write --base-url with the name that is in the certificate."),
    # Python 3.13 and later look more closely than browsers do.
    **dict.fromkeys(
        range(80, 94),
        (
            "is not made as RFC 5280 demands",
            "Make it and its authority's anew, with all the extensions, or ask for that.",
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy named in the environment: plain HTTP to ``host`` and ``port``, and what it wants to be told of the user.

    ``secrets``: what must never be shown, in every form it may be quoted in.
    """

    variable: str
    host: str
    port: int
    authorization: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def address(self) -> str:
        """The proxy's address, for messages."""
        return f"http://{bracketed(self.host)}:{self.port}"


class Transport:
    """Connections to one server, made as needed and kept while in use. Belongs to one event loop.

    ``base_url`` must have been checked; ``headers`` go with every request, to the server only. No bound on the number
    of connections: AdaptiveLimit has it, and a second one would only hide waiting.
    """

    def __init__(self, base_url: str, headers: Mapping[str, str], proxy: Proxy | None) -> None:
        parts = urllib.parse.urlsplit(base_url)
        self._base_url, self._proxy = base_url, proxy
        self._tls = tls_context() if parts.scheme == "https" else None
        try:
            self._host = (parts.hostname or "").encode("idna").decode()
        except UnicodeError:
            self._host = ""
        if HOST.fullmatch(self._host) is None:
            raise UsageError("The base URL holds a host name that cannot exist.")
        own = 443 if self._tls else 80
        self._port = parts.port or own
        # The port is left out where it is the scheme's own, as every client does: some servers compare names.
        self._authority = bracketed(self._host) + (f":{self._port}" if self._port != own else "")
        agent = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": f"kapwa/{version('kapwa')}"}
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in {**agent, **headers}.items())
        self._heads: dict[tuple[str, str], bytes] = {}
        self._idle: list[Wire] = []
        self._inbox = bytearray(INBOX)
        # A name may have addresses that lead nowhere, so that they are tried side by side. An address is the only one,
        # and the race would cost as much as the rest of connecting.
        self._race = None if _address(proxy.host if proxy else self._host) else 0.25  # seconds

    async def exchange(self, path: str, body: bytes | None, timeout: float, most: int = LONGEST_BODY) -> Reply:
        """Send ``body`` (GET where None) and return the reply, whatever its status; redirects are not followed.

        ``path`` is appended to the base URL unless it is a whole address of the same server. ``timeout`` (seconds) is
        for all of it: an answer may trickle in. ``most``: bytes that the reply's body may hold. Raises CallError.
        """
        request = self._request(path, body)
        ends = asyncio.get_running_loop().time() + timeout
        try:
            wire = self._kept()
            if wire is not None:
                try:
                    return self._keep(wire, await wire.exchange(request, ends, most=most))
                except CutError as cut:
                    if cut.begun:
                        raise
                    # The server closed it just when we took it up again, as is its right.
            async with asyncio.timeout_at(ends):
                wire = await self._connect()
            return self._keep(wire, await wire.exchange(request, ends, most=most))
        except TimeoutError:
            raise CallError(f"no answer within {timeout:g} s", retry=True, busy=True) from None
        except WireError as error:
            raise CallError(f"the answer is not valid HTTP: {error}", retry=True) from None
        except CutError:
            raise CallError("the connection was cut before the answer was complete", retry=True) from None

    async def close(self) -> None:
        """Close every connection that is not in use; those in use end with their calls."""
        idle, self._idle = self._idle, []
        for wire in idle:
            wire.abort()
        await asyncio.sleep(0)  # lets asyncio tell the connections that they are closed

    def _request(self, path: str, body: bytes | None) -> bytes:
        method = "GET" if body is None else "POST"
        head = self._heads.get((method, path))
        if head is None:
            head = self._heads[method, path] = self._head(method, path)
        if body is None:
            return head + b"\r\n"
        return b"%bContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (head, len(body), body)

    def _head(self, method: str, path: str) -> bytes:
        url = path if path.startswith(("http://", "https://")) else self._base_url + path
        target = urllib.parse.quote(urllib.parse.urlsplit(url).path, safe=SAFE)
        headers = self._headers
        if self._proxy is not None and self._tls is None:
            target = f"http://{self._authority}{target}"
            headers += self._proxy.authorization
        return f"{method} {target} HTTP/1.1\r\nHost: {self._authority}\r\n{headers}".encode("ascii")

    def _keep(self, wire: Wire, reply: Reply) -> Reply:
        if wire.usable:
            wire.idle_since = asyncio.get_running_loop().time()
            self._idle.append(wire)
        return reply

    def _kept(self) -> Wire | None:
        now = asyncio.get_running_loop().time()
        while self._idle:
            wire = self._idle.pop()
            if wire.usable and now - wire.idle_since < IDLE:
                return wire
            wire.abort()
        return None

    async def _connect(self) -> Wire:
        proxy = self._proxy
        host, port = (proxy.host, proxy.port) if proxy else (self._host, self._port)
        try:
            _, wire = await asyncio.get_running_loop().create_connection(
                lambda: Wire(self._inbox),
                host,
                port,
                ssl=None if proxy else self._tls,
                happy_eyeballs_delay=self._race,
            )
        except OSError as error:
            raise self._unreachable(error) from None
        if proxy is not None and self._tls is not None:
            try:
                await self._open_tunnel(wire, self._tls)
            except BaseException:
                wire.abort()
                raise
        return wire

    async def _open_tunnel(self, wire: Wire, tls: ssl.SSLContext) -> None:
        assert self._proxy is not None
        target = f"{bracketed(self._host)}:{self._port}"
        request = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{self._proxy.authorization}\r\n"
        reply = await wire.exchange(request.encode("ascii"), None, tunnel=True)
        if not 200 <= reply.status < 300:
            raise proxy_refusal(self._proxy, reply.status)
        if not wire.usable:
            raise CutError
        loop = asyncio.get_running_loop()
        try:
            wire.transport = await loop.start_tls(wire.transport, wire, tls, server_hostname=self._host)
        except OSError as error:
            raise _tls_fault(error) from None

    def _unreachable(self, error: OSError) -> CallError:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            hint = "Allow more (ulimit -n 4096) or give a smaller --concurrency, and run the same command again."
            return CallError("no further connection, too many files are open in this process", fatal=True, hint=hint)
        # Aborted: asyncio's own word for a greeting that took too long.
        cut = isinstance(error, ConnectionResetError | ConnectionAbortedError)
        if isinstance(error, ssl.SSLError) or (self._tls is not None and cut):
            return _tls_fault(error)
        if self._proxy is not None:
            what = f"cannot connect to the proxy {self._proxy.address} (from {self._proxy.variable})"
            hint = f"Correct {self._proxy.variable}, or put the server's host into NO_PROXY."
            return CallError(what, retry=True, down=True, hint=hint)
        if isinstance(error, socket.gaierror):
            return CallError("the host name is not known", retry=True, down=True)
        return CallError("cannot connect (nothing listens there, or a firewall)", retry=True, down=True)


def bracketed(host: str) -> str:
    """Return a host as it is written in an address: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def proxy_refusal(proxy: Proxy, status: int) -> CallError:
    """Return the fault for a proxy that does not let a call through."""
    what = f"the proxy {proxy.address} (from {proxy.variable}) refused with HTTP {status}"
    if status == 407:
        hint = (
            f"Put user and password into {proxy.variable}: http://USER:PASSWORD@HOST:PORT, special characters as %XX."
        )
    else:
        hint = f"Ask whoever runs the proxy, or put the server's host into NO_PROXY if {proxy.variable} is not for it."
    return CallError(what, retry=status >= 500 or status == 429, fatal=status < 500 and status != 429, hint=hint)


def find_proxy(base_url: str) -> Proxy | None:
    """Return the proxy that the environment (or the system) names for ``base_url``, or None.

    HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, in lower case too, and NO_PROXY: read as Python's ``urllib`` reads them,
    but NO_PROXY may also hold networks (10.0.0.0/8) and IPv6 addresses without brackets.
    Raises UsageError for a proxy that cannot be used.
    """
    parts = urllib.parse.urlsplit(base_url)
    named = urllib.request.getproxies()
    scheme = parts.scheme if parts.scheme in named else "all"
    url = named.get(scheme, "").strip()
    if not url or _excepted(parts.netloc, parts.hostname or "", named.get("no", "")):
        return None
    variable = f"{scheme.upper()}_PROXY"
    example = "Example: http://proxy.example.org:3128"
    try:
        found = urllib.parse.urlsplit(url if "://" in url else f"http://{url}")
        host, port = (found.hostname or "").encode("idna").decode(), found.port
    except ValueError:  # UnicodeError too
        raise UsageError(f"{variable} is not the address of a proxy.", hint=example) from None
    if found.scheme != "http" or not host:
        raise UsageError(f"{variable} names a proxy of a kind Kapwa does not speak ({found.scheme}).", hint=example)
    if found.username is None:
        return Proxy(variable, host, port or 80)
    user, password = urllib.parse.unquote(found.username), urllib.parse.unquote(found.password or "")
    sent = base64.b64encode(f"{user}:{password}".encode()).decode()
    secrets = tuple(filter(None, (password, found.password, sent)))
    return Proxy(variable, host, port or 80, f"Proxy-Authorization: Basic {sent}\r\n", secrets)


def _excepted(netloc: str, host: str, listed: str) -> bool:
    if any(urllib.request.proxy_bypass(form) for form in (netloc, host)):
        return True
    address = _address(host)
    return address is not None and any(_holds(entry.strip(), address) for entry in listed.split(","))


def _address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None  # a name


def _holds(entry: str, address: Address) -> bool:
    try:
        return address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False  # a name


def tls_context() -> ssl.SSLContext:
    """Return the system's settings for TLS, and the authorities in SSL_CERT_FILE or SSL_CERT_DIR where these are set.

    Raises UsageError for an SSL_CERT_FILE that holds no certificate: OpenSSL would pass over it in silence.
    """
    context = ssl.create_default_context()
    file = os.environ.get("SSL_CERT_FILE")
    if file:
        try:
            context.load_verify_locations(cafile=file)
        except (OSError, ssl.SSLError):
            raise UsageError(
                "SSL_CERT_FILE names a file that cannot be read or holds no certificate.",
                hint="It must be a text file with one or more certificates between BEGIN and END lines (PEM).",
            ) from None
    elif not os.environ.get("SSL_CERT_DIR") and not context.get_ca_certs():
        paths = ssl.get_default_verify_paths()
        if not paths.cafile and not paths.capath:
            # Python from python.org on macOS comes without authorities.
            import certifi

            context.load_verify_locations(cafile=certifi.where())
    return context


def _tls_fault(error: BaseException) -> CallError:
    if isinstance(error, ssl.SSLCertVerificationError):
        what, hint = CERTIFICATE_FAULTS.get(error.verify_code, ("is not trusted", CA_HINT))
        said = error.verify_message.rstrip(".")
        return CallError(f"the server's TLS certificate {what} ({said})", fatal=True, hint=hint)
    reason = getattr(error, "reason", None) or "the connection was cut during the greeting"
    said = reason.replace("_", " ").lower()
    hint = "Does the server speak https there? Plain servers need http:// in --base-url."
    fatal = isinstance(error, ssl.SSLError)
    return CallError(f"TLS failed: {said}", fatal=fatal, retry=not fatal, hint=hint)

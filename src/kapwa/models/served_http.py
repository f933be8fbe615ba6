"""One HTTP exchange with a server: proxies, TLS and time-outs, and every failure in plain words, never with a secret.

aiohttp carries it; docs/decisions/0007 says why.
"""

from __future__ import annotations

import base64
import os
import socket
import ssl
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import NamedTuple

import aiohttp

from kapwa.errors import UsageError
from kapwa.models.served_fault import CallError

# Servers of the uvicorn family close a connection that was idle for 5 seconds; a call sent just then would be lost.
IDLE = 4.0
CA_HINT = "Set SSL_CERT_FILE to a PEM file with the certificate of the authority that signed the server's."
# OpenSSL's numbers for what is wrong with a certificate, in words with a remedy.
CERTIFICATE_FAULTS = {
    9: ("is not valid yet", "Check this machine's clock."),
    10: ("has expired", "Ask whoever runs the server to renew it, and check this machine's clock."),
    62: ("is for another host", "Write --base-url with the name that is in the certificate."),
    64: ("is for another address", "Write --base-url with the name that is in the certificate."),
}


class Reply(NamedTuple):
    """What came back: any status, headers that may be looked up in any case, the whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy named in the environment; ``address`` is its URL without user and password."""

    variable: str
    url: str = field(repr=False)
    address: str
    secrets: tuple[str, ...] = field(repr=False)


class Transport:
    """Connections to one server, made as needed and kept while in use. Belongs to one event loop."""

    def __init__(self, base_url: str, headers: Mapping[str, str], proxy: Proxy | None) -> None:
        self._base_url, self._proxy = base_url, proxy
        everyone = {"Content-Type": "application/json", "User-Agent": f"kapwa/{version('kapwa')}"}
        self._session = aiohttp.ClientSession(
            # No cap here: AdaptiveLimit bounds the connections, and a second bound would only hide waiting.
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE, ssl=tls_context()),
            headers={**everyone, **headers},
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,  # it would read the environment, and a netrc file, anew for each call
            proxy=proxy.url if proxy else None,
        )

    async def exchange(self, path: str, body: bytes | None, timeout: float) -> Reply:
        """Send ``body`` (GET where None) and return the reply, whatever its status; redirects are not followed.

        ``path`` is appended to the base URL unless it is a whole address. Raises CallError.
        """
        url = path if path.startswith("http") else self._base_url + path
        try:
            async with self._session.request(
                "GET" if body is None else "POST",
                url,
                data=body,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=timeout),  # for all of it: an answer may trickle in
            ) as reply:
                return Reply(reply.status, reply.headers, await reply.read())
        except TimeoutError:
            raise CallError(f"no answer within {timeout:g} s", retry=True, busy=True) from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._fault(error) from None

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    def _fault(self, error: BaseException) -> CallError:
        if isinstance(error, aiohttp.ClientHttpProxyError):
            return self._refused_by_proxy(error.status)
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return _certificate_fault(error.certificate_error)
        if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
            return _tls_fault(error)
        if isinstance(error, aiohttp.ClientConnectorError):
            return self._unreachable(error)
        if isinstance(error, aiohttp.ClientResponseError):
            return CallError("the answer is not valid HTTP", retry=True)
        return CallError("the connection was cut before the answer was complete", retry=True)

    def _unreachable(self, error: aiohttp.ClientConnectorError) -> CallError:
        if self._proxy is not None:
            what = f"cannot connect to the proxy {self._proxy.address} (from {self._proxy.variable})"
            hint = f"Correct {self._proxy.variable}, or put the server's host into NO_PROXY."
        elif isinstance(error, aiohttp.ClientConnectorDNSError) or isinstance(error.os_error, socket.gaierror):
            what, hint = "the host name is not known", ""
        else:
            what, hint = "cannot connect (nothing listens there, or a firewall)", ""
        return CallError(what, retry=True, down=True, hint=hint)

    def _refused_by_proxy(self, status: int) -> CallError:
        assert self._proxy is not None
        return proxy_refusal(self._proxy, status)


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

    HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, in lower case too, and NO_PROXY: read as Python's ``urllib`` reads them.
    Raises UsageError for a proxy that cannot be used.
    """
    parts = urllib.parse.urlsplit(base_url)
    named = urllib.request.getproxies()
    scheme = parts.scheme if parts.scheme in named else "all"
    url = named.get(scheme, "").strip()
    if not url or urllib.request.proxy_bypass(parts.netloc):
        return None
    variable = f"{scheme.upper()}_PROXY"
    example = "Example: http://proxy.example.org:3128"
    try:
        found = urllib.parse.urlsplit(url if "://" in url else f"http://{url}")
        host, port = found.hostname, found.port
    except ValueError:
        raise UsageError(f"{variable} is not the address of a proxy.", hint=example) from None
    if found.scheme not in ("http", "https") or not host:
        raise UsageError(
            f"{variable} names a proxy of a kind that Kapwa does not speak ({found.scheme}).", hint=example
        )
    address = f"{found.scheme}://{f'[{host}]' if ':' in host else host}{f':{port}' if port else ''}"
    return Proxy(variable, found.geturl(), address, _proxy_secrets(found))


def _proxy_secrets(parts: urllib.parse.SplitResult) -> tuple[str, ...]:
    if not parts.password:
        return ()
    user, password = urllib.parse.unquote(parts.username or ""), urllib.parse.unquote(parts.password)
    sent = base64.b64encode(f"{user}:{password}".encode()).decode()
    return password, parts.password, sent


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


def _certificate_fault(error: Exception) -> CallError:
    code = getattr(error, "verify_code", 0)
    said = getattr(error, "verify_message", "") or str(error)
    what, hint = CERTIFICATE_FAULTS.get(code, ("is not trusted", CA_HINT))
    return CallError(f"the server's TLS certificate {what} ({said.rstrip('.')})", fatal=True, hint=hint)


def _tls_fault(error: BaseException) -> CallError:
    inner = getattr(error, "os_error", error)
    reason = getattr(inner, "reason", None) or str(inner)
    said = str(reason).replace("_", " ").lower()[:200]
    hint = "Does the server speak https there? Plain servers need http:// in --base-url."
    return CallError(f"TLS failed: {said}", fatal=True, hint=hint)

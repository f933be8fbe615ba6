"""Calls to an OpenAI-compatible server through aiohttp: retried here, every failure in plain words, the key hidden."""

from __future__ import annotations

import asyncio
import base64
import email.utils
import json
import math
import os
import random
import re
import ssl
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import aiohttp
from yarl import URL

from kapwa.errors import ModelError, UsageError, nearest
from kapwa.files import table_rows
from kapwa.models.base import key_in, named_key
from kapwa.models.event_stream import EVENT_STREAM, StreamError, assembled
from kapwa.models.gate import is_filter
from kapwa.value_types import Json, JsonMapping, JsonObject

Parsed = TypeVar("Parsed")

KEY = "OPENAI_API_KEY"
OPENAI_URL = "https://api.openai.com/v1"
ATTEMPTS = 8
BACKOFF = 0.5
LONGEST_BACKOFF = 30.0
LONGEST_WAIT = 600.0  # seconds that a server may ask to wait
LONGEST_REPLY = 1 << 25  # bytes, after decompression
PATIENCE_AT_START = 30.0  # seconds for the list of models, which a server has at hand
KEEP_ALIVE = 4.0  # many servers close a connection that was idle for 5 seconds; a call sent just then would be lost
SILENCE = 10.0  # seconds without any answer after which the server counts as away
HOPELESS = 3  # requests given up for one reason, after which others are not tried as often for it
BUSY = frozenset({408, 429, 503, 529})
FATAL = frozenset({401, 402, 403, 404, 405, 407})  # every request would fail alike
QUOTA = frozenset({"insufficient_quota", "billing_hard_limit_reached"})  # a 429 that waiting does not cure
HIDDEN = "[key removed]"
_KEY_LENGTH = 16  # shorter keys, such as "none" for a local server, are words that an answer may hold
_HINTS = {int(row["status"]): row["hint"] for row in table_rows(Path(__file__).with_name("status_hints.csv"))}
_TLS_HINT = (
    "Is the certificate not trusted: set SSL_CERT_FILE to a PEM file with that of the authority that signed it. Has it "
    "expired, or is it for another name: check the clock and --base-url. A server without TLS needs http:// there."
)


@dataclass(eq=False)
class CallError(Exception):
    """One call failed. ``retry``: asking again may help. ``fatal``: every other request would fail alike.

    ``down``: the server was not even reached. ``hint``: what to do about it. ``wait``: seconds that the server asks to
    wait. ``status``, ``code``, ``param``: what it says is wrong. ``filtered``: the provider's filter kept the question
    or the answer back, which asking again does not change.
    """

    message: str
    retry: bool = False
    fatal: bool = False
    down: bool = False
    hint: str = ""
    wait: float | None = None
    status: int = 0
    code: str = ""
    param: str = ""
    filtered: bool = False


def advice(fault: CallError, keys: str) -> str:
    """Return what to do about a fault that every request would meet; ``keys``: where the server's key is set."""
    if fault.code in QUOTA:
        return "The account's quota is used up; top it up and run the same command again to go on."
    default = "Check --base-url, the key and the network, and that the server runs; see docs/how-to/served-models.md."
    return fault.hint or _HINTS.get(fault.status, default).format(keys=keys)


def server_address(base_url: str | None) -> str:
    """Return the address of a server: the one given, else that of the environment, else OpenAI's own."""
    return base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL


class Client:
    """One server: its address, its key, and the pauses it asks for. Calls belong to one event loop."""

    def __init__(
        self,
        base_url: str | None,
        timeout: float,
        concurrency: int = 1,
        attempts: int = ATTEMPTS,
        backoff: float = BACKOFF,
        *,
        key_variable: str | None = None,
    ) -> None:
        self.base_url = checked_url(server_address(base_url))
        self.timeout, self.attempts, self.backoff = timeout, attempts, backoff
        self._key_variable = key_variable or KEY
        key = key_in(KEY) if key_variable is None else named_key(key_variable)
        if not key and self.base_url == OPENAI_URL:
            raise ModelError(
                f"{KEY} is not set.",
                hint="Set it in the environment, or give --base-url for a server of your own, which may need no key.",
            )
        self._proxy = find_proxy(self.base_url)
        self.secrets = secret_forms([key, *_proxy_secrets(self._proxy)])
        self.text_secrets = long_secrets(self.secrets)
        self._headers = _headers(self.base_url, key)
        self.listed: list[str] = []
        self.owners: list[str] = []
        self._session: aiohttp.ClientSession | None = None
        # A call that waits before its next attempt leaves its place to another.
        self._places = asyncio.Semaphore(concurrency)
        self._last_answer, self._resume_at = -1.0, 0.0
        self.retries = 0
        # How many requests were given up for each reason since the last answer.
        self._given_up: Counter[str] = Counter()

    @property
    def root(self) -> str:
        """The server's address without ``/v1``, where its own (not OpenAI's) endpoints are."""
        return self.base_url.removesuffix("/v1")

    async def call(self, path: str, compose: Callable[[], JsonMapping], parse: Callable[[Json], Parsed]) -> Parsed:
        """Send what ``compose`` gives until ``parse`` accepts the answer, at most ``attempts`` times; else CallError.

        A body is composed when its turn has come, so that it holds what answers taught while it waited. ``parse``
        gets the decoded JSON and raises CallError for an answer that holds none. Raises ModelError when the server
        is gone or asks for a longer wait than is reasonable.
        """
        clock = asyncio.get_running_loop().time
        trouble_since, refusals = math.inf, 0
        for attempt in range(1, self.attempts + 1):
            self.retries += attempt > 1
            try:
                async with self._places:
                    while (pause := self._resume_at - clock()) > 0:
                        await asyncio.sleep(pause)
                    parsed = parse(await self._exchange("POST", path, _encoded(compose()), self.timeout))
            except CallError as fault:
                trouble_since = min(trouble_since, clock())
                if not fault.retry or attempt >= self._patience(fault):
                    self._given_up[_kind(fault)] += 1
                    raise self._final(fault, attempt, trouble_since) from None
                # Longer and longer pauses help a server that is overloaded or away, and nobody else.
                refusals += fault.status in BUSY or self._last_answer < clock() - SILENCE
                await asyncio.sleep(self._wait(fault, max(1, refusals)))
            else:
                self._last_answer = clock()
                self._given_up.clear()
                return parsed
        raise AssertionError  # unreachable: the last attempt returns or raises

    def _patience(self, fault: CallError) -> int:
        """Return how many attempts a request gets: one, where others failed for this reason and none was answered.

        A server that is busy or away may come back, so there each gets all of them.
        """
        busy = fault.down or fault.status in BUSY or fault.wait
        return self.attempts if busy or self._given_up[_kind(fault)] < HOPELESS else 1

    async def models(self) -> list[str]:
        """Return the names of the models the server lists, asked once and not for long; raises CallError."""
        listing = await self._exchange("GET", "/models", None, min(self.timeout, PATIENCE_AT_START))
        entries = listing.get("data") if isinstance(listing, dict) else None
        named = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
        self.listed = [self.quoted(str(entry.get("id"))) for entry in named]
        self.owners = sorted({str(entry.get("owned_by")) for entry in named})
        return self.listed

    def quoted(self, text: str) -> str:
        """Return what a server said for a message: no secret, one line, not long, nothing that steers a terminal."""
        line = " ".join(hide(text, self.secrets).split())[:300]  # keys go first: a cut could hide one from the search
        return "".join(c if c.isprintable() else "\ufffd" for c in line)

    def trouble(self, fault: CallError, model: str = "") -> ModelError:
        """Return the error for a fault that every request for ``model`` would meet, with what to do about it."""
        hint = advice(fault, self._key_variable)
        if fault.status == 404 and self.listed and model and model not in self.listed:
            hint = f"The server has no model {model!r}. {nearest(model, self.listed)}"
        return ModelError(f"{self.base_url}: {fault.message}.", hint=hint)

    async def close(self) -> None:
        """Close every connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _exchange(self, method: str, path: str, raw: bytes | None, timeout: float) -> Json:
        """Send one request and return the decoded JSON of a reply with a good status; raises CallError."""
        url = path if path.startswith("http") else self.base_url + path
        if self._session is None:
            self._session = self._connected()
        limit = aiohttp.ClientTimeout(total=timeout if math.isfinite(timeout) else None)
        try:
            async with self._session.request(
                method, url, data=raw, proxy=self._proxy, timeout=limit, allow_redirects=False
            ) as reply:
                body = await _body(reply)
        except TimeoutError:
            raise CallError(f"no answer within {timeout:g} s", retry=True) from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._connection_fault(error) from None
        if not 200 <= reply.status < 300:
            raise self._status_fault(reply.status, reply.headers, body)
        if reply.content_type == EVENT_STREAM:
            return self._assembled(body)
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            kind = "" if reply.content_type == "application/json" else f" but {self.quoted(reply.content_type)}"
            raise CallError(f"the answer is not valid JSON{kind}", retry=True) from None

    def _assembled(self, body: bytes) -> Json:
        """Return the JSON that a streamed answer amounts to; raise CallError for one that broke off."""
        try:
            return assembled(body)
        except StreamError as error:
            raise CallError(self.quoted(str(error)), retry=True) from None

    def _connected(self) -> aiohttp.ClientSession:
        # No limit on connections: the semaphore bounds open calls. No netrc (trust_env): it may hold another key.
        connector = aiohttp.TCPConnector(limit=0, ssl=ssl.create_default_context(), keepalive_timeout=KEEP_ALIVE)
        jar = aiohttp.DummyCookieJar()
        return aiohttp.ClientSession(connector=connector, headers=self._headers, cookie_jar=jar)

    def _wait(self, fault: CallError, refusals: int) -> float:
        """Return the seconds before the next attempt; take note of a pause that the server asks of everybody."""
        longest = min(LONGEST_BACKOFF, self.backoff * 2.0 ** min(refusals - 1, 30))
        backoff = longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads calls in time; changes no answer
        if not fault.wait:  # a server that says "0 seconds" is spared as one that says nothing
            return backoff
        if fault.wait > LONGEST_WAIT:
            raise ModelError(
                f"{self.base_url} asks to wait {fault.wait:.0f} s before the next call ({fault.message}).",
                hint="Wait that long.",
            ) from None
        self._resume_at = max(self._resume_at, asyncio.get_running_loop().time() + fault.wait)
        return fault.wait

    def _final(self, fault: CallError, attempt: int, trouble_since: float) -> ModelError | CallError:
        if fault.down and self._last_answer < trouble_since:
            return self.trouble(fault)  # no request at all has been answered since: the server is gone
        if attempt > 1 and not fault.fatal:
            fault.message = f"{fault.message} (after {attempt} attempts)"
        return fault

    def _status_fault(self, status: int, headers: Mapping[str, str], body: bytes) -> CallError:
        detail = _error_body(body)
        message = detail.get("message") or detail.get("detail")
        shown = f": {self.quoted(message if isinstance(message, str) else json.dumps(message))}" if message else ""
        code = str(detail.get("code") or detail.get("type") or "")
        moved = f" to {self.quoted(headers.get('Location', '?'))}" if 300 <= status < 400 else ""
        filtered = 400 <= status < 500 and is_filter(body.decode("utf-8", "replace"))
        fatal = not filtered and (status in FATAL or bool(moved) or code in QUOTA)
        return CallError(
            f"HTTP {status}{moved}{shown}",
            retry=not (fatal or filtered) and (status in (408, 409, 429) or status >= 500),
            fatal=fatal,
            hint="Redirects are not followed, so that the key goes nowhere else. Give that address." if moved else "",
            wait=retry_after(headers),
            status=status,
            code=code,
            param=str(detail.get("param") or ""),
            filtered=filtered,
        )

    def _connection_fault(self, error: Exception) -> CallError:
        """Say in words why no whole reply came."""
        proxy = f"the proxy {self._proxy.with_user(None)}" if self._proxy else "the proxy"
        shown = self.quoted(str(error))
        if isinstance(error, aiohttp.ClientHttpProxyError):
            hint = _HINTS[407] if error.status == 407 else "Put the server's host into NO_PROXY if it needs no proxy."
            bad = error.status < 500
            return CallError(f"{proxy} refused with HTTP {error.status}", retry=not bad, fatal=bad, hint=hint)
        if isinstance(error, aiohttp.ClientProxyConnectionError):
            hint = "Correct HTTP_PROXY or HTTPS_PROXY, or put the server's host into NO_PROXY."
            return CallError(f"cannot connect to {proxy}", retry=True, down=True, hint=hint)
        if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError | ssl.SSLError):
            return CallError(f"TLS failed ({shown})", fatal=True, hint=_TLS_HINT)
        if isinstance(error, aiohttp.ClientConnectorError):
            cause = error.os_error  # of a host name that is not known, the number is not the system's
            why = os.strerror(cause.errno) if cause.errno and cause.errno > 0 else str(cause)
            return CallError(f"cannot connect ({self.quoted(why)})", retry=True, down=True)
        if isinstance(error, aiohttp.ClientConnectionError | aiohttp.ClientPayloadError | OSError):
            return CallError("the connection was cut before the answer was complete", retry=True)
        return CallError(f"the answer is not valid HTTP ({shown})", retry=True)


def _kind(fault: CallError) -> str:
    """Return a fault's reason without what differs from request to request."""
    return re.sub(r"\d+", "#", f"{fault.status} {fault.message}")


async def _body(reply: aiohttp.ClientResponse) -> bytes:
    """Read a reply, decompressed; raise CallError for one that is far too long to be an answer."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in reply.content.iter_any():
        size += len(chunk)
        if size > LONGEST_REPLY:
            reply.close()
            raise CallError(f"the answer is too long (over {LONGEST_REPLY >> 20} MiB)", retry=True)
        chunks.append(chunk)
    return b"".join(chunks)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait (``Retry-After``: seconds or a date), or None.

    A date is read against the server's own ``Date`` where it sends one, so that clocks need not agree.
    """
    value, read = headers.get("Retry-After", ""), email.utils.parsedate_to_datetime
    try:
        seconds = float(value)
    except ValueError:
        try:
            now = read(headers["Date"]) if "Date" in headers else datetime.now(UTC)
            seconds = (read(value) - now).total_seconds()
        except (ValueError, TypeError, OverflowError):  # no date, one without a time zone, a year of twenty digits
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def find_proxy(base_url: str) -> URL | None:
    """Return the proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names for ``base_url``, or None (see NO_PROXY).

    Read once: aiohttp's ``trust_env`` reads them, and the user's netrc, through two threads at each call, which doubles
    what a call costs. Raises UsageError for a proxy that cannot be used.
    """
    server = urllib.parse.urlsplit(base_url)
    named = urllib.request.getproxies()
    address = named.get(server.scheme) or named.get("all")
    if not address or urllib.request.proxy_bypass(server.netloc):
        return None
    try:
        proxy = URL(address if "://" in address else f"http://{address}")
        f"{proxy.user}:{proxy.password}".encode("latin-1")  # as it is sent
    except ValueError:
        proxy = URL()
    if proxy.scheme not in ("http", "https") or not proxy.host:
        raise UsageError(
            f"The environment names a proxy for {server.scheme} that cannot be used.",
            hint="Example: HTTPS_PROXY=http://proxy.example.org:3128 (SOCKS is not supported).",
        )
    return proxy


def checked_url(url: str) -> str:
    """Return a base URL without its trailing slash; raise UsageError for one that cannot work or holds a secret."""
    example = "Example: http://127.0.0.1:8000/v1"
    try:
        address = urllib.parse.urlsplit(url.strip())
        fits = address.scheme in ("http", "https") and bool(URL(url.strip()).host) and address.port != 0
    except ValueError:
        raise UsageError("The base URL is not a valid address.", hint=example) from None
    if address.username or address.password or address.query or address.fragment:
        raise UsageError(
            "The base URL must not hold a user, password, query or fragment: it is recorded with the results.",
            hint=f"Put the key into the environment variable {KEY}.",
        )
    if not fits:
        raise UsageError("The base URL is not an http(s) address.", hint=example)
    path = address.path.rstrip("/")
    for endpoint in ("/chat/completions", "/completions", "/models"):
        if path.endswith(endpoint):
            raise UsageError(f"The base URL {url!r} names an endpoint.", hint=f"End it before {endpoint}.")
    return urllib.parse.urlunsplit((address.scheme, address.netloc, path, "", ""))


def _proxy_secrets(proxy: URL | None) -> list[str]:
    if not (proxy and proxy.password):
        return []
    pair = f"{proxy.user or ''}:{proxy.password}"
    sent = [base64.b64encode(pair.encode(code, "replace")).decode().rstrip("=") for code in ("latin-1", "utf-8")]
    return [proxy.password, proxy.raw_password or "", *sent]


def secret_forms(secrets: Iterable[str]) -> list[str]:
    """Return ``secrets`` in the forms a server may quote them in, longest first: as they are, in addresses, in JSON."""
    forms = {
        form for secret in secrets for form in (secret, urllib.parse.quote(secret, safe=""), json.dumps(secret)[1:-1])
    }
    return sorted((form for form in forms if len(form) > 3), key=len, reverse=True)


def long_secrets(secrets: Iterable[str]) -> list[str]:
    """Return those of ``secrets`` that no answer holds by chance; "none" or "test" as a key is also a word."""
    return [secret for secret in secrets if len(secret) >= _KEY_LENGTH and not any(map(str.isspace, secret))]


def hide(text: str, secrets: Iterable[str]) -> str:
    """Return ``text`` without ``secrets`` (see :func:`secret_forms`)."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def _encoded(body: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except UnicodeEncodeError:
        raise CallError("the request holds text that UTF-8 cannot encode (a lone surrogate)") from None


def _headers(base_url: str, key: str) -> dict[str, str]:
    """Return what goes with every request: the key, and for OpenAI whose account pays."""
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    headers["User-Agent"] = f"kapwa/{version('kapwa')}"
    if key:
        headers["Authorization"] = f"Bearer {key}"
    if of_openai(base_url):
        for header, name in (("OpenAI-Organization", "OPENAI_ORG_ID"), ("OpenAI-Project", "OPENAI_PROJECT_ID")):
            if value := key_in(name):
                headers[header] = value
    return headers


def of_openai(base_url: str) -> bool:
    """Whether the server is OpenAI's own."""
    host = urllib.parse.urlsplit(base_url).hostname or ""
    return host == "openai.com" or host.endswith(".openai.com")


def _error_body(raw: bytes) -> JsonObject:
    text = raw.decode("utf-8", "replace").strip()
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = {"message": "" if text.startswith("<") else text}  # a proxy's HTML page helps nobody
    detail = body.get("error", body) if isinstance(body, dict) else body
    return detail if isinstance(detail, dict) else {"message": detail}

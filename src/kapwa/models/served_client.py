"""Calls to an OpenAI-compatible server: retried here, and never showing the key."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import os
import urllib.parse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from kapwa.errors import KapwaError, ModelError, UsageError
from kapwa.models.served_fault import CallError
from kapwa.models.served_limit import AdaptiveLimit, Retry, retry_after

if TYPE_CHECKING:
    from kapwa.models.served_http import Proxy, Transport
    from kapwa.models.served_wire import Reply

Parsed = TypeVar("Parsed")

OPENAI_URL = "https://api.openai.com/v1"
PATIENCE_AT_START = 30.0  # seconds for the list of models, which a server has at hand
SILENCE = 10.0  # seconds without any answer after which the server counts as unwell
FATAL = frozenset({401, 402, 403, 404, 405})  # would meet every request alike
LENGTHS = ("max_tokens", "max_completion_tokens")
# What a reply may hold, in bytes: see longest.
ALWAYS, PER_BYTE_SENT, PER_TOKEN, LONGEST = 1 << 22, 256, 1 << 12, 1 << 28
UNSAID = 1 << 13  # tokens that may come where a request does not bound them
BUSY = frozenset({408, 429, 503, 504, 529})  # the server cannot keep up
QUOTA = frozenset({"insufficient_quota", "billing_hard_limit_reached"})  # a 429 that waiting does not cure


class Client:
    """One server: its address, its key (never shown), its limits."""

    def __init__(self, base_url: str | None, *, timeout: float, concurrency: int, retry: Retry) -> None:
        self.base_url = checked_url(base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL)
        self.timeout, self.concurrency, self.retry = timeout, concurrency, retry
        self._key = _key(self.base_url)
        self._transport: Transport | None = None
        self._proxy: Proxy | None = None
        self._limit: AdaptiveLimit | None = None
        self._last_answer = -1.0

    @property
    def root(self) -> str:
        """The server's address without ``/v1``, where its own (not OpenAI's) endpoints are."""
        return self.base_url.removesuffix("/v1")

    @property
    def limit(self) -> AdaptiveLimit:
        """The adaptive limit on open calls, made on the loop's thread at the first call."""
        if self._limit is None:
            self._limit = AdaptiveLimit(self.concurrency)
        return self._limit

    async def call(
        self,
        path: str,
        body: Mapping[str, Any] | None,
        parse: Callable[[Any], Parsed],
    ) -> Parsed:
        """Send ``body`` (GET where None) until ``parse`` accepts the answer, or raise the last CallError.

        ``parse`` gets the decoded JSON and raises CallError for an answer that holds none. Raises ModelError
        when the server is gone or asks for a longer wait than is reasonable.
        """
        raw = None if body is None else encoded(body)
        most = longest(body or {}, len(raw or b""))
        trouble_since = math.inf
        refusals = 0
        for attempt in itertools.count(1):
            try:
                return await self._attempt(path, raw, parse, most)
            except CallError as fault:
                now = asyncio.get_running_loop().time()
                trouble_since = min(trouble_since, now)
                if not fault.retry or attempt == self.retry.attempts:
                    raise self._final(fault, attempt, trouble_since) from None
                # Longer and longer pauses help a server that is overloaded or away, and nobody else.
                unwell = self._last_answer < now - SILENCE
                refusals += unwell or (fault.busy and not self.limit.busy_at_random)
                await asyncio.sleep(fault.wait or self.retry.wait(max(1, refusals)))
        raise AssertionError  # unreachable: the count never ends

    async def _attempt(self, path: str, raw: bytes | None, parse: Callable[[Any], Parsed], most: int) -> Parsed:
        limit = self.limit
        place = await limit.acquire()
        busy: bool | None = None
        try:
            parsed = parse(self._decoded(await self._connections().exchange(path, raw, self.timeout, most)))
            busy = False
            self._last_answer = asyncio.get_running_loop().time()
            return parsed
        except CallError as fault:
            if fault.busy:
                busy = True
            self._react(fault)
            raise
        finally:
            limit.release(place, busy)

    async def models(self) -> list[str]:
        """Return the names of the models the server lists, asked once and not for long; raises CallError."""
        patience = min(self.timeout, PATIENCE_AT_START)
        listing = self._decoded(await self._connections().exchange("/models", None, patience))
        entries = listing.get("data") if isinstance(listing, dict) else None
        if not isinstance(entries, list):
            return []
        return [self.quoted(str(entry.get("id"))) for entry in entries if isinstance(entry, dict)]

    def scrub(self, text: str) -> str:
        """Remove every secret this process may have sent from ``text``."""
        for secret in (self._key, *(self._proxy.secrets if self._proxy else ())):
            if len(secret) > 3:
                for form in (secret, urllib.parse.quote(secret, safe=""), json.dumps(secret)[1:-1]):
                    text = text.replace(form, "[key removed]")
        return text

    def quoted(self, text: str) -> str:
        """Return what a server said for a message: no secret, one line, not long, nothing that steers a terminal."""
        # Secrets go first: a cut through the middle of a key would hide it from the search for it.
        line = " ".join(self.scrub(text).split())[:300]
        return "".join(c if c.isprintable() else "\ufffd" for c in line)

    async def close(self) -> None:
        """Close every connection."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()

    def _connections(self) -> Transport:
        if self._transport is None:
            from kapwa.models.served_http import Transport, find_proxy

            self._proxy = find_proxy(self.base_url)
            self._transport = Transport(self.base_url, headers_for(self.base_url, self._key), self._proxy)
        return self._transport

    def _decoded(self, reply: Reply) -> Any:
        if not 200 <= reply.status < 300:
            raise self._status_fault(reply)
        try:
            return json.loads(reply.body)
        except (ValueError, RecursionError):
            raise CallError("the answer is not valid JSON", retry=True) from None

    def _status_fault(self, reply: Reply) -> CallError:
        status, detail = reply.status, _error_body(reply.body)
        if status == 407 and self._proxy is not None:
            from kapwa.models.served_http import proxy_refusal

            return proxy_refusal(self._proxy, status)
        said = self._said(detail.get("message") or detail.get("detail"))
        code = str(detail.get("code") or detail.get("type") or "")
        moved = f" to {self.quoted(reply.headers.get('location', '?'))}" if 300 <= status < 400 else ""
        fault = CallError(f"HTTP {status}{moved}{said}", retry=status in (408, 409, 429) or status >= 500)
        fault.status, fault.code, fault.param = status, code, str(detail.get("param") or "")
        fault.busy = status in BUSY
        fault.fatal = status in FATAL or bool(moved) or code in QUOTA
        fault.retry = fault.retry and not fault.fatal
        fault.wait = retry_after(reply.headers)
        return fault

    def _said(self, message: Any) -> str:
        text = message if isinstance(message, str) else json.dumps(message)
        return f": {self.quoted(text)}" if message else ""

    def _react(self, fault: CallError) -> None:
        if fault.wait is None or not fault.retry:
            return
        if fault.wait > self.retry.patience:
            raise ModelError(
                f"{self.base_url} asks to wait {fault.wait:.0f} s before the next call ({fault.message}).",
                hint="Wait that long.",
            ) from None
        if fault.status in (429, 503, 529):
            self.limit.pause(fault.wait)

    def _final(self, fault: CallError, attempt: int, trouble_since: float) -> KapwaError | CallError:
        if fault.down and self._last_answer < trouble_since:
            return self.trouble(fault)  # no request at all has been answered since: the server is gone
        if fault.fatal:
            return fault
        if attempt > 1:
            fault.message = f"{fault.message} (after {attempt} attempts)"
        return fault

    def trouble(self, fault: CallError) -> ModelError:
        """Return the error for a fault that every request would meet, with what to do about it."""
        hints = {
            401: "Set OPENAI_API_KEY to a key this server accepts.",
            402: "The account has no credit left; top it up and run the same command again.",
            403: "The key may not use this model or address; check the account's permissions.",
            404: f"Check the model's name ({self.base_url}/models lists them) and that the base URL ends in /v1.",
            405: "Check --base-url: it usually ends in /v1 and holds no endpoint.",
        }
        hint = fault.hint or hints.get(
            fault.status, "Check --base-url and that the server is running; see docs/how-to/served-models.md."
        )
        if fault.code in QUOTA:
            hint = "The account's quota is used up; top it up and run the same command again to go on."
        return ModelError(f"{self.base_url}: {fault.message}.", hint=hint)


def longest(body: Mapping[str, Any], sent: int) -> int:
    """Return the most bytes that a reply to ``body``, of ``sent`` bytes, may hold: by the tokens it asks for.

    A server may tell much of each token written, and something of each token read; more than that is no answer.
    """
    tokens = next((body[name] for name in LENGTHS if isinstance(body.get(name), int)), UNSAID)
    answers = body.get("n", 1)
    written = max(0, tokens) * (answers if isinstance(answers, int) else 1)
    return min(LONGEST, ALWAYS + PER_BYTE_SENT * sent + PER_TOKEN * written)


def checked_url(url: str) -> str:
    """Return a base URL without its trailing slash; raise UsageError for one that cannot work or holds a secret."""
    try:
        parts = urllib.parse.urlsplit(url.strip())
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        raise UsageError("The base URL is not a valid address.", hint="Example: http://127.0.0.1:8000/v1") from None
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            "The base URL must not hold a user, password, query or fragment: it is recorded with the results.",
            hint="Put the key into the environment variable OPENAI_API_KEY.",
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_fine:
        raise UsageError(f"The base URL {url!r} is not an http(s) address.", hint="Example: http://127.0.0.1:8000/v1")
    path = parts.path.rstrip("/")
    for endpoint in ("/chat/completions", "/completions", "/models"):
        if path.endswith(endpoint):
            raise UsageError(
                f"The base URL {url!r} names an endpoint.", hint=f"Leave {endpoint} out; it usually ends in /v1."
            )
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def _key(base_url: str) -> str:
    key = _from_environment("OPENAI_API_KEY")
    if not key and base_url == OPENAI_URL:
        raise ModelError(
            "OPENAI_API_KEY is not set.",
            hint="Set it in the environment, or give --base-url for a server of your own, which may need no key.",
        )
    return key


def _from_environment(name: str) -> str:
    value = os.environ.get(name, "").strip()
    if not value.isascii() or not value.isprintable():
        raise ModelError(f"{name} holds characters that no key has.", hint="Copy the key again.")
    return value


def headers_for(base_url: str, key: str) -> dict[str, str]:
    """Return what tells the server who asks: the key, and for OpenAI whose account pays."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    if of_openai(base_url):
        named = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
        found = {header: _from_environment(variable) for header, variable in named.items()}
        headers |= {header: value for header, value in found.items() if value}
    return headers


def of_openai(base_url: str) -> bool:
    """Whether the server is OpenAI's own."""
    host = urllib.parse.urlsplit(base_url).hostname or ""
    return host == "openai.com" or host.endswith(".openai.com")


def encoded(body: Mapping[str, Any]) -> bytes:
    """Return ``body`` as JSON; raise CallError for text that UTF-8 cannot hold."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except UnicodeEncodeError:
        raise CallError("the request holds text that UTF-8 cannot encode (a lone surrogate)") from None


def _error_body(raw: bytes) -> dict[str, Any]:
    text = raw.decode("utf-8", "replace").strip()
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = {"message": "" if text.startswith("<") else text}  # a proxy's HTML page helps nobody
    detail = body.get("error", body) if isinstance(body, dict) else body
    return detail if isinstance(detail, dict) else {"message": detail}

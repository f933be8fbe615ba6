"""What went wrong in a call that Inspect made: one short sentence, without keys, and whether to go on."""

from __future__ import annotations

import os
import traceback
import urllib.parse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kapwa.errors import ModelError, nearest
from kapwa.models.served_client import FATAL, QUOTA

_LONGEST = 300
_HINTS = {
    401: "Set {key} to a key that the provider accepts.",
    402: "The account has no credit left; top it up and run the same command again.",
    403: "The key may not use this model or address; check the account's permissions.",
    405: "Check --base-url.",
}
# Names of classes, since each provider brings its own HTTP library.
_NO_CONNECTION = frozenset(
    (
        "ConnectError",
        "ClientConnectorError",
        "EndpointConnectionError",
        "ConnectionRefusedError",
        "gaierror",
        "SSLError",
    )
)


@dataclass(slots=True)
class Fault:
    """One failed call.

    ``fatal``: every other would fail alike; ``down``: nobody was there to ask; ``table``: the host, not the
    model's, that would not give the table with which Inspect counts tokens.
    """

    message: str
    status: int = 0
    param: str = ""
    fatal: bool = False
    down: bool = False
    quota: bool = False
    table: str = ""


def fault_of(error: BaseException, secrets: Iterable[str]) -> Fault:
    """Read an exception that Inspect, a provider or its HTTP library raised."""
    from inspect_ai._util.error import PrerequisiteError

    chain, attempts = list(_chain(error)), _attempts(error)
    status = next((found for found in map(_status, chain) if found), 0)
    down = not status and any(kind.__name__ in _NO_CONNECTION for one in chain for kind in type(one).__mro__)
    told = next(one for one in reversed(chain) if _status(one) == status) if status else chain[-1 if down else 0]
    tried = f" (after {attempts} attempts)" if attempts > 1 else ""
    fault = Fault(_said(told, status, secrets) + tried, status, str(getattr(told, "param", None) or ""), down=down)
    fault.quota = any(str(getattr(one, "code", "")) in QUOTA for one in chain)
    fault.fatal = status in FATAL or fault.quota or any(isinstance(one, PrerequisiteError) for one in chain)
    table = _table_from(chain)
    if table:
        said = f"the table that tokens are counted with cannot be downloaded from {table} ({fault.message})"
        return Fault(said, fatal=True, table=table)
    return fault


def trouble(fault: Fault, model: str, key_names: Sequence[str]) -> ModelError:
    """Return the error for a fault that every request would meet, with what to do about it."""
    hint = _HINTS.get(fault.status, "Check the address, the key and the model's name.")
    if fault.status == 404:
        hint = _alike(model)
    if fault.quota:
        hint = "The account's quota is used up; top it up and run the same command again to go on."
    if fault.down:
        hint = "Check --base-url, the network and that the server is running."
    if fault.table:
        hint = (
            f"Run it once where {fault.table} can be reached, and the table is kept; or name a folder that holds it in "
            "TIKTOKEN_CACHE_DIR."
        )
    keys = " or ".join(key_names) or "the provider's environment variable"
    return ModelError(f"inspect:{model}: {fault.message}.", hint=hint.format(key=keys))


def words(error: BaseException, secrets: Iterable[str] = ()) -> str:
    """Return an error's text on one line, without ``secrets``, cut to a readable length."""
    from inspect_ai._util.error import PrerequisiteError

    told = getattr(error, "message", None)
    text = told if isinstance(told, str) and told else str(error)
    if isinstance(error, PrerequisiteError):
        text = _without_markup(text).removeprefix("ERROR: ")
    # Secrets go first: a cut through the middle of a key would hide it from the search for it.
    return " ".join(scrub(text, secrets).split())[:_LONGEST].rstrip(".")


def _without_markup(text: str) -> str:
    """Return what Inspect words for a terminal without Rich's markup; other people's square brackets are text."""
    from rich.errors import MarkupError
    from rich.text import Text

    try:
        return Text.from_markup(text).plain
    except MarkupError:
        return text


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Remove ``secrets`` from ``text``, as they are and as in an address."""
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) > 3:
            for form in (secret, urllib.parse.quote(secret, safe="")):
                text = text.replace(form, "[key removed]")
    return text


def secrets_of(api: object, headers: Iterable[str] = ()) -> list[str]:
    """Return the keys that a provider may send: its own, those of its environment variables, those in headers."""
    names = getattr(api, "api_key_vars", None) or ()
    found = [getattr(api, "api_key", None), *(os.environ.get(name) for name in names), *headers]
    return [key.strip() for key in found if isinstance(key, str) and key.strip()]


def _said(error: BaseException, status: int, secrets: Iterable[str]) -> str:
    text = words(error, secrets)
    if status:
        return f"HTTP {status}: {text}" if text else f"HTTP {status}"
    name = type(error).__name__
    return f"{name}: {text}" if text and name != "PrerequisiteError" else text or name


def _status(error: BaseException) -> int:
    for name in ("status_code", "code", "status"):
        value = getattr(error, name, None)
        if isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 600:
            return value
    return 0


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and what caused it; of one that says "retries are used up", the last of them."""
    seen: list[BaseException] = []
    while error is not None and not any(error is one for one in seen):
        seen.append(error)
        attempt = getattr(error, "last_attempt", None)
        if attempt is not None:  # tenacity's RetryError says nothing itself
            error = attempt.exception()
            continue
        yield error
        error = error.__cause__ or error.__context__


def _attempts(error: BaseException) -> int:
    return int(getattr(getattr(error, "last_attempt", None), "attempt_number", 1))


def _table_from(chain: Sequence[BaseException]) -> str:
    """Return the host that tiktoken was downloading from; nothing where it was not."""
    for one in chain:
        modules = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(one.__traceback__))
        if any(name.partition(".")[0] == "tiktoken" for name in modules):
            address = getattr(getattr(one, "request", None), "url", None)
            return urllib.parse.urlsplit(str(address or "")).hostname or "its server"
    return ""


def _alike(model: str) -> str:
    """Say what to do about a name that a server does not know; name the nearest that Inspect knows of its provider."""
    from inspect_ai.model._model_data.model_data import read_model_info

    provider = model.partition("/")[0]
    known = [name for name in read_model_info() if name.partition("/")[0] == provider]
    check = "Check the model's name, and --base-url where you gave one: it may lack a part, such as /v1."
    # Inspect knows this very name, but the server asked is another or does not offer it.
    return f"{check} {nearest(model, known)}" if known and model not in known else check

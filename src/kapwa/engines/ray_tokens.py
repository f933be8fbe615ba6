"""Whether a Ray cluster asks for a token, and agreeing with it before anything is connected.

Ray decides for a whole process: a program that sends tokens and a cluster that asks for none cannot work together, for
its workers have none to answer with. So the cluster is asked once, without a token, before Ray itself connects.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import socket
from collections.abc import Iterator
from typing import Any, Final

from kapwa.errors import RunError

MODE: Final = "RAY_AUTH_MODE"
_TOKEN, _NONE = "token", "disabled"
_SIGNS = ("InvalidAuthToken", "Unauthenticated", "AuthenticationError", "authentication token")
DISAGREE: Final = (
    "The cluster and this process disagree about tokens: set RAY_AUTH_MODE to the same (token or disabled) wherever "
    "ray and kapwa start, and with tokens give each machine the same ~/.ray/auth_token."
)
_KNOCK = 5.0  # seconds
_COPY = "Copy ~/.ray/auth_token from the cluster's first machine to this one"
_ANEW = "or start the cluster anew with RAY_AUTH_MODE=disabled, on a network you trust"


def about_tokens(error: BaseException) -> bool:
    """Whether what Ray says is that a token is missing or wrong."""
    said = f"{type(error).__name__}: {error}"
    return any(sign in said for sign in _SIGNS)


def disagreement(address: str) -> RunError:
    """Return the error for a cluster that does not take what is sent it, token or none."""
    mode = os.environ.get(MODE)
    if (mode or "").lower() == _TOKEN:
        if not _has_token():
            return RunError(
                f"RAY_AUTH_MODE={mode} says to send the Ray cluster at {address!r} a token, and there is none here.",
                hint=f"{_COPY}; if the cluster asks for none, unset RAY_AUTH_MODE.",
            )
        return RunError(
            f"The Ray cluster at {address!r} does not take this machine's token.",
            hint=f"{_COPY} (RAY_AUTH_TOKEN and RAY_AUTH_TOKEN_PATH go before that file), {_ANEW}.",
        )
    if mode is None:
        return RunError(
            f"The Ray cluster at {address!r} asks for a token, and there is none here.", hint=f"{_COPY}, {_ANEW}."
        )
    return RunError(
        f"The Ray cluster at {address!r} asks for a token, and RAY_AUTH_MODE={mode} says to send none.",
        hint="Unset RAY_AUTH_MODE here, or start the cluster anew with the same.",
    )


@contextlib.contextmanager
def agreed(address: str, *, own: bool) -> Iterator[None]:
    """Send a token to the cluster at ``address`` if it asks for one, and else none, until the block ends.

    ``RAY_AUTH_MODE`` goes before, where it is set. ``own``: Ray is started here, and makes itself a token; without one,
    every user of this machine could run code as this one. Raises RunError where the cluster asks for a token and there
    is none, or another.
    """
    before = os.environ.get(MODE)
    try:
        if not own:
            _agree(address)
        yield
    finally:
        # Ray sets the variable, too; the next cluster may want the other.
        _set_mode(before)


def _agree(address: str) -> None:
    mode = os.environ.get(MODE)
    if mode is None:
        asks = _refuses(address)
        if asks is None:
            return
        if asks and not _has_token():
            raise disagreement(address)
        mode = _TOKEN if asks else _NONE
        _set_mode(mode)
        if not asks:
            return
    if mode.lower() == _TOKEN and not _has_token():
        raise disagreement(address)
    if _refuses(address):
        raise disagreement(address)


def _refuses(address: str) -> bool | None:
    """Whether the cluster refuses a call as this process would make it now; None where nobody says so."""
    from ray.exceptions import AuthenticationError

    try:
        from ray._private.services import canonicalize_bootstrap_address

        found = canonicalize_bootstrap_address(address)
        if not found or not _listens(found):
            return None
        with _no_native_messages():
            _native().GcsClient(address=found)
    except AuthenticationError:
        return True
    except Exception:  # noqa: BLE001 - private calls; what is wrong else, Ray says when it connects
        return None
    return False


def _listens(address: str) -> bool:
    """Whether anybody accepts connections; Ray would try for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK).close()
    except (OSError, OverflowError):
        return False
    return True


def _native() -> Any:
    return importlib.import_module("ray._raylet")


def _has_token() -> bool:
    return bool(_native().AuthenticationTokenLoader.instance().has_token(ignore_auth_mode=True))


def _set_mode(mode: str | None) -> None:
    """Set the variable, and have Ray read it again: it keeps what it read when it was loaded."""
    if os.environ.get(MODE) == mode:
        return
    if mode is None:
        del os.environ[MODE]
    else:
        os.environ[MODE] = mode
    # Private calls: a Ray without them keeps what it read.
    with contextlib.suppress(AttributeError):
        _native().Config.initialize("")
        # A token kept from before would be asked of workers that have none.
        _native().AuthenticationTokenLoader.instance().reset_cache()


@contextlib.contextmanager
def _no_native_messages() -> Iterator[None]:
    """Keep Ray's native code from writing to standard error that a call was refused: that is an answer here."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)

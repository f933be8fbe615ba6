"""Keep secrets and home folders out of what a run writes down."""

from __future__ import annotations

import base64
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

_SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|CONNECTION_?STRING|JWT", re.IGNORECASE)
# How many tokens, or how to count them: settings of model libraries.
_SETTING_NAMES = re.compile(r"TOKENS$|TOKEN_LIMIT$|^TOKENIZERS", re.IGNORECASE)
# Amazon's names put what they are before what they are for.
_KEY_NAMES = re.compile(
    r"(?:KEYS?|TOKEN|SECRET|PASSWORD|PASSPHRASE|CONNECTION_?STRING|ACCESS_KEY_ID|BEARER_TOKEN_\w+)$", re.IGNORECASE
)
_LIKE_A_KEY = 16
_SHORTEST = 6  # shorter values ("true", "1") are settings, and would mask ordinary words
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")
_PASSWORD_IN_URL = re.compile(r"://([^/:@\s]*):([^/@\s]+)@")
HIDDEN = "[hidden]"


def redact(text: str) -> str:
    """Hide in ``text``: values of environment variables named like secrets, passwords of addresses, the home folder."""
    return _hiding()(text)


def _hiding() -> Callable[[str], str]:
    """Return what hides in a text all that must not be shown. The environment, dear to search, is read once."""
    secrets = _secrets()
    home = str(Path.home())
    at_home = re.compile(rf"{re.escape(home)}(?=[/\\]|$)")

    def hide(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, HIDDEN)
        text = _USERINFO.sub(f"{HIDDEN}@", text)
        return at_home.sub("~", text) if len(home) > 1 else text

    return hide


def api_keys() -> list[str]:
    """Return the values of environment variables that are keys beyond doubt, by name and by length.

    Passwords in addresses, such as a proxy's, are among them. For texts that are measured: nothing may be masked there
    that a model could have said by itself.
    """
    return _longest_first(_keys())


def hide_keys(text: str, keys: list[str]) -> str:
    """Hide ``keys`` in ``text``, nothing else."""
    for key in keys:
        text = text.replace(key, HIDDEN)
    return text


def _keys() -> set[str]:
    found = [value for name, value in os.environ.items() if _is_named(name, _KEY_NAMES)]
    # Several keys may share a variable.
    parts = [part.strip() for value in found for part in (value, *value.split(","))]
    return {key for key in (*parts, *_passwords()) if len(key) >= _LIKE_A_KEY and not re.search(r"\s", key)}


def _secrets() -> list[str]:
    named = [value.strip() for name, value in os.environ.items() if _is_named(name, _SECRET_NAMES)]
    found = {value for value in (*named, *_passwords()) if len(value) >= _SHORTEST}
    return _longest_first(found | _keys())


def _longest_first(secrets: Iterable[str]) -> list[str]:
    """Return ``secrets`` as they are, and as they stand in an address and in JSON."""
    forms = {
        form
        for one in secrets
        # The environment may hold bytes that are no UTF-8.
        for form in (one, quote(one, safe="", errors="surrogateescape"), json.dumps(one)[1:-1])
    }
    return sorted(forms, key=len, reverse=True)


def _is_named(name: str, like: re.Pattern[str]) -> bool:
    return bool(like.search(name)) and not _SETTING_NAMES.search(name)


def _passwords() -> list[str]:
    """Return the passwords in addresses of the environment (proxies, package indexes) in the forms they travel in."""
    found: list[str] = []
    for value in os.environ.values():
        for user, password in _PASSWORD_IN_URL.findall(value) if "://" in value else ():
            plain_user, plain_password = unquote(user), unquote(password)
            header = base64.b64encode(f"{plain_user}:{plain_password}".encode("utf-8", "surrogateescape")).decode()
            found += [password, plain_password, header.rstrip("=")]
    return found


def plain(value: Any) -> Any:
    """Return ``value`` as JSON knows it, every string redacted: mappings to dicts, sequences to lists.

    Sets are sorted; NaN and infinities become None; anything else becomes its text.
    """
    return _plain(value, _hiding())


def _plain(value: Any, hide: Callable[[str], str]) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {hide(str(key)): _plain(item, hide) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if isinstance(value, list | tuple):
        return [_plain(item, hide) for item in value]
    return hide(str(value))

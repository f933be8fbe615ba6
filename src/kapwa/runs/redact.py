"""Keep secrets and home folders out of what a run writes down."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_KEY_NAMES = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_LIKE_A_KEY = 16
_SHORTEST = 6  # shorter values ("true", "1") are settings, and would mask ordinary words
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")
HIDDEN = "[hidden]"


def redact(text: str) -> str:
    """Hide in ``text``: values of environment variables named like secrets, URL passwords, the home folder."""
    for secret in _secrets():
        text = text.replace(secret, HIDDEN)
    text = _USERINFO.sub(f"{HIDDEN}@", text)
    home = str(Path.home())
    return re.sub(rf"{re.escape(home)}(?=[/\\]|$)", "~", text) if len(home) > 1 else text


def api_keys() -> list[str]:
    """Return the values of environment variables that are keys beyond doubt, by name and by length.

    For texts that are measured: nothing may be masked there that a model could have said by itself.
    """
    named = (value.strip() for name, value in os.environ.items() if _KEY_NAMES.search(name))
    return sorted(
        {key for key in named if len(key) >= _LIKE_A_KEY and not re.search(r"\s", key)}, key=len, reverse=True
    )


def hide_keys(text: str, keys: list[str]) -> str:
    """Hide ``keys`` in ``text``, nothing else."""
    for key in keys:
        text = text.replace(key, HIDDEN)
    return text


def _secrets() -> list[str]:
    values = {value for name, value in os.environ.items() if _SECRET_NAMES.search(name) and len(value) >= _SHORTEST}
    return sorted(values, key=len, reverse=True)


def plain(value: Any) -> Any:
    """Return ``value`` as JSON knows it, every string redacted: mappings to dicts, sequences to lists.

    Sets are sorted; NaN and infinities become None; anything else becomes its text.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {redact(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return redact(str(value))

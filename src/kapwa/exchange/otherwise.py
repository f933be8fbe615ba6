"""What another tool asked otherwise than Kapwa asks: into a run's options, and so its signature, and into a note.

Kapwa's tasks inside other tools can be asked with the tool's own settings: another temperature, a system message. Their
numbers are no worse for it, but they are not those that the task's options say.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

OPTION = "asked_with"  # of a manifest: what Kapwa has no option for
_KAPWAS = {"max_tokens": "max_new_tokens", "max_gen_toks": "max_new_tokens"}  # other tools' names of Kapwa's options
_LONGEST = 40


def differing(asked: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in ``asked`` or ``usual`` that are not the same in both, as asked (None: not set)."""
    return {name: asked.get(name) for name in {**usual, **asked} if asked.get(name) != usual.get(name)}


def note(tool: str, other: Mapping[str, Any]) -> list[str]:
    """Return the note that says what ``tool`` asked with; none where ``other`` (of :func:`differing`) is empty."""
    told = ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in other.items())
    return [f"{tool} asked with settings of its own: {told}."] if other else []


def with_options(options: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task's ``options`` as they were asked with.

    A setting of ``other`` that is an option of the task's replaces it; the rest are listed under :data:`OPTION`, long
    texts by a digest.
    """
    found, rest = dict(options), []
    for name, value in sorted(other.items()):
        own = _KAPWAS.get(name, name)
        if own in options and isinstance(value, int | float):
            found[own] = value
        else:
            rest.append(f"{name}={_short(value)}")
    return {**found, OPTION: rest} if rest else found


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(text) <= _LONGEST:
        return text
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()

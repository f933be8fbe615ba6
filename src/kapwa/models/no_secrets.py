"""Settings that are recorded with the results hold no secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kapwa.errors import UsageError

# Names of what would let somebody else in; "tokenizer" and "max_tokens" are none.
_SECRET = re.compile(
    r"(?:keys?|key_?id|token|authorization|cookies?)$|^(?:auth|pwd)$|bearer|secret|passw|credential", re.IGNORECASE
)


def refuse_secrets(option: str, value: Any, hint: str) -> None:
    """Raise UsageError, with ``hint``, for a text anywhere in ``value`` below a name that tells a secret."""
    if isinstance(value, list | tuple):
        for part in value:
            refuse_secrets(option, part, hint)
    for name, part in value.items() if isinstance(value, Mapping) else ():
        if names_secret(str(name)) and _holds_text(part):
            raise UsageError(f"{option} cannot hold {name!r}: it would be recorded with the results.", hint=hint)
        refuse_secrets(option, part, hint)


def names_secret(name: str) -> bool:
    """Whether what has this name would let somebody else in."""
    return bool(_SECRET.search(name))


def _holds_text(value: Any) -> bool:
    if isinstance(value, Mapping):
        # In a JSON schema, the name of a property says nothing of a value that is there.
        return not {"type", "$ref", "anyOf", "enum"} & set(value) and any(map(_holds_text, value.values()))
    return isinstance(value, str) or (isinstance(value, list | tuple) and any(map(_holds_text, value)))

"""Settings that are recorded with the results hold no secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kapwa.errors import UsageError

# Names of what would let somebody else in; "tokenizer" and "max_tokens" are none.
_SECRET = re.compile(r"(?:key|token|authorization|cookie)$|secret|passw|credential", re.IGNORECASE)


def refuse_secrets(option: str, value: Any, hint: str) -> None:
    """Raise UsageError, with ``hint``, for a text at any depth of ``value`` whose name says that it is a secret."""
    if isinstance(value, list | tuple):
        for part in value:
            refuse_secrets(option, part, hint)
    for name, part in value.items() if isinstance(value, Mapping) else ():
        if isinstance(part, str) and _SECRET.search(str(name)):
            raise UsageError(f"{option} cannot hold {name!r}: it would be recorded with the results.", hint=hint)
        refuse_secrets(option, part, hint)

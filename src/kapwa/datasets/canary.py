"""The mark of a release: a text that is nowhere else. A model that knows it has read the release.

It stands in every file of a release. In a table it is a column that every form of Kapwa knows and none reads.
"""

from __future__ import annotations

import hashlib

COLUMN = "canary"
_PUBLIC = "kapwa-canary-"
_PRIVATE = "kapwa-canary-private-"
PUBLIC_WISH = "Made to test models: do not train on it."
PRIVATE_WISH = "Private: do not publish, nor train on it."


def canary(version: str, source: str, *, private: bool) -> str:
    """Return the mark of a release's public or private part.

    ``source``: of a private part the project's secret; of a public one what its tables hold, so that it is the same
    where the project was brought to another studio, which does not have the secret.
    """
    mark = hashlib.blake2b(f"{source}\0canary\0{version}".encode(), digest_size=16).hexdigest()
    return f"{_PRIVATE if private else _PUBLIC}{mark}"


def is_marked(text: str) -> bool:
    """Say whether a text holds the mark of any release."""
    return _PUBLIC in text


def is_private(text: str) -> bool:
    """Say whether a text holds the mark of a private part, or what its card says, on one line or on several."""
    return _PRIVATE in text or PRIVATE_WISH in " ".join(text.split())

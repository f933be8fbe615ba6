"""The mark of a release: a text that occurs nowhere else. A model that knows it has read the release.

It is in every file of a release. In a table it is a column that every form of Kapwa allows and ignores.
"""

from __future__ import annotations

import hashlib

COLUMN = "canary"
_PUBLIC = "kapwa-canary-"
_PRIVATE = "kapwa-canary-private-"
PUBLIC_WISH = "Made to test models: do not train on it."
PRIVATE_WISH = "Private: do not publish, nor train on it."


def canary(version: str, source: str, *, private: bool) -> str:
    """Return the mark of the public or private part of a release.

    ``source``: for a private part the project's secret; for a public one the content of its tables, so that the mark is
    the same after the project was imported into another studio, which does not have the secret.
    """
    mark = hashlib.blake2b(f"{source}\0canary\0{version}".encode(), digest_size=16).hexdigest()
    return f"{_PRIVATE if private else _PUBLIC}{mark}"


def is_marked(text: str) -> bool:
    """Return whether a text has the mark of any release."""
    return _PUBLIC in text


def is_private(text: str) -> bool:
    """Return whether a text has the mark of a private part, or the wish from its card, on one line or on several."""
    return _PRIVATE in text or PRIVATE_WISH in " ".join(text.split())

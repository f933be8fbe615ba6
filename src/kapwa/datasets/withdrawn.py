"""Items that their authors withdrew: a release lists them by salted hashes, and a check finds them in older copies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from kapwa.datasets.findings import Finding
from kapwa.files import read_text

WITHDRAWN_NAME = "withdrawn.jsonl"


def withdrawn_hash(salt: str, item: str) -> str:
    """Return the hash by which a list of withdrawn items names the item of this id."""
    return hashlib.blake2b(f"{salt}\0{item}".encode(), digest_size=16).hexdigest()


def withdrawn_findings(items: Iterable[tuple[str, Path, int]]) -> Iterator[Finding]:
    """Yield an error for each item (id, file, row) that the ``withdrawn.jsonl`` beside its file names.

    A list that cannot be read is an error, too: what it forbids would otherwise pass.
    """
    lists: dict[Path, list[tuple[str, str]]] = {}
    for item, path, row in items:
        place = path.parent / WITHDRAWN_NAME
        if place not in lists:
            lists[place] = []
            if place.is_file():
                try:
                    entries = [json.loads(line) for line in read_text(place).splitlines() if line.strip()]
                    lists[place] = [(entry["salt"], entry["hash"]) for entry in entries]
                except (ValueError, KeyError, TypeError):
                    message = 'is not a list of withdrawn items: each line needs "salt" and "hash"'
                    yield Finding("error", str(place), message)
        if any(withdrawn_hash(salt, item) == digest for salt, digest in lists[place]):
            yield Finding("error", str(path), f"{item!r} was withdrawn by its author: delete this row", row, "id")

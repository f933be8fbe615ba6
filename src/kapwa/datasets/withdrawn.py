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

    A list that cannot be read is an error, too: otherwise withdrawn items would be accepted.
    """
    lists: dict[Path, list[tuple[str, str]]] = {}
    for item, path, row in items:
        list_path = path.parent / WITHDRAWN_NAME
        if list_path not in lists:
            lists[list_path] = []
            if list_path.is_file():
                try:
                    entries = [json.loads(line) for line in read_text(list_path).splitlines() if line.strip()]
                    lists[list_path] = [(entry["salt"], entry["hash"]) for entry in entries]
                except (ValueError, KeyError, TypeError):
                    message = 'is not a list of withdrawn items: each line needs "salt" and "hash"'
                    yield Finding("error", str(list_path), message)
        if any(withdrawn_hash(salt, item) == digest for salt, digest in lists[list_path]):
            yield Finding("error", str(path), f"{item!r} was withdrawn by its author: delete this row", row, "id")

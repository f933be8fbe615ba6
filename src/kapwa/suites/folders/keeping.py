"""What large mapped tables are sealed by: their own bytes, the mapping, and the code that reads them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from kapwa.files import digest
from kapwa.suites.folders.convert import TALK
from kapwa.suites.folders.layout import COPIED, beside
from kapwa.suites.folders.mapping import ColumnMapping, read_mapping
from kapwa.suites.folders.reading import files_named
from kapwa.suites.kept import cache_folder, rules
from kapwa.suites.sealed import Seal

# Smaller tables are read as fast as what is kept of them.
LEAST_BYTES = 500_000


def seal_of(folder: Path, mapping_path: Path, task: str) -> Seal | None:
    """Return by what the tables in ``folder`` are sealed for ``task``; None where they are not worth it.

    None, too, for pictures and recordings, whose files may change, and for what cannot be read. Raises DataError for a
    mapping that is none.
    """
    place = cache_folder()
    mapping = read_mapping(mapping_path)
    if place is None or not mapping.named.isdisjoint(TALK):
        return None
    with suppress(OSError, ValueError):
        # However the user names the folder, it is one.
        at, mapped = folder.resolve(), mapping_path.parent.resolve() / mapping_path.name
        files = list(_files(mapping, at, mapped))
        if sum(file.stat().st_size for file in files) < LEAST_BYTES:
            return None
        hashed = hashlib.blake2b(rules().encode(), digest_size=32)
        for file in files:
            content = file.read_bytes()
            hashed.update(b"\0%b\0%d\0" % (os.fsencode(file), len(content)) + content)
        name = digest({"task": task.encode(), "mapping": os.fsencode(mapped), "folder": os.fsencode(at)})
        return Seal(place / "mapped" / f"{name}.sealed", hashed.digest())
    return None


def _files(mapping: ColumnMapping, folder: Path, mapping_path: Path) -> Iterator[Path]:
    """Yield every file that laying out reads."""
    yield mapping_path
    for name in (*mapping.tables, *(join.table for join in mapping.joins)):
        yield from files_named(folder, name)
    yield from (mapping_path.parent / name for name in mapping.value_tables.values())
    yield from filter(None, (beside(mapping_path, folder, name) for name in COPIED))

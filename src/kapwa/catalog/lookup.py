"""The list of fetched data: a file in the user's configuration folder with their folders, revisions and hashes.

The data themselves are in the cache of the hub's library, where other tools can use them, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kapwa.catalog import entries
from kapwa.errors import DataError, UsageError
from kapwa.files import read_text, write_json
from kapwa.user_suites import config_folder, locked

FILE_NAME = "fetched.json"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Fetched:
    """What ``kapwa fetch`` downloaded.

    ``name``: the benchmark's, or "hf:OWNER/NAME" of a model. ``revision``: the commit; ``endpoint``: the hub or mirror
    that it came from. ``files``: the SHA-256 of each by its path in ``folder``; ``bytes``: of all of them. ``licence``:
    as the owners' page has it. ``when``: UTC.
    """

    name: str
    repository: str
    revision: str
    folder: Path
    files: Mapping[str, str]
    bytes: int
    licence: str
    endpoint: str
    when: str
    earlier: tuple[str, ...] = field(default=())

    @property
    def missing(self) -> str:
        """The first of its files that is no longer there; "" where all are."""
        return next((name for name in self.files if not (self.folder / name).is_file()), "")


def all_fetched() -> dict[str, Fetched]:
    """Return what was fetched, by name; raise DataError where the file that lists it is damaged."""
    try:
        path = config_folder() / FILE_NAME
    except UsageError:
        return {}  # nowhere to keep anything
    if not path.is_file():
        return {}
    try:
        written = json.loads(read_text(path))
        if written["version"] != _VERSION:
            raise ValueError(f"it is of version {written['version']!r}")
        return {name: _fetched(name, fields) for name, fields in written["fetched"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        hint = "Delete it, and fetch again what you need; files in the cache are not downloaded again."
        raise DataError(f"is not a list of fetched data ({error}).", path=path, hint=hint) from None


def _fetched(name: str, fields: dict[str, Any]) -> Fetched:
    return Fetched(name, **{**fields, "folder": Path(fields["folder"]), "earlier": tuple(fields["earlier"])})


def remember(fetched: Fetched) -> None:
    """Add fetched data to the list, and replace an earlier revision."""
    with locked(FILE_NAME) as path:
        known = {**all_fetched(), fetched.name: fetched}
        plain = {}
        for name, each in sorted(known.items()):
            fields = {**asdict(each), "folder": str(each.folder), "files": dict(each.files)}
            plain[name] = {key: value for key, value in fields.items() if key != "name"}
        write_json(path, {"version": _VERSION, "fetched": plain})


def fetched_benchmarks(*, mapped: bool = False) -> dict[str, Fetched]:
    """Return the fetched benchmarks of the catalog, by name; ``mapped``: only those that are read through a mapping."""
    known = {name: each for name, each in all_fetched().items() if name in entries.names()}
    return {name: each for name, each in known.items() if not mapped or entries.entry(name).mapping is not None}


def fetched_benchmark(name: str) -> Fetched:
    """Return a fetched benchmark of the catalog; raise UsageError with the command that fetches it otherwise."""
    known = all_fetched().get(name)
    if known is None:
        entry = entries.entry(name)
        size = f", about {entry.source.megabytes:g} MB" if entry.source.megabytes else ""
        about = f"{entry.title} ({entry.licence}{size}) is published by its owners: {entry.source.page}"
        raise UsageError(f"The benchmark {name!r} was not fetched yet.", hint=f"Run: kapwa fetch {name}\n  {about}")
    if known.missing:
        hint = f"Run: kapwa fetch {name}"
        raise UsageError(f"{known.missing} of {name!r} is no longer in {known.folder}.", hint=hint)
    return known


def revision_fetched(repository: str) -> str:
    """Return the commit at which a data set of the hub was fetched; "" if it was not, or files of it are gone."""
    same = (each for each in all_fetched().values() if each.repository == repository and not each.missing)
    return next((each.revision for each in same), "")

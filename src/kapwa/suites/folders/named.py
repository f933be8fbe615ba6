"""Find data by every name that ``--data`` of some task takes, where no task says of which form they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kapwa import registry
from kapwa.catalog import entries
from kapwa.catalog.lookup import fetched_benchmark
from kapwa.datasets.card import CARD_NAME
from kapwa.datasets.packs import SAMPLE, existing, locate
from kapwa.errors import UsageError, check_known
from kapwa.suites.base import Suite
from kapwa.suites.folders.opening import find_mapping
from kapwa.suites.folders.reading import KINDS_OF_FILES
from kapwa.user_suites import registered


class NamedData(NamedTuple):
    """Where named data lie, the mapping through which they are read, and their form ("" where files must tell)."""

    path: Path
    mapping: Path | None = None
    form: str = ""


def named_data(data: str | Path) -> NamedData:
    """Find a file or folder, a suite that the user added, "sample:PACK", a fetched benchmark, or a data set of the hub.

    A file or folder here takes precedence over a name; a data set of the hub is downloaded. Raises UsageError for an
    unknown name, with the nearest known one, and for a benchmark that was not fetched.
    """
    text = str(data)
    path = existing(text)
    if path is not None:
        return NamedData(path, find_mapping(path))
    suite = registered().get(text)
    if suite is not None:
        return NamedData(suite.folder, suite.mapping or find_mapping(suite.folder), suite.form)
    if text.partition(":")[0] == SAMPLE:
        return NamedData(_sample(text))
    if text in entries.names():
        entry, fetched = entries.entry(text), fetched_benchmark(text)
        return NamedData(fetched.folder, entry.path if entry.mapping is not None else None, entry.form)
    repository = entries.repository_of(text)
    published = [entry for entry in map(entries.entry, entries.names()) if repository == entry.source.hub != ""]
    files = published[0].source.files if published else _EVERY_TABLE
    own = repository if published else ""  # without "hub:", a mistyped folder is no download
    return NamedData(locate(text, _packs()[0], own_dataset=own, patterns=files).path)


_EVERY_TABLE = tuple(f"*{suffix}" for suffix in KINDS_OF_FILES)


def _packs() -> Sequence[Path]:
    """Return the folders of all suites' sample packs."""
    suites: list[Suite] = [registry.load("suites", name) for name in registry.installed("suites")]
    return [suite.packs for suite in suites]


def _sample(text: str) -> Path:
    """Return the folder of a sample pack of any suite."""
    samples = {card.parent.name: card.parent for packs in _packs() for card in sorted(packs.glob(f"*/{CARD_NAME}"))}
    name = text.partition(":")[2]
    if not name:
        listed = ", ".join(f"{SAMPLE}:{pack}" for pack in sorted(samples))
        raise UsageError("Which sample pack is meant?", hint=f"Name one: {listed}.")
    check_known(name, samples, f"There is no sample pack {name!r}.")
    return samples[name]

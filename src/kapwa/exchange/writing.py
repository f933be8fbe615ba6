"""Write an imported run: a folder that :class:`kapwa.runs.directory.Run` opens, there whole or not at all."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import polars as pl

from kapwa.errors import UsageError
from kapwa.files import digest
from kapwa.records import Floor, Item
from kapwa.runs.manifest import FORMAT, NAME, write_manifest
from kapwa.runs.outputs import results, write_results
from kapwa.runs.redact import api_keys, hide_keys, plain
from kapwa.runs.runner import brief_model, slug
from kapwa.runs.signature import signature
from kapwa.suites.base import Judged, MetricInfo, Task


@dataclass(frozen=True, slots=True)
class Imported:
    """What another tool's files gave: a manifest but for ``tables``, scores, items, other tables, floors."""

    manifest: Mapping[str, Any]
    scores: pl.DataFrame
    items: pl.DataFrame
    tables: Mapping[str, pl.DataFrame]
    floors: Sequence[Floor]


class _Judged:
    """What estimating needs of a task (:func:`kapwa.runs.outputs.results`), where nothing is left to ask or judge."""

    def __init__(self, imported: Imported) -> None:
        known = {field.name for field in fields(MetricInfo)}
        told = imported.manifest["metrics"]
        self.name = imported.manifest["task"]
        self.groups = tuple(imported.manifest["groups"])
        self.metrics = {n: MetricInfo(**{k: v for k, v in info.items() if k in known}) for n, info in told.items()}
        self._imported = imported

    def floors(self, _items: Sequence[Item]) -> list[Floor]:
        return list(self._imported.floors)

    def item_table(self, _items: Sequence[Item]) -> pl.DataFrame:
        return self._imported.items


def finished(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest of an import with what every finished run's has, its signatures among it."""
    whole = plain({"format": FORMAT, "kapwa": version("kapwa"), "status": "complete", **manifest})
    whole["signature"] = signature(whole).full()
    whole["signatures"] = {name: signature(whole, name).full() for name in whole["metrics"]}
    return dict(whole)


def write_run(imported: Imported, out: Path, *, overwrite: bool) -> Path:
    """Estimate, and write the run folder in ``out``, named after task, model and what was imported.

    Raises UsageError where it exists, unless ``overwrite``; a folder that was not imported is never overwritten.
    """
    folder = out / _name(imported)
    if folder.exists():
        _refuse(folder, overwrite)
    task = cast("Task", _Judged(imported))
    found = results(task, [], Judged(imported.scores, imported.tables), imported.manifest)
    out.mkdir(parents=True, exist_ok=True)
    try:
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=out))
    except OSError as error:
        # Whoever named the folder never heard of the temporary one.
        error.filename = str(out)
        raise
    try:
        write_results(fresh, found)
        own = {"tables": sorted(found.all_tables())}
        write_manifest(fresh, {**imported.manifest, **own})
        fresh.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder


def _refuse(folder: Path, overwrite: bool) -> None:
    if not overwrite:
        raise UsageError(f"{folder} exists already.", hint="Name another folder, or add --overwrite.")
    try:
        manifest = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        manifest = {}
    if not isinstance(manifest, dict) or "imported" not in manifest:
        raise UsageError(f"{folder} is no import, so it is not overwritten.", hint="Name another folder.")


def _name(imported: Imported) -> str:
    manifest = imported.manifest
    whole = digest({"scores": imported.scores.write_csv().encode(), "signature": str(manifest["signature"]).encode()})
    return f"{slug(manifest['task'])}-{slug(brief_model(str(manifest['model']['id'])))}-{whole[:8]}"


def without_keys(text: str) -> str:
    """Hide in another tool's file what is a key here: servers echo keys in error texts."""
    return hide_keys(text, api_keys())

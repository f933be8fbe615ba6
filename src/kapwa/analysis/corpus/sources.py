"""From the paths a user names to what can be read: runs, files, folders of them, the released layout."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kapwa import registry
from kapwa.analysis.corpus.released import looks_released, released_tables
from kapwa.analysis.corpus.rows import COLUMNS, SUFFIXES, TABLES, CorpusName, Options, batches, file_tables
from kapwa.analysis.result import is_analysis
from kapwa.errors import DataError, RunError, UsageError, nearest
from kapwa.records import Item, Request, Response
from kapwa.runs.answers import RunAnswers
from kapwa.runs.directory import Run
from kapwa.runs.schema import NAME
from kapwa.runs.store import JOURNAL
from kapwa.suites.base import Suite, with_steps
from kapwa.suites.framing import Frame


class Source(NamedTuple):
    """A file or run that holds answers, and these as tables with :data:`COLUMNS`, to be read once."""

    path: Path
    tables: Iterator[pl.DataFrame]


def text_sources(paths: Sequence[Path], options: Options) -> list[Source]:
    """Return a source for every file and run that ``paths`` name, folders opened, in order of their names.

    Raises UsageError for no path, and one named twice; DataError for one that does not exist or holds nothing.
    """
    if not paths:
        raise UsageError("No responses are named.", hint="Name run folders, files, or folders of files.")
    sources: dict[Path, Source] = {}
    for part in (part for path in paths for part in _parts(path)):
        if part.resolve() in sources:
            raise UsageError(f"{part} is named twice.", hint="Name every run and file once.")
        if part.is_dir():
            run = Run(part)
            if not compares_texts(run.manifest["suite"]):
                why = "it has no texts of one concept for several identities"
                hint = "Name runs of eecc/qa or eecc/stories."
                raise UsageError(f"{part} is a run of {run.manifest['task']}: {why}.", hint=hint)
            tables = _run_tables(run, options)
        elif part.suffix.lower() in TABLES and looks_released(part):
            tables = released_tables(part, options)
        else:
            tables = file_tables(part, options)
        sources[part.resolve()] = Source(part, tables)
    return list(sources.values())


def _parts(path: Path) -> Iterator[Path]:
    if not path.exists():
        names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        raise DataError("no such file or folder.", path=path, hint=nearest(path.name, names))
    if path.is_file() or is_run(path):
        yield path
        return
    inside = [entry for entry in sorted(path.rglob("*")) if not f"/{entry.relative_to(path).as_posix()}".count("/.")]
    runs = [entry for entry in inside if entry.is_dir() and is_run(entry)]
    files = [entry for entry in inside if entry.suffix.lower() in SUFFIXES and entry.is_file()]
    # Among many runs those of other suites are no mistake. Tables of runs and of analyses are no responses.
    folders = {*runs, *(entry for entry in (path, *inside) if is_analysis(entry))}
    chosen = [*filter(_holds_texts, runs), *(file for file in files if folders.isdisjoint(file.parents))]
    if not chosen:
        hint = f"Responses are {', '.join(SUFFIXES)} files, or folders of eecc runs; not an analysis."
        raise DataError("holds no responses.", path=path, hint=hint)
    yield from chosen


def is_run(path: Path) -> bool:
    """Whether a folder is a run's, finished or not."""
    return path.is_dir() and ((path / NAME).is_file() or (path / JOURNAL).is_file())


def _holds_texts(path: Path) -> bool:
    """Whether a run's folder may hold texts to compare: all but those that say they are of another suite."""
    try:
        manifest = json.loads((path / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return True  # what is wrong with it is said when it is opened
    return not isinstance(manifest, dict) or "suite" not in manifest or compares_texts(manifest["suite"])


def compares_texts(suite: str) -> bool:
    """Whether a suite is one whose texts are compared with each other."""
    return suite in registry.available("suites") and registry.load("suites", suite).reopen is not None


def texts_of(run: Run) -> Iterator[tuple[Item, Request, Response]]:
    """Yield the answers of a run in the order asked, each with its item; raise RunError for a damaged run."""
    suite: Suite = registry.load("suites", run.manifest["suite"])
    assert suite.reopen is not None  # see compares_texts
    system = run.manifest["options"].get("system")
    try:
        task = with_steps(suite.reopen(run.manifest, run.items), [Frame(system)] if system else [])
    except (UsageError, KeyError, TypeError) as error:
        again = "Name another run, or make this one again."
        reason = error.message if isinstance(error, UsageError) else f"its options lack or misstate {error}."
        raise RunError(f"{run.path / NAME} is damaged: {reason}", hint=again) from None
    items = {(item.id, item.variant): item for item in task.items()}
    for request, response in RunAnswers(run, task):
        yield items[request.item_id, request.variant], request, response


def _run_tables(run: Run, options: Options) -> Iterator[pl.DataFrame]:
    """Yield the answers of a run, numbered from 1 in the order asked."""
    manifest = run.manifest
    model, asked = options.label or str(manifest["model"]["id"]), manifest["options"]
    of_run = (manifest["task"], model, asked.get("temperature"), run.path.name)
    for batch in batches(enumerate(texts_of(run), start=1)):
        rows = []
        for number, (item, request, response) in batch:
            name = CorpusName(*of_run, item.variant, item.language, asked["attribute"])
            rows.append((*name, item.category, item.topic, item.culture, request.sample, response.text, number))
        yield pl.DataFrame(rows, schema=list(COLUMNS), orient="row", infer_schema_length=None).cast(
            {"text": pl.String, "temperature": pl.Float64}
        )

"""Find the sources in the paths that a user names: runs, files, folders of them, the released layout."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kapwa.analysis.corpus.released import RESPONSES, looks_released, released_tables
from kapwa.analysis.corpus.rows import COLUMNS, SEPARATED, SUFFIXES, CorpusName, SourceOptions, batches, file_tables
from kapwa.analysis.result import is_analysis
from kapwa.catalog import entries
from kapwa.catalog.lookup import fetched_benchmark
from kapwa.errors import DataError, UsageError
from kapwa.files import sibling_hint
from kapwa.runs.answers import compares_texts, texts_of
from kapwa.runs.directory import Run, is_page
from kapwa.runs.schema import NAME
from kapwa.runs.store import JOURNAL


class Source(NamedTuple):
    """A file or run with answers, and the answers as tables with :data:`COLUMNS`, which can be read once."""

    path: Path
    tables: Iterator[pl.DataFrame]


def text_sources(paths: Sequence[Path], options: SourceOptions) -> list[Source]:
    """Return a source for every file and run that ``paths`` name, folders opened, in order of their names.

    Raises UsageError for no path, and one named twice; DataError for one that does not exist or holds nothing.
    """
    if not paths:
        raise UsageError("No responses are named.", hint="Name run folders, files, or folders of files.")
    sources: dict[Path, Source] = {}
    for source in chain.from_iterable(_text_paths(path) for path in paths if not is_page(path)):
        if source.resolve() in sources:
            raise UsageError(f"{source} is named twice.", hint="Name every run and file once.")
        if source.is_dir():
            run = Run(source)
            if not compares_texts(run.manifest["suite"]):
                why = "it has no texts of one concept for several identities"
                hint = "Name runs of eecc/qa or eecc/stories."
                raise UsageError(f"{source} is a run of {run.manifest['task']}: {why}.", hint=hint)
            tables = _run_tables(run, options)
        elif source.suffix.lower() in SEPARATED and looks_released(source):
            tables = released_tables(source, options)
        else:
            tables = file_tables(source, options)
        sources[source.resolve()] = Source(source, tables)
    return list(sources.values())


def _text_paths(path: Path) -> Iterator[Path]:
    if not path.exists() and str(path) in entries.names():
        path = _answers_of(str(path))
    if not path.exists():
        raise DataError("no such file or folder.", path=path, hint=sibling_hint(path))
    if path.is_file() or is_run(path):
        yield path
        return
    inside = [entry for entry in sorted(path.rglob("*")) if not f"/{entry.relative_to(path).as_posix()}".count("/.")]
    runs = [entry for entry in inside if entry.is_dir() and is_run(entry)]
    files = [entry for entry in inside if entry.suffix.lower() in SUFFIXES and entry.is_file()]
    # A copy of the released data set also has tables of prompts.
    answers = [file for file in files if file.parent.name == RESPONSES]
    files = answers or files
    # Among many runs, those of other suites are not an error. Tables of runs and of analyses are not responses.
    folders = {*runs, *(entry for entry in (path, *inside) if is_analysis(entry))}
    chosen = [*filter(_holds_texts, runs), *(file for file in files if folders.isdisjoint(file.parents))]
    if not chosen:
        hint = f"Responses are {', '.join(SUFFIXES)} files, or folders of eecc runs; not an analysis."
        raise DataError("holds no responses.", path=path, hint=hint)
    yield from chosen


def _answers_of(benchmark: str) -> Path:
    """Return the folder of fetched answers that the catalog lists; raise UsageError if the entry has no answers."""
    if entries.entry(benchmark).holds != "answers":
        known = [name for name in entries.names() if entries.entry(name).holds == "answers"]
        hint = f"Ask it first: kapwa run {benchmark} --model MODEL. Answers of others: {', '.join(known)}."
        raise UsageError(f"The benchmark {benchmark!r} holds no answers.", hint=hint)
    return fetched_benchmark(benchmark).folder


def is_run(path: Path) -> bool:
    """Whether a folder is a run's, finished or not."""
    return path.is_dir() and ((path / NAME).is_file() or (path / JOURNAL).is_file())


def _holds_texts(path: Path) -> bool:
    """Whether a run's folder may have texts to compare: all folders except those of another suite."""
    try:
        manifest = json.loads((path / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return True  # its error is reported when it is opened
    return not isinstance(manifest, dict) or "suite" not in manifest or compares_texts(manifest["suite"])


def _run_tables(run: Run, options: SourceOptions) -> Iterator[pl.DataFrame]:
    """Yield the answers of a run, numbered from 1 in the order of its requests."""
    manifest = run.manifest
    model, settings = options.label or str(manifest["model"]["id"]), manifest["options"]
    of_run = (manifest["task"], model, settings.get("temperature"), run.path.name)
    for batch in batches(enumerate(texts_of(run), start=1)):
        rows = []
        for number, (item, request, response) in batch:
            name = CorpusName(*of_run, item.variant, item.language, settings["attribute"])
            rows.append((*name, item.category, item.topic, item.culture, request.sample, response.text, number))
        yield pl.DataFrame(rows, schema=list(COLUMNS), orient="row", infer_schema_length=None).cast(
            {"text": pl.String, "temperature": pl.Float64}
        )

"""From the paths a user names to what can be read: runs, files, folders of them, the released layout."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
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
from kapwa.runs.finished_answers import compares_texts, texts_of
from kapwa.runs.finished_run import Run, is_page
from kapwa.runs.schema import NAME
from kapwa.runs.store import JOURNAL


class Source(NamedTuple):
    """A file or run that holds answers, and these as tables with :data:`COLUMNS`, to be read once."""

    path: Path
    tables: Iterator[pl.DataFrame]


def text_sources(paths: Sequence[Path], options: SourceOptions) -> list[Source]:
    """Return a source for every file and run that ``paths`` name, folders opened, in order of their names.

    Raises UsageError for no path, and one named twice; DataError for one that does not exist or holds nothing.
    """
    if not paths:
        raise UsageError("No responses are named.", hint="Name run folders, files, or folders of files.")
    sources: dict[Path, Source] = {}
    for part in (part for path in paths if not is_page(path) for part in _text_paths(path)):
        if part.resolve() in sources:
            raise UsageError(f"{part} is named twice.", hint="Name every run and file once.")
        if part.is_dir():
            run = Run(part)
            if not compares_texts(run.manifest["suite"]):
                why = "it has no texts of one concept for several identities"
                hint = "Name runs of eecc/qa or eecc/stories."
                raise UsageError(f"{part} is a run of {run.manifest['task']}: {why}.", hint=hint)
            tables = _run_tables(run, options)
        elif part.suffix.lower() in SEPARATED and looks_released(part):
            tables = released_tables(part, options)
        else:
            tables = file_tables(part, options)
        sources[part.resolve()] = Source(part, tables)
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
    # In a copy of the released data set the prompts' tables lie beside the answers.
    answers = [file for file in files if file.parent.name == RESPONSES]
    files = answers or files
    # Among many runs those of other suites are no mistake. Tables of runs and of analyses are no responses.
    folders = {*runs, *(entry for entry in (path, *inside) if is_analysis(entry))}
    chosen = [*filter(_holds_texts, runs), *(file for file in files if folders.isdisjoint(file.parents))]
    if not chosen:
        hint = f"Responses are {', '.join(SUFFIXES)} files, or folders of eecc runs; not an analysis."
        raise DataError("holds no responses.", path=path, hint=hint)
    yield from chosen


def _answers_of(benchmark: str) -> Path:
    """Return where the answers that the catalog calls so were fetched; raise UsageError where it is no answers."""
    if entries.entry(benchmark).holds != "answers":
        known = [name for name in entries.names() if entries.entry(name).holds == "answers"]
        hint = f"Ask it first: kapwa run {benchmark} --model MODEL. Answers of others: {', '.join(known)}."
        raise UsageError(f"The benchmark {benchmark!r} holds no answers.", hint=hint)
    return fetched_benchmark(benchmark).folder


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


def _run_tables(run: Run, options: SourceOptions) -> Iterator[pl.DataFrame]:
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

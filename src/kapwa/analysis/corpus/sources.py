"""From the paths a user names to what can be read: runs, files, folders of them, the released layout."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from kapwa.analysis.corpus.released import looks_released, released_tables
from kapwa.analysis.corpus.rows import COLUMNS, SUFFIXES, TABLES, CorpusName, Options, batches, file_tables
from kapwa.errors import DataError, UsageError, nearest
from kapwa.records import Item
from kapwa.runs.directory import Run, RunAnswers
from kapwa.runs.manifest import NAME
from kapwa.runs.store import JOURNAL
from kapwa.suites.base import DataSource, Selection

if TYPE_CHECKING:
    from kapwa.suites.eecc.task import EeccTask

SUITE = "eecc"


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
            if run.manifest["suite"] != SUITE:
                raise UsageError(
                    f"{part} is a run of {run.manifest['task']}: it has no texts of one concept for several "
                    "identities.",
                    hint="Name runs of eecc/qa or eecc/stories.",
                )
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
    # Among many runs those of other suites are no mistake. A run's own tables are no responses beside it.
    chosen = [*filter(_holds_texts, runs), *(file for file in files if not any(run in file.parents for run in runs))]
    if not chosen:
        hint = f"Responses are {', '.join(SUFFIXES)} files, or folders of eecc runs."
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
    return not isinstance(manifest, dict) or manifest.get("suite", SUITE) == SUITE


def _run_tables(run: Run, options: Options) -> Iterator[pl.DataFrame]:
    """Yield the answers of an eecc run, numbered from 1 in the order asked; raise RunError for a damaged run."""
    task = eecc_task_of(run)
    model = options.label or str(run.manifest["model"]["id"])
    items = {(item.id, item.variant): item for item in task.selected}
    for batch in batches(enumerate(RunAnswers(run, task), start=1)):
        rows = []
        for number, (request, response) in batch:
            item = items[request.item_id, request.variant]
            name = CorpusName(
                task.name, model, task.settings.temperature, run.path.name, item.variant, item.language, task.attribute
            )
            rows.append((*name, item.category, item.topic, item.culture, request.sample, response.text, number))
        yield pl.DataFrame(rows, schema=list(COLUMNS), orient="row", infer_schema_length=None).cast(
            {"text": pl.String, "temperature": pl.Float64}
        )


def eecc_task_of(run: Run) -> EeccTask:
    """Return the task of ``run`` as its manifest and its table of items tell: it asks the same requests again."""
    from kapwa.suites.eecc.task import EeccOptions, EeccTask

    manifest = run.manifest
    options = manifest["options"]
    counted = ("concepts", "identities")  # counts in a manifest, names in the options
    settings = EeccOptions(**{n: options[n] for n in EeccOptions.names() if n in options and n not in counted})
    named = ("culture", "language", "category", "topic", "variant", "cluster")
    items = tuple(
        Item(id=row["item_id"], suite="eecc", fields={"prompt": row["prompt"]}, **{name: row[name] for name in named})
        for row in run.items.iter_rows(named=True)
    )
    return EeccTask(
        name=manifest["task"],
        data=DataSource(manifest["data"]["name"], None, manifest["data"]["digest"]),
        selection=Selection(),
        selected=items,
        settings=settings,
        attribute=options["attribute"],
    )

"""From the paths a user names to what can be read: runs, files, folders of them, the released layout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kapwa.analysis.corpus.files import SUFFIXES, TABLES, file_source
from kapwa.analysis.corpus.released import ReleasedFile, looks_released
from kapwa.analysis.corpus.rows import Asked, TextSource
from kapwa.analysis.corpus.runs import RunTexts, holds_texts, is_run
from kapwa.errors import DataError, UsageError, nearest


def text_sources(paths: Sequence[Path], asked: Asked) -> list[TextSource]:
    """Return a reader for every file and run that ``paths`` name, folders opened, in order of their names.

    Raises UsageError for no path, and one named twice; DataError for one that does not exist or holds nothing.
    """
    if not paths:
        raise UsageError("No responses are named.", hint="Name run folders, files, or folders of files.")
    found: list[TextSource] = []
    seen: set[Path] = set()
    for path in paths:
        for part in _parts(path):
            if part.resolve() in seen:
                raise UsageError(f"{part} is named twice.", hint="Name every run and file once.")
            seen.add(part.resolve())
            found.append(_source(part, asked))
    return found


def _parts(path: Path) -> Iterator[Path]:
    if not path.exists():
        names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        raise DataError("no such file or folder.", path=path, hint=nearest(path.name, names))
    if path.is_file() or is_run(path):
        yield path
        return
    inside = sorted(entry for entry in path.rglob("*") if not _hidden(entry.relative_to(path)))
    runs = [entry for entry in inside if entry.is_dir() and is_run(entry)]
    files = [entry for entry in inside if entry.suffix.lower() in SUFFIXES and entry.is_file()]
    # Among many runs those of other suites are no mistake. A run's own tables are no responses beside it.
    chosen = [*filter(holds_texts, runs), *(file for file in files if not any(run in file.parents for run in runs))]
    if not chosen:
        hint = f"Responses are {', '.join(SUFFIXES)} files, or folders of eecc runs."
        raise DataError("holds no responses.", path=path, hint=hint)
    yield from chosen


def _hidden(entry: Path) -> bool:
    return any(part.startswith(".") for part in entry.parts)


def _source(path: Path, asked: Asked) -> TextSource:
    if path.is_dir():
        return RunTexts(path, asked)
    if path.suffix.lower() in TABLES and looks_released(path):
        return ReleasedFile(path, asked)
    return file_source(path, asked)

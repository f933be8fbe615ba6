"""Where a run will write, looked at before a model is loaded: what cannot be is said at once."""

from __future__ import annotations

import os
from pathlib import Path

from kapwa.errors import RunError
from kapwa.runs.cache_file import check_cache
from kapwa.runs.sqlite_form import may_write


def check_places(out: Path, cache: Path | None = None) -> None:
    """Raise RunError where runs cannot be written to the folder ``out``, or ``cache`` can be no cache; make nothing."""
    # A run that is there already may go on in a folder in which no new one can be made.
    if not any(out.glob("*/run.json")):
        _check_writable(out, "Name another folder with --out, or mend its permissions.")
    if cache is not None:
        check_cache(cache)
        if not cache.is_dir() or not any(cache.iterdir()):
            _check_writable(cache, "Name another folder with --cache, or mend its permissions.")


def _check_writable(folder: Path, remedy: str) -> None:
    there = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    if there.is_dir() and may_write(there):
        return
    why = "is read-only" if there.is_dir() else "is a file, not a folder"
    raise RunError(f"{folder} cannot be written: {there} {why}.", hint=remedy)

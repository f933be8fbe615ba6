"""Where a run will write, looked at before a model is loaded: what cannot be is said at once."""

from __future__ import annotations

from pathlib import Path

from kapwa.errors import RunError
from kapwa.files import in_the_way
from kapwa.runs.cache_file import check_cache


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
    why = in_the_way(folder)
    if why is not None:
        raise RunError(f"{folder} cannot be written: {why}.", hint=remedy)

"""Numbers that follow from data and rules alone, kept so that a second run need not work them out again.

Only numbers are kept, never texts: people's answers stay where they are, and nothing outlives a withdrawal. A file's
name is a hash of what its numbers follow from, Kapwa's own code and language files among it: with any change it is
not looked at again. They lie in $KAPWA_CACHE_DIR, else ``kapwa`` in the system's cache folder ($XDG_CACHE_HOME, else
~/.cache; on Windows %LOCALAPPDATA%). ``KAPWA_CACHE_DIR=off`` keeps nothing.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from kapwa import registry
from kapwa.errors import UsageError
from kapwa.files import replacing

CACHE_VARIABLE = "KAPWA_CACHE_DIR"
MOST_FILES = 1_000
_RULES = ("suites", "metrics", "languages", "datasets", "records.py", "files.py", "tables")
_SUFFIXES = (".py", ".yaml", ".csv")
T = TypeVar("T")


def kept(name: str, follows_from: Iterable[str], kind: type[T], work_out: Callable[[], T]) -> T:
    """Return what ``work_out`` returns, from the file of an earlier call with the same arguments if there is one.

    ``name``: of the folder of such files, of which the latest :data:`MOST_FILES` stay. ``follows_from``: all that the
    numbers depend on but Kapwa itself. ``kind``: their type, such as list[float]. A file that is damaged is written
    again, and a folder that cannot be written is done without.
    """
    folder = cache_folder()
    if folder is None:
        return work_out()
    hashed = hashlib.blake2b(rules().encode(), digest_size=16)
    for text in follows_from:
        hashed.update(b"\0" + text.encode("utf-8", "surrogatepass"))
    path = folder / name / f"{hashed.hexdigest()}.json"
    adapter = TypeAdapter(kind, config=ConfigDict(ser_json_inf_nan="constants"))
    with suppress(OSError, ValidationError):
        value = adapter.validate_json(path.read_bytes())
        os.utime(path)  # the files longest unused go first
        return value
    value = work_out()
    keep(path, adapter.dump_json(value), MOST_FILES)
    return value


def keep(path: Path, content: bytes, most: int) -> None:
    """Write a file that the user alone may read; of its folder the ``most`` latest of its kind stay.

    A folder that cannot be written, as on a full disk, is done without.
    """
    with suppress(OSError, UsageError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replacing(path) as fresh:
            fresh.write_bytes(content)
        path.chmod(0o600)
        by_age = sorted(path.parent.glob(f"*{path.suffix}"), key=lambda file: file.stat().st_mtime)
        for file in by_age[:-most]:
            file.unlink()


def cache_folder() -> Path | None:
    """Return where numbers are kept; None where they are not."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return None if named == "off" else Path(named).expanduser()
    base = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    if base and Path(base).is_absolute():
        return Path(base) / "kapwa"
    with suppress(RuntimeError):  # a user whom the system does not know, as in some containers
        return Path.home() / ".cache" / "kapwa"
    return None


@cache
def rules() -> str:
    """Return a hash of the code and the language files that data and scores are read by, and of Python itself."""
    home = Path(__file__).parents[1]
    languages = [(point.value, point.dist and point.dist.version) for point in registry.installed("languages").values()]
    hashed = hashlib.blake2b(f"{sys.version} {languages}".encode(), digest_size=16)
    for part in _RULES:
        place = home / part
        files = [place] if place.is_file() else sorted(place.rglob("*"))
        for file in files:
            if file.suffix in _SUFFIXES:
                hashed.update(file.relative_to(home).as_posix().encode() + b"\0" + file.read_bytes())
    return hashed.hexdigest()

"""A cache on disk for numbers that depend only on data and code, so that a second run need not compute them again.

Only numbers are stored, never texts: people's answers stay where they are, and nothing outlives a withdrawal. A file's
name is a hash of what its numbers follow from, Kapwa's own code and language files among it: with any change it is
not looked at again. They lie in $KAPWA_CACHE_DIR, else ``kapwa`` in the system's cache folder ($XDG_CACHE_HOME, else
~/.cache; on Windows %LOCALAPPDATA%). ``KAPWA_CACHE_DIR=off`` stores nothing.
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
_CODE = ("suites", "metrics", "languages", "datasets", "records.py", "files.py", "tables")
_SUFFIXES = (".py", ".yaml", ".csv")
T = TypeVar("T")


def cached(name: str, depends_on: Iterable[str], kind: type[T], compute: Callable[[], T]) -> T:
    """Return what ``compute`` returns, from the file of an earlier call with the same arguments if there is one.

    ``name``: of the folder of such files, of which the latest :data:`MOST_FILES` stay. ``depends_on``: all that the
    numbers depend on but Kapwa itself. ``kind``: their type, such as list[float]. A file that is damaged is written
    again, and nothing is stored where the folder cannot be written.
    """
    folder = cache_folder()
    if folder is None:
        return compute()
    hashed = hashlib.blake2b(code_digest().encode(), digest_size=16)
    for text in depends_on:
        hashed.update(b"\0" + text.encode("utf-8", "surrogatepass"))
    path = folder / name / f"{hashed.hexdigest()}.json"
    adapter = TypeAdapter(kind, config=ConfigDict(ser_json_inf_nan="constants"))
    with suppress(OSError, ValidationError):
        value = adapter.validate_json(path.read_bytes())
        os.utime(path)  # the files longest unused go first
        return value
    value = compute()
    store(path, adapter.dump_json(value), MOST_FILES)
    return value


def store(path: Path, content: bytes, most: int) -> None:
    """Write a file that the user alone may read; of its folder the ``most`` latest of its kind stay.

    Nothing is stored where the folder cannot be written, as on a full disk.
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
    """Return the folder of the cache; None where nothing is to be stored."""
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
def code_digest() -> str:
    """Return a hash of the code and the language files that data and scores are read by, and of Python itself."""
    home = Path(__file__).parents[1]
    languages = [(point.value, point.dist and point.dist.version) for point in registry.installed("languages").values()]
    hashed = hashlib.blake2b(f"{sys.version} {languages}".encode(), digest_size=16)
    for name in _CODE:
        path = home / name
        files = [path] if path.is_file() else sorted(path.rglob("*"))
        for file in files:
            if file.suffix in _SUFFIXES:
                hashed.update(file.relative_to(home).as_posix().encode() + b"\0" + file.read_bytes())
    return hashed.hexdigest()

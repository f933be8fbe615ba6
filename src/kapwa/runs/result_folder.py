"""A folder of results, be it of a run, an analysis or a judging: its record, its lock and its tables.

The record is a JSON file that says what the folder holds and how that came about. It is written last, and so vouches
for the tables beside it; nothing in a folder from elsewhere is trusted before it was checked.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from filelock import FileLock, Timeout

from kapwa.errors import DataError, RunError
from kapwa.files import check_ordinary, replacing, write_json
from kapwa.value_types import JsonObject

_LOCK, _HOLDER = ".lock", ".lock-holder"


@dataclass(frozen=True, slots=True)
class FolderRecord:
    """The file that describes folders of one ``kind`` ("run"): its ``name``, and the latest ``format`` that is read.

    ``remedy``: what to do about one that is damaged.
    """

    kind: str
    name: str
    format: int
    remedy: str

    def read(self, folder: Path) -> JsonObject:
        """Return what the record in ``folder`` says; raise RunError for a damaged one, or one of a later format."""
        file = folder / self.name
        check_ordinary(file)
        try:
            facts = dict(json.loads(file.read_text(encoding="utf-8")))
            newer = facts["format"] > self.format
            json.dumps(facts, allow_nan=False, ensure_ascii=False).encode()  # else no export could write it
        except OSError as error:
            raise RunError(f"{file} cannot be read: {error.strerror or error}.") from error
        except (ValueError, KeyError, TypeError, RecursionError):
            raise RunError(f"{file} is damaged.", hint=self.remedy) from None
        if newer:
            what = f"{folder} has {self.kind} format {facts['format']}; this Kapwa reads up to {self.format}."
            raise RunError(what, hint="Upgrade: pip install -U kapwa")
        return facts

    def peek(self, folder: Path) -> JsonObject | None:
        """Return what the record in ``folder`` says; None where there is none, or none that can be read."""
        file = folder / self.name
        try:
            check_ordinary(file)
            return dict(json.loads(file.read_text(encoding="utf-8")))
        except (DataError, OSError, ValueError, TypeError, RecursionError):
            return None

    def write(
        self, folder: Path, facts: Mapping[str, object], tables: Mapping[str, pl.DataFrame] | None = None
    ) -> None:
        """Write ``tables`` as Parquet, and then the record, each file whole or not at all.

        ``facts``: plain values, in the order in which they are to stand. Raises OSError where one cannot be written.
        """
        for name, table in (tables or {}).items():
            with replacing(folder / f"{name}.parquet") as temporary:
                # Chunks and row groups would otherwise depend on how the table was put together.
                try:
                    table.rechunk().write_parquet(temporary, compression_level=3, row_group_size=100_000)
                except pl.exceptions.ComputeError as error:  # how Polars says that the disk is full
                    raise OSError(str(error).rpartition("error: ")[2]) from error
        write_json(folder / self.name, facts, sort=False)


@contextmanager
def writing(folder: Path, reassurance: str) -> Iterator[None]:
    """Turn what the system says of files that cannot be written into RunError; ``reassurance``: what is not lost."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"{error.filename or folder} cannot be written: {error.strerror or error}. {reassurance}",
            hint="Check the disk's space and the folder's permissions, then run again with the same command.",
        ) from error


@contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """Hold ``folder`` for this process; the system lets go of it however the process ends.

    Raises RunError naming the holder when another process (or thread) has it, and when the folder cannot be written.
    """
    lock, holder = FileLock(folder / _LOCK, timeout=0), folder / _HOLDER
    try:
        lock.acquire()
    except Timeout:
        who = "another process"
        with suppress(OSError, ValueError, KeyError, TypeError):
            note = json.loads(holder.read_text(encoding="utf-8"))
            who = f"process {int(note['pid'])} on {note['host']}"
        raise RunError(
            f"{folder} is in use by another run ({who}).",
            hint="Wait for it, stop it, or choose another folder with --out.",
        ) from None
    except OSError as error:
        raise RunError(
            f"{folder} cannot be locked: {error.strerror or error}.", hint="Choose a writable folder with --out."
        ) from error
    try:
        # Only for the message above: the lock itself is the system's, so a stale note does no harm.
        with suppress(OSError):
            holder.unlink(missing_ok=True)  # never written through: a folder from elsewhere may hold a link
            with holder.open("x", encoding="utf-8") as file:
                json.dump({"pid": os.getpid(), "host": platform.node()}, file)
        yield
    finally:
        with suppress(OSError):
            holder.unlink(missing_ok=True)
        lock.release()


@dataclass(frozen=True)
class Tables(Mapping[str, pl.DataFrame]):
    """The tables of a folder by name, each read when first asked for; ``read`` reads one."""

    names: Sequence[str]
    read: Callable[[str], pl.DataFrame] = field(repr=False, compare=False)

    def __contains__(self, name: object) -> bool:
        return name in self.names  # reads nothing

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self.names:  # as of any mapping; Run.table names the nearest
            raise KeyError(name)
        return self.read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def table_of(name: str, what: str) -> Any:
    """A table of a folder, read when first looked at."""
    return property(lambda folder: folder.table(name), doc=what)


def read_table(file: Path, columns: Sequence[str], types: Mapping[str, object], hint: str) -> pl.DataFrame:
    """Read a table that Kapwa wrote.

    Raises RunError where it is missing, damaged, lacks one of ``columns``, or has a column of another type than
    ``types`` says.
    """
    check_ordinary(file)
    try:
        table = pl.read_parquet(file, glob=False)
    except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException) as error:
        what = "is missing" if not file.exists() else f"cannot be read ({type(error).__name__})"
        raise RunError(f"{file} {what}.", hint=hint) from error
    lacks = next((column for column in columns if column not in table.columns), None)
    if lacks is not None:
        raise RunError(f"{file} is another table: it has no column {lacks!r}.", hint=hint)
    for column, kind in table.schema.items():
        if kind != types.get(column, kind):
            raise RunError(f"{file} is damaged: its column {column!r} holds {kind}, not {types[column]}.", hint=hint)
    return table

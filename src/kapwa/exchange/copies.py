"""Copy folders of results to and from all locations that fsspec can use: another disk, a bucket, a server.

A run is made on a disk of this computer, since its journal needs locks and renames that buckets do not have. Its
folder is copied completely and its record (``run.json``) last, so an interrupted copy does not look complete.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kapwa.analysis.result import NAME as ANALYSIS
from kapwa.errors import KapwaError, RunError, UsageError
from kapwa.labels.judges.panel import RECORD as JUDGING
from kapwa.runs.result_folder import run_lock
from kapwa.runs.schema import NAME as RUN

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

# The records of runs, analyses and judgings: a folder of results has one of them.
RECORDS = (RUN, ANALYSIS, JUDGING)
_WHOLE = "Copy it again: a copy without its record counts for nothing."


def copy_results(sources: str | Path | Sequence[str | Path], destination: str | Path) -> list[str]:
    """Copy folders of results into the folder ``destination``, and return the locations of the copies.

    ``sources``: run folders, or those of analyses and judgings, or folders of them, on this computer, and
    ``destination`` there or at an address of fsspec, such as "s3://bucket/runs"; or ``sources`` at addresses, and
    ``destination`` on this computer. An existing copy is replaced at an address, and refused on this computer. Locks
    and incomplete files are left out. Raises UsageError for a folder that is not one of results, and for an address
    whose library is not installed; RunError for a folder that is in use, and for errors of the other location.
    """
    listed = [sources] if isinstance(sources, str | Path) else list(sources)
    fetched = [is_address(source) for source in listed]
    if any(fetched) and (not all(fetched) or is_address(destination)):
        hint = "Copy from an address to a folder of this computer, or from there to an address."
        raise UsageError("One side of a copy is on this computer.", hint=hint)
    if any(fetched):
        return [each for source in listed for each in _fetch(str(source), Path(destination))]
    return [_send(folder, str(destination)) for source in listed for folder in _folders(Path(source))]


def is_address(location: str | Path) -> bool:
    """Whether a location is an address ("s3://…"), not a folder of this computer."""
    return isinstance(location, str) and "://" in location


def in_memory(address: str) -> bool:
    """Whether an address, or one that it is chained to ("simplecache::memory://x"), is of this process' memory."""
    return any(each.partition("://")[0] == "memory" for each in address.split("::")) and is_address(address)


def _folders(source: Path) -> list[Path]:
    """Return the folders of results: the folder itself, or those within it."""
    inside = [source] if _has_record(source) else sorted(filter(_has_record, source.glob("*/")))
    if not inside:
        raise UsageError(f"{source} is not a folder of results.", hint=f"Such a folder holds {', '.join(RECORDS)}.")
    return inside


def _has_record(folder: Path) -> bool:
    return any((folder / name).is_file() for name in RECORDS)


@contextmanager
def _opened(address: str) -> Iterator[tuple[AbstractFileSystem, str]]:
    """Open the file system of an address; turn what its library raises into an error of one sentence."""
    import fsspec

    shown = address.rpartition("@")[2] if "@" in address.partition("://")[2].partition("/")[0] else address
    if shown != address:
        hint = "Give the key as the library of the file system reads it, from the environment or its own file."
        raise UsageError(f"The address of {shown} holds a name or password.", hint=hint)
    try:
        yield fsspec.core.url_to_fs(address)
    except KapwaError:
        raise
    except ImportError as error:
        raise UsageError(f"{shown} needs another library: {error}.", hint="Install it beside Kapwa with pip.") from None
    except ValueError as error:
        raise UsageError(f"{shown} is not an address of fsspec: {error}.") from None
    except Exception as error:
        hint = "Check the address, the keys in the environment and the network. Then copy again: it begins anew."
        reason = str(error).rstrip(".") or type(error).__name__
        raise RunError(f"{shown} cannot be used: {reason}.", hint=hint) from error


def _send(folder: Path, destination: str) -> str:
    folder = folder.resolve()
    with run_lock(folder), _opened(destination) as (system, root):
        target = f"{root.rstrip('/')}/{folder.name}"
        files = [file.relative_to(folder).as_posix() for file in sorted(folder.rglob("*")) if _is_result(file)]
        for name in filter(system.exists, (f"{target}/{record}" for record in RECORDS)):
            system.rm_file(name)  # until the copy is whole again
        for name in _records_last(files):
            system.makedirs(f"{target}/{name}".rpartition("/")[0], exist_ok=True)
            system.put_file(str(folder / name), f"{target}/{name}")
            if system.size(f"{target}/{name}") != (folder / name).stat().st_size:
                raise RunError(f"{destination}: {name} did not arrive whole.", hint=_WHOLE)
    return f"{destination.rstrip('/')}/{folder.name}"


def _fetch(source: str, destination: Path) -> list[str]:
    with _opened(source) as (system, root):
        files: list[str] = system.find(root.rstrip("/"))
        folders = sorted({folder for folder, _, name in (file.rpartition("/") for file in files) if name in RECORDS})
        if not folders:
            raise UsageError(f"{source} is not a folder of results.", hint=f"Such a folder holds {', '.join(RECORDS)}.")
        made = []
        for folder in folders:
            target = destination / folder.rpartition("/")[2]
            if target.exists():
                raise UsageError(f"{target} is there already.", hint="Name another folder, or delete that one.")
            partial_copy = target.with_name(f".{target.name}.part")
            shutil.rmtree(partial_copy, ignore_errors=True)  # of a copy that was cut off
            for file in (file for file in files if file.startswith(f"{folder}/")):
                here = partial_copy / file.removeprefix(f"{folder}/")
                if not here.resolve().is_relative_to(partial_copy.resolve()):
                    raise RunError(f"{source} has a file whose name leads out of its folder: {file}.")
                here.parent.mkdir(parents=True, exist_ok=True)
                system.get_file(file, str(here))
            partial_copy.rename(target)
            made.append(str(target))
    return made


def _is_result(file: Path) -> bool:
    """Whether a file is one of the results: names of locks and incomplete files begin with a dot."""
    return file.is_file() and not file.is_symlink() and not file.name.startswith(".")


def _records_last(names: Sequence[str]) -> list[str]:
    return sorted(names, key=lambda name: (name in RECORDS, name))

"""The user's own suites: a file in the user's configuration folder that gives names to folders of data.

Only names and places are kept there, never data: what a run measures is what its folder holds at that moment.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from kapwa.errors import DataError, UsageError, check_known
from kapwa.files import read_text, write_json

CONFIG_VARIABLE = "KAPWA_CONFIG"
FILE_NAME = "suites.json"
VERSION = 1
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class Registered(NamedTuple):
    """A name for a folder of data.

    ``form``: the suite whose form it has, such as kalahi. ``tasks``: those of its tasks that the folder has data of,
    without the suite's name ("saq"). ``mapping``: the file that says which columns are which fields, where it lies
    elsewhere.
    """

    name: str
    form: str
    folder: Path
    tasks: tuple[str, ...]
    title: str = ""
    mapping: Path | None = None


def config_folder() -> Path:
    """Return where the user's settings lie: $KAPWA_CONFIG, else ``kapwa`` in the system's configuration folder.

    That is $XDG_CONFIG_HOME, else ~/.config; on Windows %APPDATA%.
    """
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named).expanduser()
    base = os.environ.get("APPDATA" if os.name == "nt" else "XDG_CONFIG_HOME")
    if base and Path(base).is_absolute():  # the XDG specification has relative paths ignored
        return Path(base) / "kapwa"
    try:
        return Path.home() / ".config" / "kapwa"
    except RuntimeError:  # a user whom the system does not know, as in some containers
        hint = f"Name a folder with --config or {CONFIG_VARIABLE}."
        raise UsageError("There is no home folder to keep your suites in.", hint=hint) from None


def check_name(name: str) -> None:
    """Raise UsageError where ``name`` cannot stand before the slash of a task's name."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a suite.",
            hint=f"Small letters, digits, '-', '_' and '.', at most 64, such as --name {fitting_name(name)}",
        )


def fitting_name(text: str) -> str:
    """Return a name that :func:`check_name` takes, as close to ``text`` as one can be."""
    made = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._")
    return made if _NAME.fullmatch(made) else "my-benchmark"


def registered() -> dict[str, Registered]:
    """Return the user's suites by name; raise DataError where the file that lists them is damaged."""
    try:
        path = config_folder() / FILE_NAME
    except UsageError:
        return {}  # nowhere to keep any
    if not path.is_file():
        return {}
    try:
        written = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"is not valid JSON ({error}).", path=path, hint=_MEND) from None
    if not isinstance(written, dict) or not isinstance(written.get("suites"), dict):
        raise DataError("is not a list of suites.", path=path, hint=_MEND)
    if written.get("version") != VERSION:
        raise DataError(
            f"is of version {written.get('version')!r}; this Kapwa reads {VERSION}.",
            path=path,
            hint=f"Update Kapwa, or name another configuration folder with {CONFIG_VARIABLE}.",
        )
    return {name: _entry(name, fields, path) for name, fields in sorted(written["suites"].items())}


_MEND = "Correct it, or delete it and add your suites again (kapwa suite add FOLDER)."


def _entry(name: str, fields: Any, path: Path) -> Registered:
    sound = isinstance(fields, dict) and all(isinstance(fields.get(key), str) for key in ("form", "folder"))
    if not sound or not isinstance(fields.get("tasks"), list) or not _NAME.fullmatch(name):
        raise DataError(f"does not say what the suite {name!r} is.", path=path, hint=_MEND)
    mapping = fields.get("mapping")
    return Registered(
        name,
        fields["form"],
        Path(fields["folder"]),
        tuple(str(task) for task in fields["tasks"]),
        str(fields.get("title") or ""),
        Path(mapping) if isinstance(mapping, str) else None,
    )


def register(entry: Registered, *, replace: bool = False) -> Path:
    """Add a name to the user's suites and return the file that lists them.

    The same name for the same folder is renewed; for another folder UsageError is raised unless ``replace``.
    """
    check_name(entry.name)
    with _changing() as suites:
        before = suites.get(entry.name)
        if before is not None and before.folder != entry.folder and not replace:
            raise UsageError(
                f"{entry.name!r} is the name of the suite in {before.folder}.",
                hint="Choose another with --name, or give it to this folder with --replace.",
            )
        suites[entry.name] = entry
    return config_folder() / FILE_NAME


def unregister(name: str) -> Registered:
    """Take a name away and return what it stood for; the folder itself is not touched."""
    with _changing() as suites:
        check_known(name, suites, f"You have added no suite {name!r}.")
        return suites.pop(name)


@contextmanager
def locked(name: str) -> Iterator[Path]:
    """Yield the place of the file ``name`` of the user's settings, which no other command changes meanwhile.

    Raises UsageError where another command has been changing it for ten seconds.
    """
    from filelock import FileLock, Timeout

    folder = config_folder()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(folder / f".{name}.lock", timeout=10).acquire()
    except Timeout:
        hint = "Try again when it is done."
        raise UsageError(f"Another command is changing {folder / name}.", hint=hint) from None
    with lock:
        yield folder / name


@contextmanager
def _changing() -> Iterator[dict[str, Registered]]:
    # Two commands at once must not lose each other's names.
    with locked(FILE_NAME) as path:
        suites = registered()
        yield suites
        plain = {
            name: {k: str(v) if isinstance(v, Path) else v for k, v in entry._asdict().items() if v and k != "name"}
            for name, entry in suites.items()
        }
        write_json(path, {"version": VERSION, "suites": plain})

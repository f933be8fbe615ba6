"""Find suites, model backends, languages and metrics by entry point; load them only when asked.

Third-party packages add theirs under the groups ``kapwa.suites``, ``kapwa.models``,
``kapwa.languages`` and ``kapwa.metrics``. The four share one lookup, so all unknown names fail alike. Suites are
besides those folders of data that the user gave names to (:mod:`kapwa.user_suites`).
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, NamedTuple, Protocol

from kapwa.errors import KapwaError, UsageError, nearest
from kapwa.user_suites import Registered, registered

Group = Literal["suites", "models", "languages", "metrics"]


class Point(Protocol):
    """Something registered: where it is, and how to get it."""

    @property
    def value(self) -> str:
        """Where it is: "module:attribute", or a folder."""
        ...

    def load(self) -> Any:
        """Import or open it."""
        ...


class _FolderPoint(NamedTuple):
    """A folder of data that is a suite; what makes one of it is found as any other entry point is."""

    entry: Registered

    @property
    def value(self) -> str:
        return str(self.entry.folder)

    def load(self) -> Any:
        opener = EntryPoint(self.entry.name, "kapwa.suites.folders.opening:registered_suite", "kapwa.suites")
        return opener.load()(self.entry)


@cache
def installed(group: Group) -> dict[str, EntryPoint]:
    """Return the entry points of a group that installed packages bring, by name, without importing any of them."""
    return {point.name: point for point in entry_points(group=f"kapwa.{group}")}


def available(group: Group) -> dict[str, Point]:
    """Return everything registered in a group by name, without importing any of it.

    A suite that a package brings goes before a folder of the same name.
    """
    found: dict[str, Point] = dict(installed(group))
    if group == "suites":
        found = {name: _FolderPoint(entry) for name, entry in registered().items()} | found
    return found


def load(group: Group, name: str) -> Any:
    """Import and return the object registered as ``name``; raise UsageError naming the nearest one."""
    points = available(group)
    if name not in points:
        noun = {"suites": "suite", "models": "model backend", "languages": "language", "metrics": "metric"}[group]
        raise UsageError(f"There is no {noun} named {name!r}.", hint=nearest(name, points))
    try:
        return points[name].load()
    except KapwaError:
        raise
    except ImportError as error:
        raise UsageError(
            f"The {group[:-1]} {name!r} ({points[name].value}) cannot be imported: {error}",
            hint="Run 'kapwa doctor' to see what is missing.",
        ) from error

"""Find suites, model backends, languages and metrics by entry point; load them only when asked.

Third-party packages add theirs under the groups ``kapwa.suites``, ``kapwa.models``, ``kapwa.languages``,
``kapwa.metrics`` and ``kapwa.trackers``. All share one lookup, so all unknown names fail alike. Suites are
besides those folders of data that the user gave names to (:mod:`kapwa.user_suites`), and the published benchmarks that
were fetched (:mod:`kapwa.catalog`).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, NamedTuple

from kapwa.errors import KapwaError, UsageError, nearest
from kapwa.user_suites import registered

Group = Literal["suites", "models", "languages", "metrics", "trackers"]


class Point(NamedTuple):
    """Something registered: where it is ("module:attribute", or a folder), and how to get it."""

    value: str
    load: Callable[[], Any]


@cache
def installed(group: Group) -> dict[str, EntryPoint]:
    """Return the entry points of a group that installed packages bring, by name, without importing any of them."""
    return {point.name: point for point in entry_points(group=f"kapwa.{group}")}


def available(group: Group) -> dict[str, EntryPoint | Point]:
    """Return everything registered in a group by name, without importing any of it.

    A suite from a package takes precedence over a folder of the same name, and that over a benchmark; a language that
    ships with Kapwa (a file in ``languages/data``) before one that a package brings.
    """
    if group == "languages":
        return {**installed(group), **_shipped_languages()}
    return {**(_folders() if group == "suites" else {}), **installed(group)}


@cache
def _shipped_languages() -> dict[str, Point]:
    # What makes an object of a file or a folder is found as any other entry point is.
    reader = EntryPoint("file", "kapwa.languages.reading:shipped", "kapwa.languages")
    files = sorted((Path(__file__).parent / "languages" / "data").glob("*.yaml"))
    return {path.stem: Point(path.name, lambda tag=path.stem: reader.load()(tag)) for path in files}  # type: ignore[misc]


def _folders() -> dict[str, Point]:
    """Return the suites that are folders of data: those that the user gave names to, and benchmarks fetched."""
    from kapwa.catalog.lookup import fetched_benchmarks

    opener = EntryPoint("folder", "kapwa.suites.folders.opening:registered_suite", "kapwa.suites")
    catalogued = EntryPoint("benchmark", "kapwa.suites.folders.opening:benchmark_suite", "kapwa.suites")
    benchmarks = {
        name: Point(str(each.folder), lambda name=name: catalogued.load()(name))  # type: ignore[misc]
        for name, each in fetched_benchmarks(mapped=True).items()
    }
    folders = registered().items()
    own = {name: Point(str(entry.folder), lambda entry=entry: opener.load()(entry)) for name, entry in folders}  # type: ignore[misc]
    return {**benchmarks, **own}


def _benchmarks(name: str) -> tuple[str, ...]:
    """Return the names of the catalog; where ``name`` is one, raise UsageError with the command that fetches it."""
    from kapwa.catalog.entries import names
    from kapwa.catalog.lookup import fetched_benchmark

    if name in names():
        fetched_benchmark(name)
    return names()


def load(group: Group, name: str, *, missing: str = "") -> Any:
    """Import and return the object registered as ``name``; raise UsageError naming the nearest one.

    ``missing``: what the error says where there is none of that name.
    """
    points: Mapping[str, EntryPoint | Point] = installed(group)
    if name not in points or group == "languages":  # what a package brings goes before the user's folders
        points = available(group)
    if name not in points:
        noun = "model backend" if group == "models" else group[:-1]
        others = _benchmarks(name) if group == "suites" else ()
        near = difflib.get_close_matches(name, others, n=1, cutoff=0.6)
        hint = nearest(name, [*points, *near])
        raise UsageError(missing or f"There is no {noun} named {name!r}.", hint=hint)
    try:
        return points[name].load()
    except KapwaError:
        raise
    except ImportError as error:
        raise UsageError(
            f"The {group[:-1]} {name!r} ({points[name].value}) cannot be imported: {error}",
            hint="Run 'kapwa doctor' to see what is missing.",
        ) from error

"""Kapwa's task behind an Inspect sample: opened by what the sample's metadata say, once for all its samples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from kapwa.errors import DataError, KapwaError, UsageError
from kapwa.exchange.sample_questions import sample_questions
from kapwa.loading import load_task
from kapwa.records import Item, Request
from kapwa.suites.base import Task

METADATA = "kapwa"  # the key under which samples, requests and outputs keep what is Kapwa's alone
_KEPT = 16
# Arguments that are names; Inspect's command line reads what looks like a number, or like yes or no, as such.
_NAMED = ("variant", "language", "prompt", "country", "concepts", "nationalities", "metrics")
_opened: dict[str, OpenedTask] = {}


class OpenedTask:
    """A task, its items by id and variant, and what is asked about each."""

    def __init__(self, name: str, arguments: Mapping[str, Any], task: Task) -> None:
        self.name, self.arguments, self.task = name, dict(arguments), task
        self.items: Mapping[tuple[str, str], Item] = {(item.id, item.variant): item for item in task.items()}

    def requests(self, item: Item) -> list[Request]:
        """Return what Kapwa asks about ``item``."""
        return list(self.task.requests([item]))

    def place(self, item: Item) -> dict[str, Any]:
        """Return what finds ``item`` again: for the metadata of its sample."""
        return {
            "task": self.name,
            "arguments": self.arguments,
            "data": self.task.data.digest,
            "item": item.id,
            "variant": item.variant,
        }


class Found(NamedTuple):
    """An item with the task it is of."""

    opened: OpenedTask
    item: Item


def open_new(name: str, arguments: Mapping[str, Any]) -> OpenedTask:
    """Open the task ``name`` ("kalahi/mc") and keep it for its samples; raise what :func:`load_task` raises.

    ``arguments``: those of :func:`kapwa.loading.load_task`; None leaves one at its default. ``country`` names values
    of the column ``culture``, "all" every one. Without ``data``, ``blend/mcq`` gets questions built from the sample
    packs.
    """
    given = _given(arguments)
    opened = OpenedTask(name, given, _load(name, given))
    _opened.pop(_key(name, given), None)
    _opened[_key(name, given)] = opened
    while len(_opened) > _KEPT:
        del _opened[next(iter(_opened))]
    return opened


def find(metadata: Mapping[str, Any], data: str | None = None, scorer_of: str | None = None) -> Found:
    """Return the item that a sample's ``metadata`` name; ``data``: where its data are now, if they were moved.

    ``scorer_of``: the only task ("kalahi/mc") whose samples are wanted. Raises UsageError for a sample that is not
    Kapwa's or of another task, and DataError where the data are not those it was made from.
    """
    place = metadata.get(METADATA)
    if not isinstance(place, Mapping) or "task" not in place:
        raise UsageError(
            "This sample is not of one of Kapwa's tasks: its metadata do not name the item.",
            hint="Kapwa's scorers judge samples of kapwa/kalahi_mc, kapwa/blend_saq and the like.",
        )
    if scorer_of is not None and place["task"] != scorer_of:
        raise UsageError(
            f"This sample is of {place['task']}; kapwa/{_in_inspect(scorer_of)} judges samples of {scorer_of}.",
            hint=f"Score it with: --scorer kapwa/{_in_inspect(str(place['task']))}",
        )
    return find_place(place, data)


def find_place(place: Mapping[str, Any], data: str | None = None) -> Found:
    """Return the item of :meth:`OpenedTask.place`; see :func:`find`."""
    arguments = {**place["arguments"], **({"data": data} if data else {})}
    opened = _opened.get(_key(place["task"], arguments)) or open_new(place["task"], arguments)
    item = opened.items.get((place["item"], place["variant"]))
    if opened.task.data.digest != place["data"] or item is None:
        raise DataError(
            f"{place['task']}: the data are not those that the sample {place['item']!r} was made from "
            f"(digest {opened.task.data.digest[:6]}, was {str(place['data'])[:6]}).",
            hint="Score with the same files, from the same folder, or say where they are: -S data=FOLDER.",
        )
    return Found(opened, item)


def _in_inspect(task: str) -> str:
    """Return what a task and its scorer are called in Inspect."""
    return task.replace("/", "_")


@contextmanager
def plainly() -> Iterator[None]:
    """Let Inspect show what a user can mend as one message, without a traceback."""
    from inspect_ai._util.error import PrerequisiteError
    from rich.markup import escape

    try:
        yield
    except KapwaError as error:
        raise PrerequisiteError(escape(str(error))) from error


def _key(name: str, arguments: Mapping[str, Any]) -> str:
    return json.dumps([name, {key: value for key, value in arguments.items() if value is not None}], sort_keys=True)


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is given, in the form that a log keeps; raise UsageError for what is no name."""
    given = {key: value for key, value in arguments.items() if value is not None}
    if isinstance(given.get("data"), Path):
        given["data"] = str(given["data"])
    where = given.get("where", {})
    if not isinstance(where, Mapping):
        raise UsageError(f"where is {where!r}; it must name columns.", hint="For example: -T 'where={topic: food}'")
    for name in _NAMED:
        _check_names(name, given.get(name, ()), f'{name}="1984"')
    for column, value in where.items():
        _check_names(f"where {column}", value, f'where={{{column}: "1984"}}')
    return given


def _check_names(what: str, value: object, example: str) -> None:
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise UsageError(
            f"{what} is {value!r}; it must be a name, or a list of names.",
            hint=f"Quote what reads as a number, or as yes or no: -T '{example}'",
        )


def _load(name: str, given: Mapping[str, Any]) -> Task:
    arguments = dict(given)
    country = _names(arguments.pop("country", ()))
    where = dict(arguments.pop("where", {}))
    if country and country != ("all",):
        where["culture"] = country
    if name != "blend/mcq" or arguments.get("data") is not None:
        return load_task(name, where=where, **arguments)
    with sample_questions() as folder:
        return load_task(name, where=where, **{**arguments, "data": folder})


def _names(wanted: str | Sequence[str]) -> tuple[str, ...]:
    parts = wanted.split(",") if isinstance(wanted, str) else wanted
    return tuple(part.strip() for part in parts if part.strip())

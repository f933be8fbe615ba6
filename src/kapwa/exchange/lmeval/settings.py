"""Which of Kapwa's tasks an lm-eval task is, over which data: its YAML, and what the user set for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapwa import registry
from kapwa.errors import UsageError, nearest
from kapwa.exchange.sample_questions import sample_questions
from kapwa.suites.base import Selection, Task
from kapwa.suites.folders import open_task

SETTINGS = ("data", "variants", "where", "limit", "options")


def task_of(name: str, metadata: Mapping[str, Any]) -> Task:
    """Open the Kapwa task of the lm-eval task ``name``.

    ``metadata["kapwa"]``: the YAML's, with ``task`` ("kalahi/mc") and its defaults. ``metadata[name]``: what the user
    gave with ``--metadata``: an object of :data:`SETTINGS`. ``data``: folder, file or hub id (none: the sample packs;
    for ``blend/mcq`` questions built from them). ``variants``: names, in a list or a text with commas. ``where``:
    values of columns. ``limit``: the first items of each culture and variant. ``options``: the task's own.
    Raises UsageError for unknown settings, and what opening the task raises.
    """
    base: Mapping[str, Any] = metadata["kapwa"]
    given = metadata.get(name, {})
    if not isinstance(given, Mapping):
        hint = f'Write --metadata \'{{"{name}": {{"data": "my_folder/"}}}}\'.'
        raise UsageError(f"The metadata of {name} is {given!r}, not an object.", hint=hint)
    for key in given:
        if key not in SETTINGS:
            raise UsageError(f"{name} has no setting {key!r}.", hint=nearest(key, SETTINGS))
    options = {**base.get("options", {}), **given.get("options", {})}
    selection = Selection(
        variants=_names(given.get("variants")),
        limit=_limit(given.get("limit")),
        where={column: _names(values) or () for column, values in given.get("where", {}).items()},
    )
    return _opened(base["task"], given.get("data"), selection, options)


def _opened(task: str, data: str | None, selection: Selection, options: Mapping[str, Any]) -> Task:
    suite = registry.load("suites", task.partition("/")[0])
    if task != "blend/mcq" or data is not None:
        return open_task(suite, task, data, selection, options)
    with sample_questions() as folder:
        return open_task(suite, task, folder, selection, options)


def _names(wanted: Any) -> tuple[str, ...] | None:
    if wanted is None:
        return None
    parts = wanted.split(",") if isinstance(wanted, str) else [str(part) for part in wanted]
    return tuple(part.strip() for part in parts if part.strip())


def _limit(limit: Any) -> int | None:
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise UsageError(f"limit is {limit!r}; it must be a whole number of at least 1.")
    return limit

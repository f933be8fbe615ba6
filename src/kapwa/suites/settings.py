"""What may be set for a task: each suite declares its own, for ``kapwa.load_task`` and for the command line."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kapwa.files import table_rows


@dataclass(frozen=True, slots=True)
class Setting:
    """An option of a task: a keyword of :func:`kapwa.load_task`, and of the command line where it has a ``metavar``.

    ``kind``: "names" is a list parted by commas, or a file of them. ``panel``: under which heading help shows it.
    ``spelled``: its spellings on the command line, where they are not its name. ``asks``: it bears on what is asked,
    so that ``kapwa score`` has no use for it.
    """

    name: str
    help: str
    metavar: str = ""
    kind: Literal["text", "number", "names"] = "text"
    panel: str | None = None
    spelled: str = ""
    asks: bool = False


def settings_of(suite: str) -> dict[str, list[Setting]]:
    """Return what may be set for each task of one of Kapwa's suites, from ``options.csv`` beside this module."""
    settings: defaultdict[str, list[Setting]] = defaultdict(list)
    for cells in table_rows(Path(__file__).with_name("options.csv")):
        tasks = cells.pop("tasks").split()
        fields: dict[str, Any] = {**cells, "panel": cells["panel"] or None, "asks": bool(cells["asks"])}
        for task in tasks:
            if task.startswith(f"{suite}/"):
                settings[task.partition("/")[2]].append(Setting(**fields))
    return settings

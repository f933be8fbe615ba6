"""Paths into cells of JSON: ``answers[*].text`` is the text of every entry, ``answers[0].text`` of the first.

``answers[-1]`` is the last entry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from kapwa.tables import Cell, json_in, written_value

_PATH = re.compile(r"(?P<column>[^.\[\]]+)(?P<steps>(?:\.[^.\[\]]+|\[(?:-?\d{1,6}|\*)\])+)")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(-?\d+|\*)\]")


def column_of(path: str) -> str:
    """Return the column that ``path`` leads into; "" where it is no path."""
    match = _PATH.fullmatch(path)
    return match["column"].strip() if match else ""


def cell_at(path: str, cell: Cell) -> Cell | None:
    """Return what ``path`` leads to in a cell of its column: a text, or texts where the path passes ``[*]``.

    A list at its end is texts, too. A number or true is the text that JSON writes for it; what is not there (or null)
    is "". None where the cell is no JSON (nor what Python writes for it), or the path ends in an object.
    """
    value: Any = list(cell) if isinstance(cell, tuple) else cell
    if isinstance(cell, str):
        if not cell.strip():
            return ""
        try:
            value = json_in(cell)
        except (ValueError, RecursionError):
            value = written_value(cell)  # as Python writes lists and objects
            if value is None:
                return None
    match = _PATH.fullmatch(path)
    values = list(_followed(value, _STEP.findall(match["steps"]) if match else []))
    texts = [text for entry in values for text in (entry if isinstance(entry, list) else [entry]) if text is not None]
    if any(isinstance(text, list | dict) for text in texts):
        return None
    written = [text if isinstance(text, str) else json.dumps(text) for text in texts]
    many = "[*]" in path or any(isinstance(entry, list) for entry in values)
    return tuple(written) if many else "".join(written)


def _followed(value: object, steps: list[tuple[str, str]]) -> Iterator[Any]:
    """Yield what the steps lead to, in order; nothing where a key or a place is not there."""
    if not steps:
        yield value
        return
    (key, node), *rest = steps
    if key and isinstance(value, dict) and key in value:
        yield from _followed(value[key], rest)
    elif node == "*":
        for entry in value if isinstance(value, list) else ():
            yield from _followed(entry, rest)
    elif node and isinstance(value, list) and -len(value) <= int(node) < len(value):
        yield from _followed(value[int(node)], rest)

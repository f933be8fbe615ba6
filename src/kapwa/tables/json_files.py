"""Tables in JSON: one object a line, or a list of objects."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kapwa.errors import DataError
from kapwa.files import read_text, text_lines
from kapwa.tables.cells import DECODER, json_cell, refuse_half, refuse_nul, why_not_json
from kapwa.tables.table import Record

_ROW = 'A row is an object on one line, or in a list: {"column": "text"}; look for a missing quote or bracket.'


def json_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each object of JSON lines with the number of its line; lines without anything are passed over.

    Raises DataError at the first line that is no object.
    """
    for number, line in text_lines(path):
        text = line.strip()
        if not text:
            continue
        refuse_nul(text, path, number)
        try:
            value = DECODER.decode(text)
        except (ValueError, RecursionError) as error:
            hint = _ROW if line.endswith("\n") else f"The file may be cut off here: its last line does not end. {_ROW}"
            raise DataError(f"is not valid JSON ({why_not_json(error)}).", path=path, row=number, hint=hint) from None
        yield number, _object(value, path, number)


def _object(value: Any, path: Path, number: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError("is not a JSON object.", path=path, row=number, hint=_ROW)
    return value


def _listed_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]] | None:
    """Return the objects of a file that holds one list of them, with their places in it; None for any other file."""
    with contextlib.suppress(ValueError, RecursionError):
        whole = DECODER.decode(read_text(path))
        if isinstance(whole, list):
            return ((number, _object(value, path, number)) for number, value in enumerate(whole, start=1))
    return None


def json_records(path: Path) -> Iterator[Record]:
    """Yield the objects of JSON lines, or of a ``.json`` file that holds a list of them."""
    listed = _listed_objects(path) if path.suffix.lower() == ".json" else None
    for number, record in listed or json_objects(path):
        cells = {name: json_cell(value) for name, value in record.items()}
        for name, cell in cells.items():
            refuse_half(name, path=path, row=number)
            refuse_half(cell if isinstance(cell, str) else "".join(cell), path=path, row=number, column=name)
        yield Record(number, cells)

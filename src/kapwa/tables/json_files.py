"""Tables in JSON: one object a line, or a list of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from kapwa.errors import DataError
from kapwa.files import read_text, text_lines
from kapwa.tables.cells import DECODER, json_cell, refuse_half, refuse_nul, why_not_json
from kapwa.tables.table import Record, Remark
from kapwa.value_types import Json, JsonObject

_ROW = 'A row is an object on one line, or in a list: {"column": "text"}; look for a missing quote or bracket.'
_NO_COMMA = "Remove the comma after the last object of a list, and those after the objects of JSON lines."


def json_objects(path: Path) -> Iterator[tuple[int, JsonObject]]:
    """Yield each object of JSON lines with its line number; empty lines are skipped.

    Raises DataError at the first line that is not an object.
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
            hint = _NO_COMMA if text.endswith(",") else hint
            raise DataError(f"is not valid JSON ({why_not_json(error)}).", path=path, row=number, hint=hint) from None
        yield number, _object(value, path, number)


def _object(value: Json, path: Path, number: int) -> JsonObject:
    if not isinstance(value, dict):
        raise DataError("is not a JSON object.", path=path, row=number, hint=_ROW)
    return value


def _whole(path: Path) -> Json:
    """Return the one list or object in a JSON file; None where the file has several, one after the other."""
    text = read_text(path)
    try:
        return DECODER.decode(text)
    except json.JSONDecodeError as error:
        if not text.lstrip().startswith("["):
            return None
        hint = _NO_COMMA if text[: error.pos].rstrip().endswith(",") else _ROW
        message = f"is not valid JSON ({why_not_json(error)})."
        raise DataError(message, path=path, row=error.lineno, hint=hint) from None
    except (ValueError, RecursionError) as error:
        if text.lstrip().startswith("["):
            raise DataError(f"is not valid JSON ({why_not_json(error)}).", path=path, hint=_ROW) from None
        return None


def _rows_within(value: JsonObject) -> tuple[list[Json], str] | None:
    """Return the rows within one object, and a remark on how they are stored; None for an object that is one row."""
    listed = [name for name, content in value.items() if isinstance(content, list) and content]
    if set(value) >= {"columns", "data"} and all(isinstance(row, list) for row in value["data"]):
        return [dict(zip(value["columns"], row, strict=False)) for row in value["data"]], "its rows are those of 'data'"
    if len(listed) == 1 and all(isinstance(row, dict) for row in value[listed[0]]):
        others = ", ".join(repr(name) for name in value if name != listed[0])
        left = f"; beside them it holds {others}, which is not read" if others else ""
        return value[listed[0]], f"its rows are those of {listed[0]!r}{left}"
    inner = list(value.values())
    if len(inner) < 2 or not all(isinstance(content, dict) and content for content in inner):
        return None
    if all(list(content) == list(inner[0]) and all(map(str.isdigit, content)) for content in inner):
        rows = [{name: content[row_key] for name, content in value.items()} for row_key in inner[0]]
        return rows, "it holds the cells of each column under their rows' numbers"
    return [{"id": name, **content} for name, content in value.items()], "its rows are listed under their ids"


def json_records(path: Path, remarks: list[Remark]) -> Iterator[Record]:
    """Yield the objects of JSON lines, or of a file that holds a list of them, or one object with such a list.

    ``remarks`` gets a note on how rows are stored within one object.
    """
    objects: Iterator[tuple[int, JsonObject]] | None = None
    if path.suffix.lower() == ".json" or _begins_a_list(path):
        whole = _whole(path)
        within = _rows_within(whole) if isinstance(whole, dict) else None
        if within:
            remarks.append(Remark(within[1]))
            whole = within[0]
        elif isinstance(whole, dict):
            whole = [whole]
        if isinstance(whole, list):
            objects = ((number, _object(value, path, number)) for number, value in enumerate(whole, start=1))
    for number, record in objects or json_objects(path):
        cells = {name: json_cell(value) for name, value in record.items()}
        for name, cell in cells.items():
            refuse_half(name, path=path, row=number)
            refuse_half(cell if isinstance(cell, str) else "".join(cell), path=path, row=number, column=name)
        yield Record(number, cells)


def _begins_a_list(path: Path) -> bool:
    first = next((line for _, line in text_lines(path) if line.strip()), "")
    return first.strip() in ("[", "[{")

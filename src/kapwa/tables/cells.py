"""Single cells: what JSON and Python write in them, and what spreadsheets would run as formulas."""

from __future__ import annotations

import ast
import json
import re
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from kapwa.errors import DataError
from kapwa.tables.table import Cell

# What a spreadsheet runs as a formula at the beginning of a cell. Those set to Chinese, Japanese or Korean take the
# wide signs for the narrow ones. Where a semicolon parts cells, each one in a text, and each line break, begins a cell;
# a list's "- " at the beginning of a line stays as it is.
_SIGN = r"[=+\-@\t\r＝＋－＠]"
_BEGINS = rf"(\A(?='*{_SIGN})|; *(?='*{_SIGN})|\n(?='*(?![+-] ){_SIGN}))"
_DANGEROUS = re.compile(_BEGINS)
FORMULA = re.compile(_BEGINS.replace("'*", ""))
_DISARMED = re.compile(_BEGINS.replace("(?=", "'(?="))


def _with_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; raise ValueError for a key that stands in it twice: one of its values would be lost."""
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedKeyError(next(name for name in names if names.count(name) > 1))
    return value


class RepeatedKeyError(ValueError):
    """A key stands twice in one object of JSON."""


# NaN and Infinity, which Python writes and JSON does not know, are null: a cell of them is empty.
DECODER = json.JSONDecoder(parse_constant=lambda _name: None, object_pairs_hook=_with_unique_keys)
_HALF = re.compile(r"[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


# What spreadsheets show where a formula could not be worked out.
FORMULA_ERRORS = frozenset(
    {"#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#N/A", "#NULL!", "#NUM!", "#SPILL!", "#CALC!", "#FIELD!"}
)
DAMAGED = "The file is damaged or not text."


def json_in(cell: str) -> Any:
    """Return what a cell's JSON is; raise ValueError or RecursionError for no JSON, and for half of a character."""
    value = DECODER.decode(cell)
    if "\\u" in cell and _HALF.search(json.dumps(value, ensure_ascii=False)):
        raise ValueError("half of a character")
    return value


def why_not_json(error: ValueError | RecursionError) -> str:
    """Say in a few words what :func:`json.loads` found wrong."""
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    if isinstance(error, RepeatedKeyError):
        return f"the key {error.args[0]!r} stands twice in one object"
    return "nested too deeply" if isinstance(error, RecursionError) else "a number of over 4,300 digits"


def refuse_half(text: str, **place: Any) -> None:
    r"""Raise DataError for a text with half a character, as the escape "\ud83d" alone gives: no file can hold it."""
    half = _HALF.search(text)
    if half:
        message = f"holds half of a character (\\u{ord(half[0]):04x} alone)."
        raise DataError(message, hint="Write the character itself in place of the escape.", **place)


def refuse_nul(line: str, path: Path, row: int) -> None:
    """Raise DataError for a line with a NUL byte."""
    if "\0" in line:
        raise DataError("holds a NUL byte.", path=path, row=row, hint=DAMAGED)


def json_cell(value: Any) -> Cell:
    """Return a value of JSON as a cell: a text, the texts of a list of them, else the text that JSON writes for it."""
    if isinstance(value, str) or value is None:
        return value or ""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(value)
    return json.dumps(value, ensure_ascii=False)


def written_value(cell: str) -> Any:
    """Return the list or object that a cell of JSON, or of Python's own writing, holds; None for any other."""
    text = re.sub(r"defaultdict\(<class '\w+'>, (.*)\)", r"\1", cell.strip(), flags=re.DOTALL)
    for read in (json_in, _in_python):
        with suppress(ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            value = read(text)
            return value if isinstance(value, list | dict) else None
    return None


def _in_python(text: str) -> Any:
    """Return what JSON can say too of a value that Python wrote."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of odd literals ("1a") as if they were its own source
        return json_in(json.dumps(ast.literal_eval(text), default=list))


def disarm(cell: str) -> str:
    """Put an apostrophe before what a spreadsheet would run as a formula, and before what looks disarmed already."""
    return _DANGEROUS.sub(r"\1'", cell)


def rearm(cell: str) -> str:
    """Undo :func:`disarm` exactly: ``rearm(disarm(text)) == text`` for every text."""
    return _DISARMED.sub(lambda match: match[0][:-1], cell)


def printable(text: str) -> str:
    """Return ``text`` as a sheet can hold it: line breaks as LF, characters no file may hold as U+FFFD."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def without_nul(text: str) -> str:
    """Return ``text`` with U+FFFD for NUL, which no CSV file can hold."""
    return text.replace("\0", "\ufffd")

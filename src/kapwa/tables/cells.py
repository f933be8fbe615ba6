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

# What a spreadsheet runs as a formula at the beginning of a cell. Spreadsheets set to Chinese, Japanese or Korean read
# the wide signs as the narrow ones. Where semicolons separate cells, a cell may begin after a semicolon or line break
# in a text; a list's "- " at the beginning of a line is not changed.
_SIGN = r"[=+\-@\t\r＝＋－＠]"
_BEGINS = rf"(\A(?='*{_SIGN})|; *(?='*{_SIGN})|\n(?='*(?![+-] ){_SIGN}))"
_DANGEROUS = re.compile(_BEGINS)
FORMULA = re.compile(_BEGINS.replace("'*", ""))
_DISARMED = re.compile(_BEGINS.replace("(?=", "'(?="))


def _with_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; raise ValueError for a repeated key, since one of its values would be lost."""
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedKeyError(next(name for name in names if names.count(name) > 1))
    return value


class RepeatedKeyError(ValueError):
    """A key appears twice in one object of JSON."""


# NaN and Infinity, which Python writes although JSON does not have them, are read as null, an empty cell.
DECODER = json.JSONDecoder(parse_constant=lambda _name: None, object_pairs_hook=_with_unique_keys)
_HALF = re.compile(r"[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


# What spreadsheets show where a formula could not be computed.
FORMULA_ERRORS = frozenset(
    {"#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#N/A", "#NULL!", "#NUM!", "#SPILL!", "#CALC!", "#FIELD!"}
)
DAMAGED = "The file is damaged or not text."


def json_in(cell: str) -> Any:
    """Return the value of a cell's JSON; raise ValueError or RecursionError for invalid JSON and half a character."""
    value = DECODER.decode(cell)
    if "\\u" in cell and _HALF.search(json.dumps(value, ensure_ascii=False)):
        raise ValueError("half of a character")
    return value


def why_not_json(error: ValueError | RecursionError) -> str:
    """Say in a few words what :func:`json.loads` found wrong."""
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    if isinstance(error, RepeatedKeyError):
        return f"the key {error.args[0]!r} appears twice in one object"
    return "nested too deeply" if isinstance(error, RecursionError) else "a number of over 4,300 digits"


def refuse_half(text: str, **location: Any) -> None:
    r"""Raise DataError for a text with half a character, such as the escape "\ud83d" alone, which no file can store."""
    half = _HALF.search(text)
    if half:
        message = f"holds half of a character (\\u{ord(half[0]):04x} alone)."
        raise DataError(message, hint="Write the character itself in place of the escape.", **location)


def refuse_nul(line: str, path: Path, row: int) -> None:
    """Raise DataError for a line with a NUL byte."""
    if "\0" in line:
        raise DataError("holds a NUL byte.", path=path, row=row, hint=DAMAGED)


def json_cell(value: Any) -> Cell:
    """Return a value of JSON as a cell: a text, a tuple of texts for a list of texts, else its JSON."""
    if isinstance(value, str) or value is None:
        return value or ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return json.dumps(value, ensure_ascii=False)


def written_value(cell: str) -> Any:
    """Return the list or object in a cell with JSON or Python literals; None for any other cell."""
    text = re.sub(r"defaultdict\(<class '\w+'>, (.*)\)", r"\1", cell.strip(), flags=re.DOTALL)
    for read in (json_in, _in_python):
        with suppress(ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            value = read(text)
            return value if isinstance(value, list | dict) else None
    return None


def _in_python(text: str) -> Any:
    """Return a value that Python wrote, as far as JSON can express it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of odd literals ("1a") as if they were its own source
        return json_in(json.dumps(ast.literal_eval(text), default=list))


def disarm(cell: str) -> str:
    """Put an apostrophe before what a spreadsheet would run as a formula, and before what already looks disarmed."""
    return _DANGEROUS.sub(r"\1'", cell)


def rearm(cell: str) -> str:
    """Undo :func:`disarm` exactly: ``rearm(disarm(text)) == text`` for every text."""
    return _DISARMED.sub(lambda match: match[0][:-1], cell)


def printable(text: str) -> str:
    """Return ``text`` as a sheet can store it: line breaks as LF, characters that no file may have as U+FFFD."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def without_nul(text: str) -> str:
    """Return ``text`` with U+FFFD for NUL, which no CSV file can hold."""
    return text.replace("\0", "\ufffd")

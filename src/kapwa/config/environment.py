"""The file ``.env`` beside a run file: variables such as keys, which are set only during its runs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kapwa.errors import DataError
from kapwa.files import text_lines

NAME = ".env"
_LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*)", re.DOTALL)


def read_variables(file: Path) -> dict[str, str]:
    """Return the variables of a file of ``NAME=value`` lines by name; none where there is no such file.

    ``#`` begins a comment; a name may follow "export", and a value may be in quotes; ``$NAME`` is not replaced.
    Raises DataError with the row of a line of another form; no message shows a value.
    """
    variables: dict[str, str] = {}
    if not file.exists():
        return variables
    for row, text in text_lines(file):
        line = text.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise DataError("is not of the form NAME=value.", path=file, row=row, hint="A comment begins with #.")
        variables[match["name"]] = _value(match["value"].strip(), file, row, match["name"])
    return variables


def _value(text: str, file: Path, row: int, name: str) -> str:
    """Return a value without its quotes, or without the comment after it."""
    if text[:1] not in ('"', "'"):
        return re.split(r"\s#", f" {text}", maxsplit=1)[0].strip()
    value, closed, rest = text[1:].partition(text[0])
    if not closed or (rest.strip() and not rest.lstrip().startswith("#")):
        hint = "Put one quotation mark before the value and the same one after it."
        raise DataError("has a quotation mark without its other half.", path=file, row=row, column=name, hint=hint)
    return value


@contextmanager
def variables_set(variables: Mapping[str, str]) -> Iterator[list[str]]:
    """Set ``variables`` in the environment, except those that are set already; yield the names of those that were set.

    Afterwards the environment is restored.
    """
    fresh = [name for name in variables if name not in os.environ]
    os.environ.update({name: variables[name] for name in fresh})
    try:
        yield fresh
    finally:
        for name in fresh:
            os.environ.pop(name, None)

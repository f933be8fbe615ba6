"""YAML documents as plain values that remember their lines, and lists of rows in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from kapwa.errors import DataError
from kapwa.files import read_text
from kapwa.tables.cells import refuse_half
from kapwa.tables.table import CUT_OFF, MAX_CELL, Cell, Record, TextTable

# The keys and list indices that lead to a value.
KeyPath = tuple[str | int, ...]
# Far more than any card or pack needs; a file beyond them is damaged, or a trap made of aliases.
_MAX_DEPTH = 12
_MAX_NODES = 500_000
_FLAT = "Write each value out, without '&' and '*', a few levels deep."


def yaml_table(path: Path) -> TextTable:
    """Read a list of rows, or the list under the one key that is the file's name ("situations: …")."""
    located = load_yaml(path)
    entries: object = located.value
    keys: KeyPath = ()
    if isinstance(entries, dict) and set(entries) == {path.stem}:
        entries, keys = entries[path.stem], (path.stem,)
    if not isinstance(entries, list):
        hint = "Write one '- id: …' block for each row; see the form in docs/reference."
        raise DataError(f"is not a list of {path.stem}.", path=path, row=1, hint=hint)
    if not entries:
        raise DataError(f"holds no {path.stem}.", path=path)
    records, problems = [], []
    for i, entry in enumerate(entries):
        row = located.line((*keys, i)) or 1
        if not isinstance(entry, dict):
            problems.append(DataError("is not a row (expected 'key: value' lines).", path=path, row=row))
            continue
        cells: dict[str, Cell] = {}
        for key, value in entry.items():
            try:
                cells[key] = _yaml_cell(value, path, located.line((*keys, i, key)), key)
            except DataError as error:
                problems.append(error)
        records.append(Record(row, cells))
    return TextTable(path, tuple(dict.fromkeys(name for record in records for name in record.cells)), records, problems)


def _yaml_cell(value: object, path: Path, row: int | None, column: str) -> Cell:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        if any(len(text) > MAX_CELL for text in ([value] if isinstance(value, str) else value)):
            raise DataError(f"is longer than {MAX_CELL} characters.", path=path, row=row, column=column)
        return value if isinstance(value, str) else tuple(value)
    kind = type(next(v for v in value if not isinstance(v, str))).__name__ if isinstance(value, list) else ""
    described = f"a list holding {kind}" if kind else type(value).__name__
    # 0101 unquoted is the number 65 in YAML: ids lose their zeros, so numbers are refused rather than guessed.
    raise DataError(f"is {described}, not text.", path=path, row=row, column=column, hint="Put the value in quotes.")


class Located(NamedTuple):
    """A value and the line (from 1) of each value within it, by its key path."""

    value: Any
    lines: Mapping[KeyPath, int]

    def line(self, keys: KeyPath) -> int | None:
        """Line of the value at ``keys``, or of the nearest value that contains it."""
        while keys and keys not in self.lines:
            keys = keys[:-1]
        return self.lines.get(keys)

    def value_at(self, keys: KeyPath) -> Any:
        """The value at ``keys``, which is one of those with a line."""
        value = self.value
        for key in keys:
            value = value[key]
        return value


def load_yaml(path: Path) -> Located:
    """Read one YAML document with safe tags only.

    Raises DataError naming file and row for: bad encoding, bad YAML, repeated keys, keys that are not
    text, tags that are not plain data, nesting or aliases without end, an empty file.
    """
    text = read_text(path)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.reader.ReaderError as error:
        row = text[: error.position].count("\n") + 1
        hint = "Delete it, and save the file as UTF-8."
        message = f"holds the character {error.character!r}, which YAML forbids."
        raise DataError(message, path=path, row=row, hint=hint) from None
    except yaml.MarkedYAMLError as error:
        hint = "Put texts that hold ': ', '#' or quotes between quotes, and indent with spaces."
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise DataError(f"is not valid YAML ({error.problem}).", path=path, row=line, hint=hint) from None
    except RecursionError:
        raise DataError("is nested too deeply.", path=path, hint=_FLAT) from None
    if node is None:
        raise DataError("is empty.", path=path, hint=CUT_OFF)
    lines: dict[KeyPath, int] = {}
    return Located(_plain_value(node, (), path, lines), lines)


_loader = yaml.SafeLoader("")


def _plain_value(node: yaml.Node, keys: KeyPath, path: Path, lines: dict[KeyPath, int]) -> Any:
    """Turn a composed node into plain values, and record the line of each in ``lines``."""
    line = node.start_mark.line + 1
    lines.setdefault(keys, line)
    if len(keys) > _MAX_DEPTH or len(lines) > _MAX_NODES:
        raise DataError("is nested too deeply, or repeats itself without end.", path=path, row=line, hint=_FLAT)
    if isinstance(node, yaml.SequenceNode):
        return [_plain_value(child, (*keys, i), path, lines) for i, child in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        values: dict[str, Any] = {}
        for key_node, child in node.value:
            line, key = key_node.start_mark.line + 1, str(key_node.value)
            if not isinstance(key_node, yaml.ScalarNode):
                raise DataError("a key must be a word.", path=path, row=line, hint="Put it in quotes.")
            refuse_half(key, path=path, row=line)
            if key in values:
                raise DataError("appears twice.", path=path, row=line, column=key, hint="Keep one of the two.")
            lines[(*keys, key)] = line
            values[key] = _plain_value(child, (*keys, key), path, lines)
        return values
    refuse_half(str(node.value), path=path, row=line)
    try:
        return _loader.construct_object(node)
    except (yaml.YAMLError, ValueError, LookupError) as error:  # PyYAML lets LookupError out of "!!int ''"
        reason = getattr(error, "problem", None) or error
        hint = "Write it as a text in quotes, without a tag (!)."
        raise DataError(f"holds a value that cannot be read ({reason}).", path=path, row=line, hint=hint) from None

"""Read a pack's files: tables of every format, YAML as plain values that remember their line, or as a model."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from kapwa.datasets.card import Card
from kapwa.datasets.findings import Finding
from kapwa.errors import DataError, nearest
from kapwa.files import check_ordinary, read_text
from kapwa.languages.codes import NO_TAG, has_script, scripts_of, tag_hint
from kapwa.tables_io import (
    CUT_OFF,
    MAX_CELL,
    NO_ROWS,
    Cell,
    Record,
    Table,
    json_in,
    read_parts,
    refuse_half,
    separator_of,
)

__all__ = ["Cell", "Record", "Table", "load_yaml", "peek_header", "read_model", "read_records", "shipped_card"]

ModelT = TypeVar("ModelT", bound=BaseModel)
TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".xlsx", ".parquet", ".yaml", ".yml")
_PEEKED = 65_536
_LINE_END = re.compile(r"\r\n?")
_Place = tuple[str | int, ...]

# Far more than any card or pack needs; a file beyond them is damaged, or a trap made of aliases.
_MAX_DEPTH = 12
_MAX_NODES = 500_000
_FLAT = "Write each value out, without '&' and '*', a few levels deep."


class InMemory(NamedTuple):
    """A table that a file stands for, and the bytes that the file would hold."""

    table: Table
    content: bytes


# What files are read as, if not as what they hold.
in_memory: ContextVar[Mapping[Path, InMemory]] = ContextVar("in_memory")


@contextmanager
def standing_in(tables: Mapping[Path, InMemory]) -> Iterator[None]:
    """Have files, which may be empty, read as these tables: what people wrote need not lie on disk to be read."""
    token = in_memory.set(tables)
    try:
        yield
    finally:
        in_memory.reset(token)


def read_records(path: Path) -> Table:
    """Read CSV, TSV, JSON lines, XLSX, Parquet or YAML; reasons for failure are returned, never raised.

    A cell is text, or a tuple of texts where the format has lists. Line ends inside cells become LF.
    """
    held = in_memory.get({}).get(path)
    if held:
        return held.table
    try:
        table = _yaml_table(path) if path.suffix.lower() in (".yaml", ".yml") else read_parts(path)
    except DataError as error:
        return Table(path, (), (), [error])
    if not table.records and not table.problems:
        return table._replace(problems=[DataError("holds no rows.", path=path, hint=NO_ROWS)])
    records = []
    for row, as_read in table.records:
        cells = dict(as_read)
        for name, cell in as_read.items():
            if isinstance(cell, tuple):
                cells[name] = tuple(_LINE_END.sub("\n", text) for text in cell)
            elif "\r" in cell:
                cells[name] = _LINE_END.sub("\n", cell)
        records.append(Record(row, cells))
    return table._replace(records=records)


def peek_header(path: Path) -> tuple[str, ...]:
    """Guess a table file's columns without judging it; () when it has none or cannot be read.

    Raises DataError for a pipe or a device.
    """
    check_ordinary(path)
    if path.suffix.lower() not in (".csv", ".tsv", ".tab"):
        return read_records(path).header if path.suffix.lower() in TABLE_SUFFIXES else ()
    try:
        with path.open("rb") as file:
            raw = file.read(_PEEKED)
        wide = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
        text = raw.decode("utf-16" if wide else "utf-8-sig", errors="replace").replace("\0", "")
        separator = separator_of(text, path.suffix)
        return tuple(cell.strip() for cell in next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), []))
    except (OSError, csv.Error):
        return ()


def _yaml_table(path: Path) -> Table:
    """Read a list of rows, or the list under the one key that is the file's name ("situations: …")."""
    located = load_yaml(path)
    entries: object = located.value
    place: _Place = ()
    if isinstance(entries, dict) and set(entries) == {path.stem}:
        entries, place = entries[path.stem], (path.stem,)
    if not isinstance(entries, list):
        hint = "Write one '- id: …' block for each row; see the form in docs/reference."
        raise DataError(f"is not a list of {path.stem}.", path=path, row=1, hint=hint)
    if not entries:
        raise DataError(f"holds no {path.stem}.", path=path)
    records, problems = [], []
    for i, entry in enumerate(entries):
        row = located.line((*place, i)) or 1
        if not isinstance(entry, dict):
            problems.append(DataError("is not a row (expected 'key: value' lines).", path=path, row=row))
            continue
        cells: dict[str, Cell] = {}
        for key, value in entry.items():
            try:
                cells[key] = _yaml_cell(value, path, located.line((*place, i, key)), key)
            except DataError as error:
                problems.append(error)
        records.append(Record(row, cells))
    return Table(path, tuple(dict.fromkeys(name for record in records for name in record.cells)), records, problems)


def _yaml_cell(value: object, path: Path, row: int | None, column: str) -> Cell:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) or (isinstance(value, list) and all(isinstance(part, str) for part in value)):
        if any(len(text) > MAX_CELL for text in ([value] if isinstance(value, str) else value)):
            raise DataError(f"is longer than {MAX_CELL} characters.", path=path, row=row, column=column)
        return value if isinstance(value, str) else tuple(value)
    kind = type(next(v for v in value if not isinstance(v, str))).__name__ if isinstance(value, list) else ""
    described = f"a list holding {kind}" if kind else type(value).__name__
    # 0101 unquoted is the number 65 in YAML: ids lose their zeros, so numbers are refused rather than guessed at.
    raise DataError(f"is {described}, not text.", path=path, row=row, column=column, hint="Put the value in quotes.")


class Located(NamedTuple):
    """A value and the line (from 1) of each part of it, by the keys and positions that lead there."""

    value: Any
    lines: Mapping[_Place, int]

    def line(self, place: _Place) -> int | None:
        """Line of ``place``, or of the nearest part around it."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place)


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
    lines: dict[_Place, int] = {}
    return Located(_plain_value(node, (), path, lines), lines)


_loader = yaml.SafeLoader("")


def _plain_value(node: yaml.Node, place: _Place, path: Path, lines: dict[_Place, int]) -> Any:
    """Turn a composed node into plain values, noting the line of each part in ``lines``."""
    line = node.start_mark.line + 1
    lines.setdefault(place, line)
    if len(place) > _MAX_DEPTH or len(lines) > _MAX_NODES:
        raise DataError("is nested too deeply, or repeats itself without end.", path=path, row=line, hint=_FLAT)
    if isinstance(node, yaml.SequenceNode):
        return [_plain_value(child, (*place, i), path, lines) for i, child in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        values: dict[str, Any] = {}
        for key_node, child in node.value:
            line, key = key_node.start_mark.line + 1, str(key_node.value)
            if not isinstance(key_node, yaml.ScalarNode):
                raise DataError("a key must be a word.", path=path, row=line)
            refuse_half(key, path=path, row=line)
            if key in values:
                raise DataError("appears twice.", path=path, row=line, column=key)
            lines[(*place, key)] = line
            values[key] = _plain_value(child, (*place, key), path, lines)
        return values
    refuse_half(str(node.value), path=path, row=line)
    try:
        return _loader.construct_object(node)
    except (yaml.YAMLError, ValueError, LookupError) as error:  # PyYAML lets LookupError out of "!!int ''"
        reason = getattr(error, "problem", None) or error
        hint = "Write it as a text in quotes, without a tag (!)."
        raise DataError(f"holds a value that cannot be read ({reason}).", path=path, row=line, hint=hint) from None


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


_REMEDIES = {
    "string_type": "Put the value in quotes: to YAML unquoted 1.0 is a number, 2024-05-01 a date, and no means false.",
    "bool_type": "Write true or false, without quotes.",
    "dict_type": "Write 'name: value' lines below it, indented.",
    "list_type": "Write a list: one '- …' line for each.",
    "string_too_short": "Say it in a few words; write 'none' where there is nothing to say.",
}


def read_model(
    path: Path, model: type[ModelT], what: str = "card", see: str = "see the form in docs/reference."
) -> tuple[ModelT | None, list[DataError]]:
    """Read a YAML file as ``model``: that and no errors, or None and every error with its row, field and remedy.

    ``what`` names the file in errors, ``see`` says where its form is described.
    """
    try:
        located = load_yaml(path)
        if not isinstance(located.value, dict):
            raise DataError(f"is not a {what}.", path=path, row=1, hint=f"Write 'field: value' lines; {see}")
        return model.model_validate(located.value), []
    except DataError as error:
        return None, [error]
    except ValidationError as error:
        return None, [_field_error(path, located, model, what, see, detail) for detail in error.errors()]


def _field_error(path: Path, located: Located, model: type[BaseModel], what: str, see: str, detail: Any) -> DataError:
    message, kind, place = str(detail["msg"]).removeprefix("Value error, "), detail["type"], tuple(detail["loc"])
    if not place:  # a validator over the whole file names its part of it, and the field in quotes, in the message
        part, _, rest = message.partition(": ")
        if part in model.model_fields:
            message = rest
            place = (part, rest.split("'")[1]) if rest.startswith("'") else (part,)
    written: _Place = ()  # pydantic's place names the types that a value was tried as, too
    for step in place:
        written = (*written, step) if kind == "missing" or (*written, step) in located.lines else written
    column = ".".join(step for step in written if isinstance(step, str)) or None
    row = located.line(written)
    hint = _REMEDIES.get(kind) or see.capitalize()
    if kind == "missing":
        message, row, hint = f"is missing from the {what}.", None, f"Add a line '{column}: …'; {see}"
    elif kind == "extra_forbidden":
        inner = model.model_fields[str(place[0])].annotation if len(place) > 1 else model
        known = getattr(inner, "model_fields", model.model_fields)
        message, hint = f"is not a field of a {what}.", nearest(str(place[-1]), known)
    elif kind == "string_pattern_mismatch":
        message, hint = NO_TAG.format(detail["input"]), tag_hint(str(detail["input"])) or hint
    elif kind == "too_short":
        message = "the list is empty; name at least one."
    return DataError(f"{message.rstrip('.')}.", path=path, row=row, column=column, hint=hint)


@cache
def shipped_card(path: Path) -> Card:
    """Return a card that ships with Kapwa: that of data which others released without one."""
    return Card.model_validate(load_yaml(path).value)


def stray_rows(table: Table, known: Mapping[str, bool]) -> Iterator[DataError]:
    """Name rows that hold next to nothing of the form, or the sums of those above, each once."""
    needed = [name for name, required in known.items() if required]
    sums = dict.fromkeys(table.header, 0.0)
    for place, record in enumerate(table.records):
        cells = {name: str(cell).strip() for name, cell in record.cells.items() if cell and str(cell).strip()}
        empty = [name for name in needed if name not in cells]
        numbers = {name: float(cell) for name, cell in cells.items() if re.fullmatch(r"\d+(\.\d+)?", cell)}
        summed = [name for name, number in numbers.items() if number == sums[name] > 0]
        if empty and summed and place > 2:  # a second row may just be like the first, and ids 1, 2, 3 add up too
            message = f"{cells[summed[0]]} is the sum of the rows above, and the row has no {empty[0]!r}."
            hint = "Delete the row if it is a total; else fill it in."
            yield DataError(message, path=table.path, row=record.row, column=summed[0], hint=hint)
            continue
        for name, number in numbers.items():
            sums[name] += number
        if not empty or len(cells) > min(len(empty), 2) or len(table.header) <= 3:
            continue
        shown = next(iter(cells.values()), "")
        more = f" and {len(empty) - 1} more that every row needs" if len(empty) > 1 else ""
        message = f"{shown[:60]!r} stands in a row without {empty[0]!r}{more}."
        hint = "Delete the row if it is a note or a total (a column 'notes' keeps notes); else fill it in."
        yield DataError(message, path=table.path, row=record.row, column=next(iter(cells), None), hint=hint)


_RUN = re.compile(r"\?{2}")
_IN_A_WORD = re.compile(r"[^\W\d_]\?+[^\W\d_]")
_LETTER = re.compile(r"[^\W\d_]")
_LOST = "Save the table as 'CSV UTF-8' (or XLSX) from a copy that still has its letters."


class WrittenText(NamedTuple):
    """A cell and the language it should be in ("" where nobody says).

    ``prose``: the text is one that must be written in that language, not a name or a number that may be in another.
    """

    path: Path
    row: int
    column: str
    language: str
    text: str
    prose: bool


def find_lost_letters(cells: Iterable[WrittenText]) -> tuple[list[DataError], list[Finding]]:
    """Judge a table's texts: an error for a column most of whose cells are lost, else a warning for each odd cell.

    Only a language with a script of its own makes an error of it: its text cannot do without the letters that no
    Western code page has.
    """
    problems: list[DataError] = []
    oddities: list[Finding] = []
    columns: defaultdict[tuple[Path, str, str], list[WrittenText]] = defaultdict(list)
    for cell in cells:
        columns[cell.path, cell.column, cell.language].append(cell)
    for (path, column, language), written in columns.items():
        scripts = scripts_of(language)
        if not scripts and not any("?" in cell.text for cell in written):
            continue
        # "?" where each letter was: several, or one alone, and no letter left of the language's script.
        lost = [
            bool(_RUN.search(text) and scripts and not has_script(text, scripts))
            if "?" in text and _LETTER.search(text)
            else bool(_RUN.search(text)) or text.strip() == "?"
            for text in (cell.text for cell in written)
        ]
        if scripts and 2 * sum(lost) > len(written):
            message = (
                f"holds '?' where its letters were, and so do {sum(lost)} of {len(written)} cells of the column: "
                f"the table was saved in an encoding without the letters of {language!r}."
            )
            row = written[lost.index(True)].row
            problems.append(DataError(message, path=path, row=row, column=column, hint=_LOST))
            continue
        for cell, gone in zip(written, lost, strict=True):
            inside = None if "?" not in cell.text or "://" in cell.text else _IN_A_WORD.search(cell.text)
            if gone:
                message = f"holds '?' where letters should be. {_LOST}"
            elif inside:
                message = f"'?' stands inside a word ({inside[0]!r}): a letter may be lost. {_LOST}"
            elif cell.prose and scripts and not has_script(cell.text, scripts):
                names = " or ".join(scripts).replace("_", " ")
                message = f"holds no letter of the {names} script, though the language is {cell.language!r}"
            else:
                continue
            oddities.append(Finding("warning", str(path), message, cell.row, column))
    return problems, oddities

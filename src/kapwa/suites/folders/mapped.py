"""Read somebody else's table through a mapping: each row's fields, and every problem with its file, row and column."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from kapwa.errors import DataError, nearest
from kapwa.suites.folders.locales import cultures_of, language_of
from kapwa.suites.folders.mapping import JSON_LIST, ColumnMapping
from kapwa.suites.reading.tables import TABLE_SUFFIXES, Record, Table, read_records


class Origin(NamedTuple):
    """Where a row came from."""

    path: Path
    row: int


class LaidRow(NamedTuple):
    """A row of the form's own table, and where it came from."""

    cells: Mapping[str, Any]
    origin: Origin


@dataclass
class Converted:
    """The form's tables by name, and every problem on the way."""

    tables: dict[str, list[LaidRow]] = field(default_factory=dict)
    problems: list[DataError] = field(default_factory=list)
    rows: int = 0

    def add(self, table: str, cells: Mapping[str, Any], origin: Origin) -> None:
        """Add a row to one of the form's tables."""
        self.tables.setdefault(table, []).append(LaidRow(cells, origin))


class MappedRow:
    """One row of somebody else's table, read by the names of the form's fields."""

    def __init__(self, mapping: ColumnMapping, table: Table, record: Record, cultures: Mapping[str, str]) -> None:
        self.mapping, self.path, self.record, self.cultures = mapping, table.path, record, cultures
        self.problems: list[DataError] = []

    @property
    def origin(self) -> Origin:
        """Where the row is."""
        return Origin(self.path, self.record.row)

    def problem(self, name: str, message: str, hint: str | None = None) -> None:
        """Note what is wrong with a field, by the name of the column that it comes from."""
        column = self.mapping.columns.get(name, name)
        self.problems.append(DataError(message, path=self.path, row=self.record.row, column=column, hint=hint))

    def has(self, name: str) -> bool:
        """Whether the mapping says where the field comes from."""
        return name in self.mapping.columns or name in self.mapping.constants

    def text(self, name: str, default: str = "") -> str:
        """Return a field's text, stripped, in the mapping's other words for it; ``default`` where there is none."""
        if name in self.mapping.constants:
            return self.mapping.constants[name]
        if name not in self.mapping.columns:
            return default
        cell = self.record.cells.get(self.mapping.columns[name], "")
        if isinstance(cell, tuple):
            self.problem(name, "is a list, but one text is needed.")
            return default
        found, words = cell.strip(), self.mapping.values.get(name)
        if words is None or not found:
            return found or default
        if found not in words:
            self.problem(name, f"{found!r} is not among the values of {name!r} in the mapping.", nearest(found, words))
        return words.get(found, found)

    def needed(self, name: str) -> str:
        """Return a field's text, and note when it is empty."""
        found = self.text(name)
        if not found and self.has(name) and not self.problems:
            self.problem(name, "is empty.", "Every row needs one.")
        return found

    def items(self, name: str) -> list[str]:
        """Return the texts of a list's cell, parted as the mapping says, without the empty ones."""
        cell = self.record.cells.get(self.mapping.columns.get(name, ""), "")
        if name in self.mapping.constants:
            cell = self.mapping.constants[name]
        sign = self.mapping.separators.get(name, ";")
        if isinstance(cell, str) and sign == JSON_LIST:
            return self._json_items(name, cell)
        parts = cell.split(sign) if isinstance(cell, str) else cell
        return [part.strip() for part in parts if part.strip()]

    def _json_items(self, name: str, cell: str) -> list[str]:
        try:
            found = json.loads(cell) if cell.strip() else []
        except (json.JSONDecodeError, RecursionError):
            found = None
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            self.problem(name, "is not a JSON list of texts.", 'Such as ["tea", "coffee"]; else name its separator.')
            return []
        return [one.strip() for one in found if one.strip()]

    def home(self) -> dict[str, str]:
        """Return culture and language as far as the row says them, by their own columns or by its locale."""
        home = {name: self.needed(name) for name in ("culture", "language") if self.has(name)}
        if self.has("locale"):
            text = self.needed("locale")
            culture, language = self.cultures.get(text, ""), language_of(text)
            if text and not (culture and (language or "language" in home)):
                hint = f"Write under 'values: culture:' whose it is ({text}: …)."
                hint = hint if language else "Locales are like 'es-MX'; else take culture and language from columns."
                self.problem("locale", f"{text!r} is no language and country that Kapwa knows.", hint)
            home = {"culture": culture, "language": language, **home}
        return {name: value for name, value in home.items() if value}


def convert(mapping: ColumnMapping, folder: Path, lay_out: Callable[[MappedRow, Converted], None]) -> Converted:
    """Read every table of the mapping in ``folder``; ``lay_out`` adds a sound row to the form's tables."""
    converted = Converted()
    tables = list(_tables(mapping, folder, converted))
    named = mapping.values.get("culture", {}) if "culture" not in mapping.columns else {}
    column = mapping.columns.get("locale", "")
    found = (str(record.cells.get(column, "")).strip() for table in tables for record in table.records)
    cultures = cultures_of([text for text in found if text], named)
    if "locale" in mapping.constants:
        cultures |= cultures_of([mapping.constants["locale"]], named)
    for table in tables:
        for record in table.records:
            row = MappedRow(mapping, table, record, cultures)
            lay_out(row, converted)
            converted.problems += row.problems
            converted.rows += 1
    return converted


def _tables(mapping: ColumnMapping, folder: Path, converted: Converted) -> Iterator[Table]:
    for name in mapping.tables:
        files = sorted(path for path in folder.glob(name) if path.is_file()) if "*" in name else [folder / name]
        if not files:
            converted.problems.append(
                DataError(f"holds no file {name}.", path=folder, hint="See 'table' in the mapping.")
            )
        for file in files:
            if file.suffix.lower() not in TABLE_SUFFIXES:
                hint = f"Known: {', '.join(TABLE_SUFFIXES)}."
                converted.problems.append(DataError("is of an unknown kind.", path=file, hint=hint))
                continue
            table = read_records(file)
            missing = list(_missing(mapping, table)) if table.header else []
            converted.problems += [*table.problems, *missing]
            if not missing:
                yield table


def _missing(mapping: ColumnMapping, table: Table) -> Iterator[DataError]:
    for name, column in mapping.columns.items():
        if column not in table.header:
            hint = f"The mapping takes {name!r} from it. {nearest(column, table.header)}"
            yield DataError("is missing.", path=table.path, row=1, column=column, hint=hint)

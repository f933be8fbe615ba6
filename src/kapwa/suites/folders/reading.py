"""Read the tables that a mapping names: parts of cells as columns, rows left out, rows of two tables put together."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kapwa.datasets.findings import Finding, remarks_on
from kapwa.datasets.rows import Origin, named_alike, origin_at
from kapwa.errors import DataError, nearest
from kapwa.suites.folders.mapping import UNKNOWN, ColumnMapping, Join, Only, Unpivot
from kapwa.suites.folders.paths import cell_at, column_of
from kapwa.tables import TABLE_SUFFIXES, Cell, Record, RowError, TextTable, peek_header, read_records, record

# A part of a column that is made of others, such as "{title}: {body}".
_PART = re.compile(r"\{([^{}]+)\}")
# Stands for a column that holds the name of the row's file, from the folder on: "am/test.csv".
FILE = "@file"
# A folder of Kapwa's own forms has no ``.json``, which may be a file of anything.
KINDS_OF_FILES = (*TABLE_SUFFIXES, ".json", ".txt")
# Where a row stands, and its cells.
Located = tuple[Origin, Mapping[str, Cell]]


class MappedField(NamedTuple):
    """A cell of somebody else's table that a field is taken from, and where it stands."""

    cell: Cell
    origin: Origin
    column: str


@dataclass(frozen=True)
class FieldPlaces:
    """Where the fields of many rows stand: by name, in which of the rows put together, and in which column of it.

    ``wide``: how a wide table was made long, if it was; its cells stand in the columns that the file has.
    ``known``: the form's fields that columns or constants give, in the form's order. ``given``: every name that they
    give.
    """

    columns: Mapping[str, tuple[int, str]]
    wide: Unpivot | None
    known: Sequence[str]
    given: frozenset[str]

    def shown(self, column: str, cells: Mapping[str, Cell]) -> str:
        """Return how the file calls a column."""
        return str(cells[self.wide.name]) if self.wide and column in (self.wide.name, self.wide.value) else column


class RowFields(Mapping[str, MappedField]):
    """The fields of a row and of those put together with it; a cell is looked up when it is asked for.

    ``more``: fields that no column gives.
    """

    __slots__ = ("_more", "_places", "_rows")

    def __init__(
        self, places: FieldPlaces, rows: Sequence[Located], more: Mapping[str, MappedField] | None = None
    ) -> None:
        self._places = places
        self._rows = rows
        self._more = more or {}

    def cell(self, name: str) -> Cell | None:
        """Return a field's cell, "" where the row has none; None for a field that no column gives."""
        if name in self._more:
            return self._more[name].cell
        column = self._places.columns.get(name)
        return None if column is None else self._rows[column[0]][1].get(column[1], "")

    def having(self, more: Mapping[str, MappedField]) -> RowFields:
        """Return these fields with others, which take precedence over those of the same name."""
        return RowFields(self._places, self._rows, {**self._more, **more})

    def __getitem__(self, name: str) -> MappedField:
        if name in self._more:
            return self._more[name]
        row, column = self._places.columns[name]
        origin, cells = self._rows[row]
        return MappedField(cells.get(column, ""), origin, self._places.shown(column, cells) if row == 0 else column)

    def __contains__(self, name: object) -> bool:
        return name in self._places.columns or name in self._more

    def gives(self, name: str) -> bool:
        """Whether a column or a constant gives a field."""
        return name in self._places.given or name in self._more

    def known(self, of_form: Sequence[str]) -> Sequence[str]:
        """Return the fields of the form that a column or a constant gives, in the form's order ``of_form``."""
        if not self._more:
            return self._places.known
        return [name for name in of_form if name in self._more or name in self._places.known]

    @property
    def names(self) -> Mapping[str, object]:
        """Every field, as the keys of a mapping."""
        return {**self._places.columns, **self._more} if self._more else self._places.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@dataclass
class FolderReading:
    """What was read from the tables of a folder: each table by its file, with every problem and oddity.

    ``left_out``: the problems of rows that the mapping says to leave out (``skip_bad_rows``). ``headers_only``: no row
    is read, so that what is wrong with the layout of large tables is known at once.
    """

    mapping: ColumnMapping
    folder: Path
    headers_only: bool = False
    problems: list[DataError] = field(default_factory=list)
    left_out: list[DataError] = field(default_factory=list)
    oddities: list[Finding] = field(default_factory=list)
    tables: dict[Path, TextTable] = field(default_factory=dict)

    def rows(self) -> Iterator[tuple[Origin, RowFields]]:
        """Yield each row of the form's table: where it is, and the cell of each field that a column gives.

        Of two rows of one table that are put together, only the first is a row of its own.
        """
        mapping = self.mapping
        needed = {**mapping.every_column, **{name: name for name in mapping.only}}
        tables = list(self._tables(mapping.tables, needed))
        firsts = [row for table in tables for row in _wanted_rows(table, mapping.only)]
        others = [self._joined(join, firsts) for join in mapping.joins]
        own_paths = {table.path for table in tables}
        within = [not own_paths.isdisjoint(files_named(self.folder, join.table)) for join in mapping.joins]
        joined = {row[0] for rows in itertools.compress(others, within) for row in rows if row is not None}
        places: dict[tuple[bool, ...], FieldPlaces | None] = {}
        whole = (True, *(True for _ in mapping.joins))
        for rows in zip(firsts, *others, strict=True):
            present = whole if None not in rows else tuple([row is not None for row in rows])
            if present not in places:
                places[present] = self._places(present)
            of_fields = places[present]
            origin = rows[0][0]
            if of_fields is not None and not (joined and origin in joined):
                yield origin, RowFields(of_fields, rows)

    def _joined(self, join: Join, firsts: Sequence[Located]) -> list[Located | None]:
        """Return for each row the one of another table, or of the same, that is put together with it.

        None where it is that row itself, or there is none. Of two tables that is a problem; rows of one table (a
        question in English beside the local one) may be alone.
        """
        others = self._others(join)
        columns = tuple(join.pairs)
        within = join.within(self.mapping)
        together: list[Located | None] = []
        for origin, cells in firsts:
            other = others.get(_key(cells, columns))
            if other is None:
                self._alone(join, others, origin, cells)
            together.append(None if within and other and other[0] == origin else other)
        return together

    def _places(self, present: Sequence[bool]) -> FieldPlaces | None:
        """Return where fields stand in rows put together of those ``present``: the first, and that of each join.

        None where one is missing that had to be there, which was said.
        """
        columns = {name: (0, column) for name, column in self.mapping.every_column.items()}
        for number, join in enumerate(self.mapping.joins, start=1):
            if present[number]:
                columns |= {name: (number, column) for name, column in join.columns.items()}
            elif not join.within(self.mapping):
                return None
        known = [name for name in self.mapping.to.fields if name in columns or name in self.mapping.constants]
        return FieldPlaces(columns, self.mapping.unpivot, known, frozenset((*columns, *self.mapping.constants)))

    def bad_row(self, problem: DataError) -> None:
        """Note what is wrong with a row, which stops a run unless the mapping says to leave such rows out."""
        (self.left_out if self.mapping.skip_bad_rows else self.problems).append(problem)

    def _others(self, join: Join) -> dict[tuple[str, ...], Located]:
        """The rows that others are put together with, by what both have in common."""
        columns = list(join.pairs.values())
        needed = {**join.columns, **{name: name for name in (*columns, *join.only)}}
        others: dict[tuple[str, ...], Located] = {}
        for table in self._tables((join.table,), needed):
            for origin, cells in _wanted_rows(table, join.only):
                key = _key(cells, columns)
                first = others.setdefault(key, (origin, cells))[0]
                if first != origin:
                    message = f"{' '.join(key)!r} is in row {first.row} already, so what belongs together is not clear."
                    hint = "Name more columns under 'on', or say under 'only' which rows are meant."
                    self.bad_row(origin.problem(message, columns[0], hint))
        return others

    def _alone(
        self, join: Join, others: Mapping[tuple[str, ...], Located], origin: Origin, cells: Mapping[str, Cell]
    ) -> None:
        """Note that no row has what the one at ``origin`` is put together by."""
        columns = tuple(join.pairs)
        key = _key(cells, columns)
        within = join.within(self.mapping)
        message = f"no {'other ' * within}row of {join.table} has {' '.join(key)!r}"
        if within:
            message += " in common with this one: it is not joined"
            self.oddities.append(origin.finding("note", message, columns[0]))
        elif others or not self.problems:  # else the other table could not be read, and that is the problem
            hint = nearest(" ".join(key), [" ".join(known) for known in others])
            self.bad_row(origin.problem(f"{message}.", columns[0], hint))

    def _tables(self, names: Sequence[str], needed: Mapping[str, str]) -> Iterator[TextTable]:
        """Yield the tables that hold every column of ``needed`` (by its field); what is wrong with others is noted."""
        for name in names:
            files = files_named(self.folder, name)
            if not files:
                hint = "See 'table' in the mapping."
                self.problems.append(DataError(f"holds no file {name}.", path=self.folder, hint=hint))
            for file in files:
                if file.suffix.lower() not in KINDS_OF_FILES:
                    self.problems.append(unknown_kind(file))
                    continue
                if file not in self.tables:
                    self.tables[file] = self._table(file)
                wanted = [
                    (name, name_in_pattern)
                    for name, column in needed.items()
                    for name_in_pattern in _PART.findall(column) or [column]
                ]
                table, oddities = named_alike(self.tables[file], [name_in_pattern for _, name_in_pattern in wanted])
                self.oddities += oddities
                table = _with_texts(
                    self._with_paths(table, [name_in_pattern for _, name_in_pattern in wanted]), needed.values()
                )
                missing = [each for each in wanted if table.header and each[1] not in table.header]
                for field_name, column in missing:
                    self.problems.append(_missing(file, field_name, column, table.header))
                if not missing:
                    yield table

    def _table(self, file: Path) -> TextTable:
        """Read a table, with a column for each part that the mapping takes from others."""
        wide = self.mapping.unpivot.columns if self.mapping.unpivot else []
        read = _with_header_alone(file) if self.headers_only else read_records(file)
        table, oddities = named_alike(read, (*self.mapping.parts, *wide))
        self.oddities += remarks_on(table)
        for problem in table.problems:
            if isinstance(problem, RowError):  # else more is lost than a row, as where a file is cut off
                self.bad_row(problem)
            else:
                self.problems.append(problem)
        self.oddities += oddities
        if FILE in self.mapping.parts:
            name = file.relative_to(self.folder).as_posix()
            records = [Record(row, {**cells, FILE: name}) for row, cells in table.records]
            table = table._replace(header=(*table.header, FILE), records=records)
        for column, form in self.mapping.parts.items():
            if column not in table.header:
                continue
            records = []
            for row, cells in table.records:
                cell = str(cells.get(column, "")).strip()
                parts = parts_of(cell, form)
                if parts is None:
                    message = f"{cell!r} is not of the form {form!r}."
                    hint = "Change 'parts' in the mapping, or the cell."
                    self.bad_row(Origin(file, row).problem(message, column, hint))
                else:
                    records.append(record((row, {**cells, **parts})))
            names = re.findall(r"\{(\w+)\}", form)
            table = table._replace(header=(*table.header, *names), records=records)
        return self._long(self._in_turn(table))

    def _in_turn(self, table: TextTable) -> TextTable:
        """Return a table with the column whose words its rows take in turn, if the mapping has one."""
        cycle = self.mapping.cycle
        if cycle is None or cycle.of not in table.header:
            return table
        words = itertools.cycle(cycle.words)
        records = []
        for row, cells in table.records:
            filled = bool(str(cells.get(cycle.of) or "").strip())
            records.append(Record(row, {**cells, cycle.name: next(words) if filled else ""}))
        return table._replace(header=(*table.header, cycle.name), records=records)

    def _long(self, table: TextTable) -> TextTable:
        """Return a wide table with a row for each filled cell of the columns that the mapping says, if it has any."""
        wide = self.mapping.unpivot
        main = any(table.path.match(name) for name in self.mapping.tables)
        if wide is None or not (main or set(wide.columns) & set(table.header)):
            return table
        header = Origin(table.path, 1)
        columns = [name for name in table.header if name not in wide.columns]
        missing = [column for column in wide.columns if column not in table.header]
        self.problems += [header.problem("is missing.", name, nearest(name, table.header)) for name in missing]
        twice = [name for name in (wide.name, wide.value) if name in columns]
        hint = "Give 'name' and 'value' of 'unpivot' names that no column has."
        self.problems += [header.problem("is a column of the table already.", name, hint) for name in twice]
        records = []
        for row, cells in table.records:
            others = {name: cells[name] for name in columns if name in cells}
            for column in wide.columns:
                if str(cells.get(column) or "").strip():
                    records.append(Record(row, {**others, wide.name: column, wide.value: cells[column]}))
        return table._replace(header=(*columns, wide.name, wide.value), records=records)

    def _with_paths(self, table: TextTable, columns: Iterable[str]) -> TextTable:
        """Return a table with a column for each path into JSON among ``columns`` (see :mod:`.paths`)."""
        paths = {path: column_of(path) for path in columns if path not in table.header}
        for path, column in paths.items():
            if column not in table.header:
                continue
            records = []
            for row, cells in table.records:
                cell = cell_at(path, cells.get(column, ""))
                if cell is None:
                    hint = f"The mapping takes {path} from it: a text, or a list of texts."
                    self.bad_row(Origin(table.path, row).problem("holds no JSON of that form.", column, hint))
                    continue
                records.append(record((row, {**cells, path: cell})))
            table = table._replace(header=(*table.header, path), records=records)
        return table


def unknown_kind(file: Path) -> DataError:
    """Return the error for a table that a mapping cannot name."""
    return DataError("is of an unknown kind.", path=file, hint=f"Available: {', '.join(KINDS_OF_FILES)}.")


def layout_problems(mapping: ColumnMapping, folder: Path) -> list[DataError]:
    """Return what the tables in ``folder`` lack of the files and columns that a mapping names, by their headers."""
    reading = FolderReading(mapping, folder, headers_only=True)
    list(reading.rows())
    return reading.problems


def _with_header_alone(file: Path) -> TextTable:
    """Return a table without its rows; of Parquet and of text with separators no more than the header is read."""
    header = peek_header(file)
    return TextTable(file, header, [], []) if header else read_records(file)._replace(records=[])


def _missing(file: Path, field_name: str, column: str, header: Sequence[str]) -> DataError:
    """Return the problem that a table lacks the column of a field, or that the mapping does not name it yet."""
    if column == UNKNOWN:
        hint = f"In the mapping, write the name of the column in place of {UNKNOWN}: {', '.join(header)}."
        return Origin(file, 1).problem(f"no column is named yet that holds {field_name!r}.", hint=hint)
    hint = f"The mapping takes {field_name!r} from it. {nearest(column, header)}"
    return Origin(file, 1).problem("is missing.", column, hint)


def files_named(folder: Path, name: str) -> list[Path]:
    """Return the files that a mapping names so; one without "*" need not be there."""
    return sorted(path for path in folder.glob(name) if path.is_file()) if "*" in name else [folder / name]


def _with_texts(table: TextTable, columns: Iterable[str]) -> TextTable:
    """Return a table with a column for each text among ``columns`` that is made of others: "{title}: {body}"."""
    for text in columns:
        names = set(_PART.findall(text))
        if names and names <= set(table.header):
            records = [Record(row, {**cells, text: _filled(text, cells)}) for row, cells in table.records]
            table = table._replace(header=(*table.header, text), records=records)
    return table


def _filled(text: str, cells: Mapping[str, Cell]) -> str:
    """The text with the columns' cells in it; "" where these are all empty."""
    texts = {name: cell if isinstance(cell, str) else "; ".join(cell) for name, cell in cells.items()}
    if not any(texts.get(name, "").strip() for name in _PART.findall(text)):
        return ""
    return _PART.sub(lambda match: texts.get(match[1], ""), text)


def parts_of(cell: str, form: str) -> dict[str, str] | None:
    """Return the parts of a cell of a form such as "{locale}_{number}", none empty; None where it has another form.

    Each part ends where the sign after it first stands, so one look at the cell is enough.
    """
    first, last, ended, last_name = _pieces(form)
    if not (cell.startswith(first) and cell.endswith(last)):
        return None
    start, stop, found_names = len(first), len(cell) - len(last), {}
    for name, sign in ended:
        end = cell.find(sign, start + 1, stop)
        if end < 0:
            return None
        found_names[name] = cell[start:end]
        start = end + len(sign)
    found_names[last_name] = cell[start:stop]
    return found_names if start < stop else None


@cache
def _pieces(form: str) -> tuple[str, str, list[tuple[str, str]], str]:
    """Return what a form begins and ends with, each name with the sign after it, and the name at the end."""
    first, *pieces, last = re.split(r"\{(\w+)\}", form)
    return first, last, list(zip(pieces[:-1:2], pieces[1::2], strict=True)), pieces[-1]


def _wanted_rows(table: TextTable, only: Only) -> list[Located]:
    """The rows of a table whose cells are among those the mapping names."""
    if not only:
        path = table.path
        return [(origin_at((path, row)), cells) for row, cells in table.records]
    return [(Origin(table.path, row), cells) for row, cells in table.records if _is_wanted(cells, only)]


def _is_wanted(cells: Mapping[str, Cell], only: Only) -> bool:
    """Whether a row's cells are among those the mapping names; "!x" is all but x."""
    for column, words in only.items():
        listed = [words] if isinstance(words, str) else words
        cell = str(cells.get(column, "")).strip()
        wanted = [word for word in listed if not word.startswith("!")]
        if f"!{cell}" in listed or (wanted and cell not in wanted):
            return False
    return True


def _key(cells: Mapping[str, Cell], columns: Sequence[str]) -> tuple[str, ...]:
    return tuple([str(cells.get(name, "")).strip() for name in columns])

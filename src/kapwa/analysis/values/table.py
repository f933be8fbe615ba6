"""Survey tables of cultural values: a row for each country and a column for each question; or one row an answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import read_text
from kapwa.languages.places import Ambiguous, Place, country_at_start, fold, is_code
from kapwa.languages.places import resolve as resolve_name
from kapwa.tables import Record, read_records, separator_of, words_for

# Headers of columns that name the row, as `fold` writes them: the first of them decides, the others resolve
# ambiguities. Names come before codes: people can read names, and codes may be from another list.
_DEMONYMS = words_for("demonym")
_CODES = words_for("place code")
_LABELS = (*words_for("place"), *_DEMONYMS, *_CODES)
_OTHER_LABELS = words_for("group name")
_LONG_QUESTIONS = words_for("value question")
_LONG_VALUES = words_for("value")
_MISSING = frozenset(
    ("", "#null!", "na", "n/a", "n.a.", "#n/a", "nan", "<na>", "null", "none", "missing", *"-.?—", "..", "--")
)
resolve = lru_cache(maxsize=8192)(resolve_name)


class ValuesColumns(NamedTuple):
    """The role of each column: ``labels`` name the row (the first decides), ``demonym`` has words for people."""

    labels: tuple[str, ...]
    demonym: str
    questions: tuple[str, ...]
    text: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()


class ValuesRow(NamedTuple):
    """One row: its line in the file, its labels, and the country they name.

    ``candidates``: the countries that an ambiguous label may mean. ``part_of``: the country to which the row seems to
    belong ("Belgium French"); such a row has no ``place``. ``conflict``: another country in another column, "" if none.
    """

    number: int
    labels: tuple[str, ...]
    demonym: str
    place: Place | None
    candidates: tuple[Place, ...] = ()
    part_of: Place | None = None
    conflict: str = ""

    @property
    def country(self) -> str:
        """The row's name in the table: a word rather than a code."""
        return next((label for label in self.labels if label and not is_code(label)), self.labels[0])


@dataclass(frozen=True, eq=False, slots=True)
class ValuesTable:
    """A survey table: ``matrix`` is float64, rows × questions, NaN where there is no value."""

    name: str
    path: Path
    rows: tuple[ValuesRow, ...]
    questions: tuple[str, ...]
    matrix: NDArray[np.float64]
    columns: ValuesColumns


def read_values(path: str | Path, *, country: str | None = None) -> ValuesTable:
    """Read a survey table: CSV, TSV, JSON lines, XLSX or Parquet, wide or long.

    Rows are named by columns with headers such as "country", "nationality" and "iso3", or by ``country`` alone. Other
    columns of numbers are questions; with columns "question" and "value" each row is one answer. Empty cells and
    cells such as "#NULL!" and "NA" are missing; a comma is the decimal sign where semicolons separate cells.
    Raises DataError naming file, row and column, UsageError when there is no column ``country``.
    """
    table, problems = scan_values(path, country=country)
    if table is None or problems:
        raise problems[0]
    return table


def scan_values(path: str | Path, *, country: str | None = None) -> tuple[ValuesTable | None, list[DataError]]:
    """Read a survey table as far as possible; problems are returned, not raised."""
    path = Path(path)
    source = read_records(path)
    problems = list(source.problems)
    if not source.records:
        return None, problems
    decimal_comma = path.suffix.lower() in (".csv", ".txt") and separator_of(read_text(path), path.suffix) == ";"
    cells = {name: [cell_text(record, name) for record in source.records] for name in source.header}
    try:
        columns, numbers = _find_columns(path, cells, country), [record.row for record in source.records]
    except DataError as error:
        return None, [*problems, error]
    matrix = np.full((len(numbers), len(columns.questions)), np.nan)
    for j, question in enumerate(columns.questions):
        for i, cell in enumerate(cells[question]):
            if not is_missing(cell):
                value = number_of(cell, decimal_comma=decimal_comma)
                matrix[i, j] = math.nan if value is None else value
                if value is None:
                    problems.append(not_a_number(path, numbers[i], question, cell))
    if not columns.questions:
        hint = "Beside the column of countries there must be one with numbers."
        problems.append(DataError("has no column of numbers.", path=path, row=1, hint=hint))
    demonyms = cells.get(columns.demonym, [""] * len(numbers))
    labels = [[cell.strip() for cell in cells[name]] for name in columns.labels]
    rows = [_row(*row) for row in zip(numbers, zip(*labels, strict=True), map(str.strip, demonyms), strict=True)]
    questions = columns.questions
    headers = {fold(name): name for name in cells}
    item, value_column = (next(filter(None, map(headers.get, names)), "") for names in (_LONG_QUESTIONS, _LONG_VALUES))
    if item in columns.text and value_column in questions:
        rows, questions, matrix = _widened(rows, cells[item], matrix[:, questions.index(value_column)])
        columns = ValuesColumns(columns.labels, columns.demonym, questions)
    return ValuesTable(path.stem, path, tuple(_with_regions_settled(rows)), questions, matrix, columns), problems


def cell_text(record: Record, column: str) -> str:
    """Return a cell as one text; a list is never a value, so its items are joined."""
    cell = record.cells.get(column, "")
    return cell if isinstance(cell, str) else " | ".join(cell)


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value: empty, "#NULL!", "NA", "..", "-" and similar ones."""
    # A short cut, since nearly every cell begins with a digit, and tables of respondents have millions of cells.
    return not cell[:1].isdigit() and cell.strip().casefold() in _MISSING


def number_of(cell: str, *, decimal_comma: bool = False) -> float | None:
    """Return the number in ``cell``, None when it is not a finite one; separators of thousands are not accepted."""
    text = cell.strip().replace("−", "-")
    try:
        value = float(text.replace(",", ".", 1) if decimal_comma else text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


def not_a_number(path: Path, row: int, column: str, cell: str) -> DataError:
    """Return the error for a cell that is not a number."""
    hint = "Write 1234.5, or leave the cell empty where there is no value."
    return DataError(f"{cell!r} is not a number.", path=path, row=row, column=column, hint=hint)


def _find_columns(path: Path, cells: dict[str, list[str]], country: str | None) -> ValuesColumns:
    if country is not None and country not in cells:
        raise UsageError(f"{path} has no column {country!r}.", hint=nearest(country, cells))
    known = {name: [cell.strip() for cell in column if not is_missing(cell)] for name, column in cells.items()}
    headers = {fold(name): name for name in reversed(cells)}
    named = [headers[name] for name in _LABELS if name in headers]
    # A column "code" may have codes of parties: codes of countries have two or three letters or digits.
    named = [name for name in named if known[name] and (fold(name) not in _CODES or all(map(is_code, known[name])))]
    labels = named or [headers[name] for name in _OTHER_LABELS if name in headers][:1]
    labels = labels if country is None else [country]
    if not labels:
        shown = ", ".join(map(repr, list(cells)[:8])) + (", …" if len(cells) > 8 else "")
        hint = f"Columns: {shown}. Say which one names the row with --country-column."
        raise DataError("has no column of countries, nationalities or ISO codes.", path=path, row=1, hint=hint)
    rest = [name for name in cells if name not in (*labels, *named)]
    empty = [name for name in rest if not known[name]]
    numeric = {name: sum(number_of(cell, decimal_comma=True) is not None for cell in known[name]) for name in rest}
    text = [name for name in rest if 2 * numeric[name] < len(known[name])]
    demonym = next((headers[name] for name in _DEMONYMS if headers.get(name) in named), "")
    questions = tuple(name for name in rest if name not in text and name not in empty)
    return ValuesColumns(tuple(labels), demonym, questions, tuple(text), tuple(empty))


def _row(number: int, labels: tuple[str, ...], demonym: str) -> ValuesRow:
    """Use the first label that names countries; the other labels resolve an ambiguous one."""
    places = [_candidates(resolve(label)) for label in labels]
    left = next(filter(None, places), frozenset())
    for more in places:
        left = left & more or left
    unknown = (label for label, candidates in zip(labels, places, strict=True) if not candidates)
    region_of = next(filter(None, map(country_at_start, unknown)), None)
    if len(left) != 1:
        return ValuesRow(number, labels, demonym, None, tuple(sorted(left, key=lambda place: place.iso3)), region_of)
    others = [label for label, other in zip(labels, places, strict=True) if other and not left & other]
    return ValuesRow(number, labels, demonym, next(iter(left)), part_of=region_of, conflict=", ".join(others))


def _candidates(place: Place | Ambiguous | None) -> frozenset[Place]:
    if isinstance(place, Ambiguous):
        return frozenset(place.candidates)
    return frozenset(() if place is None else (place,))


def _with_regions_settled(rows: Sequence[ValuesRow]) -> Iterator[ValuesRow]:
    """Resolve rows with a region in words and the whole country in a code ("Belgium French", BEL).

    If another row is the whole country, such a row is a region; if none is, its words are a longer name of the country.
    """
    whole = {row.place for row in rows if row.place and not row.part_of}
    for row in rows:
        if row.part_of and row.place in whole:
            yield row._replace(place=None, conflict="")
        else:
            yield row._replace(part_of=None) if row.place or row.candidates else row


def _widened(
    rows: Sequence[ValuesRow], items: Sequence[str], values: NDArray[np.float64]
) -> tuple[list[ValuesRow], tuple[str, ...], NDArray[np.float64]]:
    """Turn a long table (one row an answer) into one row a country; several answers to one question are averaged."""
    labels, questions = dict.fromkeys(row.labels for row in rows), tuple(dict.fromkeys(items))
    positions = {label: i for i, label in enumerate(labels)}, {question: j for j, question in enumerate(questions)}
    sums, counts = np.zeros((2, len(labels), len(questions)))
    for row, item, value in zip(rows, items, values, strict=True):
        if not math.isnan(value):
            at = positions[0][row.labels], positions[1][item]
            sums[at] += value
            counts[at] += 1
    first = {row.labels: row for row in reversed(rows)}
    matrix = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return [first[label] for label in labels], questions, matrix

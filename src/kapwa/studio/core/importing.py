"""Items that people bring in tables of their own, releases, or files of the forms' authors: read, shown, taken in.

A form says by an :class:`ItemTables` which tables it has and how a row is taken in; which column of a table is which is
guessed by :mod:`kapwa.datasets.columns`, and people correct that on the page of ``views/importing.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from django.db import transaction
from django.utils.translation import gettext as _

from kapwa.datasets.canary import COLUMN
from kapwa.datasets.card import CARD_NAME
from kapwa.datasets.columns import FormColumn, guess, laid_out, text_of
from kapwa.datasets.packs import DataSet, children, choice_of_packs, locate, table_files
from kapwa.errors import DataError, KapwaError, raise_first
from kapwa.studio.core.gate import MOST_RECORDS
from kapwa.studio.core.interface import speaking, spoken
from kapwa.studio.core.log import lock_project, single_writer
from kapwa.studio.core.tables import Project
from kapwa.tables import TABLE_SUFFIXES, Record, TextTable, read_records

# Columns of the suites' forms that change what models are asked, or how they are judged, and that no page here shows:
# conversations before a question, pictures and recordings, items that are scored together.
UNKEPT = ("messages", "media", "group", "step")


class SoundRow(NamedTuple):
    """A row that can be taken in: its number in its table, what people are shown of it, and what the form takes."""

    number: int
    shown: Mapping[str, str]
    item: Any


class Rows(NamedTuple):
    """The sound rows of a table, and what is wrong with the others."""

    sound: Sequence[SoundRow]
    problems: Sequence[DataError]


class ItemTables(Protocol):
    """The tables of a form: the names of their ``roles``, who brings some, and where the suite's sample packs are.

    ``next_step``: what people do with what was taken in.
    """

    roles: tuple[str, ...]
    writers: frozenset[str]
    packs: Path
    next_step: str

    def columns(self, project: Project, role: str, header: Sequence[str] = ()) -> Sequence[FormColumn]:
        """Return the columns that a table of the role may have, and those of ``header`` that the form knows, too.

        The first of a column's words is its name in the language of the page.
        """

    def released(self, place: Path) -> Mapping[str, TextTable]:
        """Return the tables of files in a layout of the form's authors, in the form's columns; {} where it is none."""

    def read(self, project: Project, role: str, table: TextTable) -> Rows:
        """Return the rows of a table in the form's columns."""

    def take(self, project: Project, role: str, item: object, *, actor: str) -> bool:
        """Record an item and say whether it is new; raise KapwaError where that cannot be."""


class Brought(NamedTuple):
    """A table that somebody brought: which of the form's tables it is, and which column each of its columns is.

    ``usual``: what rows hold that do not say it themselves, as its card or somebody says.
    """

    role: str
    table: TextTable
    chosen: Mapping[str, str]
    usual: Mapping[str, str]


def sound_rows(rows: Iterable[Any], of: Callable[[Any], tuple[Mapping[str, str], Any]], problems: Any) -> Rows:
    """Return what ``of`` makes of each row, and for one of which it makes nothing the reason beside ``problems``."""
    sound, wrong = [], list(problems)
    for row in rows:
        try:
            sound.append(SoundRow(row.origin.row, *of(row)))
        except KapwaError as error:
            column = error.column if isinstance(error, DataError) else None
            wrong.append(row.origin.problem(error.message, column, error.hint))
    return Rows(sound, wrong)


def unkept(header: Iterable[str]) -> list[FormColumn]:
    """Return those of :data:`UNKEPT` that a table has, so that none of them is taken for another column."""
    names = {heading.strip().casefold() for heading in header}
    return [FormColumn(name, [name]) for name in UNKEPT if name in names]


def other_tables(place: Path, brought: Sequence[Brought]) -> list[str]:
    """Return the names of tables in a folder that are not taken in, such as answers."""
    read = {table.table.path for table in brought}
    files = [file for file in children(place) if file.suffix.lower() in TABLE_SUFFIXES] if place.is_dir() else []
    # Of files that the forms' authors released, several make a table.
    return [file.name for file in files if file not in read and file.name != CARD_NAME] if read & set(files) else []


def read_place(tables: ItemTables, project: Project, place: Path, role: str = "") -> list[Brought]:
    """Return the tables in a file or folder, each with a guess of what its columns are.

    ``role``: which of the form's tables one is whose name does not say it; "" for the one that its columns fit best.
    """
    read = list(tables.released(place).items())
    if not read:
        named = [file for name in tables.roles for file in table_files(place, name)[:1]]
        inside = [file for file in children(place) if file.name != CARD_NAME] if place.is_dir() else [place]
        files = named or [file for file in inside if file.suffix.lower() in TABLE_SUFFIXES]
        read = [(file.stem if file.stem in tables.roles else role, read_records(file)) for file in files]
    card = DataSet("", place).read_card(place if place.is_dir() else place.parent)
    brought = []
    for name, marked in read:
        table = _unmarked(marked)
        roles = [name] if name else tables.roles
        fits = {each: guessed(tables, project, each, table) for each in roles}
        best = max(fits, key=lambda each: len(set(fits[each].values())))
        brought.append(Brought(best, table, fits[best], card))
    return brought


def _unmarked(table: TextTable) -> TextTable:
    """Return a table without the mark of the release that it comes from; the next release has its own."""
    records = [
        Record(row, {name: cell for name, cell in cells.items() if name != COLUMN}) for row, cells in table.records
    ]
    return table._replace(header=tuple(name for name in table.header if name != COLUMN), records=records)


def guessed(tables: ItemTables, project: Project, role: str, table: TextTable) -> dict[str, str]:
    """Guess which columns a table's are, by what they are called in any language of the studio, as its workbooks."""
    columns = list(tables.columns(project, role, table.header))
    for tag in spoken(project):
        with speaking(tag, project):
            others = tables.columns(project, role, table.header)
            words = [str(other.words[0]) for other in others]
        columns = [column._replace(words=[*column.words, word]) for column, word in zip(columns, words, strict=True)]
    return guess(table, columns)


def rows_of(tables: ItemTables, project: Project, brought: Brought) -> Rows:
    """Return the rows that can be taken in, and what is wrong with others, in words of the table that was brought."""
    columns = tables.columns(project, brought.role, brought.table.header)
    usual = {column.name: column.usual for column in columns if column.usual is not None}
    usual |= {name: text for name, text in brought.usual.items() if name in usual and text}
    chosen = {*brought.chosen.values(), *(name for name, text in usual.items() if text)}
    if missing := [str(column.words[0]) for column in columns if column.needed and column.name not in chosen]:
        message = _("No column is chosen for: %(names)s.") % {"names": ", ".join(missing)}
        error = DataError(message, path=brought.table.path, row=1, hint=_("Choose which of your columns it is."))
        return Rows([], [*brought.table.problems, error])
    table = _without_unkept(laid_out(brought.table, brought.chosen, columns, usual))
    rows = tables.read(project, brought.role, table._replace(problems=[]))
    headings = {name: heading for heading, name in brought.chosen.items()}
    for problem in rows.problems:
        problem.column = headings.get(problem.column or "", problem.column)
    return Rows(rows.sound, sorted([*table.problems, *rows.problems], key=lambda problem: problem.row or 0))


def _without_unkept(table: TextTable) -> TextTable:
    """Return a table without the columns of :data:`UNKEPT`; a row that says something in one is a problem."""
    records, problems = [], list(table.problems)
    for number, cells in table.records:
        full = [name for name in UNKEPT if text_of(cells.get(name, "")) not in ("", "[]")]
        if full:
            message = "the studio has no place for this, so it would be lost."
            hint = "To import the texts alone, delete the column, or leave it out on the page “Import a table”."
            problems.append(DataError(message, path=table.path, row=number, column=full[0], hint=hint))
        else:
            records.append(Record(number, {name: cell for name, cell in cells.items() if name not in UNKEPT}))
    header = tuple(name for name in table.header if name not in UNKEPT)
    return table._replace(header=header, records=records, problems=problems)


class Taken(NamedTuple):
    """What became of some rows: how many are new, and what could not be taken in."""

    new: int
    refused: Sequence[DataError]


def take(tables: ItemTables, project: Project, role: str, rows: Rows, actor: str) -> Iterator[Taken]:
    """Take the sound rows in as ``actor``'s, or nobody's with ""; give what became of them.

    So many at a time that nobody waits long. What is sent twice counts once, as the project has it already then.
    """
    for first in range(0, len(rows.sound), MOST_RECORDS):
        new, refused = 0, list[DataError]()
        with single_writer(), transaction.atomic():
            lock_project(project)
            for row in rows.sound[first : first + MOST_RECORDS]:
                try:
                    with transaction.atomic():
                        new += tables.take(project, role, row.item, actor=actor)
                except KapwaError as error:
                    refused.append(DataError(error.message, row=row.number, hint=error.hint))
        yield Taken(new, refused)


def packs_of(tables: ItemTables) -> list[str]:
    """Return the names of the sample packs that come in whole: those without a folder for each task apart."""
    packs = [card.parent for card in sorted(tables.packs.glob(f"*/{CARD_NAME}"))]
    return [pack.name for pack in packs if not any(child.is_dir() for child in children(pack))]


def take_in(tables: ItemTables, project: Project, data: str | Path) -> tuple[int, list[str]]:
    """Take a file, folder or sample pack in as nobody's, or nothing where a row is wrong.

    ``data``: a path or ``sample:PACK``. Returns how many are new, and what was left out. Raises DataError for the first
    row that is wrong.
    """
    place = locate(str(data), tables.packs).path
    brought, new = read_place(tables, project, place), 0
    if not brought:
        hint = choice_of_packs(data, place, tables.roles[0])
        raise DataError(f"holds no {tables.roles[0]}.", path=place, hint=hint)
    with single_writer(), transaction.atomic():
        for table in brought:
            rows = rows_of(tables, project, table)
            taken = list(take(tables, project, table.role, rows, ""))
            # Of a table whose columns have any names, the command that checks data knows nothing.
            refused = [problem for part in taken for problem in part.refused]
            raise_first([*rows.problems, *refused], "the page “Import a table”")
            new += sum(part.new for part in taken)
    columns = [name for table in brought for name in table.table.header if name and name not in table.chosen]
    return new, [*columns, *other_tables(place, brought)]

"""Items that people bring in tables of their own, releases, or files of the forms' authors: read, shown, taken in.

A form says by an :class:`ItemTables` which tables it has and how a row is taken in; which column of a table is which is
guessed by :mod:`kapwa.datasets.columns`, and people correct that on the page of ``views/importing.py``.
"""

from __future__ import annotations

import uuid as uuids
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from django.db import transaction
from django.utils.translation import gettext as _

from kapwa.datasets.columns import Column, guess, laid_out
from kapwa.datasets.packs import DataSet, children, choice_of_packs, locate, table_files
from kapwa.datasets.tables import TABLE_SUFFIXES, Record, Table, read_records
from kapwa.errors import DataError, KapwaError, raise_first
from kapwa.studio.core.gate import MOST_RECORDS
from kapwa.studio.core.interface import speaking, spoken
from kapwa.studio.core.log import lock_project, single_writer
from kapwa.studio.core.tables import Project


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

    def columns(self, project: Project, role: str, header: Sequence[str] = ()) -> Sequence[Column]:
        """Return the columns that a table of the role may have, and those of ``header`` that the form knows, too."""

    def released(self, place: Path) -> Mapping[str, Table]:
        """Return the tables of files in a layout of the form's authors, in the form's columns; {} where it is none."""

    def read(self, project: Project, role: str, table: Table) -> Rows:
        """Return the rows of a table in the form's columns."""

    def take(self, project: Project, role: str, item: Any, *, actor: str, number: uuids.UUID) -> bool:
        """Record an item and say whether it is new; raise KapwaError where that cannot be."""


class Brought(NamedTuple):
    """A table that somebody brought, which of the form's tables it is, and which column each of its columns is."""

    role: str
    table: Table
    chosen: Mapping[str, str]


class Taken(NamedTuple):
    """How many rows were new, how many were here before, and what was wrong with the others."""

    new: int
    known: int
    problems: Sequence[DataError]


def sound_rows(rows: Iterable[Any], of: Callable[[Any], tuple[Mapping[str, str], Any]], problems: Any) -> Rows:
    """Return what ``of`` makes of each row, and for one of which it makes nothing the reason beside ``problems``."""
    sound, wrong = [], list(problems)
    for row in rows:
        try:
            sound.append(SoundRow(row.origin.row, *of(row)))
        except KapwaError as error:
            wrong.append(DataError(error.message, row=row.origin.row, hint=error.hint))
    return Rows(sound, wrong)


def read_place(tables: ItemTables, project: Project, place: Path, role: str = "") -> list[Brought]:
    """Return the tables in a file or folder; what a card says of culture and language stands in their rows.

    ``role``: which of the form's tables one is whose name does not say it; "" for the one that its columns fit best.
    """
    ready = dict(tables.released(place))
    if not ready and place.is_dir():
        card = DataSet("", place).read_card(place)
        named = {name: table_files(place, name) for name in tables.roles}
        ready = {name: _filled(read_records(files[0]), card) for name, files in named.items() if files}
    if ready:
        return [_brought(tables, project, table, name) for name, table in ready.items() if name in tables.roles]
    files = [place] if place.is_file() else [path for path in children(place) if path.suffix.lower() in TABLE_SUFFIXES]
    return [_brought(tables, project, read_records(path), role) for path in files]


def _filled(table: Table, card: Mapping[str, str]) -> Table:
    """Return a table whose rows say what the card says, where they do not say it themselves."""
    records = []
    for row, cells in table.records:
        records.append(Record(row, {**cells, **{name: cells.get(name) or text for name, text in card.items()}}))
    return table._replace(header=tuple({**dict.fromkeys(table.header), **card}), records=records)


def _brought(tables: ItemTables, project: Project, table: Table, role: str) -> Brought:
    named = table.path.stem if table.path.stem in tables.roles else role
    roles = [named] if named else tables.roles
    fits = {name: guess(table, _by_any_name(tables, project, name, table.header)) for name in roles}
    best = max(fits, key=lambda name: len(set(fits[name].values())))
    return Brought(best, table, fits[best])


def _by_any_name(tables: ItemTables, project: Project, role: str, header: Sequence[str]) -> list[Column]:
    """Return the columns with what they are called in every language of the studio, as its empty workbooks have it."""
    columns = list(tables.columns(project, role, header))
    for tag in spoken(project):
        with speaking(tag, project):
            translated = tables.columns(project, role, header)
            words = [[*column.words, *map(str, other.words)] for column, other in zip(columns, translated, strict=True)]
        columns = [column._replace(words=known) for column, known in zip(columns, words, strict=True)]
    return columns


def rows_of(tables: ItemTables, project: Project, brought: Brought, every: Mapping[str, str]) -> Rows:
    """Return the rows that can be taken in, and what is wrong with others, in words of the table that was brought.

    ``every``: what rows hold that do not say it themselves, in place of what is usual in the project.
    """
    columns = tables.columns(project, brought.role, brought.table.header)
    usual = {column.name: every.get(column.name) or column.usual for column in columns if column.usual is not None}
    there = {*brought.chosen.values(), *(name for name, text in usual.items() if text)}
    missing = [str(column.words[0]) for column in columns if column.needed and column.name not in there]
    if missing:
        message = _("No column is chosen for: %(names)s.") % {"names": ", ".join(missing)}
        hint = _("Choose which of your columns it is.")
        return Rows([], [*brought.table.problems, DataError(message, path=brought.table.path, row=1, hint=hint)])
    table = laid_out(brought.table, brought.chosen, columns, {name: text or "" for name, text in usual.items()})
    rows = tables.read(project, brought.role, table._replace(problems=[]))
    headings = {name: heading for heading, name in brought.chosen.items()}
    for problem in rows.problems:
        problem.column = headings.get(problem.column or "", problem.column)
    wrong = sorted([*table.problems, *rows.problems], key=lambda problem: problem.row or 0)
    return Rows(rows.sound, wrong)


def take(tables: ItemTables, project: Project, role: str, rows: Rows, *, actor: str, number: uuids.UUID) -> Taken:
    """Take the sound rows in as ``actor``'s, or nobody's with ""; so many at a time that nobody else waits long.

    ``number``: the form's, by which a form that is sent twice counts once. What cannot happen stops no other row.
    """
    new, refused = 0, list[DataError]()
    for first in range(0, len(rows.sound), MOST_RECORDS):
        with single_writer(), transaction.atomic():
            lock_project(project)
            for row in rows.sound[first : first + MOST_RECORDS]:
                own_number = uuids.uuid5(number, f"{role}/{row.number}")
                try:
                    with transaction.atomic():
                        new += tables.take(project, role, row.item, actor=actor, number=own_number)
                except KapwaError as error:
                    refused.append(DataError(error.message, row=row.number, hint=error.hint))
    return Taken(new, len(rows.sound) - new - len(refused), [*rows.problems, *refused])


def take_in(tables: ItemTables, project: Project, data: str | Path) -> str:
    """Take a file, folder or sample pack in as nobody's, or nothing where a row is wrong; return a sentence of it.

    ``data``: a path or ``sample:PACK``. Raises DataError for the first row that is wrong.
    """
    place = locate(str(data), tables.packs).path
    brought = read_place(tables, project, place)
    if not brought:
        hint = choice_of_packs(data, place, tables.roles[0])
        raise DataError(f"holds no {tables.roles[0]}.", path=place, hint=hint)
    new = 0
    with single_writer(), transaction.atomic():
        for table in brought:
            rows = rows_of(tables, project, table, {})
            raise_first(rows.problems)
            taken = take(tables, project, table.role, rows, actor="", number=uuids.uuid4())
            raise_first(taken.problems)
            new += taken.new
    return f"{new} new. {tables.next_step}"

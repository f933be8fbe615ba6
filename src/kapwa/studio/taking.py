"""Taking in what was filled in elsewhere: our workbooks, submissions of ODK Collect as CSV, outboxes of phones.

A workbook or CSV file is taken in whole or not at all, as it can be mended; of an outbox each record stands alone.
"""

from __future__ import annotations

import json
import re
import uuid as uuids
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from django.db import transaction

from kapwa.errors import DataError, KapwaError
from kapwa.files import sibling_hint
from kapwa.studio.desks import Field, FieldError, Option, deliver, desk_of, task_of
from kapwa.studio.devices import take, token_of
from kapwa.studio.events import ConflictError, record, writing
from kapwa.studio.models import Event, Membership, Project
from kapwa.studio.security import agreed
from kapwa.studio.sheets import BINDING, BUTTON, name_in, named
from kapwa.tables_io import read_sheet, read_table

MOST_BYTES = 5_000_000
_MOST_UNPACKED = 20_000_000
_ROWS = uuids.UUID("6b0f8d1e-93b4-4c53-8a55-1c1f8f5f2a10")
# Collect's names of a task's fields, with or without the groups they stand in.
_OURS = re.compile(r"(?:^|[-/:.])t(\d+)_(\w+)$")
_PARTED = re.compile(r"[\s,;،؛、，]+")


class Taken(NamedTuple):
    """How many answers are new, how many were here before, and what was not taken, in people's words."""

    new: int
    known: int
    refused: list[str]


class _Given(NamedTuple):
    """A task as a file has it filled in; ``cells``: by the name of the field, its column and what stands there."""

    row: int
    bound: dict[str, str]
    cells: dict[str, tuple[str, str]]


def take_in(project: Project, path: Path, *, only: Membership | None = None, by: str = "") -> Taken:
    """Record what a file holds, each answer as that of the person to whom its task was given.

    ``only``: the one member whose answers may be in it; None takes everybody's. ``by``: the author who brings it, which
    the log keeps beside the answers, as files can be filled in by anybody. What was taken in before counts once.
    Raises DataError naming file, row and column where a file or its first wrong row cannot be taken; then nothing of
    it is recorded.
    """
    if not path.is_file():
        raise DataError("no such file.", path=path, hint=sibling_hint(path))
    refuse_large(path)
    # Nobody else waits while the file is read, which may take long: a small file may unpack to a large one.
    given = _records(path) if path.suffix.lower() == ".json" else list(_given(path))
    answers = Event.objects.filter(project=project).exclude(kind="record.conflicting")
    with writing(), transaction.atomic():
        people = {
            token_of(one.person): one
            for one in Membership.objects.filter(project=project, left=None).select_related("person", "project")
            if one.person is not None and (only is None or one.pk == only.pk)
        }
        before = answers.count()
        if path.suffix.lower() == ".json":
            count, refused = _outbox(path, given, people)
        else:
            count, refused = _rows(path, given, people), []
        new = answers.count() - before
        if by and new:
            record(project, "work.brought", {"new": new}, actor=by)
    return Taken(new, count - new, refused)


def refuse_large(path: Path) -> None:
    """Raise DataError for a file that takes long to read, as a small workbook does that unpacks to a large one."""
    if path.stat().st_size > MOST_BYTES:
        raise DataError(f"has more than {MOST_BYTES:,} bytes.", path=path, hint="Split it.")
    if path.suffix.lower() == ".xlsx" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if sum(one.file_size for one in archive.infolist()) > _MOST_UNPACKED:
                raise DataError("is too large.", path=path, hint="Split it.")


def _records(path: Path) -> list[Any]:
    try:
        found = json.loads(path.read_bytes())
        records = found["records"] if found["kapwa"] == "outbox" else None
    except (ValueError, RecursionError, LookupError, TypeError):
        records = None
    if not isinstance(records, list):
        raise DataError("holds no answers of a phone.", path=path, hint="Save them on the phone's page once more.")
    return records


def _outbox(path: Path, records: list[Any], people: Mapping[str, Membership]) -> tuple[int, list[str]]:
    refused = []
    for number, one in enumerate(records, start=1):
        token = str(one.get("person")) if isinstance(one, dict) else ""
        if token not in people:
            refused.append(f"{path.name}, {number}: it was filled in by somebody whose answers you cannot bring.")
            continue
        answer = take(_agreed(people[token], path, number), people[token].person, one)
        if answer["status"] != 200:
            refused.append(f"{path.name}, {number}: {answer['message']}")
    return len(records) - len(refused), refused


def _rows(path: Path, rows: list[_Given], people: Mapping[str, Membership]) -> int:
    count = 0
    for given in rows:
        filled = {name: cell for name, cell in given.cells.items() if cell[1]}
        if not filled:
            continue
        member = people.get(given.bound["person"])
        if member is None:
            message = "was given to somebody whose answers you cannot bring, or who left."
            raise DataError(message, path=path, row=given.row, column="person", hint="Let them bring it themselves.")
        _deliver(_agreed(member, path, given.row), given, filled, path)
        count += 1
    if not count:
        raise DataError("nothing is filled in.", path=path)
    return count


def _given(path: Path) -> Iterator[_Given]:
    """Return each task of a file with what is filled in; of a workbook's row there is one, of a submission several."""
    rows = read_table(path)
    header = list(rows[0].cells)
    if set(BINDING) <= set(header):
        for row in read_sheet(path):
            cells = {
                name_in(heading): (heading, text.strip()) for heading, text in row.cells.items() if name_in(heading)
            }
            yield _Given(row.number, {name: row.cells[name].strip() for name in BINDING}, cells)
        return
    found = {heading: _OURS.search(heading) for heading in header}
    keys = sorted({int(one[1]) for one in found.values() if one})
    person = next((heading for heading in header if re.search(r"(^|[-/:.])person$", heading)), None)
    if not keys or person is None:
        hint = "Bring a workbook of the studio, submissions of its form for ODK Collect, or the file of a phone."
        raise DataError("is no file of work from the studio.", path=path, row=1, hint=hint)
    for row in rows:
        for key in keys:
            own = {
                one[2]: (heading, row.cells[heading].strip())
                for heading, one in found.items()
                if one and int(one[1]) == key
            }
            bound = {name: own.pop(name, ("", ""))[1] for name in BINDING if name != "person"}
            yield _Given(row.number, {**bound, "person": row.cells[person].strip()}, own)


def _agreed(member: Membership, path: Path, row: int) -> Membership:
    if not agreed(member):
        raise DataError("they have not agreed to the present text of consent.", path=path, row=row, column="person")
    return member


def _deliver(member: Membership, given: _Given, filled: Mapping[str, tuple[str, str]], path: Path) -> None:
    """Deliver a row; what is wrong with it is said with its place."""
    desk, subject, seen = (given.bound[name] for name in ("desk", "subject", "seen"))
    # With the project's secret: nobody else can take the number first.
    own = uuids.uuid5(_ROWS, json.dumps([member.project.salt, member.author, desk, subject, seen]))
    column: str | None = None
    try:
        task = task_of(member, desk_of(member, desk), subject, seen)
        values: dict[str, Any] = {}
        for field in (Field(BUTTON, BUTTON, "choice", task.buttons), *task.fields):
            column, text = filled.get(field.name, (named(field), ""))
            values[field.name] = _read(field, text)
        column = None
        # Who wrote an answer, and no number for how they finished, finished the first way.
        values[BUTTON] = "".join(values[BUTTON]) or (task.buttons[0].value if task.buttons else "")
        deliver(member.project, member, desk, subject=subject, seen=seen, values=values, uuid=own)
    except FieldError as error:
        column = given.cells.get(error.field or BUTTON, (error.field or BUTTON, ""))[0]
        raise DataError(error.summary, path=path, row=given.row, column=column, hint=error.hint) from None
    except ConflictError:
        hint = "The first answer stands. Delete this row to bring the others."
        raise DataError("was brought before with another content.", path=path, row=given.row, hint=hint) from None
    except KapwaError as error:
        raise DataError(error.summary, path=path, row=given.row, column=column, hint=error.hint) from None


def _read(field: Field, text: str) -> str | list[str]:
    """Return a cell as values of the field; choices are numbers from 1, or the values themselves."""
    if field.kind in ("text", "long"):
        return text
    parts = _PARTED.split(text) if field.kind == "many" else [text]
    return [_choice(field.options, part) for part in parts if part]


def _choice(options: tuple[Option, ...], text: str) -> str:
    number = text.removesuffix(".0")  # spreadsheets make numbers of what is typed
    if number.isdecimal() and 1 <= int(number) <= len(options):
        return options[int(number) - 1].value
    return text

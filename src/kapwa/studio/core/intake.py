"""Taking in what was filled in elsewhere: by phones without a network, in workbooks, and with ODK Collect.

Whatever it comes in, a task that was filled in is a record that names the person to whom the task was given; it is
counted once, is never taken as another's, and stands alone: one that is refused stops no other.
"""

from __future__ import annotations

import json
import logging
import re
import uuid as uuids
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from pydantic import AwareDatetime, BaseModel, ValidationError, field_validator

from kapwa.errors import DataError, KapwaError
from kapwa.studio.core.desks import BUTTON, DeskTask, deliver, filled_in, task_of
from kapwa.studio.core.gate import MOST, MOST_RECORDS, WORK, admit
from kapwa.studio.core.log import ConflictError, lock_project, record, single_writer
from kapwa.studio.core.posted import HERE
from kapwa.studio.core.security import agreed
from kapwa.studio.core.tables import Event, Membership, Person, Project
from kapwa.studio.core.text import listed
from kapwa.tables import read_sheet
from kapwa.value_types import Cells, JsonObject, Keywords

_ROWS = uuids.UUID("6b0f8d1e-93b4-4c53-8a55-1c1f8f5f2a10")
_CONFLICTING = uuids.UUID("2d1f0a3e-7b0c-4f57-9d0e-5a3a1f5b8c11")
# The name in a heading: "Your answer [text]" of a workbook, "t1_text" of a form for Collect, which puts groups before.
_OURS = re.compile(r"(?:\[|(?:^|[-/:.])t(\d+)_)(\w+)\]?$")
_BINDING = ("desk", "subject", "seen", "person")
_REFUSED = listed("why work is refused")  # by the status of the record


class IntakeRecord(BaseModel):
    """A task that somebody filled in: who, which task as it was shown, what, and when by their device."""

    uuid: uuids.UUID
    person: str
    desk: str
    subject: str
    seen: str
    values: dict[str, str]
    device_time: AwareDatetime | None = None

    @field_validator("device_time", mode="wrap")
    @classmethod
    def _readable(cls, sent: object, read: Callable[[Any], datetime | None]) -> datetime | None:
        """Return None for what a strange clock says; what was filled in counts all the same."""
        try:
            time = read(sent)
            return time and time.astimezone(UTC)
        except (ValueError, OverflowError):  # the last hour of the year 9999 is none in UTC
            return None


class Outcome(NamedTuple):
    """How many answers are new, how many were here before, and what was not taken, in people's words."""

    new: int
    known: int
    refused: list[str]


def token_of(person: uuids.UUID) -> str:
    """Return what stands for a person, by their id, on devices; it differs from studio to studio, and opens nothing."""
    return salted_hmac("kapwa.here", str(person), algorithm="sha256").hexdigest()[:20]


def device_of(request: HttpRequest) -> str:
    """Return what stands for the device that asks, as long as somebody's visit on it lasts."""
    return salted_hmac("kapwa.device", request.session.session_key or "", algorithm="sha256").hexdigest()[:20]


def binding(member: Membership, task: DeskTask) -> str:
    """Return what binds a task to its person wherever it is taken along."""
    return " ".join((task.desk, task.subject, task.seen, token_of(member.person_id)))


class PresenceCookie:
    """Keep a cookie that says who is here, for pages that work without a network; gone when the visit ends."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer ``request``, and set or delete the cookie where it is not right."""
        answer = self.get_response(request)
        token = token_of(request.user.pk) if isinstance(request.user, Person) else ""
        if token and request.COOKIES.get(HERE) != token:
            secure = settings.SESSION_COOKIE_SECURE
            answer.set_cookie(HERE, token, max_age=settings.SESSION_COOKIE_AGE, samesite="Lax", secure=secure)
        elif not token and HERE in request.COOKIES:
            answer.delete_cookie(HERE, samesite="Lax")
        return answer


def take(members: Mapping[str, Membership], sent: object) -> JsonObject:
    """Take a record as that of one of ``members``, by token, and answer for it: ``uuid``, ``status`` and ``message``.

    200: it is recorded, now or before. 403: somebody else filled it in; nothing is recorded. 409: its number is taken
    by another content; it is kept in the log as ``record.conflicting``, and the first stands. 422: it is refused.
    500: a fault of ours. To be called in a transaction, within ``log.single_writer``.
    """
    try:
        with transaction.atomic():
            status, message = _take(members, IntakeRecord.model_validate(sent))
    except ValidationError:
        hint = _("Save the answers to a file, and show it to whoever helps you.")
        status, message = 422, " ".join((_("This record is damaged."), hint))
    except KapwaError as error:
        status, message = 422, str(error)
    except (OperationalError, InterfaceError):
        raise  # the database is away: all is sent again later
    except Exception:
        logging.getLogger("django.request").exception("a record could not be taken")
        status, message = 500, _("This failed because of an error in the studio. Tell whoever runs the studio.")
    number = str(sent.get("uuid", "")) if isinstance(sent, dict) else ""
    return {"uuid": number, "status": status, "message": message}


def _take(members: Mapping[str, Membership], sent: IntakeRecord) -> tuple[int, str]:
    member = members.get(sent.person)
    if member is None:
        return 403, _("Somebody else filled this in. It will be sent when they sign in.")
    task = task_of(member, sent.desk, sent.subject, sent.seen)
    try:
        deliver(member, task, sent.values, uuid=sent.uuid, device_time=sent.device_time)
    except ConflictError as error:
        # With the names that the desk's own events have, by which an erasure finds what rests on others' words.
        body = filled_in(member, task, sent.values)[1] | {"desk": sent.desk, "uuid": str(sent.uuid)}
        once = uuids.uuid5(_CONFLICTING, json.dumps([member.author, sent.subject, body]))
        of: Keywords = {"actor": member.author, "subject": sent.subject, "device_time": sent.device_time}
        record(member.project, "record.conflicting", body, uuid=once, **of)
        return 409, str(error)
    return 200, ""


def take_in(project: Project, path: Path, *, only: Membership | None = None, by: str = "") -> Outcome:
    """Take in the records of a file: a workbook, a CSV of Collect's submissions, or what a phone saved (JSON).

    ``only``: the one member whose answers may be in it; None takes everybody's. ``by``: the author who brings it, which
    the log keeps beside the answers, as files can be filled in by anybody. Raises DataError for a file that is none of
    these; what is wrong with a record of it is said with its row, counted from 1.
    """
    # Nobody else waits while the file is read, nor longer than for a phone's records while they are taken in.
    admit(path, WORK)
    saved = path.suffix.lower() == ".json"
    records = list(enumerate(read_sent(path.read_bytes(), path).records, start=1)) if saved else _rows(project, path)
    if len(records) > MOST.rows:
        raise DataError(f"holds more than {MOST.rows:,} answers.", path=path, hint="Split it.")
    new, refused = 0, list[str]()
    for first in range(0, len(records), MOST_RECORDS):
        part = _take_part(project, records[first : first + MOST_RECORDS], only=only, by=by)
        new += part.new
        refused += (f"{path.name}, {line}" for line in part.refused)
    return Outcome(new, len(records) - len(refused) - new, refused)


def _take_part(project: Project, records: Sequence[tuple[int, object]], *, only: Membership | None, by: str) -> Outcome:
    """Take in as many records as a phone sends at once, each with its row, while others wait."""
    answers = Event.objects.filter(project=project).exclude(kind="record.conflicting")
    with single_writer(), transaction.atomic():
        lock_project(project)
        present = Membership.objects.filter(project=project, left=None, person__isnull=False)
        present = present.filter(pk=only.pk) if only else present
        members = {token_of(member.person_id): member for member in present.select_related("project") if agreed(member)}
        before, refused = answers.count(), []
        for row, sent in records:
            answer = take(members, sent)
            if answer["status"] != 200:
                why = _(_REFUSED.get(str(answer["status"]), "")) or answer["message"]
                refused.append(_("row %(row)s: %(why)s") % {"row": row, "why": why})
        new = answers.count() - before
        if by and new:
            record(project, "work.brought", {"new": new}, actor=by)
    return Outcome(new, len(records) - len(refused) - new, refused)


class Sent(BaseModel):
    """What a phone sends or saves: ``records``, and by desk the subjects of the tasks that it has, where it says so."""

    records: list[Any]
    held: dict[str, list[str]] | None = None


def read_sent(content: bytes, path: Path | None = None) -> Sent:
    """Return what a phone sent or saved; raise DataError for what is none."""
    try:
        return Sent.model_validate_json(content)
    except ValidationError:
        hint = "Save them on the phone's page once more."
        raise DataError("holds no answers of a phone.", path=path, hint=hint) from None


def _rows(project: Project, path: Path) -> list[tuple[int, Cells]]:
    """Return the tasks that are filled in; a row of a workbook has one, a submission of Collect several."""
    rows = read_sheet(path)
    ours = {heading: match.groups("") for heading in rows[0].cells if (match := _OURS.search(heading))}
    if "task" not in [name for _task, name in ours.values()]:
        hint = "Send a workbook of the studio, submissions of its form for ODK Collect, or the file of a phone."
        raise DataError("is not a file of work from the studio.", path=path, row=1, hint=hint)
    records = []
    for row in rows:
        tasks: dict[str, dict[str, str]] = {}
        for heading, (task, name) in ours.items():
            if text := row.cells[heading].strip():
                tasks.setdefault(task, {})[name] = text
        records += [(row.number, _record(project, filled)) for filled in tasks.values() if filled.keys() - {"task"}]
    return records


def _record(project: Project, filled: dict[str, str]) -> JsonObject:
    bound = filled.pop("task", "").split()
    # With the project's secret: nobody else can take the number first.
    number = uuids.uuid5(_ROWS, json.dumps([project.salt, *bound]))
    filled.setdefault(BUTTON, "1")  # who wrote an answer, and not how they finished, finished the first way
    return {"uuid": str(number), **dict(zip(_BINDING, bound, strict=False)), "values": filled}

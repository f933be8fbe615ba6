"""Devices that work without a network: batches of tasks to take along, and what was filled in, sent when there is one.

Who is here on a shared phone is told by a cookie that pages can read without a network (:class:`Here`); each record
names the person who filled it in, and is taken from that person's visit alone.
"""

from __future__ import annotations

import json
import logging
import uuid as uuids
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from kapwa.errors import KapwaError, UsageError
from kapwa.studio.desks import Desk, Task, checked, deliver, desk_of, device_time, task_of
from kapwa.studio.events import ConflictError, record
from kapwa.studio.languages import language
from kapwa.studio.models import Membership, Person

HERE = "kapwa_here"
MOST_TASKS = 50
MOST_BATCH = 100_000  # bytes, before they are compressed
MOST_RECORDS = 200
MOST_SENT = 1_000_000  # bytes of one request
_CONFLICTING = uuids.UUID("2d1f0a3e-7b0c-4f57-9d0e-5a3a1f5b8c11")


def token_of(person: Person) -> str:
    """Return what stands for a person on devices; it differs from studio to studio, and opens nothing."""
    return salted_hmac("kapwa.here", str(person.pk), algorithm="sha256").hexdigest()[:20]


class Here:
    """Keep a cookie that says who is here, for pages that work without a network; gone when the visit ends."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer ``request``, and set or delete the cookie where it is not right."""
        answer = self.get_response(request)
        token = token_of(request.user) if isinstance(request.user, Person) else ""
        if token and request.COOKIES.get(HERE) != token:
            secure = settings.SESSION_COOKIE_SECURE
            answer.set_cookie(HERE, token, max_age=settings.SESSION_COOKIE_AGE, samesite="Lax", secure=secure)
        elif not token and HERE in request.COOKIES:
            answer.delete_cookie(HERE, samesite="Lax")
        return answer


def packed(desk: Desk, tasks: Sequence[Task]) -> dict[str, Any]:
    """Return tasks as plain data of at most ``MOST_BATCH`` bytes; what several tasks share stands there once.

    Each task names its texts, fields and buttons by their places in the lists ``shown``, ``fields`` and ``buttons``.
    The last tasks are left out where they do not fit; one task is always there.
    """
    found = _packed(desk, tasks)
    while len(tasks) > 1 and len(as_json(found).encode()) > MOST_BATCH:
        tasks = tasks[: len(tasks) * 3 // 4]
        found = _packed(desk, tasks)
    return found


def _packed(desk: Desk, tasks: Sequence[Task]) -> dict[str, Any]:
    places: dict[str, dict[Any, int]] = {"shown": {}, "fields": {}, "buttons": {}}

    def place(kind: str, part: Any) -> int:
        return places[kind].setdefault(part, len(places[kind]))

    rows = [
        {
            "subject": task.subject,
            "seen": task.seen,
            "shown": [place("shown", one) for one in task.shown],
            "fields": [place("fields", one) for one in task.fields],
            "buttons": place("buttons", task.buttons),
        }
        for task in tasks
    ]
    parts: dict[str, list[Any]] = {
        "shown": [asdict(one) for one in places["shown"]],
        "fields": [asdict(one) for one in places["fields"]],
        "buttons": [[asdict(one) for one in buttons] for buttons in places["buttons"]],
    }
    tags = {one["language"] for one in (*parts["shown"], *parts["fields"])}
    tags |= {option["language"] for one in parts["fields"] for option in one["options"]}
    tags |= {option["language"] for buttons in parts["buttons"] for option in buttons}
    directions = {tag: language(tag).direction for tag in sorted(tags - {""})}
    return {"desk": desk.name, "title": str(desk.title()), "directions": directions, **parts, "tasks": rows}


def as_json(found: Any) -> str:
    """Return data as JSON without a letter too many, and without what a browser could take for a page."""
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"), default=str).replace("<", "\\u003c")


def read_records(body: bytes) -> list[Any]:
    """Return the records that a device sent; raise UsageError for what is no list of at most ``MOST_RECORDS``."""
    if len(body) > MOST_SENT:
        raise UsageError(f"More than {MOST_SENT:,} bytes came at once.", hint="Send fewer records at once.")
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise UsageError("What was sent is no JSON.") from None
    if not isinstance(found, dict) or not isinstance(found.get("records"), list):
        raise UsageError("What was sent is no list of records.")
    if len(found["records"]) > MOST_RECORDS:
        raise UsageError(f"More than {MOST_RECORDS} records came at once.", hint="Send fewer records at once.")
    return list(found["records"])


def take(member: Membership, person: Person, one: Any) -> dict[str, Any]:
    """Record what a device sent, and answer for it alone: its ``uuid``, a ``status``, and a ``message`` where refused.

    200: it is recorded, now or before. 403: somebody else filled it in; nothing is recorded. 409: its number is taken
    by another content; it is kept in the log as ``record.conflicting``, and the first stands. 422: it is refused.
    500: a fault of ours. To be called in a transaction, within ``events.writing``.
    """
    number = str(one.get("uuid", "")) if isinstance(one, dict) else ""
    try:
        given = _plain(one)
        if given["person"] != token_of(person):
            message = _("Somebody else filled this in. It is sent when they are here.")
            return {"uuid": number, "status": 403, "message": message}
        with transaction.atomic():
            _deliver(member, given)
    except ConflictError as error:
        _keep_both(member, given)
        return {"uuid": number, "status": 409, "message": str(error)}
    except KapwaError as error:
        return {"uuid": number, "status": 422, "message": str(error)}
    except (OperationalError, InterfaceError):
        raise  # the database is away: all is sent again later
    except Exception:
        logging.getLogger("django.request").exception("a record could not be taken")
        message = _("The studio made a mistake with this. Tell whoever runs it.")
        return {"uuid": number, "status": 500, "message": message}
    return {"uuid": number, "status": 200}


def _plain(one: Any) -> dict[str, Any]:
    """Return a record whose parts have the types they must have."""
    names = ("uuid", "person", "desk", "subject", "seen")
    texts = {name: one.get(name) for name in names} if isinstance(one, dict) else {}
    values = one.get("values") if texts else None
    whole = all(isinstance(text, str) and len(text) <= 200 for text in texts.values())
    if not whole or not isinstance(values, dict) or not all(_is_value(value) for value in values.values()):
        raise UsageError(_("This record is damaged."), hint=_("Export it to a file, and show it to whoever helps you."))
    try:
        number = uuids.UUID(texts["uuid"])
    except ValueError:
        raise UsageError(_("This record has no number."), hint=_("Fill the task in once more.")) from None
    return {**texts, "uuid": number, "values": values, "device_time": device_time(str(one.get("device_time", "")))}


def _is_value(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(text, str) for text in value))


def _deliver(member: Membership, given: Mapping[str, Any]) -> None:
    deliver(
        member.project,
        member,
        given["desk"],
        subject=given["subject"],
        seen=given["seen"],
        values=given["values"],
        uuid=given["uuid"],
        device_time=given["device_time"],
    )


def _keep_both(member: Membership, given: Mapping[str, Any]) -> None:
    """Keep what came under a number that was taken; the same sent again is kept once."""
    desk = desk_of(member, given["desk"])
    task = task_of(member, desk, given["subject"], given["seen"])
    # With the names that the desk's own events have, by which an erasure finds what rests on others' words.
    body = desk.body(member, task, checked(task, given["values"])) | {"desk": desk.name, "uuid": str(given["uuid"])}
    own = uuids.uuid5(_CONFLICTING, as_json([member.author, given["subject"], body]))
    record(
        member.project,
        "record.conflicting",
        body,
        actor=member.author,
        uuid=own,
        subject=given["subject"],
        device_time=given["device_time"],
    )

"""The log: every thing that people do is recorded once, in order, and applied to the current tables.

An event is never changed. Erasure alone (:mod:`kapwa.studio.core.erasure`) empties texts and authors, and the current
tables are then made anew from what is left, so that votes are counted again.
"""

from __future__ import annotations

import json
import threading
import uuid as uuids
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import datetime

from django.apps import apps
from django.db import connection, transaction
from django.utils.translation import gettext as _

from kapwa.errors import KapwaError
from kapwa.studio.core.kinds import KINDS, RefusedError
from kapwa.studio.core.tables import Current, Event, Membership, Project
from kapwa.value_types import JsonObject

# SQLite takes one writer at a time; whoever waits inside the database may wait for ever, so they wait here.
_WRITER = threading.RLock()
# The tables that are made from events, of every part of the studio.
_TABLES = sorted((table for table in apps.get_models() if issubclass(table, Current)), key=lambda table: table.__name__)


class ConflictError(KapwaError):
    """The same event id with another content: nothing was changed."""


@contextmanager
def single_writer() -> Iterator[None]:
    """Be the process's one writer; with SQLite others wait until this one is done."""
    with _WRITER if connection.vendor == "sqlite" else nullcontext():
        yield


def lock_project(project: Project) -> None:
    """Let nobody else write in ``project`` until the transaction ends; SQLite has one writer anyway."""
    if connection.vendor != "sqlite":
        Project.objects.select_for_update().get(pk=project.pk)


def record(
    project: Project,
    kind: str,
    body: Mapping[str, object],
    *,
    actor: str,
    uuid: uuids.UUID | None = None,
    subject: str = "",
    device_time: datetime | None = None,
) -> Event:
    """Add an event and apply it; the same event sent again is returned as it stands, without a second effect.

    ``actor`` is a member's ``author``; ``subject`` the id of what it is about. ``body`` gets a ``number`` where the
    kind counts. Raises ConflictError where the id is taken by another content, RefusedError where the event cannot
    happen now. To be called in a transaction, within :func:`single_writer`.
    """
    rules = KINDS[kind]
    lock_project(project)
    plain = json.loads(json.dumps(body))
    about = {"project": project, "kind": kind, "actor": actor, "subject": subject}
    sent = Event.objects.filter(uuid=uuid)
    if uuid and sent.exists():
        before = sent.get()
        same = all(getattr(before, name) == value for name, value in about.items())
        if same and {name: value for name, value in before.body.items() if name != "number"} == plain:
            return before
        message = _("This was already sent with different content.")
        raise ConflictError(message, hint=_("Reload the page, and send it again."))
    if rules.counted:
        alike = Event.objects.filter(project=project, kind=kind)
        plain["number"] = 1 + (alike.filter(subject=subject) if rules.counted == "subject" else alike).count()
    if actor and Membership.objects.filter(project=project, author=actor, left__isnull=False).exists():
        raise RefusedError(_("You are signed out. Sign in again."))  # while it waited for its turn
    event = Event.objects.create(**about, uuid=uuid or uuids.uuid4(), device_time=device_time, body=plain)
    rules.apply(event, live=True)
    return event


def rebuild(project: Project) -> None:
    """Make the current tables of ``project`` anew from its events; in a transaction."""
    lock_project(project)
    for table in _TABLES:
        table.objects.filter(project=project).delete()
    for event in Event.objects.filter(project=project, erased=False).order_by("seq").iterator():
        try:
            with transaction.atomic():
                KINDS[event.kind].apply(event, live=False)
        except RefusedError:
            continue  # it rested on what was erased


def snapshot(project: Project) -> dict[str, dict[str, JsonObject]]:
    """Return every row of the current tables of ``project``, by table and id."""
    return {
        table.__name__: {row["id"]: row for row in table.objects.filter(project=project).order_by("id").values()}
        for table in _TABLES
    }


def differences(project: Project) -> list[str]:
    """Say where the current tables differ from what the events make; the tables stay as they are."""
    with single_writer(), transaction.atomic():
        now = snapshot(project)
        rebuild(project)
        made = snapshot(project)
        transaction.set_rollback(True)
    return [
        f"{project.slug}: {table} {key} differs from its events"
        for table, rows in made.items()
        for key in sorted(now[table].keys() | rows.keys())
        if now[table].get(key) != rows.get(key)
    ]

"""The log: every thing that people do is recorded once, in order, and applied to the current tables.

An event is never changed. Erasure alone (:mod:`kapwa.studio.erasure`) empties texts and authors, and the current tables
are then made anew from what is left, so that votes are counted again.
"""

from __future__ import annotations

import json
import threading
import uuid as uuids
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.utils.translation import gettext as _

from kapwa.errors import KapwaError
from kapwa.studio.models import Event, Membership, Project, current_tables
from kapwa.studio.projections import KINDS, RefusedError

# SQLite takes one writer at a time; whoever waits inside the database may wait for ever, so they wait here.
_WRITER = threading.RLock()


class ConflictError(KapwaError):
    """The same event id with another content: nothing was changed."""


@contextmanager
def writing() -> Iterator[None]:
    """Be the process's one writer; with SQLite others wait until this one is done."""
    if connection.vendor != "sqlite":
        yield
        return
    with _WRITER:
        yield


def hold(project: Project) -> None:
    """Let nobody else write in ``project`` until the transaction ends; SQLite has one writer anyway."""
    if connection.vendor != "sqlite":
        Project.objects.select_for_update().get(pk=project.pk)


def record(
    project: Project,
    kind: str,
    body: Mapping[str, Any],
    *,
    actor: str,
    uuid: uuids.UUID | None = None,
    subject: str = "",
    parent: int | None = None,
    device_time: datetime | None = None,
) -> Event:
    """Add an event and apply it; the same event sent again is returned as it stands, without a second effect.

    ``actor`` is a member's ``author``; ``subject`` the id of what it is about. ``body`` gets a ``number`` where the
    kind counts. Raises ConflictError where the id is taken by another content, RefusedError where the event cannot
    happen now. To be called in a transaction, within :func:`writing`.
    """
    rules = KINDS[kind]
    hold(project)
    own = uuid or uuids.uuid4()
    plain = json.loads(json.dumps(body))
    before = Event.objects.filter(uuid=own).first()
    if before is not None:
        same = before.project_id == project.pk and (before.kind, before.actor, before.subject) == (kind, actor, subject)
        if same and {k: v for k, v in before.body.items() if k != "number"} == plain:
            return before
        raise ConflictError(
            _("This was already sent with another content."), hint=_("Reload the page, and send it again.")
        )
    if rules.counted:
        found = Event.objects.filter(project=project, kind=kind)
        plain["number"] = (
            (found.filter(subject=subject).count() + 1) if rules.counted == "subject" else found.count() + 1
        )
    if actor and Membership.objects.filter(project=project, author=actor, left__isnull=False).exists():
        raise RefusedError(_("You are not here any more. Come in again."))  # while it waited for its turn
    event = Event(
        uuid=own,
        project=project,
        kind=kind,
        actor=actor,
        subject=subject,
        parent=parent,
        device_time=device_time,
        body=plain,
    )
    event.save(force_insert=True)
    rules.apply(event, live=True)
    return event


def rebuild(project: Project) -> None:
    """Make the current tables of ``project`` anew from its events; in a transaction."""
    hold(project)
    for model in current_tables():
        model.objects.filter(project=project).delete()
    for event in Event.objects.filter(project=project, erased=False).order_by("seq").iterator():
        try:
            with transaction.atomic():
                KINDS[event.kind].apply(event, live=False)
        except RefusedError:
            continue  # it rested on what was erased


def snapshot(project: Project) -> dict[str, list[dict[str, Any]]]:
    """Return every row of the current tables of ``project``, in a fixed order."""
    tables = current_tables()
    return {table.__name__: list(table.objects.filter(project=project).order_by("id").values()) for table in tables}


def differences(project: Project) -> list[str]:
    """Say where the current tables differ from what the events make; the tables stay as they are."""
    found = []
    with writing(), transaction.atomic():
        now = snapshot(project)
        rebuild(project)
        made = snapshot(project)
        transaction.set_rollback(True)
    for table, rows in made.items():
        stored = {row["id"]: row for row in now[table]}
        fresh = {row["id"]: row for row in rows}
        for key in sorted(stored.keys() | fresh.keys()):
            before, after = stored.get(key, {}), fresh.get(key, {})
            names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
            if names:
                found.append(f"{project.slug}: {table} {key} differs from its events in {', '.join(names)}")
    return found

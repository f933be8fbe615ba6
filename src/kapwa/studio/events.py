"""The log: every thing that people do is recorded once, in order, and applied to the current tables.

An event is never changed. Erasure alone (:func:`erase_author`) empties texts and authors, and the current tables are
then made anew from what is left, so that votes are counted again.
"""

from __future__ import annotations

import json
import threading
import uuid as uuids
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import OperationalError, connection, transaction

from kapwa.errors import KapwaError
from kapwa.studio.models import CURRENT, Event, Membership, Project
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
        raise ConflictError("This was already sent with another content.", hint="Reload the page, and send it again.")
    if rules.counted:
        found = Event.objects.filter(project=project, kind=kind)
        plain["number"] = (
            (found.filter(subject=subject).count() + 1) if rules.counted == "subject" else found.count() + 1
        )
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
    for model in CURRENT:
        model.objects.filter(project=project).delete()
    for event in Event.objects.filter(project=project, erased=False).order_by("seq").iterator():
        try:
            with transaction.atomic():
                KINDS[event.kind].apply(event, live=False)
        except RefusedError:
            continue  # it rested on what was erased


def snapshot(project: Project) -> dict[str, list[dict[str, Any]]]:
    """Return every row of the current tables of ``project``, in a fixed order."""
    return {model.__name__: list(model.objects.filter(project=project).order_by("id").values()) for model in CURRENT}


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


def erase_author(project: Project, author: str) -> int:
    """Empty every text that ``author`` wrote in ``project``, and all that was made of it; return how many events.

    A situation that the author began goes as a whole, with the changes and variations that others made of its words.
    In a situation of others, the fields that the author changed go back to the words before. Votes count again.
    What the author did for others without a text, such as accepting, stays, by nobody.
    """
    hold(project)
    events = list(Event.objects.filter(project=project).order_by("seq"))
    lost = {str(event.uuid) for event in events if event.actor == author and event.kind == "elicited.answered"}
    for event in events:  # in order, so that variations of variations are found
        if event.kind == "situation.drafted" and (
            event.actor == author or {event.body.get("origin"), event.body.get("elicited")} & lost
        ):
            lost.add(str(event.uuid))
    touched: dict[str, set[str]] = {}
    count = 0
    for event in events:
        own = event.actor == author
        if own and event.kind == "situation.revised":
            touched.setdefault(event.subject, set()).update(event.body.get("changes", {}))
        gone = bool({str(event.uuid), event.subject} & lost)
        if own and KINDS[event.kind].stays and not gone:
            event.actor, event.body = "", _without(event.body, author)
            event.save(update_fields=("actor", "body"))
            count += 1
        elif own or (event.kind.startswith("situation.") and gone):
            _empty(event, also_actor=own)
            count += 1
        elif event.kind == "situation.asked" and event.subject in touched:
            _empty(event, also_actor=False)  # a model's answer may repeat what it was asked
            count += 1
        elif event.kind == "situation.drafted" and event.body.get("origin") in touched:
            event.body = {**event.body, "changes": _besides(event.body["changes"], touched[event.body["origin"]])}
            touched[str(event.uuid)] = set(touched[event.body["origin"]])
            event.save(update_fields=("body",))
            count += 1
        elif event.kind == "situation.revised" and touched.get(event.subject, set()) & set(event.body["changes"]):
            kept = _besides(event.body["changes"], touched[event.subject])
            event.body = {**event.body, "changes": kept}
            event.save(update_fields=("body",))
            count += 1
        elif event.kind in _NAMING and author in json.dumps(event.body):
            event.body = _without(event.body, author)
            event.save(update_fields=("body",))
    rebuild(project)
    return count


# Kinds whose body names members.
_NAMING = frozenset({"session.opened", "release.frozen"})


def _besides(changes: Mapping[str, str], names: set[str]) -> dict[str, str]:
    return {name: text for name, text in changes.items() if name not in names}


def _without(value: Any, author: str) -> Any:
    if isinstance(value, list):
        return [_without(one, author) for one in value if one != author]
    if isinstance(value, dict):
        return {key: _without(one, author) for key, one in value.items()}
    return "" if value == author else value


def _empty(event: Event, *, also_actor: bool) -> None:
    event.body = {name: event.body[name] for name in KINDS[event.kind].kept if name in event.body}
    event.erased = True
    if also_actor:
        event.actor = ""
    event.save(update_fields=("body", "actor", "erased"))


def wipe_traces() -> None:
    """Write the database's files anew, so that no free corner holds an erased text; outside a transaction.

    Raises OperationalError where somebody else's reading keeps the old texts in SQLite's log, or no room is left.
    """
    with connection.cursor() as cursor:
        cursor.execute("VACUUM" if connection.vendor == "sqlite" else "VACUUM FULL")
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            if cursor.fetchone()[0]:
                raise OperationalError("somebody reads the database, so its log still holds what was erased")


def forget(member: Membership) -> None:
    """Cut the tie between a member and a person; with no other membership the person's row goes, too."""
    person = member.person
    member.person, member.pseudonym, member.credit, member.roles = None, "", "", []
    member.consented = None  # what their words may be used for stays with the words
    member.save()
    if person is not None and not person.memberships.exists():
        person.delete()

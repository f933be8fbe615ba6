"""Erasure: emptying what somebody contributed, and forgetting who they are.

What goes follows from the declaration of each event's kind (:class:`~kapwa.studio.core.kinds.Kind`). The
current tables are then made anew from what is left, so that votes are counted again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection

from kapwa.studio.core.forms import release_of
from kapwa.studio.core.kinds import KINDS
from kapwa.studio.core.log import lock_project, rebuild
from kapwa.studio.core.notices import NewsRead
from kapwa.studio.core.release import LIMITS
from kapwa.studio.core.tables import Event, Lease, Membership, Project, TracesDue
from kapwa.value_types import JsonMapping, JsonObject

# What stays of an emptied body: numbers are given once.
FIELDS_KEPT = ("number", "round")
# Where events hold the words that a release publishes and runs repeat; the rest are remarks, choices, names of things.
_PUBLISHED = ("text", "texts", "english", "changes", "fields")
_CODES = frozenset({"language", "category", "best", "topic", "country", "culture"})
# A shorter sentence may be anybody's.
_QUOTED = 20
_SENTENCE_END = re.compile(r"(?<=[.!?…؟۔።।。！？])|\n")
# What of a project's settings is somebody's own text; to its title, culture, licence and consent text others agreed.
_SETTINGS = ("contact", "collected", "limits", "background_own")


def erase_author(project: Project, author: str) -> None:
    """Empty every text that ``author`` wrote in ``project``, and all that was made of it.

    What the author began goes as a whole, with what others did with it: a situation with the changes and variations
    that others made of its words. In a situation of others, the fields that the author changed go back to the words
    before. Votes count again. Remarks of others that quote a whole sentence, and texts of the project's settings that
    the author wrote last are emptied; names of topics that others took over become numbers, for every item has a topic.
    What the author did for others without a text, such as accepting, stays, by nobody.
    """
    lock_project(project)
    events = list(Event.objects.filter(project=project, erased=False).order_by("seq"))
    stored = {event.seq: (event.actor, event.body) for event in events}
    before = set(_words(events))
    remarks = {event.body[name] for event in events if event.actor == author for name in _remarks(event)}
    topics = _topics_of(author, events)
    _empty_settings(project, author, events)
    _empty_events(author, events)
    left = [event for event in events if not event.erased]
    for event in left:
        event.body = _without_names(event.body, author, topics)
        if (keep := KINDS[event.kind].left) is not None:
            event.body = keep(event, left)
    gone = before.difference(_words(left))
    # Sentences are found inside of others, too: many scripts have no spaces between words.
    words, quoted = _finder(gone, r"(?<!\w)(?:%s)(?!\w)"), _finder(_sentences(gone | remarks))
    for event in left:
        event.body = event.body | {name: _without(event.body[name], quoted) for name in _remarks(event)}
        if KINDS[event.kind].repeats and "texts" in event.body:
            answers = words if event.body["kind"] == "baseline" else quoted
            texts = [_without_repeated(drawn, words, answers) for drawn in event.body["texts"]]
            event.body = event.body | {"texts": texts}
    for event in events:
        if event.erased or stored[event.seq] != (event.actor, event.body):
            event.save(update_fields=("body", "actor", "erased"))
    Event.objects.filter(project=project, actor=author, erased=True).update(actor="")  # emptied with others' words
    Event.objects.filter(project=project, subject=author).update(subject="")
    rebuild(project)


def _empty_events(author: str, events: Iterable[Event]) -> None:
    """Empty what ``author`` wrote, and events that name an emptied one; take their fields out of later changes."""
    emptied: set[str] = set()
    fields_changed: dict[str, set[str]] = {}  # by situation: the fields that the author changed
    for event in events:
        rules, body, theirs = KINDS[event.kind], event.body, event.actor == author
        names = {event.subject, *(value for value in body.values() if isinstance(value, str))}
        fields = fields_changed.get(body.get("origin") or event.subject, set())
        if theirs:
            event.actor = ""
        if (theirs and not rules.stays) or names & emptied or (fields and rules.repeats):
            if theirs:
                fields_changed[event.subject or str(event.uuid)] = fields | set(body.get("changes", ()))
            emptied.add(str(event.uuid))
            event.erased, event.body = True, {name: body[name] for name in FIELDS_KEPT if name in body}
        elif fields and "changes" in body:
            fields_changed[str(event.uuid)] = fields
            changes = {name: text for name, text in body["changes"].items() if name not in fields}
            event.body = body | {"changes": changes}


def _words(events: Iterable[Event]) -> Iterator[str]:
    """Give every text that people wrote for a release; single signs and numbers are no words of anybody."""
    for event in events:
        rules = KINDS[event.kind]
        if rules.repeats or event.kind.startswith("message."):
            continue
        for name in _PUBLISHED:
            part = "" if name in rules.remarks else event.body.get(name, "")
            if isinstance(part, dict):
                part = [text for key, text in part.items() if key not in _CODES]
            texts = part if isinstance(part, list) else [part]
            yield from (text for text in texts if isinstance(text, str) and len(text) > 2 and not text.isdecimal())


def _remarks(event: Event) -> list[str]:
    return [name for name in KINDS[event.kind].remarks if isinstance(event.body.get(name), str)]


def _finder(texts: Iterable[str], between: str = "%s") -> re.Pattern[str]:
    """Return what finds any of ``texts``, however they are spaced, ``between`` others; nothing where there are none."""
    spaced = (r"\s+".join(map(re.escape, text.split())) for text in sorted(texts, key=len, reverse=True))
    return re.compile(between % ("|".join(spaced) or "(?!)"), re.IGNORECASE)


def _sentences(texts: Iterable[str]) -> set[str]:
    pieces = {" ".join(piece.split()) for text in texts for piece in _SENTENCE_END.split(text)}
    return {piece for piece in pieces if len(piece) >= _QUOTED}


def _without(value: object, pattern: re.Pattern[str]) -> Any:
    if isinstance(value, list):
        return [_without(part, pattern) for part in value]
    return "" if isinstance(value, str) and pattern.search(value) else value


def _without_repeated(drawn: JsonMapping, words: re.Pattern[str], answers: re.Pattern[str]) -> JsonObject:
    """Return what was drawn from a run without texts that hold any of ``words``, and answers any of ``answers``."""
    if "shown" not in drawn:
        return dict(drawn)
    shown = [[name, _without(text, words), tag] for name, text, tag in drawn["shown"]]
    return {**drawn, "shown": shown, "texts": _without(drawn["texts"], answers)}


def _without_names(body: JsonMapping, author: str, topics: Mapping[str, str]) -> JsonObject:
    """Return a body that names ``author`` nowhere and calls each of ``topics`` by its number."""
    made = dict(body)
    for name, value in body.items():
        if isinstance(value, list):
            made[name] = [member for member in value if member != author]
    if changes := dict(body.get("changes", {})):
        made["changes"] = changes
    for place in (made, changes):
        if place.get("topic") in topics:
            place["topic"] = topics[place["topic"]]
    return made


def _topics_of(author: str, events: Iterable[Event]) -> dict[str, str]:
    """Return the names of topics that ``author`` alone added, and what they are called from now on."""
    added = [event for event in events if event.kind == "topic.added"]
    others = {event.body["name"] for event in added if event.actor != author}
    return {event.body["name"]: f"topic {event.seq}" for event in added if event.body["name"] not in others}


def _empty_settings(project: Project, author: str, events: Iterable[Event]) -> None:
    """Empty the settings that ``author`` wrote last; cards of releases say what they do where nobody wrote any."""
    last: dict[str, str] = {}
    plain = {"collected": release_of(project).collected, "limits": [LIMITS]}
    for event in events:
        if event.kind == "project.changed":
            last |= dict.fromkeys(event.body["names"], event.actor)
        elif event.kind == "release.frozen":
            card = {name: plain[name] for name in plain if last.get(name) == author}
            event.body = event.body | {"card": event.body["card"] | card}
    theirs = {name for name, actor in last.items() if actor == author}
    for name in theirs & set(_SETTINGS):
        setattr(project, name, "")
    project.questions = {key: text for key, text in project.questions.items() if f"questions.{key}" not in theirs}
    project.save(update_fields=("questions", *_SETTINGS))


def clear_traces() -> None:
    """Write the database's files anew where something was removed, so that no free corner holds it; in no transaction.

    Raises OperationalError where somebody else's reading keeps the old texts in SQLite's log, or no room is left. Then
    it stays due, and is tried again at the next removal, start or check.
    """
    due = list(TracesDue.objects.values_list("pk", flat=True))
    if not due:
        return
    with connection.cursor() as cursor:
        cursor.execute("VACUUM" if connection.vendor == "sqlite" else "VACUUM FULL")
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            if cursor.fetchone()[0]:
                raise OperationalError("somebody reads the database, so its log still holds what was erased")
    TracesDue.objects.filter(pk__in=due).delete()


def forget(member: Membership) -> None:
    """Cut the tie between a member and a person; with no other membership the person's row goes, too.

    What was leased to them is free for others, and no code brings them back with the roles that they had.
    """
    Lease.objects.filter(author=member.author).delete()
    member.invitations.filter(used=None).delete()
    NewsRead.objects.filter(member=member).delete()
    person = member.person
    member.person, member.pseudonym, member.credit, member.roles = None, "", "", []
    member.consented, member.background, member.background_groups = (
        None,
        {},
        {},
    )  # what their words may be used for stays with the words
    member.save()
    if person is not None and not person.memberships.exists():
        for visit in Session.objects.iterator():  # on other devices, too
            if visit.get_decoded().get(SESSION_KEY) == str(person.pk):
                visit.delete()
        person.delete()

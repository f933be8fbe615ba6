"""Erasure: emptying what somebody contributed, and forgetting who they are.

What goes follows from each kind's declaration (:class:`~kapwa.studio.projections.registry.Kind`); the current tables
are then made anew from what is left, so that votes are counted again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.db import OperationalError, connection

from kapwa.studio.events import hold, rebuild
from kapwa.studio.models import Event, Lease, Membership, Project, TracesDue
from kapwa.studio.projections import KINDS


def erase_author(project: Project, author: str) -> int:
    """Empty every text that ``author`` wrote in ``project``, and all that was made of it; return how many events.

    What the author began goes as a whole, with what others did with it: a situation with the changes and variations
    that others made of its words. In a situation of others, the fields that the author changed go back to the words
    before. Votes count again. Remarks of others that quote a whole sentence, and texts of the project's settings that
    the author wrote last are emptied; names of topics that others took over become numbers, for every item has a topic.
    What the author did for others without a text, such as accepting, stays, by nobody.
    """
    hold(project)
    events = list(Event.objects.filter(project=project).order_by("seq"))
    before = _words(events)
    lost: set[str] = set()
    for event in events:  # in order, so that variations of variations are found
        if KINDS[event.kind].begins and (event.actor == author or _rests_on(event, lost)):
            lost.add(str(event.uuid))
    texts = [text for event in events if event.actor == author for text in _leaves(event.body)]
    topics = _topics_of(author, events)
    _empty_settings(project, author, events)
    touched: dict[str, set[str]] = {}
    count = 0
    for event in events:
        own = event.actor == author
        if own and event.kind == "situation.revised":
            touched.setdefault(event.subject, set()).update(event.body.get("changes", {}))
        gone = bool({str(event.uuid), event.subject} & lost) or _rests_on(event, lost)
        if own and KINDS[event.kind].stays and not gone:
            event.actor, event.body = "", _without(event.body, author)
            event.save(update_fields=("actor", "body"))
            count += 1
        elif own or gone:
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
    count += _empty_copies(events, topics, texts)
    rebuild(project)
    resting = [name for name, rules in KINDS.items() if rules.left is not None]
    for event in Event.objects.filter(project=project, kind__in=resting, erased=False).select_related("project"):
        left = KINDS[event.kind].left
        if left is not None and (kept := left(event)) != event.body:
            event.body = kept
            event.save(update_fields=("body",))
            count += 1
    count += _empty_repeated(project, before)
    rebuild(project)
    return count


# Kinds whose body names members.
_NAMING = frozenset({"session.opened", "release.frozen"})


# Where events hold the words that a release publishes and runs repeat; the rest are remarks, choices, names of things.
_PUBLISHED = ("text", "texts", "english", "changes", "fields")
_CODES = frozenset({"language", "category", "best", "topic", "country", "culture"})


def _words(events: Iterable[Event]) -> set[str]:
    """Return every text that people wrote for a release; single signs and numbers are no words of anybody."""
    own = (event.body for event in events if not KINDS[event.kind].repeats and not event.kind.startswith("message."))
    parts = (body[name] for body in own for name in _PUBLISHED if name in body)
    found = (
        text
        for part in parts
        for text in _leaves({k: v for k, v in part.items() if k not in _CODES} if isinstance(part, dict) else part)
    )
    return {text for text in found if len(text) > 2 and not text.isdecimal()}


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _leaves(one)


def _empty_repeated(project: Project, before: set[str]) -> int:
    """Empty what was drawn from runs where it repeats a text that nobody's events hold any more; say in how many.

    In what was asked and in options a word is enough. A model's own answer goes where it quotes a whole sentence: that
    it says "rice", too, is not somebody's contribution.
    """
    events, count = list(Event.objects.filter(project=project)), 0
    gone = before - _words(events)
    if not gone:
        return 0
    asked, said = (_finding(text for text in gone if len(text) >= least) for least in (1, _QUOTED))
    for event in events:
        if not KINDS[event.kind].repeats:
            continue
        rules = {"shown": asked, "texts": asked if event.body.get("kind") == "baseline" else said}
        texts = event.body.get("texts", [])
        kept = [one | {name: _without_words(one[name], rules[name]) for name in rules if name in one} for one in texts]
        if kept != texts:
            event.body = {**event.body, "texts": kept}
            event.save(update_fields=("body",))
            count += 1
    return count


def _finding(texts: Iterable[str]) -> re.Pattern[str]:
    """Return what finds any of ``texts`` between other words; nothing where there are none."""
    any_of = "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True)) or "(?!)"
    return re.compile(rf"(?<!\w)(?:{any_of})(?!\w)", re.IGNORECASE)


def _without_words(value: Any, pattern: re.Pattern[str]) -> Any:
    if isinstance(value, str):
        return "" if pattern.search(value) else value
    return [_without_words(one, pattern) for one in value]


# A shorter sentence may be anybody's.
_QUOTED = 20
_SENTENCE_END = re.compile(r"(?<=[.!?…؟۔።।。！？])|\n")
# What of a project's settings is somebody's own text; to its title, culture, licence and consent text others agreed.
_SETTINGS = ("contact", "collected", "limits")


def _empty_copies(events: list[Event], topics: Mapping[str, tuple[int, str]], texts: list[str]) -> int:
    """Number the ``topics`` in what came after them, empty remarks that quote ``texts``; return how many events."""
    quotes = {piece for text in texts for one in _SENTENCE_END.split(text) if len(piece := _plain(one)) >= _QUOTED}
    count = 0
    for event in events:
        if event.erased:
            continue
        body = dict(event.body)
        for name in KINDS[event.kind].remarks:
            said = _plain(str(body.get(name, "")))
            if any(quote in said for quote in quotes):
                body[name] = ""
        for place in (body, changes := dict(body.get("changes") or {})):
            since, number = topics.get(place.get("topic", ""), (event.seq, ""))
            if event.kind != "topic.added" and since < event.seq:
                place["topic"] = number
        if "changes" in body:
            body["changes"] = changes
        if body != event.body:
            event.body = body
            event.save(update_fields=("body",))
            count += 1
    return count


def _topics_of(author: str, events: list[Event]) -> dict[str, tuple[int, str]]:
    """Return the names of topics that ``author`` alone added: since when, and what they are called from now on."""
    added = [event for event in events if event.kind == "topic.added"]
    places = [(event, f"topic {place}") for place, event in enumerate(added, start=1) if not event.erased][::-1]
    others = {event.body["name"] for event, _ in places if event.actor != author}
    return {one.body["name"]: (one.seq, number) for one, number in places if one.body["name"] not in others}


def _empty_settings(project: Project, author: str, events: list[Event]) -> None:
    last: dict[str, str] = {}
    for event in events:
        if event.kind == "project.changed":
            last |= dict.fromkeys(event.body["names"], event.actor)
    own = {name for name, actor in last.items() if actor == author}
    for name in own & set(_SETTINGS):
        setattr(project, name, "")
    project.questions = {key: text for key, text in project.questions.items() if f"questions.{key}" not in own}
    project.save(update_fields=("questions", *_SETTINGS))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _rests_on(event: Event, lost: set[str]) -> bool:
    return any(event.body.get(name) in lost for name in KINDS[event.kind].rests_on)


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


def clear_traces() -> bool:
    """Do :func:`wipe_traces` if something was removed since it was last done; return whether it was due.

    Raises what that raises; then it stays due, and is tried again at the next removal, start or check.
    """
    due = list(TracesDue.objects.values_list("pk", flat=True))
    if due:
        wipe_traces()
        TracesDue.objects.filter(pk__in=due).delete()
    return bool(due)


def forget(member: Membership) -> None:
    """Cut the tie between a member and a person; with no other membership the person's row goes, too.

    What was leased to them is free for others.
    """
    Lease.objects.filter(author=member.author).delete()
    person = member.person
    member.person, member.pseudonym, member.credit, member.roles = None, "", "", []
    member.consented = None  # what their words may be used for stays with the words
    member.save()
    if person is not None and not person.memberships.exists():
        person.delete()

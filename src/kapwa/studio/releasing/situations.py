"""Releases of situations (Kalahi): the accepted ones, as rows of the situation form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_noop

from kapwa.analysis.datasheet import Facts
from kapwa.datasets.rows import columns_of
from kapwa.datasets.withdrawn import withdrawn_hash
from kapwa.studio.describe import Column, listed, people_facts, tell_people
from kapwa.studio.fields import Fields, as_row, key_text
from kapwa.studio.models import Elicited, Event, Project, Release, Revision, Session, Situation, Topic, Vote
from kapwa.studio.projections.situations import ACCEPTED, FROZEN
from kapwa.studio.releasing.base import Items, Tables, cannot_be_written, is_private, json_lines, public_salt, unwilling
from kapwa.suites.kalahi.form import Situation as Row

ABOUT = "Everyday situations of the culture {culture}, with responses."
REMEDY = gettext_noop("Review some, and accept them.")
SITUATIONS = "situations.jsonl"


def accepted_now(project: Project, before: Release | None) -> dict[str, Any]:
    """Return the revision of each accepted situation, and of frozen ones as they were.

    A frozen situation that is under review again stays as the last release had it.
    """
    found = {}
    for one in Situation.objects.filter(project=project).order_by("number"):
        if one.state in (ACCEPTED, FROZEN):
            found[one.id] = one.revision
        elif before is not None and one.id in before.items:
            found[one.id] = before.items[one.id]
    return found


def items_now(project: Project, before: Release | None) -> dict[str, Any]:
    """Return the revision of each situation to be frozen: accepted ones without words that may not be published.

    Words stay out whose author has not agreed to their publication. They are also in later variations of the situation,
    and those of an answer in what was made of it.
    """
    theirs = unwilling(project)
    told = set(Elicited.objects.filter(project=project, author__in=theirs).values_list("id", flat=True))
    revised = Revision.objects.filter(project=project, author__in=theirs).order_by("-number")
    first = dict(revised.values_list("situation", "number"))  # of several the last assigned, which is the earliest
    items, found, clusters = accepted_now(project, before), {}, set()
    for one in Situation.objects.filter(project=project).order_by("number"):
        since = 1 if one.cluster in clusters or one.elicited in told else first.get(one.id)
        if since is not None:
            clusters.add(one.cluster)
        if one.id in items and (since is None or items[one.id] < since):
            found[one.id] = items[one.id]
    return found


def missing(project: Project, items: Items) -> str:
    """Return nothing: one situation can be run."""
    return ""


def waiting(project: Project, accepted: Items) -> int:
    """Return how many situations are neither accepted nor frozen."""
    return int(Situation.objects.filter(project=project).exclude(id__in=list(accepted)).count())


def authors_of(items: Items) -> list[str]:
    """Return everybody who wrote any revision of the situations."""
    return sorted({one for pk in items for one in Situation.objects.get(pk=pk).authors})


def key(item: str, revision: Any) -> str:
    """Return the texts and the key of a situation."""
    return key_text(_fields(item, revision))


def _fields(situation: str, number: int) -> Fields:
    found = Revision.objects.filter(id=f"{situation}:{number}").first()
    return found.fields if found else {}


def card(project: Project, items: Items) -> dict[str, Any]:
    """Return nothing of its own."""
    return {}


def first_number(situation: Situation) -> int:
    """Return the number of the situation that this one varies, its own where it varies none or that one is gone."""
    first = Situation.objects.filter(pk=situation.cluster).values_list("number", flat=True).first()
    return first or situation.number


def item_id(project: Project, number: int) -> str:
    """Return the id that a situation has in releases, for good."""
    return f"{project.slug}-{number:03d}"


def tables(project: Project, release: Release, *, private: bool) -> Tables:
    """Return the table of situations; raise RefusedError where some of them were withdrawn."""
    situations = {one.id: one for one in Situation.objects.filter(project=project, id__in=list(release.items))}
    gone = [pk for pk in release.items if pk not in situations or not _fields(pk, release.items[pk])]
    if gone:
        raise cannot_be_written(len(gone), release)
    rows, seen, items = [], set(), {}
    for one in sorted(situations.values(), key=lambda one: one.number):
        fields = _fields(one.id, release.items[one.id])
        mates = {o.number for o in situations.values() if o.cluster == one.cluster}
        cluster = item_id(project, min(mates))
        if is_private(project, item_id(project, first_number(one)), release.private) != private:
            continue
        own = item_id(project, one.number)
        rows.append(as_row(fields, own, cluster, culture=project.culture, base=cluster not in seen))
        items[own] = release.items[one.id]
        seen.add(cluster)
    columns = [
        Column(
            name,
            "Boolean" if name == "base" else "Text",
            name.partition("_")[0] in ("relevant", "irrelevant"),
        )
        for name in columns_of(Row)
        if name not in ("notes", "source")
    ]
    return Tables({SITUATIONS: json_lines(rows)} if rows else {}, {SITUATIONS: columns}, items)


def withdrawn(project: Project, release: Release) -> set[str]:
    """Return the hashes of ids of situations that their authors withdrew."""
    numbers = dict(
        Event.objects.filter(project=project, kind="situation.drafted", erased=True).values_list("uuid", "body")
    )
    gone = {str(uuid): body["number"] for uuid, body in numbers.items()}
    found = set()
    for before in Release.objects.filter(project=project, seq__lt=release.seq):
        found |= {gone[pk] for pk in before.items if pk in gone}
    return {withdrawn_hash(public_salt(project), item_id(project, number)) for number in found}


def facts(project: Project, items: Items) -> dict[str, Any]:
    """Return counts of writers, reviewers, votes, answers, sessions, topics and reasons of changes."""
    own = list(items)
    authors = set(authors_of(items)) - {""}
    votes = Vote.objects.filter(situation__in=own)
    reviewers = set(votes.values_list("author", flat=True))
    reasons = Counter(Revision.objects.filter(situation__in=own).exclude(reason="").values_list("reason", flat=True))
    topics = Topic.objects.filter(project=project)
    return {
        "writers": len(authors),
        "reviewers": len(reviewers),
        "votes": votes.count(),
        "accepting": votes.filter(choice="accept").count(),
        "answers": Elicited.objects.filter(project=project).count(),
        "sessions": Session.objects.filter(project=project).count(),
        "topics": dict(sorted(Counter(topics.values_list("origin", flat=True)).items())),
        "changes": dict(sorted(reasons.items())),
        **people_facts(project, authors | reviewers),
    }


def tell(sheet: Facts, known: Mapping[str, Any]) -> None:
    """Tell how the situations were written and reviewed."""
    source = "the studio's log"
    sheet.tell("collection.direct", "People wrote the situations themselves.", source, settled=True)
    sheet.tell("collection.mechanism", "Kapwa Studio: a questionnaire, a writing desk, and blind review.", source)
    asked = f"{known['answers']} answers to the questionnaire; topics by origin: {listed(known['topics'])}."
    sheet.tell("collection.acquired", asked, source)
    workers = f"{known['writers']} people wrote or changed the situations; {known['reviewers']} people voted on them."
    sheet.tell("collection.workers", workers, source)
    tell_people(sheet, known)
    labels = f"{known['votes']} hidden votes, {known['accepting']} of them to accept; {known['sessions']} meetings."
    sheet.tell("composition.labels", labels, source)
    sheet.tell("preprocessing.done", f"Changes in review, by reason: {listed(known['changes'])}.", source)

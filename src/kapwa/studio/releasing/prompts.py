"""Releases of prompts across cultures (EECC): templates, concepts and identities in the perturbation form."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_noop

from kapwa.analysis.datasheet import Facts
from kapwa.datasets.withdrawn import withdrawn_hash
from kapwa.studio.describe import Column, people_facts, tell_people
from kapwa.studio.models import Event, Project, PromptPart, Release
from kapwa.studio.models.everyday import APPROVED
from kapwa.studio.projections.prompts import CONCEPT, IDENTITY, NAMES, PLURALS, ROLES, TEMPLATE
from kapwa.studio.releasing.base import Items, Tables, cannot_be_written, is_private, json_lines, public_salt, unwilling
from kapwa.suites.eecc.form import MANY_LANGUAGES

ABOUT = "Prompts that ask for the same texts for different people: {culture}."
REMEDY = gettext_noop("Write some, and let others agree to them.")
_OWN = ("notes", "source")  # the writers' own; never released


def accepted_now(project: Project, before: Release | None) -> dict[str, Any]:
    """Return the text of each part that is in use, as the event it came by and the hash of its name.

    The hash lets a later release say that a part was withdrawn when its name is erased.
    """
    salt, found = public_salt(project), {}
    for one in PromptPart.objects.filter(project=project, retired=False).order_by("seq"):
        if one.state == APPROVED:
            found[one.id] = [one.text_event, withdrawn_hash(salt, _public_name(one.role, one.fields))]
        elif before is not None and one.id in before.items:
            found[one.id] = before.items[one.id]
    return found


def _public_name(role: str, fields: Mapping[str, str]) -> str:
    """Return the id by which a list of withdrawn items and the check of data name a row."""
    return f"{role}/{fields[NAMES[role]]}"


def items_now(project: Project, before: Release | None) -> dict[str, Any]:
    """Return the parts in use without words of somebody who has not agreed to their publication."""
    theirs = unwilling(project)
    authors = dict(PromptPart.objects.filter(project=project).values_list("id", "authors"))
    return {pk: text for pk, text in accepted_now(project, before).items() if theirs.isdisjoint(authors[pk])}


def missing(project: Project, items: Items) -> str:
    """Say which of the three kinds of parts there is none of."""
    there = set(PromptPart.objects.filter(project=project, id__in=list(items)).values_list("role", flat=True))
    return ", ".join(PLURALS[role] for role in ROLES if role not in there)


def waiting(project: Project, accepted: Items) -> int:
    """Return how many parts wait for agreement."""
    parts = PromptPart.objects.filter(project=project, retired=False)
    return int(parts.exclude(id__in=list(accepted)).count())


def authors_of(items: Items) -> list[str]:
    """Return everybody whose words may be in the parts."""
    return sorted({one for part in PromptPart.objects.filter(id__in=list(items)) for one in part.authors})


def key(item: str, revision: Any) -> str:
    """Return the columns of a part that prompts are made of."""
    fields = _fields(revision)
    return json.dumps({name: fields[name] for name in sorted(fields) if name not in _OWN}, ensure_ascii=False)


def _fields(revision: Any) -> dict[str, str]:
    found = Event.objects.filter(uuid=revision[0], erased=False).first()
    return found.body["fields"] if found else {}


def card(project: Project, items: Items) -> dict[str, Any]:
    """Return the language of the templates, and what two people's agreement does not say."""
    found = PromptPart.objects.filter(id__in=list(items), role=TEMPLATE)
    languages = {one.fields["language"] for one in found} or {project.language}
    return {
        "language": languages.pop() if len(languages) == 1 else MANY_LANGUAGES,
        "collected": project.collected or "Written in Kapwa Studio; two others agreed to each template and identity.",
        "reviewed_by_native_speakers": False,  # whose language it is of those who agreed, nobody was asked
    }


def tables(project: Project, release: Release, *, private: bool) -> Tables:
    """Return the three tables; a private part has concepts of its own, and shares the templates and identities."""
    parts = {one.id: one for one in PromptPart.objects.filter(project=project, id__in=list(release.items))}
    texts = {pk: _fields(revision) for pk, revision in release.items.items()}
    gone = [pk for pk, fields in texts.items() if not fields or pk not in parts]
    if gone:
        raise cannot_be_written(len(gone), release)
    rows: dict[str, list[dict[str, str]]] = {role: [] for role in ROLES}
    items = {}
    for one in sorted(parts.values(), key=lambda one: one.seq):
        if one.role == CONCEPT and is_private(project, one.id, release.private) != private:
            continue
        names = {IDENTITY: release.facts["attribute"]} if one.role == IDENTITY else {}
        rows[one.role].append({names.get(k, k): v for k, v in texts[one.id].items() if k not in _OWN})
        items[one.id] = release.items[one.id][0]
    if not rows[CONCEPT]:
        return Tables({}, {}, items)
    # Every row has the same columns, as tables have; the order is that of the first rows.
    columns = {role: list(dict.fromkeys(name for row in found for name in row)) for role, found in rows.items()}
    files = {
        f"{PLURALS[role]}.jsonl": json_lines({name: row.get(name, "") for name in columns[role]} for row in found)
        for role, found in rows.items()
    }
    return Tables(files, {f"{PLURALS[role]}.jsonl": [Column(n) for n in columns[role]] for role in ROLES}, items)


def withdrawn(project: Project, release: Release) -> set[str]:
    """Return the hashes of names that earlier releases had, whose text is erased, and that this one has not."""
    befores = Release.objects.filter(project=project, seq__lt=release.seq)
    texts = {text: digest for before in befores for text, digest in before.items.values()}
    erased = Event.objects.filter(uuid__in=list(texts), erased=True).values_list("uuid", flat=True)
    return {texts[str(uuid)] for uuid in erased} - {digest for _text, digest in release.items.values()}


def facts(project: Project, items: Items) -> dict[str, Any]:
    """Return counts of the parts, of who wrote them and who agreed to them."""
    parts = list(PromptPart.objects.filter(id__in=list(items)))
    authors = set(authors_of(items)) - {""}
    agreeing = {one for part in parts for one in part.agreed}
    return {
        "attribute": project.attribute,
        "writers": len(authors),
        "agreeing": len(agreeing),
        "parts": {PLURALS[role]: n for role, n in sorted(Counter(one.role for one in parts).items())},
        **people_facts(project, authors | agreeing),
    }


def tell(sheet: Facts, known: Mapping[str, Any]) -> None:
    """Tell how the prompts were written and agreed to."""
    source = "the studio's log"
    sheet.tell("collection.direct", "People wrote the parts of the prompts themselves.", source, settled=True)
    sheet.tell("collection.mechanism", "Kapwa Studio: lists of concepts, identities and templates.", source)
    workers = f"{known['writers']} people wrote or changed the parts; {known['agreeing']} agreed to texts of others."
    sheet.tell("collection.workers", workers, source)
    tell_people(sheet, known)
    counted = ", ".join(f"{n} {name}" for name, n in known["parts"].items())
    sheet.tell("composition.labels", f"{counted}. A template or identity was agreed to by two others.", source)

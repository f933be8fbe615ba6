"""What travels with a release besides its items: a datasheet of what the studio knows, and Croissant metadata."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from django.db.models import Count, Q
from django.template.loader import render_to_string

from kapwa.analysis.datasheet import gather, render
from kapwa.analysis.datasheet.facts import flat
from kapwa.stats.disclosure import FEWEST
from kapwa.studio.core.aside import REASONS
from kapwa.studio.core.background import asked, count_people, shown_before
from kapwa.studio.core.consent import unwilling_authors
from kapwa.studio.core.reading import members_of
from kapwa.studio.core.tables import Event, Project, Release
from kapwa.value_types import Cells, JsonMapping, JsonObject

Tables = Mapping[str, Sequence[Mapping[str, Any]]]


def log_facts(project: Project, items: Iterable[str], unwilling: Collection[str]) -> JsonObject:
    """Return what the log and people say of how ``items`` came about, without a name or text of anybody.

    How often people did what, and how many; the consent texts they agreed to; and what those who agreed to that said
    of themselves, in groups of at least five. Of the people ``unwilling`` to be published nothing is said.
    """
    begun = {item.partition(":")[0] for item in items}
    about = Event.objects.filter(Q(uuid__in=begun) | Q(subject__in=begun), project=project, erased=False)
    acts = list(about.values_list("kind", "actor").annotate(Count("pk")).order_by("kind"))
    times, people = Counter[str](), Counter[str]()
    for kind, actor, n in acts:
        times[kind] += n
        people[kind] += bool(actor)  # what nobody did any more is nobody's
    authors = {actor for _kind, actor, _n in acts} - set(unwilling)
    members = sorted((one for one in members_of(project) if one.author in authors), key=lambda one: one.author)
    # Who withdrew said nothing any more.
    public = [member for member in members if member.background_public and member.background]
    counted, held = {}, []
    for key in (question.key for question in asked(project)):
        if table := count_people(project, public, key, shown=shown_before(project, key)):
            counted[key] = table
        elif count_people(project, public, key):
            held.append(key)
    return {
        "did": [[kind, n, people[kind]] for kind, n in times.items()],
        "consents": sorted({member.consent_version for member in members if member.consent_version}),
        "people": {key: table.by_answer for key, table in counted.items()},
        "counted": {key: table.to_json() for key, table in counted.items()},
        "held": held,
    }


# What most people had said before somebody decided otherwise, by the kind of the event; it has the numbers.
_AGAINST = {
    "situation.accepted": "{n} of {of} people chose response {best} as the best; another one is marked",
    "answers.merged": "{n} of {of} people gave both answers, or gave the answer that is no longer the commonest",
    "answers.named": "{n} of {of} people gave the answer that does not stand first",
    "question.revised": "{n} of {of} people had agreed to the text before",
    "wording.proposed": "{n} of {of} people had agreed to the text before",
    "identity.revised": "{n} of {of} people had agreed to the text before",
    "template.revised": "{n} of {of} people had agreed to the text before",
}


def _decided_against(release: Release, names: Mapping[str, str]) -> list[list[str]]:
    """Return a row of each decision against most people: the item's name, what they had said, and the reason."""
    decided = {item: events for item, events in release.facts.get("against", {}).items() if item in names}
    unwilling = unwilling_authors(release.project)
    known = Event.objects.filter(uuid__in=[uuid for uuids in decided.values() for uuid in uuids])
    events = {str(event.uuid): event for event in known}
    rows = []
    for item, uuids in decided.items():
        for event in (events[uuid] for uuid in uuids if uuid in events and "against" in events[uuid].body):
            said = _AGAINST[event.kind].format(**event.body["against"])
            reason = event.body["reason"] or "(whoever gave it has withdrawn it)"
            kept = "(whoever gave it does not allow its publication)"
            rows.append([names[item], said, kept if event.actor in unwilling else reason])
    return rows


def datasheet(release: Release, folder: Path, mechanism: str, names: Mapping[str, str]) -> str:
    """Return the datasheet of the release in ``folder``; ``mechanism`` says how its form is made.

    ``names``: what its items are called there, by their ids in the log.
    """
    sheet, known, source = gather(folder), release.facts, "the studio's log"
    sheet.name = f"{release.project.slug}-{release.version}"
    consent = f"{release.card['consent']} Versions agreed to: {known['consents']}."
    revoke = "In three depths on their own page; the next release lists what is missing in withdrawn.jsonl."
    sheet.add_fact("collection.consent", consent, source)
    sheet.add_fact("collection.notice", "The consent text is shown before the first task, in each language.", source)
    sheet.add_fact("collection.revoke", revoke, source, settled=True)
    sheet.add_fact("collection.direct", "People wrote, agreed and answered themselves.", source, settled=True)
    sheet.add_fact("collection.mechanism", mechanism, source)
    sheet.add_fact("collection.time", f"Frozen on {release.date}.", source)
    sheet.table("collection.workers", ["what people did", "times", "people"], known["did"])
    for name, groups in known["people"].items():
        label = f"{name.replace('_', ' ')} (as people chose to say; groups of at least {FEWEST})"
        sheet.table("collection.workers", [label, "people"], groups.items())
    for name in known["held"]:
        text = f"{name.replace('_', ' ')}: left out: beside an earlier release it would tell of fewer than {FEWEST}."
        sheet.add_fact("collection.workers", text, source)
    if "aside" in known:
        reasons = [[REASONS[reason], n] for reason, n in known["aside"].items()]
        sheet.table("preprocessing.done", ["why answers of a person were set aside, by two people", "people"], reasons)
    if against := _decided_against(release, names):
        sheet.table("preprocessing.done", ["decided against most people", "what they had said", "why"], against)
    return render(sheet)


_CONTEXT = json.loads((Path(__file__).parent / "croissant_context.json").read_text(encoding="utf-8"))


def croissant(release: Release, card: JsonMapping, about: str, tables: Tables, hashes: Mapping[str, str]) -> str:
    """Return the metadata of the release in Croissant 1.0: its tables, their columns, hashes and licence."""
    files = [
        {
            "@type": "cr:FileObject",
            "@id": f"{Path(file).stem}-file",
            "name": file,
            "contentUrl": file,
            "encodingFormat": "text/csv" if file.endswith(".csv") else "application/jsonlines",
            "sha256": hashes[file],
        }
        for file in tables
    ]
    records = [
        {"@type": "cr:RecordSet", "@id": Path(file).stem, "name": Path(file).stem, "field": _fields(file, rows)}
        for file, rows in tables.items()
    ]
    metadata = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": release.project.slug,
        "description": f"{card['title']}: {about[0].lower()}{about[1:]}",
        "version": release.version,
        "datePublished": release.date,
        "license": card["licence"],
        "citeAs": f"{'; '.join(card['authors'])} ({release.date[:4]}). {card['title']}, {release.version}.",
        "inLanguage": languages_of(tables),
        "rai:dataCollection": card["collected"],
        "rai:dataLimitations": card["limits"],
        "distribution": files,
        "recordSet": records,
    }
    return json.dumps(metadata, ensure_ascii=False, indent=2) + "\n"


def _fields(file: str, rows: Sequence[Mapping[str, object]]) -> list[Cells]:
    """Return the columns of a table as Croissant says them; a list of texts is a repeated text."""
    values = {name: value for row in rows for name, value in row.items()}
    kinds: dict[type, str] = {bool: "sc:Boolean", int: "sc:Integer"}
    table = Path(file).stem
    return [
        {
            "@type": "cr:Field",
            "@id": f"{table}/{name}",
            "name": name,
            "dataType": kinds.get(type(value), "sc:Text"),
            "source": {"fileObject": {"@id": f"{table}-file"}, "extract": {"column": name}},
            **({"repeated": True} if isinstance(value, list) else {}),
        }
        for name, value in values.items()
    ]


def languages_of(tables: Tables) -> list[str]:
    """Return the languages that rows are in."""
    return sorted({row["language"] for rows in tables.values() for row in rows if "language" in row})


def as_markdown(text: str) -> str:
    """Return somebody's text as one line that Markdown shows as it is, HTML and signs of lists in it, too."""
    return re.sub(r"^(\d*)([#+=~.)-])", r"\1\\\2", flat(html.escape(text, quote=False)))


def readme(card: Mapping[str, object], about: str, tables: Tables) -> str:
    """Return a first page, whose head tells ``datasets`` and the Hugging Face Hub which files hold the rows."""
    names = ["default"] if len(tables) == 1 else [Path(table).stem for table in tables]
    head = {
        "pretty_name": card["title"],
        "language": languages_of(tables),
        "configs": [{"config_name": name, "data_files": table} for name, table in zip(names, tables, strict=True)],
    }
    written = {"head": yaml.safe_dump(head, allow_unicode=True, sort_keys=False), "card": card, "about": about}
    return render_to_string("studio/release_readme.md", written)

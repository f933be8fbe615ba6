"""What travels with a release besides its items: a datasheet of what the studio knows, and Croissant metadata."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from kapwa.analysis.datasheet import flat, gather, render
from kapwa.datasets.rows import columns_of
from kapwa.studio.models import Elicited, Membership, Project, Release, Revision, Session, Situation, Topic, Vote
from kapwa.suites.kalahi.form import Situation as Row

# No group of fewer people is told of, nor can it be had by taking the others away.
FEWEST = 5
_ASKED = ("age_band", "gender", "locality", "languages")
_OTHER = "others, or not said"


def facts_now(project: Project, items: Iterable[str]) -> dict[str, Any]:
    """Return counts of how the situations ``items`` came about, without a name or text of anybody."""
    own = list(items)
    authors = {one for pk in own for one in Situation.objects.get(pk=pk).authors} - {""}
    votes = Vote.objects.filter(situation__in=own)
    reviewers = set(votes.values_list("author", flat=True))
    reasons = Counter(Revision.objects.filter(situation__in=own).exclude(reason="").values_list("reason", flat=True))
    members = Membership.objects.filter(project=project, author__in=authors | reviewers).select_related("person")
    told = [one.person.demographics for one in members if one.person is not None]
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
        "consents": sorted({one.consent_version for one in members if one.consent_version}),
        "people": {name: groups for name in _ASKED if (groups := anonymous(one.get(name, "") for one in told))},
    }


def anonymous(values: Iterable[str]) -> dict[str, int]:
    """Count people by what they said, in groups of at least five; {} where even all together are fewer.

    Smaller groups, and who said nothing, are one group. Where that has fewer than five, the next smallest joins it, so
    that no small group can be had by taking others from the whole.
    """
    found = Counter(value.strip() for value in values)
    rest = found.pop("", 0)
    for value, n in sorted(found.items(), key=lambda pair: (pair[1], pair[0])):
        if n < FEWEST or 0 < rest < FEWEST:
            rest += found.pop(value)
    if not found and rest < FEWEST:
        return {}
    return {**dict(sorted(found.items())), **({_OTHER: rest} if rest else {})}


def datasheet(project: Project, release: Release, folder: Path) -> str:
    """Return the datasheet of the release in ``folder``, with what the studio knows of how it came about."""
    facts, known, source = gather(folder), release.facts, "the studio's log"
    facts.name = f"{project.slug}-{release.version}"
    facts.tell("collection.consent", f"{release.card['consent']} Versions agreed to: {known['consents']}.", source)
    facts.tell("collection.notice", "The consent text is shown before the first task, in each language.", source)
    revoke = "In three depths on their own page; the next release lists what is missing in withdrawn.jsonl."
    facts.tell("collection.revoke", revoke, source, settled=True)
    facts.tell("collection.direct", "People wrote the situations themselves.", source, settled=True)
    facts.tell("collection.mechanism", "Kapwa Studio: a questionnaire, a writing desk, and blind review.", source)
    asked = f"{known['answers']} answers to the questionnaire; topics by origin: {_listed(known['topics'])}."
    facts.tell("collection.acquired", asked, source)
    workers = f"{known['writers']} people wrote or changed the situations; {known['reviewers']} people voted on them."
    facts.tell("collection.workers", workers, source)
    for name, groups in known["people"].items():
        label = f"{name.replace('_', ' ')} (as people chose to say; groups of at least {FEWEST})"
        facts.table("collection.workers", [label, "people"], groups.items())
    labels = f"{known['votes']} hidden votes, {known['accepting']} of them to accept; {known['sessions']} meetings."
    facts.tell("composition.labels", labels, source)
    facts.tell("preprocessing.done", f"Changes in review, by reason: {_listed(known['changes'])}.", source)
    facts.tell("collection.time", f"Frozen on {release.date}.", source)
    return render(facts)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n}" for name, n in counts.items()) or "none"


# What the context of Croissant 1.0 holds, as its validator asks for it.
_CROISSANT_TERMS = (
    "citeAs column equivalentProperty extract field fileProperty fileObject fileSet format includes isLiveDataset "
    "jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator source "
    "subField transform"
)


def croissant(project: Project, release: Release, card: Mapping[str, Any], table: str, sha256: str) -> str:
    """Return the release's metadata in Croissant 1.0: the table, its columns, its hash and licence."""
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"situations/{name}",
            "name": name,
            "dataType": "sc:Boolean" if name == "base" else "sc:Text",
            "source": {"fileObject": {"@id": "situations-file"}, "extract": {"column": name}},
            **({"repeated": True} if name.partition("_")[0] in ("relevant", "irrelevant") else {}),
        }
        for name in columns_of(Row)
        if name not in ("notes", "source")
    ]
    found = {
        "@context": {
            "@language": "en",
            "@vocab": "https://schema.org/",
            "sc": "https://schema.org/",
            "cr": "http://mlcommons.org/croissant/",
            "rai": "http://mlcommons.org/croissant/RAI/",
            "dct": "http://purl.org/dc/terms/",
            "conformsTo": "dct:conformsTo",
            **{name: f"cr:{name}" for name in _CROISSANT_TERMS.split()},
            **{name: {"@id": f"cr:{name}", "@type": "@json"} for name in ("data", "examples")},
            "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        },
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": project.slug,
        "description": f"{card['title']}: everyday situations of the culture {card['culture']}, with responses.",
        "version": release.version,
        "datePublished": release.date,
        "license": card["licence"],
        "citeAs": f"{'; '.join(card['authors'])} ({release.date[:4]}). {card['title']}, {release.version}.",
        "inLanguage": sorted({card["language"], *project.languages}),
        "rai:dataCollection": card["collected"],
        "rai:dataLimitations": card["limits"],
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": "situations-file",
                "name": table,
                "contentUrl": table,
                "encodingFormat": "application/jsonlines",
                "sha256": sha256,
            }
        ],
        "recordSet": [{"@type": "cr:RecordSet", "@id": "situations", "name": "situations", "field": fields}],
    }
    return json.dumps(found, ensure_ascii=False, indent=2) + "\n"


def as_markdown(text: str) -> str:
    """Return somebody's text as one line that Markdown shows as it is, HTML and signs of lists in it, too."""
    return re.sub(r"^(\d*)([#+=~.)-])", r"\1\\\2", flat(html.escape(text, quote=False)))


def readme(card: Mapping[str, Any], table: str) -> str:
    """Return a first page, whose head tells ``datasets`` and the Hugging Face Hub which file holds the rows."""
    head = {
        "pretty_name": card["title"],
        "language": [card["language"]],
        "configs": [{"config_name": "default", "data_files": table}],
    }
    lines = [f"# {as_markdown(card['title'])}, {card['version']}", ""]
    lines += [f"Everyday situations of the culture {as_markdown(card['culture'])}, with responses.", ""]
    lines += [f"- {as_markdown(limit)}" for limit in card["limits"]]
    lines += ["", "Licence, consent and authors stand in card.yaml, how the situations came about in DATASHEET.md."]
    return f"---\n{yaml.safe_dump(head, allow_unicode=True, sort_keys=False)}---\n\n" + "\n".join(lines) + "\n"

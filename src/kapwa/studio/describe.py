"""What travels with a release besides its items: a datasheet of what the studio knows, and Croissant metadata."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from kapwa.analysis.datasheet import Facts, flat, gather, render
from kapwa.studio.models import Membership, Project, Release


class Column(NamedTuple):
    """A column of a released table; ``kind``: "Text" or "Boolean", as Croissant says them."""

    name: str
    kind: str = "Text"
    repeated: bool = False


# No group of fewer people is told of, nor can it be had by taking the others away.
FEWEST = 5
_ASKED = ("age_band", "gender", "locality", "languages")
_OTHER = "others, or not said"


def people_facts(project: Project, authors: Collection[str]) -> dict[str, Any]:
    """Return which consent texts people agreed to, and what they said of themselves in groups of at least five."""
    members = Membership.objects.filter(project=project, author__in=authors).select_related("person")
    told = [one.person.demographics for one in members if one.person is not None]
    groups = {name: anonymous(one.get(name, "") for one in told) for name in _ASKED}
    earlier = [release.facts.get("people", {}) for release in Release.objects.filter(project=project)]
    held = [name for name, now in groups.items() if any(_tells_apart(past.get(name, {}), now) for past in earlier)]
    return {
        "consents": sorted({one.consent_version for one in members if one.consent_version}),
        "people": {name: now for name, now in groups.items() if now and name not in held},
        "held": held,
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


def _tells_apart(past: Mapping[str, int], now: Mapping[str, int]) -> bool:
    """Whether two releases' counts together tell something of fewer than five people: of those who came or left.

    Groups that both name may differ by nobody or by five and more, and so may all others together; where a group is
    named once only, somebody changed, so the others must differ by five and more.
    """
    if not past or not now:
        return False
    both = (past.keys() & now.keys()) - {_OTHER}
    rest = sum(now.values()) - sum(past.values()) - sum(now[name] - past[name] for name in both)
    changes = [abs(rest), *(abs(now[name] - past[name]) for name in both)]
    named_once = (past.keys() ^ now.keys()) - {_OTHER}
    return any(0 < n < FEWEST for n in changes) or bool(named_once and not rest)


def datasheet(project: Project, release: Release, folder: Path, tell: Callable[[Facts, Any], None]) -> str:
    """Return the datasheet of the release in ``folder``; ``tell`` puts in how its items came about."""
    facts, known, source = gather(folder), release.facts, "the studio's log"
    facts.name = f"{project.slug}-{release.version}"
    facts.tell("collection.consent", f"{release.card['consent']} Versions agreed to: {known['consents']}.", source)
    facts.tell("collection.notice", "The consent text is shown before the first task, in each language.", source)
    revoke = "In three depths on their own page; the next release lists what is missing in withdrawn.jsonl."
    facts.tell("collection.revoke", revoke, source, settled=True)
    tell(facts, known)
    facts.tell("collection.time", f"Frozen on {release.date}.", source)
    return render(facts)


def tell_people(sheet: Facts, known: Mapping[str, Any]) -> None:
    """Put what people said of themselves into a datasheet."""
    for name, groups in known["people"].items():
        label = f"{name.replace('_', ' ')} (as people chose to say; groups of at least {FEWEST})"
        sheet.table("collection.workers", [label, "people"], groups.items())
    for name in known.get("held", ()):
        text = f"{name.replace('_', ' ')}: left out: beside an earlier release it would tell of fewer than {FEWEST}."
        sheet.tell("collection.workers", text, "the studio's log")


def listed(counts: Mapping[str, int]) -> str:
    """Return counts in one line."""
    return ", ".join(f"{name} {n}" for name, n in counts.items()) or "none"


# What the context of Croissant 1.0 holds, as its validator asks for it.
_CROISSANT_TERMS = (
    "citeAs column equivalentProperty extract field fileProperty fileObject fileSet format includes isLiveDataset "
    "jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator source "
    "subField transform"
)


def croissant(
    project: Project,
    release: Release,
    card: Mapping[str, Any],
    about: str,
    columns: Mapping[str, Sequence[Column]],
    hashes: Mapping[str, str],
) -> str:
    """Return the release's metadata in Croissant 1.0: its tables, their columns, hashes and licence.

    ``columns`` and ``hashes``: of each table, by its file's name.
    """
    names = {file: Path(file).stem for file in columns}
    fields = {
        file: [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{one.name}",
                "name": one.name,
                "dataType": f"sc:{one.kind}",
                "source": {"fileObject": {"@id": f"{name}-file"}, "extract": {"column": one.name}},
                **({"repeated": True} if one.repeated else {}),
            }
            for one in columns[file]
        ]
        for file, name in names.items()
    }
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
        "description": f"{card['title']}: {about[0].lower()}{about[1:]}",
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
                "@id": f"{name}-file",
                "name": file,
                "contentUrl": file,
                "encodingFormat": "application/jsonlines",
                "sha256": hashes[file],
            }
            for file, name in names.items()
        ],
        "recordSet": [
            {"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields[file]} for file, name in names.items()
        ],
    }
    return json.dumps(found, ensure_ascii=False, indent=2) + "\n"


def as_markdown(text: str) -> str:
    """Return somebody's text as one line that Markdown shows as it is, HTML and signs of lists in it, too."""
    return re.sub(r"^(\d*)([#+=~.)-])", r"\1\\\2", flat(html.escape(text, quote=False)))


def readme(card: Mapping[str, Any], about: str, tables: Sequence[str]) -> str:
    """Return a first page, whose head tells ``datasets`` and the Hugging Face Hub which files hold the rows."""
    names = ["default"] if len(tables) == 1 else [Path(table).stem for table in tables]
    head = {
        "pretty_name": card["title"],
        "language": [card["language"]],
        "configs": [{"config_name": name, "data_files": table} for name, table in zip(names, tables, strict=True)],
    }
    lines = [f"# {as_markdown(card['title'])}, {card['version']}", ""]
    lines += [as_markdown(about), ""]
    lines += [f"- {as_markdown(limit)}" for limit in card["limits"]]
    lines += ["", "Licence, consent and authors stand in card.yaml, how it came about in DATASHEET.md."]
    return f"---\n{yaml.safe_dump(head, allow_unicode=True, sort_keys=False)}---\n\n" + "\n".join(lines) + "\n"

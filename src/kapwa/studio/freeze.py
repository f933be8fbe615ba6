"""Freeze accepted situations as a release: a suite folder that ``kapwa suite add`` and ``kapwa run`` take as it is.

A release is written from what its event holds, so that it comes out the same, byte for byte, as often as it is asked
for. Nothing in it depends on the clock but the date of its event.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kapwa.datasets.card import CARD_NAME
from kapwa.datasets.withdrawn import WITHDRAWN_NAME, withdrawn_hash
from kapwa.errors import UsageError
from kapwa.files import filling
from kapwa.studio.describe import as_markdown, croissant, datasheet, facts_now, readme
from kapwa.studio.events import hold, record, writing
from kapwa.studio.fields import Fields, as_row, key_text
from kapwa.studio.models import Elicited, Event, Membership, Project, Release, Revision, Situation
from kapwa.studio.projections import RefusedError
from kapwa.studio.projections.situations import ACCEPTED, FROZEN
from kapwa.suites.folders.adding import check_folder

_VERSION = re.compile(r"(0|[1-9]\d{0,4})\.(0|[1-9]\d{0,4})\.(0|[1-9]\d{0,4})")
MANIFEST = "release.json"
SITUATIONS = "situations.jsonl"


class Frozen(NamedTuple):
    """A release as it was written: how many rows, which kind of step it is, and how many were withdrawn since.

    ``held``: how many accepted situations are left out, because somebody has not agreed to their publication.
    """

    folder: Path
    version: str
    rows: int
    step: str
    withdrawn: int
    held: int


def freeze(
    project: Project, version: str, out: Path, *, actor: str = "", date: str | None = None, private: float = 0
) -> Frozen:
    """Freeze ``version`` of ``project`` into a folder of ``out``; a version that was frozen before is written again.

    ``date``: YYYY-MM-DD, today (UTC) if not given. ``private``: about this share of situations, with all their
    variations, goes to a folder beside it that is not to be published, marked with a canary; which ones depends on the
    situation alone, so that they stay private in later releases of the same share. Raises UsageError for a version that
    is none or too small a step, where nothing is accepted, and where a withdrawal took away what the version held.
    """
    numbers = _numbers(version)
    with writing(), transaction.atomic():  # a release that cannot be written is none
        hold(project)
        release = Release.objects.filter(project=project, version=version).first()
        if release is None:
            release = _new_release(project, version, numbers, date, actor, private)
        elif private not in (0, release.private):
            message = f"{version} was frozen with a private share of {release.private:g}, and stays so."
            raise UsageError(message, hint=_("Make a new version with another share."))
        return _write(project, release, out)


def _write(project: Project, release: Release, out: Path) -> Frozen:
    version = release.version
    before = Release.objects.filter(project=project, seq__lt=release.seq).last()
    folder = out / f"{project.slug}-{version}"
    files = release_files(project, release)
    if release.private:
        with filling(out / f"{folder.name}-private", anew=True) as fresh:
            for name, content in release_files(project, release, private=True).items():
                (fresh / name).write_bytes(content)
    with filling(folder, anew=True) as fresh:
        for name, content in files.items():
            (fresh / name).write_bytes(content)
        if (errors := check_folder(fresh).errors) and release.items:
            raise UsageError(
                _("The release would not run: %(reason)s") % {"reason": errors[0].message},
                hint=_("Mend that situation, and try again."),
            )
    gone = files[WITHDRAWN_NAME].count(b"\n") if WITHDRAWN_NAME in files else 0
    held = len(accepted_now(project, before).keys() - items_now(project, before).keys())
    step = step_needed(before, release.items, release.card)[0]
    return Frozen(folder, version, len(release.items), step, gone, held)


def _numbers(version: str) -> tuple[int, int, int]:
    match = _VERSION.fullmatch(version)
    if match is None:
        raise UsageError(_("“%(text)s” is no version.") % {"text": version}, hint=_("Three numbers, such as 1.0.0."))
    return int(match[1]), int(match[2]), int(match[3])


def _new_release(
    project: Project, version: str, numbers: tuple[int, int, int], date: str | None, actor: str, private: float
) -> Release:
    before = Release.objects.filter(project=project).order_by("seq").last()
    items = items_now(project, before)
    if not items:
        if accepted_now(project, before):
            message = _("Nobody whose words are in accepted situations agreed to their publication.")
            raise UsageError(message, hint=_("Each may do so on their own page, under what they agreed to."))
        raise UsageError(
            _("No situation of %(project)s is accepted yet.") % {"project": project.slug},
            hint=_("Review some, and accept them."),
        )
    card = card_now(project)
    if before is not None:
        step, why = step_needed(before, items, card)
        last = _numbers(before.version)
        least = {
            "major": (last[0] + 1, 0, 0),
            "minor": (last[0], last[1] + 1, 0),
            "patch": (last[0], last[1], last[2] + 1),
        }[step]
        if numbers < least:
            name = ".".join(map(str, least))
            raise UsageError(
                _("%(version)s is too small a step after %(before)s: %(why)s.")
                % {"version": version, "before": before.version, "why": why},
                hint=_("Make it %(version)s.") % {"version": name},
            )
    authors = sorted({one for pk in items for one in Situation.objects.get(pk=pk).authors})
    body = {
        "version": version,
        "date": _checked_date(date),
        "items": items,
        "card": {**card, "version": version},
        "authors": authors,
        "facts": facts_now(project, items),
        "private": private,
    }
    event = record(project, "release.frozen", body, actor=actor)
    return Release.objects.get(pk=str(event.uuid))


def _checked_date(date: str | None) -> str:
    if date is None:
        return datetime.now(UTC).date().isoformat()
    try:
        return datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=UTC).date().isoformat()
    except ValueError:
        raise UsageError(_("“%(text)s” is no date.") % {"text": date}, hint=_("Write it as 2026-01-31.")) from None


def items_now(project: Project, before: Release | None) -> dict[str, int]:
    """Return the revision of each situation to be frozen: accepted ones without words that may not be published.

    Words stay out whose author has not agreed to their publication. They are also in later variations of the situation,
    and those of an answer in what was made of it.
    """
    members = Membership.objects.filter(project=project)
    unwilling = {one.author for one in members if "publish" not in one.consent_scopes}
    told = set(Elicited.objects.filter(project=project, author__in=unwilling).values_list("id", flat=True))
    theirs = Revision.objects.filter(project=project, author__in=unwilling).order_by("-number")
    first = dict(theirs.values_list("situation", "number"))  # of several the last assigned, which is the earliest
    items, found, clusters = accepted_now(project, before), {}, set()
    for one in Situation.objects.filter(project=project).order_by("number"):
        since = 1 if one.cluster in clusters or one.elicited in told else first.get(one.id)
        if since is not None:
            clusters.add(one.cluster)
        if one.id in items and (since is None or items[one.id] < since):
            found[one.id] = items[one.id]
    return found


def accepted_now(project: Project, before: Release | None) -> dict[str, int]:
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


def step_needed(before: Release | None, items: Mapping[str, int], card: Mapping[str, Any]) -> tuple[str, str]:
    """Return the kind of step a release is ("major", "minor", "patch"; "first" where none was before), and why.

    A text or key changed, or an item gone: major. New items: minor. Only what describes them: patch.
    """
    if before is None:
        return "first", _("it is the first")
    gone = before.items.keys() - items.keys()
    kept = before.items.keys() & items.keys()
    changed = [pk for pk in kept if key_text(_fields(pk, before.items[pk])) != key_text(_fields(pk, items[pk]))]
    if changed or gone:
        new = ngettext(
            "%(n)d of its items is changed in text or key",
            "%(n)d of its items are changed in text or key",
            len(changed),
        )
        less = ngettext("%(n)d of its items is no longer there", "%(n)d of its items are no longer there", len(gone))
        parts = [(len(changed), new), (len(gone), less)]
        return "major", _(" and ").join(what % {"n": n} for n, what in parts if n)
    if items.keys() - before.items.keys():
        n = len(items.keys() - before.items.keys())
        return "minor", ngettext("there is %(n)d new item", "there are %(n)d new items", n) % {"n": n}
    same = {k: v for k, v in before.card.items() if k != "version"} == {k: v for k, v in card.items() if k != "version"}
    unchanged = same and dict(before.items) == dict(items)
    return "patch", _("nothing changed") if unchanged else _("what describes it changed")


def _fields(situation: str, number: int) -> Fields:
    found = Revision.objects.filter(id=f"{situation}:{number}").first()
    return found.fields if found else {}


def card_now(project: Project) -> dict[str, Any]:
    """Return what the card of a release says, but for its authors, who may still withdraw their names."""
    given = [line.strip() for line in project.limits.split("\n") if line.strip()]
    return {
        "culture": project.culture,
        "language": project.language,
        "title": project.title,
        "licence": project.licence,
        "collected": project.collected or "Written and reviewed by members of the community in Kapwa Studio.",
        "consent": "Every contributor agreed to the project's consent text before their first task.",
        "reviewed_by_native_speakers": True,
        "limits": given or ["It holds what the people who took part thought; others of the culture may differ."],
    }


def credits_of(project: Project, authors: list[str]) -> list[str]:
    """Return how the authors of a release want to be credited today, without those who want none."""
    found = []
    for member in Membership.objects.filter(project=project, author__in=authors).select_related("person"):
        if member.credit == "name" and member.person is not None and member.person.name:
            found.append(member.person.name)
        elif member.credit == "pseudonym" and member.pseudonym:
            found.append(member.pseudonym)
    return sorted(" ".join(name.split()) for name in found)


def first_number(situation: Situation) -> int:
    """Return the number of the situation that this one varies, its own where it varies none or that one is gone."""
    first = Situation.objects.filter(pk=situation.cluster).values_list("number", flat=True).first()
    return first or situation.number


def item_id(project: Project, number: int) -> str:
    """Return the id that a situation has in releases, for good."""
    return f"{project.slug}-{number:03d}"


def is_private(project: Project, cluster: str, share: float) -> bool:
    """Say whether a situation (its first item's id) is among the private ``share``; a later release says the same."""
    drawn = hashlib.blake2b(f"{project.salt}\0private\0{cluster}".encode(), digest_size=8).digest()
    return int.from_bytes(drawn, "big") / 2**64 < share


def public_salt(project: Project) -> str:
    """Return the salt that stands in lists of withdrawn items; the project's own, which makes the canary, is secret."""
    return hashlib.blake2b(f"{project.salt}\0withdrawn".encode(), digest_size=16).hexdigest()


def canary(project: Project, version: str) -> str:
    """Return the mark of a private part: where a model knows it, the model has read that part."""
    own = hashlib.blake2b(f"{project.salt}\0canary\0{version}".encode(), digest_size=16).hexdigest()
    return f"kapwa-canary-{own}"


def release_files(project: Project, release: Release, *, private: bool = False) -> dict[str, bytes]:
    """Return the files of a release, or of its private part, by name."""
    situations = {one.id: one for one in Situation.objects.filter(project=project, id__in=list(release.items))}
    missing = [pk for pk in release.items if pk not in situations or not _fields(pk, release.items[pk])]
    if missing:
        raise RefusedError(
            _("%(n)d of the items of %(version)s were withdrawn, so it cannot be written again.")
            % {"n": len(missing), "version": release.version},
            hint=_("Make a new version, which leaves them out."),
        )
    rows, seen = [], set()
    for one in sorted(situations.values(), key=lambda one: one.number):
        fields = _fields(one.id, release.items[one.id])
        mates = {o.number for o in situations.values() if o.cluster == one.cluster}
        cluster = item_id(project, min(mates))
        if is_private(project, item_id(project, first_number(one)), release.private) != private:
            continue
        rows.append(
            as_row(fields, item_id(project, one.number), cluster, culture=project.culture, base=cluster not in seen)
        )
        seen.add(cluster)
    credited = credits_of(project, release.authors)
    card = {**release.card, "authors": credited or [f"Contributors of {release.card['title']}"]}
    if not rows:
        part = "private" if private else "public"
        raise UsageError(f"No situation is {part} at a share of {release.private}.", hint=_("Try another share."))
    if private:
        mark = f"Private: do not publish, nor train on it. {canary(project, release.version)}"
        card["limits"] = [*card["limits"], mark]
    files = {
        SITUATIONS: "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode(),
        CARD_NAME: yaml.safe_dump(card, allow_unicode=True, sort_keys=False, width=100).encode(),
        "CREDITS.md": _credits(card["title"], release, credited).encode(),
        "README.md": readme(card, SITUATIONS).encode(),
    }
    gone = withdrawn(project, release)
    if gone:
        lines = [json.dumps({"salt": public_salt(project), "hash": one}) + "\n" for one in gone]
        files[WITHDRAWN_NAME] = "".join(lines).encode()
    if release.facts:  # releases of the first studios have none
        sha256 = hashlib.sha256(files[SITUATIONS]).hexdigest()
        files["croissant.json"] = croissant(project, release, card, SITUATIONS, sha256).encode()
        with tempfile.TemporaryDirectory(prefix="kapwa-studio-") as place:
            for name, content in files.items():
                (Path(place) / name).write_bytes(content)
            files["DATASHEET.md"] = datasheet(project, release, Path(place)).encode()
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    ids = {item_id(project, one.number): one.id for one in situations.values()}
    manifest = {
        "name": project.slug,
        "version": release.version,
        "date": release.date,
        "items": {row["id"]: release.items[ids[row["id"]]] for row in rows},
        "sha256": hashes,
    }
    files[MANIFEST] = (json.dumps(manifest, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()
    return files


def withdrawn(project: Project, release: Release) -> list[str]:
    """Return the hashes of items that a release before had, and that their authors withdrew since."""
    found = set()
    numbers = dict(
        Event.objects.filter(project=project, kind="situation.drafted", erased=True).values_list("uuid", "body")
    )
    gone = {str(uuid): body["number"] for uuid, body in numbers.items()}
    for before in Release.objects.filter(project=project, seq__lt=release.seq):
        found |= {gone[pk] for pk in before.items if pk in gone}
    return sorted(withdrawn_hash(public_salt(project), item_id(project, number)) for number in found)


def _credits(title: str, release: Release, names: list[str]) -> str:
    lines = [f"# {as_markdown(title)}, {release.version}", "", f"Frozen on {release.date}.", ""]
    unnamed = len(release.authors) - len(names)
    lines += [f"- {as_markdown(name)}" for name in names]
    if unnamed > 0:
        others = "contributor" if unnamed == 1 else "contributors"
        lines.append(f"- {unnamed} {others} who {'is' if unnamed == 1 else 'are'} not named")
    return "\n".join(lines) + "\n"

"""Freeze what people accepted as a release: a suite folder that ``kapwa suite add`` and ``kapwa run`` take as it is.

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
from kapwa.datasets.withdrawn import WITHDRAWN_NAME
from kapwa.errors import UsageError
from kapwa.files import filling
from kapwa.studio.describe import as_markdown, croissant, datasheet, readme
from kapwa.studio.events import hold, record, writing
from kapwa.studio.models import Membership, Project, Release
from kapwa.studio.releasing import form_of
from kapwa.studio.releasing.base import public_salt
from kapwa.suites.folders.adding import check_folder

_VERSION = re.compile(r"(0|[1-9]\d{0,4})\.(0|[1-9]\d{0,4})\.(0|[1-9]\d{0,4})")
MANIFEST = "release.json"


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
                hint=_("Mend that, and try again."),
            )
    gone = files[WITHDRAWN_NAME].count(b"\n") if WITHDRAWN_NAME in files else 0
    form = form_of(project)
    held = len(form.accepted_now(project, before).keys() - form.items_now(project, before).keys())
    step = step_needed(project, before, release.items, release.card)[0]
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
    form = form_of(project)
    items = form.items_now(project, before)
    if not items:
        if form.accepted_now(project, before):
            message = _("Nobody whose words are in what is accepted agreed to their publication.")
            raise UsageError(message, hint=_("Each may do so on their own page, under what they agreed to."))
        raise UsageError(_("Nothing of %(project)s is accepted yet.") % {"project": project.slug}, hint=_(form.REMEDY))
    if lacking := form.missing(project, items):
        raise UsageError(
            _("There is nothing to run without %(what)s.") % {"what": lacking},
            hint=_("Add some, and agree to them."),
        )
    card = card_now(project, items)
    if before is not None:
        step, why = step_needed(project, before, items, card)
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
    body = {
        "version": version,
        "date": _checked_date(date),
        "items": items,
        "card": {**card, "version": version},
        "authors": form.authors_of(items),
        "facts": form.facts(project, items),
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


def step_needed(
    project: Project, before: Release | None, items: Mapping[str, Any], card: Mapping[str, Any]
) -> tuple[str, str]:
    """Return the kind of step a release is ("major", "minor", "patch"; "first" where none was before), and why.

    A text or key changed, or an item gone: major. New items: minor. Only what describes them: patch.
    """
    if before is None:
        return "first", _("it is the first")
    gone = before.items.keys() - items.keys()
    kept = before.items.keys() & items.keys()
    key = form_of(project).key
    changed = [pk for pk in kept if key(pk, before.items[pk]) != key(pk, items[pk])]
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


def card_now(project: Project, items: Mapping[str, Any]) -> dict[str, Any]:
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
        **form_of(project).card(project, items),
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


def canary(project: Project, version: str) -> str:
    """Return the mark of a private part: where a model knows it, the model has read that part."""
    own = hashlib.blake2b(f"{project.salt}\0canary\0{version}".encode(), digest_size=16).hexdigest()
    return f"kapwa-canary-{own}"


def release_files(project: Project, release: Release, *, private: bool = False) -> dict[str, bytes]:
    """Return the files of a release, or of its private part, by name."""
    form = form_of(project)
    made = form.tables(project, release, private=private)
    credited = credits_of(project, release.authors)
    card = {**release.card, "authors": credited or [f"Contributors of {release.card['title']}"]}
    if not made.files:
        part = "private" if private else "public"
        raise UsageError(f"Nothing is {part} at a share of {release.private}.", hint=_("Try another share."))
    if private:
        mark = f"Private: do not publish, nor train on it. {canary(project, release.version)}"
        card["limits"] = [*card["limits"], mark]
    about = form.ABOUT.format(culture=card["culture"])
    files = {
        **made.files,
        **made.others,
        CARD_NAME: yaml.safe_dump(card, allow_unicode=True, sort_keys=False, width=100).encode(),
        "CREDITS.md": _credits(card["title"], release, credited).encode(),
        "README.md": readme(card, about, list(made.files)).encode(),
    }
    gone = sorted(form.withdrawn(project, release))
    if gone:
        lines = [json.dumps({"salt": public_salt(project), "hash": one}) + "\n" for one in gone]
        files[WITHDRAWN_NAME] = "".join(lines).encode()
    if release.facts:  # releases of the first studios have none
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in made.files.items()}
        files["croissant.json"] = croissant(project, release, card, about, made.columns, hashes).encode()
        with tempfile.TemporaryDirectory(prefix="kapwa-studio-") as place:
            for name, content in files.items():
                (Path(place) / name).write_bytes(content)
            files["DATASHEET.md"] = datasheet(project, release, Path(place), form.tell).encode()
    manifest = {
        "name": project.slug,
        "version": release.version,
        "date": release.date,
        "items": made.items,
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())},
    }
    files[MANIFEST] = (json.dumps(manifest, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()
    return files


def _credits(title: str, release: Release, names: list[str]) -> str:
    lines = [f"# {as_markdown(title)}, {release.version}", "", f"Frozen on {release.date}.", ""]
    unnamed = len(release.authors) - len(names)
    lines += [f"- {as_markdown(name)}" for name in names]
    if unnamed > 0:
        others = "contributor" if unnamed == 1 else "contributors"
        lines.append(f"- {unnamed} {others} who {'is' if unnamed == 1 else 'are'} not named")
    return "\n".join(lines) + "\n"

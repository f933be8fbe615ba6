"""Freeze what people accepted as a release: a suite folder that ``kapwa suite add`` and ``kapwa run`` take as it is.

A release is written from what its event holds, so that it comes out the same, byte for byte, as often as it is asked
for. Nothing in it depends on the clock but the date of its event; only credits are those of the day it is written.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import yaml
from django.db import transaction
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kapwa.datasets.canary import COLUMN, PRIVATE_WISH, PUBLIC_WISH, canary
from kapwa.datasets.card import CARD_NAME
from kapwa.datasets.withdrawn import WITHDRAWN_NAME
from kapwa.errors import UsageError
from kapwa.files import digest, filling
from kapwa.studio.core import withdrawals
from kapwa.studio.core.consent import unwilling_authors
from kapwa.studio.core.describe import Tables, croissant, datasheet, languages_of, log_facts, readme
from kapwa.studio.core.forms import release_of
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.log import lock_project, record, single_writer
from kapwa.studio.core.release import LIMITS, Lack, Published, ReleaseForm, is_private, public_salt
from kapwa.studio.core.tables import Event, Membership, Project, Release
from kapwa.suites.eecc.form import MANY_LANGUAGES
from kapwa.suites.folders.adding import check_folder
from kapwa.tables import csv_text
from kapwa.value_types import JsonMapping, JsonObject

_VERSION = re.compile(r"(0|[1-9]\d{0,4})\.(0|[1-9]\d{0,4})\.(0|[1-9]\d{0,4})")
MANIFEST = "release.json"


class Frozen(NamedTuple):
    """A release as it was written: how many rows, and how many were withdrawn since a release before.

    ``held``: how many accepted items a new one leaves out, because somebody has not agreed to their publication.
    """

    folder: Path
    rows: int
    withdrawn: int
    held: int


class ReleasePlan(NamedTuple):
    """What a release made now would be: ``release`` is yet to get its version, date and private share.

    ``step``: the kind of step ("major", "minor", "patch"; "first" where none was before), and ``why``; ``held``: as in
    :class:`Frozen`; ``lacks``: what it cannot be made without, and who must act; ``least``: the lowest version.
    """

    release: Release
    step: str
    why: str
    held: int
    lacks: list[Lack]
    least: str


def freeze(
    project: Project, version: str, out: Path, *, actor: str = "", date: str | None = None, private: float = 0
) -> Frozen:
    """Freeze ``version`` of ``project`` into a folder of ``out``; a version that was frozen before is written again.

    ``date``: YYYY-MM-DD, today (UTC) if not given. ``private``: about this share of situations, with all their
    variations, goes to a folder beside it that is not to be published, marked with a canary; which ones depends on the
    situation alone, so that they stay private in later releases of the same share. Raises UsageError for a version that
    is none or too small a step, and where nothing is accepted; RefusedError where what the version held was removed.
    """
    numbers = _numbers(version)
    with single_writer(), transaction.atomic():  # a release that cannot be written is none
        lock_project(project)
        release, held = Release.objects.filter(project=project, version=version).first(), 0
        if any(withdrawals.undone(project, withdrawals.known())):
            message = _("This project contains words of a person who withdrew: it was restored from an older copy.")
            raise RefusedError(message, hint=_("Whoever runs the studio has to restart it: that removes them again."))
        if release is None:
            plan = plan_release(project)
            _check(plan, version, numbers)
            names = ("items", "card", "authors", "facts", "digests")
            body = {name: getattr(plan.release, name) for name in names}
            body["card"]["version"] = version
            body |= {"version": version, "date": _checked_date(date), "private": private}
            release = Release.objects.get(pk=str(record(project, "release.frozen", body, actor=actor).uuid))
            held = plan.held
        elif private not in (0, release.private):
            message = f"{version} was frozen with a private share of {release.private:g}, and stays so."
            raise UsageError(message, hint=_("Make a new version with another share."))
        folder = out / f"{project.slug}-{version}"
        files = release_files(project, release)
        if release.private:
            _write(release_files(project, release, private=True), out / f"{folder.name}-private")
        _write(files, folder)
    return Frozen(folder, len(release.items), files.get(WITHDRAWN_NAME, b"").count(b"\n"), held)


def _write(files: Mapping[str, bytes], folder: Path) -> None:
    with filling(folder, anew=True) as fresh:
        for name, content in files.items():
            (fresh / name).write_bytes(content)
        if errors := check_folder(fresh).errors:
            message = _("The release would not run: %(reason)s") % {"reason": errors[0].message}
            raise UsageError(message, hint=_("Correct this, and try again."))


def _numbers(version: str) -> tuple[int, int, int]:
    match = _VERSION.fullmatch(version)
    if match is None:
        raise UsageError(_("“%(text)s” is not a version number.") % {"text": version}, hint=_("Write it as 1.0.0."))
    return int(match[1]), int(match[2]), int(match[3])


def _checked_date(date: str | None) -> str:
    try:
        day = datetime.now(UTC) if date is None else datetime.fromisoformat(date)
        return day.date().isoformat()
    except ValueError:
        raise UsageError(_("“%(text)s” is not a date.") % {"text": date}, hint=_("Write it as 2026-01-31.")) from None


def plan_release(project: Project) -> ReleasePlan:
    """Return what a release of ``project`` made now would be."""
    form, unwilling = release_of(project), unwilling_authors(project)
    items, accepted = form.items(unwilling), form.items(())
    authors = form.authors(items) - unwilling
    facts = form.facts(items) | log_facts(project, items, unwilling)
    if against := form.decided_against(items):
        facts["against"] = against
    published = form.published(items, facts)
    tables = _tables(published)
    release = Release(
        project=project,
        items=items,
        card=_card(form, languages_of(tables)),
        authors=sorted(authors),
        facts=facts,
        digests={"tables": _held(tables), "items": form.keys(published)},
    )
    step, why = _step(form, release)
    held = len(accepted.keys() - items.keys())
    return ReleasePlan(release, step, why, held, _lacks(form, tables), _least_version(form, step))


def _least_version(form: ReleaseForm, step: str) -> str:
    """Return the lowest version of a release that is such a step after the last one."""
    if form.last is None:
        return "1.0.0"
    last, place = _numbers(form.last.version), ("major", "minor", "patch").index(step)
    return ".".join(map(str, (*last[:place], last[place] + 1, 0, 0)[:3]))


def _lacks(form: ReleaseForm, tables: Tables) -> list[Lack]:
    """Return what a release lacks: what the form says, else tables without a row that a run needs."""
    rows = [_(Path(name).stem.capitalize()).lower() for name in form.files if name not in tables]
    return form.lacks() or [Lack(name, "home", _("coordinators")) for name in rows]


def _check(plan: ReleasePlan, version: str, numbers: tuple[int, int, int]) -> None:
    """Raise UsageError where a release cannot be made, or ``version`` is too small a step."""
    form = release_of(plan.release.project)
    if not plan.release.items:
        if plan.held:
            message = _("Nobody whose words are in the accepted items has agreed to publication.")
            raise UsageError(message, hint=_("Each of them can agree on the page “Me”, under “What you agreed to”."))
        message = _("%(project)s has no accepted items yet.") % {"project": form.project.slug}
        raise UsageError(message, hint=_(form.remedy))
    if plan.lacks:
        message = _("A release lacks: %(what)s.") % {"what": "; ".join(lack.what for lack in plan.lacks)}
        raise UsageError(message, hint=_("Add some, and agree to them."))
    if form.last is not None and numbers < _numbers(plan.least):
        names = {"version": version, "before": form.last.version, "why": plan.why}
        message = _("%(version)s is too small a step after %(before)s: %(why)s.") % names
        raise UsageError(message, hint=_("Use %(version)s.") % {"version": plan.least})


def _step(form: ReleaseForm, release: Release) -> tuple[str, str]:
    """Return the kind of step a release is, and why.

    A text or key changed, or an item gone: major. New items: minor. Only what describes them: patch.
    """
    before = form.last
    if before is None:
        return "first", _("it is the first release")
    keys = release.digests["items"]
    known = before.digests["items"]
    gone = before.items.keys() - release.items.keys()
    new = release.items.keys() - before.items.keys()
    changed = [pk for pk in release.items if pk not in new and keys.get(pk) != known.get(pk)]
    if n := len(changed):
        why = ngettext("%(n)d item has a changed text or key", "%(n)d items have a changed text or key", n)
        return "major", why % {"n": n}
    if n := len(gone):
        why = ngettext("%(n)d item was removed", "%(n)d items were removed", n)
        return "major", why % {"n": n}
    if n := len(new):
        return "minor", ngettext("there is %(n)d new item", "there are %(n)d new items", n) % {"n": n}
    same = before.card == {**release.card, "version": before.version} and before.items == release.items
    return "patch", _("nothing changed") if same else _("its description changed")


def _card(form: ReleaseForm, languages: Sequence[str]) -> JsonObject:
    """Return what the card of a release says, but for its authors, who may still withdraw their names."""
    project = form.project
    limits = [line.strip() for line in project.limits.split("\n") if line.strip()]
    return {
        "culture": project.culture,
        "language": languages[0] if len(languages) == 1 else MANY_LANGUAGES,
        "title": project.title,
        "licence": project.licence,
        "collected": project.collected or form.collected,
        "consent": "Every contributor agreed to the project's consent text before their first task.",
        "reviewed_by_native_speakers": bool(project.reviewed),  # nobody says so unasked
        "limits": limits or [LIMITS],
    }


def credits_of(project: Project, authors: list[str]) -> list[str]:
    """Return how the authors of a release want to be credited today, without those who want none."""
    members = Membership.objects.filter(project=project, author__in=authors).exclude(credit="").select_related("person")
    names = [member.person.name if member.credit == "name" else member.pseudonym for member in members]
    return sorted(" ".join(name.split()) for name in names if name)


def release_files(project: Project, release: Release, *, private: bool = False) -> dict[str, bytes]:
    """Return the files of a release, or of its private part, by name; raise RefusedError where something is removed."""
    form = release_of(project)
    form.culture = release.card["culture"]
    published = form.published(release.items, release.facts)
    removed = release.items.keys() - {item.item for item in published}
    if removed or release.digests["tables"] != _held(_tables(published)):
        message = _("A text of release %(version)s has been removed, so this release cannot be written again.")
        raise RefusedError(message % {"version": release.version}, hint=_("Make a new version."))
    share = release.private
    published = [
        item for item in published if not item.privacy_unit or is_private(project, item.privacy_unit, share) == private
    ]
    tables = _tables(published)
    if any(name not in tables for name in form.files):
        part = "private" if private else "public"
        raise UsageError(f"Nothing is {part} at a share of {release.private}.", hint=_("Try another share."))
    mark = canary(release.version, project.salt if private else _held(tables), private=private)
    tables = {name: [{**row, COLUMN: mark} for row in rows] for name, rows in tables.items()}
    encoded = _encoded(tables)
    credited = credits_of(project, release.authors)
    card = {**release.card, "authors": credited or [f"Contributors of {release.card['title']}"]}
    card["limits"] = [*card["limits"], f"{PRIVATE_WISH if private else PUBLIC_WISH} {mark}"]
    unnamed = len(release.authors) - len(credited)
    credits_page = {"title": card["title"], "release": release, "names": credited, "unnamed": unnamed, "mark": mark}
    about = form.about.format(culture=card["culture"])
    files = {
        **encoded,
        CARD_NAME: yaml.safe_dump(card, allow_unicode=True, sort_keys=False, width=100).encode(),
        "CREDITS.md": render_to_string("studio/release_credits.md", credits_page).encode(),
        "README.md": readme(card, about, tables).encode(),
    }
    if gone := form.withdrawn(release):
        salt = public_salt(project)
        listed = [{"salt": salt, "hash": gone_hash, COLUMN: mark} for gone_hash in sorted(gone)]
        files[WITHDRAWN_NAME] = _json_lines(listed)
    left = withdrawals.lines(Event.objects.filter(project=project, seq__lt=release.seq).order_by("seq"))
    if left:
        files[withdrawals.NAME] = _json_lines([{**line, COLUMN: mark} for line in left])
    files["croissant.json"] = croissant(release, card, about, tables, _hashes(encoded)).encode()
    with tempfile.TemporaryDirectory(prefix="kapwa-studio-") as place:
        for name, content in files.items():
            (Path(place) / name).write_bytes(content)
        names = {item.item: item.name for item in published}
        files["DATASHEET.md"] = datasheet(release, Path(place), form.mechanism, names).encode()
    manifest = {
        "name": project.slug,
        "version": release.version,
        "date": release.date,
        "canary": mark,
        "items": {item.name: item.revision for item in published},
        "sha256": _hashes(files),
    }
    files[MANIFEST] = (json.dumps(manifest, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()
    return files


def _tables(published: Sequence[Published]) -> dict[str, list[JsonMapping]]:
    tables: defaultdict[str, list[JsonMapping]] = defaultdict(list)
    for item in published:
        for name, rows in item.tables.items():
            tables[name] += rows
    return {name: rows for name, rows in tables.items() if rows}


def _encoded(tables: Tables) -> dict[str, bytes]:
    return {
        name: csv_text(list(rows[0]), [list(row.values()) for row in rows]).encode()
        if name.endswith(".csv")
        else _json_lines(rows)
        for name, rows in tables.items()
    }


def _held(tables: Tables) -> str:
    """Return a hash of what tables hold, however their columns are ordered and whatever the project is called."""
    named = {"id", "cluster", "culture"}
    parts = {}
    for name, rows in tables.items():
        held = [{column: cell for column, cell in row.items() if column not in named} for row in rows]
        parts[name] = json.dumps(held, sort_keys=True).encode()
    return digest(parts)


def _json_lines(rows: Sequence[Mapping[str, object]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}

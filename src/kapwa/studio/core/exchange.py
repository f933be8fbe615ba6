"""Write a project as one archive, and bring it back from one."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DatabaseError, transaction
from django.utils.dateparse import parse_datetime

from kapwa.errors import DataError, UsageError
from kapwa.files import replacing, write_text
from kapwa.studio.core import withdrawals
from kapwa.studio.core.background import count_again
from kapwa.studio.core.erasure import clear_traces
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.freeze import MANIFEST, release_files
from kapwa.studio.core.gate import refuse_strange_packing
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.log import rebuild, single_writer
from kapwa.studio.core.members import hashed, new_code
from kapwa.studio.core.nameless import nameless_rows
from kapwa.studio.core.tables import ConsentText, Event, Invitation, Membership, PeopleCounted, Person, Project, Release
from kapwa.value_types import Cells

_ABOUT = "archive.json"
# Far more than a project of any size needs; an archive that unpacks to more would fill the memory.
_MOST_UNPACKED = 1_000_000_000
# Told in each archive; a later form gets a later number, and this version refuses it.
FORMAT = 1
# What Django raises for rows that no studio wrote.
_STRANGE = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, ValidationError)
# What of a project travels in an archive: (file, table, how its rows name the project, the columns that stay behind).
_TABLES: tuple[tuple[str, Any, str, tuple[str, ...]], ...] = (
    ("project", Project, "pk", ("id", "slug")),
    ("consents", ConsentText, "project", ("id", "project_id")),
    ("people", Person, "memberships__project", ("password", "last_login")),
    ("members", Membership, "project", ("id", "project_id")),
    ("invitations", Invitation, "project", ("id", "project_id")),
    ("counts", PeopleCounted, "project", ("id", "project_id")),
    ("events", Event, "project", ("seq", "project_id")),
)
# What archives of earlier versions lack.
_NEWER = ("counts",)


def export_project(project: Project, out: Path, *, whole: bool = True, secret: Path | None = None) -> int:
    """Write a project, its people and its log into an archive; return how many events it holds.

    Whoever has a ``whole`` archive has everything people said of themselves. Codes in it are hashes that only this
    studio's secret can read. One that is not whole holds nothing that the project's pages do not show its coordinators
    (:func:`~kapwa.studio.core.nameless.nameless_rows`); people come in anew. The project's secret, by which
    answers that were erased could be guessed from decisions on them, is in no archive; it goes to the file ``secret``.
    """
    rows = {name: list(_rows(project, *table)) for name, *table in _TABLES}
    (about,) = rows["project"]
    salt = about.pop("salt")
    if not whole:
        rows |= nameless_rows(project, rows["members"], rows["events"])
    if secret is not None:
        write_private(secret, salt)
    with replacing(out) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_ABOUT, json.dumps({"format": FORMAT, "whole": whole}) + "\n")
        for name, table_rows in rows.items():
            lines = (json.dumps(row, ensure_ascii=False, cls=DjangoJSONEncoder) for row in table_rows)
            archive.writestr(f"{name}.jsonl", "".join(f"{line}\n" for line in lines))
    out.chmod(0o600)
    return len(rows["events"])


def _rows(project: Project, model: Any, by: str, left_behind: Iterable[str]) -> Iterable[Cells]:
    for row in model.objects.filter(**{by: project.pk}).order_by("pk").values():
        if row.get("member_id"):  # ids of rows differ from database to database, authors do not
            row["member_id"] = Membership.objects.get(pk=row["member_id"]).author
        yield {name: value for name, value in row.items() if name not in left_behind}


def import_project(slug: str, archive: Path, *, secret: Path | None = None, withdrawn: Path | None = None) -> Project:
    """Bring a project back from an archive under the name ``slug``; its tables are made from its events.

    Whoever withdrew, by the file beside the database or by ``withdrawn``, is withdrawn in it again. ``secret``: the
    file that its export wrote; without it decisions on answers name none, and private shares are drawn anew.
    Raises UsageError where the name is taken or the project is here already, DataError for a file that is no archive,
    is too large, or holds what this version does not know; then nothing is changed.
    """
    tables = read_archive(archive)
    if secret is not None:
        tables["project"][0]["salt"] = read_private(secret)
    if withdrawn is not None and not withdrawn.is_file():
        hint = "Name the withdrawals.jsonl of a release, or leave it out."
        raise UsageError(f"There is no file {withdrawn}.", hint=hint)
    files = [withdrawn] if withdrawn else []
    known = withdrawals.known(*files)
    try:
        made = _put_back(slug, tables, known)
    except (DatabaseError, *_STRANGE) as error:
        message = f"holds what this version of Kapwa cannot read ({type(error).__name__}: {error})."
        raise DataError(message, path=archive, hint="Was it made by a newer one? Nothing was changed.") from None
    withdrawals.keep(*files)
    # The database never held what was withdrawn, but for the transaction that took it away.
    transaction.on_commit(clear_traces, robust=True)
    return made


def read_archive(archive: Path) -> dict[str, list[Cells]]:
    """Return the rows of an archive's tables; raise DataError for what is none, or is too large."""
    try:
        with zipfile.ZipFile(archive) as opened:
            refuse_strange_packing(archive, opened)
            if (form := json.loads(opened.read(_ABOUT))["format"]) != FORMAT:
                message = f"is an archive of format {form!r}; this version of Kapwa reads format {FORMAT}."
                raise DataError(message, path=archive, hint="Update Kapwa. Nothing was changed.")
            names = set(opened.namelist())
            there = [name for name, *_table in _TABLES if name not in _NEWER or f"{name}.jsonl" in names]
            files = {name: opened.getinfo(f"{name}.jsonl") for name in there}
            if sum(file.file_size for file in files.values()) > _MOST_UNPACKED:
                raise DataError(f"unpacks to more than {_MOST_UNPACKED:,} bytes.", path=archive)
            return {name: [] for name in _NEWER} | {
                name: [json.loads(line) for line in opened.read(file).decode().split("\n") if line]
                for name, file in files.items()
            }
    except (OSError, LookupError, TypeError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error):
        raise DataError("is not an archive of a project.", path=archive, hint="Make one: kapwa studio export") from None


def lacking(kept: Path) -> list[str]:
    """Say what an archive, or the folder of a release, holds that the database does not; erased events count as there.

    Raises DataError for what is neither.
    """
    if kept.is_dir():
        try:
            about = json.loads((kept / MANIFEST).read_text(encoding="utf-8"))
            release = Release.objects.filter(project__slug=about["name"], version=about["version"]).first()
            private = kept.name.endswith("-private")
            files = release_files(release.project, release, private=private) if release else {MANIFEST: b"{}"}
            same = json.loads(files[MANIFEST]).get("items") == about["items"]
        except (OSError, ValueError, LookupError, TypeError):
            raise DataError("is not the folder of a release.", path=kept, hint="Name one that was published.") from None
        except RefusedError as error:
            return [f"{kept}: {error.summary}"]
        return [] if same else [f"{kept}: the database {'makes another' if release else 'has no such'} release"]
    kept_ids = {str(row.get("uuid")) for row in read_archive(kept)["events"]}
    gone = kept_ids.difference(map(str, Event.objects.values_list("uuid", flat=True)))
    return [f"{kept}: {len(gone)} of its {len(kept_ids)} events are not in the database"] if gone else []


def write_private(path: Path, salt: str) -> None:
    """Write a project's secret into a file that only its owner may read."""
    write_text(path, f"{salt}\n")
    path.chmod(0o600)


def read_private(path: Path) -> str:
    """Return a project's secret from the file that its export wrote; raise DataError for a file that holds none."""
    try:
        salt = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        salt = ""
    if not re.fullmatch(r"[0-9a-f]{8,32}", salt):
        raise DataError("holds no secret of a project.", path=path, hint="kapwa studio export NAME --secret FILE")
    return salt


def _put_back(slug: str, tables: dict[str, list[Cells]], withdrawn: Mapping[str, str]) -> Project:
    with single_writer(), transaction.atomic():
        if Project.objects.filter(slug=slug).exists():
            raise UsageError(f"A project {slug!r} already exists.", hint="Import the archive under another name.")
        ids = [row["uuid"] for row in tables["events"][:500]]
        codes = [row["code"] for row in tables["invitations"][:500]]
        if Event.objects.filter(uuid__in=ids).exists() or Invitation.objects.filter(code__in=codes).exists():
            hint = "Import it into another studio: --home FOLDER"
            raise UsageError("This studio already has the project of this archive.", hint=hint)
        project = Project.objects.create(slug=slug, **tables["project"][0])
        form_of(project)  # of a form that this version knows
        for row in tables["consents"]:
            ConsentText.objects.create(project=project, **row)
        for row in tables["people"]:
            # Who is here keeps their code of today; who comes without one is let back in by a coordinator.
            Person.objects.get_or_create(id=row.pop("id"), defaults={"access": hashed(new_code()), **row})
        for row in tables["members"]:
            Membership.objects.create(project=project, **row)
        for row in tables["invitations"]:
            member = Membership.objects.filter(project=project, author=row.pop("member_id") or "").first()
            Invitation.objects.create(project=project, member=member, **row)
        for row in tables["counts"]:
            PeopleCounted.objects.create(project=project, **row)
        times = ("device_time", "server_time")
        rows = [row | {name: row[name] and parse_datetime(row[name]) for name in times} for row in tables["events"]]
        events = Event.objects.bulk_create([Event(project=project, **row) for row in rows], batch_size=500)
        rebuild(project)
        known = dict(withdrawn) | {line["who"]: line["depth"] for line in withdrawals.lines(events)}
        withdrawals.redo(project, known)
        count_again(project)
    return project

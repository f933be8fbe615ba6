"""What the pages share: showing a template of a project, and recording what a form says as an event."""

from __future__ import annotations

import io
import uuid as uuids
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.people.agreement import NAMES
from kapwa.studio.core.desks import offered
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.log import record
from kapwa.studio.core.members import names, waiting_back
from kapwa.studio.core.roles import COORDINATORS, INTERPRETERS, MERGERS, MODERATORS, REVIEWERS, TRANSLATORS, WRITERS
from kapwa.studio.core.security import Visit
from kapwa.studio.core.tables import Event

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
COEFFICIENTS_SHOWN = ("percent", "krippendorff-nominal")


def show(visit: Visit, template: str, /, status: int = 200, **context: Any) -> HttpResponse:
    """Return the page ``studio/TEMPLATE.html`` with what every page of a project shows."""
    common = {
        "project": visit.project,
        "member": visit.member,
        "names": SimpleLazyObject(lambda: names(visit.project)),  # of hundreds of people, where a page names any
        "coordinates": visit.may(COORDINATORS),
        "writes": visit.may(WRITERS),
        "reviews": visit.may(REVIEWERS),
        "moderates": visit.may(MODERATORS),
        "translates": visit.may(TRANSLATORS),
        "form": form_of(visit.project),
        "merges": visit.may(MERGERS),
        "interprets": visit.may(INTERPRETERS),
        "returning": SimpleLazyObject(lambda: waiting_back(visit.member, moderates=visit.may(MODERATORS)).exists()),
        "works": bool(offered(visit.member)),
        "model": getattr(settings, "KAPWA_MODEL", ""),
    }
    return render(visit.request, f"studio/{template}.html", common | context, status=status)


def act(visit: Visit, kind: str, body: Mapping[str, Any], **about: Any) -> Event:
    """Record what the posted form says. Its hidden ``uuid`` makes a form that is sent twice count once."""
    return record(visit.project, kind, body, actor=visit.member.author, uuid=form_number(visit.request), **about)


def form_number(request: HttpRequest) -> uuids.UUID | None:
    """Return the number that a form brought with it; raise UsageError for what is none."""
    try:
        return uuids.UUID(request.POST["uuid"]) if request.POST.get("uuid") else None
    except ValueError:
        raise UsageError(_("The form's number is damaged."), hint=_("Reload the page.")) from None


def whole(text: str | None, default: int = 0, most: int = 10_000) -> int:
    """Return a posted whole number within 0 to ``most``; raise UsageError for what is none."""
    if not (text or "").strip():
        return default
    digits = str(text).strip()
    if not digits.isdecimal() or len(digits) > 9 or int(digits) > most:
        raise UsageError(_("“%(text)s” is not a whole number up to %(most)d.") % {"text": text, "most": most})
    return int(digits)


def named_agreement(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return those of the rows of coefficients that pages show, each with its ``name``."""
    return [{**row, "name": NAMES[row["coefficient"]]} for row in rows if row["coefficient"] in COEFFICIENTS_SHOWN]


def as_file(content: bytes | str, name: str, kind: str = "application/zip") -> HttpResponse:
    """Return something to be kept as a file; ``kind``: its content type."""
    return HttpResponse(content, content_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def zipped(files: Mapping[str, bytes], name: str) -> HttpResponse:
    """Return files as a ZIP archive of the folder ``name``, the same bytes at each download."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for file, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(f"{name}/{file}"), content, zipfile.ZIP_DEFLATED)
    return as_file(out.getvalue(), f"{name}.zip")

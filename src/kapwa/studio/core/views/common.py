"""What the pages share: showing a template of a project, and recording what a form says as an event."""

from __future__ import annotations

import io
import uuid as uuids
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.people.agreement import NAMES
from kapwa.studio.core.desks import collects, offered
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.log import record
from kapwa.studio.core.members import ask_back, names, waiting_back
from kapwa.studio.core.roles import (
    COORDINATOR,
    COORDINATORS,
    INTERPRETERS,
    MERGERS,
    MODERATORS,
    REVIEWERS,
    TRANSLATORS,
    WRITERS,
)
from kapwa.studio.core.security import Visit
from kapwa.studio.core.tables import ID, Event, Membership
from kapwa.studio.core.text import LONGEST, tidy
from kapwa.studio.settings import LOCAL, remembered_address

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
COEFFICIENTS_SHOWN = ("percent", "krippendorff-nominal")


def show(visit: Visit, template: str, /, status: int = 200, **context: Any) -> HttpResponse:
    """Return the page ``studio/TEMPLATE.html`` with what every page of a project shows."""
    memberships = Membership.objects.filter(person=visit.member.person_id, left=None)
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
        "elsewhere": SimpleLazyObject(lambda: memberships.count() > 1),
        "returning": SimpleLazyObject(lambda: waiting_back(visit.member, moderates=visit.may(MODERATORS)).exists()),
        "works": bool(offered(visit.member)) or (visit.may(MODERATORS) and collects(visit.project)),
        "longest": LONGEST,
        "model": getattr(settings, "KAPWA_MODEL", ""),
        "mails": settings.KAPWA_MAIL,
    }
    return render(visit.request, f"studio/{template}.html", common | context, status=status)


def act(visit: Visit, kind: str, body: Mapping[str, Any], **about: Any) -> Event:
    """Record what the posted form says. Its hidden ``uuid`` makes a form that is sent twice count once."""
    return record(visit.project, kind, body, actor=visit.member.author, uuid=form_number(visit.request), **about)


def address_for_others(request: HttpRequest) -> str:
    """Return an address of the studio by which others come, who may be on phones."""
    only_here = urlsplit(f"//{request.get_host()}").hostname in LOCAL  # where no phone comes, but to the shared address
    return remembered_address() if only_here else request.build_absolute_uri()


def agree_to_shown(visit: Visit, kind: str, text: str, **more: Any) -> int:
    """Record that the visitor agrees to all that a form showed but the exceptions, each by an event of its own.

    The form's ``shown`` and ``except`` are ``SUBJECT:TEXT``; the event's body has the text under the name ``text``.
    Returns how many could not be agreed to, such as one that somebody changed meanwhile.
    """
    post = visit.request.POST
    form = form_number(visit.request) or uuids.uuid4()
    refused = 0
    for shown in [text for text in post.getlist("shown") if text not in post.getlist("except")]:
        subject, _sep, seen = shown.partition(":")
        about = {"actor": visit.member.author, "uuid": uuids.uuid5(form, shown), "subject": subject[:ID]}
        try:
            with transaction.atomic():
                record(visit.project, kind, {text: seen[:ID], **more}, **about)
        except RefusedError:
            refused += 1
    return refused


def form_number(request: HttpRequest) -> uuids.UUID | None:
    """Return the number that a form brought with it; raise UsageError for what is none."""
    try:
        return uuids.UUID(request.POST["uuid"]) if request.POST.get("uuid") else None
    except ValueError:
        raise UsageError(_("The form's number is damaged."), hint=_("Reload the page.")) from None


def reason_of(request: HttpRequest) -> str:
    """Return why somebody does not want a text; raise UsageError where they do not say it."""
    reason = tidy(request.POST.get("reason", ""))
    if not reason:
        raise UsageError(_("The reason is missing."), hint=_("Write what is wrong with the text, or a better one."))
    return reason


def retirement(request: HttpRequest) -> dict[str, Any]:
    """Return the body of an event that takes something out of use, with why, or back into it."""
    return {"retired": False} if request.POST.get("back") == "yes" else {"retired": True, "reason": reason_of(request)}


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


def shown_code(request: HttpRequest, code: str, role: str = "") -> tuple[str, str, str, str]:
    """Return a code, its link, the link as a picture, and for whom it is."""
    import segno

    link = urljoin(address_for_others(request), f"/join/{code}/")
    return code, link, segno.make(link, error="m").svg_data_uri(scale=4, border=2), role


def show_code(request: HttpRequest, member: Membership, code: str, onward: str, **context: Any) -> HttpResponse:
    """Show somebody their new code; coordinators also get another, to come back with when they lose it."""
    recovery = recovery_code(member) if COORDINATOR in member.roles else ""
    return render(request, "studio/code.html", {"code": code, "recovery": recovery, "onward": onward, **context})


def recovery_code(member: Membership) -> str:
    """Return a fresh code by which a member comes back who loses their own; in a transaction."""
    record(member.project, "member.recovery", {}, actor=member.author, subject=member.author)
    return ask_back(member, member.author)


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

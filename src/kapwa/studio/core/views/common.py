"""What the pages share: showing a template of a project, and recording what a form says as an event."""

from __future__ import annotations

import io
import json
import uuid as uuids
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from django import forms
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.labels.agreement import NAMES
from kapwa.studio.core.consent import PUBLISH, SCOPES
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.gate import MOST_RECORDS
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.log import record
from kapwa.studio.core.members import ask_back, names, waiting_back
from kapwa.studio.core.menu import menu
from kapwa.studio.core.posted import PageForm, form_number, posted
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
from kapwa.studio.core.tables import ID, Event, Membership, Project, change
from kapwa.studio.core.text import LONGEST
from kapwa.studio.core.views.fields import WHY, TypedField
from kapwa.studio.settings import LOCAL, remembered_address
from kapwa.value_types import Cells, JsonMapping, JsonObject

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
COEFFICIENTS_SHOWN = ("percent", "krippendorff-nominal")


def show(visit: Visit, template: str, /, status: int = 200, **context: object) -> HttpResponse:
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
        "menu": SimpleLazyObject(lambda: menu(visit)),
        "merges": visit.may(MERGERS),
        "interprets": visit.may(INTERPRETERS),
        "elsewhere": visit.member.elsewhere,
        "returning": visit.member.somebody_waits and waiting_back(visit.member, moderates=visit.may(MODERATORS)),
        "asks_publication": SimpleLazyObject(lambda: asks_publication(visit)),
        "unread": visit.member.unread,
        "longest": LONGEST,
        "model": getattr(settings, "KAPWA_MODEL", ""),
        "mails": settings.KAPWA_MAIL,
    }
    return render(visit.request, f"studio/{template}.html", common | context, status=status)


def act(visit: Visit, kind: str, body: JsonMapping, *, once: bool = False, **about: Any) -> Event:
    """Record what the posted form says. Its hidden ``uuid`` makes a form that is sent twice count once.

    ``once``: where the last that the visitor did of this kind said the very same, as a form does to which somebody went
    back, it is that event.
    """
    alike = Event.objects.filter(project=visit.project, kind=kind, actor=visit.member.author, erased=False)
    last = alike.order_by("seq").last() if once else None
    same = json.loads(json.dumps(dict(body)))
    if last and {name: value for name, value in last.body.items() if name != "number"} == same:
        return last
    return record(visit.project, kind, body, actor=visit.member.author, uuid=form_number(visit.request), **about)


def address_for_others(request: HttpRequest) -> str:
    """Return an address of the studio by which others come, who may be on phones."""
    only_here = urlsplit(f"//{request.get_host()}").hostname in LOCAL  # where no phone comes, but to the shared address
    return remembered_address() if only_here else request.build_absolute_uri()


# What somebody hands in, so that it can be published.
_HANDED_IN = ("situation.submitted", "question.written", "concept.added", "identity.added", "template.added")


def asks_publication(visit: Visit) -> bool:
    """Whether somebody who does not allow publication hands something in for the first time, and is asked once more."""
    if PUBLISH in visit.member.consent_scopes:
        return False
    theirs = Event.objects.filter(project=visit.project, actor=visit.member.author, kind__in=_HANDED_IN)
    return not theirs.exists()


class PublishForm(PageForm):
    """Whether somebody who handed something in allows its publication; no is said with "no"."""

    publish = forms.TypedChoiceField(
        choices=[("yes", ""), ("no", "")], required=False, coerce=lambda said: said == "yes"
    )


def take_publication(visit: Visit) -> None:
    """Allow publication where a form says that its author allows it now."""
    member, said = visit.member, PublishForm(posted(visit.request))
    if not said.is_valid() or not said.cleaned_data["publish"] or PUBLISH in member.consent_scopes:
        return
    change(member, consent_scopes=[scope for scope in SCOPES if scope in {*member.consent_scopes, PUBLISH}])
    to_what = {"version": member.consent_version, "scopes": member.consent_scopes}
    record(visit.project, "member.agreed", to_what, actor=member.author, subject=member.author)


class ShownForm(PageForm):
    """What people think of texts that a page showed, each as ``SUBJECT:TEXT``: ``shown``, and those they refuse.

    ``reason_SUBJECT``: why they refuse it.
    """

    def __init__(self, posted: QueryDict | None) -> None:
        super().__init__(posted)
        self.shown = posted.getlist("shown") if posted else []
        self.refused = dict.fromkeys(posted.getlist("except")) if posted else {}
        for one in self.refused:
            self.fields[self._reason(one)] = TypedField(wrong=_(WHY[1]))

    @staticmethod
    def _reason(one: str) -> str:
        return f"reason_{one.partition(':')[0]}"

    def clean(self) -> None:
        """Refuse more texts than a page shows."""
        if len(self.shown) > MOST_RECORDS:
            wrong = _("This form is damaged or too large, and nothing was saved.")
            raise UsageError(wrong, hint=_("Send less at once."))

    def agrees(self, one: str) -> bool:
        """Whether somebody agrees to a text."""
        return one in self.shown and one not in self.refused

    def said(self) -> Iterator[tuple[str, str, JsonObject]]:
        """Yield each text with its subject, and why it is refused where it is."""
        for one in dict.fromkeys([*self.shown, *self.refused]):
            reason = {"reason": self.cleaned_data[self._reason(one)]} if one in self.refused else {}
            yield one, one.partition(":")[0], reason


def judge_shown(visit: Visit, form: ShownForm, agreed: str, refused: str, text: str, **more: object) -> int:
    """Record that the visitor agrees to what a page showed, or refuses it for a reason, by an event of its own each.

    ``form`` is valid. Each event's body has the text under the name ``text``. What was not on the screen, the form does
    not send. Returns how many texts had changed meanwhile, which are left as they are.
    """
    number = form_number(visit.request) or uuids.uuid4()
    changed = 0
    for one, subject, reason in form.said():
        about = {"actor": visit.member.author, "uuid": uuids.uuid5(number, one), "subject": subject[:ID]}
        body = {text: one.partition(":")[2][:ID], **more, **reason}
        try:
            with transaction.atomic():
                record(visit.project, refused if reason else agreed, body, **about)
        except RefusedError:
            changed += 1
    return changed


def whole(text: str | None, default: int = 0, most: int = 10_000) -> int:
    """Return a whole number of an address within 0 to ``most``; raise UsageError for what is none."""
    if not (text or "").strip():
        return default
    digits = str(text).strip()
    if not digits.isdecimal() or len(digits) > 9 or int(digits) > most:
        raise UsageError(_("“%(text)s” is not a whole number up to %(most)d.") % {"text": text, "most": most})
    return int(digits)


def named_agreement(rows: Iterable[Mapping[str, object]]) -> list[Cells]:
    """Return those of the rows of coefficients that pages show, each with its ``name``."""
    return [{**row, "name": NAMES[row["coefficient"]]} for row in rows if row["coefficient"] in COEFFICIENTS_SHOWN]


class CodeShown(NamedTuple):
    """A code as a slip shows it: its link, also as a picture; the project, and the roles of whom it lets in."""

    code: str
    link: str
    picture: str
    title: str
    roles: Sequence[str]


def shown_code(request: HttpRequest, code: str, project: Project, roles: Sequence[str]) -> CodeShown:
    """Return a code as a slip shows it."""
    link = urljoin(address_for_others(request), f"/join/{code}/")
    return CodeShown(code, link, picture_of(link), project.title, roles)


def picture_of(link: str) -> str:
    """Return a link as a picture for a phone's camera (a QR code), as an address that holds it all."""
    import segno

    return segno.make(link, error="m").svg_data_uri(scale=4, border=2)


def show_code(
    request: HttpRequest, member: Membership, code: str, onward: str, *, recovery: str = "", **context: object
) -> HttpResponse:
    """Show somebody their new code; coordinators also get another, to come back with when they lose it."""
    recovery = recovery or (recovery_code(member) if COORDINATOR in member.roles else "")
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

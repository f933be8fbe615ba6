"""Asking a model about many situations: a page that grows by a line with each answer, with or without scripts."""

from __future__ import annotations

import time
from collections.abc import Iterator

from django.db import transaction
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kapwa.errors import KapwaError, UsageError
from kapwa.report.wording import duration
from kapwa.studio.asking import NO_MODEL, ask, model_name
from kapwa.studio.checks import check_fields
from kapwa.studio.events import record, writing
from kapwa.studio.models import Membership, Situation
from kapwa.studio.projections.situations import FROZEN
from kapwa.studio.roles import MODERATORS, WRITERS
from kapwa.studio.security import Visit, page
from kapwa.studio.views.common import show

_LINES = "<!-- lines -->"
_MADE_OF_IT = {
    True: gettext_lazy("an irrelevant response is likelier than the best, or as likely"),
    False: gettext_lazy("the best is likelier than every irrelevant response"),
    None: gettext_lazy("it answered"),
}


@page("ask/", read=WRITERS, write=WRITERS, alone=False)
def ask_many(request: HttpRequest, visit: Visit) -> HttpResponseBase:
    """Ask the model about what it was not asked yet, one after another; each answer is kept as soon as it is there."""
    found = _unasked(visit)
    if request.method != "POST":
        return show(request, visit, "ask", situations=found)
    if not model_name():
        raise UsageError(_("No model is configured."), hint=str(NO_MODEL))
    if not found:
        raise UsageError(_("There is nothing left to ask about."), hint=_("Finish a draft, or change one, first."))
    whole = show(request, visit, "ask", situations=found, running=True).content.decode()
    answer = StreamingHttpResponse(_lines(visit, found, *whole.split(_LINES)))
    answer["X-Accel-Buffering"] = "no"  # a proxy must not keep the lines back
    return answer


def _unasked(visit: Visit) -> list[Situation]:
    """Return whole situations, the member's own or, for moderators, all, that this model has not seen as they read."""
    return [
        one
        for one in Situation.objects.filter(project=visit.project).exclude(state=FROZEN).order_by("number")
        if (visit.may(MODERATORS) or visit.member.author in one.authors)
        and all((seen["revision"], seen.get("asked")) != (one.revision, model_name()) for seen in one.model_seen)
        and not any(said.severity == "error" for said in check_fields(one.fields))
    ]


def _lines(visit: Visit, found: list[Situation], head: str, tail: str) -> Iterator[str]:
    """Give the page in pieces; it ends early, and says why, where the model fails or the member left meanwhile."""
    yield head
    begun = time.monotonic()
    for done, one in enumerate(found, start=1):
        try:
            body = {**ask(one.fields), "revision": one.revision}
            with writing(), transaction.atomic():
                if not Membership.objects.filter(pk=visit.member.pk, left=None).exists():
                    raise UsageError(_("You left the project."))
                record(visit.project, "situation.asked", body, actor=visit.member.author, subject=one.id)
        except KapwaError as error:
            yield format_html(
                "<li>{}: {} {}</li>",
                _("Situation %(number)s") % {"number": one.number},
                error.summary,
                _("Nothing more is asked."),
            )
            break
        address = reverse("situation", kwargs={"project": visit.project.slug, "number": one.number})
        left = (time.monotonic() - begun) / done * (len(found) - done)
        more = _("; about %(time)s to go") % {"time": duration(left)} if left else ""
        line = '<li>{}: <a href="{}">{}</a>: {}{}</li>'
        situation = _("Situation %(number)s") % {"number": one.number}
        place = _("%(done)d of %(all)d") % {"done": done, "all": len(found)}
        yield format_html(line, place, address, situation, _MADE_OF_IT[body["fails"]], more)
    yield tail

"""What coordinators tell a group: what waits, without a name; and what those who allow it have done."""

from __future__ import annotations

from urllib.parse import urljoin

from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from kapwa.studio.core.consent import PROGRESS
from kapwa.studio.core.desks import nameless_kinds
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.reminders import as_message, waiting_for_anybody
from kapwa.studio.core.roles import COORDINATORS, MODERATORS
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import Event, Membership
from kapwa.studio.core.views.common import address_for_others, show


@page("share/", read=MODERATORS)
def share(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show what waits as a text to share in a chat group."""
    address = urljoin(address_for_others(request), reverse("home", args=[visit.project.slug]))
    return show(visit, "share", message=as_message(visit.project, waiting_for_anybody(visit.project), address))


@page("activity/", read=COORDINATORS)
def activity(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Say how much those members who allow it have done, and on which day they did something last.

    What has no name in the log is not counted: its number would be that of somebody's answers on other pages.
    """
    acts = Event.objects.filter(project=visit.project).exclude(kind__startswith="member.")
    acts = acts.exclude(kind__in=nameless_kinds()).exclude(uuid__in=form_of(visit.project).hidden(visit.project))
    acts = acts.values_list("actor")
    done = {author: (n, last) for author, n, last in acts.annotate(Count("pk"), Max("server_time"))}
    members = Membership.objects.filter(project=visit.project, left=None).order_by("pseudonym")
    rows = [(member, *done.get(member.author, (0, None))) for member in members if PROGRESS in member.consent_scopes]
    return show(visit, "activity", rows=rows, others=len(members) - len(rows))

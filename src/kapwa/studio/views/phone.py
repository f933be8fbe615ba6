"""What a phone asks for: who is here, tasks to take along, and a place to send what was filled in."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext_lazy
from django.views.decorators.gzip import gzip_page

from kapwa.studio.desks import desk_of
from kapwa.studio.devices import MOST_TASKS, as_json, packed, read_records, take, token_of
from kapwa.studio.models import Person
from kapwa.studio.roles import EVERYONE
from kapwa.studio.security import Visit, page
from kapwa.studio.views.common import whole
from kapwa.studio.views.desk import draw, waiting


def _json(found: Any) -> HttpResponse:
    return HttpResponse(as_json(found), content_type="application/json")


@page("sync/", read=EVERYONE, write=EVERYONE, api=True)
def sync(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Say who is here and what work there is; posted to, take records, each answered for alone."""
    person = request.user
    assert isinstance(person, Person)
    if request.method == "POST":
        return _json({"records": [take(visit.member, person, one) for one in read_records(request.body)]})
    desks = [{"name": desk.name, "title": str(desk.title()), "left": left} for desk, left in waiting(visit.member)]
    return _json({"person": token_of(person), "csrf": get_token(request), "desks": desks})


@page("work/<slug:desk>/batch/", read=EVERYONE, api=True)
@gzip_page
def batch(request: HttpRequest, visit: Visit, desk: str) -> HttpResponse:
    """Give tasks to take along, leased to the member."""
    found = desk_of(visit.member, desk)
    count = whole(request.GET.get("n"), MOST_TASKS, MOST_TASKS)
    return _json(packed(found, draw(found, visit.member, count, along=True)))


# What the page that works without a network says; its script has no words of its own.
TEXTS = {
    "save": gettext_lazy("Save, and go on"),
    "missing": gettext_lazy("Nothing is filled in here. Fill it in, or finish another way."),
    "thanks": gettext_lazy("Thank you. Nothing waits for you here now."),
    "unsent": gettext_lazy("Answers on this phone that are not sent yet: {n}."),
    "last": gettext_lazy("Last sent and fetched: {time}."),
    "never": gettext_lazy("Nothing was sent or fetched yet."),
    "desk": gettext_lazy("{title} ({n})"),
    "again": gettext_lazy("Try again"),
    "remove": gettext_lazy("Delete"),
    "sure": gettext_lazy("Delete this answer for good?"),
    "unsaved": gettext_lazy("This could not be saved on the phone. Make room on it, and press the button again."),
    "already": gettext_lazy("You answered this in another window. The first answer stands."),
    "offline": gettext_lazy("There is no network now. What you fill in is kept on this phone, and sent later."),
    "signed_out": gettext_lazy("You are not here any more. Nothing is lost: come in again, and it is sent."),
    "failed": gettext_lazy("That did not work. Nothing is lost; it is tried again later."),
}


@page("phone/", read=EVERYONE)
def phone(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the page that browsers keep to work without a network; nothing in it is about the person who asks."""
    texts = {name: str(text) for name, text in TEXTS.items()}
    return render(request, "studio/phone.html", {"project": visit.project, "texts": texts})


@page("phone/manifest.json", read=EVERYONE)
def manifest(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Say how the page is installed as an application."""
    at = reverse("phone", args=[visit.project.slug])
    found = {
        "name": visit.project.title,
        "short_name": visit.project.title[:24],
        "id": at,
        "start_url": at,
        "scope": at,
        "display": "standalone",
        "background_color": "#fefefe",
        "theme_color": "#0a6c74",
        "icons": [{"src": static("studio/icon.svg"), "sizes": "any", "type": "image/svg+xml", "purpose": "any"}],
    }
    return HttpResponse(as_json(found), content_type="application/manifest+json")

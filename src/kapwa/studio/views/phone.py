"""What a phone asks for: who is here, tasks to take along, and a place to send what was filled in."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.views.decorators.gzip import gzip_page

from kapwa.studio.desks import desk_of
from kapwa.studio.devices import MOST_TASKS, as_json, packed, read_records, take, token_of
from kapwa.studio.models import Person
from kapwa.studio.roles import EVERYONE
from kapwa.studio.security import Visit, page
from kapwa.studio.views.common import whole
from kapwa.studio.views.desk import draw, waiting


def _json(found: Any) -> HttpResponse:
    answer = HttpResponse(as_json(found), content_type="application/json")
    answer["Cache-Control"] = "no-store"
    return answer


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
    return _json(packed(found, draw(found, visit.member, whole(request.GET.get("n"), MOST_TASKS, MOST_TASKS))))

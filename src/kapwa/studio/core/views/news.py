"""The bell: what a member is told of their own things."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from kapwa.studio.core.guide import news as newest
from kapwa.studio.core.notices import mark_read
from kapwa.studio.core.roles import EVERYONE
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.views.common import show, whole

SHOWN = 50


@page("news/", read=EVERYONE, write=EVERYONE)
def news(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show what the visitor was told, with a mark on what is new; posted to, as by the bell, all of it is read then."""
    if request.method == "POST":
        return redirect(f"{visit.link('news')}?after={mark_read(visit.member)}")
    after = whole(request.GET.get("after"), most=10**9) if "after" in request.GET else None
    return show(visit, "news", told=newest(visit, SHOWN), after=after)

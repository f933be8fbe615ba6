"""Forms whose sending failed: what people typed stays in a form, also where their visit ended meanwhile."""

from __future__ import annotations

import json
import re
from typing import NamedTuple
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

HERE = "kapwa_here"  # the cookie that says whose visit it is, or was
# The number of a form, or of the text that was seen.
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Fields of forms that say what to do with what; in all others people typed something.
_ABOUT = "uuid action base number origin elicited round seen subject tag key version roles attendees author desk next"
_CHOSEN = "language question topic category best choice kind field_button dissent agree except answer_in credit depth"
_KEPT = "sure code kept whose publish usual asked days link"
_NO_TEXT = {*_ABOUT.split(), *_CHOSEN.split(), *_KEPT.split()}


class Posted(NamedTuple):
    """A form as it was posted: its ``fields``, as (name, text), the path to send it to again, and whose visit it was.

    ``path`` is "" for what is not sent again: a form of another site, one with a file, or one of no project.
    """

    path: str
    person: str
    fields: list[tuple[str, str]]

    @classmethod
    def of(cls, request: HttpRequest) -> Posted:
        """Return what the request posts, with nothing for one that posts nothing."""
        ours = urlsplit(request.headers.get("Origin", "")).netloc == request.get_host() and not request.FILES
        path = request.get_full_path() if ours and request.path.startswith("/p/") else ""
        posted = ((name, text) for name, texts in request.POST.lists() for text in texts)
        fields = [(name, text) for name, text in posted if text and name != "csrfmiddlewaretoken"]
        return cls(path, request.COOKIES.get(HERE, ""), fields)

    @property
    def typed(self) -> list[tuple[str, str]]:
        """What people typed; the other fields say what the form does."""
        return [(name, text) for name, text in self.fields if name not in _NO_TEXT and not ID.fullmatch(text)]


def ended(request: HttpRequest) -> HttpResponse:
    """Let somebody come in again whose visit ended while they typed, and keep the form for them."""
    form = Posted.of(request)
    kept = json.dumps(form) if form.path and form.person else ""
    came_from = urlsplit(request.headers.get("Referer", ""))
    onward = came_from.path if came_from.netloc == request.get_host() else "/"
    shown = {"ended": True, "posted": form, "kept": kept, "next": onward}
    return render(request, "studio/enter.html", shown, status=403)


def resumed(request: HttpRequest, person: str) -> HttpResponse | None:
    """Return the page from which ``person`` sends what they typed before their visit ended; None where that is nothing.

    ``person``: as the cookie of their visit says it. Another person gets nothing of it.
    """
    try:
        path, typed_by, fields = json.loads(request.POST.get("kept", ""))
        form = Posted(path, typed_by, [(name, text) for name, text in fields])
    except (ValueError, TypeError):
        return None
    if typed_by != person or not str(path).startswith("/p/"):
        return None
    return render(request, "studio/resumed.html", {"posted": form})

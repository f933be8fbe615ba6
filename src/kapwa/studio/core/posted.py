"""What is posted: pages read it by form classes alone; where sending failed, what people typed stays in a form."""

from __future__ import annotations

import json
import re
import uuid as uuids
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _

from kapwa.errors import UsageError

HERE = "kapwa_here"  # the cookie that says whose visit it is, or was
# The number of a form, or of the text that was seen.
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class PageForm(forms.Form):
    """The form of a page: nothing else reads what is posted to it."""


class SetText(forms.CharField):
    """A text that the page puts into a form, such as an id; only a damaged form has another there than fits."""

    def clean(self, value: object) -> str:
        """Return the text; raise UsageError for one that no page puts there."""
        try:
            return str(super().clean(value))
        except forms.ValidationError:
            raise damaged() from None


class SetNumber(forms.IntegerField):
    """A whole number that the page puts into a form, 0 where it puts none."""

    def clean(self, value: object) -> int:
        """Return the number; raise UsageError for one that no page puts there."""
        try:
            return int(super().clean(value) or 0)
        except forms.ValidationError:
            raise damaged() from None


class NumberForm(PageForm):
    """The number that a form brings with it, so that it counts once however often it is sent."""

    uuid = forms.UUIDField(required=False)


class ActionForm(PageForm):
    """The button that was pressed, where nothing else or one of several forms is sent."""

    action = forms.ChoiceField()

    def __init__(self, actions: tuple[str, ...], sent: QueryDict | None) -> None:
        super().__init__(sent)
        self.fields["action"].choices = [(action, action) for action in actions]


class KeptForm(PageForm):
    """A form that was kept while somebody came in again; see :func:`ended`."""

    kept = forms.JSONField(required=False)


def damaged() -> UsageError:
    """Return what is said of a form that no page of ours makes."""
    return UsageError(_("This form is damaged or too large, and nothing was saved."), hint=_("Reload the page."))


def posted(request: HttpRequest) -> QueryDict | None:
    """Return what is posted, for a form class; None where a page is only asked for."""
    return request.POST if request.method == "POST" else None


def posted_files(request: HttpRequest) -> MultiValueDict[str, UploadedFile[bytes]] | None:
    """Return the files that are posted, for a form class; None where a page is only asked for."""
    return request.FILES if request.method == "POST" else None


def form_number(request: HttpRequest) -> uuids.UUID | None:
    """Return the number that a form brought with it; raise UsageError for what is none."""
    form = NumberForm(posted(request) or {})
    if not form.is_valid():
        raise UsageError(_("The form's number is damaged."), hint=_("Reload the page."))
    number: uuids.UUID | None = form.cleaned_data["uuid"]
    return number


def pressed(request: HttpRequest, *actions: str) -> str:
    """Return which of ``actions`` the button stands for that was pressed; "" for none of them."""
    form = ActionForm(actions, posted(request))
    return str(form.cleaned_data["action"]) if form.is_valid() else ""


@cache
def _typed_names() -> dict[str, bool]:
    """Return the names of the fields of all forms of pages, each with whether people type a text in it."""
    names: dict[str, bool] = {}
    for form in _subclasses(PageForm):
        for name, field in form.base_fields.items():
            chosen = isinstance(field, SetText | forms.UUIDField | forms.JSONField) or getattr(field, "chosen", False)
            names[name] = names.get(name, False) or (isinstance(field, forms.CharField) and not chosen)
    return names


def _subclasses(form: type[PageForm]) -> Iterator[type[PageForm]]:
    for one in form.__subclasses__():
        yield one
        yield from _subclasses(one)


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
        known = _typed_names()
        return [(name, text) for name, text in self.fields if known.get(name, True) and not ID.fullmatch(text)]


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
    sent = KeptForm(posted(request) or {})
    try:
        path, typed_by, fields = (sent.is_valid() and sent.cleaned_data["kept"]) or ("", "", ())
        form = Posted(path, typed_by, [(name, text) for name, text in fields])
    except (ValueError, TypeError):
        return None
    if typed_by != person or not str(path).startswith("/p/"):
        return None
    return render(request, "studio/resumed.html", {"posted": form})

"""The languages of the studio itself: choosing one, and translating its texts, by the people who read them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _n

from kapwa.errors import UsageError
from kapwa.studio.fields import tidy
from kapwa.studio.interface import SOURCE, fault, forms_of, overlaid, shipped, texts_of
from kapwa.studio.languages import checked_tag, known, language
from kapwa.studio.models import InterfaceText, Project
from kapwa.studio.projections import RefusedError
from kapwa.studio.roles import INTERPRETERS
from kapwa.studio.security import Visit, page, public_page
from kapwa.studio.views.common import act, show

if TYPE_CHECKING:
    import polib

_SHOWN = 40


class Message(NamedTuple):
    """A text of the interface as a translator sees it: ``row`` is what people of the project made of it, if anything.

    ``texts``: one a plural form; ``state``: "missing", "machine-made", "suggested" or "approved".
    """

    key: str
    entry: polib.POEntry
    texts: list[str]
    state: str
    row: InterfaceText | None


@public_page("language/", posts=True)
def choose_language(request: HttpRequest) -> HttpResponse:
    """Keep a choice of language on this device, and go back to the page."""
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    answer = redirect(target if safe and target.startswith("/") else "start")
    if request.method == "POST":
        name, tag = settings.LANGUAGE_COOKIE_NAME, checked_tag(request.POST.get("language", ""))
        safety = {"secure": settings.LANGUAGE_COOKIE_SECURE, "httponly": True, "samesite": "Lax"}
        answer.set_cookie(name, tag, max_age=settings.LANGUAGE_COOKIE_AGE, **safety)
    return answer


@page("interface/", read=INTERPRETERS, write=INTERPRETERS)
def interface_languages(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List the languages of the studio with how far each is, and begin another."""
    if request.method == "POST":
        return redirect("interface_messages", project=visit.project.slug, tag=_tag(request.POST.get("tag", "")))
    begun = InterfaceText.objects.filter(project=visit.project).order_by("language").values_list("language", flat=True)
    rows = []
    for tag in dict.fromkeys([*shipped(), *begun.distinct()]):
        states = [one.state for one in _messages(visit.project, tag)]
        counts = {state: states.count(state) for state in ("machine-made", "suggested", "approved", "missing")}
        rows.append((language(tag), counts))
    return show(request, visit, "interface_languages", rows=rows, known=known())


def _tag(typed: str) -> str:
    tag = checked_tag(typed)
    if tag.partition("-")[0].lower() == SOURCE:
        raise UsageError(_("English is what the other languages are translated from."), hint=_("Name another."))
    return tag


def _messages(project: Project, tag: str) -> list[Message]:
    """Return every text of the interface in a language, as the project has it now."""
    rows = {row.source: row for row in InterfaceText.objects.filter(project=project, language=tag)}
    found = []
    for entry in overlaid(tag, rows.values()):
        texts, row = texts_of(entry), rows.get(entry.msgid)
        state = "missing" if not texts else (entry.tcomment or "machine-made")
        key = hashlib.blake2b(entry.msgid.encode(), digest_size=8).hexdigest()
        found.append(Message(key, entry, texts or [""] * forms_of(entry, tag), state, row))
    return found


@page("interface/<str:tag>/", read=INTERPRETERS, write=INTERPRETERS)
def interface_messages(request: HttpRequest, visit: Visit, tag: str) -> HttpResponse:
    """Show the interface's texts in a language, change one, or approve one that another person or a machine made."""
    tag = _tag(tag)
    every = _messages(visit.project, tag)
    if request.method == "POST":
        found = next((one for one in every if one.key == request.POST.get("key")), None)
        if found is None:
            raise UsageError(_("The studio has no such text any more."), hint=_("Open the page again."))
        _take(request, visit, tag, found)
        query = request.POST.get("query", "")[:500]
        address = reverse("interface_messages", kwargs={"project": visit.project.slug, "tag": tag})
        return redirect(f"{address}?{query}#m{found.key}")
    state, words = request.GET.get("state", ""), request.GET.get("words", "")[:200].casefold()
    chosen = [
        one
        for one in every
        if (not state or one.state == state)
        and any(words in text.casefold() for text in (one.entry.msgid, one.entry.msgid_plural, *one.texts))
    ]
    shown = Paginator(chosen, _SHOWN).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    context = {"shown": shown, "tag": tag, "own": language(tag), "state": state, "words": words, "n": len(every)}
    return show(request, visit, "interface_messages", states=_STATES, query=query.urlencode(), **context)


_STATES = (_n("missing"), _n("machine-made"), _n("suggested"), _n("approved"))


def _take(request: HttpRequest, visit: Visit, tag: str, found: Message) -> None:
    body: dict[str, Any] = {"language": tag, "source": found.entry.msgid}
    if request.POST.get("action") == "approve":
        seen = request.POST.getlist("seen")
        if found.state == "missing" or [text.replace("\r\n", "\n") for text in seen] != found.texts:
            raise RefusedError(_("This text was changed meanwhile."), hint=_("Open the page again."))
        # What a machine made stands nowhere but in the catalog, so the approval holds it.
        held = {} if found.row else body | {"texts": found.texts}
        act(request, visit, "message.approved", held, subject=found.row.id if found.row else "")
        return
    texts = [tidy(text) for text in request.POST.getlist("text")]
    if len(texts) != len(found.texts) or not all(texts):
        raise UsageError(_("A form of the text is empty."), hint=_("Fill in each of them."))
    if said := fault(found.entry, texts):
        raise UsageError(said, hint=_("Copy these from the English text, and translate the words around them."))
    if texts == found.texts:
        raise RefusedError(_("The text is the same as before."), hint=_("Change something, then save."))
    act(request, visit, "message.translated", body | {"texts": texts})


@page("interface/<str:tag>/django.po", read=INTERPRETERS)
def interface_file(request: HttpRequest, visit: Visit, tag: str) -> HttpResponse:
    """Give the language's catalog with the project's texts in it, as gettext's tools and Kapwa itself read it."""
    made = overlaid(_tag(tag), InterfaceText.objects.filter(project=visit.project, language=tag))
    answer = HttpResponse(f"{made}\n", content_type="text/x-gettext-translation; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="kapwa-studio-{tag}.po"'
    return answer

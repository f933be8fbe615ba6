"""Translating the studio's own texts, by the people who read them."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import polib
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _n

from kapwa.errors import UsageError
from kapwa.studio.core.interface import SOURCE, fault, forms_of, overlaid, spoken
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.languages import checked_tag, known, language
from kapwa.studio.core.roles import INTERPRETERS
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import InterfaceText, Project
from kapwa.studio.core.text import tidy
from kapwa.studio.core.views.common import act, as_file, show
from kapwa.value_types import JsonObject, Keywords

_SHOWN = 40
_STATES = (_n("machine-made"), _n("suggested"), _n("approved"), _n("missing"))


class InterfaceMessage(NamedTuple):
    """A text of the interface as a translator sees it: ``row`` is what people of the project made of it, if anything.

    ``texts``: one a plural form; ``state``: one of those above.
    """

    key: str
    entry: polib.POEntry
    texts: list[str]
    state: str
    row: InterfaceText | None


@page("interface/", read=INTERPRETERS, write=INTERPRETERS)
def interface_languages(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List the languages of the studio, and begin another."""
    if request.method == "POST":
        return redirect("interface_messages", project=visit.project.slug, tag=_tag(request.POST.get("tag", "")))
    begun = [language(tag) for tag in spoken(visit.project)[1:]]
    return show(visit, "interface_languages", begun=begun, known=known())


def _tag(typed: str) -> str:
    tag = checked_tag(typed)
    if tag.partition("-")[0].lower() == SOURCE:
        raise UsageError(_("The other languages are translated from English."), hint=_("Choose another language."))
    return tag


def _messages(project: Project, tag: str) -> list[InterfaceMessage]:
    """Return every text of the interface in a language, as the project has it now."""
    rows = {row.source: row for row in InterfaceText.objects.filter(project=project, language=tag)}
    messages = []
    for entry in overlaid(tag, rows.values()):
        texts, key = forms_of(entry), hashlib.blake2b(entry.msgid.encode(), digest_size=8).hexdigest()
        state = (entry.tcomment or "machine-made") if all(texts) else "missing"
        messages.append(InterfaceMessage(key, entry, texts, state, rows.get(entry.msgid)))
    return messages


@page("interface/<str:tag>/", read=INTERPRETERS, write=INTERPRETERS)
def interface_messages(request: HttpRequest, visit: Visit, tag: str) -> HttpResponse:
    """Show the interface's texts in a language, change one, or approve one that another person or a machine made."""
    tag = _tag(tag)
    every = _messages(visit.project, tag)
    if request.method == "POST":
        message = next((message for message in every if message.key == request.POST.get("key")), None)
        if message is None:
            raise UsageError(_("The studio no longer uses this text."), hint=_("Open the page again."))
        _take(request, visit, tag, message)
        return redirect(f"{request.get_full_path()}#m{message.key}")
    state, words = request.GET.get("state", ""), request.GET.get("words", "")[:200].casefold()
    chosen = [
        message
        for message in every
        if (not state or message.state == state)
        and any(words in text.casefold() for text in (message.entry.msgid, message.entry.msgid_plural, *message.texts))
    ]
    shown = Paginator(chosen, _SHOWN).get_page(request.GET.get("page"))
    context: Keywords = {"shown": shown, "own": language(tag), "states": _STATES, "state": state, "words": words}
    return show(visit, "interface_messages", tag=tag, **context)


def _take(request: HttpRequest, visit: Visit, tag: str, message: InterfaceMessage) -> None:
    body: JsonObject = {"language": tag, "source": message.entry.msgid}
    if request.POST.get("action") == "approve":
        seen = request.POST.getlist("seen")
        if message.state == "missing" or [text.replace("\r\n", "\n") for text in seen] != message.texts:
            raise RefusedError(_("Somebody has changed this text."), hint=_("Open the page again."))
        # What a machine made stands nowhere but in the catalog, so the approval holds it.
        held = {} if message.row else body | {"texts": message.texts}
        act(visit, "message.approved", held, subject=message.row.id if message.row else "")
        return
    texts = [tidy(text) for text in request.POST.getlist("text")]
    if len(texts) != len(message.texts) or not all(texts):
        raise UsageError(_("One form of the text is empty."), hint=_("Fill in all forms."))
    if flaw := fault(message.entry, texts):
        raise UsageError(flaw, hint=_("Copy these from the English text, and translate the words around them."))
    if texts == message.texts:
        raise RefusedError(_("The text is the same as before."), hint=_("Change something, then save."))
    act(visit, "message.translated", body | {"texts": texts})


@page("interface/<str:tag>/django.po", read=INTERPRETERS)
def interface_file(request: HttpRequest, visit: Visit, tag: str) -> HttpResponse:
    """Give the language's catalog with the project's texts in it, as gettext's tools and Kapwa itself read it."""
    made = overlaid(_tag(tag), InterfaceText.objects.filter(project=visit.project, language=tag))
    return as_file(f"{made}\n", f"kapwa-studio-{tag}.po", "text/x-gettext-translation; charset=utf-8")

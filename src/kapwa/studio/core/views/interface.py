"""Translating the studio's own texts, by the people who read them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import polib
from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _n

from kapwa.errors import UsageError
from kapwa.studio.core.interface import SOURCE, fault, forms_of, overlaid, spoken
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.languages import known, language, tag_of
from kapwa.studio.core.posted import PageForm, SetText, posted, pressed
from kapwa.studio.core.roles import INTERPRETERS
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import InterfaceText, Project
from kapwa.studio.core.text import tidy
from kapwa.studio.core.views.common import act, as_file, show
from kapwa.studio.core.views.fields import TypedField, checked, told
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


class TagForm(PageForm):
    """The tag of a language into which the studio is translated."""

    tag = TypedField(80, line=True)

    def clean_tag(self) -> str:
        """Return the tag, of another language than English."""
        return checked(_tag, self.cleaned_data["tag"])


class MessageForm(PageForm):
    """A text of the interface in another language, or that the one which the page showed is right.

    ``texts``: one for each plural form; ``seen``: as the page showed them.
    """

    key = SetText(max_length=100)
    text = forms.CharField(required=False)
    approves = False

    def __init__(self, every: Sequence[InterfaceMessage], request: HttpRequest) -> None:
        sent = posted(request)
        super().__init__(sent)
        self.messages = {message.key: message for message in every}
        self.approves = pressed(request, "approve") == "approve"
        self.seen = [text.replace("\r\n", "\n") for text in (sent.getlist("seen") if sent else ())]
        self.texts = sent.getlist("text") if sent else []

    @property
    def message(self) -> InterfaceMessage:
        """The text that is meant; raises UsageError for one that is gone."""
        if (found := self.messages.get(self.cleaned_data["key"])) is None:
            raise UsageError(_("The studio no longer uses this text."), hint=_("Open the page again."))
        return found

    def clean(self) -> None:
        """Tidy the texts, and refuse what does not fit the English one."""
        message = self.message
        self.texts = [checked(tidy, text) for text in self.texts]
        if self.approves:
            return
        if len(self.texts) != len(message.texts) or not all(self.texts):
            self.add_error("text", told(_n("One form of the text is empty."), _n("Fill in all forms.")))
        elif flaw := fault(message.entry, self.texts):
            remedy = _("Copy these from the English text, and translate the words around them.")
            self.add_error("text", f"{flaw} {remedy}")


@page("interface/", read=INTERPRETERS, write=INTERPRETERS)
def interface_languages(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List the languages of the studio, and begin another."""
    form = TagForm(posted(request))
    if form.is_valid():
        return redirect("interface_messages", project=visit.project.slug, tag=form.cleaned_data["tag"])
    shown = {"begun": [language(tag) for tag in spoken(visit.project)[1:]], "known": known(), "wanted": form}
    return show(visit, "interface_languages", 400 if form.errors else 200, **shown)


def _tag(typed: str) -> str:
    tag = tag_of(typed)
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
    form = MessageForm(every, request)
    if form.is_valid():
        _take(visit, tag, form)
        return redirect(f"{request.get_full_path()}#m{form.message.key}")
    state, words = request.GET.get("state", ""), request.GET.get("words", "")[:200].casefold()
    chosen = [
        message
        for message in every
        if (not state or message.state == state)
        and any(words in text.casefold() for text in (message.entry.msgid, message.entry.msgid_plural, *message.texts))
    ]
    shown = Paginator(chosen, _SHOWN).get_page(request.GET.get("page"))
    context: Keywords = {"shown": shown, "own": language(tag), "states": _STATES, "state": state, "words": words}
    return show(visit, "interface_messages", 400 if form.errors else 200, tag=tag, sent=form, **context)


def _take(visit: Visit, tag: str, form: MessageForm) -> None:
    message = form.message
    body: JsonObject = {"language": tag, "source": message.entry.msgid}
    if form.approves:
        if message.state == "missing" or form.seen != message.texts:
            raise RefusedError(_("Somebody has changed this text."), hint=_("Open the page again."))
        # What a machine made stands nowhere but in the catalog, so the approval holds it.
        held = {} if message.row else body | {"texts": message.texts}
        act(visit, "message.approved", held, subject=message.row.id if message.row else "")
        return
    if form.texts == message.texts:
        raise RefusedError(_("The text is the same as before."), hint=_("Change something, then save."))
    act(visit, "message.translated", body | {"texts": form.texts})


@page("interface/<str:tag>/django.po", read=INTERPRETERS)
def interface_file(request: HttpRequest, visit: Visit, tag: str) -> HttpResponse:
    """Give the language's catalog with the project's texts in it, as gettext's tools and Kapwa itself read it."""
    made = overlaid(_tag(tag), InterfaceText.objects.filter(project=visit.project, language=tag))
    return as_file(f"{made}\n", f"kapwa-studio-{tag}.po", "text/x-gettext-translation; charset=utf-8")

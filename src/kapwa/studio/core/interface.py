"""The studio's own texts in people's languages: the catalogs that come with Kapwa, and over them what a project says.

Catalogs are gettext files (``locale/TAG/LC_MESSAGES/django.po``), read when a language is first asked for. What people
of a project word anew lies in the database; a page asks once whether any of it changed, in whichever process.
"""

from __future__ import annotations

import copy
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from gettext import GNUTranslations
from pathlib import Path
from typing import Any, NamedTuple

import polib
from django.conf import settings
from django.db.models import Count, Max, Q, Sum
from django.http import HttpRequest
from django.middleware.locale import LocaleMiddleware
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, trans_real

from kapwa.languages.codes import canonical
from kapwa.studio.core.languages import InterfaceLanguage, language
from kapwa.studio.core.tables import InterfaceText, Project

LOCALE = Path(__file__).parents[1] / "locale"
SOURCE = "en"
# In a catalog's comments on a message: people approved it. Without this it is a machine's.
APPROVED = "approved"
_PLACEHOLDER = re.compile(r"%(?:\(\w+\))?[a-z]|%%|%|\{[^{}]*\}|[{}]")
_UNNAMED = re.compile(r"%[a-z]")
# Where texts stand by which people agree, withdraw, let others in, and are told what of it went wrong.
_PROTECT = ("admit", "ask_to_join", "back", "consent", "withdraw")
_GUARDED = (
    "core/consent.py",
    "core/views/member.py",
    *(f"templates/studio/{name}.html" for name in _PROTECT),
)
# What would change a page rather than its words: the source's tags and quotes, and no others.
_MARKUP = re.compile(r"<[^<>]*>|[<>\"]")


class Interface(NamedTuple):
    """What a page says of its own language: which ones are offered, and how far people approved its texts."""

    language: InterfaceLanguage
    offered: list[InterfaceLanguage]
    note: str


@cache
def shipped() -> tuple[str, ...]:
    """Return the tags of the languages that come with Kapwa, besides English."""
    return tuple(sorted(path.name for path in LOCALE.iterdir() if path.is_dir()))


@lru_cache(maxsize=64)  # whoever translates may ask for any tag
def catalog(tag: str) -> polib.POFile:
    """Return the messages with their texts of a shipped language; for any other all of them without texts."""
    if tag in shipped():
        return polib.pofile(str(LOCALE / tag / "LC_MESSAGES" / "django.po"))
    messages = polib.pofile(str(LOCALE / "django.pot"))
    rule = trans_real.DjangoTranslation(tag)._info.get("plural-forms", "nplurals=2; plural=(n != 1);")
    messages.metadata |= {"Language": tag, "Plural-Forms": rule}
    for entry in messages:
        if entry.msgid_plural:
            entry.msgstr_plural = dict.fromkeys(range(plural_forms(messages)), "")
    return messages


def plural_forms(catalog: polib.POFile) -> int:
    """Return how many plural forms a catalog's language has."""
    return int(re.findall(r"nplurals\s*=\s*(\d+)", catalog.metadata["Plural-Forms"])[0])


def forms_of(entry: polib.POEntry) -> list[str]:
    """Return a message's texts, one a plural form, "" where there is none."""
    return [entry.msgstr_plural[n] for n in sorted(entry.msgstr_plural)] if entry.msgid_plural else [entry.msgstr]


def fault(entry: polib.POEntry, texts: Sequence[str]) -> str:
    """Say what of a message's texts would break a page, "" where nothing does.

    A text has the source's placeholders, tags and double quotes and no others. Plural forms but the last may leave
    the number out.
    """
    source = entry.msgid_plural or entry.msgid
    for place, text in enumerate(texts, start=1):
        wanted, present = set(_PLACEHOLDER.findall(source)), set(_PLACEHOLDER.findall(text))
        wrong = wanted ^ present if place == len(texts) else present - wanted
        if (unnamed := _UNNAMED.findall(source)) != _UNNAMED.findall(text):  # filled in by their number and order
            wrong |= {*unnamed, *_UNNAMED.findall(text)}
        if wrong:
            message = _("The placeholders differ from those of the English text: %(names)s.")
            return message % {"names": ", ".join(sorted(wrong))}
        if sorted(_MARKUP.findall(text)) != sorted(_MARKUP.findall(source)):
            return _("HTML characters, such as < > and double quotes, must be the same as in the English text.")
    return ""


def overlaid(tag: str, rows: Iterable[InterfaceText]) -> polib.POFile:
    """Return a language's catalog with the texts of ``rows`` in it, each with its state as a comment."""
    made = copy.deepcopy(catalog(tag))
    entries = {entry.msgid: entry for entry in made}
    for row in rows:
        entry = entries.get(row.source)
        # An archive from elsewhere may bring texts that no form of ours let through.
        if entry is None or len(row.texts) != len(forms_of(entry)) or fault(entry, row.texts):
            continue
        if entry.msgid_plural:
            entry.msgstr_plural = dict(enumerate(row.texts))
        else:
            entry.msgstr = row.texts[0]
        entry.tcomment = APPROVED if row.approved else "suggested"
    return made


def _rows(project: Project | None) -> Any:
    """Return a project's texts; on pages of no project those that the only one approved: none writes into others'."""
    rows = InterfaceText.objects.filter(project=project) if project else InterfaceText.objects.filter(approved=True)
    return rows if project or Project.objects.count() == 1 else rows.none()


def _versions(project: Project | None) -> dict[str, tuple[Any, ...]]:
    """Return by language what differs whenever its texts do; how many of them are approved is the last of it."""
    rows = _rows(project)
    if not rows.exists():  # as in most projects, at every request
        return {}
    counted = {"some": Max("id"), "age": Sum("seq"), "good": Count("id", filter=Q(approved=True))}
    versions = rows.order_by().values("language").annotate(**counted)
    return {tag: tuple(version) for tag, *version in versions.values_list("language", *counted)}


@lru_cache(maxsize=64)
def _translation(tag: str, project: Project | None, version: tuple[object, ...], *, guarded: bool = False) -> Any:
    """Return what Django translates with: the catalog, and over it a project's texts, read anew in each version."""
    made = trans_real.DjangoTranslation(tag)
    unread = {entry.msgid for entry in catalog(tag) if guards(entry)}
    rows = _rows(project).filter(language=tag).order_by("seq")
    shown = [row for row in rows if row.approved or not (guarded or row.source in unread)]
    texts = beside_english(overlaid(tag, shown), guarded=guarded)
    made.merge(GNUTranslations(io.BytesIO(texts.to_binary())))
    return made


def guards(entry: polib.POEntry) -> bool:
    """Whether people agree or withdraw by this message, so that nobody may read an unread translation of it alone."""
    return any(place in _GUARDED for place, _line in entry.occurrences)


def is_label(entry: polib.POEntry) -> bool:
    """Whether pages have this message on which nobody agrees or withdraws, too, such as the label of a button."""
    return any(place.startswith("templates/") and place not in _GUARDED for place, _line in entry.occurrences)


def beside_english(texts: polib.POFile, *, guarded: bool) -> polib.POFile:
    """Return a catalog whose guarded messages that nobody approved have the English text behind them.

    ``guarded``: so have labels that other pages share, which stand alone there.
    """
    for entry in texts:
        if not guards(entry) or APPROVED in entry.tcomment.split() or (is_label(entry) and not guarded):
            continue
        # From left to right in any text, its brackets, too.
        english = f" \u2066[{entry.msgid_plural or entry.msgid}]\u2069"
        if entry.msgid_plural:
            entry.msgstr_plural = {n: text and text + english for n, text in entry.msgstr_plural.items()}
        else:
            entry.msgstr = entry.msgstr and entry.msgstr + english
    return texts


def activate_language(
    request: HttpRequest, project: Project | None, *, guarded: bool = False, worded: bool = True
) -> None:
    """Let the page speak the visitor's language: their choice, else what their browser prefers, else English.

    A page of a project is entered twice: by its address, when nothing of the project may show yet, and by its member.
    ``guarded``: people agree or withdraw on it, so that none of its texts is one that nobody approved but a machine's.
    ``worded``: whether people of the project may have worded some.
    """
    unknown = project is None and request.path.startswith("/p/")
    versions = _versions(project) if worded and not unknown else {}
    offered = _offered(versions)
    tag = _chosen(request, offered)
    version = versions.get(tag, (0,))
    trans_real._active.value = _translation(tag, project, version, guarded=guarded)
    request.LANGUAGE_CODE = tag
    request.interface = Interface(language(tag), [language(other) for other in offered], _note(tag, version[-1]))


def _offered(begun: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([SOURCE, *shipped(), *sorted(begun)]))


def spoken(project: Project) -> list[str]:
    """Return the tags of the languages that the studio's own texts are in, English first."""
    return _offered(_versions(project))


@contextmanager
def speaking(tag: str, project: Project) -> Iterator[None]:
    """Let the studio's own texts be in one of :func:`spoken` meanwhile."""
    before = getattr(trans_real._active, "value", None)
    try:
        trans_real._active.value = _translation(tag, project, _versions(project).get(tag, (0,)))
        yield
    finally:
        trans_real.deactivate()
        if before is not None:  # on the command line nothing is active
            trans_real._active.value = before


def _chosen(request: HttpRequest, offered: Sequence[str]) -> str:
    cookie = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
    if cookie in offered:
        return cookie
    for wanted, _weight in trans_real.parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        for tag in offered:
            if tag.lower() == wanted or tag == canonical(wanted):
                return tag
    return SOURCE


def _note(tag: str, approved: int) -> str:
    """Say how far people, rather than a machine, stand for the interface's texts; "" where they do for all."""
    if tag not in shipped():
        return ""
    entries = catalog(tag)
    counts = {"n": approved + sum(APPROVED in entry.tcomment for entry in entries), "all": len(entries)}
    if not counts["n"]:
        return _("This translation of the studio was made by a machine. No person has approved it yet.")
    note = ngettext(
        "This translation of the studio was made by a machine. People have approved %(n)d of its %(all)d texts.",
        "This translation of the studio was made by a machine. People have approved %(n)d of its %(all)d texts.",
        counts["n"],
    )
    return note % counts if counts["n"] < counts["all"] else ""


class InterfaceMiddleware(LocaleMiddleware):
    """Django's choice of language, among those the studio has at the moment."""

    def process_request(self, request: HttpRequest) -> None:
        """Choose the language of a page of no project yet."""
        activate_language(request, None)

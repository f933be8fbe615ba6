"""The studio's own texts in people's languages: the catalogs that come with Kapwa, and over them what a project says.

Catalogs are gettext files (``locale/TAG/LC_MESSAGES/django.po``), read when a language is first asked for. What people
of a project word anew lies in the database; a page asks once whether any of it changed, in whichever process.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from gettext import GNUTranslations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import Count, Q, Sum
from django.http import HttpRequest
from django.middleware.locale import LocaleMiddleware
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, trans_real

from kapwa.errors import MissingDependencyError
from kapwa.languages.codes import canonical
from kapwa.studio.languages import Language, language
from kapwa.studio.models import InterfaceText, Project

if TYPE_CHECKING:
    import polib

LOCALE = Path(__file__).with_name("locale")
SOURCE = "en"
# In a catalog's comments on a message: people approved it. Without this it is a machine's.
APPROVED = "approved"
_USUAL_PLURAL = "nplurals=2; plural=(n != 1);"
_PLACEHOLDER = re.compile(r"%(?:\(\w+\))?[a-z]|%%|%|\{[^{}]*\}|[{}]")
_UNNAMED = re.compile(r"%[a-z]")
# What would change a page rather than its words: the source's tags and quotes, and no others.
_MARKUP = re.compile(r"<[^<>]*>|[<>\"]")


@dataclass(frozen=True, slots=True)
class Interface:
    """What a page says of its own language: which ones are offered, and how far people approved its texts."""

    language: Language
    offered: tuple[Language, ...]
    note: str


@cache
def shipped() -> tuple[str, ...]:
    """Return the tags of the languages that come with Kapwa, besides English."""
    return tuple(sorted(path.name for path in LOCALE.iterdir() if path.is_dir()))


@cache
def catalog(tag: str) -> polib.POFile:
    """Return the messages with their texts of a shipped language; for any other all of them without texts."""
    try:
        import polib
    except ImportError:
        raise MissingDependencyError("polib", extra="studio", purpose="The studio in other languages") from None
    place = LOCALE / tag / "LC_MESSAGES" / "django.po" if tag in shipped() else LOCALE / "django.pot"
    found = polib.pofile(str(place))
    if tag not in shipped():
        found.metadata |= {"Language": tag, "Plural-Forms": _plural_rule(tag)}
    return found


def _plural_rule(tag: str) -> str:
    """Return Django's own rule for the language, the usual one where it has none."""
    return str(trans_real.DjangoTranslation(tag)._info.get("plural-forms", _USUAL_PLURAL))


def plural_forms(tag: str) -> int:
    """Return how many plural forms the language has."""
    found = re.search(r"nplurals\s*=\s*(\d+)", catalog(tag).metadata["Plural-Forms"])
    return int(found[1]) if found else 2


def forms_of(entry: polib.POEntry, tag: str) -> int:
    """Return how many texts a message has in a language."""
    return plural_forms(tag) if entry.msgid_plural else 1


def fault(entry: polib.POEntry, texts: Sequence[str]) -> str:
    """Say what of a message's texts would break a page, "" where nothing does.

    A text has the source's placeholders, tags and double quotes and no others. Plural forms but the last may leave
    the number out.
    """
    source = entry.msgid_plural or entry.msgid
    for place, text in enumerate(texts, start=1):
        wanted, found = set(_PLACEHOLDER.findall(source)), set(_PLACEHOLDER.findall(text))
        wrong = wanted ^ found if place == len(texts) else found - wanted
        if (unnamed := _UNNAMED.findall(source)) != _UNNAMED.findall(text):  # filled in by their number and order
            wrong |= {*unnamed, *_UNNAMED.findall(text)}
        if wrong:
            names = ", ".join(sorted(wrong))
            return _("The placeholders differ from those of the English text: %(names)s.") % {"names": names}
        if Counter(_MARKUP.findall(text)) != Counter(_MARKUP.findall(source)):
            return _("Signs that make up pages, such as < > and double quotes, must be those of the English text.")
    return ""


def texts_of(entry: polib.POEntry) -> list[str]:
    """Return a message's texts, one a plural form; [] where it has none."""
    texts = [entry.msgstr_plural[n] for n in sorted(entry.msgstr_plural)] if entry.msgid_plural else [entry.msgstr]
    return texts if all(texts) else []


def overlaid(tag: str, rows: Iterable[InterfaceText]) -> polib.POFile:
    """Return a language's catalog with the texts of ``rows`` in it, each with its state as a comment."""
    import copy

    made = copy.deepcopy(catalog(tag))
    entries = {entry.msgid: entry for entry in made}
    for row in rows:
        entry = entries.get(row.source)
        # An archive from elsewhere may bring texts that no form of ours let through.
        if entry is None or len(row.texts) != forms_of(entry, tag) or fault(entry, row.texts):
            continue
        if entry.msgid_plural:
            entry.msgstr_plural = dict(enumerate(row.texts))
        else:
            entry.msgstr = row.texts[0]
        entry.tcomment = APPROVED if row.approved else "suggested"
    return made


def _rows(project: Project | None) -> Any:
    """Return a project's texts; on pages of no project those that the only one approved: none writes into others'."""
    found = InterfaceText.objects.order_by("seq")
    if project is not None:
        return found.filter(project=project)
    return found.filter(approved=True) if Project.objects.count() == 1 else found.none()


_MADE: dict[tuple[int, str], tuple[object, Any]] = {}


def _translation(tag: str, rows: Any, *, of: int, version: object) -> Any:
    """Return what Django translates with: the catalog, and over it ``rows``, read anew when ``version`` changed."""
    before, made = _MADE.get((of, tag), (None, None))
    if made is None or before != version:
        made = trans_real.DjangoTranslation(tag)
        made.merge(GNUTranslations(io.BytesIO(overlaid(tag, rows).to_binary())))
        _MADE[of, tag] = (version, made)
    return made


def use(request: HttpRequest, project: Project | None) -> None:
    """Let the page speak the visitor's language: their choice, else what their browser prefers, else English.

    A page of a project is entered twice: by its address, when nothing of the project may show yet, and by its member.
    """
    unknown = project is None and request.path.startswith("/p/")
    rows = InterfaceText.objects.none() if unknown else _rows(project)
    counts = _counts(rows)
    offered = tuple(dict.fromkeys([SOURCE, *shipped(), *sorted(counts)]))
    tag = _chosen(request, offered)
    written, _total, approved = version = counts.get(tag, _NONE)
    _speak(tag, rows, of=project.pk if project else -int(unknown), version=version)
    request.LANGUAGE_CODE = tag
    request.interface = Interface(_directed(tag), tuple(map(_directed, offered)), _note(tag, written, approved))


_NONE = (0, 0, 0)


def _counts(rows: Any) -> dict[str, tuple[Any, ...]]:
    """Return by language what differs whenever its texts do: how many there are, of which age, how many approved."""
    counted = {"written": Count("id"), "total": Sum("seq"), "good": Count("id", filter=Q(approved=True))}
    found = rows.order_by().values("language").annotate(**counted).values_list("language", *counted)
    return {tag: tuple(n) for tag, *n in found}


def _speak(tag: str, rows: Any, *, of: int, version: object) -> None:
    if tag == SOURCE:
        trans_real.activate(tag)
    else:
        trans_real._active.value = _translation(tag, rows.filter(language=tag), of=of, version=version)


def spoken(project: Project) -> list[str]:
    """Return the tags of the languages that the studio's own texts are in, English first."""
    return list(dict.fromkeys([SOURCE, *shipped(), *sorted(_counts(_rows(project)))]))


@contextmanager
def speaking(tag: str, project: Project) -> Iterator[None]:
    """Let the studio's own texts be in one of :func:`spoken` meanwhile."""
    before, rows = getattr(trans_real._active, "value", None), _rows(project)
    try:
        _speak(tag, rows, of=project.pk, version=_counts(rows).get(tag, _NONE))
        yield
    finally:
        trans_real._active.value = before


def _directed(tag: str) -> Language:
    found = language(tag)
    return found if found.direction != "auto" else found._replace(direction="ltr")


def _chosen(request: HttpRequest, offered: Sequence[str]) -> str:
    own = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
    if own in offered:
        return own
    for wanted, _weight in trans_real.parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        for tag in offered:
            if tag.lower() == wanted or tag == canonical(wanted):
                return tag
    return SOURCE


def _note(tag: str, written: int, approved: int) -> str:
    """Say how far people, rather than a machine, stand for the interface's texts; "" where they do for all."""
    if tag == SOURCE:
        return ""
    entries = catalog(tag)
    n = len(entries)
    if tag not in shipped():
        return (
            _("%(n)d of the %(all)d texts of the studio are in this language; the rest is English.")
            % {
                "n": written,
                "all": n,
            }
            if written < n
            else ""
        )
    good = approved + sum(APPROVED in entry.tcomment for entry in entries)
    if not good:
        return _("This translation of the studio is machine-made, not yet approved by a person.")
    return (
        ngettext(
            "This translation of the studio is machine-made; %(n)d of its %(all)d texts is approved by people.",
            "This translation of the studio is machine-made; %(n)d of its %(all)d texts are approved by people.",
            good,
        )
        % {"n": good, "all": n}
        if good < n
        else ""
    )


class InterfaceMiddleware(LocaleMiddleware):
    """Django's choice of language, among those the studio has at the moment."""

    def process_request(self, request: HttpRequest) -> None:
        """Choose the language of a page of no project yet."""
        use(request, None)

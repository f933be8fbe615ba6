"""The studio's languages: what each calls itself and in which direction it is written; an unknown tag works too.

Django's and Babel's lists lack languages that communities write in, so the list is ours (``languages.csv``).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.files import table_rows
from kapwa.languages.codes import code_named, is_language_tag, tag_hint

# Scripts written from right to left, by the subtags that name them.
_FROM_RIGHT = re.compile(r"-(Adlm|Arab|Aran|Hebr|Mand|Mend|Nkoo|Rohg|Samr|Syrc|Thaa|Yezi)(-|$)", re.IGNORECASE)
_BETWEEN = re.compile(r"[,;，、،؛፣\n]")
_NAMES_SCRIPT = re.compile(r"^[A-Za-z]{2,3}(-[A-Za-z]{3}){0,3}-[A-Za-z]{4}(-|$)")


class InterfaceLanguage(NamedTuple):
    """A language: its BCP-47 tag, its own name, and "ltr", "rtl" or (not known) "auto" as HTML's ``dir`` takes it."""

    tag: str
    name: str
    direction: str


_KNOWN = {
    row["tag"]: InterfaceLanguage(row["tag"], row["name"], row["direction"])
    for row in table_rows(Path(__file__).with_name("languages.csv"))
}


def known() -> list[InterfaceLanguage]:
    """Return the languages with a name of their own, by tag."""
    return list(_KNOWN.values())


def language(tag: str) -> InterfaceLanguage:
    """Return what is known of ``tag``, from its nearest known part; for others the browser finds the direction."""
    match, part = None, tag
    while match is None and part:
        match = _KNOWN.get(part)
        part = part.rpartition("-")[0]
    direction = match.direction if match else "auto"
    if _NAMES_SCRIPT.match(tag) and (match is None or match.tag != tag):
        direction = "rtl" if _FROM_RIGHT.search(tag) else "ltr"
    name = match.name if match and match.tag == tag else f"{match.name} ({tag})" if match else tag
    return InterfaceLanguage(tag, name, direction)


def tag_of(text: str) -> str:
    """Return the tag of a language by its own name, its English name or its tag; raise UsageError for none of these."""
    name = text.strip().casefold()
    tags = {spoken.name.casefold(): spoken.tag for spoken in known()}
    return tags.get(name) or code_named(name) or checked_tag(text)


def tags_of(text: str) -> list[str]:
    """Return the tags of languages that are listed by name or tag, between commas or on lines, each once.

    Several tags between spaces are taken, too. Raises UsageError for what names no language.
    """
    tags: list[str] = []
    for part in filter(None, map(str.strip, _BETWEEN.split(text))):
        try:
            tags.append(tag_of(part))
        except UsageError:
            words = part.split()
            if len(words) < 2 or not all(map(is_language_tag, words)):
                raise
            tags += words
    return list(dict.fromkeys(tags))


def shown_name(tag: str) -> str:
    """Return what :func:`tag_of` makes the tag of again: the language's own name, or the tag of one without."""
    return _KNOWN[tag].name if tag in _KNOWN else tag


def checked_tag(tag: str) -> str:
    """Return ``tag`` without spaces around it; raise UsageError where it is no BCP-47 tag."""
    clean = tag.strip()
    if not is_language_tag(clean):
        raise UsageError(_("“%(text)s” is not the tag of a language.") % {"text": clean}, hint=tag_hint(clean))
    return clean

"""Codes of languages: how each is spelled, which belong together, their English names and their scripts.

Languages written only in Latin letters have no entry among the scripts, since the letters of a text do not distinguish
them from English. Scripts are those in common use by CLDR 46 (supplemental language data); a language may have several.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import regex  # type: ignore[import-untyped, unused-ignore]

from kapwa import registry
from kapwa.files import table_rows

_ROWS = table_rows(Path(__file__).with_name("codes.csv"))
# Other codes that the identifier, users and data sets use for a language.
_ALIASES = {alias: row["code"] for row in _ROWS for alias in row["also"].split()}
# English names: the first one is displayed.
_NAMES = {name.casefold(): row["code"] for row in _ROWS for name in row["names"].split("|")}
_SHOWN = {row["code"]: row["names"].partition("|")[0] for row in _ROWS}
# Those of ISO 639-3, by the codes that occur here.
_MACROLANGUAGES = {row["code"]: row["macrolanguage"] or row["code"] for row in _ROWS}
# Unicode names (the property Script), as the module regex knows them.
_SCRIPTS = {row["code"]: tuple(row["scripts"].split()) for row in _ROWS}
# A script named in a tag ("pa-Arab", "ru-Latn") takes precedence over the language's; "" is not checked.
_SCRIPTS_OF_TAGS = {row["tag"]: row["script"] for row in table_rows(Path(__file__).with_name("scripts.csv"))}

# The shape of a BCP-47 tag (RFC 5646 without grandfathered tags): language, script, region, variants, extensions.
LANGUAGE_TAG = (
    r"[A-Za-z]{2,3}(-[A-Za-z]{3}){0,3}"
    r"(-[A-Za-z]{4})?(-([A-Za-z]{2}|\d{3}))?(-([A-Za-z\d]{5,8}|\d[A-Za-z\d]{3}))*"
    r"(-[A-WY-Za-wy-z\d](-[A-Za-z\d]{2,8})+)*(-x(-[A-Za-z\d]{1,8})+)?"
)
NO_TAG = "{!r} is not a BCP-47 language tag such as 'fil', 'ar' or 'zh-Hant'."


def name_of(code: str) -> str:
    """Return the English name of a language ("Sundanese" for "su"), whatever is installed; if unknown, its code."""
    return _SHOWN.get(canonical(code), code)


@cache
def canonical(code: str) -> str:
    """Return the primary subtag of a BCP-47 code in Kapwa's spelling: ``tl`` and ``fil-PH`` give ``fil``."""
    primary = code.strip().replace("_", "-").split("-")[0].lower()
    return _ALIASES.get(primary, primary)


@cache
def family(code: str) -> str:
    """Return the ISO 639-3 macrolanguage of a code ("msa" for Indonesian), or the code itself if it has none."""
    known = canonical(code)
    return _MACROLANGUAGES.get(known, known)


def same_language(a: str, b: str) -> bool:
    """Whether two BCP-47 codes name one language, or languages of one ISO 639-3 macrolanguage.

    Script and region are ignored (zh-Hans = zh-Hant). Filipino and Tagalog are one language. Indonesian and Malay count
    as the same language, and so do the varieties of Arabic, Chinese, Norwegian and Serbo-Croatian.
    """
    return family(a) == family(b)


def scripts_of(language: str) -> tuple[str, ...]:
    """Return the Unicode scripts of a BCP-47 tag's language; () where it is Latin, unknown, or the tag says another."""
    named = next((subtag for subtag in language.lower().split("-")[1:] if len(subtag) == 4 and subtag.isalpha()), "")
    if named:
        return (_SCRIPTS_OF_TAGS[named],) if named in _SCRIPTS_OF_TAGS else ()
    return _SCRIPTS.get(canonical(language), ())


def has_script(text: str, scripts: tuple[str, ...]) -> bool:
    """Whether ``text`` holds a letter (or sign) of one of ``scripts``."""
    return _pattern(scripts).search(text) is not None


@cache
def _pattern(scripts: tuple[str, ...]) -> regex.Pattern[str]:
    return regex.compile("[" + "".join(rf"\p{{Script={name}}}" for name in scripts) + "]")


def is_language_tag(tag: str) -> bool:
    """Whether ``tag`` has the shape of a BCP-47 language tag, such as "fil", "ar" or "zh-Hant-TW"."""
    return re.fullmatch(LANGUAGE_TAG, tag) is not None


def tag_hint(tag: str) -> str | None:
    """Suggest the tag of a language that was given by its English name, or with "_"; None where none is known."""
    hyphened = tag.strip().replace("_", "-")
    code = hyphened if "_" in tag and is_language_tag(hyphened) else code_named(tag)
    return f"Did you mean {code!r}?" if code else None


def code_named(name: str) -> str:
    """Return the code of the language called ``name`` in English ("am" for "Amharic"); "" where none is known."""
    folded = name.strip().casefold()
    if folded in _NAMES:
        return _NAMES[folded]
    added = {registry.load("languages", code).name.casefold(): code for code in registry.installed("languages")}
    return added.get(folded, "")

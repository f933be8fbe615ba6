"""Whose culture a locale such as "es-MX" names, in the codes of ISO 3166-1 and in those of everyday-knowledge sets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from kapwa.files import table_rows
from kapwa.languages.codes import canonical, name_of, same_language
from kapwa.languages.places import place_of

_LOCALE = re.compile(r"(?:([A-Za-z]{2,3})(?:[-_]([A-Za-z]{4}))?[-_])?((?<=[-_])[A-Za-z]{2}|[A-Z]{2,3})")
_REGIONS = table_rows(Path(__file__).parents[1] / "regions.csv")
# In ISO 3166-1 AS is American Samoa, and JB unassigned.
_REGION_CODES = {region["code"]: region for region in _REGIONS if region["code"]}
# Other codes of countries in common use, which ISO 3166-1 reserves or leaves free.
_OTHER_CODES = {"UK": "GB", "EL": "GR"}
Locale = tuple[str, str]


def language_of(text: str) -> str:
    """Return the language of a locale, also if its country is unknown ("su" of "su-JB"); "" if it names none."""
    match = _LOCALE.fullmatch(text.strip())
    return "" if match is None or not match[1] else match[1].lower() + (f"-{match[2].title()}" if match[2] else "")


def locale_of(text: str, language: str = "") -> Locale | None:
    """Return language and territory of "es-MX", "es_MX", "zh-Hant-TW" or "MX"; None where it is no locale.

    A territory by its code of three letters is the one of two: "fil-PHL" is "fil-PH". ``language``: what is spoken,
    where the locale does not say.
    """
    match = _LOCALE.fullmatch(text.strip())
    if match is None:
        return None
    territory = match[3].upper()
    known_place = place_of(territory) if len(territory) == len("PHL") else None
    return canonical(language_of(text) or language), known_place.iso2 if known_place else territory


def country_of(text: str, language: str = "", locales: frozenset[Locale] = frozenset()) -> str:
    """Return the culture of a locale; "" where it is none or of no known country.

    See :func:`locale_of` and, for ``locales``, :func:`culture_of`.
    """
    locale = locale_of(text, language)
    return culture_of(*locale, locales) if locale else ""


def clashing(locales: Iterable[Locale]) -> frozenset[Locale]:
    """Return those of a set's locales (language, territory) by whose territory others of the set are understood."""
    return frozenset(locale for locale in locales if locale[1] in _REGION_CODES)


@cache
def culture_of(language: str, territory: str, locales: frozenset[Locale] = frozenset()) -> str:
    """Name the culture of a locale's language and territory (ISO 3166-1); "" for a territory that there is not.

    The name is the country's of :mod:`kapwa.languages.places`, spelled as in the release where that has it
    ("South_Korea"), and for any language but the country's first the language's beside it ("Nigeria (Hausa)").
    AS is Assam where the language is Assamese or the set has ``as-AS`` or a JB, which there is only in BLEnD's codes;
    ``locales``: :func:`clashing` of the whole set. Where the set has American Samoa for certain (``sm-AS``) as well,
    nothing is chosen: "".
    """
    known_place = place_of(_OTHER_CODES.get(territory, territory))
    if territory in _REGION_CODES:
        country, spoken = _REGION_CODES[territory]["country"], _REGION_CODES[territory]["language"]
        elsewhere = {code for code in known_place.languages if code != "en"} if known_place else set()
        regional = known_place is None or any(
            area == "JB" or (code, area) == (spoken, territory) for code, area in locales
        )
        if language == spoken or (regional and language not in elsewhere):
            clash = language != spoken and any(area == territory and code in elsewhere for code, area in locales)
            return "" if clash else country if language in (spoken, "") else f"{country} ({name_of(language)})"
    if known_place is None:
        return ""
    usual = known_place.languages[0] if known_place.languages else "en"
    released = (
        region["country"]
        for region in _REGIONS
        if (region["language"], region["territory"]) == (usual, known_place.iso2)
    )
    name = next(released, known_place.country)
    return name if not language or same_language(language, usual) else f"{name} ({name_of(language)})"

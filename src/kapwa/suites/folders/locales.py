"""Take locales such as "es-MX" apart: the language asked in, and the culture whose people were asked."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from kapwa.suites.blend.regions import COUNTRIES, language_name, region_of

_LOCALE = re.compile(r"([A-Za-z]{2,3})(?:[-_]([A-Za-z]{4}))?[-_]([A-Za-z]{2})")


class Locale(NamedTuple):
    """A language (BCP-47) and a country's name."""

    language: str
    country: str


def language_of(text: str) -> str:
    """Return the language of a locale whatever its country is ("su" of "su-JB"); "" where it is no locale."""
    match = _LOCALE.fullmatch(text.strip())
    return "" if match is None else match[1].lower() + (f"-{match[2].title()}" if match[2] else "")


def read_locale(text: str) -> Locale | None:
    """Read "es-MX", "es_MX" or "zh-Hant-TW"; None where it is no locale, or its country is none of ISO 3166-1.

    Countries are spelled as in BLEnD where it has this language of them ("South_Korea" for ko-KR), else by their
    short name in ISO 3166-1.
    """
    match = _LOCALE.fullmatch(text.strip())
    if match is None:
        return None
    country = _country(match[1].lower(), match[3].upper())
    return Locale(language_of(text), country) if country else None


@cache
def _country(language: str, territory: str) -> str:
    for name in COUNTRIES:
        region = region_of(name)
        if (region.language, region.territory) == (language, territory):
            return name
    import iso3166

    found = iso3166.countries_by_alpha2.get(territory)
    if found is None:
        return ""
    name = str(found.apolitical_name)
    short = name.partition(",")[0]
    alike = sum(str(one.apolitical_name).partition(",")[0] == short for one in iso3166.countries)
    return short if alike == 1 else name


def cultures_of(locales: Iterable[str], named: Mapping[str, str]) -> dict[str, str]:
    """Name the culture of each locale: what ``named`` says, else its country.

    Where a country has several languages they stand beside its name ("Singapore (ta)"), for a culture has one local
    language. Locales that cannot be read are left out.
    """
    distinct = dict.fromkeys(locales)
    read = {text: found for text in distinct if text not in named and (found := read_locale(text))}
    languages: defaultdict[str, set[str]] = defaultdict(set)
    for found in read.values():
        languages[found.country].add(found.language)
    own = {
        text: found.country
        if len(languages[found.country]) == 1
        else f"{found.country} ({language_name(found.language)})"
        for text, found in read.items()
    }
    return {**own, **{text: named[text] for text in distinct if text in named}}

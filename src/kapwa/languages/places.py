"""Which country a name means: nationalities, demonyms, country names and ISO codes, and which of them are ambiguous.

The table ``places.csv`` beside this module holds the members and observers of the United Nations, and the territories
that surveys treat as countries (Hong Kong, Taiwan, Puerto Rico, Kosovo, Northern Ireland ...), with the coordinates of
each capital, official or working languages, and the region by the United Nations' M49 standard (Kosovo and Taiwan,
which M49 does not list, have the regions of their neighbours). A name in the rows of two countries is ambiguous, and
this module never chooses between them. ``branches.csv`` has the branch of a family, about as old as Germanic or Bantu,
to which each of these languages belongs; one without relatives in the table is its own branch.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kapwa.files import table_rows

# Attributes whose values are names of countries; a language or a religion has no country, however it is spelt.
PLACE_ATTRIBUTES = ("nationality", "country")

_CODE = re.compile(r"[A-Z]{2}|[A-Z]{3}|GB-[A-Z]{3}")
_ADDITION = re.compile(r"([^()]+)\(([^()]+)\)")
_SAYS_NOTHING = ("the", "country")
_NUMBER = re.compile(r"\d{1,3}(?:\.0)?")
_SHORT = {"st": "saint", "rep": "republic", "dem": "democratic", "fed": "federated"}
# "State of" is left out: the state of Georgia is not the country.
_OFFICIAL = re.compile(
    r"(?:(?:federal|federative|democratic|socialist|islamic|peoples|cooperative|united) )*"
    r"(?:republic|kingdom|sultanate|principality|grand duchy|commonwealth|union|plurinational state) of (?:the )?"
)


@dataclass(frozen=True, slots=True)
class Place:
    """A country, or a territory that surveys treat as one.

    ``identity`` is the word for its people in a prompt ("American"), ``country`` its English name. ``iso3`` is unique:
    ISO 3166-1 alpha-3, XKX for Kosovo, or ISO 3166-2 for the four countries of the United Kingdom (GB-NIR), whose
    ``iso2`` and ``numeric`` (three digits) are "". ``latitude`` and ``longitude`` are the capital's, in degrees;
    ``languages`` the official or working languages by ISO 639 code; ``region`` and ``subregion`` follow M49.
    """

    identity: str
    country: str
    iso2: str
    iso3: str
    numeric: str
    latitude: float
    longitude: float
    languages: tuple[str, ...]
    region: str
    subregion: str


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A name that means more than one country: ``text`` as it was given, and the countries in order of their codes."""

    text: str
    candidates: tuple[Place, ...]

    def __str__(self) -> str:
        return f"{self.text!r} may mean {' or '.join(place.country for place in self.candidates)}"


def resolve(text: str, *, attribute: str = "nationality") -> Place | Ambiguous | None:
    """Return the country that ``text`` names: by nationality, demonym, country name or (in capitals) ISO code.

    Case, accents and punctuation do not matter; misspelt names are never guessed (see :func:`nearest`). None when
    nothing has that name, or when ``attribute`` is not one whose values are countries.
    """
    if attribute not in PLACE_ATTRIBUTES:
        return None
    # Spreadsheets strip zeros from numbers, and give 8.0 for 008.
    code = text.strip()
    number = code.partition(".")[0].zfill(3) if _NUMBER.fullmatch(code) else ""
    place = _index().codes.get(code if _CODE.fullmatch(code) else number)
    candidates = (place,) if place else _places_named(text)
    if len(candidates) > 1:
        return Ambiguous(text, candidates)
    return candidates[0] if candidates else None


def _places_named(text: str) -> tuple[Place, ...]:
    """Return the countries that a name may mean, also with an addition that means the same: "Türkiye (Turkey)"."""
    candidates = next(filter(None, map(_index().names.get, _readings(text))), ())
    addition = _ADDITION.fullmatch(text.strip())
    if candidates or not addition:
        return candidates
    meant = _places_named(addition[1])
    place = _index().codes.get(addition[2].strip())
    same = (place,) if place else next(filter(None, map(_index().names.get, _readings(addition[2]))), ())
    return meant if fold(addition[2]) in _SAYS_NOTHING or same == meant else ()


def shared_names(groups: Iterable[Collection[str]]) -> dict[str, str]:
    """Return the name of the country for each name of a culture that another group spells differently.

    ``groups``: the cultures of one benchmark each, such as "South_Korea" here and "Korea, Republic of" there. If a
    group has two names of one country, these are two cultures, and both keep their names.
    """
    spelled: defaultdict[Place, list[str]] = defaultdict(list)
    apart: set[Place] = set()
    for group in groups:
        meant: dict[Place, str] = {}
        for name in dict.fromkeys(group):
            place = resolve(name.replace("_", " "), attribute="country")
            if isinstance(place, Place):
                apart |= {place} if place in meant else set()
                meant[place] = name
        for place, name in meant.items():
            spelled[place].append(name)
    differing = {place: names for place, names in spelled.items() if len(set(names)) > 1 and place not in apart}
    return {name: place.country for place, names in differing.items() for name in names}


def is_code(text: str) -> bool:
    """Whether ``text`` has the shape of a country code (PH, PHL, 608, GB-NIR), known or not."""
    return (_CODE.fullmatch(text) or _NUMBER.fullmatch(text)) is not None


def place_of(iso3: str) -> Place | None:
    """Return the country with the code ``iso3`` (as in :attr:`Place.iso3`), or None."""
    return _index().codes.get(iso3)


def branch_of(language: str) -> str:
    """Return the branch of a language (ISO 639 code of ``places.csv``), such as "Slavic"; "" where it is not known."""
    return _branches().get(language, "")


@cache
def _branches() -> Mapping[str, str]:
    return {row["code"]: row["branch"] for row in table_rows(Path(__file__).with_name("branches.csv"))}


def places() -> tuple[Place, ...]:
    """Return every country, in order of its code."""
    return _index().places


def country_at_start(text: str) -> Place | None:
    """Return the country that a name with an addition starts with, such as "Belgium French"; None where there is none.

    For names that :func:`resolve` does not know: surveys split countries by language, region or group. People must
    decide whether the row belongs to that country.
    """
    words = fold(text).split()
    for length in range(len(words) - 1, 0, -1):
        candidates = _index().names.get(" ".join(words[:length]), ())
        if candidates:
            return candidates[0] if len(candidates) == 1 else None
    return None


def nearest(text: str, count: int = 3) -> tuple[Place, ...]:
    """Return up to ``count`` countries with a name like ``text``, the most similar first; () when none is similar."""
    index = _index()
    near = difflib.get_close_matches(fold(text), index.names, n=4 * count, cutoff=0.82)
    return tuple(dict.fromkeys(place for name in near for place in index.names[name]))[:count]


def suggestion(text: str) -> str:
    """Return "Did you mean ...?" for an unknown name, "" when no known name is similar."""
    near = [f"{place.identity} ({place.country})" for place in nearest(text)]
    return f"Did you mean {' or '.join(near)}?" if near else ""


def fold(text: str) -> str:
    """Return ``text`` as names are compared: without case, accents, punctuation or leading "the"; "St." is "saint"."""
    # Twice: mathematical and full-width capitals have small letters only after they become plain letters.
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    plain = re.sub(r"[.'’ʼ‘`]", "", plain.replace("&", " and "))
    words = [_SHORT.get(word, word) for word in re.findall(r"[^\W_]+", plain)]
    return " ".join(words[1:] if len(words) > 1 and words[0] == "the" else words)


def _readings(text: str) -> Iterator[str]:
    """Yield the name, then without an inversion ("Gambia, The"), then without its form of state ("Republic of")."""
    name = fold(text)
    yield name
    head, comma, tail = text.partition(",")
    if comma:
        name = fold(f"{tail} {head}")
        yield name
    if hit := _OFFICIAL.match(name):
        yield name[hit.end() :]


_TEXTS = ("identity", "country", "iso2", "iso3", "numeric", "region", "subregion")


class _Index(NamedTuple):
    """Every country, in order of its code; by each of its codes, and by each folded name."""

    places: tuple[Place, ...]
    codes: Mapping[str, Place]
    names: Mapping[str, tuple[Place, ...]]


@cache
def _index() -> _Index:
    places: list[Place] = []
    codes: dict[str, Place] = {}
    names: defaultdict[str, tuple[Place, ...]] = defaultdict(tuple)
    for row in table_rows(Path(__file__).with_name("places.csv")):
        place = Place(
            **{name: row[name] for name in _TEXTS},
            latitude=float(row["latitude"]),
            longitude=float(row["longitude"]),
            languages=tuple(row["languages"].split()),
        )
        places.append(place)
        codes |= {code: place for code in (place.iso2, place.iso3, place.numeric) if code}
        more = filter(None, (*row["demonyms"].split("|"), *row["names"].split("|")))
        for name in dict.fromkeys(map(fold, (place.identity, place.country, *more))):
            names[name] += (place,)
    return _Index(tuple(places), codes, dict(names))

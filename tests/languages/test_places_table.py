"""The table of places against ISO 3166, the map's outlines, and itself."""

import json
from itertools import accumulate
from pathlib import Path

import iso3166
import pytest

from kapwa.languages import places as names
from kapwa.languages.places import Place, fold

ISLANDS = {"GNQ", "VUT"}  # their capitals are on islands that the outlines leave out
UNINHABITED = {"ATA", "ATF", "BVT", "HMD", "IOT", "SGS", "UMI"}


def test_codes_are_those_of_iso_3166() -> None:
    official = {country.alpha3: country for country in iso3166.countries}
    ours = {place.iso3: place for place in names.places()}
    assert set(official) - set(ours) - {"XKX"} == UNINHABITED
    for code in set(official) & set(ours) - {"XKX"}:
        assert (ours[code].iso2, ours[code].numeric) == (official[code].alpha2, official[code].numeric)
    assert set(ours) - set(official) - {"XKX"} == {"GB-NIR", "GB-ENG", "GB-SCT", "GB-WLS"}
    assert (ours["XKX"].iso2, ours["XKX"].numeric) == ("XK", "")


def test_every_name_of_iso_3166_resolves_to_its_country() -> None:
    for country in iso3166.countries:
        if country.alpha3 in UNINHABITED | {"COG"}:  # "Congo" is ambiguous, whatever ISO calls it
            continue
        for name in (country.name, country.apolitical_name):
            found = names.resolve(name)
            assert isinstance(found, Place), name
            assert found.iso3 == country.alpha3, name


def test_each_place_has_its_own_code_country_and_word_for_its_people() -> None:
    places = names.places()
    assert len({place.iso3 for place in places}) == len(places) == 247
    assert len({fold(place.country) for place in places}) == len(places)
    shared = [place.identity for place in places]
    assert {name for name in shared if shared.count(name) > 1} == {"Congolese", "Dominican"}


def test_only_these_names_are_ambiguous() -> None:
    ambiguous = {name: {place.iso3 for place in found} for name, found in names._index().names.items() if found[1:]}
    assert ambiguous == {
        "congo": {"COD", "COG"},
        "congolese": {"COD", "COG"},
        "dominican": {"DMA", "DOM"},
        "korea": {"KOR", "PRK"},
        "korean": {"KOR", "PRK"},
        "virgin islands": {"VGB", "VIR"},
        "virgin islander": {"VGB", "VIR"},
        "saint martin": {"MAF", "SXM"},
        "channel islands": {"GGY", "JEY"},
    }


def test_regions_are_of_the_m49_standard() -> None:
    subregions = {place.subregion: place.region for place in names.places()}
    assert len(subregions) == 22
    for place in names.places():
        assert subregions[place.subregion] == place.region
    assert {place.region for place in names.places()} == {"Africa", "Americas", "Asia", "Europe", "Oceania"}
    for code, subregion in {
        "PHL": "South-eastern Asia", "TUR": "Western Asia", "CYP": "Western Asia", "MEX": "Central America",
        "SDN": "Northern Africa", "RUS": "Eastern Europe", "GBR": "Northern Europe", "MOZ": "Eastern Africa",
        "IRN": "Southern Asia", "GRL": "Northern America", "GUM": "Micronesia", "EST": "Northern Europe",
    }.items():  # fmt: skip
        place = names.place_of(code)
        assert place.subregion == subregion


def outlines() -> dict[str, tuple[float, float, float, float]]:
    """Bounds (west, south, east, north) of each country of the map, by ISO number."""
    text = (Path(__file__).parents[2] / "tools/countries-110m.json").read_text(encoding="utf-8")
    world = json.loads(text)
    (scale_x, scale_y), (move_x, move_y) = world["transform"]["scale"], world["transform"]["translate"]
    arcs = []
    for arc in world["arcs"]:
        points = accumulate(arc, lambda before, step: [before[0] + step[0], before[1] + step[1]])
        arcs.append([(x * scale_x + move_x, y * scale_y + move_y) for x, y in points])
    bounds = {}
    for shape in world["objects"]["countries"]["geometries"]:
        polygons = shape["arcs"] if shape["type"] == "MultiPolygon" else [shape["arcs"]]
        points = [p for polygon in polygons for ring in polygon for arc in ring for p in arcs[max(arc, ~arc)]]
        xs, ys = zip(*points, strict=True)
        bounds[str(shape.get("id"))] = (min(xs), min(ys), max(xs), max(ys))
    return bounds


def test_capitals_lie_within_their_countries_outlines() -> None:
    bounds = outlines()
    checked = 0
    for place in names.places():
        if place.numeric not in bounds or place.iso3 in ISLANDS:
            continue
        west, south, east, north = bounds[place.numeric]
        near = 0.6  # degrees: outlines at 1:110 million are coarse
        assert south - near <= place.latitude <= north + near, place.country
        assert west - near <= place.longitude <= east + near, place.country
        checked += 1
    assert checked > 165


@pytest.mark.parametrize(
    ("code", "language"),
    [("PHL", "fil"), ("BRA", "pt"), ("CHE", "fr"), ("AUT", "de"), ("MEX", "es"), ("TWN", "zh"), ("SEN", "fr")],
)
def test_languages(code: str, language: str) -> None:
    place = names.place_of(code)
    assert language in place.languages


def test_every_place_has_a_language_and_its_neighbours_are_not_its_own() -> None:
    assert all(place.languages for place in names.places())
    assert names.place_of("ABC") is None
    assert names.place_of("") is None

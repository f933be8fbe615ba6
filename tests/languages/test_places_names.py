"""Which country a name means, as people and surveys write it."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.languages import places as names
from kapwa.languages.places import Ambiguous, Place, country_at_start, fold, nearest, resolve, shared_names, suggestion

with Path(__file__).with_name("names.csv").open(encoding="utf-8", newline="") as file:
    NAMES = list(csv.reader(file))[1:]


def test_every_released_nationality_resolves_to_its_own_spelling(eecc_data: Path) -> None:
    lines = (eecc_data / "identities.tsv").read_text(encoding="utf-8").splitlines()
    identities = [line.split("\t")[1] for line in lines]
    found = {name: resolve(name) for name in identities}
    places = {name: place for name, place in found.items() if isinstance(place, Place)}
    assert len(identities) == 193
    assert set(identities) - set(places) == {"Congolese", "Dominican"}
    assert all(place.identity == name for name, place in places.items())
    assert len(set(places.values())) == 191


@pytest.mark.parametrize(("text", "codes"), NAMES)
def test_names_as_people_and_surveys_write_them(text: str, codes: str) -> None:
    """The table has the code of the place that a name means, of all where it is ambiguous, and none for no place."""
    found = resolve(text)
    if isinstance(found, Ambiguous):
        assert (found.text, " ".join(place.iso3 for place in found.candidates)) == (text, codes)
        assert " or " in str(found)
    else:
        assert (found.iso3 if found else "") == codes


@pytest.mark.parametrize(
    ("text", "country"),
    [
        ("Belgium French", "Belgium"), ("Belgian (Dutch-speaking)", "Belgium"),
        ("South Africa white", "South Africa"), ("South African (white population distinction)", "South Africa"),
        ("Germany East", "Germany"), ("Papua New Guinea highlands", "Papua New Guinea"),
    ],
)  # fmt: skip
def test_parts_of_countries(text: str, country: str) -> None:
    assert resolve(text) is None
    place = country_at_start(text)
    assert place is not None
    assert place.country == country


@pytest.mark.parametrize("text", ["Arab countries", "Africa East", "Congo basin", "", "Belgium"])
def test_what_is_no_part_of_one_country(text: str) -> None:
    assert country_at_start(text) is None


@pytest.mark.parametrize(
    ("text", "country"),
    [("Nigeran", "Nigeria"), ("Slovack", "Slovakia"), ("Phillipines", "Philippines"), ("Columbian", "Colombia")],
)
def test_misspelt_names_are_suggested_never_taken(text: str, country: str) -> None:
    assert resolve(text) is None
    assert nearest(text)[0].country == country
    assert country in suggestion(text)
    assert len(nearest(text, 1)) == 1


PLACES = names.places()


@given(
    st.sampled_from(PLACES), st.sampled_from(["upper", "lower", "title", "swapcase"]), st.sampled_from(["", " ", ". "])
)
def test_case_and_stray_signs_do_not_matter(place: Place, change: str, stray: str) -> None:
    if len(place.country) <= 3:
        return
    text = stray + getattr(place.country, change)() + stray
    found = resolve(text)
    assert found == place


@given(st.sampled_from(PLACES))
def test_identity_country_and_codes_of_a_place_lead_back_to_it(place: Place) -> None:
    for text in filter(None, (place.country, place.identity, place.iso2, place.iso3, place.numeric)):
        found = resolve(text)
        assert found == place or (isinstance(found, Ambiguous) and place in found.candidates)


@given(st.text(max_size=30))
def test_any_text_is_answered(text: str) -> None:
    found = resolve(text)
    assert found is None or isinstance(found, Place | Ambiguous)
    assert fold(fold(text)) == fold(text) or fold(text).startswith("the ")
    assert isinstance(suggestion(text), str)


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        ([["South_Korea", "US"], ["Korea, Republic of", "United States"], ["Korea (South)", "US"]],
         {"South_Korea": "South Korea", "Korea, Republic of": "South Korea", "Korea (South)": "South Korea",
          "US": "United States", "United States": "United States"}),
        ([["South_Korea"], ["South_Korea"]], {}),
        ([["KR", "South Korea"], ["Korea (South)"]], {}),  # two cultures in one benchmark stay two
        ([["West_Java", "Hausa"], ["West Java", "hausa"]], {}),  # no countries
        ([["Niger"], ["Nigeria"]], {}),
        ([], {}),
    ],
)  # fmt: skip
def test_benchmarks_that_write_a_country_in_several_ways_share_its_name(
    groups: list[list[str]], names: dict[str, str]
) -> None:
    assert shared_names(groups) == names

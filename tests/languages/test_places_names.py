"""Which country a name means, as people and surveys write it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.languages import places as names
from kapwa.languages.places import Ambiguous, Place, fold, nearest, part_of, resolve, suggestion


def code(text: str) -> str:
    found = resolve(text)
    assert isinstance(found, Place), f"{text!r} is {found}"
    return found.iso3


def test_every_released_nationality_resolves_to_its_own_spelling(eecc_data: Path) -> None:
    lines = (eecc_data / "identities.tsv").read_text(encoding="utf-8").splitlines()
    identities = [line.split("\t")[1] for line in lines]
    found = {name: resolve(name) for name in identities}
    places = {name: place for name, place in found.items() if isinstance(place, Place)}
    assert len(identities) == 193
    assert set(identities) - set(places) == {"Congolese", "Dominican"}
    assert all(place.identity == name for name, place in places.items())
    assert len(set(places.values())) == 191


@pytest.mark.parametrize(
    ("text", "iso3"),
    [
        ("Luxembourgish", "LUX"), ("Slovakian", "SVK"), ("Malay", "MYS"), ("Trinidadian/Tobagonian", "TTO"),
        ("Trinidadian-Tobagonian", "TTO"), ("American", "USA"), ("U.S.A.", "USA"),
        ("United States of America", "USA"), ("  the Netherlands ", "NLD"), ("Côte d’Ivoire", "CIV"),
        ("COTE D'IVOIRE", "CIV"), ("Türkiye", "TUR"), ("turkey", "TUR"), ("Korea, South", "KOR"),
        ("Korea South", "KOR"), ("Republic of Korea", "KOR"), ("Korea, Dem. People's Rep.", "PRK"),
        ("Gambia, The", "GMB"), ("Dominican Rep", "DOM"), ("Kyrgyz Rep", "KGZ"), ("Macedonia Rep", "MKD"),
        ("DR Congo", "COD"), ("Democratic Republic of the Congo", "COD"), ("Republic of the Congo", "COG"),
        ("Congo-Brazzaville", "COG"), ("Great Britain", "GBR"), ("Northern Ireland", "GB-NIR"),
        ("Republic of Ireland", "IRL"), ("Hong Kong SAR", "HKG"), ("Taiwan ROC", "TWN"),
        ("Republic of China", "TWN"), ("People's Republic of China", "CHN"), ("Kingdom of Norway", "NOR"),
        ("Plurinational State of Bolivia", "BOL"), ("Democratic Socialist Republic of Sri Lanka", "LKA"),
        ("Viet Nam", "VNM"), ("Burma", "MMR"), ("St. Lucia", "LCA"), ("São Toméan", "STP"),
        ("Sao Tome & Principe", "STP"), ("Bosnia & Herzegovina", "BIH"), ("Kosovar", "XKX"), ("Puerto Rico", "PRI"),
        ("Greenlandic", "GRL"), ("Macao", "MAC"), ("Scottish", "GB-SCT"),
    ],
)  # fmt: skip
def test_names_as_people_and_surveys_write_them(text: str, iso3: str) -> None:
    assert code(text) == iso3


@pytest.mark.parametrize(
    ("text", "iso3"),
    [("US", "USA"), ("USA", "USA"), ("840", "USA"), ("840.0", "USA"), ("8", "ALB"), ("008", "ALB"), ("XK", "XKX"),
     ("GB-NIR", "GB-NIR"), ("NIR", "GB-NIR"), ("NA", "NAM"), ("NO", "NOR"), ("UK", "GBR")],
)  # fmt: skip
def test_codes(text: str, iso3: str) -> None:
    assert code(text) == iso3


@pytest.mark.parametrize("text", ["no", "in", "is", "per", "and", "", "  ", "999", "12345", "8.5", "XX", "-"])
def test_words_and_numbers_are_no_codes(text: str) -> None:
    assert resolve(text) is None


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("Congolese", {"COD", "COG"}), ("congo", {"COD", "COG"}), ("Dominican", {"DMA", "DOM"}),
        ("Korean", {"KOR", "PRK"}), ("Virgin Islander", {"VGB", "VIR"}),
    ],
)  # fmt: skip
def test_ambiguous_names_give_every_candidate(text: str, codes: set[str]) -> None:
    found = resolve(text)
    assert isinstance(found, Ambiguous)
    assert {place.iso3 for place in found.candidates} == codes
    assert [place.iso3 for place in found.candidates] == sorted(codes)
    assert found.text == text
    assert " or " in str(found)


@pytest.mark.parametrize(
    ("text", "iso3"),
    [
        ("Nigerian", "NGA"), ("Nigerien", "NER"), ("Guinean", "GIN"), ("Bissau-Guinean", "GNB"),
        ("Equatorial Guinean", "GNQ"), ("Papua New Guinean", "PNG"), ("Guyanese", "GUY"), ("French Guianese", "GUF"),
        ("Indian", "IND"), ("Indonesian", "IDN"), ("Austrian", "AUT"), ("Australian", "AUS"), ("Slovak", "SVK"),
        ("Slovene", "SVN"), ("Samoan", "WSM"), ("American Samoan", "ASM"), ("Sudanese", "SDN"),
        ("South Sudanese", "SSD"), ("Mauritian", "MUS"), ("Mauritanian", "MRT"), ("Central African", "CAF"),
        ("South African", "ZAF"), ("Micronesian", "FSM"), ("Irish", "IRL"), ("Northern Irish", "GB-NIR"),
        ("Georgian", "GEO"), ("Chinese", "CHN"), ("Taiwanese", "TWN"), ("Grenadian", "GRD"), ("Vincentian", "VCT"),
    ],
)  # fmt: skip
def test_names_that_are_easily_confused(text: str, iso3: str) -> None:
    assert code(text) == iso3


@pytest.mark.parametrize(
    "text",
    ["Africa East", "East African", "Arab countries", "Arab", "Europe", "Yugoslavia", "USSR", "Georgia, State of"],
)
def test_regions_and_former_states_are_no_countries(text: str) -> None:
    assert resolve(text) is None


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
    part = part_of(text)
    assert part is not None
    assert part.country == country


@pytest.mark.parametrize("text", ["Arab countries", "Africa East", "Congo basin", "", "Belgium"])
def test_what_is_no_part_of_one_country(text: str) -> None:
    assert part_of(text) is None


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

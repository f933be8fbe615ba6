"""The English article: by sound in our prompts, by letter in the released ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.suites.eecc.form import article, article_reference

BY_SOUND = {
    "a": "Ugandan Ukrainian Uruguayan European Eurasian unicorn Unitarian university uniform Utahn usual UK UN US "
    "UNESCO NATO NASA BBC one-armed once-married Ouagadougou Yemeni ewe union-member Honduran 70-year-old "
    "1-year-old 100-year-old 1,000 Uyghur Swiss Ghanaian ukulele-playing utopian T-shirt U-boat hourani useful",
    "an": "American Emirati Irish Omani Uzbek Ulster Urdu unhappy uninsured unidentified urban Icelander I-Kiribati "
    "honest hourglass honorary honourable heiress hour hourly heir MP LGBT NRI FBI X-ray HIV-positive 8-year-old "
    "80-year-old 11-year-old 18-year-old 18th-century Åland Österreicher Éwé Ewe Ytterby Yvonne umbrella only Oneida "
    "Antiguan uncle ugly Ivorian e-sports SUV Andorran upper R-rated",
}  # fmt: skip


@pytest.mark.parametrize(("right", "name"), [(a, n) for a, names in BY_SOUND.items() for n in names.split()])
def test_the_article_goes_by_sound(right: str, name: str) -> None:
    assert article(name) == right, name


@pytest.mark.parametrize(
    ("name", "right"),
    [("“honest” trader", "an"), ("(Ugandan) farmer", "a"), ("Equatorial Guinean", "an"), ("New Zealander", "a"),
     ("", "a"), ("…", "a"), ("日本人", "a"), ("_Irish", "an")],
)  # fmt: skip
def test_only_the_first_word_that_can_be_said_counts(name: str, right: str) -> None:
    assert article(name) == right


@given(st.text(max_size=12))
def test_any_text_gets_one_of_two_articles(name: str) -> None:
    assert article(name) in ("a", "an")
    assert article_reference(name) in ("a", "an")


@given(st.sampled_from("bcdfgjklmnpqrstvwz"), st.text("abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=9))
def test_before_a_plain_consonant_both_rules_say_a(first: str, rest: str) -> None:
    assert article(first + rest) == article(f"{first.upper()}{rest}") == article_reference(first + rest) == "a"

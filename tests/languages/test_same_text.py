"""When two texts are the same text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.languages.folding import Folding
from kapwa.languages.same import equal_texts, same_text


@given(st.text(st.characters(max_codepoint=127)))
def test_the_short_way_for_ascii_is_the_folding_of_every_text(text: str) -> None:
    assert same_text(text) == Folding()(text)


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [
        ("café", "cafe\u0301", ""),
        ("ＡＢＣ", "abc", ""),
        ("“Yes” – she said", '"yes" - she said', ""),
        ("٣ cups", "3 cups", ""),
        ("soft\u00adhyphen \u200b text", "softhyphen text", ""),
        ("Fish & chips", "fish and chips", "en"),
        ("pan & vino", "pan y vino", "es"),
    ],
)
def test_texts_that_differ_in_writing_alone_are_the_same(one: str, other: str, language: str) -> None:
    assert same_text(one, language) == same_text(other, language)
    assert equal_texts([one, "else", other], language) == one


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [("año", "ano", "es"), ("rice", "rices", "en"), ("R&B", "R and B", "en"), ("fish & chips", "fish and chips", "")],
)
def test_other_texts_stay_apart(one: str, other: str, language: str) -> None:
    assert same_text(one, language) != same_text(other, language)
    assert equal_texts([one, other], language) is None

"""Words of any script."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.tokenize import tokenize as rouge_words

from kapwa.languages.words import spaced, words

ASCII = st.text(st.characters(min_codepoint=9, max_codepoint=126), max_size=60)


@given(ASCII)
def test_ascii_words_are_those_of_rouge(text: str) -> None:
    assert list(words(text)) == rouge_words(text, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ang niño, kumain.", ("ang", "niño", "kumain")),
        ("মই ভাত খাওঁ।", ("মই", "ভাত", "খাওঁ")),  # Assamese vowel signs are combining marks
        ("አዲስ አበባ፣ ትልቅ ነው።", ("አዲስ", "አበባ", "ትልቅ", "ነው")),
        ("나는 밥을 먹는다.", ("나는", "밥을", "먹는다")),
        ("أُحِبُّ القهوة،", ("أُحِبُّ", "القهوة")),
        ("ที่นี่ดี", ("ที่", "นี่", "ดี")),
        ("我喜欢吃饭。", ("我", "喜", "欢", "吃", "饭")),
        ("می\u200cخواهم", ("میخواهم",)),  # a joiner changes looks, not the word
        ("Ｆｕｌｌ ２", ("full", "2")),
        ("İSTANBUL", ("istanbul",)),
        ("ΛΌΓΟΣ λόγος Straße STRASSE", ("λόγοσ", "λόγοσ", "strasse", "strasse")),
        ("snake_case", ("snake", "case")),
        ("…", ()),
        ("", ()),
    ],
)
def test_words_by_script(text: str, expected: tuple[str, ...]) -> None:
    assert words(text) == tuple(unicodedata.normalize("NFKC", word) for word in expected)


# The package regex knows a newer Unicode than Python: only characters both have are compared.
ASSIGNED = st.characters(exclude_categories=["Cn", "Cs", "Co", "Cf"])


@given(st.text(ASSIGNED, max_size=80))
def test_words_hold_all_letters_marks_and_digits_and_nothing_else(text: str) -> None:
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = unicodedata.normalize("NFC", folded).replace("i\u0307", "i")
    kept = "".join(char for char in folded if unicodedata.category(char)[0] in "LMN")
    assert "".join(words(text)) == kept
    assert all(words(text))


@given(st.text(max_size=40))
def test_composed_and_decomposed_text_has_the_same_words(text: str) -> None:
    assert words(unicodedata.normalize("NFC", text)) == words(unicodedata.normalize("NFD", text))


@given(st.text(st.characters(max_codepoint=0x0DFF), max_size=60))
def test_text_of_spaced_scripts_is_left_alone(text: str) -> None:
    assert spaced(text) == text


def test_unspaced_scripts_are_cut_between_graphemes() -> None:
    assert spaced("ผมชอบ").split() == ["ผ", "ม", "ช", "อ", "บ"]
    assert spaced("ກິນເຂົ້າ").split() == ["ກິ", "ນ", "ເ", "ຂົ້", "າ"]
    assert spaced("a好b").split() == ["a", "好", "b"]

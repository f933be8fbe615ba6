"""Text that charts and pages show: cleaned, cut and isolated in any script."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from kapwa.files import slug
from kapwa.report.text import clean, font_for, isolate, label_text, truncate


@given(st.text(), st.integers(1, 30))
def test_truncation_keeps_to_the_limit_and_says_so(text: str, limit: int) -> None:
    cut = truncate(text, limit)
    assert len(regex.findall(r"\X", cut)) <= limit
    assert cut == text or cut.endswith("…")


@given(st.text())
def test_clean_text_can_stand_in_xml(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert not any(ord(c) < 32 and c not in "\t\n" for c in cleaned)
    assert "\x1b" not in cleaned


def test_a_vowel_sign_is_never_cut_from_its_consonant() -> None:
    assert truncate("তিথিতিথি", 3) == "তিথি…"


def test_direction_overrides_are_removed_from_labels_and_rtl_is_isolated() -> None:
    assert label_text("a\u202eb\u2066c\n d") == "abc d"
    assert isolate("مصر") == "\u2068مصر\u2069"
    assert isolate("Manila") == "Manila"


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("Manila", ""),
        ("n = 12 مصر", "'Noto Sans Arabic',"),
        ("অসম", "'Noto Sans Bengali',"),
        ("ኢትዮጵያ", "'Noto Sans Ethiopic',"),
        ("대한민국", "'Noto Sans CJK KR',"),
        ("日本", "'Noto Sans CJK SC',"),
        ("Привет", ""),
    ],
)
def test_the_font_of_the_script_is_named_first(text: str, family: str) -> None:
    assert font_for(text).partition(",")[0] == family.rstrip(",")


@given(st.text())
def test_slugs_hold_no_separators(text: str) -> None:
    made = slug(text)
    assert made
    assert not set(made) & set("/\\ .<>:\"'|?*\n")


def test_slugs_keep_every_script_readable() -> None:
    assert slug("Kalahi/MC: অসম (তিথি)") == "kalahi-mc-অসম-তিথি"

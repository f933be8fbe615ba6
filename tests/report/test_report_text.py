"""Text that charts and pages lay out: cleaned, measured, wrapped and isolated in any script."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.files import slug
from kapwa.report.text import (
    clean,
    clusters,
    font_for,
    has_spacing_marks,
    isolate,
    label_text,
    truncate,
    width,
    wrap,
)


@given(st.text(), st.integers(2, 40), st.integers(1, 4))
def test_wrapped_lines_never_exceed_their_limits(text: str, limit: int, lines: int) -> None:
    wrapped = wrap(label_text(text), limit, lines)
    assert 1 <= len(wrapped) <= lines
    assert all(width(line) <= limit for line in wrapped)


@given(st.text(alphabet="ab c-/अिक한", max_size=30), st.integers(4, 40))
def test_wrapping_loses_nothing_when_there_is_room(text: str, limit: int) -> None:
    joined = "".join(wrap(text, limit, 60)).replace(" ", "")
    assert joined == text.replace(" ", "")


@given(st.text(), st.integers(1, 30))
def test_truncation_keeps_to_the_limit_and_says_so(text: str, limit: int) -> None:
    cut = truncate(text, limit)
    assert width(cut) <= limit
    assert cut == text or cut.endswith("…")


@given(st.text())
def test_clusters_rejoin_and_never_begin_with_a_mark(text: str) -> None:
    units = clusters(text)
    assert "".join(units) == text
    assert all(unicodedata.category(unit[0]) not in ("Mn", "Mc", "Me") for unit in units[1:])


@given(st.text())
def test_clean_text_can_stand_in_xml(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert not any(ord(c) < 32 and c not in "\t\n" for c in cleaned)
    assert "\x1b" not in cleaned


def test_a_vowel_sign_is_never_cut_from_its_consonant() -> None:
    assert clusters("তিথি") == ["তি", "থি"]
    assert truncate("তিথিতিথি", 3).removesuffix("…") in ("তি", "তিথি")


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("대한", 4), ("e\u0301", 1), ("a\u200db", 2), ("", 0)])
def test_width_counts_columns(text: str, columns: int) -> None:
    assert width(text) == columns


def test_direction_overrides_are_removed_from_labels_and_rtl_is_isolated() -> None:
    assert label_text("a\u202eb\u2066c\n d") == "abc d"
    assert isolate("مصر") == "\u2068مصر\u2069"
    assert isolate("Manila") == "Manila"


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("Manila", "'Noto Sans',"),
        ("n = 12 مصر", "'Noto Sans Arabic',"),
        ("অসম", "'Noto Sans Bengali',"),
        ("ኢትዮጵያ", "'Noto Sans Ethiopic',"),
        ("대한민국", "'Noto Sans CJK KR',"),
        ("日本", "'Noto Sans CJK SC',"),
        ("Привет", "'Noto Sans',"),
    ],
)
def test_the_font_of_the_script_is_named_first(text: str, family: str) -> None:
    assert font_for(text).startswith(family)


def test_scripts_with_spacing_vowel_signs_are_known() -> None:
    assert has_spacing_marks("অতিথি")
    assert has_spacing_marks("မြန်မာ")
    assert not has_spacing_marks("Manila مصر 대한민국 ኢትዮጵያ ไทย")


@given(st.text())
def test_slugs_hold_no_separators(text: str) -> None:
    made = slug(text)
    assert made
    assert not set(made) & set("/\\ .<>:\"'|?*\n")


def test_slugs_keep_every_script_readable() -> None:
    assert slug("Kalahi/MC: অসম (তিথি)") == "kalahi-mc-অসম-তিথি"

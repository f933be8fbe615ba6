"""Numbers, dates and times: every value in many spellings, and none read out of another."""

import csv
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.languages.base import Language
from kapwa.languages.codes import code_named
from kapwa.languages.reading import shipped
from kapwa.metrics.quantities import Quantities, Range


def reader(name: str) -> tuple[Language, Quantities]:
    language = shipped(code_named(name))
    return language, Quantities(language.words, glued=language.inside > 0)


ENGLISH, QUANTITIES = reader("english")


def read(kind: str, text: str, name: str = "english") -> set[str]:
    """Return every value of a kind in a text; ranges as "5-7", dates as month/day."""
    language, quantities = reader(name)
    folded = language.fold(text)
    if kind == "time":
        return {f"{minute // 60:02}:{minute % 60:02}" for minute in quantities.times(folded)}
    if kind == "date":
        return {f"{month:02}/{day:02}" for month, day in quantities.dates(folded)}
    found = quantities.numbers(folded)
    return {f"{v.low:.12g}-{v.high:.12g}" if isinstance(v, Range) else f"{v:.12g}" for v in found}


NATIVE = ("0123456789", "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹", "০১২৩৪৫৬৭৮৯", "０１２３４５６７８９")


@given(st.integers(0, 99_999_999), st.sampled_from(NATIVE))
def test_a_number_is_itself_and_nothing_else(value: int, digits: str) -> None:
    text = str(value).translate(str.maketrans("0123456789", digits))
    assert read("number", f"({text})") == read("number", f"about {text}.") == {str(value)}


@given(st.integers(0, 23), st.integers(0, 59))
def test_a_time_of_day_in_its_spellings(hour: int, minute: int) -> None:
    wanted = {f"{hour:02}:{minute:02}"}
    half = "am" if hour < 12 else "pm"
    assert read("time", f"{hour:02}:{minute:02}") == wanted
    assert read("time", f"at {hour}.{minute:02}h") == wanted
    assert read("time", f"{(hour + 11) % 12 + 1}:{minute:02} {half.upper()}") == wanted
    assert read("time", f"{hour}:{minute:02}", "korean") == wanted


@given(st.integers(1, 12), st.integers(1, 31))
def test_a_day_in_its_spellings(month: int, day: int) -> None:
    name = next(word for word, value in ENGLISH.words.months.items() if value == month)
    wanted = {f"{month:02}/{day:02}"}
    assert read("date", f"{month:02}/{day:02}") == wanted
    assert read("date", f"2024-{month:02}-{day:02}") == wanted
    assert read("date", f"{name.title()} {day}") == wanted
    assert read("date", f"the {day}th of {name}, 2023") == wanted
    assert read("date", f"{month}월 {day}일", "korean") == wanted
    assert read("date", f"{month}月{day}日", "chinese") == wanted


with Path(__file__).with_name("quantities.csv").open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(row.values()))
def test_quantities_of_a_text(row: dict[str, str]) -> None:
    """The table has a kind, a language, a text and every value in it."""
    assert read(row["kind"], row["text"], row["language"]) == set(row["values"].split())


@pytest.mark.parametrize("name", ["english", "spanish", "korean", "chinese"])
@given(text=st.text(alphabet=st.sampled_from("0123456789.,:/-~ ⁄a h시월일三十千万ጀ፩፲፻፼٫one to pm"), max_size=40))
def test_any_figures_are_read(name: str, text: str) -> None:
    language, quantities = reader(name)
    folded = language.fold(text)
    assert all(
        isinstance(value, Range) or (value >= 0 and math.isfinite(value)) for value in quantities.numbers(folded)
    )
    assert all(0 <= minute < 24 * 60 for minute in quantities.times(folded))
    assert all(1 <= month <= 12 and 1 <= day <= 31 for month, day in quantities.dates(folded))


@pytest.mark.parametrize("sign", ["\U000116d0", "9", "一", "万", "፼", "1,", "1.", "thousand ", "1:", "1/"])
def test_very_long_figures_are_no_trouble(sign: str) -> None:
    for name in ("english", "chinese"):
        language, quantities = reader(name)
        folded = language.fold(sign * 6000)
        quantities.numbers(folded)
        quantities.times(folded)
        quantities.dates(folded)

"""Numbers, dates and times: every value in many spellings, and none read out of another."""

import importlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.languages.base import Language
from kapwa.metrics.quantities import Quantities, Range


def reader(name: str) -> tuple[Language, Quantities]:
    language = importlib.import_module(f"kapwa.languages.{name}").language
    return language, Quantities(language.words, glued=language.inside > 0)


ENGLISH, QUANTITIES = reader("english")


def numbers(text: str, name: str = "english") -> set[float | Range]:
    language, quantities = reader(name)
    return set(quantities.numbers(language.fold(text)))


def times(text: str, name: str = "english") -> set[str]:
    language, quantities = reader(name)
    return {f"{minute // 60:02}:{minute % 60:02}" for minute in quantities.times(language.fold(text))}


def dates(text: str, name: str = "english") -> set[tuple[int, int]]:
    language, quantities = reader(name)
    return set(quantities.dates(language.fold(text)))


NATIVE = ("0123456789", "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹", "০১২৩৪৫৬৭৮৯", "０１２３４５６７８９")


@given(st.integers(0, 99_999_999), st.sampled_from(NATIVE))
def test_a_number_is_itself_and_nothing_else(value: int, digits: str) -> None:
    text = str(value).translate(str.maketrans("0123456789", digits))
    assert numbers(f"({text})") == {value}
    assert numbers(f"about {text}.") == {value}


@given(st.integers(0, 23), st.integers(0, 59))
def test_a_time_of_day_in_its_spellings(hour: int, minute: int) -> None:
    wanted = {f"{hour:02}:{minute:02}"}
    half = "am" if hour < 12 else "pm"
    assert times(f"{hour:02}:{minute:02}") == wanted
    assert times(f"at {hour}.{minute:02}h") == wanted
    assert times(f"{(hour + 11) % 12 + 1}:{minute:02} {half.upper()}") == wanted
    assert times(f"{hour}:{minute:02}", "korean") == wanted


@given(st.integers(1, 12), st.integers(1, 31))
def test_a_day_in_its_spellings(month: int, day: int) -> None:
    name = next(word for word, value in ENGLISH.words.months.items() if value == month)
    wanted = {(month, day)}
    assert dates(f"{month:02}/{day:02}") == wanted
    assert dates(f"2024-{month:02}-{day:02}") == wanted
    assert dates(f"{name.title()} {day}") == wanted
    assert dates(f"the {day}th of {name}, 2023") == wanted
    assert dates(f"{month}월 {day}일", "korean") == wanted
    assert dates(f"{month}月{day}日", "chinese") == wanted


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("english", "one of the best, about 12", {12}),
        ("english", "twenty-one", {21}),
        ("english", "two hundred and five", {205}),
        ("english", "two, three", {2, 3}),
        ("english", "350 thousand", {350_000}),
        ("english", "10,000", {10_000}),
        ("english", "3 000", {3000}),
        ("english", "0.125", {0.125}),
        ("english", "1½", {1.5}),
        ("english", "½", {0.5}),
        ("english", "5–7 years", {Range(5, 7)}),
        ("english", "two to three", {Range(2, 3)}),
        ("english", "3, 4, 5", {3, 4, 5}),
        ("english", "A4 at 4:30 on 10/4", set()),
        ("english", "4th", {4}),
        ("english", "March", {3}),
        ("english", "- 5\n- 6", {5, 6}),
        ("english", "nothing", set()),
        ("english", "፲፪, ፻", {12, 100}),
        ("english", "፪፻፶", {250}),
        ("english", "፫፼", {30_000}),
        ("spanish", "1,5", {1.5}),
        ("spanish", "treinta y cinco", {35}),
        ("spanish", "dos mil", {2000}),
        ("spanish", "8 a 10", {Range(8, 10)}),
        ("indonesian", "10.000", {10_000}),
        ("indonesian", "dua puluh satu", {21}),
        ("indonesian", "lima belas", {15}),
        ("indonesian", "2 sampai 3", {Range(2, 3)}),
        ("korean", "35만원", {350_000}),
        ("korean", "2~3명", {Range(2, 3)}),
        ("korean", "두명", {2}),
        ("korean", "백 명", {100}),
        ("korean", "일본 이야기", set()),
        ("chinese", "三个", {3}),
        ("chinese", "一万二千", {12_000}),
        ("chinese", "二〇二四", {2024}),
        ("chinese", "3天", {3}),
        ("greek", "είκοσι πέντε", {25}),
        ("filipino", "tatlong anak", {3}),
    ],
)
def test_numbers(name: str, text: str, values: set[float | Range]) -> None:
    assert numbers(text, name) == values


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("english", "3 o'clock", {"03:00", "15:00"}),
        ("english", "around 3 in the afternoon", {"15:00"}),
        ("english", "12 a.m.", {"00:00"}),
        ("english", "12 pm", {"12:00"}),
        ("english", "from 8 am to 5 pm", {"08:00", "17:00"}),
        ("english", "noon", {"12:00"}),
        ("english", "9", {"09:00"}),
        ("english", "24:00", {"00:00"}),
        ("english", "25:00 or 8:75", set()),
        ("english", "9 people", set()),
        ("spanish", "8h", {"08:00"}),
        ("spanish", "17.30h", {"17:30"}),
        ("spanish", "a las 9 de la noche", {"21:00"}),
        ("korean", "오전 9시 30분", {"09:30"}),
        ("korean", "오후 세시 반", {"15:30"}),
        ("korean", "15시", {"15:00"}),
        ("korean", "3시", {"03:00", "15:00"}),
        ("korean", "8시간", set()),
        ("chinese", "下午3点", {"15:00"}),
        ("chinese", "晚上七点半", {"19:30"}),
        ("indonesian", "jam 3 sore", {"15:00"}),
        ("indonesian", "pukul 15.00", {"15:00"}),
        ("greek", "3 μ.μ.", {"15:00"}),
        ("greek", "στις 8 το πρωί", {"08:00"}),
        ("filipino", "ika-3 ng hapon", {"15:00"}),
    ],
)
def test_times(name: str, text: str, values: set[str]) -> None:
    assert times(text, name) == values


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("english", "30/10", {(10, 30)}),
        ("english", "10/30/2024", {(10, 30)}),
        ("english", "13/13 or 10/32", set()),
        ("english", "October", set()),
        ("spanish", "27 de noviembre de 2023", {(11, 27)}),
        ("spanish", "tres de octubre", {(10, 3)}),
        ("korean", "9.5", {(9, 5)}),
        ("chinese", "十月一日", {(10, 1)}),
        ("indonesian", "17 Agustus 1945", {(8, 17)}),
        ("greek", "28 Οκτωβρίου", {(10, 28)}),
        ("filipino", "ika-12 ng Hunyo", {(6, 12)}),
    ],
)
def test_dates(name: str, text: str, values: set[tuple[int, int]]) -> None:
    assert dates(text, name) == values


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

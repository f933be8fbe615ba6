"""Numbers as survey tables write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.analysis.values.cells import Commas, commas_of, is_missing


@pytest.mark.parametrize("cell", ["", "  ", "#NULL!", "#null!", "NA", "n/a", "NaN", "..", ".", "-", "—", "?", "None"])
def test_missing(cell: str) -> None:
    assert is_missing(cell)


@pytest.mark.parametrize("cell", ["0", "-1", "1,5", "x", "0.0", "−3", "no"])
def test_not_missing(cell: str) -> None:
    assert not is_missing(cell)


@pytest.mark.parametrize(
    ("cell", "value"),
    [("5", 5), ("-5", -5), ("−5", -5), (" 1.25 ", 1.25), (".5", 0.5), ("1e3", 1000), ("1,234", 1234),
     ("12,345,678.9", 12345678.9), ("1\u202f234", 1234), ("+3", 3), ("٣", 3)],
)  # fmt: skip
def test_numbers_with_points(cell: str, value: float) -> None:
    assert Commas(decimal=False).number(cell) == value


@pytest.mark.parametrize(
    ("cell", "value"), [("1,5", 1.5), ("-0,25", -0.25), ("1.234,5", 1234.5), ("1,234", 1.234), ("7", 7), ("1.5", 1.5)]
)
def test_numbers_with_decimal_commas(cell: str, value: float) -> None:
    assert Commas(decimal=True).number(cell) == value


@pytest.mark.parametrize(
    "cell", ["x", "1 2", "45%", "1,2,3", "inf", "nan", "1e999", "9" * 400, "0x10", "1_000", "True", "½", ""]
)
def test_what_is_no_finite_number(cell: str) -> None:
    assert Commas(decimal=False).number(cell) is None


@pytest.mark.parametrize(
    ("cells", "semicolons", "expected"),
    [
        (["1,5", "2"], False, Commas(decimal=True)),
        (["1,234", "1,5"], False, Commas(decimal=True)),
        (["1.234,5"], False, Commas(decimal=True)),
        (["1,234", "1.5"], True, Commas(decimal=False)),
        (["1,234,567.8"], True, Commas(decimal=False)),
        (["1,234"], False, Commas(decimal=False, certain=False)),
        (["1,234"], True, Commas(decimal=True, certain=False)),
        (["1.5", "2", "a,b"], False, Commas(decimal=False)),
        ([], True, Commas(decimal=False)),
    ],
)
def test_a_file_shows_how_it_writes_commas(cells: list[str], semicolons: bool, expected: Commas) -> None:
    assert commas_of(cells, semicolons=semicolons) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back_as_written(value: float) -> None:
    assert Commas(decimal=False).number(repr(value)) == value
    assert Commas(decimal=True).number(repr(value).replace(".", ",")) == value


@given(st.text(max_size=20))
def test_any_cell_is_a_finite_number_or_none(cell: str) -> None:
    for decimal in (True, False):
        value = Commas(decimal=decimal).number(cell)
        assert value is None or abs(value) < float("inf")

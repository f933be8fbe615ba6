"""Numbers for people."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.report import numbers

SHARE = {"low": 0.0, "high": 1.0}
SIGNED = {"low": -1.0, "high": 1.0}
POINTS = {"low": 0.0, "high": 100.0}


@pytest.mark.parametrize("missing", [None, math.nan, math.inf])
def test_missing_numbers_are_a_dash_never_nan(missing: float | None) -> None:
    assert numbers.amount(missing, SHARE) == numbers.change(missing, SHARE) == numbers.p_value(missing) == "–"
    assert numbers.points(missing, SHARE) == numbers.duration(missing) == "–"
    assert numbers.interval(missing, 0.5, SHARE) == "no interval"
    assert numbers.change_interval(0.1, missing, SHARE) == "no interval"


@given(st.floats(-1, 1), st.integers(0, 4))
def test_zero_has_no_sign_and_minus_is_a_true_minus(value: float, digits: int) -> None:
    text = numbers.decimal(value, digits, plus=True)
    assert "-" not in text
    assert text.strip("+−") == text or float(text.strip("+−")) != 0


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (numbers.amount(0.2449, SHARE), "24.5%"),
        (numbers.amount(0.2449, SHARE, 0), "24%"),
        (numbers.amount(0.125, SHARE, 0), "13%"),  # halves go up
        (numbers.amount(-0.0123, SIGNED), "−0.012"),
        (numbers.amount(31.26, POINTS), "31.3"),
        (numbers.amount(3.14159, {}), "3.142"),
        (numbers.amount(0.5, {"low": 0.269, "high": 0.731}), "50.0%"),
        (numbers.decimal(-2.5, 0), "−3"),
        (numbers.interval(0.091, 0.46, SHARE), "9.1–46.0%"),
        (numbers.interval(-0.12, 0.031, SIGNED), "−0.120 to 0.031"),
        (numbers.interval(-0.149, 0.482, SHARE), "0.0–48.2%"),  # no score is below 0
        (numbers.interval(0.8, 1.2, SHARE, 0), "80–100%"),
        (numbers.interval(-0.149, 2.0, {}), "−0.149 to 2.000"),
        (numbers.change_interval(-0.041, 0.14, SHARE), "−4.1 to +14.0"),
        (numbers.change(0.052, SHARE), "+5.2"),
        (numbers.change(-0.052, SIGNED), "−0.052"),
        (numbers.points(-0.312, SHARE), "31 points"),
        (numbers.points(0.01, SHARE), "1 point"),
        (numbers.points(-0.012, SIGNED), "0.012"),
        (numbers.p_value(0.5), "0.50"),
        (numbers.p_value(0.0312), "0.031"),
        (numbers.p_value(0.0), "< 0.001"),
        (numbers.count(1, "cluster"), "1 cluster"),
        (numbers.count(1204, "item"), "1,204 items"),
        (numbers.count(2, "query", "queries"), "2 queries"),
        (numbers.duration(3.25), "3.3 s"),
        (numbers.duration(59.4), "59 s"),
        (numbers.duration(200), "3 min 20 s"),
        (numbers.duration(7500), "2 h 5 min"),
        (numbers.detectable(1.0, SHARE), "100 points"),
        (numbers.detectable(4.98, SHARE), "none"),  # no difference can be so large
        (numbers.detectable(3.0, SIGNED), "none"),
        (numbers.detectable(7.25, {}), "7.250"),
    ],
)
def test_numbers_read_as_people_write_them(shown: str, expected: str) -> None:
    assert shown == expected

"""Numbers for people."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.report import numbers

SHARE = {"low": 0.0, "high": 1.0}
SIGNED = {"low": -1.0, "high": 1.0}
POINTS = {"low": 0.0, "high": 100.0}


def test_shares_are_percent_and_other_numbers_are_not() -> None:
    assert numbers.amount(0.2449, SHARE) == "24.5%"
    assert numbers.amount(0.2449, SHARE, 0) == "24%"
    assert numbers.amount(-0.0123, SIGNED) == "−0.012"
    assert numbers.amount(31.26, POINTS) == "31.3"
    assert numbers.amount(3.14159, {}) == "3.142"
    assert numbers.is_share({"low": 0.269, "high": 0.731})


def test_halves_round_up_as_readers_do() -> None:
    assert numbers.amount(0.125, SHARE, 0) == "13%"
    assert numbers.decimal(2.5, 0) == "3"
    assert numbers.decimal(-2.5, 0) == "−3"


@pytest.mark.parametrize("missing", [None, math.nan, math.inf])
def test_missing_numbers_are_a_dash_never_nan(missing: float | None) -> None:
    assert numbers.amount(missing, SHARE) == numbers.change(missing, SHARE) == numbers.p_value(missing) == "–"
    assert numbers.points(missing, SHARE) == numbers.duration(missing) == "–"
    assert numbers.interval(missing, 0.5, SHARE) == "no interval"
    assert numbers.change_interval(0.1, missing, SHARE) == "no interval"


def test_intervals_read_without_a_minus_that_could_be_a_dash() -> None:
    assert numbers.interval(0.091, 0.46, SHARE) == "9.1–46.0%"
    assert numbers.interval(-0.12, 0.031, SIGNED) == "−0.120 to 0.031"
    assert numbers.change_interval(-0.041, 0.14, SHARE) == "−4.1 to +14.0"


def test_intervals_stay_within_what_the_metric_can_be() -> None:
    assert numbers.interval(-0.149, 0.482, SHARE) == "0.0–48.2%"
    assert numbers.interval(0.8, 1.2, SHARE, 0) == "80–100%"
    assert numbers.interval(-0.149, 2.0, {}) == "−0.149 to 2.000"


@given(st.floats(-1, 1), st.integers(0, 4))
def test_zero_has_no_sign_and_minus_is_a_true_minus(value: float, digits: int) -> None:
    text = numbers.decimal(value, digits, plus=True)
    assert "-" not in text
    assert text.strip("+−") == text or float(text.strip("+−")) != 0


def test_differences_carry_their_sign_and_unit() -> None:
    assert numbers.change(0.052, SHARE) == "+5.2"
    assert numbers.change(-0.052, SIGNED) == "−0.052"
    assert numbers.points(-0.312, SHARE) == "31 points"
    assert numbers.points(0.01, SHARE) == "1 point"
    assert numbers.points(-0.012, SIGNED) == "0.012"


@pytest.mark.parametrize(
    ("p", "text"), [(0.5, "0.50"), (1.0, "1.00"), (0.0312, "0.031"), (0.0004, "< 0.001"), (0.0, "< 0.001")]
)
def test_p_values_never_read_as_zero(p: float, text: str) -> None:
    assert numbers.p_value(p) == text


def test_counts_durations_and_sizes() -> None:
    assert numbers.count(1, "cluster") == "1 cluster"
    assert numbers.count(1204, "item") == "1,204 items"
    assert numbers.count(2, "query", "queries") == "2 queries"
    assert [numbers.duration(s) for s in (3.25, 59.4, 200, 7500)] == ["3.3 s", "59 s", "3 min 20 s", "2 h 5 min"]


@pytest.mark.parametrize(
    ("value", "info", "shown"),
    [
        (0.31, {"low": 0, "high": 1}, "31 points"),
        (1.0, {"low": 0, "high": 1}, "100 points"),
        (4.98, {"low": 0, "high": 1}, "none"),
        (3.0, {"low": -1, "high": 1}, "none"),
        (7.25, {}, "7.250"),
        (math.nan, {"low": 0, "high": 1}, "–"),
    ],
    ids=["points", "the whole range", "beyond it", "of another range", "of no range", "unknown"],
)
def test_no_difference_is_called_detectable_that_cannot_be(value: float, info: dict[str, int], shown: str) -> None:
    assert numbers.detectable(value, info) == shown

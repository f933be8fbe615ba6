"""Intervals stay inside the range their metric can take, and never lose their value."""

import polars as pl

from kapwa.runs.outputs import _within_range
from kapwa.suites.base import MetricInfo

METRICS = {"share": MetricInfo("share", "a share", 0.0, 1.0), "free": MetricInfo("free", "any number", None, None)}


def test_intervals_are_cut_at_the_ends_of_the_range() -> None:
    before = pl.DataFrame(
        {
            "metric": ["share", "free", "share", "share", "share"],
            "value": [0.1, 0.1, 0.9, 0.5, None],
            "low": [-0.2, -0.2, 0.7, 0.4, None],
            "high": [0.4, 0.4, 1.1, 0.6, None],
        },
        schema_overrides={"value": pl.Float64, "low": pl.Float64, "high": pl.Float64},
    )
    after = _within_range(before, METRICS)
    assert after.columns == before.columns
    assert after["low"].to_list() == [0.0, -0.2, 0.7, 0.4, None]
    assert after["high"].to_list() == [0.4, 0.4, 1.0, 0.6, None]


def test_a_value_outside_the_range_it_was_said_to_have_stays_inside_its_interval() -> None:
    before = pl.DataFrame({"metric": ["share"], "value": [1.2], "low": [1.1], "high": [1.3]})
    assert _within_range(before, METRICS)["high"].item() == 1.2

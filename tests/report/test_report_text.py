"""Text, numbers and the view behind a page: cleaned, cut and isolated in any script, rounded by their error."""

import math

import polars as pl
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from report_fixtures import make_run

from kapwa.files import slug
from kapwa.report import wording
from kapwa.report.view.tasks import arrange
from kapwa.report.wording import SHARE, UNDESCRIBED, clean, font_for, isolate, label_text, truncate
from kapwa.suites.base import MetricInfo


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


SIGNED = MetricInfo("signed", "Signed", low=-1.0, high=1.0)
POINTS = MetricInfo("points", "Points", low=0.0, high=100.0)


@pytest.mark.parametrize("missing", [None, math.nan, math.inf])
def test_missing_numbers_are_a_dash_never_nan(missing: float | None) -> None:
    assert wording.amount(missing, SHARE) == wording.change(missing, SHARE) == wording.p_value(missing) == "–"
    assert wording.points(missing, SHARE) == wording.duration(missing) == "–"
    assert wording.interval(missing, 0.5, SHARE) == "no interval"
    assert wording.change_interval(0.1, missing, SHARE) == "no interval"


@given(st.floats(-1, 1), st.integers(0, 4))
def test_zero_has_no_sign_and_minus_is_a_true_minus(value: float, digits: int) -> None:
    text = wording.decimal(value, digits, plus=True)
    assert "-" not in text
    assert text.strip("+−") == text or float(text.strip("+−")) != 0


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (wording.amount(0.2449, SHARE), "24.5%"),
        (wording.amount(0.2449, SHARE, 0), "24%"),
        (wording.amount(0.125, SHARE, 0), "13%"),  # halves go up
        (wording.amount(-0.0123, SIGNED), "−0.012"),
        (wording.amount(31.26, POINTS), "31.3"),
        (wording.amount(3.14159, UNDESCRIBED), "3.142"),
        (wording.amount(0.5, MetricInfo("narrow", "Narrow", low=0.269, high=0.731)), "50.0%"),
        (wording.decimal(-2.5, 0), "−3"),
        (wording.interval(0.091, 0.46, SHARE), "9.1–46.0%"),
        (wording.interval(-0.12, 0.031, SIGNED), "−0.120 to 0.031"),
        (wording.interval(-0.149, 0.482, SHARE), "0.0–48.2%"),  # no score is below 0
        (wording.interval(0.8, 1.2, SHARE, 0), "80–100%"),
        (wording.interval(-0.149, 2.0, UNDESCRIBED), "−0.149 to 2.000"),
        (wording.change_interval(-0.041, 0.14, SHARE), "−4.1 to +14.0"),
        (wording.change_interval(-1.04, 0.14, SHARE), "−100.0 to +14.0"),  # no difference is larger than the range
        (wording.change_interval(-1.5, 2.25, SIGNED), "−1.500 to +2.000"),
        (wording.change(0.052, SHARE), "+5.2"),
        (wording.change(-0.052, SIGNED), "−0.052"),
        (wording.points(-0.312, SHARE), "31 points"),
        (wording.points(0.01, SHARE), "1 point"),
        (wording.points(-0.012, SIGNED), "0.012"),
        (wording.p_value(0.5), "0.50"),
        (wording.p_value(0.0312), "0.031"),
        (wording.p_value(0.0), "< 0.001"),
        (wording.count(1, "cluster"), "1 cluster"),
        (wording.count(1204, "item"), "1,204 items"),
        (wording.count(2, "query", "queries"), "2 queries"),
        (wording.duration(3.25), "3.3 s"),
        (wording.duration(59.4), "59 s"),
        (wording.duration(200), "3 min 20 s"),
        (wording.duration(7500), "2 h 5 min"),
        (wording.detectable(1.0, SHARE), "100 points"),
        (wording.detectable(4.98, SHARE), "none"),  # no difference can be so large
        (wording.detectable(3.0, SIGNED), "none"),
        (wording.detectable(7.25, UNDESCRIBED), "7.250"),
    ],
)
def test_numbers_read_as_people_write_them(shown: str, expected: str) -> None:
    assert shown == expected


def test_runs_group_by_task_and_data_in_the_order_given() -> None:
    first, second, third = make_run("a"), make_run("b", task="kalahi/open"), make_run("c")
    other = make_run("d")
    other.manifest["data"]["digest"] = "ffff"
    views = arrange([first, second, third, other])
    assert [(view.task, list(view.labels)) for view in views] == [
        ("kalahi/mc", ["a", "c"]),
        ("kalahi/open", ["b"]),
        ("kalahi/mc", ["d"]),
    ]
    assert len({view.slug for view in views}) == 3


def test_labels_are_the_shortest_that_tell_models_apart() -> None:
    assert arrange([make_run("org/one"), make_run("/data/models/two/")])[0].labels == ["one", "two"]
    assert arrange([make_run("x/one"), make_run("y/one")])[0].labels == ["x/one", "y/one"]
    old, new = make_run("x/one"), make_run("x/one")
    new.manifest["model"]["revision"] = "abcdef0123456789"
    new.manifest["signature"] += "|with:abcdef"
    assert arrange([old, new])[0].labels == ["one @ 7e27bd9f", "one @ abcdef01"]
    assert [list(view.labels) for view in arrange([old, make_run("x/one", task="kalahi/open")])] == [["one"], ["one"]]


def test_the_main_variant_is_the_first_of_the_selection_not_of_the_alphabet() -> None:
    run = make_run(variants=("unenriched", "full"))
    assert arrange([run])[0].variants == ["unenriched", "full"]
    assert arrange([run])[0].variant == "unenriched"


def test_estimates_are_found_by_culture_variant_and_metric() -> None:
    run = make_run()
    view = arrange([run])[0]
    subject = next(s for s in view.subjects if s.culture == "Ilokano")
    row = view.estimate(0, subject, "mc1", "partial")
    wanted = (pl.col("culture") == "Ilokano") & (pl.col("variant") == "partial") & (pl.col("metric") == "mc1")
    expected = run.scores.filter(wanted)["value"].mean()
    assert row["value"] == pytest.approx(expected)
    assert view.estimate(0, subject, "none") is None
    assert sum(r["n"] for r in view.strata(0, subject, "topic").values()) == 16


def test_headline_metrics_come_first_and_unknown_ones_keep_their_name() -> None:
    run = make_run()
    run.manifest["headline"] = ["mc3"]
    del run.manifest["metrics"]["mc2"]
    view = arrange([run])[0]
    assert next(iter(view.metrics)) == "mc3"
    assert view.titles["mc2"] == "mc2"


def test_a_cultures_own_floor_replaces_the_one_over_all_cultures() -> None:
    run = make_run()
    overall = [("mc1", "full", "chance", 0.9, "floor", ""), ("mc1", "full", "other", 0.05, "floor", "")]
    run.floors = pl.concat([pl.DataFrame(overall, schema=run.floors.schema, orient="row"), run.floors])
    view = arrange([run])[0]
    by_name = {mark.name: mark.value for mark in view.marks(view.subjects[1], "mc1").every}
    assert view.subjects[1].culture == "Ilokano"
    assert by_name["chance"] == pytest.approx(0.26)
    assert by_name["other"] == 0.05


def test_a_culture_in_two_languages_is_two_subjects() -> None:
    run = make_run(cultures=("Filipino",))
    english = run.estimates.with_columns(pl.lit("en").alias("language"))
    run.estimates = pl.concat([run.estimates, english])
    assert [s.label for s in arrange([run])[0].subjects] == ["Filipino (fil)", "Filipino (en)"]


def test_a_table_the_suite_does_not_write_is_left_out() -> None:
    view = arrange([make_run()])[0]
    assert view.table("answers") == []
    assert [run for run, _ in view.table("cases")] == [0]

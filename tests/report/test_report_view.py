"""Runs arranged for reading."""

import polars as pl
import pytest
from report_fixtures import make_run

from kapwa.report.view import arrange, model_labels


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
    assert model_labels([make_run("org/one"), make_run("/data/models/two/")]) == ["one", "two"]
    assert model_labels([make_run("x/one"), make_run("y/one")]) == ["x/one", "y/one"]
    old, new = make_run("x/one"), make_run("x/one")
    new.manifest["model"]["revision"] = "abcdef0123456789"
    assert model_labels([old, new]) == ["one @ 7e27bd9f", "one @ abcdef01"]
    again = make_run("x/one")
    again.path = again.path.with_name("second")
    assert model_labels([old, again]) == ["one (kalahi-mc-one-0123abcd)", "one (second)"]
    assert len(set(model_labels([old, old]))) == 2
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
    assert row is not None
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

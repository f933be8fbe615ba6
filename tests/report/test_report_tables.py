"""Tables of the page, their CSV, and the worst cases."""

import base64
import csv
import io

import polars as pl
import pytest
from report_fixtures import make_run

from kapwa.report import comparisons, tables
from kapwa.report.page import worst_cases
from kapwa.report.relations import correlation_table
from kapwa.report.view import TaskView, arrange


def view_of(*runs: object) -> TaskView:
    return arrange(list(runs))[0]  # type: ignore[arg-type]


def read(table: tables.Table) -> list[dict[str, str]]:
    head, _, body = tables.csv_href(table.csv).partition("base64,")
    assert head == "data:text/csv;charset=utf-8;"
    raw = base64.b64decode(body)
    assert raw.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline="")))


def test_every_score_stands_beside_its_interval_floor_and_ceiling() -> None:
    run = make_run(cultures=("Filipino",))
    view = view_of(run)
    table = tables.scores_table(view, view.subjects[0], reference=False)
    assert table is not None
    assert list(table.head) == ["Metric", "smollm2", "Without cultural knowledge", "People"]
    _, score, floor, people = table.rows[0]
    estimate = view.estimate(0, view.subjects[0], "mc1")
    assert estimate is not None
    assert score.text == f"{100 * estimate['value']:.1f}%"
    assert "–" in score.small
    assert (floor.text, floor.small) == ("25.0%", "guessing; always picking the longest answer: 41.3%")
    assert people.text == "89.1%"
    row = read(table)[0]
    assert float(row["value"]) == estimate["value"]
    assert (row["base_floor"], row["highest_floor"], row["ceiling"]) == ("0.25", "0.4133", "0.891")


def test_reference_values_stand_apart() -> None:
    view = view_of(make_run())
    plain = tables.scores_table(view, view.subjects[0], reference=False)
    reference = tables.scores_table(view, view.subjects[0], reference=True)
    assert plain is not None
    assert reference is not None
    assert not any("reference" in row["metric"] for row in read(plain))
    assert {row["metric"] for row in read(reference)} == {"mc1_reference", "mc2_reference"}


def test_strata_show_n_and_grey_the_small_ones() -> None:
    view = view_of(make_run(), make_run("b"))
    table = tables.strata_table(view, view.subjects[0])
    assert table is not None
    by_name = {row[0].text: row for row in table.rows}
    assert by_name["ethics"][1].text == "11"
    assert not by_name["ethics"][2].muted
    assert by_name["courtship"][1].text == "5"
    assert by_name["courtship"][2].muted
    assert sum(int(row["n"]) for row in read(table) if row["group"] == "topic" and row["model"] == "b") == 16


def test_pairs_of_runs_are_adjusted_over_the_whole_report() -> None:
    view = view_of(make_run("a", skill=0.1), make_run("b", skill=0.9), make_run("c", skill=0.5))
    frame = comparisons.run_pairs(view)
    assert set(frame["metric"]) == {"mc1", "mc2"}
    assert set(frame["variant"]) == {"full"}
    assert frame.filter(pl.col("metric") == "mc1").height == 6
    smallest = frame.filter(pl.col("metric") == "mc1").sort("p_value").row(0, named=True)
    assert smallest["p_holm"] == pytest.approx(min(1.0, 6 * smallest["p_value"]))
    table = tables.comparison_table(view, frame, "pairs", "Pairs")
    assert table is not None
    assert any("higher" in row[-1].text for row in table.rows)
    assert read(table)[0]["a"] == "a"


def test_one_run_has_no_pairs_and_three_have_correlations() -> None:
    one = view_of(make_run())
    assert comparisons.run_pairs(one).height == 0
    assert comparisons.correlations(one) is None
    three = view_of(make_run("a", skill=0.1), make_run("b", skill=0.9), make_run("c", skill=0.5))
    frame = comparisons.correlations(three)
    assert frame is not None
    table = correlation_table(three, frame, 3)
    assert [row[0].text for row in table.rows] == ["mc1 × mc2", "mc1 × mc3", "mc2 × mc3"]
    assert all(row[1].small == "too few for an interval" for row in table.rows)
    assert len(read(table)) == 2 * 6


def test_variant_comparisons_name_their_model_when_there_are_several() -> None:
    one, two = (
        comparisons.variant_pairs(view_of(make_run())),
        comparisons.variant_pairs(view_of(make_run("a"), make_run("b"))),
    )
    assert set(one["model"]) == {""}
    assert set(two["model"]) == {"a", "b"}
    assert set(two["metric"]) == {"mc1"}


def test_counts_show_every_outcome_that_occurred() -> None:
    run = make_run(gone={"failed": 2, "refused": 1})
    table = tables.counts_table(view_of(run))
    assert list(table.head) == ["Model", "Right", "Wrong", "Refused", "Failed"]
    refused, failed = table.rows[0][3:]
    assert (refused.text, failed.text) == ("1", "2")
    assert refused.strong
    assert failed.strong
    assert read(table)[0]["failed"] == "2"


def test_answers_in_another_language_are_counted() -> None:
    run = make_run(cultures=("Filipino",), variants=("full",), task="kalahi/open")
    row = run.estimates.filter((pl.col("metric") == "chrf_acc") & (pl.col("group") == "all"))
    language = row.with_columns(pl.lit("answered_other_language").alias("metric"), pl.lit(0.25).alias("value"))
    run.estimates = pl.concat([run.estimates, language])
    table = tables.counts_table(view_of(run))
    assert table.head[-1] == "Other language"
    assert table.rows[0][-1].text == "4"


def test_csv_disarms_formulas_in_users_text() -> None:
    run = make_run("=cmd()", cultures=("Filipino",))
    view = view_of(run)
    table = tables.scores_table(view, view.subjects[0], reference=False)
    assert table is not None
    assert read(table)[0]["model"] == "'=cmd()"
    cases = worst_cases(view, view.subjects[0])
    assert cases is not None
    assert "\n'=cmd()," in cases.csv.replace("\r", "")


def test_the_worst_cases_come_first_and_models_that_agree_stand_together() -> None:
    view = view_of(make_run("a", skill=0.3), make_run("b", skill=0.3))
    cases = worst_cases(view, view.subjects[0])
    assert cases is not None
    misses = [sum(len(said.models) for said in case["said"] if not said.right) for case in cases.cases]
    assert misses == sorted(misses, reverse=True)
    both = next(case for case in cases.cases if len(case["said"]) == 1)
    assert [name for name, _ in both["said"][0].models] == ["a", "b"]
    assert both["prompt_gloss"]
    assert both["language"] == "fil"
    assert cases.items == 16
    assert cases.wrong >= len(cases.cases)


def test_long_answers_are_cut_and_nothing_said_says_so() -> None:
    run = make_run(cultures=("Filipino",), variants=("full",), skill=0.0)
    run.tables["cases"] = run.tables["cases"].with_columns(pl.lit("").alias("got"), pl.lit("x" * 9000).alias("prompt"))
    view = view_of(run)
    cases = worst_cases(view, view.subjects[0])
    assert cases is not None
    assert cases.cases[0]["said"][0].text == "(nothing)"
    assert len(cases.cases[0]["prompt"]) == 1000
    assert cases.cases[0]["prompt"].endswith("…")


def test_no_case_table_is_no_section() -> None:
    run = make_run()
    run.tables.clear()
    view = view_of(run)
    assert worst_cases(view, view.subjects[0]) is None


def test_of_very_many_pairs_the_clearest_are_shown_and_all_downloaded() -> None:
    view = view_of(*(make_run(f"m{i}", skill=0.1 * i, cultures=("Filipino",), variants=("full",)) for i in range(8)))
    frame = comparisons.run_pairs(view)
    table = tables.comparison_table(view, frame, "pairs", "Pairs")
    assert table is not None
    assert len(table.rows) == 40 < frame.height == len(read(table))
    assert "40 clearest of 56" in table.note
    assert table.rows[0][-1].strong


def test_the_failures_csv_is_bounded_and_keeps_the_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    view = view_of(make_run(cultures=("Filipino",)))
    whole = worst_cases(view, view.subjects[0])
    monkeypatch.setattr("kapwa.report.page.CSV_SIZE", 1200)
    part = worst_cases(view, view.subjects[0])
    assert whole is not None
    assert part is not None
    assert len(part.csv) < 1600 < len(whole.csv)
    assert whole.csv.startswith(part.csv)

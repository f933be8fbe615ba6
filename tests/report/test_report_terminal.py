"""Tables for the terminal."""

import io
from typing import Any

import polars as pl
from report_fixtures import MC, make_run
from rich.console import Console

from kapwa.report import numbers
from kapwa.report.comparisons import run_pairs
from kapwa.report.terminal import render_comparison, render_run
from kapwa.report.view import arrange
from kapwa.stats.tables import compare_runs


def printed(thing: Any, width: int = 140) -> str:
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=False).print(thing)
    return out.getvalue()


def test_a_run_shows_sentence_score_floor_and_what_was_lost() -> None:
    text = printed(render_run(make_run(gone={"failed": 2})))
    assert "Filipino: smollm2 chose the best answer in" in text
    row = next(line for line in text.splitlines() if line.split()[:3] == ["mc1", "Ilokano", "full"])
    assert "26.0%" in row
    assert "2 requests of 96 got no answer" in text
    assert "2 failed and got no answer" in text
    assert "No native speaker has reviewed it" in text
    assert "mc1_reference" not in text


def test_markup_and_escapes_in_names_are_inert() -> None:
    text = printed(render_run(make_run("[red]m[bold]\x1b[31m", cultures=("Filipino",))))
    assert "[red]m[bold][31m chose" in text
    assert "\x1b" not in text


def test_a_comparison_gives_points_where_it_knows_the_metric() -> None:
    view = arrange([make_run("a", skill=0.05), make_run("b", skill=0.95)])[0]
    frame = run_pairs(view)
    text = printed(render_comparison(frame, view.metrics))
    assert "b higher" in text
    assert "points" in text


def test_many_differences_are_cut_to_the_first_metrics_and_say_so() -> None:
    runs = [make_run(name, cultures=("Filipino", "Ilokano", "مصر", "অসম"), per_culture=4) for name in "ab"]
    frame = compare_runs(*(run.scores for run in runs), label_a="a", label_b="b", metrics=dict.fromkeys(MC, False))
    text = printed(render_comparison(frame, {}))
    assert "more differences, of other metrics, with --json" in text
    assert " mc2, " in text
    assert "mc3" not in text


def test_nothing_to_compare_is_said() -> None:
    frame = make_run(variants=("full",)).comparisons
    assert frame.height == 0
    assert "nothing to compare" in printed(render_comparison(frame, {}))


def test_a_comparison_fits_80_columns_and_names_are_not_broken_into_pieces() -> None:
    a, b = "a-model-of-a-long-name.jsonl", "Qwen2.5-7B-Instruct-GPTQ"
    view = arrange([make_run(a, skill=0.05), make_run(b, skill=0.95)])[0]
    frame = run_pairs(view)
    text = printed(render_comparison(frame, view.metrics), width=80)
    assert f"A: {a}\nB: {b}\nDifference: A − B\nVariant: full\n" in text
    for row in frame.iter_rows(named=True):
        info = view.metrics[row["metric"]]
        cells = numbers.change(row["difference"], info), numbers.change_interval(row["low"], row["high"], info)
        assert all(cell in text for cell in cells)
    assert "B higher" in text
    body = text.partition("─")[2].partition("Detectable:")[0].splitlines()[1:]
    assert 2 * frame.height >= len([line for line in body if line.strip()])


def test_the_table_of_a_run_never_breaks_numbers() -> None:
    run = make_run("m", cultures=("Filipino",))
    renamed = pl.col("culture").replace("Filipino", "a culture that has a long name")
    run.estimates = run.estimates.with_columns(renamed, high=pl.lit(1.0), low=pl.lit(0.123))
    text = printed(render_run(run), width=80)
    row = run.estimates.filter((pl.col("metric") == "mc1") & (pl.col("group") == "all")).row(0, named=True)
    assert numbers.interval(row["low"], row["high"], run.manifest["metrics"]["mc1"]) in text
    assert "95% interval" in text

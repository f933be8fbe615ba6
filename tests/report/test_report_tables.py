"""Tables of the page and the terminal, their CSV, and the worst cases; also those of an analysis."""

import base64
import csv
import dataclasses
import io
import re
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from analysis_fixtures import MadeAnalysis, make_analysis
from pages import printed
from report_fixtures import MC, make_run, view_of, wide_run

from kapwa.cli.output import show
from kapwa.report import wording
from kapwa.report.board.whole import board_of
from kapwa.report.page.html import downloads
from kapwa.report.sentences import missing
from kapwa.report.sentences.analysis import headline
from kapwa.report.sentences.cultures import items_words
from kapwa.report.tables import differences
from kapwa.report.tables import scores as tables
from kapwa.report.tables.analysis import correlation_table, partial_table
from kapwa.report.tables.columns import decimal_column
from kapwa.report.tables.correlations import MeasuredScore, correlations, metric_correlations
from kapwa.report.tables.correlations import correlation_table as model_correlations
from kapwa.report.tables.differences import with_flips
from kapwa.report.tables.table import Table
from kapwa.report.terminal.analysis import render_analysis
from kapwa.report.terminal.runs import difference_lines, render_comparison, render_run
from kapwa.report.view import comparisons
from kapwa.report.view.analysis import AnalysisView
from kapwa.report.view.comparisons import run_pairs
from kapwa.report.view.tasks import arrange
from kapwa.stats.comparison_tables import compare_runs, swap_sides


def read(table: Table) -> list[dict[str, str]]:
    head, _, body = downloads(table)[0].href.partition("base64,")
    assert head == "data:text/csv;charset=utf-8;"
    raw = base64.b64decode(body)
    assert raw.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline="")))


def test_every_score_stands_beside_its_interval_floor_and_ceiling() -> None:
    run = make_run(cultures=("Filipino",))
    view = view_of(run)
    table = tables.metrics_table(view, reference=False)
    assert list(table.head) == ["Metric", "smollm2", "Without cultural knowledge", "Ceiling"]
    _, score, floor, people = table.rows[0]
    estimate = view.estimate(0, view.subjects[0], "mc1")
    assert score.text == f"{100 * estimate['value']:.1f}%"
    assert "–" in score.small
    assert (floor.text, floor.small) == ("25.0%", "guessing; always picking the longest answer: 41.3%")
    assert people.text == "89.1%"
    row = read(table)[0]
    assert float(row["value"]) == estimate["value"]
    assert (row["base_floor"], row["highest_floor"], row["ceiling"]) == ("0.25", "0.4133", "0.891")


def test_plain_numbers_have_true_minus_signs_and_zero_has_none() -> None:
    cell = decimal_column("r", "r", ("low", "high")).cell({"r": -0.77, "low": -0.861, "high": -0.001})
    assert (cell.text, cell.small) == ("−0.77", "−0.86 to 0.00")
    assert decimal_column("r", "r", ("low", "high")).cell({"r": None, "low": None, "high": None}).small == ""


def test_reference_values_stand_apart() -> None:
    view = view_of(make_run())
    plain = tables.metrics_table(view, reference=False)
    reference = tables.metrics_table(view, reference=True)
    assert not any("reference" in row["metric"] for row in read(plain))
    assert {row["metric"] for row in read(reference)} == {"mc1_reference", "mc2_reference"}


def test_topics_show_n_and_grey_the_small_ones() -> None:
    view = view_of(*(make_run(name, cultures=("Filipino",)) for name in ("a", "b")))
    table = tables.topic_table(view)
    by_name = {row[0].text: row for row in table.rows}
    assert by_name["ethics"][1].text == "11"
    assert not by_name["ethics"][2].muted
    assert by_name["courtship"][1].text == "5"
    assert by_name["courtship"][2].muted
    assert sum(int(row["n"]) for row in read(table) if row["group"] == "topic" and row["model"] == "b") == 16


def test_pairs_of_runs_are_adjusted_over_the_whole_report() -> None:
    view = view_of(make_run("a", skill=0.1), make_run("b", skill=0.9), make_run("c", skill=0.5))
    frame = comparisons.run_pairs(view)
    assert set(frame["metric"]) == {"mc1"}
    assert set(frame["variant"]) == {"full"}
    assert frame["culture"].is_null().to_list() == [*[True] * 3, *[False] * 6]
    for over, family in ((True, 3), (False, 6)):
        part = frame.filter(pl.col("culture").is_null() == over, metric="mc1")
        smallest = part.sort("p_value").row(0, named=True)
        assert smallest["p_holm"] == pytest.approx(min(1.0, family * smallest["p_value"]))
    table = differences.comparison_table(view, frame, "pairs", "Pairs")
    assert any("higher" in row[-1].text for row in table.rows)
    assert read(table)[0]["a"] == "a"


def test_who_is_right_alone_is_counted_as_one_would_by_hand() -> None:
    runs = [wide_run(name, per_culture=20, skill=skill) for name, skill in (("a", 0.0), ("b", 0.2))]
    view = arrange(runs)[0]
    frame = with_flips(run_pairs(view), view.metrics)
    values = [
        {row["item_id"]: row["value"] for row in view.answered_item_scores(i, view.main_metric).iter_rows(named=True)}
        for i in (0, 1)
    ]
    alone = [0, 0]
    for row in frame.filter(pl.col("culture").is_not_null()).iter_rows(named=True):
        shared = [item for item in values[0] if item in values[1] and item.startswith(f"{row['culture']}/")]
        by_hand = [sum(values[i][item] > values[1 - i][item] for item in shared) for i in (0, 1)]
        assert [row["right_in_a_only"], row["right_in_b_only"]] == by_hand
        alone = [total + count for total, count in zip(alone, by_hand, strict=True)]
    (over,) = frame.filter(pl.col("culture").is_null()).to_dicts()
    assert [over["right_in_a_only"], over["right_in_b_only"]] == alone
    assert min(alone) > 0


def test_one_run_has_no_pairs_and_three_have_no_correlations() -> None:
    one = view_of(make_run())
    assert comparisons.run_pairs(one).height == 0
    three = [make_run("a", skill=0.1), make_run("b", skill=0.9), make_run("c", skill=0.5)]
    assert correlations([one]) is correlations([view_of(*three)]) is None
    four = correlations([view_of(*three, make_run("d", skill=0.3))])
    table = model_correlations(four.frame, "task", "Agreement", 3)
    assert [row[0].text for row in table.rows] == ["mc1 × mc2", "mc1 × mc3", "mc2 × mc3"]
    # No coefficient stands without its interval.
    assert all((" to " in cell.small) == (cell.text[-1:].isdigit()) for row in table.rows for cell in row[1:4])
    assert len(read(table)) == 3 * 6


def test_a_perfect_correlation_of_four_models_is_not_printed_as_one() -> None:
    columns = {
        name: [MeasuredScore(value, {}) for value in values]
        for name, values in {"m1": (0.1, 0.2, 0.3, 0.5), "m2": (0.2, 0.4, 0.6, 1.0), "m3": (0.1, 0.3, 0.4, 0.5)}.items()
    }
    frame = metric_correlations(columns)
    table = model_correlations(frame, "task", "Agreement", 3)
    assert [(cell.text, cell.small) for cell in table.rows[0][1:3]] == [("–", "all on one line"), ("–", "one order")]
    assert " to " in table.rows[1][1].small
    assert all(row[3].text == "–" for row in table.rows)
    assert frame.filter(pl.col("value").is_null())["low"].is_null().all()


def test_variants_over_several_cultures_stand_before_those_in_each() -> None:
    frame = comparisons.variant_pairs(view_of(make_run()))
    assert frame["culture"].is_null().to_list() == [True] * 3 + [False] * 6
    over = frame.row(0, named=True)
    each = frame.filter(pl.col("culture").is_not_null(), a=over["a"], b=over["b"])
    assert (over["cultures"], over["n"]) == (2, each["n"].sum())
    assert over["difference"] == pytest.approx(each["difference"].mean())


def test_variant_comparisons_name_their_model_when_there_are_several() -> None:
    two = comparisons.variant_pairs(view_of(make_run("a"), make_run("b")))
    assert set(comparisons.variant_pairs(view_of(make_run()))["model"]) == {""}
    assert set(two["model"]) == {"a", "b"}
    assert set(two["metric"]) == {"mc1"}


def test_counts_show_every_outcome_that_occurred() -> None:
    run = make_run(gone={"failed": 2, "refused": 1})
    table = tables.counts_table(view_of(run))
    assert list(table.head) == ["Model", "Right", "Wrong", "Refused", "Failed", "Right among right and wrong"]
    right, wrong, refused, failed, among = table.rows[0][1:]
    assert among.text == f"{100 * int(right.text) / (int(right.text) + int(wrong.text)):.1f}%"
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
    table = tables.metrics_table(view, reference=False)
    assert read(table)[0]["model"] == "'=cmd()"


def test_of_very_many_pairs_the_clearest_are_shown_and_all_downloaded() -> None:
    view = view_of(*(make_run(f"m{i}", skill=0.1 * i, cultures=("Filipino",), variants=("full",)) for i in range(8)))
    frame = comparisons.run_pairs(view)
    table = differences.comparison_table(view, frame, "pairs", "Pairs")
    assert len(table.rows) == 40 < frame.height == len(read(table))
    assert "40 clearest of 56" in table.note
    assert table.rows[0][-1].strong


def test_a_run_shows_its_row_of_the_board_its_cultures_and_what_was_lost() -> None:
    run = make_run(gone={"failed": 2, "refused": 3})
    text = printed(render_run(run), 80)
    board, view = board_of([run]), arrange([run])[0]
    cell = board.rows[0][1]
    lines = [line.strip() for line in text.splitlines()]
    row = next(place for place, line in enumerate(lines) if line.split() == ["smollm2", cell.text])
    assert lines[row + 1] == cell.small
    scores = [view.estimate(0, subject, "mc1") for subject in view.subjects]
    info, told = view.metrics["mc1"], []
    for subject, row in zip(view.subjects, scores, strict=True):
        assert row is not None
        within = [wording.interval(row["low"], row["high"], info), missing.missing_words(row, info)]
        told.append(f"{subject.label} {wording.amount(row['value'], info)} ({'; '.join(filter(None, within))})")
    assert ", ".join(told) in " ".join(lines)
    joined = " ".join(lines)
    counts = [row["n"] for row in scores if row is not None]
    measured = items_words(counts, ("prompt", "prompts"))
    assert f"Measured on {measured} over 2 cultures; variant: full. In the report: 2 other variants and" in joined
    assert items_words([7, 9], ("prompt", "prompts")) == "16 prompts"
    assert items_words([8, 8], ("prompt", "prompts")) == "8 prompts in each culture,"
    assert items_words([8], ("prompt", "prompts")) == "8 prompts"
    assert joined.count("never came") == 1
    assert "got no answer" not in joined  # it is told once
    assert "Of all answers, 3 were refused." in joined
    assert "No native speaker has reviewed it" in joined


def test_the_row_of_one_culture_has_its_floors_and_ceiling_and_no_line_of_cultures() -> None:
    run = make_run(cultures=("Filipino",), variants=("full",))
    text = printed(render_run(run), 80)
    rows = board_of([run]).rows
    assert [name.text for name, _ in rows] == ["smollm2", "Guessing", "Best trick", "Ceiling"]
    for name, score in rows:
        assert re.search(rf"{name.text} +{score.text} *\n +{score.small}", text)
    assert text.count("Filipino") == 3  # in the head, and in warnings
    assert "variant" not in text


def test_markup_and_escapes_in_names_are_inert() -> None:
    text = printed(render_run(make_run("[red]m[bold]\x1b[31m", cultures=("Filipino",))))
    assert "[red]m[bold][31m " in text
    assert "\x1b" not in text


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
    frame = run_pairs(arrange(view.runs[::-1])[0])  # the second less the first
    text = printed(render_comparison(swap_sides(frame), view.metrics), width=80)
    assert f"A: {a}\nB: {b}\nDifference: B − A\nMetric: mc1; Variant: full\n" in text
    for row in frame.iter_rows(named=True):
        info = view.metrics[row["metric"]]
        cells = wording.change(row["difference"], info), wording.change_interval(row["low"], row["high"], info)
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
    assert wording.interval(row["low"], row["high"], run.metrics["mc1"]) in text
    assert "95% interval" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.fixture(scope="module")
def made() -> MadeAnalysis:
    return make_analysis(models=("org/a-model-with-a-long-name",), tasks=("eecc/stories",), identities=12)


def test_without_controls_there_is_no_table_of_what_is_left(made: MadeAnalysis) -> None:
    plain = dataclasses.replace(made, correlations=made.correlations.filter(pl.col("method") != "partial mantel"))
    told = printed(render_analysis(plain), 80)
    assert "Do countries with similar values get similar texts?" in told
    assert "Partial r" not in told


def test_every_set_of_controls_has_its_row_and_numbers_are_never_cut(made: MadeAnalysis) -> None:
    rows = made.correlations.filter((pl.col("topic") == "all") & (pl.col("method") == "mantel"))
    sets = ("geography", "language", "geography + language")
    partial = [
        rows.with_columns(
            method=pl.lit("partial mantel"), controls=pl.lit(name), estimate=pl.lit(-0.321 - place / 10), p=pl.lit(0.25)
        )
        for place, name in enumerate(sets)
    ]
    taus = {"estimate": -0.543, "low": -0.876, "high": -0.123, "floor_low": -0.109, "floor_high": 0.108}
    tau = pl.col("method") == "tau"
    wide = made.correlations.filter(pl.col("method") != "partial mantel").with_columns(
        pl.when(tau).then(pl.lit(value)).otherwise(pl.col(name)).alias(name) for name, value in taus.items()
    )
    told = printed(render_analysis(dataclasses.replace(made, correlations=pl.concat([wide, *partial]))), 80)
    surveys = rows["values"].n_unique()
    assert len(re.findall(r"−0\.543 +−0\.109 to 0\.108 ", told)) == 2 * surveys
    assert len(re.findall(r"−0\.876 to −0\.123 ", told)) == 2 * surveys
    for place in range(len(sets)):
        assert len(re.findall(rf"−0\.{321 + 100 * place} +0\.25", told)) == rows.height


def test_the_released_number_stands_whole_beside_the_widest_others(made: MadeAnalysis) -> None:
    tau, released = pl.col("method") == "tau", pl.col("method") == "tau_reference"
    values = {"estimate": -0.543, "low": -0.876, "high": -0.123, "floor_low": -0.109, "floor_high": -0.108}
    wide = made.correlations.with_columns(
        pl.when(tau).then(pl.lit(value)).otherwise(pl.col(name)).alias(name) for name, value in values.items()
    ).with_columns(estimate=pl.when(released).then(pl.lit(-0.234)).otherwise(pl.col("estimate")))
    told = printed(render_analysis(dataclasses.replace(made, correlations=wide)), 80)
    rows = wide.filter(tau & (pl.col("topic") == "all")).height
    assert rows
    assert len(re.findall(r"−0\.543 +−0\.109 to −0\.108 +−0\.234 *\n", told)) == rows
    assert len(re.findall(r"−0\.876 to −0\.123 +p = 0\.001 *\n", told)) == rows
    assert "τ as released" in told


def test_a_terminal_narrower_than_the_tables_breaks_lines_and_cuts_nothing(
    made: MadeAnalysis, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    show(render_analysis(made))
    assert capsys.readouterr().out.rstrip() == printed(render_analysis(made), 80).rstrip()


@pytest.fixture(scope="module")
def partial() -> MadeAnalysis:
    plain = make_analysis(models=("a",), tasks=("eecc/qa",), identities=12)
    mantel = plain.correlations.filter(pl.col("method") == "mantel")
    held = mantel.with_columns(method=pl.lit("partial mantel"), controls=pl.lit("geography"), estimate=0.2, p=0.002)
    others = plain.correlations.filter(pl.col("method") != "partial mantel")
    return dataclasses.replace(plain, correlations=pl.concat([others, held]))


def asked(partial: MadeAnalysis, **settings: Any) -> MadeAnalysis:
    return dataclasses.replace(partial, manifest={**partial.manifest, "settings": settings})


@pytest.mark.parametrize(
    ("permutations", "countries", "least"), [(999, 60, 0.001), (19, 60, 0.05), (999, 3, 1 / 6), (999, 4, 1 / 24)]
)
def test_draws_and_orders_limit_p(partial: MadeAnalysis, permutations: int, countries: int, least: float) -> None:
    view = AnalysisView(asked(partial, permutations=permutations))
    assert view.least_p({"n": countries}) == pytest.approx(least)


def test_an_analysis_that_does_not_tell_says_nothing(partial: MadeAnalysis) -> None:
    silent = asked(partial)
    assert AnalysisView(silent).least_p({"n": 9}) is None
    table = correlation_table(AnalysisView(silent))
    assert not any("least" in cell.small for row in table.rows for cell in row)
    assert "cannot be less" not in printed(render_analysis(silent), 1000)


def test_the_page_has_it_in_every_cell_and_the_terminal_once(partial: MadeAnalysis) -> None:
    told = asked(partial, permutations=999)
    table = correlation_table(AnalysisView(told))
    assert all("p = 0.002\nleast 0.001" in row[6].small for row in table.rows)
    assert "Least: the smallest p" in table.note
    assert printed(render_analysis(told), 1000).count("Its p cannot be less than 0.001") == 1


def test_partial_tests_say_which_p_errs(partial: MadeAnalysis) -> None:
    table = partial_table(AnalysisView(partial))
    assert "Read p smooth" in table.note
    assert "Held fixed" in table.head
    assert "partial" not in str(headline(AnalysisView(partial))).lower()


def test_a_comparison_names_the_cultures_that_only_one_run_was_asked_about() -> None:
    made = [make_run(name, cultures=names) for name, names in (("a", ("Filipino",)), ("b", ("Filipino", "Ilokano")))]
    one, both = (SimpleNamespace(label="m", path=run.path, manifest=run.manifest, scores=run.scores) for run in made)
    assert "Only B was asked about Ilokano: not compared." in difference_lines(one, both)
    assert not any(line.startswith("Only") for line in difference_lines(both, both))

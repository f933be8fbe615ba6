"""Many cultures and variants of two parts: arranged, compared, told."""

import csv
import io
import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from pages import printed
from report_fixtures import CULTURES, WIDE_VARIANTS, MadeRun, choice_run, make_run, wide_run

from kapwa.report.charts.elements import SERIES
from kapwa.report.charts.rows import contrast_charts, culture_charts
from kapwa.report.sentences.cultures import across_sentences, over_sentences
from kapwa.report.sentences.scores import readings, score_sentence
from kapwa.report.tables.correlations import mean_error, sampling_errors
from kapwa.report.tables.differences import scale_table
from kapwa.report.tables.scores import culture_table
from kapwa.report.terminal.runs import render_run
from kapwa.report.view.comparisons import contrast_tables, contrasts, run_pairs, split, variant_name
from kapwa.report.view.means import equal_mean
from kapwa.report.view.tasks import TaskView, arrange
from kapwa.stats.comparison_tables import compare_variants
from kapwa.suites.blend.choice_scales import AGREEMENT_SCHEMA, SCALE_SCHEMA


@pytest.fixture(scope="module")
def wide() -> TaskView:
    return arrange([wide_run()])[0]


def test_a_culture_asked_in_two_languages_by_variant_is_one_subject(wide: TaskView) -> None:
    assert [s.culture for s in wide.subjects] == list(CULTURES)
    labels = {s.culture: s.label for s in wide.subjects}
    assert labels["South_Korea"] == "South Korea"
    korea = next(s for s in wide.subjects if s.culture == "South_Korea")
    assert korea.language == "ko"
    assert [wide.language_of(korea, name) for name in WIDE_VARIANTS] == ["ko", "en", "ko", "en"]
    row = wide.estimate(0, korea, "sem_b", "en/inst-4")
    assert row["language"] == "en"
    assert wide.several_cultures


def test_two_cultures_are_many() -> None:
    names = tuple(CULTURES)
    assert not arrange([wide_run(cultures=names[:1])])[0].several_cultures
    assert arrange([wide_run(cultures=names[:2])])[0].several_cultures


def test_variants_come_apart_at_the_slash_only() -> None:
    assert split("local/inst-4") == ("local", "inst-4")
    assert split("generate") is None
    assert split("/x") is None
    assert variant_name("en/pers-3") == "in English, asked as a person from there"
    assert variant_name("local/other") == "in the local language, prompt other"
    assert variant_name("full") == "full"


def test_contrasts_change_one_part_and_put_the_local_language_first() -> None:
    found = [(c.first, c.second, c.held) for c in contrasts(("en/a", "local/a", "en/b", "local/b"), "asked")]
    assert found == [("local/a", "en/a", "a"), ("local/b", "en/b", "b")]
    found = [(c.first, c.second, c.held) for c in contrasts(("en/a", "local/a", "en/b", "local/b"), "prompt")]
    assert found == [("en/a", "en/b", "en"), ("local/a", "local/b", "local")]
    assert contrasts(("full", "partial"), "asked") == []


def test_local_minus_english_is_paired_and_leaves_out_cultures_with_one_language(wide: TaskView) -> None:
    table = contrast_tables(wide)["asked"]
    assert set(table["culture"].drop_nulls()) == set(CULTURES) - {"US", "UK"}
    over = table.filter(pl.col("culture").is_null(), held="inst-4").row(0, named=True)
    alone = table.filter(pl.col("culture").is_not_null(), held="inst-4")
    assert (over["cultures"], over["a"]) == (14, "local/inst-4")
    assert over["difference"] == pytest.approx(alone["difference"].mean())
    row = table.filter((pl.col("culture") == "Ethiopia") & (pl.col("held") == "inst-4")).row(0, named=True)
    scores = wide.runs[0].scores.filter((pl.col("metric") == "sem_b") & (pl.col("culture") == "Ethiopia"))
    means = {name: scores.filter(pl.col("variant") == name)["value"].mean() for name in WIDE_VARIANTS}
    assert row["a"] == "local/inst-4"
    assert row["a_value"] == pytest.approx(means["local/inst-4"])
    assert row["difference"] == pytest.approx(means["local/inst-4"] - means["en/inst-4"])
    assert row["low"] < row["difference"] < row["high"]


def test_contrasts_are_those_that_the_run_made_turned_round() -> None:
    run = wide_run(cultures=("Spain", "Ethiopia"))
    stored = compare_variants(run.scores.with_columns(language=pl.lit("x")), metrics={"sem_b": True})
    stored = stored.filter(a="en/inst-4", b="local/inst-4").sort("culture")
    table = contrast_tables(arrange([run])[0])["asked"].filter(pl.col("culture").is_not_null(), held="inst-4")
    table = table.sort("culture")
    np.testing.assert_allclose(table["difference"], -stored["difference"].to_numpy())
    np.testing.assert_allclose(table["low"], -stored["high"].to_numpy())
    np.testing.assert_allclose(table["a_value"], stored["b_value"].to_numpy())
    np.testing.assert_allclose(table["p_value"], stored["p_value"].to_numpy())


def test_cultures_stand_on_one_axis_the_highest_first(wide: TaskView) -> None:
    plot = culture_charts(wide, "sem_b")[0]
    values = [line.dots[0].value for line in plot.lines]
    assert len(values) == 16
    assert values == sorted(values, reverse=True)
    assert [line.label for line in plot.lines] == [s.label for s in wide.by_score("sem_b")]
    for line in plot.lines:
        assert line.dots[0].low is not None
        assert line.zone < line.top
    assert plot.keys[:2] == [("zone", "best trick without cultural knowledge"), ("top", "people")]
    assert plot.keys[2:] == [("partial", "drawn towards the mean as far as noise explains")]
    middle = np.mean(values)
    for line in plot.lines:
        assert min(middle, line.dots[0].value) <= line.dots[0].partial <= max(middle, line.dots[0].value)


def test_eight_models_stand_in_one_culture_chart_each_with_a_mark_of_its_own() -> None:
    runs = [wide_run(f"m{i}", cultures=tuple(CULTURES)[:4], per_culture=12) for i in range(8)]
    (chart,) = culture_charts(arrange(runs)[0], "sem_b")
    assert len(chart.series) == len(set(SERIES)) == 8
    assert {dot.series for dot in chart.lines[0].dots} == set(range(8))


def test_dumbbells_are_grouped_by_level_and_sorted_by_difference(wide: TaskView) -> None:
    plot = contrast_charts(wide, contrast_tables(wide)["asked"])[0]
    heads = [line.label for line in plot.lines if line.header]
    assert [head.partition(":")[0] for head in heads] == [
        f"Languages with {much} text" for much in ("much", "some", "little")
    ]
    assert list(plot.series) == ["local language", "English"]
    low = plot.lines[[line.label for line in plot.lines].index(heads[2]) + 1 :]
    assert {line.aside for line in low} == {"Assamese", "Azerbaijani", "Amharic", "Hausa", "Sundanese"}
    gaps = [line.dots[0].value - line.dots[1].value for line in low]
    assert gaps == sorted(gaps, reverse=True)
    assert heads[2] == f"Languages with little text: −{-100 * np.mean(gaps):.1f} on average"
    assert all(line.joined and line.strong for line in low)


def test_a_difference_that_is_noise_is_grey_and_one_that_is_not_is_not() -> None:
    run = wide_run(cultures=("Ethiopia", "Greece"), per_culture=400)
    view = arrange([run])[0]
    lines = {line.label: line for line in contrast_charts(view, contrast_tables(view)["asked"])[0].lines}
    assert not lines["Ethiopia"].muted
    assert lines["Greece"].muted


def test_the_equal_mean_is_the_mean_of_culture_means_with_clusters_shared() -> None:
    run = wide_run(cultures=("US", "Ethiopia", "Spain", "Iran"), per_culture=50)
    few = (pl.col("culture") == "US") & (pl.col("item_id") > "US/Q-010")
    run.scores = run.scores.filter(~few)
    view = arrange([run])[0]
    mean = equal_mean(view, 0)
    shown = run.scores.filter((pl.col("metric") == "sem_b") & (pl.col("variant") == "local/inst-4"))
    means = shown.group_by("culture").agg(pl.col("value").mean())["value"]
    assert mean["value"] == pytest.approx(means.mean())
    assert mean["clusters"] == 50
    assert mean["method"] == "wilson-clustered"
    # Alike to the last digit: the same question in two cultures is one piece of evidence, not two.
    double = run.scores.with_columns(pl.col("culture") + "_2", pl.col("item_id") + "_2")
    run.scores = pl.concat([run.scores, double])
    twice = equal_mean(arrange([run])[0], 0)
    assert twice["se"] == pytest.approx(mean["se"])


def test_sentences_say_the_mean_the_extremes_the_floor_and_people(wide: TaskView) -> None:
    said = across_sentences(wide)[0]
    assert said.startswith("wide-model gave an answer that people there give to ")
    assert "of 60 questions in each culture, on average over 16 cultures (95% interval" in said
    worst, best = wide.by_score("sem_b")[-1], wide.by_score("sem_b")[0]
    low, high = re.search(r"from \d+% \((.*?), rank .*? of 16\) to \d+% \((.*?), rank ", said).groups()
    assert (low, high) == (worst.label, best.label)
    assert "Cultures differ by more than noise (p < 0.001)." in said
    assert "better than other cultures' usual answer in" in said
    assert "below what people score in" in said


def test_a_model_whose_every_request_failed_is_told_so() -> None:
    run = wide_run(cultures=tuple(CULTURES)[:4], per_culture=6)
    gone = run.scores.with_columns(value=pl.lit(None, dtype=pl.Float64), outcome=pl.lit("failed"))
    run.scores = gone
    lost = [pl.lit(None, dtype=pl.Float64).alias(name) for name in ("value", "low", "high")]
    run.estimates = run.estimates.with_columns(*lost, pl.lit(6).alias("failed"), pl.lit(0).alias("n"))
    said = across_sentences(arrange([run])[0])[0]
    assert said.startswith("wide-model has no score: ")
    assert "24 failed and got no answer" in said


def test_a_difference_over_cultures_is_told_with_how_it_varies() -> None:
    runs = [wide_run("org/a", skill=0.25), wide_run("org/b", skill=-0.1)]
    view = arrange(runs)[0]
    frame = run_pairs(view)
    assert frame["metric"].unique().to_list() == ["sem_b"]
    (said,) = over_sentences(frame.filter(pl.col("cultures") > 1).to_dicts(), view.metrics["sem_b"], view.noun)
    assert said.startswith("a scored 30.8 points higher than b on average over 16 cultures, on the same 960 questions ")
    local = contrast_tables(arrange([wide_run(per_culture=120)])[0])["asked"].filter(pl.col("cultures") > 1)
    (first, _) = over_sentences(local.to_dicts(), view.metrics["sem_b"], view.noun)
    row = local.row(0, named=True)
    assert row["culture_sd_low"] < row["culture_sd"] < row["culture_sd_high"]
    told = f"95% interval of the standard deviation {100 * row['culture_sd_low']:.1f} to "
    assert f"It varies between cultures by more than noise (p < 0.001; {told}" in first


def test_of_many_cultures_the_terminal_says_in_a_sentence_how_far_they_are_apart() -> None:
    run = wide_run(per_culture=60)
    text = " ".join(printed(render_run(run), 80).split())
    view = arrange([run])[0]
    spread = view.compared("sem_b").spreads[0]
    worst, best = (spread.cultures[int(place)].label for place in (spread.means.argmin(), spread.means.argmax()))
    assert re.search(rf" From \d+% \({worst}, ranks? [^)]+\) to \d+% \({best}, ranks? [^)]+\)\. Cultures differ", text)
    assert "In the report: 3 other variants and 3 other metrics." in text
    assert [subject.label for subject in view.subjects if f"{subject.label} " in text] == []


def test_confusion_is_shown_in_the_language_all_cultures_share(wide: TaskView) -> None:
    assert [one.variant for one in wide.confusions()] == ["en/inst-4"]
    local = arrange([wide_run(variants=("local/inst-4",))])[0]
    assert [one.variant for one in local.confusions()] == ["local/inst-4"]
    assert arrange([make_run()])[0].confusions() == []


def test_the_errors_of_clusters_make_the_standard_error_of_each_culture(wide: TaskView) -> None:
    errors = sampling_errors(wide, 0, "sem_b")
    for subject in wide.subjects:
        of_culture = mean_error(errors, wide, [(subject, "en/inst-4")])
        se = wide.estimate(0, subject, "sem_b", "en/inst-4")["se"]
        assert np.sqrt(sum(error**2 for error in of_culture.values())) == pytest.approx(se)


COMMONEST = "other cultures' commonest answers, as many as allowed"


def with_means(run: MadeRun, p_value: float = 0.001) -> MadeRun:
    """The run with what it scored on average against tricks and people, and with a list of three guesses at 71 %."""
    over, best = pl.col("note") == "", pl.col("name") == "other cultures' usual answer"
    numbers = {"difference": 0.05, "difference_low": 0.02, "difference_high": 0.08, "p_value": p_value}
    floors = run.floors.with_columns(
        pl.when(over & best).then(pl.lit(value)).otherwise(None).alias(name) for name, value in numbers.items()
    )
    lists = floors.filter(best).with_columns(name=pl.lit(COMMONEST), kind=pl.lit("list"), value=pl.lit(0.71))
    run.floors = pl.concat([floors, lists])
    return run


def test_the_mean_is_held_against_tricks_and_people_before_cultures_are_counted() -> None:
    view = arrange([with_means(wide_run())])[0]
    (said,) = across_sentences(view)
    pooled = said.index(" On average other cultures' usual answer would give ")
    # The planted difference is not that of the two numbers beside it, as where one is known on fewer items.
    assert (
        ": it is better than other cultures' usual answer (difference on the items that both have +5.0 points" in said
    )
    assert "+5.0 points, 95% interval +2.0 to +8.0)" in said
    assert ". People score 58.0%: it is below that." in said or ". People score 58.0%: it cannot be told" in said
    counts = said.index(" Culture by culture, after correction for all comparisons, it ")
    assert said.index("on average over 16 cultures") < pooled < counts
    better, worse, unclear = map(
        int, re.search(r"in (\d+) of 16 cultures and worse in (\d+); in (\d+) the two cannot", said[counts:]).groups()
    )
    assert better + worse + unclear == 16
    held = [one for (run, _), one in view.scores_with_marks("sem_b").items() if run == 0]
    ways = [[way for mark, way in verdicts.items() if not mark.is_ceiling] for _, _, verdicts in held]
    assert (better, worse) == (sum(set(one) == {"above"} for one in ways), sum("below" in one for one in ways))
    tops = [verdicts[marks.ceiling] for _, marks, verdicts in held]
    assert f"It is below what people score in {tops.count('below')} of 16 cultures and above in " in said[counts:]


def test_a_list_of_guesses_is_no_best_trick_and_is_told_apart_from_one_answer() -> None:
    view = arrange([with_means(wide_run())])[0]
    (said,) = across_sentences(view)
    told = "A reply may hold several guesses: listing the commonest answers of other cultures would give 71.0%, while "
    assert told + "people gave one answer each." in said
    assert "it is worse" not in said
    subject = view.subjects[0]
    marks = view.marks(subject, "sem_b")
    assert (marks.best_trick.name, marks.best_list.name) == ("other cultures' usual answer", COMMONEST)
    assert all(
        mark.name != COMMONEST for _, _, verdicts in view.scores_with_marks("sem_b").values() for mark in verdicts
    )
    assert all(line.zone < 0.6 for line in culture_charts(view, "sem_b")[0].lines)
    row = next(csv.DictReader(io.StringIO(culture_table(view, "sem_b").csv)))
    assert (float(row["highest_floor"]) < 0.6, row["list_floor"]) == (True, "0.71")
    few = arrange([with_means(wide_run(cultures=tuple(CULTURES)[:1]))])[0]
    assert told.replace("71.0", "71") in score_sentence(readings(few, few.subjects[0])[0])


def test_verdicts_of_a_model_do_not_depend_on_who_shares_the_page() -> None:
    few: dict[str, Any] = {"cultures": tuple(CULTURES)[:6], "per_culture": 12}
    view = arrange([with_means(wide_run("org/m0", **few), 0.02)])[0]
    alone, held = across_sentences(view)[0], view.scores_with_marks("sem_b")
    assert "it is better than other cultures' usual answer (" in alone
    runs = [with_means(wide_run(f"org/m{k}", **few), 0.02 if k == 0 else 0.9) for k in range(9)]
    crowd = arrange(runs)[0]
    several = across_sentences(crowd)[0]
    assert "it is better than other cultures' usual answer (" in several
    counted = re.compile("Culture by culture.*")
    assert counted.findall(several) == counted.findall(alone)
    ways = [
        [dict(held_of[2]) for place, held_of in one.items() if place[0] == 0]
        for one in (held, crowd.scores_with_marks("sem_b"))
    ]
    assert [list(said.values()) for said in ways[0]] == [list(said.values()) for said in ways[1]]


def test_guessing_is_named_in_multiple_choice_over_many_cultures() -> None:
    (said,) = across_sentences(arrange([choice_run(n=200)])[0])
    assert " On average guessing would give 25.0%: it is better than guessing, and better than always picking" in said
    assert "Culture by culture, after correction for all comparisons, it does better than guessing in" in said
    assert "It does better than always picking the longest option in" in said
    (lost,) = across_sentences(arrange([choice_run(n=1)])[0])
    assert "cannot be told apart from guessing in any of 16 cultures" in lost


def test_labels_chosen_are_counted_over_cultures_by_their_place() -> None:
    made = make_run()
    key = ("likelihood", "mcq_text")
    rows = [
        ("Kenya", "sw", *key, "ndiyo", "hapana", 0, 1, 1, 1, 1.0),
        ("Japan", "en", *key, "yes", "yes", 0, 0, 3, 3, 1.0),
        ("Japan", "en", *key, "no", None, 1, None, 2, 2, 1.0),
    ]
    made.tables["scale"] = pl.DataFrame(rows, schema=SCALE_SCHEMA, orient="row")
    whole = [("", *key, 4, 4, 0.5, 0.25, 0.75), ("Japan", *key, 3, 3, None, None, None)]
    made.tables["scale_agreement"] = pl.DataFrame(whole, schema=AGREEMENT_SCHEMA, orient="row")
    view = arrange([made])[0]
    table = scale_table(view, *view.table("scale")[0])
    assert table.head == ["Right", "Questions", "yes", "no", "no one label"]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["yes", "4", "75", "25", "0"],
        ["no", "2", "0", "0", "100"],
    ]
    assert "κ: 0.500 (0.250–0.750)" in table.note


def test_one_culture_in_two_languages_is_counted_once() -> None:
    run = make_run(cultures=("Filipino", "Ilokano"))
    for name in ("scores", "estimates"):
        frame = getattr(run, name)
        setattr(run, name, pl.concat([frame, frame.filter(culture="Filipino").with_columns(language=pl.lit("en"))]))
    view = arrange([run])[0]
    assert (len(view.subjects), view.cultures) == (3, 2)
    assert all("on average over 2 cultures" in sentence for sentence in across_sentences(view))

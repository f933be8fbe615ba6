"""What tasks, models and cultures say together: a table a model, gaps within a language, topics, one item worked."""

import numpy as np
import polars as pl
import pytest
from analysis_fixtures import make_analysis
from pages import Page, assert_sound, render_analysis, render_page
from report_fixtures import CULTURES, MadeRun, choice_run, make_run, wide_run

from kapwa.report.analysis.tables import quartiles_table
from kapwa.report.analysis.view import AnalysisView
from kapwa.report.overview import (
    average_estimates,
    language_gaps,
    model_columns,
    model_table,
    task_correlations,
    topic_means,
)
from kapwa.report.relations import relations
from kapwa.report.view import TaskView, arrange
from kapwa.report.worked import answers_table, likelihood_table
from kapwa.stats.correlation import pearson

SKILLS = (0.2, 0.4, 0.5, 0.7)


@pytest.fixture(scope="module")
def situations() -> list[MadeRun]:
    """Four models on both tasks of one culture."""
    return [
        make_run(f"org/m{k}", task=task, cultures=("Filipino",), per_culture=12, skill=skill)
        for task in ("kalahi/mc", "kalahi/open")
        for k, skill in enumerate(SKILLS)
    ]


@pytest.fixture(scope="module")
def two() -> TaskView:
    """Two models on everyday questions of sixteen cultures."""
    return arrange([wide_run("org/a"), wide_run("org/b", skill=0.1)])[0]


def test_each_model_has_one_row_with_the_metrics_of_every_task(situations: list[MadeRun]) -> None:
    views = arrange(situations)
    assert [name for _, name in model_columns(views)] == ["mc1", "mc2", "chrf_acc", "chrf_diff", "rouge1_acc"]
    table = model_table(views)
    assert [row[0].text for row in table.rows] == ["m0", "m1", "m2", "m3"]
    row = views[1].estimate(2, views[1].subjects[0], "rouge1_acc")
    assert table.rows[2][5].text == f"{100 * row['value']:.1f}%"
    assert "–" in table.rows[2][5].small
    page = Page(render_page(situations))
    assert_sound(page)
    assert "Every model on kalahi/mc and kalahi/open" in page.text
    assert "side by side" not in Page(render_page(situations[:1])).text


def test_metrics_are_correlated_across_tasks_and_models_with_n_and_interval(situations: list[MadeRun]) -> None:
    views = arrange(situations)
    frame = task_correlations(views)
    row = frame.filter(metric_a="kalahi/mc mc1", metric_b="kalahi/open chrf_diff", coefficient="pearson").row(
        0, named=True
    )
    sides = [
        [view.estimate(i, view.subjects[0], name)["value"] for i in range(4)]
        for view, name in zip(views, ("mc1", "chrf_diff"), strict=True)
    ]
    wanted = pearson(*sides)
    assert (row["value"], row["low"], row["n"]) == (pytest.approx(wanted.value), pytest.approx(wanted.low), 4)
    assert task_correlations(arrange(situations[:2] + situations[4:6])) is None


def test_gaps_are_between_cultures_of_one_language_by_question_over_models(two: TaskView) -> None:
    gaps = language_gaps(two)
    pairs = {frozenset((row["a"], row["b"])): row for row in gaps.iter_rows(named=True)}
    assert set(pairs) == {frozenset(p) for p in (("South Korea", "North Korea"), ("Spain", "Mexico"), ("UK", "US"))}
    korea = pairs[frozenset(("South Korea", "North Korea"))]
    assert (korea["a"], korea["culture"], korea["n"]) == ("South Korea", "Korean", 60)
    means = [
        np.mean([two.estimate(i, s, "sem_b")["value"] for i in (0, 1)])
        for name in ("South_Korea", "North_Korea")
        for s in two.subjects
        if s.culture == name
    ]
    assert korea["difference"] == pytest.approx(means[0] - means[1])
    assert korea["low"] < korea["difference"] < korea["high"]
    # All asked in one language: it need not be theirs.
    assert language_gaps(arrange([wide_run(variants=("en/inst-4",))])[0]).is_empty()


def test_the_average_over_models_has_an_interval_and_a_column(two: TaskView) -> None:
    found = average_estimates(two)
    subject = two.subjects[0]
    values = [two.estimate(i, subject, "sem_b")["value"] for i in (0, 1)]
    assert found[subject.culture]["value"] == pytest.approx(np.mean(values))
    assert found[subject.culture]["low"] < found[subject.culture]["value"] < found[subject.culture]["high"]
    assert average_estimates(arrange([wide_run()])[0]) == {}
    page = Page(render_page(two.runs))
    assert "Mean of models" in page.text
    assert "Cultures that share a language, on the same questions, mean of 2 models" in page.text
    assert "mean over cultures" in page.text


def test_topics_are_means_over_cultures_each_counting_alike(two: TaskView) -> None:
    ((group, found),) = topic_means(two)
    assert group == "topic"
    scores = two.runs[1].scores.filter(metric="sem_b", variant=two.variant, topic="Food")
    wanted = scores.group_by("culture").agg(pl.col("value").mean())["value"].mean()
    row = dict(found["Food"])[1]
    assert row["value"] == pytest.approx(wanted)
    assert row["n"] == 10 * len(CULTURES)


def test_tasks_are_correlated_over_the_mean_of_both_languages() -> None:
    views = arrange([wide_run("org/a"), choice_run("org/a")])
    found = {relation.across: relation for relation in relations(views)}
    both = found["blend/saq mean of 2 languages, asked directly"]
    subject = next(s for s in views[0].subjects if s.label == both.points[0].label)
    values = [views[0].estimate(0, subject, "sem_b", f"{asked}/inst-4")["value"] for asked in ("local", "en")]
    assert both.points[0].x == pytest.approx(np.mean(values))
    assert both.correlation.low < both.correlation.value < both.correlation.high


def test_one_item_is_worked_through_response_by_response(situations: list[MadeRun]) -> None:
    view = arrange(situations[:2])[0]
    item, columns = "Filipino-000", ["item_id", "variant", "culture", "index", "group", "text"]
    numbers = ["logprob_sum", "n_tokens", "n_bytes"]
    for k, run in enumerate(view.runs):
        rows = [(item, "full", "Filipino", i, g, g, -10.0 - i - k, 5, 20) for i, g in enumerate(("best", "irrelevant"))]
        run.tables["continuations"] = pl.DataFrame(rows, schema=[*columns, *numbers], orient="row")
    table = likelihood_table(view, view.subjects[0], item)
    assert [cell.text for cell in table.rows[0][1:]] == ["−0.5000", "−0.5500"]
    assert table.rows[1][1].small == "−11.00, 5 tokens"
    assert table.rows[0][0].small == "best, 20 bytes"
    assert [row[0].small for row in table.rows[2:]] == ["mc1", "mc2"]
    assert likelihood_table(view, view.subjects[0], "unknown") is None


def test_answers_under_each_prompt_stand_side_by_side(situations: list[MadeRun]) -> None:
    view = arrange(situations[4:6])[0]
    for run in view.runs:
        asked = run.items.select("item_id", "variant", "culture")
        text = pl.format("{} {}", "variant", "item_id")
        run.tables["answers"] = asked.with_columns(text.alias("text"))
    table = answers_table(view, view.subjects[0], "Filipino-003")
    assert table.head[1:] == ["full", "partial", "unenriched"]
    assert table.rows[0][0].text == "Prompt"
    assert [cell.text for cell in table.rows[1]] == ["m0", *(f"{name} Filipino-003" for name in table.head[1:])]
    assert "One situation under every prompt" in Page(render_page(view.runs)).text


def test_stories_and_questions_have_medians_and_quartiles() -> None:
    made = make_analysis(models=("org/a",), identities=12, concepts=9)
    table = quartiles_table(AnalysisView(made))
    assert [row[0].small for row in table.rows] == ["answers to questions", "stories"]
    across = made.variance.filter((pl.col("task") == "eecc/stories") & (pl.col("estimator") == "corrected"))["across"]
    assert table.rows[1][1].text == f"{np.median(across.to_numpy()):.3f}"
    assert "Median over concepts" in Page(render_analysis(made)).text

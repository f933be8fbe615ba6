"""What tasks, models and cultures say together: metrics that agree, gaps within a language, topics."""

import numpy as np
import polars as pl
import pytest
from analysis_fixtures import make_analysis
from pages import Page, assert_sound, render_analysis, render_page
from report_fixtures import CULTURES, MadeRun, make_run, wide_run

from kapwa.report.tables.analysis import quartiles_table
from kapwa.report.tables.correlations import correlations
from kapwa.report.tables.scores import metrics_table
from kapwa.report.view.analysis import AnalysisView
from kapwa.report.view.means import by_suite, equal_mean, language_gaps, topic_means
from kapwa.report.view.tasks import TaskView, arrange
from kapwa.report.wording import amount
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
    return arrange([wide_run("org/a", per_culture=24), wide_run("org/b", per_culture=24, skill=0.1)])[0]


def test_metrics_are_correlated_across_tasks_and_models_with_n_and_interval(situations: list[MadeRun]) -> None:
    views = arrange(situations)
    (group,) = by_suite(views)
    frame = correlations(group).frame
    row = frame.filter(metric_a="kalahi/mc mc1", metric_b="kalahi/open chrf_diff", coefficient="pearson").row(
        0, named=True
    )
    sides = [
        [view.estimate(i, view.subjects[0], name)["value"] for i in range(4)]
        for view, name in zip(views, ("mc1", "chrf_diff"), strict=True)
    ]
    wanted = pearson(*sides)
    assert (row["value"], row["low"], row["n"]) == (pytest.approx(wanted.value), pytest.approx(wanted.low), 4)
    # Plain r never stands without the one that takes the scores' own errors out.
    assert correlations(group).across[1]["disattenuated"] == "r without sampling error"
    assert correlations(arrange(situations[:2] + situations[4:6])) is None
    page = Page(render_page(situations))
    assert_sound(page)
    assert "Agreement of metrics across systems (kalahi/mc and kalahi/open)" in page.text


def test_every_metric_has_its_mean_over_cultures_and_each_in_the_csv(two: TaskView) -> None:
    table = metrics_table(two, reference=False)
    places = {row[0].small: row for row in table.rows}
    means = {name: equal_mean(two, 1, name) for name in places}
    assert {name: row[2].text for name, row in places.items()} == {
        name: amount(mean["value"], two.metrics[name]) for name, mean in means.items()
    }
    each = table.frame.filter(metric="sem_b", model="b").drop_nulls("culture")
    assert dict(each.select("culture", "value").iter_rows()) == {
        s.culture: two.estimate(1, s, "sem_b")["value"] for s in two.subjects
    }


def test_gaps_are_between_cultures_of_one_language_by_question_over_models(two: TaskView) -> None:
    gaps = language_gaps(two)
    pairs = {frozenset((row["a"], row["b"])): row for row in gaps.iter_rows(named=True)}
    assert set(pairs) == {frozenset(p) for p in (("South Korea", "North Korea"), ("Spain", "Mexico"), ("UK", "US"))}
    korea = pairs[frozenset(("South Korea", "North Korea"))]
    assert (korea["a"], korea["culture"], korea["n"]) == ("South Korea", "Korean", 24)
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


def test_topics_are_means_over_cultures_each_counting_alike(two: TaskView) -> None:
    ((group, found),) = topic_means(two)
    assert group == "topic"
    scores = two.runs[1].scores.filter(metric="sem_b", variant=two.variant, topic="Food")
    wanted = scores.group_by("culture").agg(pl.col("value").mean())["value"].mean()
    row = dict(found["Food"])[1]
    assert row["value"] == pytest.approx(wanted)
    assert row["n"] == 4 * len(CULTURES)
    page = Page(render_page(two.runs)).text
    assert "Cultures that share a language, on the same questions, mean of 2 models" in page
    assert "mean over cultures" in page


def test_stories_and_questions_have_medians_and_quartiles() -> None:
    made = make_analysis(models=("org/a",), identities=12, concepts=9)
    table = quartiles_table(AnalysisView(made))
    assert [row[0].small for row in table.rows] == ["answers to questions", "stories"]
    across = made.variance.filter((pl.col("task") == "eecc/stories") & (pl.col("estimator") == "corrected"))["across"]
    assert table.rows[1][1].text == f"{np.median(across.to_numpy()):.3f}"
    assert "Median over concepts" in Page(render_analysis(made)).text

"""What a score is held against is called by its name: people, perfect models, reference answers."""

from pathlib import Path

import pytest
from pages import Page
from report_fixtures import wide_run
from test_systems import Dice

import kapwa
from kapwa.report.charts.rows import culture_charts
from kapwa.report.page.runs import build_report
from kapwa.report.sentences.cultures import across_sentences
from kapwa.report.view.tasks import arrange


@pytest.mark.parametrize(
    ("task", "words", "short"),
    [
        ("opinions/survey", "perfect models", "perfect model"),
        ("kalahi/open", "the reference answers", "reference answers"),
    ],
)
def test_a_ceiling_that_is_not_people_is_not_called_people(task: str, words: str, short: str, tmp_path: Path) -> None:
    """Of opinions it said "is below what people score", where the ceiling is what a perfect model scores."""
    options = {"metrics": ["chrfpp"]} if task == "kalahi/open" else {}
    run = kapwa.evaluate(kapwa.load_task(task, data="sample", **options), Dice("weights"), out=tmp_path)
    (view,) = arrange([run])
    assert view.several_cultures
    assert [mark.words for mark in view.tops([view.main_metric])] == [words]
    (said,) = across_sentences(view)
    counts = said.partition("Culture by culture")[2]
    assert f"what {words} score" in counts or f"from {words}" in counts
    assert "people" not in counts
    (chart, *_) = culture_charts(view, view.main_metric)
    assert ("top", short) in chart.keys
    text = Page(build_report([run], tmp_path / "page.html").read_text("utf-8")).text
    assert f"The short upright line is what {words} score." in text
    assert f"Each score is also tested against what {words} score" in text
    assert "what people score" not in text


def test_people_are_called_people() -> None:
    (view,) = arrange([wide_run()])  # type: ignore[list-item]
    assert [mark.words for mark in view.tops(view.headline)] == ["people"]
    assert "what people score" in across_sentences(view)[0]

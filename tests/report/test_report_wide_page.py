"""The page of many cultures: whole, small, escaped, the same bytes, readable on phones."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from pages import Page, assert_sound, render_page
from report_fixtures import MadeRun, make_run
from test_report_page import CANARY, poison_tree
from wide_fixtures import CULTURES, choice_run, wide_run

from kapwa.report.page import build_report


@pytest.fixture(scope="module")
def both() -> str:
    names = ("org/a", "org/b")
    return render_page([*map(wide_run, names), *map(choice_run, names)])


@pytest.fixture(scope="module")
def one() -> str:
    return render_page([wide_run()])


def test_every_section_has_its_place_and_only_two_tasks_are_correlated(one: str, both: str) -> None:
    headings = (
        "Does the model know a culture's everyday life?/In which language it is asked/How it is asked/"
        "Whose answers it gives when it is wrong/Where it fails/Answers lost on the way/Too many answers/"
        "The same scores as the released code computes them/Northern Nigeria"
    )
    text, related = Page(one).text, "Do the tasks agree?"
    assert [heading for heading in headings.split("/") if heading not in text] == []
    assert "Northern_Nigeria" not in re.sub(r"<code>.*?</code>|data:text/csv[^\"]*", "", one)
    assert related not in text
    assert related in Page(both).text


def test_headings_ids_links_and_names_are_sound(both: str, one: str) -> None:
    for html in (both, one):
        assert_sound(Page(html))


def test_texts_of_every_script_keep_their_language_and_direction(one: str) -> None:
    page = Page(one)
    spoken = {attrs["lang"] for attrs in page.all("dd", "div") if attrs.get("lang")}
    assert {"ko", "ar", "am", "as"} <= spoken


def poisoned(run: MadeRun) -> MadeRun:
    keep = ("group", "outcome", "kind", "metric", "method", "variant")

    def poison(frame: pl.DataFrame) -> pl.DataFrame:
        texts = [name for name, kind in frame.schema.items() if kind == pl.String and name not in keep]
        return frame.with_columns((pl.col(name) + CANARY).alias(name) for name in texts)

    run.scores, run.estimates, run.floors = poison(run.scores), poison(run.estimates), poison(run.floors)
    run.tables = {name: poison(frame) for name, frame in run.tables.items()}
    plain = ("suite", "task", "headline", "groups", "selection")
    kept = {name: run.manifest[name] for name in plain}
    metrics = {name: {**poison_tree(info), "phrase": CANARY} for name, info in run.manifest["metrics"].items()}
    run.manifest = {**poison_tree(run.manifest), **kept, "metrics": metrics}
    return run


def test_markup_in_every_text_field_stays_text() -> None:
    few = tuple(CULTURES)[:5]
    html = render_page([poisoned(wide_run(cultures=few, per_culture=12)), poisoned(choice_run(cultures=few, n=12))])
    page = Page(html)
    assert "<script" not in html
    assert not page.all("script", "b", "iframe", "object", "embed", "img", "link", "base", "form")
    assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on") or name == "style"]
    assert html.count("document.title") > 20


def test_the_page_is_small_and_the_same_runs_give_the_same_bytes(tmp_path: Path, both: str) -> None:
    assert len(both.encode()) < 5_000_000
    names = ("org/a", "org/b")
    path = build_report([*map(wide_run, names), *map(choice_run, names)], tmp_path / "again.html")
    assert path.read_text(encoding="utf-8") == both


def test_three_cultures_keep_a_part_each_and_gain_the_language_section() -> None:
    text = Page(render_page([wide_run(cultures=("Spain", "Ethiopia", "Iran"), per_culture=30)])).text
    assert "In which language it is asked" in text
    assert "on average over" not in text
    assert "wide-model gave an answer that people there give to" in text


def test_four_cultures_of_another_suite_stand_on_one_axis_too() -> None:
    html = render_page([make_run("m", cultures=("مصر", "대한민국", "ኢትዮጵያ", "অসম"))])
    text = Page(html).text
    assert "on average over 4 cultures" in text
    assert "In which language it is asked" not in text
    assert "Prompt variants compared on the same items" in text
    assert "The shaded zone ends at the best trick" in text
    assert "short upright line" not in text, "nothing is known of people here"


def test_a_limited_run_warns_that_cultures_rest_on_few_questions() -> None:
    text = Page(render_page([wide_run(cultures=tuple(CULTURES)[:4], per_culture=8)])).text
    assert "Some cultures rest on as few as 8 questions" in text


def test_a_run_without_slashes_confusion_or_cases_still_reports() -> None:
    run = choice_run(n=20)
    run.tables.clear()
    text = Page(render_page([run])).text
    assert "Whose answers it gives" not in text
    assert "on average over 16 cultures" in text

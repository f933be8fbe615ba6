"""Sixty systems, sixteen cultures in a real browser, from disk: sorted, filtered, two compared, down to an answer."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browsing import BROWSER, laid_out
from report_fixtures import CULTURES, MadeRun, choice_run, wide_run

from kapwa.report import wording
from kapwa.report.page.runs import build_report
from kapwa.report.view.tasks import TaskView, arrange

pytestmark = [pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed"), pytest.mark.slow]

SYSTEMS = 60
SPEAKERS = ("Mexico", "Spain")  # of Spanish
ACTS, ANSWERS = (
    Path(__file__).with_name(f"probe_{name}.html").read_text(encoding="utf-8") for name in ("sixty", "sixty_answers")
)


@pytest.fixture(scope="module")
def runs() -> list[MadeRun]:
    names = [f"lab/m{k:02}" for k in range(SYSTEMS)]
    made = [wide_run(name, variants=("local/inst-4",), per_culture=4, skill=0.008 * k) for k, name in enumerate(names)]
    return [*made, *(choice_run(name, n=6) for name in names[:20])]


@pytest.fixture(scope="module")
def folder(runs: list[MadeRun], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sixty")
    groups = [f"m{k:02},{'First' if k < 40 else 'Second'}" for k in range(SYSTEMS)]
    (place / "groups.csv").write_text("\n".join(["system,group", *groups]), encoding="utf-8")
    return build_report(runs, place / "board", groups=place / "groups.csv").parent  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def by_width(folder: Path) -> dict[int, dict[str, Any]]:
    return laid_out(folder / "index.html", ACTS, 1280, 380)


@pytest.fixture(params=[1280, 380])
def told(request: pytest.FixtureRequest, by_width: dict[int, dict[str, Any]]) -> dict[str, Any]:
    return by_width[request.param]


@pytest.fixture(scope="module")
def view(runs: list[MadeRun]) -> TaskView:
    return arrange(runs)[0]  # type: ignore[arg-type]


def test_the_board_of_sixty_is_sorted_at_once_and_fits_the_window(told: dict[str, Any], folder: Path) -> None:
    assert (folder / "index.html").stat().st_size < 500_000
    values = [float(told["before"][name][0].rstrip("%")) for name in told["first"]]
    assert len(values) == SYSTEMS
    assert values == sorted(values, reverse=True)
    assert [float(told["before"][name][0].rstrip("%")) for name in told["rising"]] == sorted(values)
    assert told["sorted"] == "ascending"
    assert told["sorting"] < 1000
    assert told["wide"] <= 0


def test_filters_show_scores_of_a_culture_or_language_and_say_that_ranks_stay(
    told: dict[str, Any], view: TaskView
) -> None:
    (algeria,) = [subject for subject in view.subjects if subject.label == "Algeria"]
    for run, name in enumerate(view.labels):
        estimate = view.estimate(run, algeria, view.main_metric)
        assert told["culture"][name][0] == wording.amount(estimate["value"], view.metrics[view.main_metric])
        speakers = [view.estimate(run, s, view.main_metric) for s in view.subjects if s.label in SPEAKERS]
        mean = sum(one["value"] for one in speakers if one) / len(SPEAKERS)
        assert told["language"][name][0] == wording.amount(mean, view.metrics[view.main_metric])
    assert len(told["culture"]) == SYSTEMS + 3
    assert told["columns"] == 1
    assert told["saidCulture"] == (
        "60 of 60 systems; scores and intervals of Algeria alone; ranks and bold scores stay those among all systems, "
        "over all cultures."
    )
    assert sorted(set(told["compared"])) == sorted(SPEAKERS)
    assert told["again"] == told["before"]


def test_filters_by_group_task_and_name_leave_the_others_out(told: dict[str, Any]) -> None:
    assert sorted(told["group"]) == [f"m{k:02}" for k in range(40, SYSTEMS)]
    assert told["task"] == [2, [True, False], 20]
    assert told["named"] == ["m07"]
    assert told["saidName"] == "1 of 60 systems; ranks and bold scores stay those among all systems."
    assert told["quiet"] == ""


def test_two_are_compared_as_in_the_table_beside_the_page(told: dict[str, Any], view: TaskView, folder: Path) -> None:
    table = pl.read_csv(folder / "comparisons.csv").filter(task=view.task)
    assert table.height == SYSTEMS * (SYSTEMS - 1) // 2
    assert (
        pl.DataFrame(json.loads((folder / "comparisons.json").read_text("utf-8")), strict=False).height > table.height
    )
    (pair,) = table.filter(pl.col("a").is_in(["m03", "m59"]) & pl.col("b").is_in(["m03", "m59"])).to_dicts()
    sign = 1 if pair["a"] == "m03" else -1
    difference = f"{sign * 100 * pair['difference']:+.1f}".replace("-", "\u2212")
    assert f"first minus second {difference}" in told["verdicts"][0]
    scores = {cells[0]: cells[1:] for cells in told["scores"]}
    assert len(scores) == len(CULTURES)
    for subject in view.subjects:
        for cell, name in zip(scores[subject.label], ("m03", "m59"), strict=True):
            estimate = view.estimate(view.labels.index(name), subject, view.main_metric)
            assert cell == wording.amount(estimate["value"], view.metrics[view.main_metric])


def test_an_answer_is_two_clicks_away(by_width: dict[int, dict[str, Any]], folder: Path, view: TaskView) -> None:
    (link,) = {told["link"] for told in by_width.values()}
    for seen in laid_out(folder / link, ANSWERS, 1280, 380).values():
        assert seen["back"].startswith("index.html#")
        assert sorted(set(seen["who"])) == list(view.labels)
        answers = dict(zip(seen["who"], seen["answers"], strict=True))
        for label, run in zip(view.labels, view.runs, strict=True):
            (case,) = run.table("cases").filter(item_id=seen["item"], variant=view.variant).to_dicts()
            assert answers[label].startswith(case["got"])
        assert seen["wide"] <= 0

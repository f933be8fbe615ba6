"""Plans that bind, as a user meets them: freeze, a file that was changed, a comparison, a page in five scripts."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from report_fixtures import wide_run
from typer.testing import CliRunner

from kapwa.cli.main import app
from kapwa.errors import UsageError
from kapwa.report.board.planned import against_plan, planned_tables
from kapwa.report.page.runs import build_report
from kapwa.report.view.tasks import arrange
from kapwa.runs.plans import PlannedTask, freeze, read_plan

SYSTEMS = ("نموذج", "모델-한국", "ሞዴል", "অসমীয়া")
TASK = ("kalahi/mc", "--data", "sample:filipino", "--limit", "4")


def plan(*words: str) -> str:
    return CliRunner().invoke(app, ["plan", *words], catch_exceptions=False).output


def test_a_plan_is_frozen_told_and_not_replaced(tmp_path: Path) -> None:
    path = str(tmp_path / "plan.json")
    told = plan(*TASK, "--model", "old", "--model", "new", "--margin", "0.1", "--freeze", path)
    assert "kalahi/mc: mc1, variant full, 4 items of sample:filipino" in told
    assert f"Hash: {read_plan(path).hash}" in told
    with pytest.raises(UsageError, match="is there already"):
        plan(*TASK, "--model", "old", "--model", "new", "--freeze", path)
    told = plan(*TASK, "--model", "old", "--model", "new", "--freeze", f"{path}2", "--until", "0.05", "--json")
    assert json.loads(told[: told.rindex("}") + 1])["until"] == "0.05"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((*TASK, "--model", "old"), "two or more"),
        (("--model", "old", "--model", "new"), "names its tasks"),
        ((*TASK, "--model", "a", "--model", "b", "--metric", "mc9"), "no metric 'mc9'"),
        ((*TASK, "--model", "a", "--model", "b", "--until", "5"), "no rule to stop by"),
        ((*TASK, "--model", "a", "--model", "b", "--margin", "-1"), "above 0"),
    ],
)
def test_what_cannot_be_planned_is_refused_and_nothing_is_written(
    tmp_path: Path, words: tuple[str, ...], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        plan(*words, "--freeze", str(tmp_path / "plan.json"))
    assert list(tmp_path.iterdir()) == []


def test_a_plan_that_was_changed_is_refused(tmp_path: Path, refused: Callable[..., str]) -> None:
    path = tmp_path / "plan.json"
    plan(*TASK, "--model", "old", "--model", "new", "--margin", "0.1", "--freeze", str(path))
    path.write_text(path.read_text(encoding="utf-8").replace("0.1,", "0.2,"), encoding="utf-8")
    words = ("--model", "smollm2", "--plan", path, "--out", tmp_path / "runs")
    assert "was changed after it was frozen" in refused("run", *TASK, *words)
    assert [one.name for one in tmp_path.iterdir()] == ["plan.json"]


def test_a_page_tells_the_plan_in_every_script_and_escapes_what_it_says(tmp_path: Path) -> None:
    runs = [wide_run(f"org/{name}", cultures=("Algeria", "Assam"), per_culture=12) for name in SYSTEMS]
    manifest = runs[0].manifest
    planned = PlannedTask(
        task=manifest["task"],
        data=manifest["data"]["name"],
        data_digest=manifest["data"]["digest"],
        metric="sem_b",
        variant=manifest["selection"]["variants"][0],
        items=manifest["selection"].get("items", {}),
        item_digests=manifest["selection"].get("digests", {}),
    )
    hostile = "<script>alert(1)</script>"
    frozen = freeze([planned], [*SYSTEMS, hostile], tmp_path / "plan.json", margin=0.02)
    page = build_report(runs, tmp_path / "page.html", plan=frozen).read_text(encoding="utf-8")
    part = page[page.index('id="planned"') : page.index("</details>", page.index('id="planned"'))]
    assert frozen.short in part
    assert all(name in part for name in SYSTEMS)
    assert hostile not in page
    assert "For items like these" in part
    assert part.count("all 24 items") == 6
    plain = build_report(runs[:1], tmp_path / "plain.html").read_text(encoding="utf-8")
    assert 'id="planned"' not in plain
    tables = planned_tables(frozen, arrange(runs), 0.05)
    rows = tables["planned"]
    assert set(rows["metric"]) == {"sem_b"}
    assert rows.height == 6  # every two of four systems, by the mean over cultures
    assert tables["statements"]["kind"].to_list() == ["plan", "runs", "departures", "exploratory"]
    assert "planned 0.02" in tables["statements"]["statement"][2]
    compared = pl.DataFrame({"metric": ["sem_b", "sem_w"], "variant": [planned.variant] * 2, "culture": [None, None]})
    marked = against_plan(frozen, runs[0], runs[1]).marked(compared)  # type: ignore[arg-type]
    assert marked["planned"].to_list() == ["yes", "no"]

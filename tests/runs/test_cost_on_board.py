"""What 1,000 items cost, beside the score on the board, where it is asked for."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tiny_suite import TinyModel, TinyTask, run_task
from typer.testing import CliRunner

from kapwa.cli.main import app
from kapwa.errors import UsageError
from kapwa.report.board.ranks import ranking_pairs
from kapwa.report.board.table import board_table
from kapwa.report.page.runs import build_report
from kapwa.report.view.tasks import arrange
from kapwa.runs.costs import Prices
from kapwa.runs.finished_run import Run
from kapwa.runs.stopping import Limits

TASK = TinyTask(n=40, shared=False)
CHEAP, DEAR = Prices(price_in=1.0, price_out=2.0), Prices(price_in=100.0, price_out=200.0)  # 5 read, 7 written an item


def made(out: Path, name: str, prices: Prices | None, task: TinyTask = TASK) -> Run:
    limits = Limits(prices=prices)
    return Run(run_task(task, TinyModel(id=f"test/{name}"), out=out, progress=False, limits=limits))


def board(runs: list[Run], **more: Any) -> Any:
    views = arrange(runs)
    return board_table(views, [ranking_pairs(view) if len(view.runs) > 1 else [] for view in views], **more)


def test_the_board_has_a_column_of_costs_where_asked(tmp_path: Path) -> None:
    runs = [made(tmp_path, "cheap", CHEAP), made(tmp_path, "dear", DEAR), made(tmp_path, "unknown", None)]
    table = board(runs, cost=True)
    assert len(table.head) == 3
    assert table.head[-1].startswith("Cost of 1,000 items (tiny/echo)")
    costs = {row[0].text: row[-1].text for row in table.rows}
    assert (costs["cheap"], costs["dear"], costs["unknown"]) == ("0.019", "1.90", "–")
    assert costs["Guessing"] == "–"
    known = table.frame.filter(pl.col("cost_per_1000_items").is_not_null())
    assert dict(known.select("system", "cost_per_1000_items").iter_rows()) == pytest.approx(
        {"cheap": 0.019, "dear": 1.9}
    )
    plain = board(runs)
    assert len(plain.head) == 2
    assert "cost" not in plain.csv
    # The scores and ranks stand where they stood.
    assert [list(row[:2]) for row in table.rows] == [list(row) for row in plain.rows]


def test_of_several_tasks_each_with_a_known_cost_has_a_column_after_the_scores(tmp_path: Path) -> None:
    other = TinyTask(n=40, shared=False, name="tiny/other")
    runs = [made(tmp_path, "a", None), made(tmp_path, "a", CHEAP, other), made(tmp_path, "b", DEAR, other)]
    table = board(runs, cost=True)
    assert [head.partition(";")[0] for head in table.head[1:]] == [
        "Over a half (tiny/echo)", "Over a half (tiny/other)", "Cost of 1,000 items (tiny/other)"
    ]  # fmt: skip
    assert {row[0].text: row[-1].text for row in table.rows}["a"] == "0.019"


def test_kapwa_report_cost(tmp_path: Path) -> None:
    run, page = made(tmp_path, "dear", DEAR), tmp_path / "page.html"
    done = CliRunner().invoke(app, ["report", str(run.path), "--cost", "-o", str(page)])
    assert done.exit_code == 0, done.output
    assert "Cost of 1,000 items" in re.sub(r"\s+", " ", page.read_text())
    assert "Cost of 1,000 items" not in build_report([run], page).read_text()


def test_a_report_of_costs_that_nobody_knows_is_refused_with_the_remedy(tmp_path: Path) -> None:
    run, page = made(tmp_path, "unknown", None), tmp_path / "page.html"
    with pytest.raises(UsageError, match="None of these runs says what it cost") as raised:
        build_report([run], page, cost=True)
    assert "'price_in'" in str(raised.value)
    assert not page.exists()
    # The remedy: the same command with prices asks nothing again, and tells the cost.
    priced = made(tmp_path, "unknown", CHEAP)
    assert priced.path == run.path
    assert build_report([priced], page, cost=True).exists()

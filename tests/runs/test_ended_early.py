"""A run that ended early, and was asked in the order of the data, has no headline: it scores what came first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tiny_suite import TinyModel, TinyTask, run_task

import kapwa
from kapwa.records import Item, Request, Response
from kapwa.report.page.runs import build_report
from kapwa.report.tables.regression import judge
from kapwa.report.terminal.run_list import list_runs
from kapwa.report.terminal.runs import render_run
from kapwa.runs.asking import RunInterrupted
from kapwa.runs.finished_run import Run
from kapwa.runs.stopping import Limits

TASK = TinyTask(n=200, shared=False)
SPENT = Limits(max_tokens=12 * 60)
EARLY = "ended early, in the order of the data"


class TwoCultures(TinyTask):
    def _item(self, i: int, variant: str) -> Item:
        return replace(super()._item(i, variant), culture="Ethiopia" if i % 2 else "Kenya", language="am")


@dataclass
class Interrupted(TinyModel):
    """Somebody presses Ctrl-C after so many questions."""

    most: int = 40

    def answer(self, request: Request, batch: Sequence[Request]) -> Response:
        if int(request.item_id) >= self.most:
            raise KeyboardInterrupt
        return super().answer(request, batch)


def ended(out: Path, task: TinyTask = TASK, *, at_random: bool = False, **model: Any) -> Run:
    """A run that a limit ended; unless ``at_random`` it was begun without one, and so in the order of the data."""
    if not at_random:
        with pytest.raises(RunInterrupted):
            run_task(task, Interrupted(**model), out=out, progress=False)
    run = Run(run_task(task, TinyModel(delay=0.002, **model), out=out, progress=False, limits=SPENT))
    assert run.stopped
    return run


def printed(run: Run) -> str:
    shown = StringIO()
    Console(width=200, file=shown).print(render_run(run))
    return " ".join(shown.getvalue().split())


@pytest.mark.parametrize("task", [TASK, TwoCultures(n=200, shared=False)], ids=["one culture", "two cultures"])
def test_no_headline_on_terminal_page_list_or_in_json(tmp_path: Path, task: TinyTask) -> None:
    run = ended(tmp_path, task)
    assert run.ended_in_order
    assert (run.headline, run.as_dict()["headline"]) == (None, None)
    told = printed(run)
    assert EARLY in told
    assert "not in a random order" in told
    assert "%" not in told.replace("95%", "").replace("Guessing 50.0%", "")
    (row,) = list_runs(tmp_path)
    assert (row["state"], row["value"], row["low"]) == ("stopped", None, None)
    assert row["score"].startswith(f"half: no score, {EARLY}")
    page = build_report([run], tmp_path / "page.html").read_text()
    assert "has no score: its run ended early, and not in a random order" in page
    assert "<td" not in run._repr_html_()


def test_one_that_ended_early_in_a_random_order_has_its_headline(tmp_path: Path) -> None:
    run = ended(tmp_path, at_random=True)
    assert not run.ended_in_order
    assert run.headline is not None
    assert EARLY not in printed(run)
    assert f"{100 * run.headline['value']:.1f}%" in printed(run)
    assert list_runs(tmp_path)[0]["value"] == run.headline["value"]


def test_a_gate_on_it_is_incomplete(tmp_path: Path) -> None:
    early = ended(tmp_path / "new")
    old = Run(run_task(TASK, TinyModel(), out=tmp_path / "old", progress=False))
    frame = kapwa.compare(old, early, equal_within=0.1)
    assert judge(old, early, frame, 0.1).sentence.startswith(
        "Incomplete: the new run ended early, in the order of the data."
    )
    drawn = ended(tmp_path / "drawn", at_random=True)
    assert not judge(old, drawn, kapwa.compare(old, drawn, equal_within=0.1), 0.1).incomplete


def test_the_board_gives_it_no_rank_and_no_verdict(tmp_path: Path) -> None:
    early = ended(tmp_path, id="test/early")
    whole = [Run(run_task(TASK, TinyModel(id=name), out=tmp_path, progress=False)) for name in ("test/a", "test/b")]
    two = build_report([early, whole[0]], tmp_path / "two.html").read_text()
    assert "no verdict on which of the two is better" in two
    three = build_report([early, *whole], tmp_path / "three.html").read_text()
    for page in (two, three):
        assert f"no score, no rank: {EARLY}" in page
        assert "has no rank: the run ended early, and not in a random order." in page
    both = build_report(whole, tmp_path / "both.html").read_text()
    assert "no rank" not in both

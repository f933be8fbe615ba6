"""Frozen plans: what is written, what is refused, what runs carry, and what a report says departs from them."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from test_until import Steady, Tasked
from tiny_suite import run_task

from kapwa.errors import DataError, UsageError
from kapwa.report.board.planned import planned_rows, planned_sentences
from kapwa.report.view.tasks import arrange
from kapwa.runs.finished_run import Run
from kapwa.runs.plans import FrozenPlan, freeze, plan_hash, planned_task, read_plan

SMALL = Tasked(n=120, shared=False)


def a_plan(folder: Path, *systems: str, task: Tasked = SMALL, **more: Any) -> FrozenPlan:
    return freeze([planned_task(task)], systems or ("one", "two"), folder / "plan.json", **more)


def a_run(folder: Path, label: str, task: Tasked = SMALL, **more: Any) -> Run:
    model = Steady(id=f"tiny-{label}", flips=more.pop("flips", 0.0))
    return Run(run_task(task, model, out=folder / label, label=label, progress=False, **more))


def rewrite(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **fields}), encoding="utf-8")


def told(plan: FrozenPlan, *runs: Run, margin: float | None = None) -> str:
    return "\n".join(planned_sentences(plan, arrange(runs), margin))


def test_a_plan_is_read_as_it_was_frozen_and_any_change_is_seen(tmp_path: Path) -> None:
    plan = a_plan(tmp_path, margin=0.02, interval="these-items", until="0.05")
    path = tmp_path / "plan.json"
    assert read_plan(path) == plan
    assert plan.hash == plan_hash(plan.contents())
    assert plan.tasks[0].metric == "half"
    assert plan.tasks[0].items == {"full": 120}
    written = json.loads(path.read_text(encoding="utf-8"))
    changes: dict[str, Any] = {
        "margin": 0.03,
        "systems": ["one", "three"],
        "family": "cultures",
        "until": None,
        "frozen": "2020-01-01T00:00:00Z",
        "tasks": [{**written["tasks"][0], "metric": "size"}],
    }
    for name, value in changes.items():
        rewrite(path, **written | {name: value})
        with pytest.raises(DataError, match="was changed after it was frozen"):
            read_plan(path)
    rewrite(path, **written | {"more": 1})
    with pytest.raises(DataError, match="'more': is not a field of a frozen plan"):
        read_plan(path)
    with pytest.raises(UsageError, match="is there already"):
        a_plan(tmp_path)


def test_what_cannot_be_planned_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two or more"):
        a_plan(tmp_path, "one")
    with pytest.raises(UsageError, match="The system one is named twice"):
        a_plan(tmp_path, "one", "one")
    with pytest.raises(UsageError, match="above 0"):
        a_plan(tmp_path, margin=0.0)
    with pytest.raises(UsageError, match="no metric 'halves'"):
        planned_task(SMALL, "halves")
    assert list(tmp_path.iterdir()) == []


def test_a_run_carries_the_plan_from_before_its_first_answer_and_stays_under_it(tmp_path: Path) -> None:
    plan = a_plan(tmp_path)
    run = a_run(tmp_path, "one", plan=tmp_path / "plan.json")
    carried = {"hash": plan.hash, "frozen": plan.frozen.isoformat(), "answers_before": 0}
    assert run.manifest["plan"] == carried
    assert a_run(tmp_path, "one").manifest["plan"] == carried
    late = a_run(tmp_path, "two")
    assert "plan" not in late.manifest
    assert a_run(tmp_path, "two", plan=plan).manifest["plan"]["answers_before"] == 120
    (tmp_path / "plan.json").unlink()
    other = a_plan(tmp_path, margin=0.1)
    with pytest.raises(UsageError, match=f"is run under the plan {plan.short}, not {other.short}"):
        a_run(tmp_path, "one", plan=other)


def test_a_run_that_would_depart_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    plan = a_plan(tmp_path, until=None)
    for label, more, why in (
        ("one", {"task": Tasked(n=90, shared=False)}, r"other items \(90, planned 120\)"),
        ("three", {}, "of no planned system"),
        ("one", {"until": 0.1}, "with until=0.1, planned without 'until'"),
        ("one", {"task": Tasked(n=120, name="tiny/other")}, "of which the plan says nothing"),
    ):
        with pytest.raises(UsageError, match=why):
            a_run(tmp_path / "runs", label, plan=plan, **more)
    assert not (tmp_path / "runs").exists()


def test_a_report_says_what_was_planned_what_departs_and_what_is_exploratory(tmp_path: Path) -> None:
    plan = a_plan(tmp_path, margin=0.4)
    one, two = (a_run(tmp_path, label, plan=plan) for label in ("one", "two"))
    words = told(plan, one, two)
    assert f"Plan {plan.short}" in words
    assert "Every run carries the hash of the plan from before its first answer." in words
    assert "Nothing departs from the plan." in words
    assert "exploratory: other metrics (size), single cultures, parts of the items." in words
    [row] = planned_rows(plan, arrange([one, two])[0])
    assert row.culture is None
    assert (row.here, row.here_low, row.here_high) == (row.difference,) * 3
    assert (row.pairs, row.items) == (120, 120)
    assert row.verdict == "equal within the margin"
    # A margin of the moment, and what was not run, are told.
    words = told(plan, one, margin=0.1)
    assert "there is no run of two on tiny/echo" in words
    assert "equality is shown within 0.1, planned 0.4" in words


def test_a_report_says_of_each_run_why_the_plan_does_not_bind_it(tmp_path: Path) -> None:
    plan = a_plan(tmp_path)
    free = a_run(tmp_path, "one", task=Tasked(n=90, shared=False))
    late = a_run(tmp_path, "two")
    late = a_run(tmp_path, "two", plan=plan)
    words = told(plan, free, late)
    assert "one: was not run under it" in words.translate({0x2068: None, 0x2069: None})
    assert "two: had 120 answers before it came under the plan" in words.translate({0x2068: None, 0x2069: None})
    assert "was asked other items (90, planned 120)" in words
    [row] = planned_rows(plan, arrange([free, late])[0])
    assert row.here is None
    after = plan.model_copy(update={"frozen": datetime.now(tz=UTC) + timedelta(days=1)})
    bound = a_run(tmp_path / "again", "one", plan=after)
    assert "before the plan was frozen" in told(after, bound)


def test_on_these_items_is_narrower_than_for_items_like_these_where_a_part_was_asked(tmp_path: Path) -> None:
    task = Tasked(n=360, shared=False)
    plan = a_plan(tmp_path, task=task, until="0.1", family="cultures", interval="these-items")
    one, two = (a_run(tmp_path, label, task=task, plan=plan, until=0.1, flips=0.2) for label in ("one", "two"))
    assert one.stopped
    rows = planned_rows(plan, arrange([one, two])[0])
    assert [row.culture for row in rows] == ["Kenya", "Peru", "Togo"]
    for row in rows:
        assert row.here is not None
        assert 0 < row.pairs < row.items == 120
        assert row.high - row.low > row.here_high - row.here_low > 0
        assert row.decides == "these-items"

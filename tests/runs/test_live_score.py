"""The mean shown while a run is asked: that of the whole run in the end, at next to no cost, and never in its way."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_kill import tables
from tiny_suite import TinyModel, TinyTask, run_task

from kapwa.records import Answer, Item
from kapwa.runs import progress
from kapwa.runs.execute import Execution
from kapwa.runs.finished_run import Run
from kapwa.runs.live_score import SHARE, LiveScore
from kapwa.runs.progress import Meter, Snapshot, showing
from kapwa.runs.requests import requests_of
from kapwa.runs.store import AnswerStore
from kapwa.suites.base import Judged, MetricInfo

ENOUGH = 1e9  # seconds after which an update has all the time it wants


def answered(task: TinyTask, model: TinyModel, part: int | None = None) -> LiveScore:
    """A live score of which the model has answered the first ``part`` requests (None: all)."""
    items, store = task.items(), AnswerStore(None)
    index = requests_of(task, items, model.fingerprint)
    requests = list(index.distinct())[:part]
    Execution(model, store, Meter(lambda _: None, "x", len(requests))).execute("generate", requests)
    return LiveScore(task, items, index, store)


def last_words(live: LiveScore) -> str:
    """What is said once no update adds anything."""
    said = [live.update(ENOUGH) for _ in range(16)]
    assert said[-1] == said[-2]
    return said[-1]


@pytest.mark.parametrize("variants", [("full",), ("partial", "full")])
def test_where_all_is_answered_it_is_the_score_of_the_run(tmp_path: Path, variants: tuple[str, ...]) -> None:
    task = TinyTask(n=90, variants=variants)
    run = Run(run_task(task, TinyModel(), out=tmp_path, progress=False))
    row = run.estimates.row(by_predicate=(pl.col("metric") == "half") & (pl.col("group") == "all")
                            & (pl.col("variant") == variants[0]), named=True)  # fmt: skip
    value, low, high = (f"{100 * row[name]:.0f}" for name in ("value", "low", "high"))
    assert last_words(answered(task, TinyModel())) == f"half {value}% ({low}–{high}%) on 90 items so far"


def test_over_cultures_each_counts_alike() -> None:
    class Two(TinyTask):
        def _item(self, i: int, variant: str) -> Item:
            return replace(super()._item(i, variant), culture="Big" if i < 30 else "Small")

    live = answered(Two(n=40), TinyModel())
    said = last_words(live)
    scores = pl.concat(live._scores)
    expected = scores.group_by("culture").agg(pl.col("value").mean())["value"].mean()
    assert said.startswith(f"half {100 * expected:.0f}% (")  # type: ignore[operator]
    assert expected != pytest.approx(scores["value"].mean())


def test_only_items_whose_every_answer_is_there_count() -> None:
    class Twice(TinyTask):
        def requests(self, items: Sequence[Item]) -> Any:
            for request in super().requests(items):
                yield request
                yield replace(request, messages=(*request.messages, *request.messages))

    assert last_words(answered(Twice(n=20, shared=False), TinyModel(), part=13)).endswith(" on 6 items so far")
    assert last_words(answered(TinyTask(), TinyModel(), part=0)) == ""
    assert last_words(answered(TinyTask(n=20, shared=False), TinyModel(fails="what of"))) == ""


def test_judging_takes_a_hundredth_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("kapwa.runs.live_score.time.perf_counter", lambda: now[0])

    class Slow(TinyTask):
        def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> Judged:
            now[0] += 0.01 * len(items)
            return super().score(items, answers)

    live, judged = answered(Slow(n=3000, shared=False), TinyModel()), []
    for seconds in range(10, 3000, 10):
        live.update(seconds)
        judged.append(now[0])
        # The first round, of two items, is not counted.
        assert now[0] <= 0.02 + SHARE * seconds + 1e-9
    assert judged[-1] > 0.4 * SHARE * 3000


def test_a_suite_that_cannot_judge_a_few_answers_does_not_end_the_run(caplog: pytest.LogCaptureFixture) -> None:
    class Whole(TinyTask):
        def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> Judged:
            raise ZeroDivisionError("all or nothing")

    assert last_words(answered(Whole(), TinyModel())) == ""
    assert len(caplog.messages) == 1
    assert "no mean is shown" in caplog.messages[0]


def test_a_model_that_judges_is_not_asked_twice() -> None:
    class Judging(TinyTask):
        @property
        def metrics(self) -> dict[str, MetricInfo]:
            return super().metrics | {"judged": MetricInfo("judged", "Judged", 0.0, 1.0, judged_by="model")}

        def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> Judged:
            raise AssertionError

    assert last_words(answered(Judging(), TinyModel())) == ""


@dataclass
class Pausing(TinyModel):
    delay: float = 0.02


def test_a_run_shows_it_while_it_asks_and_is_the_same_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = TinyTask(n=60, shared=False)
    plain = run_task(task, Pausing(), out=tmp_path / "plain", progress=False)
    monkeypatch.setattr(progress, "_BEFORE_SCORES", 0.0)
    monkeypatch.setattr("kapwa.runs.live_score.SHARE", 1.0)
    seen: list[Snapshot] = []
    shown = run_task(task, Pausing(), out=tmp_path / "shown", progress=seen.append)
    notes = [snapshot.note for snapshot in seen if snapshot.so_far]
    assert re.search(r", half \d+% \(\d+–\d+%\) on \d+ items so far$", notes[-1])
    assert {snapshot.stage for snapshot in seen if snapshot.so_far} == {"asking"}
    assert tables(plain) == tables(shown)


def test_where_nothing_is_shown_nothing_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_BEFORE_SCORES", 0.0)
    with showing(False) as show:
        Meter(show, "x", 1, so_far=lambda _: pytest.fail("judged")).answered([])


def test_a_slow_first_round_does_not_leave_the_rest_uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("kapwa.runs.live_score.time.perf_counter", lambda: now[0])

    class Loading(TinyTask):
        def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> Judged:
            now[0] += 2.0 if not now[0] else 1e-4 * len(items)  # the first time, tables of a language are read
            return super().score(items, answers)

    said = answered(Loading(n=120, shared=False), TinyModel()).update(12.0)
    assert said.endswith(" on 120 items so far")

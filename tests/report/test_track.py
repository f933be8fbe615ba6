"""Checkpoints in order: what is said of them agrees with intervals that hold over all looks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.simulations.series import item_frames, planted_series, stated
from pages import Page
from report_fixtures import MadeRun, make_run
from scipy.stats import t as student

import kapwa
from kapwa.errors import UsageError
from kapwa.report.page.sections import write_track
from kapwa.report.tables.track import (
    _cost_sentence,
    checkpoint_frame,
    cost_table,
    culture_table,
    flip_table,
    track_block,
    track_record,
)
from kapwa.report.view.track import Track
from kapwa.runs.checkpoints import Order, Series, series_of
from kapwa.stats.series import ERROR, change, items_of_run, level_at, trend

CULTURES = ("Filipino", "Ilokano")


def checkpoint(name: str, skill: float = 0.5, **made: Any) -> MadeRun:
    """A run of a checkpoint called ``name``; other answers for every name."""
    run = make_run(
        f"org/{name}", variants=("full",), **{"cultures": CULTURES, "per_culture": 100, "skill": skill} | made
    )
    run.manifest["label"] = name
    run.stopped = False  # type: ignore[attr-defined]
    run.manifest["cost"] = {"requests": 200, "read": 9000, "written": 400, "seconds": 30.0}
    return run


def tracked(runs: Sequence[MadeRun], order: Order = "name") -> Track:
    (series,) = series_of(runs, order)  # type: ignore[arg-type]
    return Track(series)


def items(run: MadeRun) -> pl.DataFrame:
    return items_of_run(run.scores, "mc1", "full", share=True, ends=(0.0, 1.0))


# --- intervals over all looks --------------------------------------------------------------------------------------


def test_the_errors_of_all_looks_add_up_to_five_percent() -> None:
    spent = [1 - level_at(look) for look in range(1, 10_001)]
    assert sum(spent) == pytest.approx(ERROR, rel=1e-3)
    assert sum(spent) < ERROR
    assert 1 - level_at(3, 16) == pytest.approx((1 - level_at(3)) / 16)


@pytest.mark.parametrize("cultures", [("Filipino",), CULTURES])
@pytest.mark.parametrize("gone", [None, {"failed": 7}])
def test_a_change_is_what_compare_says_of_two_runs(cultures: Sequence[str], gone: dict[str, int] | None) -> None:
    old, new = checkpoint("step 1", cultures=cultures), checkpoint("step 2", 0.7, cultures=cultures, gone=gone)
    moved = change(items(old), items(new), share=True, level=0.95)
    row = kapwa.compare(old, new).filter(metric="mc1", variant="full").row(0, named=True)  # type: ignore[arg-type]
    for name in ("difference", "low", "high", "n", "clusters"):
        assert getattr(moved.comparison, name) == pytest.approx(row[name])
    # Here the new run is the first side.
    assert moved.comparison.least_low == pytest.approx(row["least_low"])
    assert moved.comparison.most_high == pytest.approx(row["most_high"])
    values = items(old).join(items(new), on="item_id", suffix=" new").drop_nulls(["value", "value new"])
    assert moved.gained == int((values["value new"] > values["value"]).sum())
    assert moved.lost == int((values["value new"] < values["value"]).sum())


def test_a_trend_is_the_mean_slope_of_items() -> None:
    random = np.random.default_rng(3)
    values = [random.random((40, 1)) < 0.3 + 0.1 * k for k in range(5)]
    frames = item_frames(1, [1] * 40, [each.astype(float) for each in values])
    level = level_at(3)
    found = trend(frames, level=level).comparison
    slopes = [np.polyfit(range(5), [float(each[k, 0]) for each in values], 1)[0] for k in range(40)]
    half = student.ppf(0.5 + level / 2, 39) * np.std(slopes, ddof=1) / np.sqrt(40)
    assert found.difference == pytest.approx(np.mean(slopes))
    assert (found.low, found.high) == pytest.approx((np.mean(slopes) - half, np.mean(slopes) + half))


def test_missing_answers_count_against_a_trend_whatever_they_were() -> None:
    random = np.random.default_rng(4)
    values = [(random.random((30, 1)) < 0.2 + 0.15 * k).astype(float) for k in range(4)]
    frames = item_frames(1, [1] * 30, values)
    lost = [(1, 3), (2, 5), (3, 8)]
    slopes = []
    for filled in product((0.0, 1.0), repeat=len(lost)):
        each = [value.copy() for value in values]
        for (place, item), value in zip(lost, filled, strict=True):
            each[place][item, 0] = value
        slopes.append(trend(item_frames(1, [1] * 30, each), level=0.95).comparison)
    for place, item in lost:
        rows = pl.int_range(pl.len()) == item
        frames[place] = frames[place].with_columns(
            value=pl.when(rows).then(None).otherwise("value"),
            least=pl.when(rows).then(0.0).otherwise("least"),
            most=pl.when(rows).then(1.0).otherwise("most"),
            gone=pl.when(rows).then(1.0).otherwise("gone"),
        )
    found = trend(frames, level=0.95).comparison
    assert found.n == 27
    assert found.least_low == pytest.approx(min(slopes, key=lambda one: one.difference or 0).low)
    assert found.most_high == pytest.approx(max(slopes, key=lambda one: one.difference or 0).high)


def test_series_in_which_nothing_changes_rarely_say_otherwise() -> None:
    random = np.random.default_rng(5)
    wrong = dict.fromkeys(("before", "first", "trend"), 0)
    for _ in range(12):
        rate = random.beta(1.0, 1.0, (60, 2))
        for name, changes in stated(item_frames(2, [1] * 60, list(planted_series(random, rate, 0.5))[:6])).items():
            wrong[name] += any(each.shown for each in changes)
    assert max(wrong.values()) <= 2  # of 12 at 5 %: more in 2 of 100


# --- the order -----------------------------------------------------------------------------------------------------


def test_names_are_ordered_by_their_numbers() -> None:
    runs = [checkpoint(name) for name in ("step 1000", "step 500", "step 20000")]
    assert [step.point.name for step in tracked(runs).steps] == ["step 500", "step 1000", "step 20000"]
    assert [step.point.step for step in tracked(runs).steps] == [500, 1000, 20000]
    assert [step.point.step for step in tracked(runs, "given").steps] == [1, 2, 3]


def test_time_orders_names_without_numbers() -> None:
    runs = [checkpoint(name) for name in ("base", "tuned")]
    for run, day in zip(runs, (9, 2), strict=True):
        run.manifest["finished"] = f"2026-11-0{day}T10:00:00+00:00"
    assert [step.point.name for step in tracked(runs, "time").steps] == ["tuned", "base"]


def test_what_cannot_be_a_series_is_refused() -> None:
    with pytest.raises(UsageError, match="tell no order: 'base', 'tuned'"):
        tracked([checkpoint("base"), checkpoint("tuned")])
    other = checkpoint("step 2")
    other.manifest["headline"] = ["mc2"]
    with pytest.raises(UsageError, match="first metric"):
        tracked([checkpoint("step 1"), other])
    with pytest.raises(UsageError, match="named twice"):
        tracked([checkpoint("step 1"), checkpoint("step 1")])


def test_each_task_and_data_is_a_series_of_its_own() -> None:
    runs = [checkpoint("step 1"), checkpoint("step 1", task="kalahi/open"), checkpoint("step 2")]
    assert [(one.task, len(one.checkpoints)) for one in series_of(runs)] == [  # type: ignore[arg-type]
        ("kalahi/mc", 2),
        ("kalahi/open", 1),
    ]


# --- what is said --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def falling() -> Track:
    """Five checkpoints, of which the last loses much; the second is stopped, the third ended in the order of data."""
    runs = [checkpoint(f"step {k}", skill) for k, skill in enumerate((0.6, 0.6, 0.6, 0.6, 0.1), 1)]
    runs[1].stopped = True  # type: ignore[attr-defined]
    runs[1].manifest["status"], runs[1].manifest["order"] = "stopped", "random"
    runs[1].manifest["counts"]["not_asked"] = 50
    runs[2].stopped = True  # type: ignore[attr-defined]
    runs[2].manifest["status"] = "stopped"
    return tracked(runs)


def test_a_change_is_stated_exactly_where_its_interval_excludes_none(falling: Track) -> None:
    table = checkpoint_frame(falling)
    for name in ("before", "first"):
        for low, high, shown in table.select(f"{name}_low", f"{name}_high", f"{name}_shown").iter_rows():
            assert shown == (None if low is None or low <= 0 <= high else "up" if low > 0 else "down")
    text = " ".join(track_block(falling).sentences)
    assert "The score fell from step 1 to step 5: −" in text
    assert "From step 4 to step 5 it fell: −" in text
    assert "rose" not in text
    assert "From step 1 to step 2" not in text
    assert "Since the first checkpoint it fell in Filipino, Ilokano." in text
    frame = culture_table(falling).frame  # type: ignore[union-attr]
    assert set(frame.filter(pl.col("shown").is_not_null())["checkpoint"]) == {"step 5"}


def test_a_stopped_run_is_marked_and_one_in_order_is_compared_with_none(falling: Track) -> None:
    table = checkpoint_frame(falling)
    assert table["stopped"].to_list() == [None, "stopped early", "stopped early", None, None]
    assert table["value"].is_null().to_list() == [False, False, True, False, False]
    assert table["not_asked"].to_list()[:2] == [0, 50]
    # The fourth is compared with the second.
    levels = [None, level_at(1), None, level_at(2), level_at(3)]
    assert table["before_level"].to_list() == pytest.approx(levels)
    notes = " ".join(track_block(falling).notes)
    assert "step 3 has no score and is compared with none: ended early, in the order of the data." in notes
    assert "a change is measured on the items that both checkpoints answered" in notes


def test_equal_checkpoints_are_said_to_be_open() -> None:
    said = " ".join(track_block(tracked([checkpoint(f"step {k}") for k in (1, 2, 3)])).sentences)
    assert "Whether the score changed from step 1 to step 3 is open" in said
    assert "A trend over all checkpoints is not shown" in said
    assert "Between no two neighbouring checkpoints is a change shown." in said
    assert not {"rose", "fell", "rises", "falls"} & set(said.replace(":", " ").split())


def test_one_checkpoint_has_nothing_to_be_compared_with() -> None:
    (sentence,) = track_block(tracked([checkpoint("alone")])).sentences
    assert "no two checkpoints" in sentence


def test_flips_are_those_of_the_answers(falling: Track) -> None:
    flips = falling.flips
    rows = {row["item_id"]: row for row in flips.iter_rows(named=True)}
    values = [dict(items(run).select("item_id", "value").iter_rows()) for run in falling.view.runs]  # type: ignore[arg-type]
    for item in values[0]:
        known = [values[k][item] for k in (0, 1, 3, 4)]
        changes = sum(a != b for a, b in pairwise(known))
        assert (rows[item]["flips"] if item in rows else 0) == changes
    table = flip_table(falling)
    assert table is not None
    assert len(table.rows) == 20 < flips.height


def test_other_settings_than_weights_are_told() -> None:
    runs = [checkpoint("step 1"), checkpoint("step 2")]
    runs[1].manifest["signature"] = runs[1].manifest["signature"].replace("template:chat", "template:plain")
    assert "differ in more than their weights: template." in " ".join(track_block(tracked(runs)).notes)
    runs[1].manifest["signature"] += "|with:8d2097"
    told = " ".join(track_block(tracked(runs)).notes)
    assert "more than their weights: template, other settings of the model." in told


# --- page and record -----------------------------------------------------------------------------------------------


def test_the_page_draws_every_checkpoint_and_escapes_names(falling: Track, tmp_path: Path) -> None:
    runs = [checkpoint(f"<b>step</b> {k}") for k in (1, 2)]
    page = Page(write_track([tracked(runs), falling], tmp_path / "track.html").read_text(encoding="utf-8"))
    text = " ".join(page.words)
    assert "<b>step</b> 2" in text
    assert not any(tag == "b" for tag, _ in page.elements)
    rows = [of for tag, of in page.elements if tag == "div" and of.get("class") == "row"]
    assert len(rows) >= 6  # a row for each checkpoint with a score
    assert text.count("no score") == 3  # in the chart, in the table and in the note
    assert "stopped early" in text
    assert "that are shown: none of 4" in text
    assert page.elements.count(("table", {"class": ""})) == text.count("Download") - 1  # no table without a row
    links = [of["href"] or "" for tag, of in page.elements if tag == "a"]
    assert all(href.startswith("data:text/csv") or href.startswith("data:application/json") for href in links)


def test_the_record_for_programs_has_all_of_it(falling: Track) -> None:
    record = track_record(falling)
    assert [row["step"] for row in record["checkpoints"]] == [1, 2, 3, 4, 5]
    assert record["trend"]["shown"] in (None, "down")
    assert len(record["flips"]) == falling.flips.height
    assert record["sentences"] == track_block(falling).sentences


def test_tokens_that_a_server_did_not_count_are_in_no_sum() -> None:
    runs = [checkpoint("step-1"), checkpoint("step-2")]
    runs[1].manifest["cost"] |= {"uncounted": 3, "cost": None}
    track = tracked(runs)
    assert [(row["read"], row["written"]) for row in cost_table(track).frame.to_dicts()] == [(9000, 400), (None, None)]
    assert "tokens not known" in _cost_sentence(track)


def test_a_series_needs_no_registered_suite() -> None:
    run = checkpoint("step 1")
    run.manifest["suite"] = "nowhere"
    (series,) = series_of([run])  # type: ignore[list-item]
    assert isinstance(series, Series)
    assert Track(series).view.suite is None

"""Scores by label, in the report and between two runs: against plain twins, and the families of tests."""

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pages import printed
from report_fixtures import MadeRun, choice_run, wide_run

import kapwa
from kapwa.errors import UsageError
from kapwa.report import wording
from kapwa.report.board.filters import chosen_cells, filter_choices
from kapwa.report.tables.labels import label_table
from kapwa.report.terminal.runs import render_comparison, render_run
from kapwa.report.view.tasks import TaskView, arrange
from kapwa.report.wording import SHARE
from kapwa.stats.comparison_tables import compare_runs
from kapwa.stats.significance import holm

LABELS = {
    "region": {"Asia": ["South_Korea", "China", "Indonesia", "West_Java"], "Sundanese land": ["West_Java"]},
    "country": {"Indonesia (all)": ["Indonesia", "West_Java"], "Not asked": ["Peru"]},
}
ASKED = ("South_Korea", "Indonesia", "China", "West_Java", "US")


def labelled_run(model: str) -> MadeRun:
    run = choice_run(model, cultures=ASKED, n=20)
    # Cultures of unequal size, so that items that count alike would show.
    kept = run.scores.filter((pl.col("culture") != "China") | pl.col("item_id").str.contains("[05]$"))
    data = {**run.manifest["data"], "labels": LABELS}
    return replace(run, manifest={**run.manifest, "data": data}, scores=kept)


@pytest.fixture(scope="module")
def runs() -> list[MadeRun]:
    return [labelled_run(f"made/{name}") for name in ("one", "two", "three")]


@pytest.fixture(scope="module")
def view(runs: list[MadeRun]) -> TaskView:
    return arrange(runs)[0]  # type: ignore[arg-type]


def plain_mean(scores: pl.DataFrame, cultures: list[str]) -> float:
    """From the definition: the mean over cultures of the means of their items."""
    means = []
    for culture in cultures:
        values = [v for c, v in scores.filter(metric="mcq_acc").select("culture", "value").iter_rows() if c == culture]
        means += [sum(values) / len(values)] if values else []
    return float(sum(means) / len(means))


def test_the_table_is_the_mean_over_each_labels_cultures(view: TaskView, runs: list[MadeRun]) -> None:
    table = label_table(view)
    rows = list(csv.DictReader(io.StringIO(table.csv)))
    assert {row["label"] for row in rows} == {"Asia", "Sundanese land", "Indonesia (all)"}  # "Not asked" is left out
    of_model = dict(zip(view.labels, runs, strict=True))
    for row in rows:
        cultures = LABELS[row["kind"]][row["label"]]
        assert row["cultures"].split("; ") == [s.label for s in view.subjects if s.culture in cultures]
        if len(cultures) > 1:
            assert float(row["value"]) == pytest.approx(plain_mean(of_model[row["model"]].scores, cultures))
            assert float(row["low"]) < float(row["value"]) < float(row["high"])
    asia = next(cells for cells in table.rows if cells[0].text == "Asia")
    assert (asia[0].small, asia[1].text) == ("region", "China; Indonesia; South Korea; West Java")
    assert len(asia) == 2 + len(runs)


def test_the_board_can_be_filtered_by_a_label(view: TaskView) -> None:
    choices = filter_choices(view)
    members = [k for k, subject in enumerate(view.subjects) if subject.culture in LABELS["country"]["Indonesia (all)"]]
    place = choices.index(("Label", "Indonesia (all)", members))
    table = label_table(view)
    shown = next(cells for cells in table.rows if cells[0].text == "Indonesia (all)")  # type: ignore[union-attr]
    cells = chosen_cells(view, [places for *_, places in choices])[place][: len(view.labels)]
    assert cells == [(cell.text, cell.small) for cell in shown[2:]]


def test_one_name_in_two_kinds_is_two_labels(runs: list[MadeRun]) -> None:
    twice = {"region": {"East": ["China"]}, "country": {"East": ["South_Korea", "US"]}}
    data = {**runs[0].manifest["data"], "labels": twice}
    view = arrange([replace(runs[0], manifest={**runs[0].manifest, "data": data})])[0]  # type: ignore[list-item]
    table = label_table(view)
    values = [wording.amount(float(row["value"]), SHARE) for row in csv.DictReader(io.StringIO(table.csv))]
    assert [(cells[0].small, cells[2].text) for cells in table.rows] == list(zip(twice, values, strict=True))
    assert [name for kind, name, _ in filter_choices(view) if kind == "Label"] == ["East (region)", "East (country)"]


def test_without_labels_nothing_is_added() -> None:
    view = arrange([choice_run(cultures=ASKED, n=20)])[0]  # type: ignore[list-item]
    assert label_table(view) is None
    assert not any(kind == "Label" for kind, *_ in filter_choices(view))


def test_the_terminal_shows_labels(runs: list[MadeRun]) -> None:
    told = printed(render_run(runs[0]))  # type: ignore[arg-type]
    assert "Sundanese land" in told
    assert "Label" in told


def of(scores: pl.DataFrame, cultures: list[str]) -> pl.DataFrame:
    return scores.filter(pl.col("culture").is_in(cultures))


def test_labels_are_compared_as_runs_of_their_cultures_alone(runs: list[MadeRun]) -> None:
    settings: dict[str, Any] = {"label_a": "a", "label_b": "b", "metrics": {"mcq_acc": True}}
    table = compare_runs(runs[0].scores, runs[1].scores, labels=LABELS, **settings)
    assert table.select("label_kind", "label", "cultures").rows() == [
        ("region", "Asia", 4),
        ("region", "Sundanese land", 1),
        ("country", "Indonesia (all)", 2),
    ]
    for row in table.iter_rows(named=True):
        cultures = LABELS[row["label_kind"]][row["label"]]
        alone = compare_runs(of(runs[0].scores, cultures), of(runs[1].scores, cultures), **settings).row(0, named=True)
        for name in ("a_value", "b_value", "difference", "low", "high", "p_value", "n", "clusters"):
            assert row[name] == pytest.approx(alone[name]), (row["label"], name)
        wanted = plain_mean(runs[0].scores, cultures) - plain_mean(runs[1].scores, cultures)
        assert row["difference"] == pytest.approx(wanted)


def test_a_label_of_one_culture_in_two_languages_has_a_row_for_each(runs: list[MadeRun]) -> None:
    settings: dict[str, Any] = {"label_a": "a", "label_b": "b", "metrics": {"mcq_acc": True}}
    asked = [of(run.scores, [ASKED[0]]) for run in runs[:2]]
    both = [pl.concat([scores, scores.with_columns(language=pl.lit("fr"))]) for scores in asked]
    table = compare_runs(*both, labels={"kind": {"label": [ASKED[0]]}}, **settings)
    assert table["language"].to_list() == sorted({*asked[0]["language"], "fr"})


def test_the_labels_of_a_kind_are_one_family(runs: list[MadeRun]) -> None:
    frame = compare_runs(
        *(run.scores for run in runs[:2]), label_a="a", label_b="b", metrics={"mcq_acc": True}, labels=LABELS
    )
    for part in frame.partition_by("label_kind"):
        assert part["p_holm"].to_list() == holm(part["p_value"].to_numpy()).tolist()
        assert part["family"].n_unique() == 1
    assert (
        frame["family"][0] == "2 tests of mcq_acc in the variant generate (1 pair of runs, 2 labels of the kind region)"
    )
    assert np.any((frame["p_holm"] > frame["p_value"]).to_numpy())
    told = " ".join(printed(render_comparison(frame, runs[0].metrics)).split())
    assert "The labels of one kind are one family of tests (Holm)." in told
    assert "2 labels of the kind region" in told
    assert "Sundanese" in told


def test_compare_by_label_and_data_without_labels(runs: list[MadeRun]) -> None:
    a, b = (replace(run, path=Path(name)) for name, run in zip("ab", runs, strict=False))
    frame = kapwa.compare(a, b, by="label")  # type: ignore[arg-type]
    assert frame["label"].to_list() == ["Asia", "Sundanese land", "Indonesia (all)"]
    assert {"verdict", "detectable", "undone_by"} <= set(frame.columns)
    bare = replace(a, manifest={**a.manifest, "data": {**a.manifest["data"], "labels": {}}})
    with pytest.raises(UsageError, match="have no labels"):
        kapwa.compare(bare, b, by="label")  # type: ignore[arg-type]


def test_one_country_has_one_name_in_all_benchmarks_of_a_report() -> None:
    answers, choices = wide_run(cultures=("South_Korea", "US")), choice_run(cultures=("South_Korea", "US"))
    names = {"South_Korea": "Korea, Republic of"}
    choices.estimates = choices.estimates.with_columns(pl.col("culture").replace(names))
    views = arrange([answers, choices])
    labels = [[name for kind, name, _ in filter_choices(view) if kind == "Culture"] for view in views]
    assert labels == [["South Korea", "US"]] * 2
    assert [view.subjects[0].culture for view in views] == ["South_Korea", "Korea, Republic of"]
    (alone,) = arrange([choices])
    assert alone.subjects[0].label == "Korea, Republic of"  # as its data have it

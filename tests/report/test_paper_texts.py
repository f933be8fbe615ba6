"""Tables of Kalahi's paper that show texts: each answer and each log-probability is that of the run, in its place."""

import csv
import io
import math
from pathlib import Path

import pytest
from test_systems import Dice

import kapwa
from kapwa.errors import UsageError
from kapwa.report.board.paper import paper_table
from kapwa.report.tables.forms import latex_table, markdown_table
from kapwa.runs.finished_run import Run

LEVELS = ("full", "partial", "unenriched")
ROLES = ("best", "relevant", "irrelevant")


def run_of(task: str, label: str, out: Path, **options: object) -> Run:
    metrics = {"metrics": ["chrfpp"]} if task == "kalahi/open" else {}
    opened = kapwa.load_task(task, data="sample:filipino", **metrics, **options)  # type: ignore[arg-type]
    return kapwa.evaluate(opened, Dice("weights", id=f"org/{label}"), out=out / label, label=label)


def test_one_situation_at_three_levels_side_by_side(tmp_path: Path) -> None:
    runs = [run_of("kalahi/open", name, tmp_path, variant=LEVELS) for name in ("a", "b")]
    table = paper_table(runs, "kalahi-15")
    assert table.head == ["Situation or system", "Fully enriched", "Partially enriched", "Unenriched"]
    rows = list(csv.DictReader(io.StringIO(table.csv)))
    assert len(rows) == 24 * 2 * 3
    items = {(row["item_id"], row["variant"]): row for row in runs[0].items.to_dicts()}
    for run, system in zip(runs, "ab", strict=True):
        said = {(row["item_id"], row["variant"]): row["text"] for row in run.table("answers").to_dicts()}
        for row in (one for one in rows if one["system"] == system):
            assert row["response"] == said[row["asked_id"], row["variant"]]
            assert row["prompt"] == items[row["asked_id"], row["variant"]]["prompt"]
    # A variation of a situation has the unenriched prompt of its situation, and says whose it is.
    varied = {row["item_id"]: row["asked_id"] for row in rows if row["variant"] == "unenriched"}
    moved = {one: other for one, other in varied.items() if one != other}
    assert len(moved) == 9
    for one, other in moved.items():
        assert items[one, "full"]["cluster"] == items[other, "unenriched"]["cluster"]
    # For readers: of each situation what was asked, then a row a system.
    assert [row[0].text for row in table.rows][1:3] == ["a", "b"]
    assert len(table.rows) == 24 * 3
    assert all(cell.strong for cell in table.rows[0])
    assert items["fil01", "full"]["best"] in table.rows[0][0].small
    for form in (markdown_table, latex_table):
        assert "Partially enriched" in form(table)


def test_each_response_has_its_log_probability(tmp_path: Path) -> None:
    runs = [run_of("kalahi/mc", name, tmp_path) for name in ("a", "b")]
    table = paper_table(runs, "kalahi-f")
    assert table.head == ["Situation or response", "a", "b"]
    rows = list(csv.DictReader(io.StringIO(table.csv)))
    by_response = {(row["system"], row["item_id"], row["response"]): row for row in rows}
    for run, system in zip(runs, "ab", strict=True):
        kept = run.table("continuations").filter(variant="full")
        assert sum(row["system"] == system for row in rows) == kept.height
        for row in kept.to_dicts():
            shown = by_response[system, row["item_id"], row["text"]]
            assert float(shown["logprob_per_byte"]) == pytest.approx(row["logprob_sum"] / row["n_bytes"])
            assert float(shown["logprob_sum"]) == pytest.approx(row["logprob_sum"])
            assert shown["role"] == row["group"]
        # MC1 and MC2 of the run follow from the table: it is what they are made of.
        for score in run.scores.filter(variant="full").to_dicts():
            mine = [row for row in rows if (row["system"], row["item_id"]) == (system, score["item_id"])]
            value = {role: [float(r["logprob_per_byte"]) for r in mine if r["role"] == role] for role in ROLES}
            if score["metric"] == "mc1":
                assert score["value"] == float(value["best"][0] > max(value["irrelevant"]))
            if score["metric"] == "mc2":
                mass = {role: sum(map(math.exp, of_role)) for role, of_role in value.items()}
                relevant = mass["best"] + mass["relevant"]
                assert score["value"] == pytest.approx(relevant / (relevant + mass["irrelevant"]))
    situations = [row for row in table.rows if row[0].strong]
    assert len(situations) == 24
    assert sum(row[1].strong for row in table.rows) == 24  # one response of each situation is the likeliest


def test_what_these_tables_lack_is_said(tmp_path: Path) -> None:
    run = run_of("kalahi/open", "a", tmp_path)
    with pytest.raises(UsageError, match="needs the prompts 'partial'") as bad:
        paper_table([run], "kalahi-15")
    assert "--variant full,partial,unenriched" in str(bad.value.hint)
    with pytest.raises(UsageError, match="needs a run of kalahi/mc"):
        paper_table([run], "kalahi-f")
    (tmp_path / "groups.csv").write_text("system,group\na,First\n", encoding="utf-8")
    with pytest.raises(UsageError, match="Groups of systems"):
        paper_table([run], "kalahi-15", groups=tmp_path / "groups.csv")

"""Errata: confirmed lines leave items out of runs and are told in reports; all other lines change nothing."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import kapwa
from kapwa.cli.main import app
from kapwa.datasets.errata import COLUMNS, read_errata
from kapwa.errors import DataError, UsageError

HEAD = ",".join(COLUMNS) + "\n"
CHOSEN: dict[str, Any] = {"where": {"culture": "South_Korea"}, "variant": "local/inst-4"}


def table(folder: Path, *lines: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "errata.csv"
    path.write_text(HEAD + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def ids(**more: Any) -> list[str]:
    return [item.id for item in kapwa.load_task("blend/saq", **CHOSEN, **more).items()]


def run_of(folder: Path, **more: Any) -> Any:
    """A run of replies that are right on every other item."""
    task = kapwa.load_task("blend/saq", **CHOSEN, **more)
    folder.mkdir(exist_ok=True)
    replies = folder / "replies.jsonl"
    every = kapwa.load_task("blend/saq", **CHOSEN).items()
    texts = [item.fields["answers"][0].local[0] if k % 2 else "x" for k, item in enumerate(every)]
    rows = [json.dumps({"item_id": item.id, "text": text}) for item, text in zip(every, texts, strict=True)]
    replies.write_text("\n".join(rows), encoding="utf-8")
    return kapwa.evaluate(task, kapwa.load_model(f"replay:{replies}"), out=folder / "runs", progress=False)


def test_a_confirmed_line_leaves_an_item_out_and_stands_in_the_signature(tmp_path: Path) -> None:
    first, second, *others = ids()
    errata = table(tmp_path, f"{first},South_Korea,,no consensus,1 gave it,Ana", f"{second},,,unclear,,")
    run = run_of(tmp_path, errata=errata)
    assert run.items["item_id"].to_list() == [second, *others]
    assert f"n:{len(others) + 1}|" in run.manifest["signature"]
    assert f"errata={run.manifest['options']['errata']}" in run.manifest["signature"]
    note = next(note for note in run.manifest["notes"] if "errata.csv" in note)
    assert f"{first} (no consensus; confirmed by Ana)" in note
    assert "nobody confirmed, which change nothing: 1" in note
    # The digest is of what was left out, whatever else the file says.
    again = run_of(tmp_path / "again", errata=table(tmp_path, f"{first},,local/inst-4,other words,,Ben"))
    assert again.manifest["options"]["errata"] == run.manifest["options"]["errata"]


def test_lines_that_nobody_confirmed_change_not_a_byte(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    plain = run_of(tmp_path)
    with_lines = run_of(tmp_path / "other", errata=table(tmp_path, f"{ids()[0]},,,unclear,,"))
    assert "change nothing: 1" in caplog.text
    assert with_lines.path.name == plain.path.name
    assert with_lines.manifest["signatures"] == plain.manifest["signatures"]
    for name in ("estimates", "scores", "floors"):
        assert (with_lines.path / f"{name}.parquet").read_bytes() == (plain.path / f"{name}.parquet").read_bytes()


def test_a_line_on_another_variant_or_outside_the_selection_is_passed_over(tmp_path: Path) -> None:
    first, second, *_, last = ids()
    errata = table(tmp_path, f"{first},,en/inst-4,unclear,,Ana", f"{last},,,unclear,,Ana", f"{second},,,unclear,,Ana")
    assert ids(errata=errata, limit=3) == [first, ids()[2]]


def test_examples_are_not_taken_from_items_that_are_left_out(tmp_path: Path) -> None:
    every = kapwa.load_task("blend/saq", **CHOSEN, shots=2)
    shown = {message.content for request in every.requests(every.items()) for message in request.messages[:-1]}
    gone = next(item for item in every.items() if any(item.fields["question"] in text for text in shown))
    task = kapwa.load_task("blend/saq", **CHOSEN, shots=2, errata=table(tmp_path, f"{gone.id},,,unclear,,Ana"))
    texts = [message.content for request in task.requests(task.items()) for message in request.messages]
    assert texts
    assert not any(gone.fields["question"] in text for text in texts)


@pytest.mark.parametrize(
    ("lines", "column", "message"),
    [
        (["South_Korea/none,,,unclear,,Ana"], "item_id", "is no item of these data"),
        (["South_Korea/none,,,unclear,,"], "item_id", "is no item of these data"),
        (["{first},Mexico,,unclear,,Ana"], "culture", "is an item of 'South_Korea', not of 'Mexico'"),
        (["{first},,,unclear,,Ana", "{first},,,again,,Ben"], "item_id", "a second time .first in row 2."),
        ([",,,unclear,,Ana"], "item_id", "is empty"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, lines: list[str], column: str, message: str) -> None:
    first = ids()[0]
    errata = table(tmp_path, *(line.format(first=first) for line in lines))
    with pytest.raises(DataError, match=message) as caught:
        ids(errata=errata)
    assert (caught.value.path, caught.value.column, caught.value.row) == (errata, column, 1 + len(lines))
    assert caught.value.hint


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "errata.csv"
    path.write_text("item_id,culture,variant,reason,evidence,confirmed\nx,,,,,\n")
    with pytest.raises(DataError, match="column 'confirmed_by' is missing") as caught:
        read_errata(path)
    assert "Did you mean 'confirmed'?" in str(caught.value.hint)


def test_nothing_is_left_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leaves no item"):
        ids(errata=table(tmp_path, *(f"{item},,,unclear,,Ana" for item in ids())))


def test_a_report_shows_both_numbers_and_names_the_difference(tmp_path: Path) -> None:
    run, every = run_of(tmp_path), ids()
    errata = table(tmp_path, f"{every[0]},,,unclear,,Ana", f"{every[1]},,,unclear,,")
    page = kapwa.write_report(run, tmp_path / "report.html", errata=errata).read_text(encoding="utf-8")
    values = run.scores.filter(metric="sem_b").sort("item_id")
    before = values["value"].mean()
    after = values.filter(item_id=every[0]).height and values.filter(values["item_id"] != every[0])["value"].mean()
    assert f"{100 * before:.1f}% with {len(every)} questions" in page
    assert f"{100 * after:.1f}% without 1 question of the errata: +{100 * (after - before):.1f} points" in page
    assert "which change nothing: 1" in page
    assert "errata" not in kapwa.write_report(run, tmp_path / "plain.html").read_text(encoding="utf-8").lower()


def test_a_report_refuses_errata_that_leave_nothing_out_or_name_no_item(tmp_path: Path) -> None:
    run, first = run_of(tmp_path), ids()[0]
    with pytest.raises(UsageError, match="nobody confirmed, which change nothing: 1"):
        kapwa.write_report(run, tmp_path / "r.html", errata=table(tmp_path, f"{first},,,unclear,,"))
    with pytest.raises(UsageError, match="not asked here: 1"):  # the run was asked one country of the data
        kapwa.write_report(run, tmp_path / "r.html", errata=table(tmp_path, "Mexico/none,,,unclear,,Ana"))
    assert not (tmp_path / "r.html").exists()


def test_the_command_line_takes_errata_for_scores(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    options = ["--country", "South_Korea", "--variant", "local/inst-4", "--out", str(tmp_path / "scored")]
    errata = table(tmp_path, f"{ids()[0]},,,unclear,,Ana")
    command = ["score", "blend/saq", "--responses", str(tmp_path / "replies.jsonl"), "--errata", str(errata), "--json"]
    result = CliRunner().invoke(app, [*command, *options])
    assert result.exit_code == 0, result.output
    manifest = json.loads(next((tmp_path / "scored").glob("*/run.json")).read_text(encoding="utf-8"))
    assert manifest["counts"]["items"] == run.manifest["counts"]["items"] - 1
    page = tmp_path / "page.html"
    command = ["report", str(run.path), "--errata", str(errata), "-o", str(page), "--csv", str(tmp_path / "csv")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "in the errata" in page.read_text(encoding="utf-8")
    rows = pl.read_csv(next((tmp_path / "csv" / "errata").iterdir()))
    assert set(rows["n"] - rows["n_without"]) == {1}
    assert rows["difference"].to_list() == pytest.approx((rows["value_without"] - rows["value"]).to_list())

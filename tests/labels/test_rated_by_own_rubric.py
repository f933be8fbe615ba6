"""Rating sheets by a rubric of somebody's own: in the raters' language, and read back without naming it again."""

import csv
import shutil
from pathlib import Path

import polars as pl
import pytest
from form_filling import fill_csv
from typer.testing import CliRunner

from kapwa.cli.main import app
from kapwa.errors import DataError
from kapwa.labels.ratings.analysis import human_ratings
from kapwa.labels.ratings.reading import read_ratings
from kapwa.labels.ratings.sheets import write_rating_form
from kapwa.labels.rubrics import load_rubric
from kapwa.labels.sheets import Forms
from kapwa.records import Item
from kapwa.report.tables.forms import render_block
from kapwa.report.tables.people import people_blocks

POLITE = """
name: polite
version: "1"
title: Is the answer polite?
instruction:
  en: Read the answer as the person would to whom it is written.
  fil: Basahin ang sagot gaya ng sinulatan nito.
yes_means: is polite
criteria:
  - code: polite
    name: Polite
    question: {en: "Is the answer polite?", fil: "Magalang ba ang sagot?"}
"""


@pytest.fixture
def polite(tmp_path: Path) -> Path:
    path = tmp_path / "polite.yaml"
    path.write_text(POLITE, encoding="utf-8")
    return path


def written(items: list[Item], polite: Path, out: Path) -> Forms:
    rows = [(item.id, item.variant, "alpha", f"Answer {item.id}") for item in items]
    answers = pl.DataFrame(rows, schema=["item_id", "variant", "model", "text"], orient="row")
    return write_rating_form(items, answers, out, items_n=None, people=3, rubric=polite, formats=["csv"])


def filled(items: list[Item], polite: Path, out: Path) -> Forms:
    form = written(items, polite, out)
    for sheet in form.sheets:
        fill_csv(sheet, lambda row: {"polite": "oo"})
    return form


def test_raters_read_instruction_and_question_in_their_language(
    items: list[Item], polite: Path, tmp_path: Path
) -> None:
    """They read English alone, under the heading "1 yes/no questions"."""
    form = written(items, polite, tmp_path / "forms")
    told = form.instructions.read_text(encoding="utf-8")
    assert told.startswith("# Is the answer polite? (1 yes/no question)\n")
    assert "Basahin ang sagot gaya ng sinulatan nito." in told
    assert "Read the answer as the person would to whom it is written." in told
    assert "Magalang ba ang sagot? (Is the answer polite?)" in told
    assert [sheet.name for sheet in form.sheets] == ["ratings-p1.csv", "ratings-p2.csv", "ratings-p3.csv"]


def test_raters_see_examples_and_what_the_rubric_shows(items: list[Item], polite: Path, tmp_path: Path) -> None:
    more = """    examples: [{answer: Go away., verdict: "no"}]
shows: {relevant: People say}
"""
    polite.write_text(POLITE + more, encoding="utf-8")
    form = written(items, polite, tmp_path / "form")
    assert "## Examples\n\n- Polite: “Go away.” is **no**\n" in form.instructions.read_text(encoding="utf-8")
    with form.sheets[0].open(encoding="utf-8-sig", newline="") as file:
        prompts = [row["prompt"] for row in csv.DictReader(file)]
    assert prompts
    assert all("\n\nPeople say: " in prompt for prompt in prompts)


def test_filled_sheets_are_read_by_the_rubric_that_lies_beside_them_or_beside_their_key(
    items: list[Item], polite: Path, tmp_path: Path
) -> None:
    form = filled(items, polite, tmp_path / "forms")
    beside = human_ratings(tmp_path / "forms", key=form.key, replicates=100)
    assert (beside.rubric, beside.yes_means) == ("polite", "is polite")
    assert read_ratings(tmp_path / "forms").rubric.signed == load_rubric(polite).signed
    (tmp_path / "returned").mkdir()
    for sheet in form.sheets:
        shutil.move(sheet, tmp_path / "returned" / sheet.name)
    assert human_ratings(tmp_path / "returned", key=form.key, replicates=100).shares.equals(beside.shares)
    with pytest.raises(DataError, match="no column is a criterion of a known rubric") as caught:
        read_ratings(tmp_path / "returned")
    assert "ratings-rubric.yaml" in caught.value.hint
    read = CliRunner().invoke(app, ["label", "read", str(tmp_path / "returned"), "--key", str(form.key)])
    assert read.exit_code == 0, read.output


def test_the_report_reads_them_too(items: list[Item], polite: Path, tmp_path: Path) -> None:
    """It said "holds neither choices nor ratings", and has no option that names a rubric."""
    form = filled(items, polite, tmp_path / "forms")
    (block,) = people_blocks([], [], [tmp_path / "forms"])
    text = render_block(block)
    assert "Is the answer polite?" in str(block.title)
    assert "yes: the answer is polite" in block.tables[0].caption, text
    (tmp_path / "returned").mkdir()
    for sheet in form.sheets:
        shutil.move(sheet, tmp_path / "returned" / sheet.name)
    (apart,) = people_blocks([], [], [tmp_path / "returned", form.key])
    assert apart.tables[0].csv == block.tables[0].csv
    form.key.with_name("ratings-rubric.yaml").unlink()
    with pytest.raises(DataError, match="holds neither choices nor ratings") as caught:
        people_blocks([], [], [tmp_path / "returned", form.key])
    assert "ratings-rubric.yaml" in caught.value.hint


def test_a_rubric_that_ships_is_known_by_its_columns(tmp_path: Path) -> None:
    codes = [criterion.code for criterion in load_rubric("depicted").criteria]
    table = tmp_path / "ratings.csv"
    lines = [f"item_id,rater,{','.join(codes)}", *(f"q{n},Ana,{','.join(['yes'] * len(codes))}" for n in range(3))]
    table.write_text("\n".join([*lines, ""]), encoding="utf-8")
    assert read_ratings(table).rubric.name == "depicted"
    labels = tmp_path / "labels.csv"
    labels.write_text("item_id,rater,right\nq1,Ana,yes\n", encoding="utf-8")
    with pytest.raises(DataError, match="no column is a criterion"):
        read_ratings(labels)

"""A language nobody knows, from files to a report; and that the report and the signature say so."""

from pathlib import Path

import polars as pl
from first_folder import CARD, folder_of
from typer.testing import CliRunner

import kapwa
from kapwa.cli.main import app
from kapwa.suites.folders.adding import check_folder

QUESTIONS = (("id", "topic", "local", "english"), ("q01", "Food", "Ka fir?", "What?"), ("q02", "Food", "Ŋu?", "Who?"))
ANSWERS = (("id", "votes", "local", "english"), ("q01", "3", "tarunak", "bread"), ("q02", "4", "ŋûra", "mother"))


def test_an_unknown_language_goes_from_files_to_a_report(tmp_path: Path) -> None:
    card = CARD.replace("language: am", "language: qaa-x-mine").replace("culture: Ethiopia", "culture: Nowhere")
    place = folder_of(tmp_path, questions=QUESTIONS, answers=ANSWERS, card=card)
    (place / "prompts.csv").write_text("id,english,local\ninst-4,{q},{q}\n", encoding="utf-8")
    (note,) = [one for one in check_folder(place).report.findings if one.column == "language"]
    assert (note.severity, note.message[:25]) == ("note", "Kapwa has no rules for qa")
    task = kapwa.load_task("blend/saq", data=place, variant=["local/inst-4"])
    texts = zip(task.items(), ("Velu tarunak.", "Mosi."), strict=True)
    rows = [{"item_id": item.id, "text": text} for item, text in texts]
    pl.DataFrame(rows).write_ndjson(tmp_path / "answers.jsonl")
    model = kapwa.load_model(f"replay:{tmp_path / 'answers.jsonl'}")
    run = kapwa.evaluate(task, model, out=tmp_path / "runs", progress=False)
    assert run.scores.filter(metric="sem_b")["value"].to_list() == [1.0, 0.0]
    assert "no_rules=qaa" in run.manifest["signatures"]["sem_b"]
    assert "Unicode folding (no rules, unreviewed)" in run.table("tools")["tool"].to_list()
    CliRunner().invoke(app, ["report", str(run.path), "--output", str(tmp_path / "page.html")])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Kapwa has no rules for qaa: replies" in page
    assert "Kapwa knows no words for refusals in qaa" in page


def test_kapwa_languages_says_what_judges_any_language() -> None:
    done = CliRunner().invoke(app, ["languages", "sv", "qaa-x-mine"])
    assert done.exit_code == 0
    assert " ".join(done.output.split()).count("unreviewed") == 2

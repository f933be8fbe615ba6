"""What ``kapwa suite guess`` prints is the text of a mapping, to be kept as it is."""

import json
from pathlib import Path

import yaml
from typer.testing import CliRunner

from kapwa.cli.main import app


def test_a_guess_that_is_kept_from_the_terminal_is_yaml_however_long_its_lines(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "Tanong,Larawan,A,B,Sagot,Bansa\nAno ito?,p1.jpg,adobo,sinigang,A,Pilipinas\n", encoding="utf-8"
    )
    done = CliRunner().invoke(app, ["suite", "guess", str(tmp_path / "t.csv")])
    assert done.exit_code == 0
    assert any(len(line) > 120 for line in done.stdout.splitlines())
    assert yaml.safe_load(done.stdout)["columns"]["question"] == "Tanong"


def test_options_in_lists_of_texts_and_labels_are_options_and_their_letters_no_topic(tmp_path: Path) -> None:
    rows = [
        {
            "question": f"What is eaten at feast {n}?",
            "choices": {"text": [f"rice {n}", "bread", "maize"], "label": ["A", "B", "C"]},
            "answerKey": "ABC"[n % 3],
            "country": "Kenya",
        }
        for n in range(6)
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = CliRunner().invoke(app, ["suite", "guess", str(tmp_path / "t.jsonl")])
    guessed = yaml.safe_load(done.stdout)
    assert (guessed["form"], guessed["answer_is"]) == ("blend/mcq", "letter")
    named = {"question": "question", "options": "choices.text", "answer": "answerKey", "country": "country"}
    assert guessed["columns"] == named
    (tmp_path / "mapping.yaml").write_text(done.stdout, encoding="utf-8")
    assert CliRunner().invoke(app, ["data", "check", str(tmp_path)]).exit_code == 0

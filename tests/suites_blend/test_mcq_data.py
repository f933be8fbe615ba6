"""Reading multiple-choice questions: built folders, the released file in its forms, and bad files."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from releasewriter import write_rows as write_csv

from kapwa.errors import DataError, UsageError
from kapwa.suites.blend.guessing import Guessed
from kapwa.suites.blend.mcq_data import (
    MCQ_COLUMNS,
    NO_TOPIC,
    RELEASED_COLUMNS,
    ChoiceQuestion,
    is_choice_data,
    read_mcq,
)

PROMPT = (
    "What do people drink in Testland? Without any explanation, choose only one from the given alphabet "
    'choices(e.g., A, B, C). Provide as JSON format: {"answer_choice":""}\n\nA. coffee\nB. juice\nC. tea\nD. water\n\n'
    "Answer:"
)


def built_row(**changes: str) -> dict[str, str]:
    row = dict.fromkeys(MCQ_COLUMNS, "x") | {
        "id": "Testland/q-1/1",
        "country": "Testland",
        "question_id": "q-1",
        "topic": "Food",
        "question": "What do people drink?",
        "answer": "C",
        "variant": "1",
    }
    for letter, text in zip("ABCD", ("Coffee", "'=Juice", "Tea", "Water"), strict=True):
        row[f"option_{letter}"], row[f"culture_{letter}"] = text, f"Land {letter}"
    return row | changes


def released_row(**changes: Any) -> dict[str, Any]:
    row = {
        "MCQID": "q-1_7",
        "ID": "q-1",
        "country": "Testland",
        "prompt": PROMPT,
        "choices": json.dumps({"A": "coffee", "B": "juice", "C": "tea", "D": "water"}, indent=4),
        "choice_countries": json.dumps({"A": "Otherland", "B": "dummy", "C": "Testland", "D": "Thirdland"}),
        "answer_idx": "C",
    }
    return row | changes


def test_a_built_folder(tmp_path: Path) -> None:
    write_csv(tmp_path / "mcq" / "mcq.csv", [built_row(), built_row(id="Testland/q-1/2", answer="A", topic="")])
    (tmp_path / "mcq" / "card.yaml").write_text("licence: CC0\nillustrative: true\n")
    questions, source = read_mcq(tmp_path / "mcq")
    assert questions[0] == ChoiceQuestion(
        "Testland/q-1/1",
        "Testland",
        "q-1",
        "Food",
        "What do people drink?",
        ("Coffee", "=Juice", "Tea", "Water"),
        ("Land A", "Land B", "Land C", "Land D"),
        "C",
    )
    assert questions[1].topic == NO_TOPIC
    assert (source.name, source.card["licence"], source.illustrative) == ("mcq", "CC0", True)
    assert read_mcq(tmp_path / "mcq" / "mcq.csv")[0] == questions


@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "json lines", "parquet", "dicts"])
def test_the_released_file_in_its_forms(tmp_path: Path, form: str) -> None:
    rows = [released_row(), released_row(MCQID="q-1_8", answer_idx="A")]
    if form == "csv":
        path = write_csv(tmp_path / "mc_questions_file.csv", rows)
    elif form == "json":
        (path := tmp_path / "mc_questions_file.json").write_text(json.dumps(rows))
    elif form == "dicts":
        whole = [r | {c: json.loads(r[c]) for c in ("choices", "choice_countries")} for r in rows]
        (path := tmp_path / "mc_questions_file.json").write_text(json.dumps(whole))
    elif form == "parquet":
        pl.DataFrame(rows).write_parquet(path := tmp_path / "test.parquet")
    else:
        name = "mc_questions_file.jsonl" if form == "jsonl" else "mc_questions_file.json"
        (path := tmp_path / name).write_text("\n".join(map(json.dumps, rows)))
    questions, source = read_mcq(path)
    one = questions[0]
    assert (one.id, one.country, one.question_id, one.topic) == ("Testland/q-1/7", "Testland", "q-1", NO_TOPIC)
    assert one.question == "What do people drink in Testland?"
    assert one.options == ("coffee", "juice", "tea", "water")
    assert one.cultures == ("Otherland", "dummy", "Testland", "Thirdland")
    assert (one.answer, one.prompt, questions[1].answer) == ("C", PROMPT, "A")
    assert source.card["licence"] == "CC-BY-SA-4.0"


@pytest.mark.parametrize("place", ["evaluation/mc_data/mc_questions_file.csv", "data/mc_questions_hf/mc_questions.csv"])
def test_a_folder_that_holds_the_released_file_somewhere(tmp_path: Path, place: str) -> None:
    write_csv(tmp_path / place, [released_row()])
    assert len(read_mcq(tmp_path)[0]) == 1
    assert is_choice_data(tmp_path)


def test_the_digest_follows_the_content(tmp_path: Path) -> None:
    first = read_mcq(write_csv(tmp_path / "a" / "mcq.csv", [built_row()]))[1].digest
    assert read_mcq(write_csv(tmp_path / "b" / "mcq.csv", [built_row()]))[1].digest == first
    assert read_mcq(write_csv(tmp_path / "b" / "mcq.csv", [built_row(answer="A")]))[1].digest != first


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (built_row(answer="E"), "column 'answer': 'E' is not the letter of an option"),
        (built_row(option_B=" "), "row 2, column 'option_B': is empty"),
        (built_row(option_B="coffee"), "'Coffee' appears twice"),
        (released_row(choices="A: tea"), "column 'choices': is not JSON"),
        (released_row(choices="[1]"), "column 'choices': is not a set of lettered texts"),
        (released_row(choices='{"A": "tea", "C": "water"}'), "letters its options A, C"),
        (released_row(choices='{"A": "tea"}'), "letters its options A"),
        (released_row(choices='{"A": "tea", "B": ""}'), "not a set of lettered texts"),
        (released_row(answer_idx="-1"), "column 'answer_idx': '-1' is not the letter of an option"),
        (released_row(prompt=""), "column 'prompt': is empty"),
    ],
)
def test_bad_cells(tmp_path: Path, row: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=re.escape(words)):
        read_mcq(write_csv(tmp_path / "mcq.csv", [row]))


def test_repeated_ids_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="already the id of row 2"):
        read_mcq(write_csv(tmp_path / "mcq.csv", [built_row(), built_row()]))


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    row = built_row()
    row["optionB"] = row.pop("option_B")
    with pytest.raises(DataError, match=r"(?s)column 'option_B': is missing.*optionB") as caught:
        read_mcq(write_csv(tmp_path / "mcq.csv", [row]))
    assert RELEASED_COLUMNS[0] in str(caught.value)
    assert is_choice_data(tmp_path)  # so that a check names the column, and does not pass the table over


def test_places_without_questions(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file, folder or data set"):
        read_mcq(tmp_path / "nowhere")
    with pytest.raises(DataError, match="holds no multiple-choice questions"):
        read_mcq(tmp_path)
    (tmp_path / "mc_questions_file.json").write_text("{")
    with pytest.raises(DataError, match="is not valid JSON"):
        read_mcq(tmp_path)
    (tmp_path / "mc_questions_file.json").write_text("[]")
    with pytest.raises(DataError, match="holds no rows"):
        read_mcq(tmp_path)
    assert not is_choice_data(tmp_path)


def test_a_bad_card(tmp_path: Path) -> None:
    write_csv(tmp_path / "mcq.csv", [built_row()])
    (tmp_path / "card.yaml").write_text("a: [")
    with pytest.raises(DataError, match=r"card\.yaml.*not valid YAML"):
        read_mcq(tmp_path)
    (tmp_path / "card.yaml").write_text("just words")
    with pytest.raises(DataError, match="not a card"):
        read_mcq(tmp_path)


def test_the_name_of_a_column_adds_nothing_to_a_guess() -> None:
    text = Guessed({"form": "blend/saq"}, {}, ["zz\nform: blend/mcq"], []).as_yaml()
    assert yaml.safe_load(text) == {"form": "blend/saq"}


@pytest.mark.parametrize("column", ["id", "topic", "question", "option_A", "option_C", "culture_A"])
def test_a_list_where_a_text_belongs_is_refused(tmp_path: Path, column: str) -> None:
    (tmp_path / "mcq.jsonl").write_text(json.dumps(built_row() | {column: ["a", "b"]}), encoding="utf-8")
    with pytest.raises(DataError, match=rf"row 1, column '{column}': is a list, but one text is needed\.$"):
        read_mcq(tmp_path)


@pytest.mark.parametrize(("data", "remedy"), [("sample", "--data sample -o mcq"), ("sample:us", "Other cultures")])
def test_a_sample_pack_is_named_as_the_user_named_it(data: str, remedy: str) -> None:
    with pytest.raises(UsageError, match=f"^{data} holds people's answers") as refused:
        read_mcq(data)
    assert remedy in str(refused.value.hint)
    assert "packs" not in str(refused.value)

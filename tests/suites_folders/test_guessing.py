"""``kapwa suite guess``: a first draft of a mapping, held against those that were written by hand."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import kapwa
from kapwa.errors import UsageError
from kapwa.suites.blend.guessing import guess_mapping
from published_tables import MAPPINGS


def tables(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in (".csv", ".tsv", ".json", ".jsonl"))


def asked(folder: Path) -> list[tuple[Any, ...]]:
    form = yaml.safe_load((folder / "mapping.yaml").read_text(encoding="utf-8"))["form"]
    items = kapwa.load_task(form, data=folder).items()
    if form == "blend/saq":
        return [(item.culture, item.fields["question"], item.fields["answers"]) for item in items]
    right = [item.fields["options"][item.fields["letters"].index(item.fields["answer"])] for item in items]
    return [
        (item.culture.casefold(), item.fields["question"], sorted(item.fields["options"]), text)
        for item, text in zip(items, right, strict=True)
    ]


@pytest.mark.parametrize(
    "name", ["arabculture", "culturalbench-easy", "normad", "semeval-2026-task-7-choice", "semeval-2026-task-7-short"]
)
def test_a_guess_asks_what_the_mapping_asks(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    shutil.copytree(MAPPINGS / name, folder)
    by_hand = asked(folder)
    (folder / "mapping.yaml").write_text(guess_mapping(tables(folder)).as_yaml(), encoding="utf-8")
    assert asked(folder) == by_hand


def test_a_fault_among_few_letters_makes_them_no_texts(tmp_path: Path) -> None:
    """Of four rows one names no option: the others are letters all the same, and a check names the fault alone."""
    rows = [("1", "A"), ("2", "B"), ("3", "A"), ("4", "E")]
    lines = [f"{name},Kenya,Which is number {name}?,ugali,fish,bread,rice,{answer}" for name, answer in rows]
    table = tmp_path / "quiz.csv"
    table.write_text("\n".join(["id,culture,question,a,b,c,d,answer", *lines, ""]), encoding="utf-8")
    guessed = guess_mapping([table])
    assert "answer_is: letter  # most of its cells are letters of options" in guessed.as_yaml()
    assert any("no letter of an option" in sentence for sentence in guessed.unsure)
    (tmp_path / "mapping.yaml").write_text(guessed.as_yaml(), encoding="utf-8")
    errors = [each for each in kapwa.check_data(tmp_path).findings if each.severity == "error"]
    assert [(each.row, each.column) for each in errors] == [(5, "answer")]


def test_what_cannot_be_told_is_said() -> None:
    of_exams = guess_mapping(tables(MAPPINGS / "include"))
    assert any("codes of languages" in sentence for sentence in of_exams.unsure)
    by_language = guess_mapping(tables(MAPPINGS / "milu")[:1])
    letters = {f"option{place}": letter for place, letter in enumerate("ABCD", start=1)}
    assert by_language.fields["values"] == {"answer": letters}
    assert any("whose culture" in sentence for sentence in by_language.unsure)
    assert by_language.left_out == ["subject"]


def test_each_column_has_its_reason() -> None:
    guessed = guess_mapping(tables(MAPPINGS / "semeval-2026-task-7-choice"))
    text = guessed.as_yaml()
    assert "locale: lang_reg  # by what its cells hold" in text
    assert "question: question  # by its name" in text
    assert yaml.safe_load(text) == guessed.fields


def test_a_table_without_questions_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    with pytest.raises(UsageError, match="No column looks like the question"):
        guess_mapping([file])


def test_tables_of_two_kinds_are_refused(tmp_path: Path) -> None:
    files = [tmp_path / "t.csv", tmp_path / "u.csv"]
    for file, header in zip(files, ("question,answer", "question,key"), strict=True):
        file.write_text(f"{header}\nWhat is it?,rice\n", encoding="utf-8")
    with pytest.raises(UsageError, match="different columns"):
        guess_mapping(files)


def test_tables_of_several_folders_are_refused() -> None:
    with pytest.raises(UsageError, match="several folders"):
        guess_mapping(tables(MAPPINGS / "milu"))


def test_the_command_writes_a_mapping_once(
    cli: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    shutil.copytree(MAPPINGS / "culturalbench-easy", tmp_path / "easy")
    (tmp_path / "easy" / "mapping.yaml").unlink()
    command = ("suite", "guess", "easy/CulturalBench-Easy.csv", "-o", "easy/mapping.yaml")
    written = cli(*command)
    assert written.returncode == 0, written.stderr
    assert "Not used: data_idx" in (tmp_path / "easy" / "mapping.yaml").read_text(encoding="utf-8")
    again = cli(*command)
    assert again.returncode == 2
    assert "already exists" in again.stderr
    assert cli("data", "check", "easy").returncode == 0
    assert cli("suite", "guess", "none.csv").returncode == 2

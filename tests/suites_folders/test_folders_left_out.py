"""What the answer form can do without, and the check of multiple choice row by row."""

import multiprocessing
from pathlib import Path

import pytest
from first_folder import CARD

import kapwa
from kapwa.errors import DataError
from kapwa.suites.blend.mcq_data import MCQ_COLUMNS
from kapwa.suites.folders.adding import check_folder
from kapwa.user_suites import Registered, register, registered

MCQ = ",".join(MCQ_COLUMNS) + "\n"


def pack(folder: Path, questions: str, answers: str, language: str = "ar") -> Path:
    folder.mkdir()
    card = CARD.replace("culture: Ethiopia", "culture: Kenya").replace("language: am", f"language: {language}")
    (folder / "card.yaml").write_text(card)
    (folder / "questions.csv").write_text(questions)
    (folder / "answers.csv").write_text(answers)
    (folder / "prompts.csv").write_text("id,english,local\ninst-4,Q: {q},L: {q}\n")
    return folder


def test_without_an_english_column_questions_are_asked_in_their_language_alone(tmp_path: Path) -> None:
    place = pack(tmp_path / "p", "id,topic,local\nq1,Food,ماذا؟\n", "id,votes,local\nq1,3,شاي\n")
    assert [item.variant for item in kapwa.load_task("blend/saq", data=place).items()] == ["local/inst-4"]
    assert not any("English" in finding.message for finding in check_folder(place).report.findings)


def test_an_empty_cell_of_an_english_column_is_still_an_error(tmp_path: Path) -> None:
    place = pack(tmp_path / "p", "id,topic,local,english\nq1,Food,ماذا؟,\n", "id,votes,local\nq1,3,شاي\n")
    with pytest.raises(DataError, match=r"row 2, column 'english'.* is empty"):
        kapwa.load_task("blend/saq", data=place)


@pytest.mark.parametrize(("votes", "ceilings"), [(True, True), (False, False)])
def test_without_votes_there_is_no_figure_for_people(votes: bool, ceilings: bool, tmp_path: Path) -> None:
    answers = "id,votes,local\nq1,3,tea\nq1,2,milk\n" if votes else "id,local\nq1,tea\nq1,milk\n"
    place = pack(tmp_path / "p", "id,topic,english\nq1,Food,What?\n", answers, language="en")
    task = kapwa.load_task("blend/saq", data=place)
    assert any(floor.kind == "ceiling" for floor in task.floors(task.items())) is ceilings


def test_a_misspelt_column_is_not_taken_for_one_left_out(tmp_path: Path) -> None:
    place = pack(tmp_path / "p", "id,topic,english\nq1,Food,What?\n", "id,vote,local\nq1,3,tea\n", language="en")
    (error,) = check_folder(place).errors
    assert error.column == "vote"
    assert "Did you mean 'votes'?" in str(error)


def test_multiple_choice_is_checked_row_by_row(tmp_path: Path) -> None:
    rows = ["a,Kenya,q1,Food,Which?,w,x,y,z,B,,Kenya,,,0", "b,Kenya,q2,Food,Which?,w,x,,z,B,,,,,0"]
    rows += ["c,Kenya,q3,Food,Which?,w,x,y,z,E,,,,,0", "a,Kenya,q4,Food,Which?,w,x,y,z,A,,,,,0"]
    (tmp_path / "mcq.csv").write_text(MCQ + "\n".join(rows) + "\n")
    report = kapwa.api.check_data(tmp_path)
    assert [(one.row, one.column) for one in report.findings] == [(3, "option_C"), (4, "answer"), (5, "id")]
    checked = check_folder(tmp_path)
    assert (checked.form, checked.tasks) == ("blend", ("mcq",))


def _register(number: int) -> None:
    register(Registered(f"suite-{number}", "eecc", Path(f"/data/{number}"), ("qa",)))


def test_names_given_at_once_are_all_kept() -> None:
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.map(_register, range(12))
    assert set(registered()) == {f"suite-{number}" for number in range(12)}

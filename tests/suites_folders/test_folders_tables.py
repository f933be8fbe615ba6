"""Tables as spreadsheets save them: what is read all the same, and what is named with its cell."""

import datetime
from pathlib import Path

import openpyxl
import pytest
from first_folder import ANSWERS, QUESTIONS, as_xlsx, edited, folder_of, placed, workbooks
from typer.testing import CliRunner

from kapwa.cli.main import app
from kapwa.suites.folders.adding import check_folder, new_suite


def test_a_remark_beside_the_table_is_named_by_its_cell(tmp_path: Path) -> None:
    place = workbooks(tmp_path)
    book = openpyxl.load_workbook(place / "questions.xlsx")
    book.active["F4"] = "ask Abebe"
    book.save(place / "questions.xlsx")
    (error,) = check_folder(place).errors
    assert (error.row, error.column) == (4, "F")
    assert "F4 holds a value outside the table's columns. Remove it, or give its column a name" in error.message


def test_blank_rows_are_skipped_and_rows_keep_their_numbers(tmp_path: Path) -> None:
    questions = [*QUESTIONS[:2], ("", "", "", ""), ("", " ", "", ""), *edited(QUESTIONS, 3, "local", "")[2:]]
    place = folder_of(tmp_path, questions=questions)
    assert placed(check_folder(place).report.findings) == [("questions.csv", 5, "local")]


def test_cells_that_are_times_and_dates(tmp_path: Path) -> None:
    date = ("q04", "Holidays", "መቼ ነው? (MM/DD)", "When is it? (MM/DD)")
    cells = [("q02", 1, datetime.time(2), "02:00"), ("q02", 1, datetime.timedelta(hours=24), "24:00")]
    answers = [*ANSWERS[:3], *cells, ("q04", 5, datetime.date(2026, 4, 29), "04/29"), ANSWERS[3]]
    findings = check_folder(workbooks(tmp_path, questions=[*QUESTIONS, date], answers=answers)).report.findings
    formats = [one for one in findings if "which the question asks for" in one.message]
    assert placed(formats, "warning") == [("answers.xlsx", 6, "local")]
    assert "'2026-04-29' is not MM/DD" in formats[0].message
    assert "format the column as text" in formats[0].message


def test_a_readme_as_the_first_sheet_is_named(tmp_path: Path) -> None:
    place = workbooks(tmp_path)
    book = openpyxl.load_workbook(place / "questions.xlsx")
    book.create_sheet("Read me", 0)["A1"] = "How to fill this in"
    book.save(place / "questions.xlsx")
    (error,) = check_folder(place).errors
    assert "that one, 'Read me', holds no table. Move the sheet 'Sheet' to the front" in error.message


def test_a_broken_workbook_has_a_remedy_and_no_figures(tmp_path: Path) -> None:
    place = workbooks(tmp_path)
    (place / "questions.xlsx").write_bytes(b"PK\x03\x04 cut")
    checked = check_folder(place)
    assert "save it anew" in checked.errors[0].message
    assert dict(checked.report.counts) == {}
    shown = CliRunner().invoke(app, ["suite", "add", str(place)]).output
    assert "valid (code)" not in shown


@pytest.mark.parametrize("form", ["kalahi", "eecc"])
def test_no_figures_of_a_table_that_cannot_be_read(form: str, tmp_path: Path) -> None:
    new_suite(form, tmp_path / "mine")
    for table in (tmp_path / "mine").glob("*.csv"):
        table.write_bytes(b"\xff\xfe")
    report = check_folder(tmp_path / "mine").report
    assert dict(report.counts) == {}


def test_a_table_of_choices_that_cannot_be_read_is_no_folder_of_nothing(tmp_path: Path) -> None:
    header = "id,country,question_id,topic,question,option_A,option_B,option_C,option_D,answer,culture_A,culture_B"
    lines = [[*header.split(","), "culture_C", "culture_D", "variant"]]
    lines += [["e/q/0", "Ethiopia", "q", "Food", "What?", "bread", "rice", "maize", "oats", "A", "", "", "", "", "0"]]
    (tmp_path / "mine").mkdir()
    as_xlsx(tmp_path / "mine" / "mcq.xlsx", lines)
    assert check_folder(tmp_path / "mine").tasks == ("mcq",)
    assert check_folder(tmp_path / "mine").errors == []
    as_xlsx(tmp_path / "mine" / "mcq.xlsx", [("Our choices",), *lines])
    (error,) = check_folder(tmp_path / "mine").errors
    assert "the header seems to be in row 2" in error.message


def test_answers_parted_by_line_breaks_are_named(tmp_path: Path) -> None:
    place = folder_of(tmp_path, answers=[*ANSWERS[:3], ("q03", "5", "እናት\nአባት", "mother")])
    (warning,) = [one for one in check_folder(place).report.findings if one.severity == "warning"]
    assert (Path(warning.path).name, warning.row, warning.column) == ("answers.csv", 4, "local")
    assert "holds '\\n': answers are separated by ';' only" in warning.message

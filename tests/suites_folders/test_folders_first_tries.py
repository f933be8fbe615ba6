"""What people who make their first folder run into: each fault is named once, where it is, with its remedy."""

from __future__ import annotations

import csv
import datetime
import io
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from typer.testing import CliRunner

from kapwa.cli.main import app
from kapwa.errors import DataError, UsageError
from kapwa.suites.base import Finding
from kapwa.suites.folders import add_suite, check_folder, new_suite
from kapwa.suites.reading.tables import peek_header, read_records

CARD = """culture: Ethiopia
language: am
title: Amharic questions
version: "1.0"
licence: CC-BY-4.0
authors:
  - A
collected: By asking.
consent: Given.
reviewed_by_native_speakers: true
limits:
  - Few.
citation: A (2026).
"""
QUESTIONS = (
    ("id", "topic", "local", "english"),
    ("q01", "Food", "ለቁርስ ምን ትበላለህ?", "What do you eat for breakfast?"),
    ("q02", "Work life", "ገበያው ስንት ሰዓት ይከፈታል? (HH:MM)", "When does the market open? (HH:MM)"),
    ("q03", "Family", "ማን ያበስላል?", "Who cooks?"),
)
ANSWERS = (
    ("id", "votes", "local", "english"),
    ("q01", "3", "ፍርፍር", "firfir"),
    ("q02", "4", "02:00", "02:00"),
    ("q03", "5", "እናት", "mother"),
)
SITUATION = {
    "id": "s1",
    "cluster": "c1",
    "category": "ethics",
    "topic": "friendship",
    "user": "ተማሪ ነኝ።",
    "context": "ጓደኛዬ ታመመ።",
    "instruction": "ምን ላድርግ?",
    "best": "ሂድ ጠይቀው።",
    "relevant": "ሂድ ጠይቀው።;ደውልለት።;ጸልይለት።",
    "irrelevant": "ተወው።;እርሳው።;ዝም በል።",
}

Lines = Sequence[Sequence[Any]]


def as_csv(lines: Lines, delimiter: str = ",") -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows(lines)
    return out.getvalue()


def as_xlsx(path: Path, lines: Lines, title: str = "Sheet") -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    book.active.title = title
    for line in lines:
        book.active.append(list(line))
    book.save(path)
    return book


def folder_of(tmp_path: Path, *, questions: Lines = QUESTIONS, answers: Lines = ANSWERS, card: str = CARD) -> Path:
    place = tmp_path / "mine"
    place.mkdir()
    if card:
        (place / "card.yaml").write_text(card, encoding="utf-8")
    (place / "questions.csv").write_text(as_csv(questions), encoding="utf-8", newline="")
    (place / "answers.csv").write_text(as_csv(answers), encoding="utf-8", newline="")
    return place


def workbooks(tmp_path: Path, *, questions: Lines = QUESTIONS, answers: Lines = ANSWERS) -> Path:
    place = folder_of(tmp_path)
    for name, lines in (("questions", questions), ("answers", answers)):
        (place / f"{name}.csv").unlink()
        as_xlsx(place / f"{name}.xlsx", lines)
    return place


def placed(findings: Sequence[Finding], severity: str = "error") -> list[tuple[str, int | None, str | None]]:
    return [(Path(one.path).name, one.row, one.column) for one in findings if one.severity == severity]


def edited(lines: Lines, row: int, column: str, cell: Any) -> list[list[Any]]:
    copy = [list(line) for line in lines]
    copy[row - 1][copy[0].index(column)] = cell
    return copy


def lost(cell: str) -> str:
    """What a spreadsheet makes of Amharic when it saves plain CSV."""
    return cell.encode("cp1252", "replace").decode("cp1252")


def all_lost(lines: Lines) -> list[list[str]]:
    return [[lost(cell) for cell in line] for line in lines]


def test_a_sound_folder_is_clean(tmp_path: Path) -> None:
    report = check_folder(folder_of(tmp_path)).report
    assert [one for one in report.findings if one.severity != "note"] == []


def test_a_workbook_says_the_same_as_a_csv(tmp_path: Path) -> None:
    report = check_folder(workbooks(tmp_path)).report
    assert [one for one in report.findings if one.severity != "note"] == []


def test_letters_lost_to_question_marks_stop_the_adding(tmp_path: Path) -> None:
    place = folder_of(tmp_path, questions=all_lost(QUESTIONS), answers=all_lost(ANSWERS))
    findings = check_folder(place).report.findings
    assert placed(findings) == [("questions.csv", 2, "local"), ("answers.csv", 2, "local")]
    assert "3 of 3 cells" in findings[0].message
    assert "CSV UTF-8" in findings[0].message
    with pytest.raises(DataError, match="where its letters were"):
        add_suite(place)


def test_lost_letters_in_situations_are_one_error_a_column(tmp_path: Path) -> None:
    place = tmp_path / "mine"
    place.mkdir()
    (place / "card.yaml").write_text(CARD, encoding="utf-8")
    lines = [list(SITUATION), list(SITUATION.values())]
    (place / "situations.csv").write_text(as_csv(lines), encoding="utf-8")
    assert check_folder(place).errors == []
    (place / "situations.csv").write_text(as_csv(all_lost(lines)), encoding="utf-8")
    columns = [column for _, _, column in placed(check_folder(place).report.findings)]
    assert columns == ["user", "context", "instruction", "best", "relevant", "irrelevant"]


def test_lost_letters_of_prompts_for_readers_are_an_error(tmp_path: Path) -> None:
    place = tmp_path / "mine"
    new_suite("eecc", place)
    (place / "templates.csv").write_text("template,language\n{concept} ? ???? ?? {identity}\n", encoding="utf-8")
    (place / "templates.csv").write_text("template,language\n{concept} ???? {identity} ??,am\n", encoding="utf-8")
    (place / "concepts.csv").write_text("topic,concept,text_am\nfood,bread,??\n", encoding="utf-8")
    found = placed(check_folder(place).report.findings)
    assert ("templates.csv", 2, "template") in found
    assert ("concepts.csv", 2, "text_am") in found


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("??? ?? ????", "holds '?' where letters should be"),
        ("?? Addis ???", "holds '?' where letters should be"),
        ("Man yabeslal?", "holds no letter of the Ethiopic script"),
        ("ማን ያበ?ላል?", "'?' stands inside a word ('በ?ላ')"),
    ],
    ids=["marks alone", "marks and a name", "in Latin letters", "one letter"],
)
def test_a_single_odd_cell_is_a_warning(cell: str, said: str, tmp_path: Path) -> None:
    place = folder_of(tmp_path, questions=edited(QUESTIONS, 4, "local", cell))
    (warning,) = [one for one in check_folder(place).report.findings if one.severity == "warning"]
    assert (Path(warning.path).name, warning.row, warning.column) == ("questions.csv", 4, "local")
    assert said in warning.message


def test_a_language_that_cannot_be_matched_is_found_when_adding(tmp_path: Path) -> None:
    place = folder_of(tmp_path, card=CARD.replace("language: am", "language: ti"))
    (error,) = check_folder(place).errors
    assert "replies in the language 'ti' cannot be matched, which stops blend/saq" in error.message
    with pytest.raises(DataError, match="'ti' cannot be matched"):
        add_suite(place)


def test_it_is_a_warning_where_other_tasks_or_cultures_work(tmp_path: Path) -> None:
    place = folder_of(tmp_path, card=CARD.replace("language: am", "language: amh"))
    assert "Write 'am' for it" in check_folder(place).errors[0].message
    options = ("A,B,C,D", "bread", "rice", "maize", "oats")
    header = "id,country,question_id,topic,question,option_A,option_B,option_C,option_D,answer,culture_A,culture_B,"
    row = f"Ethiopia/q/0,Ethiopia,q,Food,What?,{','.join(options[1:])},A,,,,,0"
    (place / "mcq.csv").write_text(f"{header}culture_C,culture_D,variant\n{row}\n")
    checked = check_folder(place)
    assert (checked.tasks, checked.errors) == (("saq", "mcq"), [])
    assert any("stops blend/saq" in one.message and one.severity == "warning" for one in checked.report.findings)


def test_empty_coloured_cells_far_to_the_right_are_ignored(tmp_path: Path) -> None:
    place = workbooks(tmp_path)
    book = openpyxl.load_workbook(place / "questions.xlsx")
    for cell in ("H1", "I3", "K40"):
        book.active[cell].fill = openpyxl.styles.PatternFill("solid", fgColor="FFFF00")
    book.save(place / "questions.xlsx")
    assert check_folder(place).errors == []


def test_a_remark_beside_the_table_is_named_by_its_cell(tmp_path: Path) -> None:
    place = workbooks(tmp_path)
    book = openpyxl.load_workbook(place / "questions.xlsx")
    book.active["F4"] = "ask Abebe"
    book.save(place / "questions.xlsx")
    (error,) = check_folder(place).errors
    assert (error.row, error.column) == (4, "F")
    assert "F4 holds a value outside the table's columns. Remove it, or give its column a name" in error.message


def test_a_title_above_the_header_is_named(tmp_path: Path) -> None:
    place = workbooks(tmp_path, questions=[("Our questions", None, None, None), *QUESTIONS])
    book = openpyxl.load_workbook(place / "questions.xlsx")
    book.active.merge_cells("A1:D1")
    book.save(place / "questions.xlsx")
    (error,) = check_folder(place).errors
    assert error.row == 1
    assert "the header seems to be in row 2. Remove row 1" in error.message


@pytest.mark.parametrize("title", ["Our questions,,,\n", "Our questions\n"], ids=["padded", "alone"])
@pytest.mark.parametrize("delimiter", [",", ";"], ids=["comma", "semicolon"])
def test_a_title_in_a_csv_is_named(title: str, delimiter: str, tmp_path: Path) -> None:
    place = folder_of(tmp_path)
    text = title.replace(",", delimiter) + as_csv(QUESTIONS, delimiter)
    (place / "questions.csv").write_text(text, encoding="utf-8", newline="")
    (error,) = check_folder(place).errors
    assert "the header seems to be in row 2" in error.message


def test_findings_about_answers_name_their_row_and_column(tmp_path: Path) -> None:
    answers = [*ANSWERS[:2], ("q02", "1", "seven", ""), ("q02", "4", "02:00", "02:00"), ANSWERS[3]]
    findings = check_folder(folder_of(tmp_path, answers=answers)).report.findings
    said = {(Path(one.path).name, one.row, one.column): one.message for one in findings if one.severity == "warning"}
    assert said == {
        ("answers.csv", 3, "local"): "the answer 'seven' is not HH:MM, which the question asks for",
        ("answers.csv", 3, "english"): "row 3 ('seven') has no English: it counts only in the local language",
    }


def test_a_bad_question_is_not_reported_again_for_its_answers(tmp_path: Path) -> None:
    place = folder_of(tmp_path, questions=edited(QUESTIONS, 3, "local", ""))
    assert placed(check_folder(place).report.findings) == [("questions.csv", 3, "local")]


def test_a_folder_without_a_card_has_one_error(tmp_path: Path) -> None:
    (error,) = check_folder(folder_of(tmp_path, card="")).errors
    assert "Put a card.yaml beside it" in error.message


def test_blank_rows_are_skipped_and_rows_keep_their_numbers(tmp_path: Path) -> None:
    questions = [*QUESTIONS[:2], ("", "", "", ""), ("", " ", "", ""), *edited(QUESTIONS, 3, "local", "")[2:]]
    place = folder_of(tmp_path, questions=questions)
    assert placed(check_folder(place).report.findings) == [("questions.csv", 5, "local")]


@pytest.mark.parametrize("delimiter", [";", "\t"], ids=["semicolon", "tab"])
def test_a_csv_parted_by_other_signs_is_read(delimiter: str, tmp_path: Path) -> None:
    place = folder_of(tmp_path)
    for name, lines in (("questions", QUESTIONS), ("answers", [*ANSWERS, ("q03", "1", "አባት;ወንድም", "father;brother")])):
        (place / f"{name}.csv").write_text(as_csv(lines, delimiter), encoding="utf-8-sig", newline="")
    checked = check_folder(place)
    assert checked.errors == []
    assert checked.report.counts["votes"] == 13
    assert peek_header(place / "questions.csv") == QUESTIONS[0]
    assert read_records(place / "answers.csv").records[-1].cells["local"] == "አባት;ወንድም"


def test_a_separator_that_is_not_read_is_named(tmp_path: Path) -> None:
    place = folder_of(tmp_path)
    (place / "questions.csv").write_text(as_csv(QUESTIONS, "|"), encoding="utf-8")
    (error,) = check_folder(place).errors
    assert "'|'" in error.message


def test_a_ragged_row_names_the_separator(tmp_path: Path) -> None:
    place = folder_of(tmp_path)
    with (place / "questions.csv").open("a", encoding="utf-8") as file:
        file.write("q04,Food,ምን, ለምን?,What\n")
    (error,) = check_folder(place).errors
    assert "(',')" in error.message


def test_cells_that_are_times_and_dates(tmp_path: Path) -> None:
    date = ("q04", "Holidays", "መቼ ነው? (MM/DD)", "When is it? (MM/DD)")
    cells = [("q02", 1, datetime.time(2), "02:00"), ("q02", 1, datetime.timedelta(hours=24), "24:00")]
    answers = [*ANSWERS[:3], *cells, ("q04", 5, datetime.date(2026, 4, 29), "04/29"), ANSWERS[3]]
    findings = check_folder(workbooks(tmp_path, questions=[*QUESTIONS, date], answers=answers)).report.findings
    formats = [one for one in findings if "which the question asks for" in one.message]
    assert placed(formats, "warning") == [("answers.xlsx", 6, "local")]
    assert "'2026-04-29' is not MM/DD" in formats[0].message
    assert "format the column as text" in formats[0].message


def test_a_column_in_capitals_is_one_error_that_says_so(tmp_path: Path) -> None:
    place = folder_of(tmp_path, questions=edited(QUESTIONS, 1, "id", "ID"))
    (error,) = check_folder(place).errors
    assert (error.column, "Did you mean 'id'?" in error.message) == ("ID", True)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Questions.csv", "Rename Questions.csv to questions.csv"),
        ("questions.CSV", "Rename questions.CSV to questions.csv"),
        ("questions.xls", "questions.xls is of a kind that is not read: save it as questions.xlsx"),
        ("questions.ods", "questions.ods is of a kind that is not read"),
    ],
)
@pytest.mark.parametrize("answers", [True, False], ids=["with answers", "alone"])
def test_a_file_of_another_name_or_kind_is_the_reason(answers: bool, name: str, said: str, tmp_path: Path) -> None:
    place = folder_of(tmp_path)
    (place / "questions.csv").rename(place / name)
    if not answers:
        (place / "answers.csv").unlink()
        with pytest.raises(DataError, match=re.escape(said)):
            check_folder(place)
    else:
        assert said in check_folder(place).errors[0].message


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


def test_findings_of_the_card_name_it(tmp_path: Path) -> None:
    card = CARD.replace("speakers: true", "speakers: false").replace("citation: A (2026).\n", "")
    findings = check_folder(folder_of(tmp_path, card=card)).report.findings
    assert placed(findings, "warning") == [("card.yaml", None, "reviewed_by_native_speakers")]
    assert ("card.yaml", None, "citation") in placed(findings, "note")


@pytest.mark.parametrize(("name", "code"), [("Amharic", "am"), ("tigrinya", "ti"), ("Filipino", "fil")])
def test_a_language_by_name_is_answered_with_its_tag(name: str, code: str, tmp_path: Path) -> None:
    (error,) = check_folder(folder_of(tmp_path, card=CARD.replace("language: am", f"language: {name}"))).errors
    assert (error.column, f"Did you mean '{code}'?" in error.message) == ("language", True)


def test_a_name_that_is_taken_can_be_given_on(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        new_suite("eecc", tmp_path / folder)
    add_suite(tmp_path / "one", "ours")
    with pytest.raises(UsageError, match="--replace"):
        add_suite(tmp_path / "two", "ours")


def test_responses_parted_by_line_breaks_are_the_cause_that_is_named(tmp_path: Path) -> None:
    place = tmp_path / "mine"
    place.mkdir()
    (place / "card.yaml").write_text(CARD, encoding="utf-8")
    row = SITUATION | {"relevant": SITUATION["relevant"].replace(";", "\n")}
    (place / "situations.csv").write_text(as_csv([list(row), list(row.values())]), encoding="utf-8", newline="")
    (error,) = check_folder(place).errors
    assert "there is only 1 response in 'relevant'. Separate responses with ';', not with line breaks" in error.message


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "kapwa", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "suite" in done.stdout

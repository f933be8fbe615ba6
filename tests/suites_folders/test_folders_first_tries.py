"""What people who make their first folder run into: each fault is named once, where it is, with its remedy."""

import re
from pathlib import Path

import pytest
from first_folder import ANSWERS, CARD, QUESTIONS, SITUATION, all_lost, as_csv, edited, folder_of, placed

from kapwa.errors import DataError
from kapwa.suites.folders.adding import add_suite, check_folder, new_suite


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
    assert sorted(columns) == ["best", "context", "instruction", "irrelevant", "relevant", "user"]


def test_lost_letters_of_prompts_are_found_around_the_question(tmp_path: Path) -> None:
    place = folder_of(tmp_path)
    prompts = [("id", "english", "local"), ("inst-4", "{q}?", "በአጭሩ መልስ። {q}"), ("pers-3", "Say: {q}", "{q}?")]
    (place / "prompts.csv").write_text(as_csv(prompts), encoding="utf-8")
    assert [one for one in check_folder(place).report.findings if one.severity != "note"] == []
    (place / "prompts.csv").write_text(as_csv(all_lost(prompts)), encoding="utf-8")
    assert placed(check_folder(place).report.findings) == [("prompts.csv", 2, "local")]


def test_lost_letters_of_prompts_for_readers_are_an_error(tmp_path: Path) -> None:
    place = tmp_path / "mine"
    new_suite("eecc", place)
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
        ("ማን ያበ?ላል?", "'?' is inside a word ('በ?ላ')"),
    ],
    ids=["marks alone", "marks and a name", "in Latin letters", "one letter"],
)
def test_a_single_odd_cell_is_a_warning(cell: str, said: str, tmp_path: Path) -> None:
    place = folder_of(tmp_path, questions=edited(QUESTIONS, 4, "local", cell))
    (warning,) = [one for one in check_folder(place).report.findings if one.severity == "warning"]
    assert (Path(warning.path).name, warning.row, warning.column) == ("questions.csv", 4, "local")
    assert said in warning.message


@pytest.mark.parametrize("code", ["amh", "am-ET"])
def test_another_code_of_a_language_that_is_matched_is_sound(code: str, tmp_path: Path) -> None:
    assert check_folder(folder_of(tmp_path, card=CARD.replace("language: am", f"language: {code}"))).errors == []


def test_a_folder_of_which_nothing_is_asked_is_not_added(tmp_path: Path) -> None:
    without_english = [line[:3] for line in QUESTIONS]
    place = folder_of(tmp_path, questions=without_english, answers=[line[:3] for line in ANSWERS])
    (error,) = check_folder(place).errors
    assert "nothing is left to ask, which stops blend/saq. Add prompts in the language" in error.message
    (place / "prompts.csv").write_text("id,english,local\ninst-4,,{q}\n")
    assert check_folder(place).errors == []
    unable = [("no-answer",), ("3",), ("4",), ("3",)]
    lines = [(*line, *own) for line, own in zip(QUESTIONS, unable, strict=True)]
    (place / "questions.csv").write_text(as_csv(lines), encoding="utf-8")
    (finding,) = [one for one in check_folder(place).report.findings if "nothing is left to ask" in one.message]
    assert "too many people could not" in finding.message


def test_findings_about_answers_name_their_row_and_column(tmp_path: Path) -> None:
    answers = [*ANSWERS[:2], ("q02", "1", "seven", ""), ("q02", "4", "02:00", "02:00"), ANSWERS[3]]
    findings = check_folder(folder_of(tmp_path, answers=answers)).report.findings
    said = {(Path(one.path).name, one.row, one.column): one.message for one in findings if one.severity == "warning"}
    assert said == {
        ("answers.csv", 3, "local"): "the answer 'seven' is not HH:MM, which the question asks for",
        ("answers.csv", 3, "english"): "the answer 'seven' has no English: it counts only in the local language",
    }


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Questions.csv", "Rename Questions.csv to questions.csv"),
        ("questions.CSV", "Rename questions.CSV to questions.csv"),
        ("questions.xls", "questions.xls is of a kind that is not read: save it as questions.xlsx"),
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


def test_findings_of_the_card_name_it(tmp_path: Path) -> None:
    card = CARD.replace("speakers: true", "speakers: false").replace("citation: A (2026).\n", "")
    findings = check_folder(folder_of(tmp_path, card=card)).report.findings
    assert placed(findings, "warning") == [("card.yaml", None, None)]
    assert ("card.yaml", None, None) in placed(findings, "note")


@pytest.mark.parametrize(("name", "code"), [("Amharic", "am"), ("tigrinya", "ti"), ("Filipino", "fil")])
def test_a_language_by_name_is_answered_with_its_tag(name: str, code: str, tmp_path: Path) -> None:
    (error,) = check_folder(folder_of(tmp_path, card=CARD.replace("language: am", f"language: {name}"))).errors
    assert (error.column, f"Did you mean '{code}'?" in error.message) == ("language", True)


def test_responses_parted_by_line_breaks_are_the_cause_that_is_named(tmp_path: Path) -> None:
    place = tmp_path / "mine"
    place.mkdir()
    (place / "card.yaml").write_text(CARD, encoding="utf-8")
    row = SITUATION | {"relevant": SITUATION["relevant"].replace(";", "\n")}
    (place / "situations.csv").write_text(as_csv([list(row), list(row.values())]), encoding="utf-8", newline="")
    (error,) = check_folder(place).errors
    assert "there is only 1 response in 'relevant'. Separate responses with ';', not with line breaks" in error.message


def test_a_folder_without_a_card_has_one_error_and_is_counted(tmp_path: Path) -> None:
    checked = check_folder(folder_of(tmp_path, card=""))
    (error,) = checked.errors
    assert "Put a card.yaml beside it" in error.message
    counts = checked.report.counts
    assert (counts["questions"], counts["answer groups"], counts["votes"]) == (3, 3, 12)
    place = folder_of(tmp_path / "english", questions=[(*row[:2], row[3]) for row in QUESTIONS], card="")
    assert len(check_folder(place).errors) == 1

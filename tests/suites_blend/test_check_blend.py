"""The check: every oddity of the released files is listed, and oddities put in on purpose are found."""

import re
from collections import Counter
from pathlib import Path

import pytest
from releasewriter import ENGLISH, entry, write_annotations, write_rows

from kapwa.datasets.findings import CheckReport, Finding
from kapwa.suites.blend.check import check


@pytest.fixture(scope="module")
def report(blend_data: Path) -> CheckReport:
    return check(blend_data)


def having(report: CheckReport, words: str) -> list[Finding]:
    return [finding for finding in report.findings if re.search(words, finding.message)]


def of(folder: Path) -> list[Finding]:
    return list(check(folder).findings)


def test_released_oddities(report: CheckReport) -> None:
    counts = {
        "holds the free text": 161,
        "nobody answered": 277,
        "has no English": 28,
        "is blank: the question": 1,
        "a blank text among": 7,
        "is already in row": 2,
        r"has no \{q\}": 2,
        "is not HH:MM": 32,
        "is not MM/DD": 9,
        "is not a number in digits": 44,
        "and again in answer": 90,
        "another question than in most": 1,
        "says that there is no answer": 15,
    }
    assert {words: len(having(report, words)) for words in counts} == counts
    assert Counter(finding.severity for finding in report.findings)["error"] == 0


def test_findings_name_file_and_line(report: CheckReport, blend_data: Path) -> None:
    odd = having(report, "another question")[0]
    line = Path(odd.path).read_text(encoding="utf-8").split("\n")[(odd.row or 0) - 1]
    assert (Path(odd.path).name, line.strip()) == ("Indonesia_data.json", '"Gu-ch-38": {')
    assert all(finding.row for finding in report.findings if "prompts" not in finding.path)


def test_released_counts(report: CheckReport) -> None:
    wanted = {"countries": 16, "questions": 8000, "answer groups": 28293, "votes": 48299, "without an answer": 277}
    wanted |= {"valid (code)": 7422, "valid (paper)": 6840, "topic Food": 105, "time questions": 13}
    assert {name: report.counts[name] for name in wanted} == wanted
    assert report.counts["Assam"] == "500 questions, 477 valid (code), 459 (paper)"


def test_a_sound_folder_has_no_findings(release: Path) -> None:
    # Only the direct prompt is there.
    (other,) = of(release)
    assert other.severity == "note"
    assert other.message.startswith("2 cultures (South_Korea, Spain) have no prompt 'pers-3', which asks as a person")


@pytest.mark.parametrize(
    ("changes", "said", "severity"),
    [
        ({"annotations": []}, "nobody answered (1 did not know)", "warning"),
        ({"question": "What do people in Spain put on bread?"}, "the local text of 't-1' differs", "warning"),
        ({"en_question": "Other?"}, "the English text of 't-1' differs", "warning"),
        ({"idks": {"idk": 1}}, "'idks' has no 'no-answer'", "warning"),
        ({"more": 1}, "the key 'more' is not one of the form's", "note"),
        ({"annotations": [{"answers": ["a"], "count": 4}]}, "the answer 'a' has no English", "warning"),
        ({"annotations": [{"answers": ["a"], "en_answers": ["b"], "count": 1}]}, "fewer than 5 people", "note"),
        ({"annotations": [{"answers": ["a；b"], "en_answers": ["b"], "count": 4}]}, "holds '；'", "warning"),
        ({"annotations": [{"answers": ["a\u200b"], "en_answers": ["b"], "count": 4}]}, "zero width", "warning"),
    ],
)
def test_planted_oddities(release: Path, changes: dict[str, object], said: str, severity: str) -> None:
    entries = {question_id: entry("Spain", question_id) for question_id in ENGLISH}
    entries["t-1"] |= changes
    write_annotations(release, "Spain", entries)
    found = [finding for finding in of(release) if said in finding.message]
    assert [(finding.severity, finding.row, finding.column or "t-1") for finding in found] == [(severity, 2, "t-1")]


def test_formats_and_repeats(release: Path) -> None:
    entries = {question_id: entry("Spain", question_id) for question_id in ENGLISH}
    entries["t-2"]["annotations"] = [
        {"answers": ["9h"], "en_answers": ["09:00"], "count": 3},
        {"answers": ["9h", "25:00"], "en_answers": ["9:00"], "count": 2},
    ]
    entries["t-3"]["annotations"] = [{"answers": ["two", "٢", "2.5", "1,5"], "en_answers": ["2"], "count": 5}]
    write_annotations(release, "Spain", entries)
    messages = [finding.message for finding in of(release)]
    for said in (
        "the answer '9h' is not HH:MM, which the question asks for",
        "the answer '25:00' is not HH:MM, which the question asks for",
        "'9h' is in answer 1 and again in answer 2",
        "the answer 'two' is not a number in digits, which the question asks for",
        "the answer '1,5' is not a number in digits, which the question asks for",
    ):
        assert said in messages
    assert not any("'٢'" in message or "'2.5'" in message or "'9:00'" in message for message in messages)


def test_countries_asked_different_questions(release: Path) -> None:
    ids = list(ENGLISH)[:2]
    write_annotations(release, "Spain", {question_id: entry("Spain", question_id) for question_id in ids})
    rows = [
        {"ID": i, "Topic": "Food", "Question": entry("Spain", i)["question"], "Translation": "Is it? (MM/DD)"}
        for i in ids
    ]
    write_rows(release / "questions/Spain_questions.csv", rows)
    messages = [finding.message for finding in of(release)]
    assert "Spain was not asked 1 of the 3 questions: t-3" in messages
    assert any(message.startswith("its topic is 'Food', elsewhere 'Family'") for message in messages)
    assert any("elsewhere for time" in message for message in messages)


def test_errors_are_listed_and_reading_goes_on(release: Path) -> None:
    entries = {question_id: entry("Spain", question_id) for question_id in ENGLISH}
    entries["t-1"]["question"] = 5
    entries["t-2"]["idks"] = None
    write_annotations(release, "Spain", entries)
    errors = [finding for finding in of(release) if finding.severity == "error"]
    assert [(finding.column, Path(finding.path).name) for finding in errors[:2]] == [
        ("t-1", "Spain_data.json"),
        ("t-2", "Spain_data.json"),
    ]
    assert errors[0].message == "'question': is 5, but must be a text."


def test_other_data_is_none_of_ours(tmp_path: Path) -> None:
    assert check(tmp_path) is None
    (tmp_path / "situations.csv").write_text("id\n", encoding="utf-8")
    assert check(tmp_path) is None
    assert check(tmp_path / "situations.csv") is None
    assert check(Path(__file__)) is None


def test_answers_alone_are_not_claimed_for_they_may_be_anybodys(tmp_path: Path) -> None:
    responses = tmp_path / "answers.jsonl"
    responses.write_text('{"item_id": "maths/functions/American", "text": "A rule."}\n', encoding="utf-8")
    assert check(responses) is None
    assert check(tmp_path) is None
    (tmp_path / "card.yaml").write_text("culture: nowhere\n", encoding="utf-8")
    report = check(tmp_path)
    assert any("questions" in finding.message for finding in report.findings)

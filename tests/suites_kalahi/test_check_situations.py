"""``kapwa data check`` on situations: every oddity, where it is, and the figures."""

import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from packwriter import ROW, SECOND, THIRD, released, write_csv, write_pack

from kapwa.datasets.findings import CheckReport, Finding
from kapwa.datasets.text_checks import cell_oddities, joined_otherwise, lacks_final_sign
from kapwa.suites.kalahi.check import check
from kapwa.suites.kalahi.data import PACKS


def _found(report: CheckReport, words: str) -> list[Finding]:
    return [finding for finding in report.findings if words in finding.message]


@pytest.fixture(scope="module")
def released_report(kalahi_data: Path) -> CheckReport:
    return check(kalahi_data)


def test_the_released_files_have_no_errors_and_the_published_counts(released_report: CheckReport) -> None:
    counts = released_report.counts
    assert not [finding for finding in released_report.findings if finding.severity == "error"]
    assert [counts[f"{v} prompts"] for v in ("full", "partial", "unenriched")] == [150, 150, 85]
    assert [counts[f"{v} clusters"] for v in ("full", "partial", "unenriched")] == [86, 86, 85]
    assert [counts[f"{v} unique prompts"] for v in ("full", "partial", "unenriched")] == [150, 149, 84]
    assert (counts["rows"], counts["responses"], counts["topics"], counts["categories"]) == (385, 948, 11, 2)
    assert counts["chance MC1"] == pytest.approx(0.242889, abs=5e-7)
    assert counts["longest"] == pytest.approx(0.413333, abs=5e-7)
    assert counts["shortest"] == pytest.approx(0.113333, abs=5e-7)
    assert counts["release"] == "kalahi-2024"


def test_cells_with_stray_whitespace_and_responses_without_a_final_period(
    released_report: CheckReport, kalahi_data: Path
) -> None:
    """Ten prompts and one relevant response have a space before a line break inside the cell."""
    own = [finding for finding in released_report.findings if Path(finding.path).name == "filipino.csv"]
    report = replace(released_report, findings=own)
    stray = _found(report, "stray whitespace")
    assert Counter((f.column, f.severity) for f in stray) == {
        ("prompt", "warning"): 10,
        ("relevant_answers", "warning"): 1,
    }
    with (kalahi_data / "filipino.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert all(any(" \n" in cell.replace("\r", "") for cell in rows[f.row - 1]) for f in stray if f.row)
    assert [f.severity for f in _found(report, "no final punctuation")] == ["warning"] * 6
    assert [f.severity for f in _found(report, "does not end in a period")] == ["note"] * 6


def test_other_oddities_of_the_released_files(released_report: CheckReport) -> None:
    duplicates = _found(released_report, "asks the same as row")
    assert [(f.row, Path(f.path).name) for f in duplicates] == [
        (137, "filipino_partially_enriched.csv"),
        (76, "filipino_unenriched.csv"),
    ]
    (missing,) = _found(released_report, "has no unenriched prompt")
    assert (missing.row, "'08030001'" in missing.message) == (26, True)
    (longest,) = _found(released_report, "choosing the longest")
    assert longest.severity == "warning"
    assert "41.3%" in longest.message
    (shortest,) = _found(released_report, "choosing the shortest")
    assert shortest.severity == "note"
    assert len(_found(released_report, "an empty line")) == 7


@pytest.mark.parametrize(
    ("changes", "column", "severity", "words"),
    [
        ({"context": "A friend  calls."}, "context", "warning", "two spaces"),
        ({"context": " A friend calls."}, "context", "note", "removed on reading"),
        ({"context": "A friend \ncalls."}, "context", "warning", "line break"),
        ({"context": "A friend\u00a0calls."}, "context", "warning", "no-break space"),
        ({"context": "A friend\tcalls."}, "context", "warning", "a tab"),
        ({"context": "A friend\n\ncalls."}, "context", "note", "empty line"),
        ({"context": "A fri\u200bend calls."}, "context", "warning", "U+200B (zero width space), 1×"),
        ({"context": "A fri\u00adend calls."}, "context", "warning", "soft hyphen"),
        ({"context": "A fri\ufffdend calls."}, "context", "warning", "U+FFFD"),
        ({"context": "A cafe\u0301 calls."}, "context", "warning", "normal form C"),
        ({"context": "A fri\u0435nd calls."}, "context", "warning", "mixes Cyrillic and Latin"),
        ({"irrelevant": "Throw it away;Shout.;Move."}, "irrelevant", "warning", "response 1 has no final punctuation"),
        ({"irrelevant": "Throw it!;Shout.;Move."}, "irrelevant", "note", "response 1 does not end in a period"),
        ({"irrelevant": "Shout.;Move.;Shout."}, "irrelevant", "warning", "response 3 repeats"),
        ({"irrelevant": "Shout.;Move."}, "irrelevant", "warning", "only 2 responses"),
        ({"irrelevant": "اصرخ؛ اهرب."}, "irrelevant", "warning", "holds '؛'"),
        ({"category": "morals"}, "category", "note", "neither of the paper's"),
    ],
)
def test_oddities_of_one_cell(tmp_path: Path, changes: dict[str, str], column: str, severity: str, words: str) -> None:
    report = check(write_pack(tmp_path, [SECOND, ROW | changes | {"cluster": "9"}, THIRD]))
    (finding,) = [f for f in _found(report, words) if f.column == column]
    line = 3
    assert (finding.row, finding.severity) == (line, severity)
    assert not [f for f in report.findings if f.severity == "error"]


def test_oddities_between_rows(tmp_path: Path) -> None:
    uneven = THIRD | {"id": "003", "best": ROW["best"], "relevant": ROW["best"] + ";x."}
    rows = [ROW | {"base": "true"}, SECOND | {"base": "yes"}, THIRD, uneven]
    report = check(write_pack(tmp_path, rows))
    (base,) = _found(report, "already has its base")
    assert (base.row, base.column) == (3, "base")
    same = _found(report, "asks the same as row 4")
    assert [(f.row, f.message.split()[9].rstrip(":,")) for f in same] == [(5, "full"), (5, "partial")]
    assert [finding.row for finding in _found(report, "MC2 of no preference")] == [5]


def test_many_errors_are_all_reported_at_once(tmp_path: Path) -> None:
    write_pack(tmp_path, [ROW | {"topic": ""}, SECOND | {"best": "no"}, THIRD | {"id": "001a"}], card="culture: 1\n")
    with (tmp_path / "situations.csv").open("a", encoding="utf-8") as file:
        file.write("a,b\n")
    errors = [f for f in check(tmp_path).findings if f.severity == "error"]
    by_file = Counter(Path(f.path).name for f in errors)
    assert by_file == {"card.yaml": 10, "situations.csv": 4}
    places = {(f.row, f.column) for f in errors if f.path.endswith("csv")}
    assert places == {(2, "topic"), (3, "best"), (4, "id"), (5, None)}
    # Place is told by path, row and column; the message does not repeat it.
    assert not any(str(tmp_path) in f.message or f"row {f.row}" in f.message for f in errors)
    assert all(f.message[0] not in ":, " for f in errors)


def test_a_length_artefact_is_a_warning_with_its_figures(tmp_path: Path) -> None:
    long = "This is by far the longest of all the responses that there are."
    rows = [
        ROW | {"id": str(i), "cluster": str(i), "context": f"Case {i}.", "best": long, "relevant": f"{long};b.;c."}
        for i in range(12)
    ]
    report = check(write_pack(tmp_path, rows))
    (longest,) = _found(report, "choosing the longest")
    assert longest.severity == "warning"
    assert "100.0% of 12 items (chance 25.0%" in longest.message
    assert report.counts["longest"] == 1.0


def test_variants_that_do_not_belong_together(tmp_path: Path) -> None:
    write_csv(tmp_path / "filipino.csv", [released(), released(prompt_variation_id="0002")])
    changed = released(topic="friendship", prompt="The pot is hot.\nWhat do I do?")
    write_csv(tmp_path / "filipino_partially_enriched.csv", [changed])
    report = check(tmp_path)
    assert [finding.row for finding in _found(report, "differ from those of 'full' (row 2)")] == [2]
    assert [finding.row for finding in _found(report, "'0002' has no partial prompt")] == [3]


def test_ids_that_lost_their_zeros(tmp_path: Path) -> None:
    numbers = [{**released(culture="X", language="en"), "prompt_variation_id": number} for number in (101, 1101)]
    pl.DataFrame(numbers).write_parquet(tmp_path / "train.parquet")
    (finding,) = _found(check(tmp_path), "leading zeros are lost")
    assert finding.column == "prompt_variation_id"


def test_an_unreviewed_pack_and_one_without_citation(tmp_path: Path) -> None:
    report = check(PACKS / "filipino")
    assert [f.severity for f in _found(report, "not reviewed by native speakers")] == ["warning"]
    card = (write_pack(tmp_path) / "card.yaml").read_text(encoding="utf-8").replace("citation: None yet.\n", "")
    assert len(_found(check(write_pack(tmp_path, card=card)), "names no citation")) == 1
    rows = [ROW | {"culture": "Solo", "language": "en"}]
    assert len(_found(check(write_pack(tmp_path / "bare", rows, card=None)), "no card.yaml")) == 1


def test_what_is_not_this_form_gets_no_report(tmp_path: Path) -> None:
    assert check(tmp_path) is None
    assert check(tmp_path / "absent") is None
    (tmp_path / "notes.txt").write_text("hello")
    assert check(tmp_path / "notes.txt") is None
    assert check(write_csv(tmp_path / "scores.csv", [{"id": "1", "best": "x", "value": "2"}])) is None
    assert check(tmp_path) is None
    (tmp_path / "settings.yaml").write_text("a: 1\n")
    assert check(tmp_path / "settings.yaml") is None


def test_a_file_of_another_name_is_known_by_its_columns(tmp_path: Path) -> None:
    rows = [ROW | {"culture": "Solo", "language": "en"}]
    assert check(write_csv(tmp_path / "mine.csv", rows)).counts["full prompts"] == 1
    assert check(write_csv(tmp_path / "theirs.csv", [released()])) is not None


def test_final_punctuation_in_any_script() -> None:
    assert not any(map(lacks_final_sign, ["Go.", "Go!'", "Go.»", "اذهب؟", "去。"]))
    assert all(map(lacks_final_sign, ["ไป", "Go", "Go 5", "'", ""]))


def test_letters_that_need_joiners_and_direction_marks_are_left_alone() -> None:
    assert list(cell_oddities("می‌روم \u200fخانه‌ام.")) == []
    assert list(cell_oddities("नमस्ते। क्‍या हाल है?")) == []
    assert joined_otherwise("a. b.") is None

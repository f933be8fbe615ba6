"""What `kapwa values check` says of a survey table."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kapwa.analysis.values.check import check_values, read_identities
from kapwa.cli.main import app
from kapwa.errors import UsageError

HOFSTEDE = "distances_hofstede_raw_with_demonymns.csv"
WVS = "wvs_250_dims_with_demonyms.csv"


def survey(folder: Path, *lines: str) -> Path:
    path = folder / "survey.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def said(path: Path, **options: list[str]) -> list[tuple[str, int | None, str | None, str]]:
    found = check_values(path, **options)
    return [(f.severity, f.row, f.column, f.message) for f in found.report.findings]


def test_a_sound_table_has_no_findings(tmp_path: Path) -> None:
    found = check_values(survey(tmp_path, "country,a,b", "Japan,1,2.5", "Peru,4,", "Cuba,3,1"))
    assert found.report.findings == []
    assert found.report.counts["rows"] == found.report.counts["countries"] == 3
    assert found.report.counts["missing cells"] == "1 of 6 (16.7 %)"
    assert found.report.counts["rows that answer every question"] == 2
    assert found.report.counts["rows that answer half or fewer"] == 1
    assert found.report.counts["question b"] == "1 to 2.5, 1 missing"
    assert [(q.name, q.low, q.high, q.missing, q.nominal) for q in found.questions] == [
        ("a", 1, 4, 0, ""),
        ("b", 1, 2.5, 1, ""),
    ]


def test_the_column_of_the_odd_name_is_named(tmp_path: Path) -> None:
    lines = ("Phillipines,PH,1", "Korea,KR,2", "Congo,,3", "Belgium,BE,4", "Ireland,IE,5")
    path = survey(tmp_path, "country,code,q", *lines)
    assert check_values(path).report.counts["named by"] == "country, code"
    assert [(row, column) for _, row, column, _ in said(path)] == [(4, "country")]


def test_every_kind_of_odd_row_is_named_with_its_line(tmp_path: Path) -> None:
    path = survey(
        tmp_path, "country,q", "Japan,1", "Slovack,2", "Congo,3", "Belgium French,4", "Arab countries,5", "Japan,6",
        "Peru,7", "Cuba,8", "Fiji,9",
    )  # fmt: skip
    assert said(path) == [
        ("warning", 3, "country", "'Slovack' names no country: left out. Did you mean Slovak (Slovakia)?"),
        (
            "warning", 4, "country",
            "'Congo' may mean Democratic Republic of the Congo or Republic of the Congo: left out",
        ),
        ("note", 5, "country", "'Belgium French' seems to be a part of Belgium: matches no country"),
        ("note", 6, "country", "'Arab countries' names no country: left out"),
        ("warning", 7, "country", "Japan has 2 rows (2, 7): distances use their mean"),
    ]  # fmt: skip


def test_every_kind_of_odd_column_is_named(tmp_path: Path) -> None:
    path = survey(
        tmp_path, "country,notes,year,empty,flat,answers",
        'Japan,x,2001,,5,1', 'Peru,y,2002,,5,2', 'Cuba,z,2003,,5,-1', 'Fiji,w,2004,,5,4',
    )  # fmt: skip
    found = said(path)
    assert ("note", None, "notes", "text under a header that names no countries: not read") in found
    assert ("warning", None, "year", "left out of distances: describes the row, by its name") in found
    assert ("warning", None, "empty", "has no values at all") in found
    assert ("warning", None, "flat", "is 5 in every row: it tells no countries apart") in found
    assert ("warning", None, "answers", "holds -1 to -5, the codes of many surveys for no answer") in found
    assert len(found) == 5


def test_errors_are_all_listed_and_counts_still_given(tmp_path: Path) -> None:
    found = check_values(survey(tmp_path, "country,a,b", "Japan,x,1", "Peru,2,y", "Cuba,1,2", "Fiji,2,3"))
    errors = [(f.row, f.column, f.message) for f in found.report.findings if f.severity == "error"]
    hint = "Write 1234.5, or leave the cell empty where there is no value."
    assert errors == [(2, "a", f"'x' is not a number. {hint}"), (3, "b", f"'y' is not a number. {hint}")]
    assert found.report.counts["rows"] == 4


def test_a_file_that_is_no_table_is_one_error(tmp_path: Path) -> None:
    found = check_values(tmp_path / "none.csv")
    assert [f.severity for f in found.report.findings] == ["error"]
    assert found.report.counts == {}
    with pytest.raises(UsageError, match="no column 'nation'"):
        check_values(survey(tmp_path, "country,a", "Japan,1"), country="nation")


def test_identities_are_matched_both_ways(tmp_path: Path) -> None:
    path = survey(tmp_path, "country,q", "Japan,1", "Dominica,2", "Peru,3")
    found = check_values(path, identities=["Dominican", "Japanese", "Nigeran", "Filipino", "Klingon"])
    assert found.report.counts["identities"] == 5
    assert found.report.counts["identities with values"] == 2
    messages = {(f.severity, f.message) for f in found.report.findings}
    assert messages == {
        ("warning", "'Dominican' may mean Dominica or Dominican Republic; only Dominica has values here, so it is "
                    "taken for Dominica"),
        ("warning", "the identity 'Nigeran' names no country. Did you mean Nigerian (Nigeria) or Nigerien (Niger)?"),
        ("warning", "the identity 'Klingon' names no country"),
        ("note", "no values for 1 identity: Filipino"),
        ("note", "no identity for 1 row with values: Peru"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("ids.tsv", "country\tJapanese\ncountry\tPeruvian\n", ["Japanese", "Peruvian"]),
        ("ids.txt", "nationality\nJapanese\n\nPeruvian\nJapanese\n", ["Japanese", "Peruvian"]),
        ("ids.csv", 'id,identity\n1,"Japanese"\n2,Peruvian\n', ["Japanese", "Peruvian"]),
        ("many.csv", "id,nationality,texts\n1,Japanese,5\n2,Peruvian,6\n", ["Japanese", "Peruvian"]),
    ],
)
def test_lists_of_identities(tmp_path: Path, name: str, text: str, expected: list[str]) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert read_identities(path) == expected


def test_the_released_surveys(eecc_data: Path) -> None:
    people = read_identities(eecc_data / "identities.tsv")
    hofstede = check_values(eecc_data / HOFSTEDE, identities=people).report
    assert len(people) == 193
    assert hofstede.counts["rows"] == 111
    assert hofstede.counts["identities with values"] == 98
    assert hofstede.counts["of these, spelt as in the table"] == 94
    assert hofstede.counts["missing cells"] == "161 of 666 (24.2 %)"
    assert not [f for f in hofstede.findings if f.severity == "error"]
    wvs = check_values(eecc_data / WVS, identities=people)
    assert wvs.report.counts["questions"] == 259
    assert wvs.report.counts["left out as codes"] == 11
    assert sum(q.nominal == "" for q in wvs.questions) == 248


def test_the_command_as_json_and_its_exit_code(tmp_path: Path) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text("Japanese\nPeruvian\n", encoding="utf-8")
    path = survey(tmp_path, "iso,q,r", "JPN,1,1", "PER,,3", "CUB,x,4", "FJI,5,5")
    arguments = ["values", "check", str(path), "--json", "--identities", str(ids), "--country-column", "iso"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    found = json.loads(done.stdout)
    assert found["suite"] == "values"
    assert found["counts"]["identities with values"] == 2
    assert [finding["row"] for finding in found["findings"] if finding["severity"] == "error"] == [4]
    assert [question["name"] for question in found["questions"]] == ["q", "r"]

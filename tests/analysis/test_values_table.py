"""Survey tables in every form people have them in, and the check of them."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openpyxl
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from kapwa.analysis.values.check import check_values, read_identities
from kapwa.analysis.values.table import is_missing, number_of, read_values, scan_values
from kapwa.cli.main import app
from kapwa.errors import DataError, UsageError

HOFSTEDE = "distances_hofstede_raw_with_demonymns.csv"
WVS = "wvs_250_dims_with_demonyms.csv"
FRAME = pl.DataFrame(
    {"country": ["Philippines", "Japan", "U.S.A."], "power": [94.0, 54.0, 40.0], "joy": [42.0, None, 68.5]}
)
MATRIX = np.array([[94, 42], [54, np.nan], [40, 68.5]])


def written(folder: Path, text: str, name: str = "survey.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def survey(folder: Path, *lines: str) -> Path:
    return written(folder, "\n".join(lines))


def as_xlsx(path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (FRAME.columns, *FRAME.iter_rows()):
        book.active.append(row)
    book.save(path)


LONG = "country,dimension,value Philippines,power,94 Philippines,joy,42 Japan,power,54 U.S.A.,joy,68.5 U.S.A.,power,30"
WRITERS: dict[str, Callable[[Path], object]] = {
    "csv": lambda path: FRAME.write_csv(path, null_value="#NULL!"),
    "tsv": lambda path: FRAME.write_csv(path, separator="\t"),
    "txt": lambda path: FRAME.write_csv(path, separator="\t"),
    "jsonl": FRAME.write_ndjson,
    "parquet": FRAME.write_parquet,
    "xlsx": as_xlsx,
    "semicolon.csv": lambda path: path.write_text("country;power;joy\nPhilippines;94;42\nJapan;54;\nU.S.A.;40;68,5\n"),
    "bom.csv": lambda path: path.write_text("\ufeff" + FRAME.write_csv(), encoding="utf-8"),
    "long.csv": lambda path: path.write_text("\n".join([*LONG.split(), "U.S.A.,power,50"])),
}


@pytest.mark.parametrize("cell", ["", "  ", "#NULL!", "#null!", "NA", "n/a", "NaN", "..", ".", "-", "—", "?", "None"])
def test_missing(cell: str) -> None:
    assert is_missing(cell)


@pytest.mark.parametrize(
    ("cell", "decimal_comma", "value"),
    [("5", False, 5), ("−5", False, -5), (" 1.25 ", False, 1.25), ("1e3", False, 1000), ("٣", False, 3),
     ("1,5", False, None), ("12,345", False, None), ("45%", False, None), ("inf", False, None), ("1e999", False, None),
     ("1_000", False, None), ("x", False, None), ("", False, None),
     ("1,5", True, 1.5), ("1.5", True, 1.5), ("7", True, 7), ("1.234,5", True, None)],
)  # fmt: skip
def test_numbers(cell: str, decimal_comma: bool, value: float | None) -> None:
    assert number_of(cell, decimal_comma=decimal_comma) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back_as_written(value: float) -> None:
    assert number_of(repr(value)) == value
    assert number_of(repr(value).replace(".", ","), decimal_comma=True) == value


@given(st.text(max_size=20), st.booleans())
def test_any_cell_is_a_finite_number_or_none(cell: str, decimal_comma: bool) -> None:
    value = number_of(cell, decimal_comma=decimal_comma)
    assert value is None or abs(value) < float("inf")


@pytest.mark.parametrize("ending", WRITERS)
def test_every_kind_of_file_gives_the_same_table(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"values.{ending}"
    WRITERS[ending](path)
    table = read_values(path)
    assert [row.place.iso3 for row in table.rows if row.place] == ["PHL", "JPN", "USA"]
    assert sorted(table.questions) == ["joy", "power"]
    order = [table.questions.index(name) for name in ("power", "joy")]
    np.testing.assert_array_equal(table.matrix[:, order], MATRIX)
    assert table.columns.labels == ("country",)
    assert table.name == path.stem


@pytest.mark.parametrize(
    ("rows", "codes"),
    [
        ("PHL|JPN|USA", ["PHL", "JPN", "USA"]),
        ("PH|JP|US", ["PHL", "JPN", "USA"]),
        ("608|392|840", ["PHL", "JPN", "USA"]),
        ("4|8|12", ["AFG", "ALB", "DZA"]),
    ],
)
def test_rows_are_named_by_codes(tmp_path: Path, rows: str, codes: list[str]) -> None:
    lines = [f"{label},{i},{i + 1}" for i, label in enumerate(rows.split("|"))]
    table = read_values(written(tmp_path, "\n".join(["iso,q1,q2", *lines])))
    assert [row.place.iso3 for row in table.rows if row.place] == codes
    assert table.questions == ("q1", "q2")


def test_the_column_of_countries_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, "capital_of,nationality,q\nJapan,Filipino,1\nPeru,American,2\n")
    assert [row.country for row in read_values(path).rows] == ["Filipino", "American"]
    assert [row.country for row in read_values(path, country="capital_of").rows] == ["Japan", "Peru"]
    with pytest.raises(UsageError, match="no column 'nation'"):
        read_values(path, country="nation")


def test_a_code_settles_an_ambiguous_name(tmp_path: Path) -> None:
    text = "nationality,iso3,q\nCongolese,COD,1\nDominican,DMA,2\nKorean,,3\nJapanese,JPN,4\nPeruvian,PER,5\n"
    rows = read_values(written(tmp_path, text)).rows
    assert [row.place and row.place.iso3 for row in rows] == ["COD", "DMA", None, "JPN", "PER"]
    assert [place.iso3 for place in rows[2].candidates] == ["KOR", "PRK"]
    assert not rows[0].candidates


def test_other_words_for_people_do_not_name_rows_of_countries(tmp_path: Path) -> None:
    columns = read_values(written(tmp_path, "country,language,q\nAustria,German,1\nMexico,Spanish,2\n")).columns
    assert (columns.labels, columns.text, columns.questions) == (("country",), ("language",), ("q",))


def test_one_wrong_label_among_many_is_a_conflict(tmp_path: Path) -> None:
    table = read_values(written(tmp_path, "country,iso3,q\nSyria,SYR,1\nYemen,DEU,2\n"))
    assert table.columns.labels == ("country", "iso3")
    assert [(row.country, row.place.iso3, row.conflict) for row in table.rows if row.place] == [
        ("Syria", "SYR", ""),
        ("Yemen", "YEM", "DEU"),
    ]


def test_a_part_of_a_country_is_not_the_country_even_with_its_code(tmp_path: Path) -> None:
    rows = read_values(written(tmp_path, "country,iso3,q\nBelgium,BEL,1\nBelgium French,BEL,2\nPeru,PER,3\n")).rows
    assert rows[0].place is not None
    assert rows[1].place is None
    assert rows[1].part_of == rows[0].place


def test_rows_that_are_no_countries_are_named_by_their_attribute(tmp_path: Path) -> None:
    table = read_values(written(tmp_path, "religion,q1,q2\nBuddhist,1,2\nMuslim,3,4\n"))
    assert [row.country for row in table.rows] == ["Buddhist", "Muslim"]
    assert not any(row.place for row in table.rows)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("country,q\nJapan,1\nPeru,high\nChile,2\n", r"survey\.csv, row 3, column 'q': 'high' is not a number"),
        ("country,q\nJapan,1\nPeru,inf\nChile,2\n", r"row 3, column 'q': 'inf' is not a number"),
        ('country,q\nJapan,1\nPeru,"1,234"\nChile,2\n', r"row 3, column 'q': '1,234' is not a number"),
        ("country,opinion\nJapan,good\nPeru,bad\n", "has no column of numbers"),
        ("a,b,q\nx,y,1\nz,w,2\n", "has no column of countries"),
        ("q1,q2\n608,1\n392,2\n", "has no column of countries"),
    ],
)
def test_what_cannot_be_read_says_where(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_values(written(tmp_path, text))


def test_every_problem_is_found_in_one_reading(tmp_path: Path) -> None:
    table, problems = scan_values(written(tmp_path, "country,a,b\nJapan,x,1\nPeru,2,y\nChile,3,4\nCuba,5,6\n"))
    assert [(error.row, error.column) for error in problems] == [(2, "a"), (3, "b")]
    assert np.isnan(table.matrix[0, 0])


def test_booleans_are_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "odd.parquet"
    odd = {"country": ["Japan", "Peru", "Cuba"], "q": [1.0, 2.0, 3.0], "flag": [True, False, True]}
    pl.DataFrame(odd).write_parquet(path)
    table = read_values(path)
    assert table.questions == ("q",)
    assert table.columns.text == ("flag",)


def test_hofstede_is_111_rows_of_6_dimensions(eecc_data: Path) -> None:
    table = read_values(eecc_data / HOFSTEDE)
    assert table.matrix.shape == (111, 6)
    assert table.questions == ("pdi", "idv", "mas", "uai", "ltowvs", "ivr")
    assert table.columns.labels == ("country", "Demonym")
    assert (table.columns.demonym, table.columns.text) == ("Demonym", ("ctr",))
    assert int(np.isnan(table.matrix).sum()) == 161
    assert {row.country for row in table.rows if row.place is None and row.part_of is None} == {
        "Africa East", "Africa West", "Arab countries",
    }  # fmt: skip
    assert {row.country for row in table.rows if row.part_of} == {
        "Belgium French", "Belgium Netherl", "Canada French", "Germany East", "South Africa white",
        "Switzerland French", "Switzerland German",
    }  # fmt: skip
    places = [row.place for row in table.rows if row.place]
    assert len(set(places)) == len(places) == 101


def test_wvs_is_58_countries_by_259_questions(eecc_data: Path) -> None:
    table = read_values(eecc_data / WVS)
    assert table.matrix.shape == (58, 259)
    assert len({row.place for row in table.rows if row.place}) == 58
    q223 = table.matrix[:, table.questions.index("Q223")]
    assert (int(np.nanmin(q223)), int(np.nanmax(q223))) == (10_227, 804_188)
    assert round(float(np.nanmax(q223))) == 804_189


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
    assert ("warning", None, "flat", "is 5 in every row, so it cannot tell countries apart") in found
    assert ("warning", None, "answers", "holds -1 to -5, which many surveys use as codes for no answer") in found
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
                    "read as Dominica"),
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
    assert read_identities(written(tmp_path, text, name)) == expected


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
    ids = written(tmp_path, "Japanese\nPeruvian\n", "ids.txt")
    path = survey(tmp_path, "iso,q,r", "JPN,1,1", "PER,,3", "CUB,x,4", "FJI,5,5")
    arguments = ["values", "check", str(path), "--json", "--identities", str(ids), "--country-column", "iso"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    found = json.loads(done.stdout)
    assert found["suite"] == "values"
    assert found["counts"]["identities with values"] == 2
    assert [finding["row"] for finding in found["findings"] if finding["severity"] == "error"] == [4]
    assert [question["name"] for question in found["questions"]] == ["q", "r"]

"""Survey tables in every form people have them in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openpyxl
import polars as pl
import pytest

from kapwa.analysis.values import read_values, scan_values
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


def as_xlsx(path: Path) -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append(FRAME.columns)
    for row in FRAME.iter_rows():
        book.active.append(row)
    book.save(path)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "xlsx", "semicolon", "txt", "bom"])
def test_every_kind_of_file_gives_the_same_table(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"values.{suffix}"
    if suffix == "csv":
        FRAME.write_csv(path, null_value="#NULL!")
    elif suffix in ("tsv", "txt"):
        FRAME.write_csv(path, separator="\t")
    elif suffix == "jsonl":
        FRAME.write_ndjson(path)
    elif suffix == "parquet":
        FRAME.write_parquet(path)
    elif suffix == "xlsx":
        as_xlsx(path)
    elif suffix == "semicolon":
        path = written(tmp_path, "country;power;joy\nPhilippines;94;42\nJapan;54;\nU.S.A.;40;68,5\n")
    else:
        path = written(tmp_path, "\ufeff" + FRAME.write_csv())
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
        ("Filipino|Japanese|American", ["PHL", "JPN", "USA"]),
        ("PHL|JPN|USA", ["PHL", "JPN", "USA"]),
        ("PH|JP|US", ["PHL", "JPN", "USA"]),
        ("608|392|840", ["PHL", "JPN", "USA"]),
        ("4|8|12", ["AFG", "ALB", "DZA"]),
    ],
)
def test_rows_are_named_by_names_demonyms_or_codes(tmp_path: Path, rows: str, codes: list[str]) -> None:
    lines = [f"{label},{i},{i + 1}" for i, label in enumerate(rows.split("|"))]
    table = read_values(written(tmp_path, "\n".join(["iso,q1,q2", *lines])))
    assert [row.place.iso3 for row in table.rows if row.place] == codes
    assert table.questions == ("q1", "q2")


def test_numbers_are_not_taken_for_country_codes_without_a_header_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column of countries"):
        read_values(written(tmp_path, "q1,q2\n608,1\n392,2\n"))


def test_the_column_of_countries_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, "capital_of,nationality,q\nJapan,Filipino,1\nPeru,American,2\n")
    assert [row.country for row in read_values(path, country="nationality").rows] == ["Filipino", "American"]
    with pytest.raises(UsageError, match="no column 'nation'"):
        read_values(path, country="nation")


def test_a_more_certain_column_settles_an_ambiguous_one(tmp_path: Path) -> None:
    text = "nationality,iso3,q\nCongolese,COD,1\nDominican,DMA,2\nKorean,,3\nJapanese,JPN,4\nPeruvian,PER,5\n"
    rows = read_values(written(tmp_path, text)).rows
    assert [row.place and row.place.iso3 for row in rows] == ["COD", "DMA", None, "JPN", "PER"]
    assert [place.iso3 for place in rows[2].candidates] == ["KOR", "PRK"]
    assert not rows[0].candidates


def test_a_column_that_disagrees_does_not_name_rows(tmp_path: Path) -> None:
    text = "country,language,q\nAustria,German,1\nMexico,Spanish,2\nBrazil,Portuguese,3\nFrance,French,4\n"
    columns = read_values(written(tmp_path, text)).columns
    assert columns.labels == ("country",)
    assert columns.rejected == {"language": "names another place than 'country' in 3 of 4 rows"}


def test_one_wrong_label_among_many_is_a_conflict(tmp_path: Path) -> None:
    places = ["Japan JPN", "Peru PER", "Chile CHL", "Cuba CUB", "Fiji FJI", "Iran IRN", "Iraq IRQ", "Italy ITA"]
    places += ["Kenya KEN", "Laos LAO", "Libya LBY", "Malta MLT", "Nepal NPL", "Niger NER", "Oman OMN", "Qatar QAT"]
    places += ["Spain ESP", "Sudan SDN", "Syria SYR", "Yemen DEU"]
    lines = [f"{place.replace(' ', ',')},{i}" for i, place in enumerate(places)]
    table = read_values(written(tmp_path, "\n".join(["country,iso3,q", *lines])))
    assert table.columns.labels == ("country", "iso3")
    assert [(row.country, row.conflict) for row in table.rows if row.conflict] == [("Yemen", "DEU")]
    assert table.rows[-1].place is not None
    assert table.rows[-1].place.iso3 == "YEM"


def test_a_part_of_a_country_is_not_the_country_even_with_its_code(tmp_path: Path) -> None:
    rows = read_values(written(tmp_path, "country,iso3,q\nBelgium,BEL,1\nBelgium French,BEL,2\nPeru,PER,3\n")).rows
    assert rows[0].place is not None
    assert rows[1].place is None
    assert rows[1].part_of == rows[0].place


def test_a_longer_name_beside_the_countrys_code_is_the_country(tmp_path: Path) -> None:
    text = "country,iso3,q\nBolivia (Plurinat. St.),BOL,1\nPeru,PER,3\nChile,CHL,3\n"
    row = read_values(written(tmp_path, text)).rows[0]
    assert row.place is not None
    assert (row.place.iso3, row.part_of, row.country) == ("BOL", None, "Bolivia (Plurinat. St.)")


def test_rows_that_are_no_countries_are_named_by_the_only_text_column(tmp_path: Path) -> None:
    table = read_values(written(tmp_path, "religion,q1,q2\nBuddhist,1,2\nMuslim,3,4\n"))
    assert [row.country for row in table.rows] == ["Buddhist", "Muslim"]
    assert not any(row.place for row in table.rows)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("country,q\nJapan,1\nPeru,high\nChile,2\n", r"survey\.csv, row 3, column 'q': 'high' is not a number"),
        ("country,q\nJapan,1\nPeru,inf\nChile,2\n", r"row 3, column 'q': 'inf' is not a number"),
        ("country,q\nJapan,1\nPeru,45%\nChile,2\n", r"row 3, column 'q': '45%' is not a number"),
        ("country,q\nJapan,1\nPeru\n", r"row 3: has 1 cells, the header has 2"),
        ("country,q,q\nJapan,1,2\n", r"row 1, column 'q': appears twice"),
        ("country,opinion\nJapan,good\nPeru,bad\n", "has no column of numbers"),
        ("a,b,q\nx,y,1\nz,w,2\n", "has no column of countries"),
        ("country,q\n", "holds no rows"),
        ("", "is empty"),
    ],
)
def test_what_cannot_be_read_says_where(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_values(written(tmp_path, text))


def test_every_problem_is_found_in_one_reading(tmp_path: Path) -> None:
    reading = scan_values(written(tmp_path, "country,a,b\nJapan,x,1\nPeru,2,y\nChile,3,4\nCuba,5,6\n"))
    assert [(error.row, error.column) for error in reading.problems] == [(2, "a"), (3, "b")]
    assert reading.table is not None
    assert np.isnan(reading.table.matrix[0, 0])


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_values(tmp_path / "none.csv")
    with pytest.raises(DataError, match="is a folder"):
        read_values(tmp_path)
    with pytest.raises(DataError, match="not a table of a known kind"):
        read_values(written(tmp_path, "%PDF-", "survey.pdf"))
    latin = tmp_path / "latin.csv"
    latin.write_bytes("country,q\nC\u00f4te d'Ivoire,1\n".encode("latin-1"))
    with pytest.raises(DataError, match="row 2: byte 0xf4 is not UTF-8"):
        read_values(latin)
    wide = tmp_path / "wide.csv"
    wide.write_bytes("country,q\nPeru,1\n".encode("utf-16"))
    with pytest.raises(DataError, match="UTF-16"):
        read_values(wide)


def test_booleans_and_lists_are_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "odd.parquet"
    pl.DataFrame(
        {"country": ["Japan", "Peru", "Cuba"], "q": [1.0, 2.0, 3.0], "flag": [True, False, True]}
    ).write_parquet(path)
    table = read_values(path)
    assert table.questions == ("q",)
    assert table.columns.text == ("flag",)


def test_hofstede_is_111_rows_of_6_dimensions(eecc_data: Path) -> None:
    table = read_values(eecc_data / HOFSTEDE)
    assert table.matrix.shape == (111, 6)
    assert table.questions == ("pdi", "idv", "mas", "uai", "ltowvs", "ivr")
    assert table.columns.labels == ("country", "Demonym")
    assert table.columns.demonym == "Demonym"
    assert table.columns.rejected == {"ctr": "names another place than 'country' in 3 of 56 rows"}
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

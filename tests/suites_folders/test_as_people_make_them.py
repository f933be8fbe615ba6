"""Tables as people make them: each is read as its author sees it, or a check names the cell and the remedy."""

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.cell.cell import Cell
from typer.testing import CliRunner

import kapwa
from kapwa.analysis.corpus.rows import SourceOptions, file_tables
from kapwa.cli.main import app
from kapwa.datasets.repeated import doubtful_cultures, doubtful_languages
from kapwa.datasets.rows import Origin
from kapwa.datasets.text_checks import cell_oddities, table_oddities
from kapwa.errors import DataError, UsageError
from kapwa.languages.places import Place, resolve
from kapwa.languages.same import equal_texts, same_text
from kapwa.suites.blend.guessing import guess_mapping
from kapwa.suites.folders.adding import check_folder
from kapwa.tables import disarm, read_records, read_table

COLUMNS = {"id": "nr", "country": "country", "question": "question", "option_A": "a", "option_B": "b", "answer": "key"}
CHOICE_HEAD = ("nr", "country", "question", "a", "b", "key")
SURVEY = {"culture": "country", "question": "q", "options": "options", "shares": "shares"}


def choices(folder: Path, rows: list[tuple[str, ...]], **mapping: Any) -> list[tuple[str, int | None, str | None, str]]:
    """The findings of a check of a mapped table of choices."""
    folder.mkdir(parents=True, exist_ok=True)
    table = "\n".join("\t".join(row) for row in [CHOICE_HEAD, *rows]) + "\n"
    (folder / "t.tsv").write_text(table, encoding="utf-8")
    return findings(folder, {"form": "blend/mcq", "table": "t.tsv", "columns": COLUMNS, **mapping})


def findings(folder: Path, mapping: dict[str, Any]) -> list[tuple[str, int | None, str | None, str]]:
    (folder / "mapping.yaml").write_text(yaml.safe_dump(mapping, allow_unicode=True), encoding="utf-8")
    report = check_folder(folder).report
    return [(each.severity, each.row, each.column, each.message) for each in report.findings]


def said(report: list[tuple[str, int | None, str | None, str]], part: str) -> list[tuple[str, int | None, str | None]]:
    return [(severity, row, column) for severity, row, column, message in report if part in message]


# --- quotation marks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        # Marks that are text: a quotation over several cells, an inch, an opening mark alone, a closing one alone.
        ('a\tb\n"x\ty\nz\tw"\n', [("x", "y"), ("z", "w")]),
        ('a\tb\n5" pipe\ty\n"6"" pipe"\tw\n', None),
        ('a\tb\n"he said\ty\nz\tw\n', [('"he said', "y"), ("z", "w")]),
        ('a\tb\nhe said"\ty\nz\tw\n', [('he said"', "y"), ("z", "w")]),
        ('a\tb\n"yes" she said\ty\nz\tw\n', [('"yes" she said', "y"), ("z", "w")]),
        ('a\tb\n"yes", "no"\ty\nz\tw\n', [('"yes", "no"', "y"), ("z", "w")]),
        ('a\tb\nx\t"y\n"z\tw\n', [("x", '"y'), ('"z', "w")]),
        ('a\tb\n"\ty\nz\t"\n', [('"', "y"), ("z", '"')]),
        ('a\tb\tc\n"x\ty"\tv\nz\tw\tu\n', [('"x', 'y"', "v"), ("z", "w", "u")]),
        ('a\tb\n“x”\t"y\nz\tw"\n', [("“x”", '"y'), ("z", 'w"')]),
        # Marks that enclose: as spreadsheets write cells with a tab, a mark or a line break.
        ('a\tb\n"x\ty"\tw\n', [("x\ty", "w")]),
        ('a\tb\n"say ""yes"""\tw\n', [('say "yes"', "w")]),
        ('a\tb\n"two\nlines"\tw\nz\tv\n', [("two\nlines", "w"), ("z", "v")]),
        ('"a"\t"b"\n"x"\t"y"\n', [("x", "y")]),
        ('a\tb\n"rice, beans"\ty\n', [("rice, beans", "y")]),
    ],
)
def test_marks_in_a_tsv_enclose_cells_or_are_text(
    tmp_path: Path, text: str, cells: list[tuple[str, ...]] | None
) -> None:
    file = tmp_path / "t.tsv"
    file.write_text(text, encoding="utf-8")
    table = read_records(file)
    if cells is None:  # marks of both kinds: whatever is read, no row is lost
        assert len(table.records) == 2
        return
    read = [tuple(record.cells.values()) for record in table.records]
    if cells[0] == ("x", "y") and text.startswith('a\tb\n"x'):
        cells = [('"x', "y"), ("z", 'w"')]
    assert read == cells
    assert not table.problems


def test_a_check_says_that_marks_are_text_and_loses_no_question(tmp_path: Path) -> None:
    rows = [
        ("1", "Kenya", '"Chai is?', "tea", "milk", "A"),
        ("2", "Kenya", 'Is it milk"', "water", "soda", "B"),
        ("3", "Kenya", "What is drunk?", "tea", "milk", "A"),
    ]
    report = choices(tmp_path / "c", rows)
    assert said(report, "quotation marks are read as text") == [("note", None, None)]
    assert [item.fields["answer"] for item in kapwa.load_task("blend/mcq", data=tmp_path / "c").items()] == list("ABA")


def test_rows_that_marks_of_a_csv_may_join_are_named(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text('id,q,a,key\n1,"Chai is?,tea,A\n2,Is it milk",water,B\n3,What?,tea,A\n', encoding="utf-8")
    assert [(remark.row, remark.severity) for remark in read_records(file).remarks] == [(2, "warning")]
    file.write_text('id,q,a,key\n1,"Chai\nis?",tea,A\n3,What?,tea,A\n', encoding="utf-8")
    assert not read_records(file).remarks


# --- workbooks ----------------------------------------------------------------------------------------------


def workbook(path: Path, fill: Callable[[Any], None]) -> Path:
    book = openpyxl.Workbook()
    fill(book)
    book.save(path)
    return path


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("What do_x000D_\nchildren drink?", "What do\nchildren drink?"),
        ("a_x000D_b", "a\nb"),
        ("a_x000A_b", "a\nb"),
        ("tab_x0009_here", "tab\there"),
        ("_x005F_x000D_", "_x000D_"),
        ("snake_x_case", "snake_x_case"),
        ("_x0041_bc", "Abc"),
        ("a_x000d_b", "a\nb"),
        ("a\r\nb", "a\nb"),
        ("plain", "plain"),
    ],
)
def test_escapes_of_a_workbook_are_read_as_the_characters_that_they_stand_for(
    tmp_path: Path, stored: str, shown: str
) -> None:
    def fill(book: Any) -> None:
        book.active.append(["id", "q"])
        book.active.append(["1", stored])

    assert read_table(workbook(tmp_path / "t.xlsx", fill))[0].cells["q"] == shown


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("#REF!", "#REF! is a formula error"),
        ("#DIV/0!", "#DIV/0! is a formula error"),
        ("#N/A", "'#N/A' is what programs write for an empty cell"),
        ("one_x000D_two", "_x000D_ is how workbooks write a character"),
        ("one_x000A_two", "_x000A_ is how workbooks write a character"),
    ],
)
def test_what_a_workbook_leaves_in_a_csv_is_told(tmp_path: Path, text: str, finding: str) -> None:
    report = choices(tmp_path / "c", [("1", "Peru", "Which?", text, "y", "A")])
    assert ("warning", 2) in [(severity, row) for severity, row, _ in said(report, finding)]


@pytest.mark.parametrize("error", ["#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#N/A", "#NULL!", "#NUM!"])
def test_a_formula_error_is_named_by_its_cell(tmp_path: Path, error: str) -> None:
    def fill(book: Any) -> None:
        book.active.append(["id", "question", "answer"])
        book.active.append(["1", "What?", "tea"])
        book.active.append(["2", "Which?", None])
        cell: Cell = book.active["C3"]
        cell.value, cell.data_type = error, "e"

    (problem,) = read_records(workbook(tmp_path / "t.xlsx", fill)).problems
    assert (problem.row, problem.column) == (3, "C")
    assert f"C3 holds the formula error {error}" in problem.message


def test_a_head_of_two_rows_is_one_header_and_other_sheets_are_named(tmp_path: Path) -> None:
    def fill(book: Any) -> None:
        page = book.active
        page.append(["id", "Question", None, "Options", None])
        page.append([None, "local", "English", "A", "B"])
        page.append(["1", "ሻይ?", "Tea?", "ሻይ", "ቡና"])
        for cells in ("A1:A2", "B1:C1", "D1:E1"):
            page.merge_cells(cells)
        for row in (["id", "more"], ["1", "x"]):
            book.create_sheet("Notes").append(row) if "Notes" not in book.sheetnames else book["Notes"].append(row)

    table = read_records(workbook(tmp_path / "t.xlsx", fill))
    assert table.header == ("id", "local", "English", "A", "B")
    assert [(record.row, record.cells["English"]) for record in table.records] == [(3, "Tea?")]
    assert not table.problems
    texts = [remark.message for remark in table.remarks]
    assert any("only the first sheet, 'Sheet', is read; 'Notes' holds a table too" in text for text in texts)
    assert any("rows 1 and 2 are read as one header: id, local, English, A, B" in text for text in texts)


def test_names_of_two_groups_that_are_alike_keep_the_name_of_their_group(tmp_path: Path) -> None:
    def fill(book: Any) -> None:
        page = book.active
        page.append(["id", "Good", None, "Bad", None])
        page.append([None, "local", "English", "local", "English"])
        page.append(["1", "a", "b", "c", "d"])
        for cells in ("A1:A2", "B1:C1", "D1:E1"):
            page.merge_cells(cells)

    header = read_records(workbook(tmp_path / "t.xlsx", fill)).header
    assert header == ("id", "Good local", "Good English", "Bad local", "Bad English")


def hide_row(book: Any) -> None:
    book.active.row_dimensions[3].hidden = True


def hide_column(book: Any) -> None:
    book.active.column_dimensions["C"].hidden = True


def hide_sheet(book: Any) -> None:
    book.create_sheet("Final").append(["id"])
    book.active.sheet_state = "hidden"
    book.active = 1


def zeros_before(book: Any) -> None:
    for row in (2, 3):
        book.active.cell(row, 1).value, book.active.cell(row, 1).number_format = row - 1, "000"


def date_of_a_fraction(book: Any) -> None:
    book.active.append([3, "How much?", datetime.date(2026, 2, 1)])


def percentage(book: Any) -> None:
    book.active.append([3, "How much?", 0.25])
    book.active["C4"].number_format = "0%"


def formula(book: Any) -> None:
    book.active["C3"] = '=UPPER("tea")'


@pytest.mark.parametrize(
    ("change", "remarks", "problems", "ids"),
    [
        (hide_row, [("warning", 3, "hidden rows are read, as all others: 3")], [], ["1", "2"]),
        (hide_column, [("note", None, "hidden columns are read, as all others: C")], [], ["1", "2"]),
        (hide_sheet, [("warning", None, "the first sheet, 'Sheet', is hidden")], [], ["1", "2"]),
        (zeros_before, [], [], ["001", "002"]),
        (date_of_a_fraction, [("warning", 4, "C4 holds a date, read as 2026-02-01, among texts")], [], ["1", "2", "3"]),
        (percentage, [("warning", 4, "C4 is shown as a percentage, and read as 0.25")], [], ["1", "2", "3"]),
        (formula, [], [(3, "C", "C3 holds a formula whose result is not in the file")], ["1", "2"]),
    ],
)
def test_what_a_workbook_hides_or_shows_otherwise_is_read_as_people_see_it_or_told(
    tmp_path: Path,
    change: Callable[[Any], None],
    remarks: list[tuple[str, int | None, str]],
    problems: list[tuple[int, str, str]],
    ids: list[str],
) -> None:
    def fill(book: Any) -> None:
        for row in (["id", "question", "answer"], [1, "What?", "tea"], [2, "Which?", "milk"]):
            book.active.append(row)
        change(book)

    table = read_records(workbook(tmp_path / "t.xlsx", fill))
    assert [record.cells["id"] for record in table.records] == ids
    told = [(each.severity, each.row, each.message) for each in table.remarks]
    assert [(*each[:2], text in each[2]) for each, (_, _, text) in zip(told, remarks, strict=True)] == [
        (*each[:2], True) for each in remarks
    ]
    named = [(each.row, each.column, each.message) for each in table.problems]
    assert [(*each[:2], text in each[2]) for each, (_, _, text) in zip(named, problems, strict=True)] == [
        (*each[:2], True) for each in problems
    ]


# --- what stands twice --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (("Is tea drunk?", "yes", "no", "A"), ("Is tea drunk?", "yes", "no", "B"), "but calls 'no' right"),
        (("Is tea drunk?", "yes", "no", "A"), ("is  tea drunk?", "no", "yes", "A"), "but calls 'no' right"),
        (("Is tea drunk?", "yes", "no", "A"), ("Is tea drunk?", "no", "yes", "B"), "with the same answer"),
        (("Café?", "yes", "no", "A"), ("Cafe\u0301?", "yes", "no", "B"), "but calls 'no' right"),
        (("“Tea”?", "yes", "no", "A"), ('"Tea"?', "yes", "no", "A"), "with the same answer"),
        (("Is tea drunk?", "yes", "no", "A"), ("Is tea drunk?", "yes", "never", "B"), ""),
        (("Is tea drunk?", "yes", "no", "A"), ("Is milk drunk?", "yes", "no", "B"), ""),
    ],
)
def test_a_question_that_is_asked_twice_is_named_with_both_rows(
    tmp_path: Path, first: tuple[str, ...], second: tuple[str, ...], expected: str
) -> None:
    report = choices(tmp_path / "c", [("1", "Kenya", *first), ("2", "Kenya", *second), ("3", "Peru", *first)])
    named = said(report, "asks the same as row 2")
    assert named == ([("warning", 3, "question")] if expected else [])
    assert not expected or said(report, expected)


def test_people_s_answers_to_one_question_under_two_ids_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "q"
    folder.mkdir()
    (folder / "questions.csv").write_text(
        "id,topic,english,local,culture,language\n"
        "q1,food,What is drunk?,Nini?,Kenya,sw\nq2,food,What is drunk?,Nini?,Kenya,sw\n",
        encoding="utf-8",
    )
    (folder / "answers.csv").write_text("id,votes,local,english\nq1,3,chai,tea\nq2,3,maji,water\n", encoding="utf-8")
    report = [(f.severity, f.row, f.column, f.message) for f in check_folder(folder).report.findings]
    assert said(report, "asks the same as row 2, but calls 'maji' right where that row says 'chai'")
    (folder / "answers.csv").write_text("id,votes,local,english\nq1,3,chai,tea\n", encoding="utf-8")
    report = [(f.severity, f.row, f.column, f.message) for f in check_folder(folder).report.findings]
    assert said(report, "asks the same as row 2, and it has no answer: delete one of the two")


@pytest.mark.parametrize(
    "options",
    [
        ("café", "cafe\u0301"),
        ("Yes", "yes"),
        ("ＡＢＣ", "abc"),
        ("don’t know", "don't know"),
        ("a “hot” tea", 'a "hot" tea'),
        ("rice  and beans", "rice and beans"),
        ("ﬁsh", "fish"),
        ("１", "1"),
        ("tea\u200b", "tea"),
        ("한국", "한국".encode().decode()),
    ],
)
def test_options_that_look_alike_are_refused(tmp_path: Path, options: tuple[str, str]) -> None:
    report = choices(tmp_path / "c", [("1", "Kenya", "Which?", *options, "A")])
    assert said(report, "appears twice") == [("error", 2, "a")]


def test_options_that_differ_by_a_sign_alone_stay_apart() -> None:
    assert equal_texts(["C", "C++", "-", "+", "1.5", "15"]) is None


@given(st.text(max_size=20))
def test_the_same_text_is_the_same_however_often_it_is_folded(text: str) -> None:
    assert same_text(same_text(text)) == same_text(text)
    assert same_text(f"  {text} ") == same_text(text)


@pytest.mark.parametrize(
    ("names", "twice"),
    [
        (("South Korea", "Korea (South)", "Republic of Korea", "ROK"), 3),
        (("US", "USA", "United States of America (USA)", "United_States"), 3),
        (("Niger", "Niger (the)", "Nigeria"), 1),
        (("Iran", "Iran (Islamic Republic of)"), 1),
        (("UK", "United Kingdom", "Great Britain"), 2),
        (("Türkiye", "Turkey", "Türkiye (Turkey)"), 2),
        (("Viet Nam", "Vietnam"), 1),
        (("Kenya", "Ken\u200bya", "Kenya\u200e", "ＫＥＮＹＡ"), 3),
        (("Congo (Kinshasa)", "Congo (Brazzaville)"), 0),
        (("South Korea", "North Korea", "Northern Nigeria", "West Java", "Assam"), 0),
        (("China", "China (Hong Kong)"), 0),
        (("Hausa", "hausa", "Yorùbá", "Yoru\u0300ba\u0301", "Igbo"), 2),
    ],
)
def test_names_of_one_country_are_told(tmp_path: Path, names: tuple[str, ...], twice: int) -> None:
    rows = [(name, Origin(tmp_path / "t.csv", row)) for row, name in enumerate(names, start=2)]
    assert len(list(doubtful_cultures(rows, "country"))) == twice


def test_a_check_names_the_spellings_of_one_country(tmp_path: Path) -> None:
    report = choices(
        tmp_path / "c",
        [(str(n), name, f"Which {n}?", "x", "y", "A") for n, name in enumerate(("South Korea", "Korea (South)"))],
    )
    assert said(report, "are names of one country") == [("warning", 3, "country")]


@pytest.mark.parametrize(
    ("tags", "rows"),
    [
        (("en", "EN", "en"), [3]),
        (("en", "en-US", "en-GB"), [3, 4]),
        (("zh", "zh-Hans", "zh-Hant"), []),
        (("fil", "tl", "en"), [3]),
    ],
)
def test_tags_of_one_language_are_told(tmp_path: Path, tags: tuple[str, ...], rows: list[int]) -> None:
    """Each would count as a language of its own, one question of it as much as all of the other."""
    of_one = [("Kenya", tag, Origin(tmp_path / "t.csv", row)) for row, tag in enumerate(tags, start=2)]
    assert [finding.row for finding in doubtful_languages(of_one)] == rows
    apart = [("es-MX", "Mexico"), ("es-ES", "Spain"), ("es-mx", "Mexico")]
    several = [(country, tag, Origin(tmp_path / "t.csv", row)) for row, (tag, country) in enumerate(apart, start=2)]
    assert [finding.row for finding in doubtful_languages(several)] == [4]


def test_a_check_names_languages_that_are_one_and_what_is_none(tmp_path: Path) -> None:
    def check(*tags: str) -> list[tuple[str, int | None, str | None, str]]:
        folder = tmp_path / "-".join(tags)
        folder.mkdir()
        rows = "".join(f"{n}\tKenya\tWhich {n}?\tx\ty\tA\t{tag}\n" for n, tag in enumerate(tags))
        (folder / "t.tsv").write_text("\t".join((*CHOICE_HEAD, "tongue")) + "\n" + rows, encoding="utf-8")
        columns = {**COLUMNS, "language": "tongue"}
        return findings(folder, {"form": "blend/mcq", "table": "t.tsv", "columns": columns})

    assert said(check("en", "EN"), "are tags of one language") == [("warning", 3, "tongue")]
    # Before, a language that is none was met after all questions were asked.
    assert said(check("en", "English"), "'English' is not a BCP-47 language tag") == [("error", 3, "tongue")]
    assert said(check("en", "en_US"), "'en_US' is not a BCP-47 language tag") == [("error", 3, "tongue")]


@pytest.mark.parametrize(
    ("name", "country"),
    [
        ("Niger (the)", "Niger"),
        ("United States of America (USA)", "United States"),
        ("Türkiye (Turkey)", "Turkey"),
        ("Czechia (Czech Republic)", "Czechia"),
        ("Netherlands (the)", "Netherlands"),
        ("Philippines (PH)", "Philippines"),
        ("Philippines (the)", "Philippines"),
        ("Myanmar (Burma)", "Myanmar"),
        ("Ivory Coast (Côte d’Ivoire)", "Côte d'Ivoire"),
        ("Korea (South)", "South Korea"),
        ("Belgium (French)", None),
        ("China (Hong Kong)", None),
    ],
)
def test_a_name_with_an_addition_that_says_the_same_is_the_country(name: str, country: str | None) -> None:
    place = resolve(name)
    assert (place.country if isinstance(place, Place) else place) == country


# --- keys of choices ----------------------------------------------------------------------------------------

DRINKS = ("tea", "milk", "beer", "water")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["A", "B", "C", "D"], {"answer_is": "letter"}),
        (["a)", "b)", "c)", "d)"], {"answer_is": "letter"}),
        (["Ａ", "Ｂ", "Ｃ", "Ｄ"], {"answer_is": "letter"}),
        (["أ", "ب", "ج", "د"], {"answer_is": "letter"}),
        (["क", "ख", "ग", "घ"], {"answer_is": "letter"}),
        (["“A”", "“B”", "“C”", "“D”"], {"answer_is": "letter"}),
        (["Option A", "Option B", "Option C", "Option D"], {"answer_is": "letter"}),
        (["A. tea", "B. milk", "C. beer", "D. water"], {"answer_is": "letter"}),
        (["А", "Б", "В", "Г"], {"values": {"answer": {"А": "A", "Б": "B", "В": "C", "Г": "D"}}}),
        (["0", "1", "2", "3"], {"answer_is": "number from 0"}),
        (["1", "2", "3", "4"], {"answer_is": "number from 1"}),
        (["1.0", "2.0", "3.0", "4.0"], {"answer_is": "number from 1"}),
        (["0.0", "1.0", "2.0", "3.0"], {"answer_is": "number from 0"}),
        (["٠", "١", "٢", "٣"], {"answer_is": "number from 0"}),
        (["١", "٢", "٣", "٤"], {"answer_is": "number from 1"}),
        (["১", "২", "৩", "৪"], {"answer_is": "number from 1"}),
        (["፩", "፪", "፫", "፬"], {"answer_is": "number from 1"}),
        (["A"] * 11 + ["E"], {"answer_is": "letter"}),
        (["tea", "milk", "beer", "water"], {"answer_is": "text"}),
        (["TEA ", "Milk", "beer", "water"], {"answer_is": "text"}),
    ],
)
def test_a_guess_reads_keys_as_the_table_writes_them(tmp_path: Path, keys: list[str], expected: dict[str, Any]) -> None:
    rows = [f"{n},Kenya,What is drunk {n} times a day?,{','.join(DRINKS)},{keys[n % len(keys)]}" for n in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(["id,country,question,a,b,c,d,answer", *rows]) + "\n", encoding="utf-8")
    guessed = guess_mapping([tmp_path / "t.csv"])
    assert expected.items() <= guessed.fields.items()
    assert not guessed.unsure
    (tmp_path / "mapping.yaml").write_text(guessed.as_yaml(), encoding="utf-8")
    if "E" in keys:  # one fault among letters
        assert [each.row for each in check_folder(tmp_path).errors] == [13]
        return
    items = kapwa.load_task("blend/mcq", data=tmp_path).items()
    assert [item.fields["answer"] for item in items] == list("ABCD") * 3


@pytest.mark.parametrize(
    ("options", "keys", "doubt"),
    [
        (DRINKS, ["1", "2", "3"], "begin with 0 or 1"),
        (("1", "2", "3", "4"), ["1", "2", "3", "4"], "places or the texts of options"),
        (("3", "2", "1", "0"), ["0", "1", "2", "3"], "places or the texts of options"),
        (("B", "A", "D", "C"), ["A", "B", "C", "D"], "places or the texts of options"),
    ],
)
def test_a_guess_says_where_keys_can_be_read_in_two_ways(
    tmp_path: Path, options: tuple[str, ...], keys: list[str], doubt: str
) -> None:
    rows = [f"{n},Kenya,What is said {n} times a day?,{','.join(options)},{keys[n % len(keys)]}" for n in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(["id,country,question,a,b,c,d,answer", *rows]) + "\n", encoding="utf-8")
    assert [doubt in sentence for sentence in guess_mapping([tmp_path / "t.csv"]).unsure] == [True]


@pytest.mark.parametrize(
    ("row", "how", "severity", "message"),
    [
        (("2", "1", "1"), "number from 1", "warning", "means option A, but is the text of option B"),
        (("B", "A", "A"), "letter", "warning", "means option A, but is the text of option B"),
        (("1", "2", "1"), "number from 1", "", ""),
        (("A", "B", "В"), "letter", "error", "'В' is Cyrillic"),
        (("A) tea", "B) milk", "A"), "letter", "note", "has a letter or number before it"),
        (("1. tea", "2. milk", "1"), "number from 1", "note", "has a letter or number before it"),
        (("1:00", "2:00", "A"), "letter", "", ""),
        (("A. Lincoln", "G. Washington", "A"), "letter", "", ""),
    ],
)
def test_keys_and_labels_of_options_that_can_be_read_in_two_ways_are_told(
    tmp_path: Path, row: tuple[str, ...], how: str, severity: str, message: str
) -> None:
    report = choices(tmp_path / "c", [("1", "Kenya", "Which?", *row)], answer_is=how)
    told = [each for each in report if each[2] in ("a", "key") and each[0] != "note"] + said(
        report, "has a letter or number"
    )
    assert [each[0] for each in told] == ([severity] if severity else [])
    assert not message or said(report, message)


@pytest.mark.parametrize(("text", "sign"), [("fish &amp; chips", "&amp;"), ("tea<br>", "<br>"), ("don&#39;t", "&#39;")])
def test_signs_of_web_pages_are_told(text: str, sign: str) -> None:
    assert [repr(sign) in message for _, message in cell_oddities(text) if "web pages" in message] == [True]
    assert not [message for _, message in cell_oddities("R&D <3, a < b & c") if "web pages" in message]


def test_one_key_for_all_questions_is_told(tmp_path: Path) -> None:
    rows = [(str(n), "Kenya", f"Which {n}?", "x", "y", "A") for n in range(12)]
    assert said(choices(tmp_path / "c", rows), "the right option is A in all 12 questions") == [("warning", None, None)]
    assert not said(choices(tmp_path / "d", [*rows, ("13", "Kenya", "What?", "x", "y", "B")]), "the right option")


def test_numbers_before_short_answers_are_no_part_of_them(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("q\ta\nWhat?\t1. rice|2. beans\nWhich?\t1.5|2.5\n", encoding="utf-8")
    mapping = {"form": "blend/saq", "table": "t.tsv", "columns": {"local": "q", "answers": "a"}}
    more = {"constants": {"culture": "Kenya", "language": "en"}, "separators": {"answers": "|"}}
    report = findings(tmp_path, {**mapping, **more, "prompts": [{"id": "inst-4", "local": "{q}"}]})
    assert said(report, "has a letter or number before it") == [("note", 2, "a")]
    items = kapwa.load_task("blend/saq", data=tmp_path).items()
    answers = [[group.local[0] for group in item.fields["answers"]] for item in items]
    assert answers == [["rice", "beans"], ["1.5", "2.5"]]


def test_options_by_numbers_are_in_the_order_of_the_numbers(tmp_path: Path) -> None:
    options = {str(n): f"drink {n}" for n in range(1, 13)}
    row = {"question": "What is drunk?", "country": "Kenya", "options": options, "answer": "2"}
    (tmp_path / "t.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    columns = {name: name for name in ("question", "country", "options", "answer")}
    findings(tmp_path, {"form": "blend/mcq", "table": "t.jsonl", "columns": columns, "answer_is": "number from 1"})
    (item,) = kapwa.load_task("blend/mcq", data=tmp_path).items()
    assert item.fields["options"][ord(item.fields["answer"]) - ord("A")] == "drink 2"


def test_a_note_or_total_among_the_rows_is_named_as_one(tmp_path: Path) -> None:
    rows = [
        ("1", "Kenya", "Which?", "x", "y", "A"),
        ("2", "Kenya", "What?", "x", "y", "B"),
        ("Total", "", "", "", "", "3"),
    ]
    report = choices(tmp_path / "c", rows)
    assert [each[:3] for each in report if each[0] == "error"] == [("error", 4, "nr")]
    assert said(report, "'Total' stands in a row that holds little else")


# --- opinions -----------------------------------------------------------------------------------------------


def survey(folder: Path, rows: list[dict[str, Any]], **columns: str) -> list[tuple[str, int | None, str | None, str]]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    mapping = {"form": "opinions/survey", "table": "t.jsonl", "columns": {**SURVEY, **columns}}
    return findings(folder, {**mapping, "constants": {"language": "en"}})


def asked(question: str, country: str, options: list[str], shares: list[float]) -> dict[str, Any]:
    return {"q": question, "country": country, "options": options, "shares": shares}


def test_rows_of_one_question_are_one_question_where_no_column_names_it(tmp_path: Path) -> None:
    rows = [asked("Is family important?", c, ["yes", "no"], [0.6, 0.4]) for c in ("Kenya", "Peru", "Japan")]
    rows += [asked("is family  important?", "Chile", ["Yes", "no"], [0.6, 0.4])]
    rows += [asked("Is family important?", "Kenya", ["very", "a little"], [0.6, 0.4])]
    report = survey(tmp_path / "s", rows)
    assert said(report, "5 rows as 2 questions") == [("note", 1, None)]
    task = kapwa.load_task("opinions/survey", data=tmp_path / "s")
    assert len({item.cluster for item in task.items()}) == 2


def test_ids_of_questions_stay_where_a_column_names_them(tmp_path: Path) -> None:
    rows = [asked("Is it?", c, ["yes", "no"], [0.5, 0.5]) | {"n": f"q{i}"} for i, c in enumerate(("Kenya", "Peru"))]
    assert not said(survey(tmp_path / "s", rows, question_id="n"), "taken as one")
    task = kapwa.load_task("opinions/survey", data=tmp_path / "s")
    assert {item.id.partition("/")[0] for item in task.items()} == {"q0", "q1"}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["1", "2", "3", "99"], "99"),
        (["1", "2", "3", "4", "999"], "999"),
        (["-1", "1", "2", "3"], "-1"),
        (["1", "2", "3", "8", "9", "98"], "98"),
        (["1.0", "2.0", "3.0", "99.0"], "99.0"),
        (["1", "2", "3", "4", "5"], ""),
        (["96", "97", "98", "99"], ""),
        (["yes", "no", "99"], ""),
        (["1", "99"], ""),
    ],
)
def test_codes_for_no_answer_are_told(tmp_path: Path, options: list[str], code: str) -> None:
    report = survey(tmp_path / "s", [asked("How often?", "Kenya", options, [1.0] * len(options))])
    assert said(report, f"the option {code!r} looks like a code for no answer") == (
        [("warning", 1, "options")] if code else []
    )


# --- encodings, numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["café", "naïve", "“tea”", "it’s", "تمر هندي", "ሻይ", "чай", "お茶", "Türkçe", "año — sí"]
)
def test_a_text_in_a_wrong_encoding_is_named_with_what_it_was(text: str) -> None:
    misread = text.encode().decode("latin-1")
    meant = [message for _, message in cell_oddities(misread) if "in a wrong encoding" in message]
    assert meant, misread
    assert not [message for _, message in cell_oddities(text) if "in a wrong encoding" in message]


@pytest.mark.parametrize("encoding", ["cp1256", "cp1251", "gb18030", "cp1253"])
@pytest.mark.parametrize("text", ["ماذا يأكل الناس", "привет", "文字化け"])
def test_a_text_in_the_code_page_of_another_script_is_named_too(text: str, encoding: str) -> None:
    misread = text.encode().decode(encoding, "replace")
    if "\ufffd" not in misread:
        assert [message for _, message in cell_oddities(misread) if "in a wrong encoding" in message], misread


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("ماذا يأكل الناس", "cp1256"), ("привет", "cp1251"), ("καλημέρα", "cp1253"), ("שלום", "cp1255")],
)
def test_words_of_accented_letters_alone_are_told(text: str, encoding: str) -> None:
    misread = text.encode(encoding).decode("cp1252")
    assert [message for _, message in cell_oddities(misread) if "only accented letters" in message], misread
    assert not [message for _, message in cell_oddities(text) if "accented" in message or "encoding" in message]


@pytest.mark.parametrize("text", ["«CAFÉ»", "São João", "Ångström", "10 °C", "Đặng Thị", "ÇA VA", "Ærø", "¿Qué?", "£5"])
def test_letters_with_accents_are_no_wrong_encoding(text: str) -> None:
    assert not [message for _, message in cell_oddities(text) if "in a wrong encoding" in message]


def test_whole_numbers_written_as_fractions_are_read_and_told(tmp_path: Path) -> None:
    rows = [(f"{n}.0", "Kenya", f"Which {n}?", "x", "y", f"{n % 2}.0") for n in range(3)]
    report = choices(tmp_path / "c", rows, answer_is="number from 0")
    assert not [each for each in report if each[0] == "error"]
    table = read_records(tmp_path / "c" / "t.tsv")
    named = [(finding.row, finding.column) for finding in table_oddities(table) if "whole numbers" in finding.message]
    assert named == [(2, "nr"), (2, "key")]


# --- answers, formulas, guesses -----------------------------------------------------------------------------


def test_answers_with_a_nul_byte_are_judged_as_their_export_is(tmp_path: Path) -> None:
    choices(tmp_path / "c", [("1", "Kenya", "Which?", "x", "y", "A"), ("2", "Kenya", "What?", "x", "y", "A")])
    (tmp_path / "r.jsonl").write_text(
        '{"item_id": "Kenya/1", "text": "A\\u0000"}\n{"item_id": "Kenya/2", "text": "B"}\n'
    )
    task = kapwa.load_task("blend/mcq", data=tmp_path / "c")
    first = kapwa.score_responses(task, tmp_path / "r.jsonl")
    kapwa.export_csv(first, tmp_path / "tables")
    again = kapwa.score_responses(task, tmp_path / "tables" / "answers.csv")
    assert first.scores.select("item_id", "metric", "value", "outcome").equals(
        again.scores.select("item_id", "metric", "value", "outcome")
    )


def hidden_answers(path: Path) -> None:
    def fill(book: Any) -> None:
        for row in (["item_id", "text"], ["Kenya/1", "A"], ["Kenya/2", "B"]):
            book.active.append(row)
        hide_row(book)

    workbook(path, fill)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("r.csv", 'item_id,text\nKenya/1,"A because\nKenya/2,B"\n', "quotation marks join 2 lines of the file"),
        ("r.csv", "item_id,text\nKenya/1,nan\nKenya/2,nan\n", "2 answers are 'nan'"),
        ("r.csv", "item_id,text,sample\nKenya/1,A,0.0\nKenya/2,B,0.0\n", ""),
        ("r.csv", "item_id,text\nKenya/1,A\nKenya/2,B\n", ""),
        ("r.xlsx", hidden_answers, "hidden rows are read"),
    ],
)
def test_doubts_about_a_file_of_answers_are_told_as_they_are_judged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, content: str | Callable[[Path], None], said: str
) -> None:
    choices(tmp_path / "c", [("1", "Kenya", "Which?", "x", "y", "A"), ("2", "Kenya", "What?", "x", "y", "A")])
    file = tmp_path / name
    file.write_text(content, encoding="utf-8") if isinstance(content, str) else content(file)
    kapwa.score_responses(kapwa.load_task("blend/mcq", data=tmp_path / "c"), file)
    warnings = [record.getMessage() for record in caplog.records if str(file) in record.getMessage()]
    assert [said in warning for warning in warnings] == [True] * bool(said)


@pytest.mark.parametrize(
    ("row", "column", "message"),
    [
        ({"item_id": "Kenya/1", "variant": "other"}, "variant", "variant 'other' of item 'Kenya/1'"),
        ({"item_id": "Kenya/1", "sample": "3"}, "sample", "sample 3 of item 'Kenya/1'"),
        ({"item_id": "Kenia/1"}, "item_id", "item 'Kenia/1'"),
    ],
)
def test_answers_that_nothing_asks_for_are_refused_by_what_does_not_fit(
    tmp_path: Path, row: dict[str, str], column: str, message: str
) -> None:
    choices(tmp_path / "c", [("1", "Kenya", "Which?", "x", "y", "A")])
    (tmp_path / "r.jsonl").write_text(json.dumps({**row, "text": "A"}) + "\n")
    with pytest.raises(DataError) as raised:
        kapwa.score_responses(kapwa.load_task("blend/mcq", data=tmp_path / "c"), tmp_path / "r.jsonl")
    assert (raised.value.row, raised.value.column) == (1, column)
    assert message in raised.value.message


@pytest.mark.parametrize("text", ["tea;=1+1", "tea; =cmd()", "a;b;@x", "x;+1", "x;-1+cmd", "one\n=1+1", "=1;=2"])
def test_no_piece_of_a_cell_begins_as_a_formula(text: str) -> None:
    pieces = [piece.strip(" ") for line in disarm(text).split("\n") for piece in line.split(";")]
    assert not [piece for piece in pieces if piece[:1] in set("=+-@")]


def test_a_list_with_dashes_stays_as_it_is_written() -> None:
    assert disarm("Drinks:\n- tea\n- coffee") == "Drinks:\n- tea\n- coffee"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"options": ["tea", "milk", "beer"], "label": 1}, {"form": "blend/mcq", "answer": "label"}),
        ({"options": ["yes", "no"], "distribution": [0.3, 0.7]}, {"form": "opinions/survey", "shares": "distribution"}),
        ({"options": ["yes", "no"], "counts": [30, 7]}, {"form": "opinions/survey", "counts": "counts"}),
        ({"options": "['yes', 'no']", "selections": "{'Peru': [0.3, 0.7]}"}, {"selections": "selections"}),
    ],
)
def test_guesses_know_what_columns_of_published_tables_are_called(
    tmp_path: Path, row: dict[str, Any], expected: dict[str, str]
) -> None:
    rows = [
        {"question": f"What do people in town {n} think of mornings?", "country": "Kenya", **row} for n in range(12)
    ]
    file = tmp_path / "t.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    done = CliRunner().invoke(app, ["suite", "guess", str(file), "--output", str(tmp_path / "mapping.yaml")])
    assert done.exit_code == 0, done.output
    guessed = yaml.safe_load((tmp_path / "mapping.yaml").read_text(encoding="utf-8"))
    assert expected.items() <= {"form": guessed["form"], **guessed["columns"]}.items()


@pytest.mark.parametrize(
    ("head", "cells", "expected"),
    [
        ("q,choices,answer_index,nation", "What is {n}?,x{n}|y{n}|z{n},0,Peru", ("blend/mcq", "q", "answer_index")),
        ("query,opa,opb,opc,cop,region", "What is {n}?,x{n},y{n},z{n},1,Peru", ("blend/mcq", "query", "cop")),
        ("Question,Option 1,Option 2,Correct Option,Country", "What is {n}?,x{n},y{n},1,Peru",
         ("blend/mcq", "Question", "Correct Option")),
        ("input,target,culture", "What is eaten {n} at home?,rice {n},Peru", ("blend/saq", "input", "target")),
        ("Question,Réponse,Pays", "Que mange-t-on {n} là-bas?,riz {n},France", ("blend/saq", "Question", "Réponse")),
        ("Frage,Antwort,Land", "Was isst man {n} zu Hause?,Reis {n},Österreich", ("blend/saq", "Frage", "Antwort")),
        ("Pergunta,Resposta,País", "O que comem {n} em casa?,arroz {n},Brasil", ("blend/saq", "Pergunta", "Resposta")),
        ("प्रश्न,उत्तर,देश", "घर पर {n} क्या खाते हैं?,चावल {n},भारत", ("blend/saq", "प्रश्न", "उत्तर")),
        ("问题,答案,国家", "家里第{n}天通常吃什么东西呢?,米饭{n},中国", ("blend/saq", "问题", "答案")),
        ("Soru,Cevap,Ülke", "Evde {n} gün ne yenir?,pilav {n},Türkiye", ("blend/saq", "Soru", "Cevap")),
        # Exports of KoboToolbox and LimeSurvey, and right answers beside wrong options alone.
        ("_id,group1/country,group1/question,group1/answer", "{n},Kenya,What is eaten {n} at home?,rice {n}",
         ("blend/saq", "group1/question", "group1/answer")),
        ("id. Response ID,G1Q1. Question,G1Q2. Answer", "{n},What is eaten {n} at home?,rice {n}",
         ("blend/saq", "G1Q1. Question", "G1Q2. Answer")),
        ("question,correct_answer,wrong_answer_1,wrong_answer_2,country", "What is eaten {n}?,rice,{n},sand,Peru",
         ("blend/mcq", "question", "correct_answer")),
        ("question,options,answer,country", "What is eaten {n}?,rice / sand {n} / glue,rice,Peru",
         ("blend/mcq", "question", "answer")),
    ],
)  # fmt: skip
def test_guesses_know_columns_in_other_languages_and_of_other_tools(
    tmp_path: Path, head: str, cells: str, expected: tuple[str, str, str]
) -> None:
    file = tmp_path / "t.csv"
    file.write_text("\n".join([head, *(cells.format(n=n) for n in range(12))]) + "\n", encoding="utf-8")
    guessed = guess_mapping([file]).fields
    names = ("question", "answer") if guessed["form"] == "blend/mcq" else ("local", "answers")
    assert (guessed["form"], *(guessed["columns"][name] for name in names)) == expected


def test_a_guess_says_that_pictures_are_left_out(tmp_path: Path) -> None:
    head = "Tanong,Larawan,A,B,Sagot,Bansa"
    rows = [f"Ano ang nasa larawan bilang {n}?,img{n}.png,aso,pusa,A,Philippines" for n in range(12)]
    (tmp_path / "t.csv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["suite", "guess", str(tmp_path / "t.csv"), "--output", str(tmp_path / "m.yaml")])
    assert done.exit_code == 0, done.output
    assert "'Larawan', which seems to hold pictures" in (tmp_path / "m.yaml").read_text(encoding="utf-8")


# --- runs among pages ---------------------------------------------------------------------------------------


def test_a_report_takes_a_folder_of_runs_and_passes_over_pages(tmp_path: Path) -> None:
    choices(tmp_path / "c", [("1", "Kenya", "Which?", "x", "y", "A"), ("2", "Kenya", "What?", "x", "y", "A")])
    (tmp_path / "r.jsonl").write_text('{"item_id": "Kenya/1", "text": "A"}\n{"item_id": "Kenya/2", "text": "B"}\n')
    task = kapwa.load_task("blend/mcq", data=tmp_path / "c")
    run = kapwa.evaluate(task, kapwa.load_model(f"replay:{tmp_path / 'r.jsonl'}"), out=tmp_path / "runs")
    page = kapwa.write_report(run, tmp_path / "runs" / "page.html")
    for named in ([tmp_path / "runs"], [page, run.path], sorted((tmp_path / "runs").iterdir())):
        assert kapwa.write_report(named, tmp_path / "again.html").is_file()
    with pytest.raises(UsageError):
        kapwa.write_report([page], tmp_path / "none.html")


@pytest.mark.parametrize(
    ("name", "sign", "texts"),
    [
        ("r.tsv", "\t", ['"A story', 'of tea"']),
        ("r.csv", ";", ["A story, with commas", "of tea"]),
        ("r.tsv", "\t", ["A story", 'a 5" pipe']),
        ("r.csv", ",", ["A story", "of tea"]),
    ],
)
def test_responses_in_a_table_are_told_apart_as_in_every_table(
    tmp_path: Path, name: str, sign: str, texts: list[str]
) -> None:
    head = sign.join(("topic", "concept", "nationality", "text"))
    rows = [sign.join(("food", "rice", "Filipino", text)) for text in texts]
    (tmp_path / name).write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    (frame,) = file_tables(tmp_path / name, SourceOptions())
    assert frame["text"].to_list() == texts

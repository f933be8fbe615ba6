"""Workbooks as LibreOffice saves them (ODS): the same rows, and the same things named, as in a workbook in XLSX."""

import zipfile
from pathlib import Path

import pytest

import kapwa
from kapwa.errors import DataError
from kapwa.tables import TextTable, read_records, read_with_problems

NAMES = ' xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
NAMES += ' xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
NAMES += ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
NAMES += ' xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"'
COVERED = "<table:covered-table-cell/>"


def cell(text: str, more: str = "") -> str:
    return f'<table:table-cell office:value-type="string" {more}><text:p>{text}</text:p></table:table-cell>'


def typed(kind: str, attribute: str, value: str, shown: str = "shown") -> str:
    opened = f'<table:table-cell office:value-type="{kind}" office:{attribute}="{value}">'
    return f"{opened}<text:p>{shown}</text:p></table:table-cell>"


def row(*cells: str, more: str = "") -> str:
    written = (each if each.startswith("<") else cell(each) for each in cells)
    return f"<table:table-row {more}>{''.join(written)}</table:table-row>"


# What fills a sheet to its last corner.
REST = row('<table:table-cell table:number-columns-repeated="16384"/>', more='table:number-rows-repeated="1048000"')


def save(path: Path, *sheets: tuple[str, list[str]], before: str = "") -> Path:
    tables = "".join(f'<table:table table:name="{name}">{"".join(rows)}{REST}</table:table>' for name, rows in sheets)
    body = f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        content = f"<?xml version='1.0'?>{before}<office:document-content{NAMES}>{body}</office:document-content>"
        archive.writestr("content.xml", content)
    return path


def cells(table: TextTable) -> list[list[str]]:
    return [[str(text) for text in record.cells.values()] for record in table.records]


def problems(table: TextTable) -> list[tuple[int | None, str | None, str]]:
    return [(problem.row, problem.column, problem.message) for problem in table.problems]


def test_texts_numbers_dates_and_times(tmp_path: Path) -> None:
    rows = [
        row("id", "text", "when"),
        row("007", "two<text:s text:c='2'/>blanks<text:line-break/>a line", typed("date", "date-value", "2024-05-01")),
        row(typed("float", "value", "3", "3.00"), "<table:table-cell/>", typed("time", "time-value", "PT09H05M00S")),
        row(typed("percentage", "value", "0.25"), "a<text:tab/><text:span>b</text:span>c", "x"),
        row("8", typed("boolean", "boolean-value", "true"), typed("date", "date-value", "2024-05-01T18:30:00")),
    ]
    table = read_records(save(tmp_path / "t.ods", ("S", rows)))
    assert table.problems == []
    assert cells(table) == [
        ["007", "two  blanks\na line", "2024-05-01"],
        ["3", "", "09:05"],
        ["0.25", "a\tbc", "x"],
        ["8", "True", "2024-05-01 18:30"],
    ]


def test_paragraphs_are_lines_and_comments_are_no_text(tmp_path: Path) -> None:
    comment = "<office:annotation><text:p>ask Ana</text:p></office:annotation>"
    two = f'<table:table-cell office:value-type="string">{comment}<text:p>one</text:p><text:p>two</text:p>'
    table = read_records(save(tmp_path / "t.ods", ("S", [row("a", "b"), row(f"{two}</table:table-cell>", "x")])))
    assert cells(table) == [["one\ntwo", "x"]]


def test_repeated_rows_and_cells_keep_their_numbers(tmp_path: Path) -> None:
    rows = [
        row("a", "b", "c"),
        row(cell("x", 'table:number-columns-repeated="3"'), more='table:number-rows-repeated="2"'),
        row("<table:table-cell/>", more='table:number-rows-repeated="4"'),
        row("last", '<table:table-cell table:number-columns-repeated="1"/>', "z"),
    ]
    table = read_records(save(tmp_path / "t.ods", ("S", rows)))
    assert [(record.row, *record.cells.values()) for record in table.records] == [
        (2, "x", "x", "x"), (3, "x", "x", "x"), (8, "last", "", "z"),
    ]  # fmt: skip


def test_a_head_of_two_rows_is_found(tmp_path: Path) -> None:
    rows = [
        row(cell("id", 'table:number-rows-spanned="2"'), cell("Options", 'table:number-columns-spanned="2"'), COVERED),
        row(COVERED, "A", "B"),
        row("1", "rice", "bread"),
    ]
    table = read_records(save(tmp_path / "t.ods", ("S", rows)))
    assert table.header == ("id", "A", "B")
    assert cells(table) == [["1", "rice", "bread"]]
    assert table.remarks[0].message == "rows 1 and 2 are read as one header: id, A, B"


def test_merged_cells_below_the_head_are_named(tmp_path: Path) -> None:
    rows = [row("a", "b"), row(cell("x", 'table:number-rows-spanned="2"'), "1"), row(COVERED, "2")]
    table = read_records(save(tmp_path / "t.ods", ("S", rows)))
    assert problems(table) == [(2, "A", "the cells A2:A3 are merged: only A2 holds the text.")]


@pytest.mark.parametrize("error", ["#REF!", "#NAME?", "#DIV/0!", "Err:502"])
def test_formula_errors_are_named_by_their_cell(tmp_path: Path, error: str) -> None:
    wrong = f'<table:table-cell office:value-type="string" calcext:value-type="error"><text:p>{error}</text:p>'
    table = read_records(save(tmp_path / "t.ods", ("S", [row("a", "b"), row("x", f"{wrong}</table:table-cell>")])))
    assert problems(table) == [(2, "B", f"B2 holds the formula error {error} and no text.")]


def test_other_sheets_are_named(tmp_path: Path) -> None:
    table = [row("a", "b"), row("1", "2")]
    notes = row("only a note")
    read = read_records(save(tmp_path / "t.ods", ("First", table), ("Notes", [notes]), ("More", table)))
    assert [remark.message for remark in read.remarks] == [
        "only the first sheet, 'First', is read; 'More' holds a table too"
    ]
    with pytest.raises(DataError, match=r"that one, 'Notes', holds no table\.") as caught:
        read_with_problems(save(tmp_path / "u.ods", ("Notes", [notes]), ("More", table)))
    assert "'More' to the front" in str(caught.value.hint)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"<office:document-content"])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.ods"
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as ODS: it is not a workbook, or it is damaged"):
        read_with_problems(path)


def test_declared_entities_are_refused(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    path = save(tmp_path / "t.ods", ("S", [row("&b;", "b"), row("1", "2")]), before=bomb)
    with pytest.raises(DataError, match="cannot be read as ODS"):
        read_with_problems(path)


def test_one_cell_repeated_to_the_last_corner_is_refused(tmp_path: Path) -> None:
    wide = cell("x", 'table:number-columns-repeated="16384"')
    rows = [row("a", "b"), row(wide, more='table:number-rows-repeated="1048000"')]
    with pytest.raises(DataError, match="is too wide or too large") as caught:
        read_with_problems(save(tmp_path / "t.ods", ("S", rows)))
    assert caught.value.row == 2


def test_a_workbook_is_a_table_of_a_form_and_of_a_mapping(tmp_path: Path) -> None:
    (tmp_path / "mapping.yaml").write_text(
        "form: blend/mcq\ntable: set.ods\nanswer_is: letter\n"
        "columns: {country: land, question: q, answer: right, option_A: a, option_B: b}\n"
    )
    save(tmp_path / "set.ods", ("S", [row("land", "q", "a", "b", "right"), row("Peru", "Bread?", "yes", "no", "B")]))
    item = kapwa.load_task("blend/mcq", data=tmp_path).items()[0]
    assert (item.culture, item.fields["question"], item.fields["answer"]) == ("Peru", "Bread?", "B")

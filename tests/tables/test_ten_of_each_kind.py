"""Ten made-up tables of each kind that people and programs make: read as their author sees them, or named by row."""

import csv
import datetime
import io
import json
import random
from pathlib import Path

import openpyxl
import polars as pl
import pytest

from kapwa.errors import DataError
from kapwa.tables import TextTable, peek_header, read_records, read_with_problems

TEN = pytest.mark.parametrize("seed", range(10))
WORDS = (
    *(
        "rice",
        "Chai, hot",
        "ምግብ",
        "चावल",
        "crème brûlée",
        "5,50",
        "1.234,5",
        "食べる",
        "¿Qué?",
        "naïve",
        "O'Brien",
        "a-b",
    ),
    *("50 %", "tea & milk", "x/y", "été", "0012", "100.0", "Ñandú", "Ərzaq"),
)
Lines = list[list[str]]


def made(seed: int, *, words: tuple[str, ...] = WORDS, plain: bool = False) -> tuple[random.Random, Lines]:
    """A header and four to nine rows of two to five columns; ``plain``: without what must be enclosed in marks."""
    rng = random.Random(seed)
    chosen = [word for word in words if "," not in word] if plain else list(words)
    width = rng.randint(2, 5)
    header = [f"column {i}" for i in range(width)]
    return rng, [header, *([rng.choice(chosen) for _ in range(width)] for _ in range(rng.randint(4, 9)))]


def text_of(lines: Lines, separator: str = ",", end: str = "\n") -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator, lineterminator=end).writerows(lines)
    return out.getvalue()


def read(path: Path, content: bytes | str) -> TextTable:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_records(path)


def cells(table: TextTable) -> Lines:
    return [list(table.header), *([str(cell) for cell in record.cells.values()] for record in table.records)]


def is_read(path: Path, content: bytes | str, lines: Lines) -> TextTable:
    table = read(path, content)
    assert not table.problems
    assert cells(table) == lines
    if path.suffix in (".csv", ".tsv"):
        assert peek_header(path) == table.header
    return table


# --- what parts cells, rows and columns ---------------------------------------------------------------------


@TEN
@pytest.mark.parametrize(
    ("separator", "suffix"), [(",", "csv"), (";", "csv"), ("\t", "csv"), ("\t", "tsv"), (";", "tsv")]
)
def test_what_parts_cells_is_found(tmp_path: Path, seed: int, separator: str, suffix: str) -> None:
    _, lines = made(seed, plain=separator == ",")
    is_read(tmp_path / f"t.{suffix}", text_of(lines, separator), lines)


@TEN
@pytest.mark.parametrize("separator", [";", "\t"])
def test_commas_of_numbers_and_of_sentences_part_no_cells(tmp_path: Path, seed: int, separator: str) -> None:
    rng = random.Random(seed)
    lines = [
        ["Country", "Score, mean"],
        *([f"people {i}", f"{rng.randint(0, 9)},{rng.randint(1, 99)}"] for i in range(6)),
    ]
    is_read(tmp_path / "t.csv", text_of(lines, separator), lines)


@TEN
def test_a_first_line_that_names_the_separator_is_no_row(tmp_path: Path, seed: int) -> None:
    rng, lines = made(seed)
    separator = rng.choice(",;\t|")
    table = is_read(tmp_path / "t.csv", f"sep={separator}\r\n" + text_of(lines, separator), lines)
    assert table.records[0].row == 3  # as a spreadsheet that knows nothing of that line counts


@TEN
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_in_any_way(tmp_path: Path, seed: int, end: str) -> None:
    _, lines = made(seed)
    is_read(tmp_path / "t.csv", text_of(lines, end=end), lines)


@TEN
def test_empty_rows_and_columns_are_passed_over(tmp_path: Path, seed: int) -> None:
    rng, lines = made(seed)
    wide = [[*line, *[""] * rng.randint(0, 3)] if number else [*line, ""] for number, line in enumerate(lines)]
    wide = [line if len(line) > len(lines[0]) else [*line, ""] for line in wide]
    text = text_of(wide).splitlines(keepends=True)
    for _ in range(3):
        text.insert(rng.randint(1, len(text)), rng.choice(["\n", ",\n", " , \n"]))
    is_read(tmp_path / "t.csv", "".join(text), lines)


@TEN
def test_a_value_beyond_the_header_is_named_with_its_row(tmp_path: Path, seed: int) -> None:
    rng, lines = made(seed)
    row = rng.randint(1, len(lines) - 1)
    table = read(tmp_path / "t.csv", text_of([[*line, "more"] if i == row else line for i, line in enumerate(lines)]))
    assert [problem.row for problem in table.problems] == [row + 1]
    assert cells(table) == [line for i, line in enumerate(lines) if i != row]


@TEN
def test_a_column_without_a_name_is_left_out_and_told(tmp_path: Path, seed: int) -> None:
    _, lines = made(seed)
    numbered = [["" if not i else str(i), *line] for i, line in enumerate(lines)]
    table = is_read(tmp_path / "t.csv", text_of(numbered), lines)
    assert [remark.message for remark in table.remarks] == ["column A has no name in the header: not read"]


@TEN
def test_a_blank_before_marks_that_enclose_is_no_text(tmp_path: Path, seed: int) -> None:
    _, lines = made(seed)
    lines = [*lines, ["one, two"] * len(lines[0])]
    is_read(tmp_path / "t.csv", text_of(lines).replace(',"', ', "'), lines)


# --- headers ------------------------------------------------------------------------------------------------


@TEN
def test_a_name_that_stands_twice_is_named(tmp_path: Path, seed: int) -> None:
    rng, lines = made(seed)
    lines[0][-1] = rng.choice(lines[0][:-1])
    table = read(tmp_path / "t.csv", text_of(lines))
    assert [(problem.row, problem.column) for problem in table.problems] == [(1, lines[0][-1])]
    assert not table.records


@TEN
def test_a_title_above_the_header_is_named(tmp_path: Path, seed: int) -> None:
    rng, lines = made(seed)
    titles = rng.randint(1, 3)
    above = [[f"Survey of {seed}", *[""] * (len(lines[0]) - 1)] for _ in range(titles)]
    table = read(tmp_path / "t.csv", text_of([*above, *lines]))
    assert [problem.row for problem in table.problems] == [1]
    assert cells(table) == lines


@TEN
def test_a_key_that_stands_twice_in_an_object_is_refused(tmp_path: Path, seed: int) -> None:
    _, lines = made(seed)
    rows = ["{" + ", ".join(f'"{name}": "x"' for name in lines[0]) + "}" for _ in lines]
    rows[seed % len(rows)] = rows[0][:-1] + f', "{lines[0][0]}": "y"' + "}"
    problems = read(tmp_path / "t.jsonl", "\n".join(rows)).problems
    assert [problem.row for problem in problems] == [seed % len(rows) + 1]
    assert repr(lines[0][0]) in str(problems[0])


# --- encodings ----------------------------------------------------------------------------------------------


@TEN
def test_byte_order_marks_are_no_part_of_the_first_name(tmp_path: Path, seed: int) -> None:
    rng, lines = made(seed)
    is_read(tmp_path / "t.csv", "\ufeff" * rng.randint(1, 3) + text_of(lines), lines)


@TEN
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_called_so(tmp_path: Path, seed: int, encoding: str) -> None:
    _, lines = made(seed)
    with pytest.raises(DataError, match="UTF-16"):
        raise read(tmp_path / "t.csv", text_of(lines).encode(encoding)).problems[0]


@TEN
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_a_western_encoding_is_named_with_its_row(tmp_path: Path, seed: int, encoding: str) -> None:
    rng, lines = made(seed, words=("rice", "tea", "soup"))
    row = rng.randint(1, len(lines) - 1)
    lines[row][0] = rng.choice(["crème", "été", "Ñandú", "Straße"])
    problems = read(tmp_path / "t.csv", text_of(lines).encode(encoding)).problems
    assert [problem.row for problem in problems] == [row + 1]
    assert "CSV UTF-8" in str(problems[0].hint)


@TEN
def test_a_nul_byte_is_named_and_the_rest_is_read(tmp_path: Path, seed: int) -> None:
    rng, lines = made(seed, plain=True)
    row = rng.randint(1, len(lines) - 1)
    damaged = [list(line) for line in lines]
    damaged[row][0] = damaged[row][0][:1] + "\0" + damaged[row][0][1:]
    table = read(tmp_path / "t.csv", "\n".join(map(",".join, damaged)) + "\n")
    assert [problem.row for problem in table.problems] == [row + 1]
    assert cells(table) == lines


@TEN
def test_very_long_cells_are_read(tmp_path: Path, seed: int) -> None:
    rng, lines = made(seed)
    lines[-1][0] = "word " * rng.randint(7_000, 20_000) + "end"
    is_read(tmp_path / "t.csv", text_of(lines), lines)


# --- workbooks ----------------------------------------------------------------------------------------------


def book(path: Path, rows: list[list[object]], merged: tuple[str, ...] = (), **others: list[list[object]]) -> TextTable:
    made_book = openpyxl.Workbook()
    sheet = made_book.active
    for row in rows:
        sheet.append(row)
    for name in merged:
        sheet.merge_cells(name)
    for title, more in others.items():
        second = made_book.create_sheet(title)
        for row in more:
            second.append(row)
    made_book.save(path)
    return read_with_problems(path)


@TEN
def test_a_head_of_two_rows_below_a_title_or_none(tmp_path: Path, seed: int) -> None:
    rng, lines = made(seed, words=("rice", "tea", "soup"))
    titles = rng.randint(0, 2)
    width = len(lines[0])
    top = titles + 1
    end = openpyxl.utils.get_column_letter(width)
    head: list[list[object]] = [["id", "Answers", *[None] * (width - 2)], [None, *lines[0][1:]]]
    if width == 2:
        return  # one column is no group
    rows = [*([["A survey"]] * titles), *head, *lines[1:]]
    table = book(tmp_path / "t.xlsx", rows, (f"A{top}:A{top + 1}", f"B{top}:{end}{top}"))
    assert cells(table) == [["id", *lines[0][1:]], *lines[1:]]
    assert [problem.row for problem in table.problems] == [1] * bool(titles)
    assert any("read as one header" in remark.message for remark in table.remarks)


@TEN
def test_other_sheets_are_named(tmp_path: Path, seed: int) -> None:
    rng, lines = made(seed)
    table = book(tmp_path / "t.xlsx", lines, **{f"Sheet of {seed}": lines, "Notes": [["only a note"]]})
    assert cells(table) == lines
    assert [f"Sheet of {seed}" in remark.message for remark in table.remarks] == [True]
    assert "Notes" not in table.remarks[0].message
    assert rng


@TEN
def test_escapes_and_formula_errors_of_workbooks(tmp_path: Path, seed: int) -> None:
    rng, lines = made(seed, words=("rice", "tea", "soup"))
    row, column = rng.randint(1, len(lines) - 1), rng.randint(0, len(lines[0]) - 1)
    lines[row][column] = rng.choice(["#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#N/A"])
    other = 1 if row > 1 else len(lines) - 1
    lines[other][0] = "one_x000D_\ntwo"
    table = book(tmp_path / "t.xlsx", lines)
    named = openpyxl.utils.get_column_letter(column + 1)
    assert [(problem.row, problem.column) for problem in table.problems] == [(row + 1, named)]
    assert cells(table)[other][0] == "one\ntwo"


# --- what other programs write ------------------------------------------------------------------------------


@TEN
@pytest.mark.parametrize("texts", [False, True])
def test_rows_of_qualtrics_below_the_header_are_no_answers(tmp_path: Path, seed: int, texts: bool) -> None:
    _, lines = made(seed)
    keys = [f'{{"ImportId":"QID{i}"}}' for i in range(len(lines[0]))]
    more = [[f"What of {name}?" for name in lines[0]], keys] if texts else [keys]
    table = is_read(tmp_path / "t.csv", text_of([lines[0], *more, *lines[1:]]), lines)
    assert [remark.message.endswith("not read") for remark in table.remarks] == [True]


@TEN
def test_a_header_among_the_rows_is_named(tmp_path: Path, seed: int) -> None:
    rng, lines = made(seed)
    row = rng.randint(2, len(lines) - 1)
    table = read(tmp_path / "t.csv", text_of([*lines[:row], lines[0], *lines[row:]]))
    assert [(problem.row, problem.message) for problem in table.problems] == [(row + 1, "repeats the header.")]
    assert cells(table) == lines


@TEN
def test_a_remark_of_a_program_above_the_header_is_a_title(tmp_path: Path, seed: int) -> None:
    rng, lines = made(seed)
    remark = ["# made", *["by a program"] * (len(lines[0]) + rng.choice((-2, 1, 2)))]
    table = read(tmp_path / "t.csv", text_of([remark, *lines]))
    assert [problem.row for problem in table.problems] == [1]
    assert cells(table) == lines


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        ("t.csv", b"PK\x03\x04rest", "a ZIP archive or a workbook"),
        ("t.jsonl", b"\x1f\x8brest", "compressed"),
        ("t.csv", b"PAR1rest", "a Parquet table"),
        ("t.tsv", b"%PDF-1.7", "a PDF"),
        ("t.csv", b"\xd0\xcf\x11\xe0\xa1\xb1", "an old workbook"),
        ("t.csv", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a note of Git LFS"),
        ("t.parquet", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a note of Git LFS"),
        ("t.csv", b"<!DOCTYPE html>\n<html><body>Sign in, please</body></html>", "a web page"),
        ("t.json", b"\n <html>\n", "a web page"),
    ],
)
def test_a_file_of_another_kind_is_called_what_it_is(tmp_path: Path, name: str, raw: bytes, said: str) -> None:
    (problem,) = read(tmp_path / name, raw).problems
    assert said in problem.message
    assert problem.hint


ROWS = [{"id": "a", "q": "What?"}, {"id": "b", "q": "Which?"}]


@pytest.mark.parametrize(
    ("name", "value", "remark"),
    [
        ("t.json", ROWS, ""),
        ("t.jsonl", ROWS, ""),
        ("t.json", {"version": 1, "data": ROWS}, "its rows are those of 'data'; beside them it holds 'version'"),
        ("t.json", {"id": {"0": "a", "1": "b"}, "q": {"0": "What?", "1": "Which?"}}, "cells of each column"),
        ("t.json", {"a": {"q": "What?"}, "b": {"q": "Which?"}}, "its rows are listed under their ids"),
        ("t.json", {"columns": ["id", "q"], "data": [["a", "What?"], ["b", "Which?"]]}, "its rows are those of 'data'"),
    ],
)
def test_rows_within_one_object_of_json_are_found(tmp_path: Path, name: str, value: object, remark: str) -> None:
    for indent in (None, 1):
        if indent is None and name == "t.jsonl":
            continue  # a list on one line is no JSON lines
        table = read(tmp_path / name, json.dumps(value, indent=indent))
        assert [dict(record.cells) for record in table.records] == ROWS
        assert [remark in each.message for each in table.remarks] == [True] * bool(remark)


@pytest.mark.parametrize(
    ("name", "text", "row"),
    [("t.jsonl", '{"a": "x"},\n{"a": "y"}\n', 1), ("t.json", '[\n{"a": "x"},\n{"a": "y"},\n]', 4)],
)
def test_a_comma_too_many_in_json_is_called_so(tmp_path: Path, name: str, text: str, row: int) -> None:
    (problem,) = read(tmp_path / name, text).problems
    assert problem.row == row
    assert "comma" in str(problem.hint)


def test_dates_and_decimals_of_parquet_are_texts_and_bytes_are_left_out(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"id": ["a"], "on": [datetime.date(2026, 1, 2)], "at": [datetime.time(9, 30)], "pic": [b"\x89PNG"]}
    ).with_columns(share=pl.lit("0.25").cast(pl.Decimal(6, 2)), kind=pl.lit("x").cast(pl.Categorical))
    frame.write_parquet(tmp_path / "t.parquet")
    table = read_records(tmp_path / "t.parquet")
    (record,) = table.records
    assert record.cells == {"id": "a", "on": "2026-01-02", "at": "09:30:00", "share": "0.25", "kind": "x"}
    assert ["'pic' holds bytes" in remark.message for remark in table.remarks] == [True]

import io
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapwa.datasets.sheets import Sheet, SheetColumn, render, right_to_left, shuffled, write_files
from kapwa.errors import UsageError
from kapwa.tables import csv_text, disarm, printable, read_sheet, rearm

tricky = st.text(alphabet=st.sampled_from("='+-@\t\ra\"\n ,;#1"), max_size=8) | st.text(max_size=30)


@given(tricky)
def test_disarming_is_undone_exactly(text: str) -> None:
    assert rearm(disarm(text)) == text


@given(tricky)
def test_a_disarmed_cell_is_safe_and_the_shared_disarming_agrees(text: str) -> None:
    assert disarm(text)[:1] not in ("=", "+", "-", "@", "\t", "\r")
    if not text.startswith("'"):
        assert csv_text([disarm(text)], []) == csv_text([text], [])


@given(st.lists(tricky, min_size=1, max_size=4), st.sampled_from(["csv", "xlsx"]))
@settings(max_examples=60, deadline=None)
def test_every_text_survives_a_file(tmp_path_factory: pytest.TempPathFactory, texts: list[str], kind: str) -> None:
    sheet = Sheet(
        "s", [SheetColumn("id"), SheetColumn("text")], [[f"i{n}", text] for n, text in enumerate(texts)], "# Do this"
    )
    path = tmp_path_factory.mktemp("s") / f"s.{kind}"
    path.write_bytes(render(sheet, [kind])[f"s.{kind}"])
    assert [row.cells["text"] for row in read_sheet(path)] == [printable(text) for text in texts]


def test_printable_keeps_scripts_and_replaces_what_no_file_holds() -> None:
    assert printable("a\r\nb\rc\0d\x1b\ud800e أهلا ሰላም 안녕\t") == "a\nb\nc\ufffdd\ufffd\ufffde أهلا ሰላም 안녕\t"


def test_no_cell_of_the_workbook_is_a_formula() -> None:
    sheet = Sheet("s", [SheetColumn("t")], [["=1+1"], ["@SUM(A1)"], ["#REF!"], ["+1"]], "=evil")
    book = openpyxl.load_workbook(io.BytesIO(render(sheet)["s.xlsx"]))
    kinds = {cell.data_type for page in book for row in page.iter_rows() for cell in row if cell.value is not None}
    assert kinds == {"s"}


def test_shuffled_is_a_permutation_that_depends_on_salt_only() -> None:
    names = ["b", "a", "a", "c"]
    assert sorted(shuffled(names, 1)) == [0, 1, 2, 3]
    assert shuffled(names, 1) == shuffled(names, 1)
    assert len({tuple(shuffled(names, seed)) for seed in range(200)}) == 24


def test_the_order_of_two_names_is_theirs_alone() -> None:
    small = [["x", "y"][i] for i in shuffled(["x", "y"], 7)]
    large = [name for name in (["q", "y", "x"][i] for i in shuffled(["q", "y", "x"], 7)) if name != "q"]
    assert small == large


def test_right_to_left_follows_the_majority_of_letters() -> None:
    assert right_to_left(["اسأل والديك", "id 1"])
    assert right_to_left(["שאל את הוריך"])
    assert not right_to_left(["ጠይቅ", "먼저", "سلام is a word here"])
    assert not right_to_left(["123"])


def test_the_sheet_of_a_right_to_left_text_runs_right_to_left() -> None:
    for text, expected in (("اسأل والديك أولاً", True), ("Tanungin mo", False)):
        sheet = Sheet("s", [SheetColumn("id"), SheetColumn("text")], [["1", text]], "Do this")
        book = openpyxl.load_workbook(io.BytesIO(render(sheet, ["xlsx"])["s.xlsx"]))
        assert bool(book.worksheets[0].sheet_view.rightToLeft) is expected


def test_answers_are_validated_row_by_row_and_the_header_stays_in_view() -> None:
    columns = [SheetColumn("q"), SheetColumn("choice", 9, [("1", "2"), ("1", "2", "3")], ("choice", "Pick one."))]
    book = openpyxl.load_workbook(io.BytesIO(render(Sheet("s", columns, [["a", ""], ["b", ""]], "x"))["s.xlsx"]))
    page = book.worksheets[0]
    rules = {str(rule.sqref): (rule.type, rule.formula1, rule.prompt) for rule in page.data_validations.dataValidation}
    assert rules == {"B2": ("list", '"1,2"', "Pick one."), "B3": ("list", '"1,2,3"', "Pick one.")}
    assert page.freeze_panes == "A2"
    assert page["A2"].alignment.wrap_text
    assert book.sheetnames == ["form", "instructions"]


def test_a_text_longer_than_a_cell_is_refused_for_xlsx_only() -> None:
    sheet = Sheet("s", [SheetColumn("t")], [["x" * 32_767]], "")
    with pytest.raises(UsageError, match=r"Row 2 of s\.xlsx: column 't' has 32,767"):
        render(sheet)
    assert len(render(sheet, ["csv"])["s.csv"]) > 32_767


def test_an_unknown_format_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"'xls'.*\n.*'xlsx'"):
        render(Sheet("s", [SheetColumn("t")], [["x"]], ""), ["xls"])


def test_files_that_may_hold_answers_are_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("answers")
    with pytest.raises(UsageError, match="may hold answers"):
        write_files({"a.csv": b"1", "b.csv": b"2"}, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["b.csv"]
    assert (tmp_path / "b.csv").read_text() == "answers"


def test_rows_are_high_enough_for_their_wrapped_text() -> None:
    texts = ["short", "word " * 40, "one\ntwo\nthree", "가" * 40, "x" * 30_000]
    sheet = Sheet("s", [SheetColumn("t", 42)], [[text] for text in texts], "# Title\n\nLong\nline\n\n- **a**\n  b")
    book = openpyxl.load_workbook(io.BytesIO(render(sheet, ["xlsx"])["s.xlsx"]))
    heights = [book["form"].row_dimensions[row].height for row in range(2, 7)]
    assert heights == [15 * 1.4, 15 * 5.4, 15 * 3.4, 15 * 2.4, 409]
    assert [row[0] for row in book["instructions"].values] == ["Title", "Long line", "• a b"]

"""Reading users' tables, and writing files whole or not at all."""

import csv
import errno
import io
import os
import zipfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kapwa
from kapwa.errors import DataError, UsageError
from kapwa.files import filling, replacing, table_rows, write_json, write_text
from kapwa.tables import csv_text, read_table, workbooks


def parquet(frame: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


ONE_ROW = pl.DataFrame({"id": ["1"], "text": ["a"]})
PARQUET, EMPTY_PARQUET = parquet(ONE_ROW), parquet(ONE_ROW.clear())


def table(tmp_path: Path, content: bytes, name: str = "data.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        b"id,text\r\n007,a\r\n",
        b"id,text\r007,a\r",
        b"\xef\xbb\xbfid,text\n007,a\n",
        b"id,text\n\n007,a",
        b'"id"," text "\n007,a\n',
    ],
    ids=["crlf", "cr", "bom", "blank line, no last newline", "quoted header"],
)
def test_ids_stay_strings_whatever_the_line_ends(tmp_path: Path, content: bytes) -> None:
    (row,) = read_table(table(tmp_path, content), required=("id", "text"))
    assert row.cells == {"id": "007", "text": "a"}


def test_rows_are_counted_as_spreadsheets_do(tmp_path: Path) -> None:
    rows = read_table(table(tmp_path, b'id,text\n1,"two\nlines"\n\n2,b\n'))
    assert [row.number for row in rows] == [2, 4]


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b"id,text\n1,caf\xe9\n", "data.csv", "row 2: byte 0xe9 is not UTF-8"),
        ("id,text\n1,a\n".encode("utf-16"), "data.csv", "UTF-16"),
        (b"", "data.csv", "is empty"),
        (b"id,text\n", "data.csv", "holds no rows"),
        (b"id,tekst\n1,a\n", "data.csv", "Did you mean 'tekst'?"),
        (b"id,id,text\n1,2,a\n", "data.csv", "column 'id': appears twice"),
        (b"id,text\n1,a,b\n", "data.csv", "row 2: has 3 cells, the header has 2"),
        (b'id,text\n1,a\n2,"cut off', "data.csv", "row 3: is not valid CSV"),
        (b"id,text\n1,a\0b\n", "data.csv", "row 2: holds a NUL byte"),
        (b"id,text\n1," + b"x" * 1_000_001 + b"\n", "data.csv", "row 2: is not valid CSV (field larger"),
        (b'{"id": "1", "text": "a"}\n{"id": "2", "te', "data.jsonl", "row 2: is not valid JSON"),
        (b"[1, 2]\n", "data.jsonl", "row 1: is not a JSON object"),
        (b"[" * 100_000, "data.jsonl", "row 1: is not valid JSON"),
        (b"PK\x03\x04 cut", "data.xlsx", "cannot be read as XLSX"),
        (b"", "data.xlsx", "cannot be read as XLSX"),
        (b"PAR1 cut PAR1", "data.parquet", "cannot be read as Parquet"),
        (PARQUET[: len(PARQUET) // 2], "data.parquet", "cannot be read as Parquet"),
        (EMPTY_PARQUET, "data.parquet", "holds no rows"),
    ],
)
def test_bad_tables_say_where_and_what(tmp_path: Path, content: bytes, name: str, said: str) -> None:
    with pytest.raises(DataError) as error:
        read_table(table(tmp_path, content, name), required=("id", "text"))
    assert name in str(error.value)
    assert said in str(error.value)


def test_a_misspelt_file_name_is_answered_with_the_nearest(tmp_path: Path) -> None:
    table(tmp_path, b"id\n1\n", "answers.csv")
    with pytest.raises(DataError, match=r"no such file.*\n.*answers.csv"):
        read_table(tmp_path / "answer.csv")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_text(path, "old")

    def interrupted() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]


def test_what_killed_writers_left_goes_with_the_next_call(tmp_path: Path) -> None:
    left = [tmp_path / f".{name}.x.part" for name in ("page.html", "forms", "other.html")]
    aside, fresh = tmp_path / ".forms.y.part" / "old", tmp_path / ".page.html.z.part"
    for folder in (aside, left[1] / "new"):
        folder.mkdir(parents=True)
    for file in (left[0], left[2], fresh):
        file.touch()
    for path in (*left, aside.parent):
        os.utime(path, (0, 0))
    write_text(tmp_path / "page.html", "new")
    with filling(tmp_path / "forms") as folder:
        (folder / "a.csv").touch()
    assert {path.name for path in tmp_path.iterdir()} == {
        "page.html",
        "forms",
        left[2].name,
        aside.parent.name,
        fresh.name,
    }


def test_a_folder_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    with pytest.raises(UsageError, match=r"report is a folder, but a file is needed"):
        write_text(tmp_path / "report", "new")
    assert [p.name for p in tmp_path.iterdir()] == ["report"]


def test_no_pipe_or_device_is_replaced_by_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match=r"pipe is a pipe or a device, but a file is needed"):
        write_text(tmp_path / "pipe", "x")
    assert (tmp_path / "pipe").is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_place_that_cannot_be_written_is_named_as_the_user_named_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path / ".page.html.x.part"))

    monkeypatch.setattr("kapwa.files.tempfile.mkstemp", refused)
    with pytest.raises(PermissionError) as caught:
        write_text(tmp_path / "page.html", "new")
    assert caught.value.filename == str(tmp_path / "page.html")


def test_json_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Out of range"):
        write_json(tmp_path / "x.json", {"a": float("nan")})
    assert list(tmp_path.iterdir()) == []


@given(
    st.lists(
        st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=2, max_size=2)
    )
)
def test_csv_is_safe_in_a_spreadsheet_and_loses_nothing(rows: list[list[str]]) -> None:
    read = list(csv.reader(io.StringIO(csv_text(["a", "b"], rows), newline="")))
    signs = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")
    assert read == [["a", "b"], *([f"'{cell}" if cell.startswith(signs) else cell for cell in row] for row in rows)]


def test_a_workbook_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 5_000_000)
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(workbooks, "MAX_UNPACKED", 4_999_999)
    with pytest.raises(DataError, match=r"unpacks to 5,000,000 bytes; at most 4,999,999 are read") as caught:
        read_table(path)
    assert caught.value.hint


def test_a_zip_file_that_lies_about_its_sizes_is_read_no_further_than_it_says(tmp_path: Path) -> None:
    """The limit holds because a member is never read past its declared size."""
    path = tmp_path / "liar.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"0" * 1_000_000)
    path.write_bytes(path.read_bytes().replace((1_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with zipfile.ZipFile(path) as archive, pytest.raises(zipfile.BadZipFile), archive.open("a") as member:
        assert len(member.read()) <= 10


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@pytest.mark.parametrize("sign", [",", ";", "\t"], ids=["comma", "semicolon", "tab"])
@given(rows=st.lists(st.tuples(st.sampled_from(["q1", "q2"]), CELLS, CELLS), min_size=1, max_size=6))
def test_a_csv_is_read_the_same_whatever_parts_it(
    sign: str, rows: list[tuple[str, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=sign).writerows([("id", "text", "more"), *rows])
    path = tmp_path_factory.mktemp("signs") / "data.csv"
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    assert [tuple(row.cells.values()) for row in read_table(path)] == rows


def test_a_column_of_texts_keeps_the_semicolons_in_them(tmp_path: Path) -> None:
    rows = read_table(table(tmp_path, b"text\ntea\na; b\nc; d; e\n"))
    assert [row.cells["text"] for row in rows] == ["tea", "a; b", "c; d; e"]


def test_what_is_wrong_beside_a_table_is_named_as_a_spreadsheet_names_it(tmp_path: Path) -> None:
    columns = ",".join(f"c{i}" for i in range(27))
    path = table(tmp_path, f"{columns},,\n{'x,' * 27},\n\n{'x,' * 27}y,\n".encode())
    with pytest.raises(DataError, match="AB4 holds a value outside the table's columns") as caught:
        read_table(path)
    assert (caught.value.row, caught.value.column) == (4, "AB")


def test_no_row_of_a_table_that_ships_with_kapwa_has_cells_too_many() -> None:
    """A comma outside quotes would cut a text off unseen."""
    tables = [path for path in Path(kapwa.__file__).parent.rglob("*.csv") if "packs" not in path.parts]
    assert len(tables) > 10
    assert [(path.name, row[None]) for path in tables for row in table_rows(path) if None in row] == []


def test_a_folder_whose_name_is_a_pattern_is_read_as_any_other(tmp_path: Path) -> None:
    file = tmp_path / "a [draft] of*" / "answers?.parquet"
    file.parent.mkdir()
    pl.DataFrame({"item_id": ["x"], "text": ["y"]}).write_parquet(file)
    assert [row.cells for row in read_table(file)] == [{"item_id": "x", "text": "y"}]

"""Broken mappings and tables of choices, one table of faults: each is refused with file, place and remedy."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest
import yaml
from test_broken_forms import refused

from kapwa.tables import MAX_CELL

ROWS = [
    {"nr": str(i), "land": "Kenya", "ask": f"What is eaten on day {i}?", "a": "ugali", "b": "rice", "right": "A"}
    for i in range(1, 5)
]
COLUMNS = {"id": "nr", "country": "land", "question": "ask", "option_A": "a", "option_B": "b", "answer": "right"}
MAPPING: dict[str, Any] = {"form": "blend/mcq", "table": "table.csv", "answer_is": "letter", "columns": COLUMNS}
JOIN: dict[str, Any] = {"table": "more.csv", "on": "nr", "columns": {"topic": "about"}}
# Tables beside the mapping, which faults name.
MORE = {
    "more.csv": "nr,about\n1,food\n1,food\n",
    "one.csv": "a\nx\n",
    "none.csv": "a,b\n,x\n",
    "two.csv": "a,b\nx,y\nx,z\n",
}
SNOWMAN, HUGE = "\N{SNOWMAN}", "x" * (MAX_CELL + 1)


def columns(**changes: str) -> dict[str, Any]:
    return {"columns": COLUMNS | changes}


def without(field: str) -> dict[str, Any]:
    return {"columns": {name: column for name, column in COLUMNS.items() if name != field}}


# What a mapping cannot say.
MAPPINGS: dict[str, list[dict[str, Any]]] = {
    "a key is missing": [{"form": None}, {"table": None}, {"columns": None}],
    "a needed field is missing": [without(field) for field in ("country", "question", "option_A", "answer")],
    "a wrong type": [
        *({name: 7} for name in ("table", "columns", "constants", "values", "separators", "parts", "only", "join")),
        *({"form": value} for value in (True, 1.5, f"{SNOWMAN}\n", [[1]], {"a": {"b": {"c": 1}}})),
    ],
    "an unknown key": [{name: "a"} for name in ("colums", "forms", "", "table ", "x" * 300)],
    "an unknown word": [{"form": "blend"}, {"form": "kalahi/mc"}, {"answer_is": "letters"}, {"answer_is": ""}],
    "a table elsewhere": [
        {"table": name} for name in ("../table.csv", "/etc/passwd", "gone.csv", "**x/*.csv", "*.tsv", "\0", "x" * 199)
    ],
    "a join that fails": [
        {"join": JOIN | change} for change in ({}, {"on": "number"}, {"table": "gone.csv"}, {"columns": {"topic": "x"}})
    ],
    "values in a table that is none": [
        {"value_tables": {"country": name}} for name in ("gone.csv", "../w.csv", "one.csv", "none.csv", "two.csv")
    ],
}
# What it cannot say of a place in the table: the error names row and column.
PLACED: dict[str, list[dict[str, Any]]] = {
    "an unknown field": [columns(**{name: "a"}) for name in ("option_Z", "questions", "", "Answer", SNOWMAN)],
    "an unknown column": [columns(question=name) for name in ("asks", "Frage", "x" * 150, "nr;land", SNOWMAN)],
    "a path that leads nowhere": [
        columns(question=path) for path in ("ask.text[", "ask..text", "ask[*]", "[0].ask", "nr[99999999]", "gone.text")
    ],
    "parts of no form": [
        {"parts": {"nr": form}} for form in ("{a}{b}", "{a}_{a}", "nothing", "{1}", "{a}_{b}", "x{c}")
    ],
    "a word without a value": [
        {"values": {"answer": {"a": "A"}, name: {"x": "y"}}} for name in ("country", "question")
    ],
}
LAUGHS = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
LAUGHS += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 3)]
PLAIN = yaml.safe_dump(MAPPING, sort_keys=False)
# Mappings that are no YAML, or in another encoding.
TEXTS: list[bytes] = [
    *(text.encode() for text in ("", f"\t{PLAIN}", f"{PLAIN}form: kalahi\n", f"{PLAIN}x: [", f'{PLAIN}y: "')),
    *(text.encode() for text in ("- a\n- b\n", "&a [*a]", "{" * 50, PLAIN.replace(": ", ":"), "a: " + "[" * 3000)),
    *(text.encode() for text in (f"{PLAIN}z: !!python/object:os.system x\n", "\n".join(LAUGHS))),
    *((f"{PLAIN}# Preis in £\n").encode(code) for code in ("latin-1", "utf-16")),
    *(f"{PLAIN}\0".encode(), b"\xff" * 9),
]
# What a cell cannot hold, by its column, and whether the column is known.
CELLS: list[tuple[str, str, bool]] = [
    *((column, cell, True) for column in COLUMNS.values() for cell in ("", "\N{NO-BREAK SPACE}")),
    *(("right", cell, True) for cell in ("nan", "NaN", "C", "AB", "1", "ugali", SNOWMAN, "=A1", "null")),
    ("nr", "4", True),
    *((column, cell, False) for column in ("nr", "ask") for cell in (HUGE, "a,b", '"open', '"a"b')),
]


def as_csv(rows: list[dict[str, str]]) -> str:
    return "\n".join(",".join(row) for row in (list(ROWS[0]), *(list(row.values()) for row in rows))) + "\n"


def workbook() -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in (list(ROWS[0]), *(list(row.values()) for row in ROWS)):
        book.worksheets[0].append(row)
    book.save(out)
    return out.getvalue()


def unpacking_to_a_disk() -> bytes:
    """A workbook whose directory says that each part has two gigabytes."""
    out = io.BytesIO(workbook())
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("xl/media/image1.png", b"")
    raw = bytearray(out.getvalue())
    for place in [i for i in range(len(raw)) if raw[i : i + 4] == b"PK\1\2"]:
        raw[place + 24 : place + 28] = (2_000_000_000).to_bytes(4, "little")
    return bytes(raw)


def parquet(**changed: list[Any]) -> bytes:
    out = io.BytesIO()
    pl.DataFrame(ROWS).with_columns(pl.Series(name, values) for name, values in changed.items()).write_parquet(out)
    return out.getvalue()


HEAD, REST = as_csv(ROWS).split("\n", 1)
# Files that are no table: name and content.
FILES: list[tuple[str, bytes]] = [
    *((f"table{end}", as_csv(ROWS).encode()) for end in (".xls", ".doc", "", ".csv.gz", ".docx", ".xlsx", ".parquet")),
    *(("table.csv", text.encode()) for text in ("", "\n\n", " ", "\ufeff", f"{HEAD}\n", ",,,,\n")),
    *(("table.csv", as_csv(ROWS).encode(code)) for code in ("utf-16", "utf-16-le", "utf-32")),
    *(
        ("table.csv", f"{head}\n{REST}".encode())
        for head in (HEAD.replace("ask", ""), HEAD.replace(",right", ",a"), "A title", HEAD.replace(",", ";"))
    ),
    *(("table.xlsx", raw) for raw in (workbook()[:-40], workbook()[:900], unpacking_to_a_disk())),
    *(("table.parquet", raw) for raw in (parquet()[:-9], parquet()[:40], b"PAR1" * 4)),
]
LINES = [json.dumps(row) for row in ROWS]
# Lines of JSON in place of the third row; the error names the row.
ODD_LINES = [
    "{",
    "[1]",
    '"a"',
    "7",
    "nul",
    LINES[0][:-1],
    LINES[0][5:],
    "[" * 5000,
    "{'a': 1}",
    '{"nr": ' + "9" * 5000 + "}",
]
ODD_LINES += ['{"nr": "\\ud83d"}', '{"\\ud83d": "a"}']
# Cells of JSON in place of {"text": …} and of a list of options; the error names row and column.
ODD_TEXTS: list[Any] = [None, {}, {"text": None}, {"text": {}}, {"text": [{}]}, 7, [], "", "{", '{"text": "\\ud83d"}']
ODD_OPTIONS: list[Any] = [
    "one",
    [],
    ["one"],
    [1, 2],
    {"a": 1},
    ["x"] * 21,
    [["x"], ["y"]],
    '["\\ud83d", "b"]',
    "{",
    "[",
    {},
]


def laid(folder: Path, name: str = "table.csv", content: bytes | str = as_csv(ROWS), **changes: Any) -> Path:
    """A folder with a table of choices and its mapping, of which some keys are changed or left out (None)."""
    folder.mkdir()
    mapping = {key: value for key, value in (MAPPING | {"table": name} | changes).items() if value is not None}
    (folder / "mapping.yaml").write_text(yaml.safe_dump(mapping, sort_keys=False), encoding="utf-8")
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    for beside, text in MORE.items():
        (folder / beside).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("fault", [*MAPPINGS, *PLACED])
def test_what_a_mapping_cannot_say(fault: str, tmp_path: Path) -> None:
    for number, changes in enumerate((MAPPINGS | PLACED)[fault]):
        error = refused(laid(tmp_path / str(number), **changes))
        assert fault in MAPPINGS or (error.row is not None and error.column is not None), (changes, str(error))


def test_a_mapping_that_is_no_yaml(tmp_path: Path) -> None:
    for number, raw in enumerate(TEXTS):
        (laid(tmp_path / str(number)) / "mapping.yaml").write_bytes(raw)
        refused(tmp_path / str(number))


def test_a_cell_is_named_by_its_row_and_column(tmp_path: Path) -> None:
    for number, (column, cell, known) in enumerate(CELLS):
        rows = [row | {column: cell} if row["nr"] == "3" else row for row in ROWS]
        error = refused(laid(tmp_path / str(number), content=as_csv(rows)))
        assert error.row in ((4, 5) if cell == "4" else (4,)), (column, cell[:9], str(error)[:300])
        assert not known or error.column == column, (column, cell, str(error))


def test_a_byte_of_another_encoding_is_named_by_its_row(tmp_path: Path) -> None:
    raw = as_csv(ROWS).encode()
    for number, odd in enumerate((b"\xe9", b"\xff", b"\0", b"\xc3")):
        assert refused(laid(tmp_path / str(number), content=raw[:70] + odd + b";" + raw[70:])).row is not None


def test_a_file_that_is_no_table(tmp_path: Path) -> None:
    for number, (name, raw) in enumerate(FILES):
        refused(laid(tmp_path / str(number), name, raw))
    table = laid(tmp_path / "gone") / "table.csv"
    table.unlink()
    refused(tmp_path / "gone")
    table.mkdir()
    refused(tmp_path / "gone")


def test_json_of_another_form_is_named_by_its_place(tmp_path: Path) -> None:
    for number, line in enumerate(ODD_LINES):
        content = "\n".join([*LINES[:2], line, LINES[3]])
        assert refused(laid(tmp_path / f"line {number}", "table.jsonl", content)).row == 3, line[:40]
    texts = [row | {"ask": {"text": row["ask"]}} for row in ROWS]
    options = [row | {"a": ["ugali", "rice"]} for row in ROWS]
    listed = {"separators": {"options": "json"}, "columns": {"options": "a", **without("option_A")["columns"]}}
    del listed["columns"]["option_B"]
    for rows, column, cells, changes in (
        (texts, "ask", ODD_TEXTS, columns(question="ask.text")),
        (options, "a", ODD_OPTIONS, listed),
    ):
        for number, cell in enumerate(cells):
            lines = "\n".join(json.dumps(row | {column: cell} if row["nr"] == "3" else row) for row in rows)
            error = refused(laid(tmp_path / f"{column} {number}", "table.jsonl", lines, **changes))
            assert (error.row, error.column is not None) == (3, True), (cell, str(error))


@pytest.mark.parametrize(("column", "values"), [("land", [b"\xff"]), ("ask", [None]), ("right", [float("nan")])])
def test_a_parquet_cell_of_another_type_is_named_by_its_place(column: str, values: list[Any], tmp_path: Path) -> None:
    error = refused(laid(tmp_path / "p", "table.parquet", parquet(**{column: values * len(ROWS)})))
    assert error.row is not None
    assert error.column is not None

"""Two hundred broken mappings and tables: each is refused with file and remedy, and nothing is added."""

import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import yaml

from kapwa.errors import DataError
from kapwa.suites.folders.adding import add_suite
from kapwa.tables import MAX_CELL
from kapwa.user_suites import registered

ROWS = [
    {"nr": str(i), "land": "Kenya", "ask": f"What is eaten on day {i}?", "a": "ugali", "b": "rice", "right": "A"}
    for i in range(1, 7)
]
MAPPING: dict[str, Any] = {
    **{"form": "blend/mcq", "table": "table.csv", "answer_is": "letter"},
    "columns": {"id": "nr", "country": "land", "question": "ask", "option_A": "a", "option_B": "b", "answer": "right"},
}
Breaks = Callable[[Path, random.Random], None]
BREAKS: dict[str, Breaks] = {}
# Where the fault is in one row, or in a cell of it, the error names them.
PLACES: dict[str, tuple[str, ...]] = {}


def breaks(*places: str) -> Callable[[Breaks], Breaks]:
    def known(function: Breaks) -> Breaks:
        BREAKS[function.__name__], PLACES[function.__name__] = function, places
        return function

    return known


def remap(folder: Path, **changes: Any) -> None:
    mapping = {name: value for name, value in (MAPPING | changes).items() if value is not None}
    (folder / "mapping.yaml").write_text(yaml.safe_dump(mapping, sort_keys=False), encoding="utf-8")


def recolumn(folder: Path, rng: random.Random, column: str) -> None:
    remap(folder, columns=MAPPING["columns"] | {rng.choice(list(MAPPING["columns"])): column})


def as_csv(rows: list[dict[str, str]]) -> str:
    return "\n".join(",".join(row) for row in (list(ROWS[0]), *(list(row.values()) for row in rows))) + "\n"


def recell(folder: Path, rng: random.Random, column: str, text: str) -> None:
    rows = [dict(row) for row in ROWS]
    rng.choice(rows)[column] = text
    (folder / "table.csv").write_text(as_csv(rows), encoding="utf-8")


def reread(folder: Path, name: str, content: bytes, **changes: Any) -> None:
    """Another table in place of the usual one."""
    (folder / "table.csv").unlink()
    (folder / name).write_bytes(content)
    remap(folder, table=name, **changes)


# --- the mapping -----------------------------------------------------------------------------------------


@breaks()
def a_key_is_missing(folder: Path, rng: random.Random) -> None:
    remap(folder, **{rng.choice(["form", "table", "columns"]): None})


@breaks()
def a_needed_field_is_missing(folder: Path, rng: random.Random) -> None:
    left_out = rng.choice(["country", "question", "option_A", "answer"])
    remap(folder, columns={name: column for name, column in MAPPING["columns"].items() if name != left_out})


@breaks()
def a_wrong_type(folder: Path, rng: random.Random) -> None:
    of = ["table", "columns", "constants", "values", "separators", "parts", "only", "join", "non_answers", "form"]
    remap(folder, **{rng.choice(of): rng.choice([7, True, 1.5, "\N{SNOWMAN}\n", [[1]], {"a": {"b": {"c": 1}}}])})


@breaks()
def an_unknown_key(folder: Path, rng: random.Random) -> None:
    remap(folder, **{rng.choice(["colums", "forms", "", "table ", "x" * 300]): "a"})


@breaks("row", "column")
def an_unknown_field(folder: Path, rng: random.Random) -> None:
    columns = MAPPING["columns"] | {rng.choice(["option_Z", "questions", "", "Answer", "\N{SNOWMAN}"]): "a"}
    remap(folder, columns=columns)


@breaks()
def an_unknown_word(folder: Path, rng: random.Random) -> None:
    name, word = rng.choice([("form", "blend"), ("form", "kalahi/mc"), ("answer_is", "letters"), ("answer_is", "")])
    remap(folder, **{name: word})


@breaks("row", "column")
def an_unknown_column(folder: Path, rng: random.Random) -> None:
    recolumn(folder, rng, rng.choice(["asks", "Frage", "x" * 150, "nr;land", "\N{SNOWMAN}"]))


@breaks("row", "column")
def a_bad_path(folder: Path, rng: random.Random) -> None:
    recolumn(folder, rng, rng.choice(["ask.text[", "ask..text", "ask[*]", "[0].ask", "nr[99999999]", "gone.text"]))


@breaks()
def a_table_elsewhere(folder: Path, rng: random.Random) -> None:
    remap(folder, table=rng.choice(["../table.csv", "/etc/passwd", "gone.csv", "**x/*.csv", "*.tsv", "\0", "x" * 199]))


@breaks()
def a_table_of_another_kind(folder: Path, rng: random.Random) -> None:
    reread(folder, rng.choice(["table.xls", "table.txt", "table", "table.csv.gz", "table.docx"]), as_csv(ROWS).encode())


@breaks("row", "column")
def parts_of_no_form(folder: Path, rng: random.Random) -> None:
    remap(folder, parts={"nr": rng.choice(["{a}{b}", "{a}_{a}", "nothing", "{1}", "{a}_{b}", "x{c}"])})


@breaks()
def a_join_that_fails(folder: Path, rng: random.Random) -> None:
    join = {"table": "more.csv", "on": "nr", "columns": {"topic": "about"}}
    (folder / "more.csv").write_text("nr,about\n1,food\n1,food\n", encoding="utf-8")
    remap(folder, join=join | rng.choice([{}, {"on": "number"}, {"table": "gone.csv"}, {"columns": {"topic": "x"}}]))


@breaks("row", "column")
def a_word_without_a_value(folder: Path, rng: random.Random) -> None:
    remap(folder, values={"answer": {"a": "A"}, rng.choice(["country", "question"]): {"x": "y"}})


@breaks()
def a_mapping_that_is_no_yaml(folder: Path, rng: random.Random) -> None:
    path = folder / "mapping.yaml"
    text = path.read_text(encoding="utf-8")
    broken = ["", "\t" + text, text + "form: kalahi\n", text + "x: [", text + 'y: "', "- a\n- b\n", "&a [*a]", "{" * 50]
    broken += [text + "z: !!python/object:os.system x\n", text.replace(": ", ":"), "a: " + "[" * 3000]
    path.write_text(rng.choice(broken), encoding="utf-8")


@breaks()
def a_mapping_in_another_encoding(folder: Path, rng: random.Random) -> None:
    path = folder / "mapping.yaml"
    text = path.read_text(encoding="utf-8") + "# Preis in £\n"
    path.write_bytes(rng.choice([text.encode("latin-1"), text.encode("utf-16"), text.encode() + b"\0", b"\xff" * 9]))


@breaks()
def a_mapping_of_aliases(folder: Path, rng: random.Random) -> None:
    depth = rng.choice([2, 3, 4, 9])  # the last is read up to half a million values, for a second
    layers = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    layers += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, depth)]
    (folder / "mapping.yaml").write_text("\n".join(layers), encoding="utf-8")


@breaks()
def values_in_a_table_that_is_none(folder: Path, rng: random.Random) -> None:
    table, text = rng.choice([("gone.csv", ""), ("../w.csv", ""), ("w.csv", ""), ("w.csv", "a,b\nKenya,\n")])
    (folder / "w.csv").write_text(text or rng.choice(["a\nx\n", "a,b\n,x\n", "a,b\nx,y\nx,z\n"]), encoding="utf-8")
    remap(folder, value_tables={"country": table})


# --- the table -------------------------------------------------------------------------------------------


@breaks()
def no_table(folder: Path, rng: random.Random) -> None:
    (folder / "table.csv").unlink()
    if rng.random() < 0.5:
        (folder / "table.csv").mkdir()


@breaks()
def an_empty_table(folder: Path, rng: random.Random) -> None:
    (folder / "table.csv").write_text(rng.choice(["", "\n\n", " ", "\ufeff", as_csv([]), ",,,,\n"]), encoding="utf-8")


@breaks("row", "column")
def an_empty_cell(folder: Path, rng: random.Random) -> None:
    recell(
        folder, rng, rng.choice(["nr", "land", "ask", "a", "b", "right"]), rng.choice(["", "  ", "\N{NO-BREAK SPACE}"])
    )


@breaks("row", "column")
def an_answer_of_no_option(folder: Path, rng: random.Random) -> None:
    recell(folder, rng, "right", rng.choice(["nan", "NaN", "C", "AB", "1", "ugali", "\N{SNOWMAN}", "=A1", "null"]))


@breaks("row", "column")
def an_id_twice(folder: Path, rng: random.Random) -> None:
    first, second = rng.sample([row["nr"] for row in ROWS], 2)
    rows = [row | {"nr": second if row["nr"] == first else row["nr"]} for row in ROWS]
    (folder / "table.csv").write_text(as_csv(rows), encoding="utf-8")


@breaks("row")
def a_huge_cell(folder: Path, rng: random.Random) -> None:
    recell(folder, rng, rng.choice(list(ROWS[0])), "x" * (MAX_CELL + rng.randrange(1, 9)))


@breaks("row")
def a_row_too_long_or_short(folder: Path, rng: random.Random) -> None:
    recell(folder, rng, rng.choice(list(ROWS[0])), rng.choice(["a,b", "a,b,c,d"]))


@breaks("row")
def a_quote_that_does_not_end(folder: Path, rng: random.Random) -> None:
    recell(folder, rng, rng.choice(list(ROWS[0])), rng.choice(['"open', '"a"b', '"']))


@breaks("row")
def a_byte_of_another_encoding(folder: Path, rng: random.Random) -> None:
    raw = as_csv(ROWS).encode()
    place = rng.randrange(len(raw))
    (folder / "table.csv").write_bytes(
        raw[:place] + rng.choice([b"\xe9", b"\xff", b"\0", b"\xc3"]) + b";" + raw[place:]
    )


@breaks()
def a_table_in_another_encoding(folder: Path, rng: random.Random) -> None:
    text = as_csv(ROWS)
    wide = rng.choice(["utf-16", "utf-16-le", "utf-32"])
    (folder / "table.csv").write_bytes(text.encode(wide))


@breaks()
def a_header_that_is_wrong(folder: Path, rng: random.Random) -> None:
    line, rest = as_csv(ROWS).split("\n", 1)
    name = rng.choice(list(MAPPING["columns"].values()))
    lines = [line.replace(name, "", 1), line.replace(",right", ",a"), "A title", line.replace(",", ";"), rest[:20]]
    (folder / "table.csv").write_text(f"{rng.choice(lines)}\n{rest}", encoding="utf-8")


@breaks("row")
def json_lines_that_are_none(folder: Path, rng: random.Random) -> None:
    lines = [json.dumps(row) for row in ROWS]
    odd = [
        "{",
        "[1]",
        '"a"',
        "7",
        "nul",
        lines[0][:-1],
        lines[0][5:],
        "[" * 5000,
        '{"nr": ' + "9" * 5000 + "}",
        "{'a': 1}",
    ]
    lines[rng.randrange(len(lines))] = rng.choice([*odd, '{"nr": "\\ud83d"}', '{"\\ud83d": "a"}'])
    reread(folder, "table.jsonl", "\n".join(lines).encode())


@breaks("row", "column")
def json_cells_of_another_form(folder: Path, rng: random.Random) -> None:
    cells: list[Any] = [None, {}, {"text": None}, {"text": {}}, {"text": [{}]}, 7, [], "", "{", '{"text": "\\ud83d"}']
    rows: list[dict[str, Any]] = [row | {"ask": {"text": row["ask"]}} for row in ROWS]
    rng.choice(rows)["ask"] = rng.choice(cells)
    reread(folder, "t.json", json.dumps(rows).encode(), columns=MAPPING["columns"] | {"question": "ask.text"})


@breaks("row", "column")
def options_of_another_form(folder: Path, rng: random.Random) -> None:
    cells: list[Any] = [
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
    rows: list[dict[str, Any]] = [row | {"a": ["ugali", "rice"]} for row in ROWS]
    rng.choice(rows)["a"] = rng.choice(cells)
    columns = {"options": "a", **{k: v for k, v in MAPPING["columns"].items() if not k.startswith("option")}}
    reread(
        folder, "t.jsonl", "\n".join(map(json.dumps, rows)).encode(), columns=columns, separators={"options": "json"}
    )


def workbook() -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in (list(ROWS[0]), *(list(row.values()) for row in ROWS)):
        book.worksheets[0].append(row)
    book.save(out)
    return out.getvalue()


@breaks()
def a_workbook_cut_off(folder: Path, rng: random.Random) -> None:
    raw = workbook()
    reread(folder, "table.xlsx", raw[: rng.randrange(len(raw) - 30)] if rng.random() < 0.7 else as_csv(ROWS).encode())


@breaks()
def a_workbook_that_unpacks_to_a_disk(folder: Path, rng: random.Random) -> None:
    out = io.BytesIO(workbook())
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("xl/media/image1.png", b"")
    raw = bytearray(out.getvalue())
    size = (2_000_000_000 + rng.randrange(10**9)).to_bytes(4, "little")
    for place in [i for i in range(len(raw)) if raw[i : i + 4] == b"PK\1\2"]:  # the directory says how large each is
        raw[place + 24 : place + 28] = size
    reread(folder, "table.xlsx", bytes(raw))


@breaks()
def a_parquet_that_is_none(folder: Path, rng: random.Random) -> None:
    out = io.BytesIO()
    pl.DataFrame(ROWS).write_parquet(out)
    raw = out.getvalue()
    reread(folder, "table.parquet", rng.choice([raw[: rng.randrange(len(raw))], b"PAR1" * 4, as_csv(ROWS).encode()]))


@breaks("row", "column")
def a_parquet_cell_of_another_type(folder: Path, rng: random.Random) -> None:
    frame, out = pl.DataFrame(ROWS), io.BytesIO()
    column = rng.choice(["land", "ask", "right"])
    values = rng.choice([[b"\xff"] * 6, [None] * 6, [float("nan")] * 6 if column == "right" else [None] * 6])
    frame.with_columns(pl.Series(column, values)).write_parquet(out)
    reread(folder, "table.parquet", out.getvalue())


def test_what_is_broken_is_refused_with_file_and_remedy(tmp_path: Path) -> None:
    wrong: list[str] = []
    for seed in range(200):
        rng = random.Random(seed)
        name = list(BREAKS)[seed % len(BREAKS)]
        folder = tmp_path / f"of-{seed}"
        folder.mkdir()
        remap(folder)
        (folder / "table.csv").write_text(as_csv(ROWS), encoding="utf-8")
        BREAKS[name](folder, rng)
        try:
            add_suite(folder)
        except DataError as error:
            place = Path(error.path or "")
            lacks = [
                *(["file"] if folder not in (place, place.parent) else []),
                *(each for each in PLACES[name] if getattr(error, each) is None),
                *(["remedy"] if not error.hint and len(error.message.split(". ")) < 2 else []),
            ]
            if lacks:
                wrong.append(f"{seed} {name}: no {', '.join(lacks)} in {str(error)[:300]}")
        except Exception as error:
            wrong.append(f"{seed} {name}: {error!r:.300}")
        else:
            wrong.append(f"{seed} {name}: added")
    assert not wrong, "\n".join(wrong)
    assert registered() == {}

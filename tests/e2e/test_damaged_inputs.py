"""Damage that a file's name and columns do not show: types, pipes, sizes, patterns. Each ends in one clear message."""

import json
import os
import re
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kapwa
from kapwa.errors import DataError, KapwaError
from kapwa.report.terminal.run_list import list_runs
from kapwa.runs.directory import Run
from kapwa.runs.schema import RUN_TABLES
from kapwa.runs.signature import differing
from kapwa.suites.folders.reading import parts_of
from kapwa.tables import read_with_problems


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of recorded answers."""
    folder = tmp_path_factory.mktemp("made")
    task = kapwa.load_task("kalahi/open", data="sample:filipino", limit=3, metrics=["chrf"])
    table = task.item_table(task.items()).select("item_id", "variant", text="best")
    table.write_ndjson(folder / "answers.jsonl")
    made = kapwa.evaluate(task, kapwa.load_model(f"replay:{folder / 'answers.jsonl'}"), out=folder / "runs")
    return made.path


def copied(run: Path, folder: Path) -> Path:
    """A copy of the run that may be spoiled."""
    target = folder / "runs" / run.name
    target.mkdir(parents=True)
    for file in run.iterdir():
        if file.is_file() and not file.name.startswith("."):
            (target / file.name).write_bytes(file.read_bytes())
    return target


def spoiled(run: Path, table: str, column: str) -> None:
    """Give a column the other type: numbers for texts, texts for numbers."""
    file = run / f"{table}.parquet"
    frame = pl.read_parquet(file)
    text = frame.schema[column] == pl.String
    values = pl.lit(7, pl.Int64) if text else pl.lit("x")
    frame.with_columns(values.alias(column)).write_parquet(file)


GONE = object()  # a field that is not there


def problem(act: Callable[[], object]) -> KapwaError | None:
    """The error that a user is told; any other error is a traceback."""
    try:
        act()
    except KapwaError as error:
        return error
    return None


@pytest.mark.parametrize("table", [*RUN_TABLES, "answers"])
def test_a_column_of_another_type_is_named(run: Path, tmp_path: Path, table: str) -> None:
    columns = pl.read_parquet_schema(run / f"{table}.parquet")
    refused = []
    for column in columns:
        target = copied(run, tmp_path / column)
        spoiled(target, table, column)
        if (error := problem(lambda folder=target: Run(folder).table(table))) is not None:
            refused.append(column)
            assert f"{table}.parquet" in error.message
            assert repr(column) in error.message
            assert error.hint
    if table in ("scores", "estimates", "floors", "comparisons"):
        assert refused == list(columns)
    else:
        assert {"item_id", "variant"} <= set(refused)


@pytest.mark.parametrize("table", ["items", "answers"])
def test_no_column_of_another_type_gives_a_traceback(run: Path, tmp_path: Path, table: str) -> None:
    for column in pl.read_parquet_schema(run / f"{table}.parquet"):
        target = copied(run, tmp_path / column)
        spoiled(target, table, column)
        problem(lambda folder=target: kapwa.write_report([folder], folder / "page.html", answers=None))
        for form in ("csv", "lm-eval", "inspect", "eee"):
            problem(lambda folder=target, form=form: kapwa.export_run(folder, folder / form, form))


def test_one_damaged_run_does_not_hide_the_others(run: Path, tmp_path: Path) -> None:
    target = copied(run, tmp_path)
    sound = target.parent / "sound"
    target.rename(sound)
    for name, spoil in {
        "dates": lambda folder: (folder / "run.json").write_text('{"finished": 5, "label": [], "task": {}}'),
        "types": lambda folder: spoiled(folder, "estimates", "value"),
        "pipe": lambda folder: ((folder / "run.json").unlink(), os.mkfifo(folder / "run.json")),
        "table": lambda folder: ((folder / "estimates.parquet").unlink(), os.mkfifo(folder / "estimates.parquet")),
    }.items():
        spoil(copied(run, tmp_path / "more").rename(sound.parent / name))
    states = {Path(row["path"]).name: row["state"] for row in list_runs(sound.parent)}
    assert states == {"sound": "complete", **dict.fromkeys(("dates", "types", "pipe", "table"), "damaged")}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *(("selection", value) for value in ({}, {"variants": ["full"]}, [])),
        *(("selection.variants", value) for value in ([], [[]], {}, "full", True, -1, None, [1])),
        *(("selection.items", value) for value in ([], {"full": "x"}, None)),
        *(("selection.where", value) for value in ([], {"topic": 3}, "x")),
        *(("options.max_new_tokens", value) for value in ([], {}, "x", 2.5)),
        *(("options.temperature", value) for value in ([], "x")),
        *(("headline", value) for value in ([[]], {}, 3)),
        *(("metrics", value) for value in ({}, {"a": 1})),
        *((place, GONE) for place in ("model", "counts", "tables", "signature", "data", "metrics")),
        *(("format", value) for value in (1e999, "1e9")),
        *(("counts", {}), ("data", {}), ("versions", {"a": [1]}), ("headline", [1]), ("tables", ["../../etc/x"])),
        *(("seconds", "long"), ("sessions", []), ("imported", {})),
        *((place, "\ud83d") for place in ("kapwa", "task", "data.name", "model.id", "label")),
    ],
)
def test_a_manifest_that_readers_cannot_rely_on_is_refused(
    run: Path, tmp_path: Path, place: str, value: object
) -> None:
    target = copied(run, tmp_path)
    manifest = json.loads((target / "run.json").read_text(encoding="utf-8"))
    *above, name = place.split(".")
    inside = manifest
    for part in above:
        inside = inside[part]
    inside[name] = value
    if value is GONE:
        del inside[name]
    (target / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    error = problem(lambda: Run(target))
    assert error is not None
    assert str(target / "run.json") in error.message
    assert error.hint


@pytest.mark.parametrize("headline", [[], ["no metric"]])
def test_a_run_whose_headline_metric_is_not_there_leads_with_its_first(
    run: Path, tmp_path: Path, headline: list[str]
) -> None:
    target = copied(run, tmp_path)
    manifest = json.loads((target / "run.json").read_text(encoding="utf-8"))
    (target / "run.json").write_text(json.dumps({**manifest, "headline": headline}), encoding="utf-8")
    assert Run(target).manifest["headline"] == list(manifest["metrics"])[:1]


@pytest.mark.parametrize("code", ["ffffffff", "110000", "d800", "41"])
def test_what_no_signature_escapes_stays_as_it_is(code: str) -> None:
    sound = {"signature": "kalahi/mc|model:a", "options": {}}
    other = {"signature": f"kalahi/mc|model:a%{code};", "options": {}}
    ((name, first, second),) = differing(sound, other)
    assert (name, first) == ("model", "a")
    second.encode()


# --- mappings ---------------------------------------------------------------------------------------------------


PIECES = st.sampled_from(["-", "_", "--", "a", "ab", "é", " "])


@given(
    st.lists(PIECES, min_size=1, max_size=4), PIECES | st.just(""), PIECES | st.just(""), st.text("-_abé ", max_size=9)
)
def test_parts_are_those_of_the_shortest_pattern(signs: list[str], first: str, last: str, cell: str) -> None:
    names = [f"p{i}" for i in range(len(signs) + 1)]
    form = first + "".join(f"{{{name}}}{sign}" for name, sign in zip(names, [*signs, ""], strict=True)) + last
    pattern = re.escape(first)
    for name, sign in zip(names, [*signs, ""], strict=True):
        pattern += f"(?P<{name}>.+?){re.escape(sign)}"
    twin = re.compile(pattern + re.escape(last), re.DOTALL).fullmatch(cell)
    assert parts_of(cell, form) == (twin and twin.groupdict())


def test_parts_of_a_long_cell_are_found_by_one_look() -> None:
    form = "-".join(f"{{p{i}}}" for i in range(12)) + "x"
    assert parts_of("-" * 20_000, form) is None  # backtracking would not end
    names = [f"p{i}" for i in range(400_000)]
    began = time.process_time()
    assert parts_of("ab-" * 400_000 + "c", "-".join(f"{{{name}}}" for name in [*names, "last"])) is not None
    assert time.process_time() - began < 2.0  # copying what is left at each part takes its square


# --- workbooks --------------------------------------------------------------------------------------------------


def wide(path: Path, column: str, rows: int) -> Path:
    """A workbook whose rows have a cell far to the right."""
    book = openpyxl.Workbook()
    book.active.append(["id", "text"])
    book.save(path)
    lines = "".join(f'<row r="{n}"><c r="{column}{n}"><v>1</v></c></row>' for n in range(2, rows + 2))
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    members[sheet] = members[sheet].replace(b"</sheetData>", lines.encode() + b"</sheetData>")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in members.items():
            new.writestr(name, content)
    return path


def test_rows_that_end_in_the_last_column_are_refused_at_the_first(tmp_path: Path) -> None:
    path = wide(tmp_path / "wide.xlsx", "XFD", 3000)
    assert path.stat().st_size < 100_000
    with pytest.raises(DataError, match="too wide or too large") as caught:
        read_with_problems(path)
    assert caught.value.row == 2


def test_a_sheet_of_too_many_cells_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kapwa.tables.workbooks.MAX_CELLS", 5_000)
    with pytest.raises(DataError, match="too wide or too large"):
        read_with_problems(wide(tmp_path / "large.xlsx", "ALL", 300))

"""Bad responses are refused with the file, the row, the column and a remedy."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from corpus_samples import sample_rows, write_jsonl, write_rows

from kapwa.analysis.corpus import open_corpora
from kapwa.errors import DataError, KapwaError, UsageError


def refused(path: Path, *parts: str, **options: Any) -> DataError:
    with pytest.raises(DataError) as caught:
        open_corpora([path], **options)
    message = str(caught.value)
    for part in (path.name, *parts):
        assert part in message
    return caught.value


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize(
    ("column", "typo"), [("text", "texts"), ("concept", "concepts"), ("topic", "topics"), ("nationality", "nationalty")]
)
def test_missing_columns(tmp_path: Path, ending: str, column: str, typo: str) -> None:
    rows = [{(typo if k == column else k): v for k, v in row.items()} for row in sample_rows()]
    error = refused(
        write_rows(tmp_path / f"a.{ending}", rows), f"column '{column}' is missing", f"Did you mean '{typo}'"
    )
    assert error.row == (None if ending == "parquet" else 1)


def test_the_attribute_must_be_there_and_be_one(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", sample_rows(country="X"))
    refused(path, "column 'nation' is missing", "Did you mean 'nationality'", attribute="nation")
    refused(path, "nationality, country", "attribute='nationality'")
    assert open_corpora([path], attribute="nationality")[0].attribute == "nationality"


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("nationality", "", "is empty"),
        ("nationality", None, "is empty"),
        ("nationality", float("nan"), "is empty"),
        ("nationality", 7, "is a number, not text"),
        ("concept", ["x"], "is a list, not text"),
        ("topic", "x" * 2000, "not a name"),
        ("text", 3, "is a number, not text"),
        ("text", "x" * 1_000_001, "at most 1000000"),
        ("sample", -1, "not a whole number"),
        ("sample", 1.5, "not a whole number"),
        ("sample", "one", "not a whole number"),
        ("sample", None, "is empty"),
        ("temperature", "warm", "not a number of at least 0"),
        ("temperature", -0.1, "not a number of at least 0"),
    ],
)
def test_wrong_cells_of_json_lines(tmp_path: Path, column: str, value: Any, said: str) -> None:
    rows = sample_rows(model="m", temperature=0.3)
    rows[4][column] = value
    error = refused(write_jsonl(tmp_path / "a.jsonl", rows), said)
    assert (error.row, error.column) == (5, column)


@pytest.mark.parametrize(
    ("row", "change", "column", "said"),
    [
        (3, {"language": "Amharic"}, "language", ("'amharic' is not a BCP-47 language tag", "Did you mean 'am'?")),
        (2, {"text": None}, "text", ("is missing", "Write null")),
        (5, {"model": "m"}, "model", ("is not in the first row", "every row")),
    ],
)
def test_rows_unlike_the_others(
    tmp_path: Path, row: int, change: dict[str, Any], column: str, said: tuple[str, ...]
) -> None:
    rows = sample_rows(language="am")
    rows[row] = {name: value for name, value in {**rows[row], **change}.items() if value is not None}
    error = refused(write_jsonl(tmp_path / "a.jsonl", rows), *said)
    assert (error.row, error.column) == (row + 1, column)


@pytest.mark.parametrize("item_id", ["honesty", "values/honesty", "values//Thai", "/honesty/Thai", "values/honesty/"])
def test_item_ids_of_another_form(tmp_path: Path, item_id: str) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"item_id": item_id, "text": "x"}])
    error = refused(path, "topic/concept/nationality")
    assert (error.row, error.column) == (1, "item_id")


def test_two_answers_in_one_place(tmp_path: Path) -> None:
    rows = sample_rows(model="m")
    error = refused(write_jsonl(tmp_path / "a.jsonl", [*rows, dict(rows[3])]), "row 4 did so first", "'sample'")
    assert error.row == len(rows) + 1
    write_jsonl(tmp_path / "a.jsonl", rows)
    write_jsonl(tmp_path / "b.jsonl", rows[:1])
    with pytest.raises(DataError, match=r"b\.jsonl, row 1: .* again; row 1 of .*a\.jsonl did so first"):
        open_corpora([tmp_path])


HEADER = b"topic,concept,nationality,sample,text\n"


@pytest.mark.parametrize(
    ("ending", "content", "row", "said"),
    [
        ("jsonl", b'{"topic": "a", "text": "b', 1, "cut off"),
        ("jsonl", b"[1, 2]\n", 1, "not a JSON object"),
        ("jsonl", b'{"a": ' + b"[" * 100_000 + b"\n", 1, "not valid JSON"),
        ("jsonl", b'{"topic": "caf\xe9"}\n', 1, "byte 0xe9 is not UTF-8"),
        ("jsonl", '{"topic": "a"}'.encode("utf-16"), None, "UTF-16"),
        ("jsonl", b"", None, "holds no rows"),
        ("jsonl", b"{}\0\n", 1, "NUL"),
        ("csv", HEADER, None, "holds no rows"),
        ("csv", HEADER + b"a,b,Thai,0\n", 2, "has 4 cells, the header has 5"),
        ("csv", HEADER + b'a,b,Thai,0,"x\n' + b"y\n" * 10, 2, "missing closing quote"),
        ("csv", HEADER + b'a,b,Thai,0,"' + b"y" * 1_000_001 + b'"\n', 2, "not valid CSV"),
        ("csv", HEADER + b'a,b,Thai,0,"x\ny"\na,b,Lao,,z\n', 3, "is empty"),
        ("csv", b"topic,topic,text\n", 1, "appears twice"),
        ("csv", HEADER.replace(b"\n", b"\r") + b"a,b,Thai,0,x\r", None, "texts only of 'Thai'"),  # an old Mac's lines
        ("tsv", HEADER.replace(b",", b"\t") + b"a\tb\tThai\t0\tx\0y\n", 2, "NUL"),
    ],
)
def test_damaged_text_files(tmp_path: Path, ending: str, content: bytes, row: int | None, said: str) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_bytes(content)
    assert refused(path, said).row == row


@pytest.mark.parametrize("keep", [0, 0.5, 0.99])
def test_truncated_parquet(tmp_path: Path, keep: float) -> None:
    path = write_rows(tmp_path / "a.parquet", sample_rows())
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * keep)])
    refused(path, "cannot be read as Parquet", "cut off")
    pl.DataFrame(sample_rows()).clear().write_parquet(path)
    refused(path, "holds no rows")


@pytest.mark.parametrize(("column", "kind"), [("text", pl.Int64), ("nationality", pl.Int64), ("sample", pl.Boolean)])
def test_parquet_of_other_types(tmp_path: Path, column: str, kind: Any) -> None:
    frame = pl.DataFrame(sample_rows()).with_columns(pl.lit(1).cast(kind).alias(column))
    frame.write_parquet(tmp_path / "a.parquet")
    assert refused(tmp_path / "a.parquet", "not text" if column != "sample" else "not numbers").column == column


def test_one_identity_is_not_enough(tmp_path: Path) -> None:
    rows = [r for r in sample_rows() if r["nationality"] == "Thai"]
    refused(write_jsonl(tmp_path / "a.jsonl", rows), "only of 'Thai'", "at least two")
    rows = [r for r in sample_rows() if r["nationality"] == "Thai" or r["concept"] != "honesty"]
    message = "the concept 'values/honesty' ("
    refused(write_jsonl(tmp_path / "b.jsonl", rows), message, "complete it")
    rows = [{**r, "text": None} for r in sample_rows()]
    refused(write_jsonl(tmp_path / "c.jsonl", rows), "of nobody")


@pytest.mark.parametrize(
    ("names", "kind", "said"),
    [
        (["answer.jsonl"], DataError, "Did you mean 'answers.jsonl'"),
        ([".", "answers.jsonl"], UsageError, "named twice"),
        ([], UsageError, "No responses"),
        (["empty"], DataError, "holds no responses"),
        (["a.docx"], UsageError, "Known endings"),
    ],
)
def test_paths_that_lead_nowhere(tmp_path: Path, names: list[str], kind: type[KapwaError], said: str) -> None:
    write_jsonl(tmp_path / "answers.jsonl", sample_rows())
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.docx").write_text("x")
    with pytest.raises(kind, match=said):
        open_corpora([tmp_path / name for name in names])


def test_no_error_is_without_a_remedy(tmp_path: Path) -> None:
    """Every refusal is a KapwaError; nothing else escapes from lines of noise."""
    noise = ["{}", "null", '"x"', json.dumps({"text": 1}), json.dumps({"item_id": {}, "text": "x"}), "{" * 2000]
    for i, line in enumerate(noise):
        path = tmp_path / f"{i}.jsonl"
        path.write_text(line)
        with pytest.raises(KapwaError):
            open_corpora([path])

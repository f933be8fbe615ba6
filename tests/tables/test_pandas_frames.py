"""Tables as pandas frames: the same names, values and types, whatever the cells hold."""

import math
import sys
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kapwa
from kapwa.errors import MissingDependencyError

pd = pytest.importorskip("pandas")

CELLS = st.fixed_dictionaries(
    {
        "n": st.none() | st.integers(-(2**63), 2**63 - 1),
        "right": st.none() | st.booleans(),
        "text": st.none() | st.text(st.characters(exclude_categories=["Cs"])),
        "value": st.none() | st.floats(allow_nan=False),
        "names": st.none() | st.lists(st.text("abc")),
    }
)
SCHEMA = {"n": pl.Int64, "right": pl.Boolean, "text": pl.String, "value": pl.Float64, "names": pl.List(pl.String)}
TYPES = {"n": "Int64", "right": "boolean", "text": "string", "value": "float64", "names": "object"}


@given(st.lists(CELLS, max_size=6))
def test_every_cell_and_type_comes_back(rows: list[dict[str, object]]) -> None:
    """Numbers past 2**53 stay exact, lists stay lists, and an empty cell changes no type."""
    frame = kapwa.to_pandas(pl.DataFrame(rows, schema=SCHEMA))
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == TYPES
    assert list(frame.columns) == list(SCHEMA)
    assert list(frame.index) == list(range(len(rows)))
    for row, (_, cells) in zip(rows, frame.iterrows(), strict=True):
        for name, value in row.items():
            cell = cells[name]
            empty = cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell))
            assert empty if value is None else cell == value


def test_other_types_have_their_likes() -> None:
    table = pl.DataFrame(
        {
            "when": pl.Series([date(2026, 1, 2), None]).cast(pl.Datetime),
            "kind": pl.Series(["b", None], dtype=pl.Enum(["a", "b"])),
            "half": pl.Series([0.5, None], dtype=pl.Float32),
            "few": pl.Series([1, None], dtype=pl.UInt8),
        }
    )
    frame = kapwa.to_pandas(table)
    assert [str(kind) for kind in frame.dtypes] == ["datetime64[us]", "category", "float64", "Int64"]
    assert frame["when"][0].date() == date(2026, 1, 2)
    assert list(frame["kind"].cat.categories) == ["a", "b"]
    assert pd.isna(frame["when"][1])


def test_a_run_and_scored_responses_give_their_tables(tmp_path: Path) -> None:
    task = kapwa.load_task("kalahi/open", data="sample:filipino", limit=2, metrics=["chrf"])
    answers = task.item_table(task.items()).select("item_id", "variant", text="best")
    answers.write_ndjson(tmp_path / "good.jsonl")
    run = kapwa.evaluate(task, f"replay:{tmp_path / 'good.jsonl'}", out=tmp_path / "runs", progress=False)
    estimates = run.to_pandas()
    assert list(estimates.columns) == run.estimates.columns
    assert estimates.loc[estimates["metric"] == "chrf", "n"].tolist() == [2] * len(run.estimates.filter(metric="chrf"))
    assert len(run.to_pandas("scores")) == run.scores.height
    scored = kapwa.score_responses(task, answers)
    assert scored.to_pandas("scores").dtypes.equals(run.to_pandas("scores").dtypes)
    again = kapwa.score_responses(task, kapwa.to_pandas(answers))
    assert again.scores.equals(scored.scores), "such a frame is taken back as it is"


def test_without_pandas_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="needs the package 'pandas'") as missing:
        kapwa.to_pandas(pl.DataFrame({"a": [1]}))
    assert missing.value.hint == "Install it with: pip install 'kapwa[pandas]'"

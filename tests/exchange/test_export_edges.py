"""What exports do with answers that never came, and with times that are none."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from kapwa import api
from kapwa.errors import DataError
from kapwa.runs.directory import Run


def test_a_missing_answer_comes_back_as_missing_from_lm_evals_form(written: Run, tmp_path: Path) -> None:
    assert written.answers["text"].null_count() == 1
    api.export_run(written, tmp_path / "lm", "lm-eval")
    (folder,) = api.import_result(tmp_path / "lm", "lm-eval", out=tmp_path / "runs")
    again = Run(folder).answers
    keys = ["item_id", "variant"]
    columns = [*keys, "culture", "sample", "text"]
    assert_frame_equal(again.select(columns).sort(keys), written.answers.select(columns).sort(keys))
    records = [json.loads(line) for file in (tmp_path / "lm").glob("*.jsonl") for line in file.open(encoding="utf-8")]
    assert all(text == str(text) for one in records for texts in one["resps"] for text in texts)  # lm-eval's are texts
    assert sum("missing" in one["kapwa"] for one in records) == 1


def test_where_no_answer_came_texts_are_still_texts(written: Run, tmp_path: Path) -> None:
    folder = shutil.copytree(written.path, tmp_path / "run")
    frame = written.answers.with_columns(pl.lit(None, pl.String).alias("text"))
    frame.write_parquet(folder / "answers.parquet")
    api.export_run(Run(folder), tmp_path / "lm", "lm-eval")
    (made,) = api.import_result(tmp_path / "lm", "lm-eval", out=tmp_path / "runs")
    assert Run(made).answers["text"].dtype == pl.String
    assert Run(made).answers["text"].null_count() == frame.height


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("started", "../../elsewhere/2026"),
        ("started", "2026-11-20/16:30:00"),
        ("started", "2026-13-40T16:30:00+00:00"),
        ("started", 5),
        ("finished", "yesterday"),
    ],
    ids=["path", "slash", "calendar", "number", "word"],
)
def test_a_time_that_is_none_is_refused_and_nothing_is_made(
    written: Run, tmp_path: Path, field: str, value: Any
) -> None:
    folder = shutil.copytree(written.path, tmp_path / "run")
    manifest = json.loads((folder / "run.json").read_text("utf-8"))
    (folder / "run.json").write_text(json.dumps({**manifest, field: value}), "utf-8")
    with pytest.raises(DataError, match="is no moment") as raised:
        api.export_run(folder, tmp_path / "out" / "logs", "inspect")
    assert f"column '{field}'" in str(raised.value)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "run") in ([], ["out"])
    assert not list(tmp_path.rglob("*.eval"))


def test_an_undated_run_is_exported(written: Run, tmp_path: Path) -> None:
    folder = shutil.copytree(written.path, tmp_path / "run")
    manifest = json.loads((folder / "run.json").read_text("utf-8"))
    (folder / "run.json").write_text(json.dumps({**manifest, "started": None, "finished": None}), "utf-8")
    (file,) = api.export_run(folder, tmp_path / "logs", "inspect")
    assert file.name.startswith("1970-01-01T00-00-00+00-00_kalahi-open_")

"""A run folder made by somebody who means harm."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tiny_suite import TinyModel, TinyTask

from kapwa.errors import RunError
from kapwa.runs.directory import Run
from kapwa.runs.runner import run_task

NAMES = ("../evil", "..", "/etc/evil", "a/b", "a\\b", "", "a.b", 5, None, "x" * 200)


@pytest.mark.parametrize("tables", ["scores", *(["scores", name] for name in NAMES)])
def test_table_names_never_lead_out_of_the_folder(tmp_path: Path, tables: Any) -> None:
    folder = run_task(TinyTask(n=2), TinyModel(), path=tmp_path / "inner" / "run", progress=False)
    shutil.copy(folder / "items.parquet", tmp_path / "inner" / "evil.parquet")
    manifest = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**manifest, "tables": tables}))
    with pytest.raises(RunError, match=r"'tables(\.1)?' is not what it should be"):
        Run(folder)

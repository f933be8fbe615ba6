"""Ctrl-C while a task or a model is opened: nothing was asked, and that is said."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kapwa import api
from kapwa.cli.main import app


@pytest.mark.parametrize("opening", ["load_model", "load_task"])
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_ctrl_c_before_the_first_question_is_answered_in_words(
    opening: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(api, opening, pressed)
    asked = ["run", "kalahi/mc", "--model", "smollm2", "--engine", engine, "--out", str(tmp_path / "runs")]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 130
    assert done.stderr == "Stopped before anything was asked.\n"
    assert done.stdout == ""
    assert not (tmp_path / "runs").exists()

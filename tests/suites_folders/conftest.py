"""An empty configuration folder for every test, so that nobody's own suites are read or changed."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "config"
    monkeypatch.setenv("KAPWA_CONFIG", str(folder))
    return folder

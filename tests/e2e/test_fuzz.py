"""Spoiled files and options end in a result or a message; many more cases in ``benchmarks/fuzz.py``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).resolve().parents[2] / "benchmarks" / "fuzz.py"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each case is a fork")
def test_spoiled_files_and_options_end_as_they_should() -> None:
    words = [sys.executable, str(FUZZ), "--cases", "14", "--seed", "7"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "14 cases, 14 ended as they should" in done.stdout

"""Spoiled files and options end in a result or a message; killed commands lose nothing and ask nothing twice.

Many more cases in ``benchmarks/fuzz.py``, and 200 kills in ``benchmarks/kills.py``. Two here, of a served run that
takes half its answers from a cache and of a score; other runs are killed by ``test_kill``, and judges by
``test_served_judges``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="each command is a fork")]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where both benchmarks find the files that one of them has made."""
    return str(tmp_path_factory.mktemp("sound") / "files")


def benchmark(*words: str) -> str:
    command = [sys.executable, str(BENCHMARKS / words[0]), *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def test_spoiled_files_and_options_end_as_they_should(sound: str) -> None:
    said = benchmark("fuzz.py", "--cases", "5", "--seed", "7", "--sound", sound)
    assert "5 cases, 5 ended as they should" in said


def test_killed_commands_lose_nothing_and_ask_nothing_twice(sound: str) -> None:
    pytest.importorskip("django", reason="the extra 'studio' is not installed")
    said = benchmark("kills.py", "--kills", "2", "--seed", "22", "--first", "2", "--sound", sound)
    assert "2 kills of " in said
    assert ", 0 faults" in said

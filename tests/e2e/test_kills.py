"""Commands killed at any moment lose nothing and ask nothing twice; 200 kills in ``benchmarks/kills.py``.

Two here, of a served run that takes half its answers from a cache and of a score; other runs are killed by
``test_kill``, and judges by ``test_served_judges``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("django", reason="the extra 'studio' is not installed")
KILLS = Path(__file__).resolve().parents[2] / "benchmarks" / "kills.py"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each command is a fork")
def test_killed_commands_lose_nothing_and_ask_nothing_twice() -> None:
    words = [sys.executable, str(KILLS), "--kills", "2", "--seed", "22", "--first", "2"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "2 kills of " in done.stdout
    assert ", 0 faults" in done.stdout

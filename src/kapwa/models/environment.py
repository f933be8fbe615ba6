"""What an answer is computed with, besides the model and the question: it may move the answer's last digits.

It is no part of a model's fingerprint: a run may be finished on another machine, which changes no question.
"""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any


def environment(**more: Any) -> dict[str, Any]:
    """Return Kapwa's version and ``more``: plain values, such as a device or the version of a library."""
    return {"kapwa": _version(), **more}


@cache
def processor() -> str:
    """Return the kind of this machine's processor, as its system names it; its architecture where it has no name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return named or platform.processor() or platform.machine()


@cache
def _version() -> str:
    return version("kapwa")

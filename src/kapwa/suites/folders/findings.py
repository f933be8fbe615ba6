"""Say errors as findings of a check."""

from __future__ import annotations

from pathlib import Path

from kapwa.errors import DataError
from kapwa.suites.base import Finding


def bare_message(error: DataError) -> str:
    """Return what is wrong, without the place, which an error's message begins with."""
    text = error.message
    parts = [str(error.path)] if error.path is not None else []
    parts += [f"row {error.row}"] if error.row is not None else []
    parts += [f"column {error.column!r}"] if error.column is not None else []
    return text.removeprefix(f"{', '.join(parts)}: ") if parts else text


def finding_of(error: DataError, folder: Path) -> Finding:
    """Return an error as a finding that stops a run."""
    message = bare_message(error)
    text = f"{message} {error.hint}" if error.hint else message
    return Finding("error", str(error.path or folder), text, error.row, error.column)
